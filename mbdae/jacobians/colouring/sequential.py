"""Sequential (greedy) colouring: each column is assigned to the first admissible group.

Each row stores the groups with an entry in it as bits, so the work is proportional to the number of entries.
"""

import numpy as np
from numpy.typing import NDArray

from ...compilation.compiled import compiled
from ..signatures import Indices
from .incidence import Incidence

BITS = 62  # used of a word, such that a full word plus one is still positive


def group_in_order(order: Indices, incidence: Incidence, at_least: int) -> tuple[int, Indices]:
    """`(count, groups)` of the columns in the given order; memory for `at_least` groups, which is doubled if needed."""
    groups = np.empty(len(order), dtype=np.int64)
    words, count = at_least // BITS + 1, -1
    while count < 0:
        taken = np.zeros((len(incidence.row_ptr) - 1, words), dtype=np.int64)
        count, words = _group(order, incidence, taken, groups), 2 * words
    return count, groups


@compiled
def _group(order: Indices, incidence: Incidence, taken: NDArray[np.int64], groups: Indices) -> int:
    """The number of groups, -1 if `taken` is too small."""
    count = 0
    for column in order:
        group = _first_free(column, incidence, taken)
        if group < 0:
            return -1
        groups[column] = group
        _take(column, group, incidence, taken)
        count = max(count, group + 1)
    return count


@compiled
def _first_free(column: int, incidence: Incidence, taken: NDArray[np.int64]) -> int:
    """The first group without an entry in the rows of a column."""
    for word in range(taken.shape[1]):
        bits = 0
        for k in range(incidence.column_ptr[column], incidence.column_ptr[column + 1]):
            bits |= taken[incidence.rows[k], word]
        if bits + 1 < 1 << BITS:
            bit = 0
            while bits & 1:
                bits >>= 1
                bit += 1
            return word * BITS + bit
    return -1


@compiled
def _take(column: int, group: int, incidence: Incidence, taken: NDArray[np.int64]) -> None:
    """Mark a group in the rows of a column."""
    word, bit = group // BITS, 1 << group % BITS
    for k in range(incidence.column_ptr[column], incidence.column_ptr[column + 1]):
        taken[incidence.rows[k], word] |= bit
