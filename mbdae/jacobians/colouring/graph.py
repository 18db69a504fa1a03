"""The column-intersection graph as adjacency lists, for the long searches."""

from typing import NamedTuple

import numpy as np

from ...compilation.compiled import compiled
from ..signatures import Indices
from .incidence import Incidence, neighbours


class Graph(NamedTuple):
    """Adjacency lists: column `c` has the neighbours `near[ptr[c]:ptr[c + 1]]`."""

    ptr: Indices
    near: Indices


def graph_of(incidence: Incidence, degree: Indices) -> Graph:
    """The `Graph` of all columns; neighbours are in ascending order."""
    ptr = np.concatenate([[0], np.cumsum(degree)])
    near = np.empty(ptr[-1], dtype=np.int64)
    _fill(incidence, degree, ptr[:-1].copy(), near)
    return Graph(ptr, near)


def part_of(graph: Graph, columns: Indices) -> Graph:
    """The subgraph of some columns, numbered in the given order; their neighbours are not sorted."""
    number = np.full(len(graph.ptr) - 1, -1, dtype=np.int64)
    number[columns] = np.arange(len(columns))
    return Graph(*_renumbered(graph, columns, number))


@compiled
def _fill(incidence: Incidence, degree: Indices, end: Indices, near: Indices) -> None:
    """Append each column to the lists of its neighbours, which are therefore sorted; `end` are the current ends of the lists."""
    n = degree.shape[0]
    seen, around = np.full(n, -1, dtype=np.int64), np.empty(n, dtype=np.int64)
    for column in range(n):
        for k in range(neighbours(column, degree[column], incidence, seen, around)):
            other = around[k]
            near[end[other]] = column
            end[other] += 1


@compiled
def _renumbered(graph: Graph, columns: Indices, number: Indices) -> tuple[Indices, Indices]:
    """Arrays of the subgraph."""
    ptr, near, total = np.zeros(columns.shape[0] + 1, dtype=np.int64), np.empty(graph.near.shape[0], dtype=np.int64), 0
    for k in range(columns.shape[0]):
        for p in range(graph.ptr[columns[k]], graph.ptr[columns[k] + 1]):
            if number[graph.near[p]] >= 0:
                near[total] = number[graph.near[p]]
                total += 1
        ptr[k + 1] = total
    return ptr, near[:total].copy()
