"""Extrapolation of the explicit midpoint rule in extended precision: Gragg, Bulirsch and Stoer, with a fixed number of columns.

With `n_j = 2 j` midpoint steps of length `h / n_j`, whose results have an error expansion in `h^2`, Neville's scheme

    T_jk = T_j,k-1 + (T_j,k-1 - T_j-1,k-1) / ((n_j / n_j-k+1)^2 - 1)

gives a method of order `2 K` [Hairer, Norsett, Wanner, Solving ODEs I, sections II.8 and II.9].
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...typing import Numbers
from .numbers import Extended
from .stepping import Solver

COLUMNS = 9
SAFETY, MOST, LEAST = 0.8, 4.0, 0.1


class Extrapolation(Solver):
    """`y' = f(t, y)` by extrapolation of order `2 columns`.

    Parameters
    ----------
    f : callable
        `f(t, y) -> y'`, extended numbers.
    tol : float
        Bound on the error estimate of a step, relative to the scale of each unknown.
    columns : int
    """

    def __init__(self, f: Callable[[Any, Numbers], Numbers], tol: float, columns: int = COLUMNS) -> None:
        super().__init__(f, tol)
        self.columns = columns
        self.order = 2 * columns

    def attempt(self, t: Any, y: Numbers, h: Any) -> tuple[Numbers, float]:
        """The step, and the difference of the last two columns relative to the scale."""
        first = self.derivative(t, y)
        row: list[Numbers] = []
        for j in range(self.columns):
            n, last = 2 * (j + 1), row
            row = [self._midpoint(t, y, first, h, n)]
            for k in range(1, j + 1):
                ratio = Extended(n) / Extended(2 * (j - k + 1))
                row.append(row[-1] + (row[-1] - last[k - 1]) / (ratio**2 - 1))
        return y + row[-1], self.size(row[-1] - row[-2], y)

    def _midpoint(self, t: Any, y: Numbers, first: Numbers, h: Any, n: int) -> Numbers:
        """The increment of `y` over `n` midpoint steps, smoothed at the end; increments have smaller rounding errors than `y`."""
        step = h / Extended(n)
        before, now = 0 * y, step * first
        for k in range(1, n):
            before, now = now, before + 2 * step * self.f(t + k * step, y + now)
        smoothed: Numbers = (before + now + step * self.f(t + h, y + now)) / 2
        return smoothed

    def factor(self, error: float) -> float:
        """Change of the step size for an error estimate, of order `2 K - 1`."""
        if not np.isfinite(error):
            return LEAST
        return float(np.clip(SAFETY * (self.tol / max(error, 1e-40)) ** (1.0 / (2 * self.columns - 1)), LEAST, MOST))
