"""Orderings of the columns for sequential colouring.

Coleman, Moré: SIAM J. Numer. Anal. 20 (1983) 187-209; Coleman, Garbow, Moré: ACM Trans. Math. Software 10 (1984) 329-345, 346-347
(Algorithm 618). Unordered columns are stored in lists by degree.
"""

import numpy as np

from ...compilation.compiled import compiled
from ..signatures import Indices
from .incidence import Incidence, neighbours
from .lists import empty_lists, insert, remove


@compiled
def natural(incidence: Incidence, degree: Indices) -> Indices:
    """From left to right."""
    return np.arange(degree.shape[0])


@compiled
def largest_first(incidence: Incidence, degree: Indices) -> Indices:
    """By decreasing degree, equal ones from left to right."""
    n = degree.shape[0]
    out, end = np.empty(n, dtype=np.int64), np.zeros(n + 1, dtype=np.int64)
    _sort_by(n - 1 - degree, end, out)
    return out


@compiled
def smallest_last(incidence: Incidence, degree: Indices) -> Indices:
    """Each column has the smallest degree among itself and those before it; determined from the end by removal."""
    n = degree.shape[0]
    left, waiting = degree.copy(), np.ones(n, dtype=np.bool_)
    lists = empty_lists(n, n)
    for column in range(n - 1, -1, -1):
        insert(column, left[column], lists)
    out, near, seen = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    least = 0
    for place in range(n - 1, -1, -1):
        while lists.head[least] < 0:
            least += 1
        column = out[place] = lists.head[least]
        remove(column, least, lists)
        waiting[column] = False
        for k in range(neighbours(column, degree[column], incidence, seen, near)):
            other = near[k]
            if waiting[other]:
                remove(other, left[other], lists)
                left[other] -= 1
                insert(other, left[other], lists)
        least = max(least - 1, 0)
    return out


@compiled
def incidence_degree(incidence: Incidence, degree: Indices) -> Indices:
    """Each column is adjacent to the most columns before it; the first one has the largest degree."""
    n = degree.shape[0]
    met, waiting = np.zeros(n, dtype=np.int64), np.ones(n, dtype=np.bool_)
    lists = empty_lists(n, n)
    for column in largest_first(incidence, degree)[::-1]:
        insert(column, 0, lists)
    out, near, seen = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    most = 0
    for place in range(n):
        while lists.head[most] < 0:
            most -= 1
        column = out[place] = lists.head[most]
        remove(column, most, lists)
        waiting[column] = False
        for k in range(neighbours(column, degree[column], incidence, seen, near)):
            other = near[k]
            if waiting[other]:
                remove(other, met[other], lists)
                met[other] += 1
                insert(other, met[other], lists)
        most = min(most + 1, n - 1)
    return out


@compiled
def _sort_by(key: Indices, end: Indices, out: Indices) -> None:
    """Counting sort: write the indices of `key` to `out` by increasing key; `end` is scratch, longer than every key."""
    end[:] = 0
    for k in key:
        end[k + 1] += 1
    for k in range(1, end.shape[0]):
        end[k] += end[k - 1]
    for i in range(key.shape[0]):
        out[end[key[i]]] = i
        end[key[i]] += 1


ORDERS = {"natural": natural, "largest-first": largest_first, "smallest-last": smallest_last, "incidence-degree": incidence_degree}
