"""Complete search for a given number of groups: it finds a grouping, or proves that there is none, or gives up.

What the columns still to come can do depends on one thing only: on the sets of columns that the groups are closed to. Which group has
which set does not matter. So of groups with equal sets one is tried, and a state that has failed is not entered again however it is
reached: in a chain of bodies few states differ, and the search remains local. It is known by a sum of scrambled random words, which is
below 2^62; that two of the states that one search can visit agree by accident is less likely than a failure of the computer.
"""

import numpy as np

from ...compilation.compiled import compiled

FOUND, NONE, GAVE_UP = 1, 0, -1
HALF, WORD = (1 << 31) - 1, (1 << 62) - 1


def fewer_groups(count, graph, steps):
    """`(outcome, groups)` of the search for a grouping into at most `count` groups, which puts columns into groups `steps` times at most.

    The columns are taken in the order of their numbers.
    """
    n = len(graph.ptr) - 1
    groups, words = np.full(n, -1, dtype=np.int64), np.random.default_rng(1984).integers(WORD, size=n + 1)
    return _search(count, graph, words, steps, groups), groups


@compiled
def _search(count, graph, words, steps, groups):
    """`closed[c]` counts the groups that are closed to column `c`, `future[g]` knows the later columns that group `g` is closed to."""
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
        else:  # the column before has to take another group
            dead[_slot(state[column], dead)] = state[column]
            column -= 1
            first = groups[column] + 1
            _take_out(column, groups[column], graph, words, entries, closed, future)
    return FOUND


@compiled
def _choice(column, group, entries, future):
    """The first group from `group` on that takes the column and is unlike all groups before that do, -1 if there is none."""
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
def _put(column, group, graph, words, entries, closed, future):
    """Put a column into a group; whether every later column still has a group to choose.

    `entries[g, c]` counts the neighbours of column `c` in group `g`.
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
def _take_out(column, group, graph, words, entries, closed, future):
    """Undo `_put`."""
    _step_over(column, words, entries, future)
    for k in range(graph.ptr[column], graph.ptr[column + 1]):
        other = graph.near[k]
        entries[group, other] -= 1
        if entries[group, other] == 0 and other > column:
            closed[other] -= 1
            future[group] ^= words[other]


@compiled
def _step_over(column, words, entries, future):
    """A column stops or begins to be a later one."""
    for group in range(future.shape[0]):
        if entries[group, column] > 0:
            future[group] ^= words[column]


@compiled
def _state(word, future):
    """The same number for the same sets, in whatever order: a sum of scrambled ones."""
    total = word
    for x in future:
        y = (x & HALF) * 1702938401 ^ (x >> 31) * 2083697129
        y = (y & HALF) * 1997580821 ^ (y >> 31) * 1431655781 ^ y >> 17
        total = (total + y) & WORD
    return total | 1  # nought is an empty place of the table


@compiled
def _empty_table(states):
    size = 1024
    while size < 2 * states:
        size *= 2
    return np.zeros(size, dtype=np.int64)


@compiled
def _slot(state, table):
    """Where a state is, or would be."""
    last = table.shape[0] - 1
    slot = state >> 20 & last
    while table[slot] != 0 and table[slot] != state:
        slot = (slot + 1) & last
    return slot
