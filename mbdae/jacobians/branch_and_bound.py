"""Branch and bound for a given number of groups: it finds a grouping, or proves that there is none, or gives up."""

import numpy as np

from ..compiled import compiled
from .lists import empty_lists, insert, remove

FOUND, NONE, GAVE_UP = 1, 0, -1


def fewer_groups(count, clique, incidence, degree, nodes):
    """`(outcome, groups)` of the search for a grouping into at most `count` groups, with at most `nodes` columns put into groups.

    After Brélaz: Comm. ACM 22 (1979) 251-256: the next column is the one with the fewest groups to choose from, of these the one
    with the largest degree. The columns of a clique, at most `count`, have a group each from the start. Groups that no column has
    yet are all alike, so only the first of them is tried; and columns in the same rows have rising groups.
    """
    groups = np.full(len(degree), -1, dtype=np.int64)
    outcome = _search(count, clique, incidence, degree, _twins(incidence), nodes, groups)
    return outcome, groups


@compiled
def _search(count, clique, incidence, degree, twin, nodes, groups):
    n, first = groups.shape[0], clique.shape[0]
    entries, closed, waiting = np.zeros((count, n), dtype=np.int32), np.zeros(n, dtype=np.int64), empty_lists(count + 1, n)
    for column in range(n):
        insert(column, 0, waiting)
    path, opened = np.empty(n + 1, dtype=np.int64), np.empty(n + 1, dtype=np.int64)
    for depth in range(first):
        _put(clique[depth], depth, incidence, entries, closed, waiting, groups)
    depth, opened[first] = first, first
    while depth < n:
        nodes -= 1
        if nodes < 0:
            return GAVE_UP
        column = path[depth] = _next_column(waiting, degree)
        group = _choice(column, 0, min(count, opened[depth] + 1), twin, groups, entries)
        while group < 0:  # no group is left for this column: the one before has to take another
            if depth == first or closed[column] == 0:  # nothing before can help
                return NONE
            depth -= 1
            column = path[depth]
            tried = groups[column]
            _take_out(column, incidence, entries, closed, waiting, groups)
            group = _choice(column, tried + 1, min(count, opened[depth] + 1), twin, groups, entries)
        _put(column, group, incidence, entries, closed, waiting, groups)
        opened[depth + 1] = max(opened[depth], group + 1)
        depth += 1
    return FOUND


@compiled
def _next_column(waiting, degree):
    """Of largest degree among those with the fewest groups to choose from."""
    head, after, _ = waiting
    most = head.shape[0] - 1
    while head[most] < 0:
        most -= 1
    best = column = head[most]
    while column >= 0:
        if degree[column] > degree[best]:
            best = column
        column = after[column]
    return best


@compiled
def _choice(column, group, end, twin, groups, entries):
    """The first group from `group` to `end` that takes the column, -1 if none does."""
    if twin[column] >= 0:
        group = max(group, groups[twin[column]] + 1)
    while group < end and entries[group, column] > 0:
        group += 1
    return group if group < end else -1


@compiled
def _put(column, group, incidence, entries, closed, waiting, groups):
    """Put a column into a group.

    `entries[g, c]` counts the entries of group `g` in the rows of column `c`, `closed[c]` the groups that have any; a column that is
    in no group waits in the list of that number.
    """
    remove(column, closed[column], waiting)
    groups[column] = group
    for k in range(incidence.column_ptr[column], incidence.column_ptr[column + 1]):
        row = incidence.rows[k]
        for p in range(incidence.row_ptr[row], incidence.row_ptr[row + 1]):
            other = incidence.columns[p]
            entries[group, other] += 1
            if entries[group, other] == 1:
                _move(other, 1, closed, waiting, groups)


@compiled
def _take_out(column, incidence, entries, closed, waiting, groups):
    """Undo `_put`."""
    group = groups[column]
    for k in range(incidence.column_ptr[column], incidence.column_ptr[column + 1]):
        row = incidence.rows[k]
        for p in range(incidence.row_ptr[row], incidence.row_ptr[row + 1]):
            other = incidence.columns[p]
            entries[group, other] -= 1
            if entries[group, other] == 0:
                _move(other, -1, closed, waiting, groups)
    groups[column] = -1
    insert(column, closed[column], waiting)


@compiled
def _move(column, step, closed, waiting, groups):
    """One closed group more or less."""
    if groups[column] < 0:
        remove(column, closed[column], waiting)
        insert(column, closed[column] + step, waiting)
    closed[column] += step


@compiled
def _twins(incidence):
    """The last column before each one that is in the same rows, -1 if there is none."""
    row_ptr, columns, column_ptr, rows = incidence
    n = column_ptr.shape[0] - 1
    twin = np.full(n, -1, dtype=np.int64)
    for column in range(n):
        if column_ptr[column] < column_ptr[column + 1]:
            row = rows[column_ptr[column]]
            for p in range(row_ptr[row], row_ptr[row + 1]):
                if columns[p] < column and _same_rows(columns[p], column, column_ptr, rows):
                    twin[column] = columns[p]
    return twin


@compiled
def _same_rows(a, b, column_ptr, rows):
    size, shift = column_ptr[b + 1] - column_ptr[b], column_ptr[a] - column_ptr[b]
    if column_ptr[a + 1] - column_ptr[a] != size:
        return False
    for k in range(column_ptr[b], column_ptr[b + 1]):
        if rows[k] != rows[k + shift]:
            return False
    return True
