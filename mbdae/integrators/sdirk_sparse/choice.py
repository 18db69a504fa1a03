"""The choice of independent coordinates: sparse Gaussian elimination with complete pivoting [Negrut, section 3.1; Wehage].

The pivot is, among the rows whose largest entry is nearly the largest of all, that in the column with the fewest entries, so that little
fills in. Columns without a pivot are independent coordinates, rows without one redundant constraints.
"""

from typing import NamedTuple

import numpy as np

from ...compilation.compiled import compiled
from ...system.codes import GOOD, NEEDS_MATRIX
from ...typing import Integers, Vector

NEARLY = 0.9  # of the largest entry, from which on sparsity decides
RANK = 1e-9  # largest entry that is zero but for rounding, relative to the first pivot
NO_PIVOT = -1
ENTRIES, LINKS = range(2)  # that are in use


class Work(NamedTuple):
    """The rows that are left, the rows of each column as lists, and scratch.

    Attributes
    ----------
    start, length, columns, values : ndarray
        Entries of each row.
    largest, at_largest : ndarray, shape (rows,)
        The largest one and its column.
    many, head, link, row_of : ndarray
        Entries of each column in the rows that are left, and its rows: the first link, the next one, and the row of a link.
    x, listed, used : ndarray, shape (columns,)
        A row that is changed.
    counts : ndarray of int, shape (2,)
        `ENTRIES` and `LINKS` in use.
    """

    start: Integers
    length: Integers
    columns: Integers
    values: Vector
    largest: Vector
    at_largest: Integers
    many: Integers
    head: Integers
    link: Integers
    row_of: Integers
    x: Vector
    listed: Integers
    used: Integers
    counts: Integers


@compiled
def choose_pivots(J, scales, rank, room, pivots):
    """The column of the pivot in each row of `J` with its columns scaled, `NO_PIVOT` without one; at most `rank` pivots.

    `room` is the number of entries that may be made. Returns `GOOD`, or `NEEDS_MATRIX` if they are too few.
    """
    pivots[:] = NO_PIVOT
    if J.columns.shape[0] > room:
        return NEEDS_MATRIX
    w, first = _begin(J, scales, room), 0.0
    for step in range(rank):
        p, best = _next_row(pivots, w)
        first = best if step == 0 else first
        if not best > RANK * first:
            break
        pivots[p] = w.at_largest[p]
        for k in range(w.start[p], w.start[p] + w.length[p]):
            w.many[w.columns[k]] -= 1
        e = w.head[pivots[p]]
        while e != -1:
            i = w.row_of[e]
            e = w.link[e]
            if pivots[i] == NO_PIVOT and not _subtract(p, i, pivots[p], w):
                return NEEDS_MATRIX
    return GOOD


@compiled
def _begin(J, scales, room):
    """All rows."""
    m, n = J.start.shape[0] - 1, scales.shape[0]
    w = Work(np.zeros(m, np.int64), np.zeros(m, np.int64), np.empty(room, np.int64), np.empty(room), np.zeros(m), np.zeros(m, np.int64),
             np.zeros(n, np.int64), np.full(n, -1), np.empty(room, np.int64), np.empty(room, np.int64), np.zeros(n),
             np.zeros(n, np.int64), np.empty(n, np.int64), np.zeros(2, np.int64))
    for i in range(m):
        w.start[i], w.length[i] = J.start[i], J.start[i + 1] - J.start[i]
        for k in range(J.start[i], J.start[i + 1]):
            c = J.columns[k]
            w.columns[k], w.values[k] = c, J.values[k] * scales[c]
            w.row_of[k], w.link[k], w.head[c], w.many[c] = i, w.head[c], k, w.many[c] + 1
            if abs(w.values[k]) > w.largest[i]:
                w.largest[i], w.at_largest[i] = abs(w.values[k]), c
    w.counts[ENTRIES] = w.counts[LINKS] = J.columns.shape[0]
    return w


@compiled
def _next_row(pivots, w):
    """The row of the next pivot, and the largest entry of all rows that are left."""
    best, p = 0.0, -1
    for i in range(pivots.shape[0]):
        if pivots[i] == NO_PIVOT:
            best = max(best, w.largest[i])
    for i in range(pivots.shape[0]):
        if pivots[i] == NO_PIVOT and w.largest[i] >= NEARLY * best and (p == -1 or w.many[w.at_largest[i]] < w.many[w.at_largest[p]]):
            p = i
    return p, best


@compiled
def _subtract(p, i, c, w):
    """Eliminate column `c` from row `i` by row `p`; whether there is room."""
    x, listed, used, count, entry, pivot = w.x, w.listed, w.used, 0, 0.0, 1.0
    for k in range(w.start[i], w.start[i] + w.length[i]):
        d = w.columns[k]
        x[d], listed[d], used[count] = w.values[k], 1, d
        count += 1
    entry, before = x[c], count
    for k in range(w.start[p], w.start[p] + w.length[p]):
        if w.columns[k] == c:
            pivot = w.values[k]
    for k in range(w.start[p], w.start[p] + w.length[p]):
        d = w.columns[k]
        if listed[d] == 0:
            listed[d], used[count] = 1, d
            count += 1
        x[d] -= entry / pivot * w.values[k]
    if count > before:
        if max(w.counts[ENTRIES], w.counts[LINKS]) + count > w.columns.shape[0]:
            return False
        w.start[i] = w.counts[ENTRIES]
        w.counts[ENTRIES] += count
    # the row without this column
    to = w.start[i]
    w.largest[i] = 0.0
    for k in range(count):
        d = used[k]
        if d != c:
            w.columns[to], w.values[to] = d, x[d]
            to += 1
            if abs(x[d]) > w.largest[i]:
                w.largest[i], w.at_largest[i] = abs(x[d]), d
            if k >= before:
                at = w.counts[LINKS]
                w.row_of[at], w.link[at], w.head[d], w.many[d] = i, w.head[d], at, w.many[d] + 1
                w.counts[LINKS] += 1
        x[d], listed[d] = 0.0, 0
    w.length[i] = to - w.start[i]
    return True
