"""The graph of the columns that meet in a row, column by column: what a long search runs on, and too large for more than that."""

from typing import NamedTuple

import numpy as np

from ...compilation.compiled import compiled
from .incidence import neighbours


class Graph(NamedTuple):
    """Column `c` has the neighbours `near[ptr[c]:ptr[c + 1]]`."""

    ptr: np.ndarray
    near: np.ndarray


def graph_of(incidence, degree):
    """The `Graph` of all columns; neighbours are from left to right."""
    ptr = np.concatenate([[0], np.cumsum(degree)])
    near = np.empty(ptr[-1], dtype=np.int64)
    _fill(incidence, degree, ptr[:-1].copy(), near)
    return Graph(ptr, near)


def part_of(graph, columns):
    """The `Graph` of some columns, which are numbered in the order given; their neighbours are in no order."""
    number = np.full(len(graph.ptr) - 1, -1, dtype=np.int64)
    number[columns] = np.arange(len(columns))
    return Graph(*_renumbered(graph, columns, number))


@compiled
def _fill(incidence, degree, end, near):
    """Each column is written to its neighbours, so that theirs come in order; `end` is where the next one goes."""
    n = degree.shape[0]
    seen, around = np.full(n, -1, dtype=np.int64), np.empty(n, dtype=np.int64)
    for column in range(n):
        for k in range(neighbours(column, degree[column], incidence, seen, around)):
            other = around[k]
            near[end[other]] = column
            end[other] += 1


@compiled
def _renumbered(graph, columns, number):
    ptr, near, total = np.zeros(columns.shape[0] + 1, dtype=np.int64), np.empty(graph.near.shape[0], dtype=np.int64), 0
    for k in range(columns.shape[0]):
        for p in range(graph.ptr[columns[k]], graph.ptr[columns[k] + 1]):
            if number[graph.near[p]] >= 0:
                near[total] = number[graph.near[p]]
                total += 1
        ptr[k + 1] = total
    return ptr, near[:total].copy()
