"""The first step of methods whose step size is controlled by errors of positions and velocities."""

import math
from contextlib import suppress
from typing import Any

import numpy as np

from ...results.diagnosis import ChartError
from ...results.diagnosis import explain as explain_state
from ...results.status import Status
from ...system.codes import GOOD
from ...system.evaluate import rates
from ...typing import Vector
from ..control.stepper import Stepper
from ..resolution import EPS, tolerances_below_rounding
from .first_step import derivative
from .rest import at_rest, longest_step


class StartedStepper(Stepper):
    """A `Stepper` that chooses its first step.

    `run` has `rtol`, `atol_q` and `atol_v`, and `method` the fields `first_step` and `max_step`. A family sets

    - `error_order`: the order of the error estimate, one less than its power of the step size;
    - `boundary`: of `|h lambda|` from rest in equilibrium.
    """

    run: Any
    method: Any
    error_order: int
    boundary: float

    def start(self, fixed_step: float | None) -> None:
        """The length of the first step, unless the steps are of fixed length."""
        run, s = self.run, self.run.start
        y, atol = np.concatenate([s.q, s.v]), np.concatenate([run.atol_q, run.atol_v])
        rate = np.empty_like(y)
        self._check(derivative(self.t, y, s.a, s.lam, self.model, self.work, rate), self.t, s.q)
        weights = 1.0 / (atol + run.rtol * np.abs(y))
        if not self.fixed:
            far = EPS * np.abs(y * weights).max() > 1.0
            if far and (reason := tolerances_below_rounding(s.q, s.v, run.rtol, atol)):
                raise ChartError(Status.STEP_TOO_SMALL, reason)
            if at_rest(rate, weights, self.t_end - self.t):
                self._limit_at_rest(y, rate)
        self.clock.h = fixed_step or self.method.first_step or self._first_step(y, rate, weights)

    def _limit_at_rest(self, y: Vector, rate: Vector) -> None:
        """From rest in equilibrium the steps are no longer than stability allows, see `rest`."""
        s, span = self.run.start, self.t_end - self.t

        def rate_at(y: Vector) -> Vector:
            found: Vector
            found, code = rates(self.t, y, s.lam.copy(), self.model, self.work)
            self._check(code, self.t, y[:self.system.nq])
            return found

        with suppress(ChartError):
            self.clock.largest = min(self.clock.largest, longest_step(rate_at, y, rate, span, self.boundary))

    def _check(self, code: int, t: float, q: Vector) -> None:
        """Count an evaluation, and raise what has failed in it."""
        self._count()
        if code != GOOD:
            raise ChartError(*explain_state(self.system, code, self.work, t, q))

    def _count(self) -> None:
        """Count an evaluation, and raise what a user function has raised in it."""
        self.system.callbacks.check()
        self.run.counts.residuals += 1
        self.run.counts.factorisations += 1
        self.run.counts.solves += 1

    def _first_step(self, y: Vector, rate: Vector, weights: Vector) -> float:
        """A step for small changes of the state and small errors of Euler's method (Hairer, Norsett, Wanner, section II.4)."""
        s, span = self.run.start, self.t_end - self.t
        size, speed = _norm(y * weights), _norm(rate * weights)
        h = 1e-6 if min(size, speed) < 1e-5 else 0.01 * size / speed
        h = min(h, abs(span), self.method.max_step)
        change, later = math.copysign(h, span), np.empty_like(rate)
        code = derivative(self.t + change, y + change * rate, s.a.copy(), s.lam.copy(), self.model, self.work, later)
        self._count()
        if code != GOOD:
            return float(h)
        largest = max(speed, _norm((later - rate) * weights) / h)
        longest = max(1e-6, 1e-3 * h) if largest <= 1e-15 else (0.01 / largest) ** (1.0 / (self.error_order + 1))
        return float(max(min(100.0 * h, longest, abs(span)), 1e-12 * abs(span)))


def _norm(x: Vector) -> float:
    """The root mean square."""
    return math.sqrt(np.add.reduce(x * x) / x.size)
