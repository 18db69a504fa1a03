"""The columns that a search for a given number of groups has to deal with: groups for the others follow."""

from typing import NamedTuple

import numpy as np

from ...compilation.compiled import compiled


class Core(NamedTuple):
    """The columns that are left when easy ones go.

    A column is easy if it has less than `count` neighbours left, or if another column has all of these for neighbours, too: it can go
    where that one is. So all columns have a grouping into `count` groups if, and only if, the hard ones have one.

    Attributes
    ----------
    hard : ndarray of bool
        Mask of the columns that are left.
    easy : ndarray
        The others, in the order in which they have gone.
    like : ndarray
        For each column the one that has all of its neighbours; -1 if there are few of them.
    """

    hard: np.ndarray
    easy: np.ndarray
    like: np.ndarray

    def ordered(self, order):
        """The hard columns in the order of all columns."""
        return order[self.hard[order]]


def core_of(count, graph):
    """The `Core` for a number of groups."""
    return Core(*_core(count, graph))


def completed(columns, groups, core, graph):
    """Groups of all columns, from the groups of some: of the hard ones."""
    every = np.full(len(core.hard), -1, dtype=np.int64)
    every[columns] = groups
    _add_easy(every, core.easy, core.like, graph)
    return every


@compiled
def _core(count, graph):
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
                if hard[other] and not queued[other]:  # only a column that has lost a neighbour can have become easy
                    queued[other], waiting[(first + size) % n] = True, other
                    size += 1
    return hard, easy[:number], like


@compiled
def _like(column, graph, hard, left):
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
def _within(a, b, graph, hard):
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
def _add_easy(groups, easy, like, graph):
    """Put the easy columns into groups, the last one that has gone first; -1 is no group yet."""
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
