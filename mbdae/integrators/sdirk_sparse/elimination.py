"""Sparse Gaussian elimination by rows, for positions and velocities in independent coordinates.

`P A Q = L U` in an order of rows and columns that SuperLU has found for the least fill-in: in a tree whose joints are eliminated from the
leaves to the root no row fills in. SuperLU cannot be called from compiled loops.
"""

import numpy as np

from ...compilation.compiled import compiled
from ...system.codes import GOOD, NEEDS_MATRIX

NO_PIVOT = -1


@compiled
def eliminate(A, e):
    """Eliminate the rows of a square matrix in the order of its `Elimination`.

    Parameters
    ----------
    A : Rows
    e : Elimination

    Returns
    -------
    status : int
        `GOOD`, or `NEEDS_MATRIX` if there is too little room.
    worst : float
        The smallest pivot, relative to the largest entry of its row before and after elimination, or to the size that this row has
        elsewhere.
    """
    at, to, worst, x, listed = 0, 0, np.inf, e.x, e.listed
    for c in range(x.shape[0]):
        e.place_of[c], x[c], listed[c] = NO_PIVOT, 0.0, 0
    for p in range(e.order.shape[0]):
        # the row
        row, pivot = e.order[p], e.pivots[p]
        count, largest = 0, A.sizes[row]
        for k in range(A.start[row], A.start[row + 1]):
            c = A.columns[k]
            x[c] += A.values[k]
            count = _list(c, count, e)
        for k in range(count):
            largest = max(largest, abs(x[e.used[k]]))
        # rows before, the first one first
        e.first[p] = to
        while True:
            source = p
            for k in range(count):
                c = e.used[k]
                if x[c] != 0.0 and NO_PIVOT < e.place_of[c] < source:
                    source = e.place_of[c]
            if source == p:
                break
            if to == e.sources.shape[0]:
                return NEEDS_MATRIX, worst
            c = e.pivots[source]
            e.sources[to], e.factors[to], x[c] = source, x[c], 0.0
            for k in range(e.start[source], e.end[source]):
                x[e.columns[k]] -= e.factors[to] * e.values[k]
                count = _list(e.columns[k], count, e)
            to += 1
        e.last[p] = to
        # the row without its pivot
        if at + count > e.values.shape[0]:
            return NEEDS_MATRIX, worst
        for k in range(count):
            largest = max(largest, abs(x[e.used[k]]))
        worst = min(worst, abs(x[pivot]) / largest if largest > 0.0 else 0.0)
        e.start[p], e.place_of[pivot], e.diagonal[p] = at, p, x[pivot]
        for k in range(count):
            c = e.used[k]
            if c != pivot and x[c] != 0.0:
                e.columns[at], e.values[at] = c, x[c] / e.diagonal[p]
                at += 1
            x[c], listed[c] = 0.0, 0
        e.end[p] = at
    return GOOD, worst


@compiled
def _list(c, count, e):
    """Note a column in which the row may have an entry; the number of these."""
    if e.listed[c] == 0:
        e.listed[c], e.used[count] = 1, c
        return count + 1
    return count


@compiled
def solve_rows(e, b, x):
    """`x` with `A x = b`, by the factors."""
    y = e.x
    for p in range(b.shape[0]):
        s = b[e.order[p]]
        for k in range(e.first[p], e.last[p]):
            s -= e.factors[k] * y[e.sources[k]]
        y[p] = s / e.diagonal[p]
    for p in range(b.shape[0] - 1, -1, -1):
        s = y[p]
        for k in range(e.start[p], e.end[p]):
            s -= e.values[k] * x[e.columns[k]]
        x[e.pivots[p]] = s
