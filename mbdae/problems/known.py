"""Known entries of a Jacobian: the mass matrix, `Phi_q`, the kinematic map and their products, assembled without difference quotients."""

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csc_array

from ..compilation.compiled import compiled
from ..jacobians.complex_step import Sweep, sweep_of
from ..jacobians.grouping import column_groups
from ..jacobians.signatures import Array, Arrays, Indices, Tables, Vector
from ..system import kernels
from ..system import layout as lay
from ..system.layout import BLOCK_T, part
from ..system.system import System
from .once import once
from .pattern import structure

if TYPE_CHECKING:
    from .base import Problem

TRANSPOSED = {"G^T": "G"}
PIECES = ("I", "M", "G", "T", "TG", "NN")  # in the order of their values


class Pieces(NamedTuple):
    """Values of `M`, `Phi_q`, `T` and `T Phi_q^T`, each in its own pattern."""

    M: Vector
    G: Vector
    T: Vector
    TG: Vector


class Map(NamedTuple):
    """For the evaluation of `T(q)`: its column groups as in `Sweep`, a combination of columns, and its product with `T`."""

    column_ptr: Indices
    columns: Indices
    entry_ptr: Indices
    entries: Indices
    rows: Indices
    seed: Vector
    rate: Vector


class Products(NamedTuple):
    """The products `T[a] G[b]` that add up to the entries `to` of `T Phi_q^T`."""

    to: Indices
    a: Indices
    b: Indices


class Scattering(NamedTuple):
    """The assembly of a matrix, `values[places] = signs * pieces[sources]`."""

    places: Indices
    sources: Indices
    signs: Vector


class Entries(NamedTuple):
    """Rows and columns of the entries of a matrix, and where their values are stored."""

    rows: Indices
    columns: Indices
    places: Indices


@compiled
def _evaluate(t: float, q: Array, model: Tables, work: Array, evaluation: Arrays, indices: Arrays, values_of: Arrays) -> None:
    """Values of the `Pieces` at a state; the last arguments are the fields of `Map`, `Products` and `Pieces`."""
    map_, products, pieces = Map(*evaluation), Products(*indices), Pieces(*values_of)
    # M and Phi_q
    kernels.place(t, q, model, work)
    values = part(model, work, lay.W_G)
    kernels.phi_q(t, q, model, work, values)
    pieces.G[:] = values
    kernels.mass(t, q, model, work)
    kernels.mass_entries(model, work, pieces.M)
    # T and T Phi_q^T
    map_values(t, q, model, map_, pieces.T)
    pieces.TG[:] = 0.0
    for k in range(products.to.shape[0]):
        pieces.TG[products.to[k]] += pieces.T[products.a[k]] * pieces.G[products.b[k]]


@compiled
def map_values(t: float, q: Array, model: Tables, map_: Map, T: Vector) -> None:
    """`T(q)`, which is linear: one product per group of columns."""
    seed = map_.seed
    seed[:] = 0.0
    for g in range(map_.column_ptr.shape[0] - 1):
        for k in range(map_.column_ptr[g], map_.column_ptr[g + 1]):
            seed[map_.columns[k]] = 1.0
        kernels.qdot(t, q, seed, model, map_.rate)
        for k in range(map_.entry_ptr[g], map_.entry_ptr[g + 1]):
            T[map_.entries[k]] = map_.rate[map_.rows[k]]
        for k in range(map_.column_ptr[g], map_.column_ptr[g + 1]):
            seed[map_.columns[k]] = 0.0


@compiled
def _scatter(places: Indices, sources: Indices, signs: Vector, pieces: Vector, out: Vector) -> None:
    """Assemble a matrix from the values of all pieces, see `Scattering`."""
    out[:] = 0.0
    for k in range(places.shape[0]):
        out[places[k]] = signs[k] * pieces[sources[k]]


