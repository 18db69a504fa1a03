"""Difference quotients along groups of columns: increments, tables of the groups, and the compiled loops."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csc_array

from ..compilation.compiled import compiled
from ..system.vectors import is_finite
from .colouring import incidence
from .complex_step import COMPLEX_STEP
from .signatures import Array, Indices, Mask, Vector

EPS = float(np.finfo(float).eps)
FLOOR = EPS**0.25
RELATIVE = {"forward": EPS**0.5, "central": EPS ** (1.0 / 3.0), "complex": 0.0}  # increments, relative to the variable

# columns of the tables in `Group`
ENTRY, ROW, COLUMN = range(3)  # plan
FOUND, KNOWN, FOUND_COLUMN, KNOWN_COLUMN = range(4)  # corrections


class Group(NamedTuple):
    """Columns that are perturbed together.

    Attributes
    ----------
    number : int
    columns : ndarray of int64
    plan : ndarray of int64, shape (k, 3)
        The entries that are computed from it: index, row and column.
    corrections : ndarray of int64, shape (l, 4)
        Contributions of known entries: index of the computed entry, index of the known one, their columns.
    """

    number: int
    columns: Indices
    plan: Indices
    corrections: Indices


def as_pattern(pattern: Any) -> csc_array:
    """A boolean CSC array with sorted int32 indices, a copy; every stored element is an entry."""
    made = incidence.as_pattern(pattern).tocsc()
    indices, indptr = made.indices.astype(np.int32), made.indptr.astype(np.int32)
    return csc_array((np.ones(made.nnz, dtype=bool), indices, indptr), shape=made.shape)


def columns_of(pattern: csc_array) -> Indices:
    """The column of every entry of a CSC array."""
    return np.repeat(np.arange(pattern.shape[1]), np.diff(pattern.indptr))


def groups_of(pattern: csc_array, numbers: Indices, known: Mask) -> list[Group]:
    """The groups of a pattern; `numbers` are the group of each column, -1 for none, and `known` is a mask of its entries."""
    table = np.stack([np.arange(pattern.nnz), pattern.indices, columns_of(pattern)], axis=1).astype(np.int64)
    count = int(numbers.max(initial=-1)) + 1
    free, given = table[~known], table[known]
    parts = zip(_split(np.arange(len(numbers)), numbers, count), _split(free, numbers[free[:, COLUMN]], count),
                _split(given, numbers[given[:, COLUMN]], count))
    made = (Group(g, columns.astype(np.int64), plan, _corrections(plan, source)) for g, (columns, plan, source) in enumerate(parts))
    return [group for group in made if len(group.columns)]


def _split(items: Indices, numbers: Indices, count: int) -> list[Indices]:
    """The items of each group."""
    order = np.argsort(numbers, kind="stable")
    return np.split(items[order], np.searchsorted(numbers[order], np.arange(count + 1)))[1:-1]


def _corrections(plan: Indices, given: Indices) -> Indices:
    """Known entries of a group that share a row with an unknown one."""
    by_row = plan[np.argsort(plan[:, ROW])]
    at = np.searchsorted(by_row[:, ROW], given[:, ROW])
    shared = at < len(by_row)
    shared[shared] = by_row[at[shared], ROW] == given[shared, ROW]
    found, source = by_row[at[shared]], given[shared]
    return np.stack([found[:, ENTRY], source[:, ENTRY], found[:, COLUMN], source[:, COLUMN]], axis=1)


def floors(floor: ArrayLike | None, n: int) -> Vector:
    """Lower bounds of the sizes of variables for their increments, shape (n,), by default `eps**(1/4)`."""
    floor = np.asarray(FLOOR if floor is None else floor, dtype=float)
    if floor.shape not in ((), (n,)):
        raise ValueError(f"floor must be a number or have shape ({n},), got {floor.shape}")
    if not (np.isfinite(floor).all() and (floor > 0.0).all()):
        raise ValueError(f"floor must be positive and finite, as the smallest size of a variable for its increment, got {floor.min()}")
    return np.full(n, floor)


def increments(x: Vector, scheme: str, floor: Vector) -> Vector:
    """`max(|x|, floor) sqrt(eps)` [Arnold, eq. (17)], rounded such that `x + d` differs from `x` by `d` exactly."""
    if scheme == "complex":
        return np.full(len(x), COMPLEX_STEP)
    size = np.maximum(np.abs(x), floor) * RELATIVE[scheme]
    # away from zero floating-point numbers are not denser: increments that are exact there are exact on the other side
    return rounded(x, size if scheme == "forward" else np.copysign(size, x))


def rounded(x: Vector, d: Vector) -> Vector:
    """The increments `(x + d) - x`, which are exact."""
    return (x + d) - x


def vector(values: ArrayLike, m: int, name: str, is_complex: bool = False) -> Array:
    """The value of a function as an array of shape (m,); raises a ValueError if it is none."""
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
def displace(x: Vector, d: Array, factor: float, columns: Indices, z: Array) -> None:
    """`z = x + factor d` in the columns, `x` elsewhere."""
    for k in range(x.shape[0]):
        z[k] = x[k]
    for k in columns:
        z[k] = x[k] + factor * d[k]


@compiled
def gather(plus: Array, minus: Array, weight: float, steps: Vector, plan: Indices, corrections: Indices, values: Vector) -> int:
    """The quotients of one group; returns the first row that is not finite, or -1."""
    for k in range(plan.shape[0]):
        i = plan[k, ROW]
        values[plan[k, ENTRY]] = weight * (plus[i] - minus[i]) / steps[plan[k, COLUMN]]
    # contributions of known entries
    for k in range(corrections.shape[0]):
        source, ratio = values[corrections[k, KNOWN]] * steps[corrections[k, KNOWN_COLUMN]], steps[corrections[k, FOUND_COLUMN]]
        values[corrections[k, FOUND]] -= source / ratio
    return not_finite(plus, minus)


@compiled
def not_finite(plus: Array, minus: Array) -> int:
    """The first row in which one of both is not finite, or -1."""
    s = 0.0
    for k in range(plus.shape[0]):
        s += 0.0 * plus[k] + 0.0 * minus[k]
    if s == s:
        return -1
    for k in range(plus.shape[0]):
        if not (is_finite(plus[k]) and is_finite(minus[k])):
            return k
    return -1


@compiled
def difference(plus: Array, minus: Array, weight: float, out: Vector) -> None:
    """`out = weight (plus - minus)`."""
    for k in range(out.shape[0]):
        out[k] = weight * (plus[k] - minus[k])
