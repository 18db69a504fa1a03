"""Reduction of a colouring problem to the columns that determine whether a number of groups suffices."""

from typing import NamedTuple

import numpy as np

from ...compilation.compiled import compiled
from ..signatures import Indices, Mask
from .graph import Graph


class Core(NamedTuple):
    """The columns that remain when easy ones are removed, one after the other.

    A column is easy if it has fewer than `count` remaining neighbours, or if all of these are neighbours of another column: then it can
    join the group of that column. All columns have a grouping into `count` groups if and only if the hard ones have one.

    Attributes
    ----------
    hard : ndarray of bool
        Mask of the remaining columns.
    easy : ndarray
        The others, in the order of their removal.
    like : ndarray
        For each column the one that has all of its neighbours; -1 if it was removed because of its degree.
    """

    hard: Mask
    easy: Indices
    like: Indices

    def ordered(self, order: Indices) -> Indices:
        """The hard columns in the order of all columns."""
        return order[self.hard[order]]


def core_of(count: int, graph: Graph) -> Core:
    """The `Core` for a number of groups."""
    return Core(*_core(count, graph))


def completed(columns: Indices, groups: Indices, core: Core, graph: Graph) -> Indices:
    """Groups of all columns from those of the hard ones."""
    every = np.full(len(core.hard), -1, dtype=np.int64)
    every[columns] = groups
    _add_easy(every, core.easy, core.like, graph)
    return every


@compiled
def _core(count: int, graph: Graph) -> tuple[Mask, Indices, Indices]:
    """`(hard, easy, like)`, with a queue of the columns to be examined."""
    n = graph.ptr.shape[0] - 1
    left, hard, like = graph.ptr[1:] - graph.ptr[:-1], np.ones(n, dtype=np.bool_), np.full(n, -1, dtype=np.int64)
    easy, number = np.empty(n, dtype=np.int64), 0
    waiting, queued, first, size = np.arange(n), np.ones(n, dtype=np.bool_), 0, n
    while size > 0:
        column = waiting[first]
        first, size, queued[column] = (first + 1) % n, size - 1, False
        if left[column] >= count:
            like[column] = _like(column, graph, hard, left)
        if left[column] < count or like[column] >= 0:
            hard[column], easy[number] = False, column
            number += 1
            for k in range(graph.ptr[column], graph.ptr[column + 1]):
                other = graph.near[k]
                left[other] -= 1
                if hard[other] and not queued[other]:  # only columns that have lost a neighbour can have become easy
                    queued[other], waiting[(first + size) % n] = True, other
                    size += 1
    return hard, easy[:number], like


@compiled
def _like(column: int, graph: Graph, hard: Mask, left: Indices) -> int:
    """A hard column that has all hard neighbours of this one, -1 if there is none."""
    ptr, near = graph
    rarest = -1
    for k in range(ptr[column], ptr[column + 1]):
        if hard[near[k]] and (rarest < 0 or left[near[k]] < left[rarest]):
            rarest = near[k]
    for k in range(ptr[rarest], ptr[rarest + 1]):
        other = near[k]
        if hard[other] and other != column and left[other] >= left[column] and _within(column, other, graph, hard):
            return other
    return -1


@compiled
def _within(a: int, b: int, graph: Graph, hard: Mask) -> bool:
    """Whether all hard neighbours of `a` are neighbours of `b`."""
    ptr, near = graph
    p = ptr[b]
    for k in range(ptr[a], ptr[a + 1]):
        if hard[near[k]]:
            while p < ptr[b + 1] and near[p] < near[k]:
                p += 1
            if p == ptr[b + 1] or near[p] > near[k]:
                return False
    return True


@compiled
def _add_easy(groups: Indices, easy: Indices, like: Indices, graph: Graph) -> None:
    """Assign the easy columns to groups, in reverse order of removal; -1 means no group yet."""
    taken = np.full(groups.shape[0], -1, dtype=np.int64)
    for column in easy[::-1]:
        if like[column] >= 0:
            groups[column] = groups[like[column]]
            continue
        for k in range(graph.ptr[column], graph.ptr[column + 1]):
            if groups[graph.near[k]] >= 0:
                taken[groups[graph.near[k]]] = column
        while taken[groups[column] + 1] == column:
            groups[column] += 1
        groups[column] += 1