class Known:
    """Entries of `F_y`, and all of `F_yd`, that need no evaluation of `F`.

    Every form is linear in `yd` with a matrix that consists of `I`, `M`, `Phi_q` and products of these. In `F_y` the columns of the
    multipliers are `Phi_q^T` (unless friction depends on them), those of the velocities `-T` in the kinematics and `Phi_q` in the
    constraints [Arnold, eqs. (9), (25), section 4.1].

    Parameters
    ----------
    problem : Problem
        Its `known_blocks` name the piece in each block of the two matrices.

    Attributes
    ----------
    mask : ndarray of bool, shape (nnz,)
        The known entries of `F_y`, in the order of `problem.pattern`.
    columns : ndarray of bool, shape (n,)
        Columns in which all entries are known.
    """

    def __init__(self, problem: "Problem") -> None:
        self._problem, system = problem, problem.system
        self._places = places = once(problem, "known", lambda: _places_of(problem))
        self._map = Map(*places.map_, np.zeros(system.nv), np.zeros(system.nq))
        self._work = system.workspace()
        self._values = np.zeros(places.starts[-1])  # of all pieces
        self._values[0] = 1.0
        parts = dict(zip(PIECES, (self._values[i:k] for i, k in pairwise(places.starts))))
        self._pieces = Pieces(*(parts[name] for name in Pieces._fields))
        self._projector = parts["NN"]  # `N N^T` of redundant equations
        self._depends_on_state = any(piece.lstrip("-") not in ("I", "0") for *_, piece in problem.known_blocks)
        # with multipliers in `yd`, friction adds to `F_yd`
        self._friction_by_rates = system.has_friction and any(kind == "yd" and piece == "G^T" for kind, _, _, piece in problem.known_blocks)
        self.mask, self.columns = places.mask, places.columns

    def evaluate(self, t: float, y: Vector, yd: Vector) -> tuple[Vector, Vector]:
        """`(F_y, F_yd)`: values in the order of `problem.pattern`, new arrays; the first is zero in unknown entries."""
        p = self._problem
        if self._depends_on_state:
            q = np.ascontiguousarray(y[p.blocks["q"]])
            _evaluate(t, q, p.model, self._work, tuple(self._map), tuple(self._places.products), tuple(self._pieces))
            p.system.callbacks.check()
        if self._projector.size:
            N = lay.records_of(p.model, lay.NULL_SPACE, float).reshape(-1, p.system.nc)[:, p.system.redundancy.candidates]  # see `follow`
            self._projector[:] = (N.T @ N).ravel()
        values = np.empty(p.pattern.nnz), np.empty(p.pattern.nnz)
        for scattering, out in zip((self._places.y, self._places.yd), values):
            _scatter(*scattering, self._values, out)
        if self._friction_by_rates:
            return values[0], p.jacobian_values(t, y, yd, 1.0, 0.0)
        return values

    @property
    def rates(self) -> Scattering:
        """The assembly of `F_yd`: source 0 is one, and the mass matrix begins at source 1."""
        return self._places.yd


class Places(NamedTuple):
    """Where the values of the pieces are and where they go to, which the structure of the equations determines.

    Attributes
    ----------
    map_ : Sweep
        The column groups of `T`.
    starts : tuple of int
        Where the values of each of `PIECES` begin among all values, and their end.
    products : Products
    y, yd : Scattering
        The assembly of `F_y` and `F_yd`.
    mask, columns : ndarray of bool
        See `Known`.
    """

    map_: Sweep
    starts: tuple[int, ...]
    products: Products
    y: Scattering
    yd: Scattering
    mask: NDArray[np.bool_]
    columns: NDArray[np.bool_]


def _places_of(problem: "Problem") -> Places:
    """The places of a problem."""
    system, s = problem.system, structure(problem.system)
    map_v, stab = s.map_v.tocsc(), s.stab_c.tocsc()
    map_v.sort_indices()
    stab.sort_indices()
    gradient, mass = positions_of_gradient(system), positions_of_mass(system)
    sizes = 1, len(mass.rows), system.nnz, map_v.nnz, stab.nnz, len(system.redundancy.candidates) ** 2
    starts = tuple(int(x) for x in np.cumsum([0, *sizes]))
    where = {"M": mass, "G": gradient, "T": _positions(map_v), "TG": _positions(stab)}
    assembly = _Assembly(problem, where, dict(zip(PIECES, starts)))
    y, yd = assembly.scattering("y"), assembly.scattering("yd")
    mask = np.zeros(problem.pattern.nnz, dtype=bool)
    mask[y.places] = True
    column_of = np.repeat(np.arange(problem.n), np.diff(problem.pattern.indptr))
    columns = np.bincount(column_of[~mask], minlength=problem.n) == 0
    return Places(sweep_of(map_v, column_groups(map_v).groups), starts, _triples(map_v, gradient, stab), y, yd, mask, columns)


