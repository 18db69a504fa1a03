"""The choice of independent coordinates: sparse Gaussian elimination with complete pivoting [Negrut, section 3.1; Wehage].

The pivot is, among the rows whose largest entry is nearly the largest of all, that in the column with the fewest entries, so that little
fills in. Columns without a pivot are independent coordinates, rows without one redundant constraints.
"""

import numpy as np

from ...compilation.compiled import compiled
from ...system.codes import GOOD, NEEDS_MATRIX

NEARLY = 0.9  # of the largest entry, from which on sparsity decides
RANK = 1e-9  # largest entry that is zero but for rounding, relative to the first pivot
NO_PIVOT = -1


@compiled
def choose_pivots(J, scales, rank, room, pivots):
    """The column of the pivot in each row of `J` with its columns scaled, `NO_PIVOT` without one; at most `rank` pivots.

    `room` is the number of entries that may be made. Returns `GOOD`, or `NEEDS_MATRIX` if they are too few.
    """
    m, n, size = pivots.shape[0], scales.shape[0], J.columns.shape[0]
    start, length = np.zeros(m, np.int64), np.zeros(m, np.int64)
    columns, values = np.empty(room, np.int64), np.empty(room)
    largest, at_largest, many = np.zeros(m), np.zeros(m, np.int64), np.zeros(n, np.int64)
    # rows with an entry in a column, as lists
    head, link, row_of = np.full(n, -1), np.empty(room, np.int64), np.empty(room, np.int64)
    x, listed, used, links = np.zeros(n), np.zeros(n, np.int64), np.empty(n, np.int64), 0
    if size > room:
        return NEEDS_MATRIX
    for i in range(m):
        start[i], length[i], pivots[i] = J.start[i], J.start[i + 1] - J.start[i], NO_PIVOT
        for k in range(J.start[i], J.start[i + 1]):
            c = J.columns[k]
            columns[k], values[k] = c, J.values[k] * scales[c]
            row_of[k], link[k], head[c], many[c] = i, head[c], k, many[c] + 1
            if abs(values[k]) > largest[i]:
                largest[i], at_largest[i] = abs(values[k]), c
    end, links, first = size, size, 0.0
    for step in range(rank):
        # the pivot
        best = 0.0
        for i in range(m):
            if pivots[i] == NO_PIVOT:
                best = max(best, largest[i])
        if step == 0:
            first = best
        if not best > RANK * first:
            break
        p = -1
        for i in range(m):
            if pivots[i] == NO_PIVOT and largest[i] >= NEARLY * best and (p == -1 or many[at_largest[i]] < many[at_largest[p]]):
                p = i
        c = at_largest[p]
        pivots[p], pivot = c, 0.0
        for k in range(start[p], start[p] + length[p]):
            many[columns[k]] -= 1
            if columns[k] == c:
                pivot = values[k]
        # the other rows
        e = head[c]
        while e != -1:
            i = row_of[e]
            e = link[e]
            if pivots[i] != NO_PIVOT:
                continue
            count, factor = 0, 0.0
            for k in range(start[i], start[i] + length[i]):
                x[columns[k]], listed[columns[k]], used[count] = values[k], 1, columns[k]
                count += 1
                if columns[k] == c:
                    factor = values[k] / pivot
            before = count
            for k in range(start[p], start[p] + length[p]):
                if listed[columns[k]] == 0:
                    listed[columns[k]], used[count] = 1, columns[k]
                    count += 1
                x[columns[k]] -= factor * values[k]
            if (count > before and end + count > room) or links + count > room:
                return NEEDS_MATRIX
            if count > before:
                start[i] = end
                end += count
            # without the entry of the pivot
            to, largest[i] = start[i], 0.0
            for k in range(count):
                d = used[k]
                if d != c:
                    columns[to], values[to] = d, x[d]
                    to += 1
                    if abs(x[d]) > largest[i]:
                        largest[i], at_largest[i] = abs(x[d]), d
                    if k >= before:
                        row_of[links], link[links], head[d], many[d] = i, head[d], links, many[d] + 1
                        links += 1
                x[d], listed[d] = 0.0, 0
            length[i] = to - start[i]
    return GOOD
