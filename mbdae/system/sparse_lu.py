"""`P A Q = L U` of a sparse unsymmetric matrix for compiled code, column by column with partial pivoting [Gilbert and Peierls].

SuperLU cannot be called from compiled loops. It gives the order `Q` of the columns, once for a pattern (`ordering`); the rows are
exchanged for the largest pivot of each column, as in SuperLU. Entries that vanish are not stored: the pattern may change with the values.
"""

from typing import NamedTuple

import numpy as np
from numba import types
from scipy.sparse import csc_array
from scipy.sparse.linalg import SuperLU, splu

from ..compilation.compiled import compiled
from ..compilation.structure import Structure, StructureType
from ..typing import Integers, Vector
from .codes import GOOD, NEEDS_MATRIX, SINGULAR_MATRIX
from .vectors import fill

USUAL_ORDERS = "COLAMD", "MMD_ATA"  # the second one fills in a quarter less for trees with branches
ALL_ORDERS = *USUAL_ORDERS, "MMD_AT_PLUS_A"  # the last one for nearly symmetric patterns with pivots on the diagonal
LARGE = 100.0  # entry of a diagonal, where the others are about one
ROOM = 2  # for entries of the factors, relative to those of SuperLU
SCANNED = 4  # entries of the matrix to the room for a factor, up to which it is faster to look at all steps and rows of each column


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
    diagonal : ndarray, shape (n,)
        The pivots.
    x, y, marked, stack, steps, rows : ndarray, shape (n,)
        Scratch.
    """

    order: Integers
    pivots: Integers
    step: Integers
    L: Columns
    U: Columns
    diagonal: Vector
    x: Vector
    y: Vector
    marked: Integers
    stack: Integers
    steps: Integers
    rows: Integers


_X, _N = types.float64[::1], types.int64[::1]
COLUMNS = StructureType("Columns", (("start", _N), ("rows", _N), ("values", _X)))
FACTORS = StructureType("SparseFactors", (("order", _N), ("pivots", _N), ("step", _N), ("L", COLUMNS), ("U", COLUMNS), ("diagonal", _X),
                                          ("x", _X), ("y", _X), ("marked", _N), ("stack", _N), ("steps", _N), ("rows", _N)))


class Ordering(NamedTuple):
    """An order of the columns, and the number of entries of `L` and `U` in it."""

    order: Integers
    entries: int


def least_filled(matrix: csc_array, *orders: str) -> SuperLU:
    """Factors by SuperLU in the one of its orders of the columns that fills in least."""
    return min((splu(matrix, permc_spec=order) for order in orders), key=lambda lu: int(lu.nnz))


def ordering(pattern: csc_array, orders: tuple[str, ...] = USUAL_ORDERS, regular: int = 0) -> Ordering:
    """The order of SuperLU for the least fill-in; for matrices of full structural rank.

    The first `regular` columns have large entries on the diagonal.
    """
    values = np.random.default_rng(1).uniform(0.5, 1.0, pattern.nnz)
    columns = np.repeat(np.arange(pattern.shape[1]), np.diff(pattern.indptr))
    values[(pattern.indices == columns) & (columns < regular)] = LARGE
    filled = csc_array((values, pattern.indices, pattern.indptr), shape=pattern.shape)
    lu = least_filled(filled, *orders)
    return Ordering(np.argsort(lu.perm_c).astype(np.int64), int(lu.nnz))


def new_factors(order: Integers, entries: int, dtype: type = float) -> SparseFactors:
    """Room for factors with so many entries, real or complex."""
    n = len(order)
    most = min(n * (n + 1) // 2, entries) + n

    def columns() -> Columns:
        return Columns(start=np.zeros(n + 1, dtype=np.int64), rows=np.zeros(most, dtype=np.int64), values=np.zeros(most, dtype))

    integers = {name: np.zeros(n, dtype=np.int64) for name in ("pivots", "step", "marked", "stack", "steps", "rows")}
    return SparseFactors(order=order, L=columns(), U=columns(), diagonal=np.zeros(n, dtype), x=np.zeros(n, dtype), y=np.zeros(n, dtype),
                         **integers)


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
        step[k] = lu.marked[k] = -1
        lu.steps[k] = lu.rows[k] = k
    at, to, full = 0, 0, n * n <= SCANNED * L.values.shape[0]
    for k in range(n):
        if at + n > L.values.shape[0] or to + n > U.values.shape[0]:
            return NEEDS_MATRIX
        first, last = A.start[lu.order[k]], A.start[lu.order[k] + 1]
        for m in range(first, last):
            x[A.rows[m]] = A.values[m]
        steps, rows = (k, n - k) if full else _reached(k, first, last, A, lu)
        # elimination with the columns before
        for j in range(steps):
            s = lu.steps[j]
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
        for j in range(rows):
            if not size(x[lu.rows[j]]) <= best:
                p, best = lu.rows[j], size(x[lu.rows[j]])
        pivot = x[p] if p >= 0 else x[0] * 0.0
        if not 0.0 < abs(pivot) < 1e300:
            return SINGULAR_MATRIX
        lu.pivots[k], step[p], lu.diagonal[k], x[p] = p, k, pivot, 0.0
        # the column of L
        for j in range(rows):
            i = lu.rows[j]
            if x[i] != 0.0:
                L.rows[at], L.values[at], x[i] = i, x[i] / pivot, 0.0
                at += 1
        L.start[k + 1] = at
        if full:
            _remove(p, n - k, lu.rows)
    return GOOD


@compiled
def _remove(p, n, x):
    """Take a number out of the first `n`, which are in rising order."""
    j = 0
    while x[j] != p:
        j += 1
    for i in range(j, n - 1):
        x[i] = x[i + 1]


@compiled
def _reached(k, first, last, A, lu):
    """Steps of the elimination of column `k`, into `lu.steps`, and rows in which it may have entries below them, into `lu.rows`.

    They are those of the column and of all columns of `L` that one gets to from there [Gilbert and Peierls], in rising order.
    """
    steps = rows = 0
    for m in range(first, last):
        count = _note(A.rows[m], k, 0, lu)
        while count > 0:
            count -= 1
            i = lu.stack[count]
            s = lu.step[i]
            if s < 0:
                lu.rows[rows] = i
                rows += 1
                continue
            lu.steps[steps] = s
            steps += 1
            for e in range(lu.L.start[s], lu.L.start[s + 1]):
                count = _note(lu.L.rows[e], k, count, lu)
    _sort(lu.steps, steps)
    _sort(lu.rows, rows)
    return steps, rows


@compiled
def _note(i, k, count, lu):
    """Put a row on the stack unless it has been there; the number of rows on it."""
    if lu.marked[i] == k:
        return count
    lu.marked[i], lu.stack[count] = k, i
    return count + 1


@compiled
def _sort(x, n):
    """The first `n` numbers in rising order, by Shell's method."""
    gap = n // 2
    while gap > 0:
        for i in range(gap, n):
            value, j = x[i], i
            while j >= gap and x[j - gap] > value:
                x[j] = x[j - gap]
                j -= gap
            x[j] = value
        gap //= 2


@compiled
def solve(lu, b):
    """`b <- A^-1 b`, after `factorise`."""
    solve_by(lu, b, lu.y)


@compiled
def solve_by(lu, b, y):
    """The same with scratch `y`, which is complex for a complex `b`, also where the matrix is real."""
    n, L, U = lu.order.shape[0], lu.L, lu.U
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
