"""Tabu search for a given number of groups: columns change their groups until none meets another one of its group.

After Hertz, de Werra: Computing 39 (1987) 345-351.
"""

import numpy as np

from ...compilation.compiled import compiled

HOLD = 10  # steps for which a column may not return, besides 0.6 for each column that meets another


def repaired(groups, count, graph, steps, state):
    """`(groups, state)`: the columns of all groups but the `count` largest have joined these; `None` for groups if that fails.

    `state` is the seed of a sequence of random numbers, the same in every run.
    """
    size = np.bincount(groups, minlength=count)
    number = np.full(len(size), -1, dtype=np.int64)
    number[np.argsort(-size, kind="stable")[:count]] = np.arange(count)
    changed = number[groups]
    done, state = _repair(changed, count, graph, steps, state)
    return changed if done else None, state


@compiled
def _repair(groups, count, graph, steps, state):
    """`(success, state)`; columns of no group have -1 at first."""
    n = groups.shape[0]
    entries, held = np.zeros((count, n), dtype=np.int32), np.zeros((count, n), dtype=np.int32)
    total = 0
    for column in range(n):
        if groups[column] >= 0:
            _count(column, groups[column], 1, graph, entries)
    for column in range(n):
        if groups[column] < 0:
            groups[column] = _emptiest(column, entries)
            total += entries[groups[column], column]
            _count(column, groups[column], 1, graph, entries)
    fewest = total
    for step in range(steps):
        if total == 0:
            break
        state = _random(state)
        column, group, unhappy = _best_move(groups, entries, held, step, total - fewest, state)
        if column >= 0:
            old = groups[column]
            total += entries[group, column] - entries[old, column]
            _count(column, old, -1, graph, entries)
            _count(column, group, 1, graph, entries)
            groups[column], fewest = group, min(fewest, total)
            held[old, column] = step + 1 + int(0.6 * unhappy) + (state >> 8) % HOLD
    return total == 0, state


@compiled
def _best_move(groups, entries, held, step, surplus, state):
    """Column and group of the move after which the fewest pairs meet, and the number of columns that meet another one; ties at random.

    A group that the column has left lately is allowed only if there were never fewer pairs.
    """
    best_column = best_group = -1
    best, ties, unhappy = np.int64(1) << 40, 0, 0
    for column in range(groups.shape[0]):
        here = entries[groups[column], column]
        if here == 0:
            continue
        unhappy += 1
        for group in range(entries.shape[0]):
            change = entries[group, column] - here
            if group == groups[column] or change > best or (held[group, column] > step and surplus + change >= 0):
                continue
            ties = 1 if change < best else ties + 1
            state = _random(state)
            if (state >> 8) % ties == 0:
                best, best_column, best_group = change, column, group
    return best_column, best_group, unhappy


@compiled
def _emptiest(column, entries):
    """The group with the fewest neighbours of a column."""
    best = 0
    for group in range(entries.shape[0]):
        if entries[group, column] < entries[best, column]:
            best = group
    return best


@compiled
def _count(column, group, step, graph, entries):
    """`entries[g, c]` counts the neighbours of column `c` in group `g`: a column comes or goes."""
    for k in range(graph.ptr[column], graph.ptr[column + 1]):
        entries[group, graph.near[k]] += step


@compiled
def _random(state):
    return (1103515245 * state + 12345) & 0x7FFFFFFF
