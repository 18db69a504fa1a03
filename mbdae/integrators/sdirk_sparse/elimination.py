"""Sparse Gaussian elimination by rows, for positions and velocities in independent coordinates.

Rows are eliminated one after the other, from the last to the first. In each the pivot is, among the entries of at least half of the largest
one, that in the column with the fewest entries in the rows that remain: in a tree whose joints are eliminated from the leaves to the root a
coordinate of the outer body, so that no row fills in.
"""

import numpy as np

from ...compilation.compiled import compiled
from ...system.codes import GOOD, NEEDS_MATRIX

CHOICE = 0.5  # smallest pivot, relative to the largest entry of its row
RANK = 1e-9  # largest entry of a row that depends on others, relative to that before elimination
NO_PIVOT = -1


@compiled
def eliminate(A, choose, pivots, e):
    """Eliminate the rows of a square matrix from the last to the first, with the pivots chosen here or those that are given.

    Parameters
    ----------
    A : Rows
        The matrix.
    choose : bool
    pivots : ndarray of int, shape (n,)
        Column of the pivot in each row, `NO_PIVOT` where there is none.
    e : Elimination
        The factors.

    Returns
    -------
    status : int
        `GOOD`, or `NEEDS_MATRIX` if there is too little room.
    worst : float
        The smallest pivot, relative to the largest entry of its row before and after elimination, or to the size that this row has
        elsewhere.
    """
    m, at, to, worst, x, listed = pivots.shape[0], 0, 0, np.inf, e.x, e.listed
    for c in range(x.shape[0]):
        e.row_of[c], e.many[c], x[c], listed[c] = NO_PIVOT, 0, 0.0, 0
    for k in range(A.columns.shape[0]):
        e.many[A.columns[k]] += 1
    for row in range(m - 1, -1, -1):
        # the row
        count, first = 0, A.sizes[row]
        for k in range(A.start[row], A.start[row + 1]):
            c = A.columns[k]
            x[c] += A.values[k]
            e.many[c] -= 1
            count = _list(c, count, listed, e.used)
        for k in range(count):
            first = max(first, abs(x[e.used[k]]))
        # earlier pivots, the last rows first
        e.first[row] = to
        while True:
            source = NO_PIVOT
            for k in range(count):
                if x[e.used[k]] != 0.0:
                    source = max(source, e.row_of[e.used[k]])
            if source == NO_PIVOT:
                break
            c = pivots[source]
            factor, x[c] = x[c], 0.0
            if to == e.sources.shape[0]:
                return NEEDS_MATRIX, worst
            e.sources[to], e.factors[to] = source, factor
            to += 1
            for k in range(e.start[source], e.end[source]):
                x[e.columns[k]] -= factor * e.values[k]
                count = _list(e.columns[k], count, listed, e.used)
        e.last[row] = to
        best, pivot = 0.0, pivots[row]
        for k in range(count):
            best = max(best, abs(x[e.used[k]]))
        if choose:
            pivot = _chosen(count, best, first, e)
            pivots[row] = pivot
        # the row without its pivot
        if pivot != NO_PIVOT:
            if at + count > e.values.shape[0]:
                return NEEDS_MATRIX, worst
            worst = min(worst, abs(x[pivot]) / max(best, first) if best > 0.0 else 0.0)
            e.start[row], e.row_of[pivot], e.diagonal[row] = at, row, x[pivot]
            for k in range(count):
                c = e.used[k]
                if c != pivot and x[c] != 0.0:
                    e.columns[at], e.values[at] = c, x[c] / x[pivot]
                    at += 1
            e.end[row] = at
        for k in range(count):
            x[e.used[k]], listed[e.used[k]] = 0.0, 0
    return GOOD, worst


@compiled
def _list(c, count, listed, used):
    """Note a column in which the row may have an entry; the number of these."""
    if listed[c] == 0:
        listed[c], used[count] = 1, c
        return count + 1
    return count


@compiled
def _chosen(count, best, first, e):
    """The pivot of a row with the largest entry `best`, which was `first` before elimination."""
    pivot, x = NO_PIVOT, e.x
    if best <= RANK * first:
        return pivot
    for k in range(count):
        c = e.used[k]
        if abs(x[c]) >= CHOICE * best and (pivot == NO_PIVOT or (e.many[c], -abs(x[c])) < (e.many[pivot], -abs(x[pivot]))):
            pivot = c
    return pivot


@compiled
def solve_rows(pivots, e, b, x):
    """`x` with `A x = b` by the factors of a square matrix; `b` is overwritten."""
    for row in range(b.shape[0] - 1, -1, -1):
        for k in range(e.first[row], e.last[row]):
            b[row] -= e.factors[k] * b[e.sources[k]]
        b[row] /= e.diagonal[row]
    for row in range(b.shape[0]):
        s = b[row]
        for k in range(e.start[row], e.end[row]):
            s -= e.values[k] * x[e.columns[k]]
        x[pivots[row]] = s
