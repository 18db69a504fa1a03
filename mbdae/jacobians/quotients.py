"""What difference quotients along groups of columns are made of: increments, tables of the groups, and two compiled loops."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csc_array

from ..compilation.compiled import compiled
from .colouring import incidence
from .complex_step import COMPLEX_STEP

EPS = float(np.finfo(float).eps)
FLOOR = EPS**0.25
RELATIVE = {"forward": EPS**0.5, "central": EPS ** (1.0 / 3.0), "complex": 0.0}  # increments, in terms of the variable


class Group(NamedTuple):
    """Columns that are displaced together.

    Attributes
    ----------
    number : int
    columns : ndarray of int64
    plan : ndarray of int64, shape (k, 3)
        What is found from it: number of the entry, its row, its column.
    corrections : ndarray of int64, shape (l, 4)
        What known entries contribute to that: number of the entry found, of the known one, their columns.
    """

    number: int
    columns: np.ndarray
    plan: np.ndarray
    corrections: np.ndarray


def as_pattern(pattern):
    """A boolean CSC array with sorted int32 indices, which shares nothing with its source; every stored element is an entry."""
    made = incidence.as_pattern(pattern).tocsc()
    indices, indptr = made.indices.astype(np.int32), made.indptr.astype(np.int32)
    return csc_array((np.ones(made.nnz, dtype=bool), indices, indptr), shape=made.shape)


def columns_of(pattern):
    """The column of every entry of a CSC array."""
    return np.repeat(np.arange(pattern.shape[1]), np.diff(pattern.indptr))


def groups_of(pattern, numbers, known):
    """The `Group`s of a pattern; `numbers` are those of the groups by columns, -1 for none, and `known` is a mask of its entries."""
    table = np.stack([np.arange(pattern.nnz), pattern.indices, columns_of(pattern)], axis=1).astype(np.int64)
    count = int(numbers.max(initial=-1)) + 1
    free, given = table[~known], table[known]
    parts = zip(_split(np.arange(len(numbers)), numbers, count), _split(free, numbers[free[:, 2]], count),
                _split(given, numbers[given[:, 2]], count))
    made = (Group(g, columns.astype(np.int64), plan, _corrections(plan, source)) for g, (columns, plan, source) in enumerate(parts))
    return [group for group in made if len(group.columns)]


def _split(items, numbers, count):
    """The items of each group."""
    order = np.argsort(numbers, kind="stable")
    return np.split(items[order], np.searchsorted(numbers[order], np.arange(count + 1)))[1:-1]


def _corrections(plan, given):
    """Known entries of a group that share a row with one that is to be found."""
    by_row = plan[np.argsort(plan[:, 1])]
    at = np.searchsorted(by_row[:, 1], given[:, 1])
    shared = at < len(by_row)
    shared[shared] = by_row[at[shared], 1] == given[shared, 1]
    found, source = by_row[at[shared]], given[shared]
    return np.stack([found[:, 0], source[:, 0], found[:, 2], source[:, 2]], axis=1)


def floors(floor, n):
    """The sizes below which variables count as zero, shape (n,), by default `eps**(1/4)`."""
    floor = np.asarray(FLOOR if floor is None else floor, dtype=float)
    if floor.shape not in ((), (n,)):
        raise ValueError(f"floor must be a number or have shape ({n},), got {floor.shape}")
    if not (np.isfinite(floor).all() and (floor > 0.0).all()):
        raise ValueError(f"floor must be positive and finite: it is the size of a variable that counts as zero, got {floor.min()}")
    return np.full(n, floor)


def increments(x, scheme, floor):
    """`max(|x|, floor) sqrt(eps)` [Arnold, eq. (17)], rounded such that `x + d` differs from `x` by `d` exactly."""
    if scheme == "complex":
        return np.full(len(x), COMPLEX_STEP)
    size = np.maximum(np.abs(x), floor) * RELATIVE[scheme]
    # away from zero the numbers get no denser, so that what is exact on that side is so on the other
    return rounded(x, size if scheme == "forward" else np.copysign(size, x))


def rounded(x, d):
    """The displacements that `x + d` really makes."""
    return (x + d) - x


def vector(values, m, name, is_complex=False):
    """What a function has returned, an array of numbers of shape (m,)."""
    values = np.asarray(values, order="C")
    if values.shape != (m,):
        raise ValueError(f"{name} must return an array of shape ({m},), one value for each row of the pattern, got {values.shape}")
    if np.iscomplexobj(values) == is_complex:
        return values.astype(complex if is_complex else float, copy=False)
    if is_complex:
        raise ValueError(f"{name} returned real values for a complex argument: it has lost the imaginary part, which is the derivative; "
                         "the scheme 'complex' needs a function of complex arrays, 'central' does not")
    raise ValueError(f"{name} returned complex values for a real argument; differences need real ones")


@compiled
def displace(x, d, factor, columns, z):
    """`z = x + factor d` in the columns, `x` elsewhere."""
    for k in range(x.shape[0]):
        z[k] = x[k]
    for k in columns:
        z[k] = x[k] + factor * d[k]


@compiled
def gather(plus, minus, weight, steps, plan, corrections, values):
    """The quotients of one group; returns the first row that is not finite, or -1."""
    for k in range(plan.shape[0]):
        values[plan[k, 0]] = weight * (plus[plan[k, 1]] - minus[plan[k, 1]]) / steps[plan[k, 2]]
    # known entries of other columns
    for k in range(corrections.shape[0]):
        values[corrections[k, 0]] -= values[corrections[k, 1]] * steps[corrections[k, 3]] / steps[corrections[k, 2]]
    return not_finite(plus, minus)


@compiled
def not_finite(plus, minus):
    """The first row in which one of both is not finite, or -1."""
    s = 0.0
    for k in range(plus.shape[0]):
        s += 0.0 * plus[k] + 0.0 * minus[k]
    if s == s:
        return -1
    for k in range(plus.shape[0]):
        if not (np.isfinite(plus[k]) and np.isfinite(minus[k])):
            return k
    return -1


@compiled
def difference(plus, minus, weight, out):
    """`out = weight (plus - minus)`."""
    for k in range(out.shape[0]):
        out[k] = weight * (plus[k] - minus[k])
