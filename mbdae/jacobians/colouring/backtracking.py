"""Exhaustive search (backtracking) for a colouring with a given number of groups.

The possible groups of the remaining columns depend only on the sets of columns that the groups exclude, not on which group has which set.
Of groups with equal sets only one is tried, and states that have failed are stored and not visited again: chains of bodies have few
different states, so the search remains local. States are compared by hash values below 2^62; a collision within one search is practically
impossible.
"""

import numpy as np
from numpy.typing import NDArray

from ...compilation.compiled import compiled
from ..signatures import Indices
from .graph import Graph

FOUND, NONE, GAVE_UP = 1, 0, -1
HALF, WORD = (1 << 31) - 1, (1 << 62) - 1


def fewer_groups(count: int, graph: Graph, steps: int) -> tuple[int, Indices]:
    """`(outcome, groups)` of the search for a grouping into at most `count` groups, with at most `steps` assignments.

    The columns are assigned in the order of their indices.
    """
    n = len(graph.ptr) - 1
    groups, words = np.full(n, -1, dtype=np.int64), np.random.default_rng(1984).integers(WORD, size=n + 1)
    return _search(count, graph, words, steps, groups), groups


@compiled
def _search(count: int, graph: Graph, words: Indices, steps: int, groups: Indices) -> int:
    """Depth-first search; `closed[c]` counts the groups that exclude column `c`, `future[g]` hashes the later columns excluded by `g`."""
    n = groups.shape[0]
    entries, closed, future = np.zeros((count, n), dtype=np.int32), np.zeros(n, dtype=np.int64), np.zeros(count, dtype=np.int64)
    state, dead = np.zeros(n + 1, dtype=np.int64), _empty_table(min(steps, 1 << 40))
    column = first = 0
    while column < n:
        group = _choice(column, first, entries, future)
        if group >= 0:
            steps -= 1
            if steps < 0:
                return GAVE_UP
            possible = _put(column, group, graph, words, entries, closed, future)
            groups[column] = group
            column += 1
            state[column] = _state(words[column], future)
            first = 0 if possible and dead[_slot(state[column], dead)] != state[column] else count
        elif column == 0:
            return NONE
        else:  # backtrack: the previous column takes another group
            dead[_slot(state[column], dead)] = state[column]
            column -= 1
            first = groups[column] + 1
            _take_out(column, groups[column], graph, words, entries, closed, future)
    return FOUND


@compiled
def _choice(column: int, group: int, entries: NDArray[np.int32], future: Indices) -> int:
    """The first group from `group` on that admits the column and differs from all earlier such groups, -1 if there is none."""
    count = future.shape[0]
    while group < count:
        if entries[group, column] == 0:
            same = 0
            while entries[same, column] > 0 or future[same] != future[group]:
                same += 1
            if same == group:
                return group
        group += 1
    return -1


@compiled
def _put(column: int, group: int, graph: Graph, words: Indices, entries: NDArray[np.int32], closed: Indices, future: Indices) -> bool:
    """Assign a column to a group; whether every later column still has an admissible group.

    `entries[g, c]` counts the columns of group `g` adjacent to column `c`.
    """
    count, possible = future.shape[0], True
    for k in range(graph.ptr[column], graph.ptr[column + 1]):
        other = graph.near[k]
        entries[group, other] += 1
        if entries[group, other] == 1 and other > column:
            closed[other] += 1
            future[group] ^= words[other]
            possible = possible and closed[other] < count
    _step_over(column, words, entries, future)
    return possible


@compiled
def _take_out(column: int, group: int, graph: Graph, words: Indices, entries: NDArray[np.int32], closed: Indices, future: Indices) -> None:
    """Undo `_put`."""
    _step_over(column, words, entries, future)
    for k in range(graph.ptr[column], graph.ptr[column + 1]):
        other = graph.near[k]
        entries[group, other] -= 1
        if entries[group, other] == 0 and other > column:
            closed[other] -= 1
            future[group] ^= words[other]


@compiled
def _step_over(column: int, words: Indices, entries: NDArray[np.int32], future: Indices) -> None:
    """Add a column to the later ones, or remove it."""
    for group in range(future.shape[0]):
        if entries[group, column] > 0:
            future[group] ^= words[column]


@compiled
def _state(word: int, future: Indices) -> int:
    """A hash value of the sets, independent of their order: a sum of scrambled numbers."""
    total = word
    for x in future:
        y = (x & HALF) * 1702938401 ^ (x >> 31) * 2083697129
        y = (y & HALF) * 1997580821 ^ (y >> 31) * 1431655781 ^ y >> 17
        total = (total + y) & WORD
    return total | 1  # zero marks an empty slot of the table


@compiled
def _empty_table(states: int) -> Indices:
    size = 1024
    while size < 2 * states:
        size *= 2
    return np.zeros(size, dtype=np.int64)


@compiled
def _slot(state: int, table: Indices) -> int:
    """The slot of a state in the hash table, by linear probing."""
    last = table.shape[0] - 1
    slot = state >> 20 & last
    while table[slot] != 0 and table[slot] != state:
        slot = (slot + 1) & last
    return slot
