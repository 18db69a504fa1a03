"""The pattern of the factors `L` and `U` of a sparse matrix whose pivots are its diagonal entries in their order.

Row `i` of both has the columns of row `i` of the matrix and those of the rows `k` of `U` for all its columns `k < i`, in ascending order.
"""

from typing import NamedTuple

import numpy as np

from ..compilation.compiled import compiled
from ..typing import Integers


class Pattern(NamedTuple):
    """Columns of the entries of a triangular factor, row by row."""

    start: Integers
    columns: np.ndarray


def filled(start: Integers, columns: np.ndarray) -> tuple[Pattern, Pattern]:
    """The patterns of `L` and `U` of a matrix by rows with ascending columns."""
    n = len(start) - 1
    room = 4 * len(columns) + n
    while True:
        L, U = (Pattern(np.zeros(n + 1, dtype=np.int64), np.zeros(room, dtype=np.uint32)) for _ in range(2))
        if _fill_in(start, columns, *L, *U):
            return Pattern(L.start, L.columns[:L.start[-1]].copy()), Pattern(U.start, U.columns[:U.start[-1]].copy())
        room *= 2


@compiled
def _fill_in(start, columns, l_start, l_columns, u_start, u_columns):
    """Write the patterns of the factors; whether there was room."""
    n = start.shape[0] - 1
    after = np.full(n + 1, n)  # the row as a list of ascending columns: the one after each, the first one after `n`
    lower, upper = 0, 0
    for i in range(n):
        if lower + n > l_columns.shape[0] or upper + n > u_columns.shape[0]:
            return False
        after[n] = n
        p = n
        for m in range(start[i], start[i + 1]):
            j = np.int64(columns[m])
            after[p], after[j] = j, n
            p = j
        p = n  # the diagonal
        while after[p] < i:
            p = after[p]
        if after[p] != i:
            after[i], after[p] = after[p], i
        # the rows that are subtracted
        k = after[n]
        while k < i:
            l_columns[lower] = k
            lower += 1
            p = k
            for m in range(u_start[k], u_start[k + 1]):
                j = np.int64(u_columns[m])
                while after[p] < j:
                    p = after[p]
                if after[p] != j:
                    after[j], after[p] = after[p], j
                p = j
            k = after[k]
        k = after[i]
        while k < n:
            u_columns[upper] = k
            upper += 1
            k = after[k]
        l_start[i + 1], u_start[i + 1] = lower, upper
    return True
