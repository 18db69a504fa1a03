"""Known entries of a Jacobian: the mass matrix, `Phi_q`, the kinematic map and their products, assembled without difference quotients."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.sparse import coo_array, csc_array

from ..compilation.compiled import compiled
from ..jacobians.complex_step import sweep_of
from ..jacobians.grouping import column_groups
from ..jacobians.signatures import Array, Arrays, Indices, Tables, Vector
from ..system import kernels
from ..system import layout as lay
from ..system.layout import BLOCK_T, part
from ..system.system import System
from .pattern import structure

if TYPE_CHECKING:
    from .base import Problem

TRANSPOSED = {"G^T": "G"}


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
    _map(t, q, model, map_, pieces.T)
    pieces.TG[:] = 0.0
    for k in range(products.to.shape[0]):
        pieces.TG[products.to[k]] += pieces.T[products.a[k]] * pieces.G[products.b[k]]


@compiled
def _map(t: float, q: Array, model: Tables, map_: Map, T: Vector) -> None:
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
        s = structure(system)
        pattern, map_v = problem.pattern, s.map_v.tocsc()
        map_v.sort_indices()
        stab = s.stab_c.tocsc()
        stab.sort_indices()
        gradient = positions_of_gradient(system)
        self._map = Map(*sweep_of(map_v, column_groups(map_v).groups), np.zeros(system.nv), np.zeros(system.nq))
        self._products = _triples(map_v, gradient, stab)
        self._work = system.workspace()
        mass = positions_of_mass(system)
        sizes = {"I": 1, "M": len(mass.rows), "G": system.nnz, "T": map_v.nnz, "TG": stab.nnz, "NN": len(system.redundancy.candidates) ** 2}
        self._at = dict(zip(sizes, np.cumsum([0, *sizes.values()])))
        self._values = np.zeros(sum(sizes.values()))  # of all pieces
        self._values[0] = 1.0
        self._depends_on_state = any(piece.lstrip("-") not in ("I", "0") for *_, piece in problem.known_blocks)
        self._pieces = Pieces(*(self._values[self._at[k]:self._at[k] + sizes[k]] for k in Pieces._fields))
        self._projector = self._values[self._at["NN"]:]  # `N N^T` of redundant equations
        where = {"M": mass, "G": gradient, "T": _positions(map_v), "TG": _positions(stab)}
        self._y = self._scattering("y", where)
        self._yd = self._scattering("yd", where)
        # with multipliers in `yd`, friction adds to `F_yd`
        self._friction_by_rates = system.has_friction and any(kind == "yd" and piece == "G^T" for kind, _, _, piece in problem.known_blocks)
        self.mask = np.zeros(pattern.nnz, dtype=bool)
        self.mask[self._y.places] = True
        column_of = np.repeat(np.arange(problem.n), np.diff(pattern.indptr))
        self.columns = np.bincount(column_of[~self.mask], minlength=problem.n) == 0

    def evaluate(self, t: float, y: Vector, yd: Vector) -> tuple[Vector, Vector]:
        """`(F_y, F_yd)`: values in the order of `problem.pattern`, new arrays; the first is zero in unknown entries."""
        p = self._problem
        if self._depends_on_state:
            q = np.ascontiguousarray(y[p.blocks["q"]])
            _evaluate(t, q, p.model, self._work, tuple(self._map), tuple(self._products), tuple(self._pieces))
            p.system.callbacks.check()
        if self._projector.size:
            N = p._null_space[:, p.system.redundancy.candidates]
            self._projector[:] = (N.T @ N).ravel()
        values = np.empty(p.pattern.nnz), np.empty(p.pattern.nnz)
        for scattering, out in zip((self._y, self._yd), values):
            _scatter(*scattering, self._values, out)
        if self._friction_by_rates:
            return values[0], p.jacobian_values(t, y, yd, 1.0, 0.0)
        return values

    @property
    def rates(self) -> Scattering:
        """The assembly of `F_yd`: source 0 is one, and the mass matrix begins at source 1."""
        return self._yd

    def _scattering(self, matrix: str, where: dict[str, Entries]) -> Scattering:
        """The assembly of `F_y` or `F_yd`."""
        p = self._problem
        lookup = _Lookup(p.pattern)
        places, sources, signs = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0)]
        for kind, equation, unknown, piece in p.known_blocks:
            if kind != matrix or (piece == "G^T" and p.system.has_friction):
                continue
            rows, columns, at = self._entries(piece.lstrip("-"), where, p.equations[equation], p.blocks[unknown])
            place = lookup(rows, columns)
            keep = place >= 0
            places.append(place[keep])
            sources.append(at[keep])
            signs.append(np.full(keep.sum(), 0.0 if piece == "0" else -1.0 if piece.startswith("-") else 1.0))
        for kind in ("y", "yd"):
            for rows, columns in p.regularised_entries(kind):
                places.append(lookup(rows, columns))
                sources.append(self._at["NN"] + np.arange(len(rows)))
                signs.append(np.full(len(rows), -1.0 if kind == matrix else 0.0))
        return Scattering(np.concatenate(places), np.concatenate(sources), np.concatenate(signs))

    def _entries(self, piece: str, where: dict[str, Entries], equation: slice, unknown: slice) -> Entries:
        """The entries of a piece in the block of some equations and unknowns; their places are those in `_values`."""
        if piece == "I":
            k = np.arange(equation.stop - equation.start)
            i, j, at = k, k, 0 * k
        elif piece == "0":  # entries of the pattern that belong to `F_yd`
            i, j = (x.ravel() for x in np.indices((equation.stop - equation.start, unknown.stop - unknown.start)))
            at = 0 * i
        else:
            name = TRANSPOSED.get(piece, piece)
            i, j, at = where[name]
            at = at + self._at[name]
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
