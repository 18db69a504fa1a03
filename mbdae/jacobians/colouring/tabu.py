"""Tabu search for a given number of groups: columns change their groups until no two adjacent ones share a group.

After Hertz, de Werra: Computing 39 (1987) 345-351.
"""

import numpy as np
from numpy.typing import NDArray

from ...compilation.compiled import compiled
from ..signatures import Indices
from .graph import Graph

TENURE = 10  # steps for which a move is tabu, besides 0.6 per column in conflict


def repaired(groups: Indices, count: int, graph: Graph, steps: int, state: int) -> tuple[Indices | None, int]:
    """`(groups, state)`: the columns of all groups except the `count` largest are moved into these; `None` for groups if that fails.

    `state` is the state of the random number generator, so that all runs are the same.
    """
    size = np.bincount(groups, minlength=count)
    number = np.full(len(size), -1, dtype=np.int64)
    number[np.argsort(-size, kind="stable")[:count]] = np.arange(count)
    changed = number[groups]
    done, state = _repair(changed, count, graph, steps, state)
    return changed if done else None, state


@compiled
def _repair(groups: Indices, count: int, graph: Graph, steps: int, state: int) -> tuple[bool, int]:
    """`(success, state)`; columns without a group have -1 on entry."""
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
        column, group, conflicts = _best_move(groups, entries, held, step, total - fewest, state)
        if column >= 0:
            old = groups[column]
            total += entries[group, column] - entries[old, column]
            _count(column, old, -1, graph, entries)
            _count(column, group, 1, graph, entries)
            groups[column], fewest = group, min(fewest, total)
            held[old, column] = step + 1 + int(0.6 * conflicts) + (state >> 8) % TENURE
    return total == 0, state


@compiled
def _best_move(groups: Indices, entries: NDArray[np.int32], held: NDArray[np.int32], step: int, surplus: int,
               state: int) -> tuple[int, int, int]:
    """Column and group of the move to the fewest conflicts, and the number of columns in conflict; ties are broken at random.

    A tabu move is allowed only if it leads to fewer conflicts than ever before (aspiration).
    """
    best_column = best_group = -1
    best, ties, conflicts = np.int64(1) << 40, 0, 0
    for column in range(groups.shape[0]):
        here = entries[groups[column], column]
        if here == 0:
            continue
        conflicts += 1
        for group in range(entries.shape[0]):
            change = entries[group, column] - here
            if group == groups[column] or change > best or (held[group, column] > step and surplus + change >= 0):
                continue
            ties = 1 if change < best else ties + 1
            state = _random(state)
            if (state >> 8) % ties == 0:
                best, best_column, best_group = change, column, group
    return best_column, best_group, conflicts


@compiled
def _emptiest(column: int, entries: NDArray[np.int32]) -> int:
    """The group with the fewest neighbours of a column."""
    best = 0
    for group in range(entries.shape[0]):
        if entries[group, column] < entries[best, column]:
            best = group
    return best


@compiled
def _count(column: int, group: int, step: int, graph: Graph, entries: NDArray[np.int32]) -> None:
    """Update `entries[g, c]`, the number of neighbours of column `c` in group `g`, for a column that enters or leaves a group."""
    for k in range(graph.ptr[column], graph.ptr[column + 1]):
        entries[group, graph.near[k]] += step


@compiled
def _random(state: int) -> int:
    """Linear congruential generator."""
    return (1103515245 * state + 12345) & 0x7FFFFFFF
