"""Checks at the first evaluation of a grouped difference: entries missing from the pattern, and wrong known values."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.sparse import csc_array

from .quotients import EPS, columns_of, rounded
from .signatures import Indices, Mask, Vector

_SEED = 20070
_USUAL_ERROR = {"forward": 1e-6, "central": 1e-8, "complex": 1e-12}  # errors by truncation and rounding, relative to the terms of a row
_ROUNDING = 16.0 * EPS  # rounding errors of the function, relative to its value
_CURVATURE = 8.0  # times the observed truncation error of the direction
_FACTOR, _MIN_GROWTH = 256.0, 16.0  # of the increments, and of the change of a row that is not a rounding error


class Comparison(NamedTuple):
    """A Jacobian, and directional derivatives to compare it with.

    Attributes
    ----------
    along : callable
        `along(d, columns)`: the derivative along `d` in the columns, by the scheme and without a pattern, shape (m,).
    steps : ndarray, shape (n,)
        Increments.
    J : csc_array, shape (m, n)
        The matrix to be checked.
    known : ndarray of bool, shape (nnz,)
        Entries of `J` that were given.
    scheme : str
    function, variable : str
        Their names in messages.
    size : callable
        `size()`: absolute values of the function, shape (m,).
    """

    along: Callable[[Vector, Indices], Vector]
    steps: Vector
    J: csc_array
    known: Mask
    scheme: str
    function: str
    variable: str
    size: Callable[[], Vector]


def check_pattern(x: Vector, comparison: Comparison) -> None:
    """Compare a Jacobian at `x` with the derivative along a random direction, and find the entry to blame where they disagree.

    Raises
    ------
    ValueError
        If a row depends on a column where the pattern has no entry, or a known value is wrong.
    """
    along, J, scheme = comparison.along, comparison.J, comparison.scheme
    d = _direction(x, comparison.steps, scheme)
    everything = np.arange(len(x))
    found, expected = along(d, everything), J @ d
    with np.errstate(invalid="ignore", over="ignore"):  # rows that are not finite at such a distance are not compared
        defect = np.abs(found - expected)
        suspicious = defect > _USUAL_ERROR[scheme] * (abs(J) @ np.abs(d))
    if not suspicious.any():
        return
    twice = along(2.0 * d, everything)
    with np.errstate(invalid="ignore", over="ignore"):
        suspicious &= ~(defect <= _CURVATURE * np.abs(0.5 * twice - found))
    for row in map(int, np.flatnonzero(suspicious)):
        _find_missing(comparison, d, row)
        _find_wrong(comparison, row)


def _direction(x: Vector, steps: Vector, scheme: str) -> Vector:
    rng = np.random.default_rng(_SEED)
    d = steps * rng.uniform(0.5, 1.0, len(x)) * rng.choice([-1.0, 1.0], len(x))
    return d if scheme == "complex" else rounded(x, d)


def _find_missing(comparison: Comparison, d: Vector, row: int) -> None:
    """Perturb the columns in which the pattern has no entry in the row: the row must not change, however nonlinear it is."""
    along, J = comparison.along, comparison.J
    present = columns_of(J)[row == J.indices]

    def depends(columns: Indices) -> bool:
        near, far = (abs(along(s * d, columns)[row]) for s in (1.0, _FACTOR))
        return bool(near > 0.0 and far > _MIN_GROWTH * near)

    column = one_of(depends, np.setdiff1d(np.arange(len(d)), present))
    if column is not None:
        raise ValueError(f"{comparison.function} depends on {comparison.variable}[{column}] in row {row}, which the pattern lacks; add the "
                         f"entry ({row}, {column})")


def one_of(depends: Callable[[Indices], bool], columns: Indices) -> int | None:
    """A column on which something depends, by bisection, or `None`."""
    if not len(columns) or not depends(columns):
        return None
    while len(columns) > 1:
        half = columns[:len(columns) // 2]
        columns = half if depends(half) else columns[len(columns) // 2:]
    return int(columns[0]) if depends(columns) else None


def _find_wrong(comparison: Comparison, row: int) -> None:
    """Compare the known entries of a row with differences; deviations by rounding or truncation vary with the increment."""
    along, steps, J, scheme = comparison.along, comparison.steps, comparison.J, comparison.scheme
    entries = np.flatnonzero(comparison.known & (row == J.indices))
    rounding = _ROUNDING * comparison.size()[row] if len(entries) and scheme != "complex" else 0.0
    for entry in entries:
        column = np.searchsorted(J.indptr, entry, side="right") - 1
        near, far = (along(s * steps, np.array([column]))[row] / (s * steps[column]) for s in (1.0, _FACTOR))
        given = J.data[entry]
        off, still_off = near - given, far - given
        visible = abs(off) > _USUAL_ERROR[scheme] * abs(near) and abs(still_off) * _FACTOR * steps[column] > rounding
        if visible and abs(off - still_off) < 0.5 * abs(off):
            raise ValueError(f"the known value of the entry ({row}, {column}) is {given:.6g}, but the derivative of {comparison.function} "
                             f"by {comparison.variable}[{column}] in this row is about {near:.6g}")
