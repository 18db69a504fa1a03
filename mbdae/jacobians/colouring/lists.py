"""Doubly linked lists of columns, one for each value of a small integer: a column moves to another list in constant time.

`head` is the first column of each list, `after` and `before` are the neighbours of each column in its list; -1 means none.
"""

from typing import NamedTuple

import numpy as np

from ...compilation.compiled import compiled
from ..signatures import Indices


class Lists(NamedTuple):
    """See the module."""

    head: Indices
    after: Indices
    before: Indices


@compiled
def empty_lists(lists: int, columns: int) -> Lists:
    """Empty lists."""
    return Lists(np.full(lists, -1, dtype=np.int64), np.full(columns, -1, dtype=np.int64), np.full(columns, -1, dtype=np.int64))


@compiled
def insert(column: int, at: int, lists: Lists) -> None:
    """Insert a column at the head of a list."""
    head, after, before = lists
    first = head[at]
    after[column], before[column] = first, -1
    if first >= 0:
        before[first] = column
    head[at] = column


@compiled
def remove(column: int, at: int, lists: Lists) -> None:
    """Remove a column from its list."""
    head, after, before = lists
    previous, following = before[column], after[column]
    if previous < 0:
        head[at] = following
    else:
        after[previous] = following
    if following >= 0:
        before[following] = previous
