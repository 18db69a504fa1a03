"""Entries of a Jacobian that need no differences: the mass matrix, `Phi_q`, the kinematic map and their products, assembled directly."""

import numpy as np
from scipy.sparse import coo_array

from ..compilation.compiled import compiled
from ..jacobians.complex_step import Sweep, sweep_of
from ..jacobians.grouping import column_groups
from ..system import kernels
from ..system import layout as lay
from ..system.layout import BLOCK_T, part
from .pattern import structure

TRANSPOSED = {"G^T": "G"}


@compiled
def _pieces(t, q, model, work, sweep, seed, rate, products, M, G, T, TG):
    """Values of `M`, `Phi_q`, `T` and `T Phi_q^T`, each in its own pattern."""
    kernels.place(q, model, work)
    values = part(model, work, lay.W_G)
    kernels.phi_q(t, q, model, work, values)
    G[:] = values
    kernels.mass(t, q, model, work)
    M[:] = kernels.mass_values(model, work)
    _map(t, q, model, sweep, seed, rate, T)
    to, a, b = products
    TG[:] = 0.0
    for k in range(to.shape[0]):
        TG[to[k]] += T[a[k]] * G[b[k]]


@compiled
def _map(t, q, model, sweep, seed, rate, T):
    """`T(q)`, which is linear: column groups of it at a time."""
    column_ptr, columns, entry_ptr, entries, rows = sweep
    seed[:] = 0.0
    for g in range(column_ptr.shape[0] - 1):
        for k in range(column_ptr[g], column_ptr[g + 1]):
            seed[columns[k]] = 1.0
        kernels.qdot(t, q, seed, model, rate)
        for k in range(entry_ptr[g], entry_ptr[g + 1]):
            T[entries[k]] = rate[rows[k]]
        for k in range(column_ptr[g], column_ptr[g + 1]):
            seed[columns[k]] = 0.0


@compiled
def _scatter(places, sources, signs, pieces, out):
    out[:] = 0.0
    for k in range(places.shape[0]):
        out[places[k]] = signs[k] * pieces[sources[k]]


class Known:
    """What is known of `F_y`, and all of `F_yd`, without evaluating `F`.

    Every form is linear in `yd` with a matrix that consists of `I`, `M`, `Phi_q` and products of these; in `F_y` the multipliers enter
    through `Phi_q^T` (unless friction depends on them), the velocities through `-T` in the kinematics and `Phi_q` in the constraints
    [Arnold, eqs. (9), (25), section 4.1].

    Parameters
    ----------
    problem : Problem
        Its `known_blocks` say which piece stands in which block of which matrix.

    Attributes
    ----------
    mask : ndarray of bool, shape (nnz,)
        The entries of `F_y`, in the order of `problem.pattern`, that are known.
    columns : ndarray of bool, shape (n,)
        Columns in which all of them are.
    """

    def __init__(self, problem):
        self._problem, system = problem, problem.system
        s = structure(system)
        pattern, map_v = problem.pattern, s.map_v.tocsc()
        map_v.sort_indices()
        stab = s.stab_c.tocsc()
        stab.sort_indices()
        gradient = _positions_of_gradient(system)
        self._sweep = _map_sweep(map_v)
        self._products = _triples(map_v, gradient, stab)
        self._work = system.workspace()
        mass = _positions_of_mass(system)
        sizes = {"I": 1, "M": len(mass[0]), "G": system.nnz, "T": map_v.nnz, "TG": stab.nnz, "NN": len(system.redundancy.candidates) ** 2}
        self._at = dict(zip(sizes, np.cumsum([0, *sizes.values()])))
        self._pieces = np.zeros(sum(sizes.values()))
        self._pieces[0] = 1.0
        self._depends_on_state = any(piece.lstrip("-") not in ("I", "0") for *_, piece in problem.known_blocks)
        self._views = [self._pieces[self._at[k]:self._at[k] + sizes[k]] for k in ("M", "G", "T", "TG")]
        self._seed, self._rate = np.zeros(system.nv), np.zeros(system.nq)
        self._projector = self._pieces[self._at["NN"]:]  # `N N^T` of redundant equations
        where = {"M": mass, "G": gradient, "T": _positions(map_v), "TG": _positions(stab)}
        self._y = self._scattering("y", where)
        self._yd = self._scattering("yd", where)
        # where the multipliers are rates, friction makes `F_yd` depend on more than `Phi_q`
        self._friction_by_rates = system.has_friction and any(b[0] == "yd" and b[3] == "G^T" for b in problem.known_blocks)
        self.mask = np.zeros(pattern.nnz, dtype=bool)
        self.mask[self._y[0]] = True
        column_of = np.repeat(np.arange(problem.n), np.diff(pattern.indptr))
        self.columns = np.bincount(column_of[~self.mask], minlength=problem.n) == 0

    def evaluate(self, t, y, yd):
        """`(F_y, F_yd)`: values in the order of `problem.pattern`, new arrays; the first is zero where it is not known."""
        p = self._problem
        if self._depends_on_state:
            q = np.ascontiguousarray(y[p.blocks["q"]])
            _pieces(t, q, p.model, self._work, self._sweep, self._seed, self._rate, self._products, *self._views)
            p.system.callbacks.check()
        if self._projector.size:
            N = p._null_space[:, p.system.redundancy.candidates]
            self._projector[:] = (N.T @ N).ravel()
        values = np.empty(p.pattern.nnz), np.empty(p.pattern.nnz)
        for scattering, out in zip((self._y, self._yd), values):
            _scatter(*scattering, self._pieces, out)
        if self._friction_by_rates:
            return values[0], p.jacobian_values(t, y, yd, 1.0, 0.0)
        return values

    def _scattering(self, matrix, where):
        """`(places, sources, signs)`: `values[places] = signs * pieces[sources]`."""
        p = self._problem
        lookup = _Lookup(p.pattern)
        places, sources, signs = [], [], []
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
        return tuple(np.concatenate([np.zeros(0, kind), *parts]) for kind, parts in
                     ((np.int64, places), (np.int64, sources), (float, signs)))

    def _entries(self, piece, where, equation, unknown):
        """Rows, columns and places in `_pieces` of a piece in the block of some equations and unknowns."""
        if piece == "I":
            k = np.arange(equation.stop - equation.start)
            i, j, at = k, k, 0 * k
        elif piece == "0":  # whatever the pattern has there belongs to `F_yd`
            i, j = (x.ravel() for x in np.indices((equation.stop - equation.start, unknown.stop - unknown.start)))
            at = 0 * i
        else:
            name = TRANSPOSED.get(piece, piece)
            i, j, at = where[name]
            at = at + self._at[name]
            i, j = (j, i) if piece in TRANSPOSED else (i, j)
        return i + equation.start, j + unknown.start, at


