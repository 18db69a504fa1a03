"""Sequential grouping: column by column into the first group that takes it.

A row keeps the groups that have an entry in it as bits, so one pass over the columns costs as much as there are entries.
"""

import numpy as np

from ...compilation.compiled import compiled

BITS = 62  # used of a word: with its successor a full word is still a positive number


def group_in_order(order, incidence, at_least):
    """`(count, groups)` of the columns taken in an order; room for `at_least` groups is made at once, for more when it is needed."""
    groups = np.empty(len(order), dtype=np.int64)
    words, count = at_least // BITS + 1, -1
    while count < 0:
        taken = np.zeros((len(incidence.row_ptr) - 1, words), dtype=np.int64)
        count, words = _group(order, incidence, taken, groups), 2 * words
    return count, groups


@compiled
def _group(order, incidence, taken, groups):
    """The number of groups, -1 if there are more than `taken` has room for."""
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
def _first_free(column, incidence, taken):
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
def _take(column, group, incidence, taken):
    word, bit = group // BITS, 1 << group % BITS
    for k in range(incidence.column_ptr[column], incidence.column_ptr[column + 1]):
        taken[incidence.rows[k], word] |= bit
