"""Columns in lists, one list for each value of a small number: a column moves to another list at once, however long they are.

Lists are linked both ways: the `head` of each, and what comes `after` and `before` each column; -1 is nothing.
"""

import numpy as np

from ...compilation.compiled import compiled


@compiled
def empty_lists(lists, columns):
    """`(head, after, before)` of empty lists."""
    return np.full(lists, -1, dtype=np.int64), np.full(columns, -1, dtype=np.int64), np.full(columns, -1, dtype=np.int64)


@compiled
def insert(column, at, lists):
    """At the head of a list."""
    head, after, before = lists
    first = head[at]
    after[column], before[column] = first, -1
    if first >= 0:
        before[first] = column
    head[at] = column


@compiled
def remove(column, at, lists):
    """From wherever in its list."""
    head, after, before = lists
    previous, following = before[column], after[column]
    if previous < 0:
        head[at] = following
    else:
        after[previous] = following
    if following >= 0:
        before[following] = previous