class _Assembly:
    """The assembly of the matrices of a problem from pieces with these entries, whose values begin at `starts`."""

    def __init__(self, problem: "Problem", where: dict[str, Entries], starts: dict[str, int]) -> None:
        self.problem, self.where, self.starts, self.lookup = problem, where, starts, _Lookup(problem.pattern)

    def scattering(self, matrix: str) -> Scattering:
        """The assembly of `F_y` or `F_yd`."""
        p, lookup = self.problem, self.lookup
        places, sources, signs = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0)]
        for kind, equation, unknown, piece in p.known_blocks:
            if kind != matrix or (piece == "G^T" and p.system.has_friction):
                continue
            rows, columns, at = self._entries(piece.lstrip("-"), p.equations[equation], p.blocks[unknown])
            place = lookup(rows, columns)
            keep = place >= 0
            places.append(place[keep])
            sources.append(at[keep])
            signs.append(np.full(keep.sum(), 0.0 if piece == "0" else -1.0 if piece.startswith("-") else 1.0))
        for kind in ("y", "yd"):
            for rows, columns in p.regularised_entries(kind):
                places.append(lookup(rows, columns))
                sources.append(self.starts["NN"] + np.arange(len(rows)))
                signs.append(np.full(len(rows), -1.0 if kind == matrix else 0.0))
        return Scattering(np.concatenate(places), np.concatenate(sources), np.concatenate(signs))

    def _entries(self, piece: str, equation: slice, unknown: slice) -> Entries:
        """The entries of a piece in the block of some equations and unknowns; their places are those among all values."""
        if piece == "I":
            k = np.arange(equation.stop - equation.start)
            i, j, at = k, k, 0 * k
        elif piece == "0":  # entries of the pattern that belong to `F_yd`
            i, j = (x.ravel() for x in np.indices((equation.stop - equation.start, unknown.stop - unknown.start)))
            at = 0 * i
        else:
            name = TRANSPOSED.get(piece, piece)
            i, j, at = self.where[name]
            at = at + self.starts[name]
            i, j = (j, i) if piece in TRANSPOSED else (i, j)
        return Entries(i + equation.start, j + unknown.start, at)


class _Lookup:
    """Places of entries in the data of a CSC pattern; -1 where there is no entry."""

    def __init__(self, pattern: csc_array) -> None:
        self.m = pattern.shape[0]
        columns = np.repeat(np.arange(pattern.shape[1]), np.diff(pattern.indptr))
        self.keys = columns.astype(np.int64) * self.m + pattern.indices

    def __call__(self, rows: Indices, columns: Indices) -> Indices:
        keys = np.asarray(columns, dtype=np.int64) * self.m + rows
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[at] == keys, at, -1)


def _positions(csc: csc_array) -> Entries:
    """The entries of a CSC array."""
    columns = np.repeat(np.arange(csc.shape[1]), np.diff(csc.indptr))
    return Entries(csc.indices.astype(np.int64), columns.astype(np.int64), np.arange(csc.nnz))


def positions_of_gradient(system: System) -> Entries:
    """The entries of `Phi_q` that are not structurally zero."""
    p = system.pattern
    rows = np.repeat(np.arange(system.nc), np.diff(p.ptr))
    k = np.flatnonzero(p.nonzero)
    return Entries(rows[k], p.col[k], k)


def positions_of_mass(system: System) -> Entries:
    """The entries of the mass matrix, block by block."""
    none = np.zeros(0, dtype=np.int64)
    rows, columns, at = [none], [none], [none]
    for block in lay.records_of(system.model, lay.BLOCK, BLOCK_T):
        i, j = np.indices((block["n"], block["n"]))
        rows.append(block["v"] + i.ravel())
        columns.append(block["v"] + j.ravel())
        at.append(block["at"] + np.arange(i.size))
    return Entries(np.concatenate(rows), np.concatenate(columns), np.concatenate(at))


def _triples(map_v: csc_array, gradient: Entries, stab: csc_array) -> Products:
    """The `Products` for the pattern of `T Phi_q^T`."""
    T, nv, count = _positions(map_v), map_v.shape[1], len(gradient.rows)
    left = coo_array((np.ones(map_v.nnz), (T.places, T.columns)), shape=(map_v.nnz, nv)).tocsr()
    right = coo_array((np.ones(count), (gradient.columns, np.arange(count))), shape=(nv, count)).tocsr()
    pairs = (left @ right).tocoo()
    to = _Lookup(stab)(T.rows[pairs.row], gradient.rows[pairs.col])
    return Products(to, T.places[pairs.row], gradient.places[pairs.col])
