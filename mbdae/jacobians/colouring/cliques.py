"""Cliques of the column-intersection graph: lower bounds on the chromatic number."""

import numpy as np
from numpy.typing import NDArray

from ...compilation.compiled import compiled
from ..signatures import Indices
from .incidence import Incidence, neighbours


@compiled
def large_clique(order: Indices, incidence: Incidence, degree: Indices, size: int, enough: int, work: int) -> Indices:
    """Columns of a clique larger than `size`, none if no such clique is found.

    For each column, the adjacent columns before it, which are few in a smallest-last ordering, are reduced to a clique by repeated removal
    of the one of smallest degree. The search ends with `enough` columns, or when `work` entries have been visited without success.
    """
    n = order.shape[0]
    place, seen, slot = np.empty(n, dtype=np.int64), np.full(n, -1, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    visits = 0
    for k in range(n):
        place[order[k]] = k
    for row in range(incidence.row_ptr.shape[0] - 1):
        visits += (incidence.row_ptr[row + 1] - incidence.row_ptr[row]) ** 2
    near, best = np.empty(n, dtype=np.int64), np.empty(0, dtype=np.int64)
    for column in order:
        if size >= enough:
            break
        count = neighbours(column, degree[column], incidence, seen, near)
        before = 0
        for k in range(count):
            if place[near[k]] < place[column]:
                near[before] = near[k]
                before += 1
        if before >= size and work > 0:
            left = _reduced(near[:before], incidence, slot, size)
            if left >= size:
                size = left + 1
                best = near[:size].copy()
                best[left] = column
            else:
                work -= before * (before + visits // n)
    return best


@compiled
def _reduced(columns: Indices, incidence: Incidence, slot: Indices, least: int) -> int:
    """Reduce the columns to a clique, moved to the front, or to fewer than `least`; returns their number."""
    adjacent = _adjacency(columns, incidence, slot)
    count = left = columns.shape[0]
    degree, inside = np.zeros(count, dtype=np.int64), np.ones(count, dtype=np.bool_)
    for x in range(count):
        for y in range(count):
            degree[x] += adjacent[x, y]
    while left >= least:
        fewest = -1
        for x in range(count):
            if inside[x] and (fewest < 0 or degree[x] < degree[fewest]):
                fewest = x
        if fewest < 0 or degree[fewest] == left - 1:
            break
        inside[fewest] = False
        left -= 1
        for x in range(count):
            degree[x] -= adjacent[fewest, x]
    place = 0
    for x in range(count):
        if inside[x]:
            columns[place] = columns[x]
            place += 1
    return left


@compiled
def _adjacency(columns: Indices, incidence: Incidence, slot: Indices) -> NDArray[np.int64]:
    """Adjacency matrix of the columns; `slot` is -1 before and after."""
    row_ptr, others, column_ptr, rows = incidence
    count = columns.shape[0]
    adjacent = np.zeros((count, count), dtype=np.int64)
    for x in range(count):
        slot[columns[x]] = x
    for x in range(count):
        for k in range(column_ptr[columns[x]], column_ptr[columns[x] + 1]):
            for p in range(row_ptr[rows[k]], row_ptr[rows[k] + 1]):
                y = slot[others[p]]
                if y >= 0 and y != x:
                    adjacent[x, y] = 1
    for x in range(count):
        slot[columns[x]] = -1
    return adjacent
