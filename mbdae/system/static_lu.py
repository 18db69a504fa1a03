"""`P A Q = L U` of a sparse matrix in a given order of its pivots, without exchanges of rows: the pattern of the factors is found once.

The order must be one in which no pivot vanishes for the structure of the equations (see `elimination`). Rounding errors may still grow
where a pivot happens to be small; as in [Li and Demmel, ACM Trans. Math. Software 29 (2003) 110-140] static pivots are checked
afterwards: `factorise` measures the backward error of each factorisation, and `solve` refines its results where that is needed.

Elimination goes row by row: with `w` the row `i` of `A`, for all `k < i` in ascending order

    L[i, k] = w[k] / U[k, k],    w -= L[i, k] U[k, :],

and what is left is row `i` of `U`. Scaling of rows or columns changes no rounding error, as the pivots are given.
"""

from typing import NamedTuple

import numpy as np
from numba import types
from scipy.sparse import csc_array

from ..compilation.compiled import compiled
from ..compilation.structure import Structure, StructureType
from ..typing import Integers, Vector
from .codes import GOOD, SINGULAR_MATRIX
from .fill_in import Pattern, filled
from .vectors import put

ACCURATE = 1e-12  # largest backward error of results that are taken as they are
MOST = 1e-6  # largest one after a refinement; the factors of a matrix with more are useless


class Rows(Structure):
    """A sparse matrix by rows: `values[start[i]:start[i + 1]]` in the columns `columns[...]`."""

    start: Integers
    columns: np.ndarray
    values: Vector


class Source(Structure):
    """`P A Q` by rows like `Rows`; `entries` are the places of the values in the pattern of `A`."""

    start: Integers
    columns: np.ndarray
    entries: np.ndarray
    values: Vector


class StaticFactors(Structure):
    """Factors of a matrix.

    Attributes
    ----------
    n : int
    rows, columns : ndarray of uint32, shape (n,)
        Equation and unknown of each pivot.
    A : Source
    L, U : Rows
        Without their diagonals, that of `L` is one.
    inverse : ndarray, shape (n,)
        Reciprocals of the diagonal of `U`.
    size : ndarray, shape (n,)
        Sums of the absolute values of the rows.
    w, x, r : ndarray, shape (n,)
        Scratch.
    refine : int
        1 if results are to be refined.
    """

    n: int
    rows: np.ndarray
    columns: np.ndarray
    A: Source
    L: Rows
    U: Rows
    inverse: Vector
    size: Vector
    w: Vector
    x: Vector
    r: Vector
    refine: int


_X, _N, _U, _I = types.float64[::1], types.int64[::1], types.uint32[::1], types.int64
ROWS = StructureType("Rows", (("start", _N), ("columns", _U), ("values", _X)))
SOURCE = StructureType("Source", (("start", _N), ("columns", _U), ("entries", _U), ("values", _X)))
FACTORS = StructureType("StaticFactors", (("n", _I), ("rows", _U), ("columns", _U), ("A", SOURCE), ("L", ROWS), ("U", ROWS),
                                          ("inverse", _X), ("size", _X), ("w", _X), ("x", _X), ("r", _X), ("refine", _I)))


# the pattern ---------------------------------------------------------------------------------------------------------------


class StaticPattern(NamedTuple):
    """Where the values of matrices in one pattern and of their factors are, see `StaticFactors`."""

    rows: np.ndarray
    columns: np.ndarray
    A: Pattern
    entries: np.ndarray
    L: Pattern
    U: Pattern


def static_pattern(pattern: csc_array, rows: Integers, columns: Integers) -> StaticPattern:
    """The pattern of the factors of matrices in a CSC pattern.

    Parameters
    ----------
    pattern : csc_array, shape (n, n)
    rows, columns : ndarray of int, shape (n,)
        Equation and unknown of each pivot, in the order of elimination.
    """
    A, entries = _by_rows(pattern, rows, columns)
    return StaticPattern(rows.astype(np.uint32), columns.astype(np.uint32), A, entries, *filled(*A))


def room_for(pattern: StaticPattern) -> StaticFactors:
    """Room for the factors of matrices whose values are in the order of their CSC pattern."""
    n = len(pattern.rows)
    A, L, U = ({**part._asdict(), "values": np.zeros(len(part.columns))} for part in (pattern.A, pattern.L, pattern.U))
    empty = dict(zip(("inverse", "size", "w", "x", "r"), np.zeros((5, n))))
    return StaticFactors(n=n, rows=pattern.rows, columns=pattern.columns, A=Source(**A, entries=pattern.entries), L=Rows(**L), U=Rows(**U),
                         **empty, refine=0)


def static_factors(pattern: csc_array, rows: Integers, columns: Integers) -> StaticFactors:
    """`room_for` the factors of matrices with a `static_pattern`."""
    return room_for(static_pattern(pattern, rows, columns))


