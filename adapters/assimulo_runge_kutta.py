"""RungeKutta34 of Assimulo with an error test: its formula, with steps that are repeated where the error is too large.

Assimulo 3.0 to 3.9 accepts every step of RungeKutta34, whatever its error, which only sets the length of the next one. And the difference
of its formulas of order 4 and 3, `h/6 (2 k2 + z3 - 2 k3 - k4)`, has two derivatives at the middle and two at the end of the step with
opposite signs: for `y' = f(t)` it vanishes, however rough `f` may be. The error of the quadrature is estimated here by the third
divided difference of the derivatives at the middle of the last step and at the beginning, the middle and the end of this one.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from mbdae.typing import Vector

SAFETY, SHRINK = 0.9, 0.1  # of the next step, and the least factor on it
QUADRATURE = 1.0 / 24.0  # `h^4` times this and the third divided difference is of the size of the error of the formula of order 3
SMALLEST = 4e-16  # step relative to the time


@cache
def repeating() -> Any:
    """The solver class."""
    from assimulo.exception import Explicit_ODE_Exception
    from assimulo.ode import ID_PY_COMPLETE, ID_PY_EVENT, ID_PY_OK
    from assimulo.solvers import RungeKutta34

    class Repeating(RungeKutta34):  # type: ignore[misc]  # Assimulo has no types
        """RungeKutta34 that repeats steps, for output after each step and without state events; see `mbdae.driver.run` for these."""

        def _iter(self, t: float, y: Vector, tf: float, opts: Any) -> Iterator[tuple[int, float, Vector]]:
            if opts["initialize"]:
                self.set_problem_data()
            self._past: tuple[float, Vector] | None = None
            self.statistics["nerrfails"] += 0  # which makes it a count
            self.f(self.Y1, t, y)
            h, flag = min(self.options["inith"], tf - t), ID_PY_OK
            while flag == ID_PY_OK:
                last = t + h >= tf
                end, following, h = self._accepted(t, y, min(h, tf - t))
                last = last and end >= tf * (1.0 - SMALLEST)
                t, y = tf if last else end, following
                self.statistics["nsteps"] += 1
                flag = ID_PY_EVENT if self.report_solution(t, y, opts) else ID_PY_COMPLETE if last else ID_PY_OK
                yield flag, t, y

        def _accepted(self, t: float, y: Vector, h: float) -> tuple[float, Vector, float]:
            """The first attempt, each shorter than the one before, whose error is below the tolerances: `t`, `y` and the next step."""
            start = self.Y1.copy()
            while True:
                end, following, error = self._step(t, y, h)
                error = max(error, self._quadrature(start, h, np.abs(y) * self.rtol + np.array(self.atol)))
                factor = 2.0 if error == 0.0 else max(SHRINK, min(SAFETY * error**-0.25, 2.0)) if np.isfinite(error) else SHRINK
                if error <= 1.0:
                    self._past = 0.5 * h, self._middle()
                    return end, following, factor * h
                if self.problem.callbacks.error is not None:  # the run is to end
                    return end, following, h
                self.Y1[:] = start
                self.statistics["nerrfails"] += 1
                h *= min(factor, SAFETY)
                if h <= SMALLEST * abs(t):
                    raise Explicit_ODE_Exception(f"the step size has become too small at t = {t:g}")

        def _quadrature(self, start: Vector, h: float, scaling: Vector) -> float:
            """Estimate of the error of the quadrature, relative to the tolerances."""
            if self._past is None:
                return 0.0
            before, past, middle = *self._past, self._middle()
            first, second, third = (start - past) / before, (middle - start) / (0.5 * h), (self.Y1 - middle) / (0.5 * h)
            bend, next_bend = (second - first) / (before + 0.5 * h), (third - second) / h
            return float(np.linalg.norm(QUADRATURE * h**4 * (next_bend - bend) / (before + h) / scaling))

        def _middle(self) -> Vector:
            """The derivative at the middle of the step, to order 3: in each stage alone the term of order 2 has the opposite sign."""
            middle: Vector = 0.5 * (self.Y2 + self.Y3)
            return middle

    Repeating.__name__ = "RungeKutta34"
    return Repeating
