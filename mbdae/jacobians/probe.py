"""The error of an updated Jacobian, by one difference quotient along a direction in which all unknowns change."""

import numpy as np
from scipy.sparse import csc_array

from ..compilation.compiled import compiled
from .signatures import Array, Indices, Residual, Vector

MAX_ERROR = 0.3  # relative error of a row at which Newton's method still converges well
INCREMENT, FLOOR = 1e-6, 1e-3  # of an unknown relative to its size, and the smallest size
SKIP_RATIO = 0.1  # of the limit: smaller predicted errors are not measured


@compiled
def _mismatch(column_ptr: Indices, rows: Indices, values: Vector, d: Array, change: Vector, found: Vector, size: Vector) -> float:
    """Largest `|change - J d|` over the rows, relative to `|J| |d|`."""
    found[:] = 0.0
    size[:] = 0.0
    for j in range(column_ptr.shape[0] - 1):
        for k in range(column_ptr[j], column_ptr[j + 1]):
            found[rows[k]] += values[k] * d[j]
            size[rows[k]] += abs(values[k] * d[j])
    worst = 0.0
    for i in range(found.shape[0]):
        error = abs(change[i] - found[i])
        if not error <= worst * size[i]:  # also true for NaN
            worst = error / size[i] if size[i] > 0.0 else np.inf
    return worst


class Probe:
    """Compares `J d` with `F(t, y + d, yd + c d) - F(t, y, yd)`.

    The error of an old `F_y` increases with the time since its evaluation, and its effect decreases with `c`. Where the error predicted
    from the last measured one is far below the limit nothing is evaluated.

    Parameters
    ----------
    residual : callable
        `F(t, y, yd, out)`.
    pattern : csc_array, shape (m, n)

    Attributes
    ----------
    calls : int
        Evaluations of the residual.
    """

    def __init__(self, residual: Residual, pattern: csc_array) -> None:
        m, n = pattern.shape
        self._residual, self._pattern = residual, pattern
        self._signs = np.where(np.random.default_rng(0).random(n) < 0.5, -1.0, 1.0)
        self._base, self._moved, self._found, self._size = (np.empty(m) for _ in range(4))
        self._slope: float | None = None  # error per second and per 1/c
        self.calls = 0

    def fits(self, values: Vector, age: float, t: float, y: Vector, yd: Vector, c: float, residual: Vector | None = None) -> bool:
        """Whether `values` are close enough to `F_y + c F_yd`.

        Parameters
        ----------
        values : ndarray, shape (nnz,)
        age : float
            Time since `F_y` was evaluated.
        t, y, yd, c
            The state.
        residual : ndarray, shape (m,), optional
            `F(t, y, yd)`.
        """
        measure = abs(age / c)
        if self._slope is not None and self._slope * measure < SKIP_RATIO * MAX_ERROR:
            return True
        error = self.error(values, t, y, yd, c, residual)
        if measure > 0.0:
            self._slope = error / measure
        return error < MAX_ERROR

    def error(self, values: Vector, t: float, y: Vector, yd: Vector, c: float, residual: Vector | None = None) -> float:
        """The relative error of the worst row of `J d`."""
        if residual is None:
            residual = self._base
            self._residual(t, y, yd, residual)
            self.calls += 1
        d = self._signs * INCREMENT * np.maximum(np.abs(y), FLOOR)
        self._residual(t, y + d, yd + c * d, self._moved)
        self.calls += 1
        self._moved -= residual
        p = self._pattern
        return float(_mismatch(p.indptr, p.indices, values, d, self._moved, self._found, self._size))
