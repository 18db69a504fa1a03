"""`P A Q = L U` of a sparse unsymmetric matrix for compiled code, column by column with partial pivoting [Gilbert and Peierls].

SuperLU cannot be called from compiled loops. It gives the order `Q` of the columns, once for a pattern (`ordering`); the rows are
exchanged for the largest pivot of each column, as in SuperLU. Entries that vanish are not stored: the pattern may change with the values.
"""

from typing import NamedTuple

import numpy as np
from numba import types
from scipy.sparse import csc_array
from scipy.sparse.linalg import splu

from ..compilation.compiled import compiled
from ..compilation.structure import Structure, StructureType
from ..typing import Integers, Vector
from .codes import GOOD, NEEDS_MATRIX, SINGULAR_MATRIX
from .vectors import fill

ROOM = 2  # for entries of the factors, relative to those of SuperLU


class Columns(Structure):
    """Entries of a triangular factor by columns, `values[start[k]:start[k + 1]]` in the rows `rows[...]`."""

    start: Integers
    rows: Integers
    values: Vector


class SparseFactors(Structure):
    """`L` without its diagonal of ones, in the rows of the matrix; `U` without its diagonal, in the order of the pivots.

    Attributes
    ----------
    order, pivots : ndarray of int, shape (n,)
        Column and row of each pivot.
    step : ndarray of int, shape (n,)
        Number of the pivot in each row; -1 while there is none.
    diagonal, x, y : ndarray, shape (n,)
        The pivots, and scratch.
    """

    order: Integers
    pivots: Integers
    step: Integers
    L: Columns
    U: Columns
    diagonal: Vector
    x: Vector
    y: Vector


_X, _N = types.float64[::1], types.int64[::1]
COLUMNS = StructureType("Columns", (("start", _N), ("rows", _N), ("values", _X)))
FACTORS = StructureType("SparseFactors", (("order", _N), ("pivots", _N), ("step", _N), ("L", COLUMNS), ("U", COLUMNS), ("diagonal", _X),
                                          ("x", _X), ("y", _X)))


class Ordering(NamedTuple):
    """An order of the columns, and the number of entries of `L` and `U` in it."""

    order: Integers
    entries: int


def ordering(pattern: csc_array) -> Ordering:
    """The order of SuperLU (COLAMD) for the least fill-in; for matrices of full structural rank."""
    filled = csc_array((np.random.default_rng(1).uniform(0.5, 1.0, pattern.nnz), pattern.indices, pattern.indptr), shape=pattern.shape)
    lu = splu(filled, permc_spec="COLAMD")
    return Ordering(np.argsort(lu.perm_c).astype(np.int64), int(lu.nnz))


def new_factors(order: Integers, entries: int, dtype: type = float) -> SparseFactors:
    """Room for factors with so many entries, real or complex."""
    n = len(order)
    most = min(n * (n + 1) // 2, entries) + n

    def columns() -> Columns:
        return Columns(start=np.zeros(n + 1, dtype=np.int64), rows=np.zeros(most, dtype=np.int64), values=np.zeros(most, dtype))

    return SparseFactors(order=order, pivots=np.zeros(n, dtype=np.int64), step=np.zeros(n, dtype=np.int64), L=columns(), U=columns(),
                         diagonal=np.zeros(n, dtype), x=np.zeros(n, dtype), y=np.zeros(n, dtype))


@compiled
def size(x):
    """`|Re x| + |Im x|`, which takes no root."""
    return abs(x.real) + abs(x.imag)


@compiled
def factorise(A, lu):
    """Factorise the matrix with these `Columns`; `GOOD`, `SINGULAR_MATRIX`, or `NEEDS_MATRIX` if there is too little room."""
    n, x, step, L, U = lu.order.shape[0], lu.x, lu.step, lu.L, lu.U
    fill(x, 0.0)
    for k in range(n):
        step[k] = -1
    at, to = 0, 0
    for k in range(n):
        if at + n > L.values.shape[0] or to + n > U.values.shape[0]:
            return NEEDS_MATRIX
        for m in range(A.start[lu.order[k]], A.start[lu.order[k] + 1]):
            x[A.rows[m]] = A.values[m]
        # elimination with the columns before
        for s in range(k):
            u = x[lu.pivots[s]]
            if u != 0.0:
                x[lu.pivots[s]] = 0.0
                U.rows[to], U.values[to] = s, u
                to += 1
                for m in range(L.start[s], L.start[s + 1]):
                    x[L.rows[m]] -= L.values[m] * u
        U.start[k + 1] = to
        # the largest pivot
        p, best = -1, -1.0
        for i in range(n):
            if step[i] < 0 and not size(x[i]) <= best:
                p, best = i, size(x[i])
        pivot = x[p]
        if not 0.0 < abs(pivot) < 1e300:
            return SINGULAR_MATRIX
        lu.pivots[k], step[p], lu.diagonal[k], x[p] = p, k, pivot, 0.0
        # the column of L
        for i in range(n):
            if x[i] != 0.0:
                L.rows[at], L.values[at], x[i] = i, x[i] / pivot, 0.0
                at += 1
        L.start[k + 1] = at
    return GOOD


@compiled
def solve(lu, b):
    """`b <- A^-1 b`, after `factorise`."""
    n, y, L, U = b.shape[0], lu.y, lu.L, lu.U
    for k in range(n):
        u = b[lu.pivots[k]]
        y[k] = u
        if u != 0.0:
            for m in range(L.start[k], L.start[k + 1]):
                b[L.rows[m]] -= L.values[m] * u
    for k in range(n - 1, -1, -1):
        u = y[k] / lu.diagonal[k]
        b[lu.order[k]] = u
        if u != 0.0:
            for m in range(U.start[k], U.start[k + 1]):
                y[U.rows[m]] -= U.values[m] * u