def _by_rows(pattern: csc_array, rows: Integers, columns: Integers) -> tuple[Pattern, np.ndarray]:
    """The pattern by rows, and the places of its values in the CSC pattern."""
    n = len(rows)
    row_of, column_of = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    row_of[rows], column_of[columns] = np.arange(n), np.arange(n)
    i, j = row_of[pattern.indices], column_of[np.repeat(np.arange(n), np.diff(pattern.indptr))]
    entries = np.lexsort((j, i))
    start = np.searchsorted(i[entries], np.arange(n + 1)).astype(np.int64)
    return Pattern(start, j[entries].astype(np.uint32)), entries.astype(np.uint32)


# the numbers ---------------------------------------------------------------------------------------------------------------


@compiled
def factorise(values, lu):
    """Factorise the matrix with these values; `GOOD`, or `SINGULAR_MATRIX` if it is singular or no accurate factors were found."""
    _take(values, lu.A, lu.size)
    status = _eliminate(lu)
    return _check(lu) if status == GOOD else status


@compiled
def _take(values, A, size):
    """The values in their order by rows, and the sums of absolute values of the rows."""
    for i in range(size.shape[0]):
        s = 0.0
        for m in range(A.start[i], A.start[i + 1]):
            x = values[A.entries[m]]
            A.values[m] = x
            s += abs(x)
        size[i] = s


@compiled
def _eliminate(lu):
    A, L, U, inverse, w = lu.A, lu.L, lu.U, lu.inverse, lu.w
    a_start, a_columns, a_values = A.start, A.columns, A.values
    l_start, l_columns, l_values = L.start, L.columns, L.values
    u_start, u_columns, u_values = U.start, U.columns, U.values
    for i in range(lu.n):
        for m in range(l_start[i], l_start[i + 1]):
            w[l_columns[m]] = 0.0
        w[i] = 0.0
        for m in range(u_start[i], u_start[i + 1]):
            w[u_columns[m]] = 0.0
        for m in range(a_start[i], a_start[i + 1]):
            w[a_columns[m]] = a_values[m]
        # subtract the rows above
        for m in range(l_start[i], l_start[i + 1]):
            k = l_columns[m]
            x = w[k]
            if x != 0.0:
                x *= inverse[k]
                for p in range(u_start[k], u_start[k + 1]):
                    w[u_columns[p]] -= x * u_values[p]
            l_values[m] = x
        pivot = w[i]
        if not 0.0 < abs(pivot) < 1e300:
            return SINGULAR_MATRIX
        inverse[i] = 1.0 / pivot
        for m in range(u_start[i], u_start[i + 1]):
            u_values[m] = w[u_columns[m]]
    return GOOD


@compiled
def _check(lu):
    """Whether solutions must be refined, from one for a right-hand side as large as the rows. `SINGULAR_MATRIX` if that is not enough."""
    b, x = lu.r, lu.x
    put(lu.size, b)
    put(lu.size, x)
    lu.refine = 0
    _substitute(lu, x)
    if _residual(lu, x, b) <= ACCURATE:
        return GOOD
    lu.refine = 1
    _correct(lu, x, b)
    put(lu.size, b)
    return GOOD if _residual(lu, x, b) <= MOST else SINGULAR_MATRIX


@compiled
def _substitute(lu, x):
    """`x <- (L U)^-1 x`."""
    L, U, inverse = lu.L, lu.U, lu.inverse
    l_start, l_columns, l_values = L.start, L.columns, L.values
    u_start, u_columns, u_values = U.start, U.columns, U.values
    for i in range(lu.n):
        s = x[i]
        for m in range(l_start[i], l_start[i + 1]):
            s -= l_values[m] * x[l_columns[m]]
        x[i] = s
    for i in range(lu.n - 1, -1, -1):
        s = x[i]
        for m in range(u_start[i], u_start[i + 1]):
            s -= u_values[m] * x[u_columns[m]]
        x[i] = s * inverse[i]


@compiled
def _residual(lu, x, b):
    """`b <- b - A x`; the largest ratio of its entries to those of `|A| |x| + |b|`, the backward error [Oettli and Prager, 1964]."""
    A, largest = lu.A, 0.0
    a_start, a_columns, a_values = A.start, A.columns, A.values
    for i in range(lu.n):
        s, size = b[i], abs(b[i])
        for m in range(a_start[i], a_start[i + 1]):
            product = a_values[m] * x[a_columns[m]]
            s -= product
            size += abs(product)
        b[i] = s
        if not abs(s) <= largest * size:
            largest = abs(s) / size
            if not largest < np.inf:
                return np.inf
    return largest


@compiled
def _correct(lu, x, r):
    """`x += (L U)^-1 r`."""
    _substitute(lu, r)
    for k in range(lu.n):
        x[k] += r[k]


@compiled
def solve(lu, b, out):
    """`out = A^-1 b` after `factorise`; `out` may be `b`."""
    x, r = lu.x, lu.r
    for k in range(lu.n):
        x[k] = b[lu.rows[k]]
    if lu.refine != 0:
        put(x, r)
    _substitute(lu, x)
    if lu.refine != 0:
        _residual(lu, x, r)
        _correct(lu, x, r)
    for k in range(lu.n):
        out[lu.columns[k]] = x[k]