class _Lookup:
    """Places of entries in the data of a CSC pattern; -1 where it has none."""

    def __init__(self, pattern):
        self.m = pattern.shape[0]
        columns = np.repeat(np.arange(pattern.shape[1]), np.diff(pattern.indptr))
        self.keys = columns.astype(np.int64) * self.m + pattern.indices

    def __call__(self, rows, columns):
        keys = np.asarray(columns, dtype=np.int64) * self.m + rows
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[at] == keys, at, -1)


def _positions(csc):
    """Rows, columns and places of the entries of a CSC array."""
    columns = np.repeat(np.arange(csc.shape[1]), np.diff(csc.indptr))
    return csc.indices.astype(np.int64), columns.astype(np.int64), np.arange(csc.nnz)


def _positions_of_gradient(system):
    """Those of `Phi_q` that can be different from zero."""
    p = system.pattern
    rows = np.repeat(np.arange(system.nc), np.diff(p.ptr))
    k = np.flatnonzero(p.nonzero)
    return rows[k], p.col[k], k


def _positions_of_mass(system):
    rows, columns, at = [], [], []
    for block in lay.records_of(system.model, lay.BLOCK, BLOCK_T):
        i, j = np.indices((block["n"], block["n"]))
        rows.append(block["v"] + i.ravel())
        columns.append(block["v"] + j.ravel())
        at.append(block["at"] + np.arange(i.size))
    return tuple(np.concatenate([np.zeros(0, dtype=np.int64), *x]) for x in (rows, columns, at))


def _map_sweep(map_v):
    return Sweep(*sweep_of(map_v, column_groups(map_v).groups))


def _triples(map_v, gradient, stab):
    """`(to, a, b)`: the products `T[a] G[b]` that add up to the entries of `T Phi_q^T`."""
    i, k, a = _positions(map_v)
    rows, columns, b = gradient
    left = coo_array((np.ones(len(a)), (a, k)), shape=(len(a), map_v.shape[1])).tocsr()
    right = coo_array((np.ones(len(b)), (columns, np.arange(len(b)))), shape=(map_v.shape[1], len(b))).tocsr()
    pairs = (left @ right).tocoo()
    to = _Lookup(stab)(i[pairs.row], rows[pairs.col])
    return to, a[pairs.row], b[pairs.col]
