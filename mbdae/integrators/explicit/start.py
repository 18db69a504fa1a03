"""The first step of methods whose step size is controlled by errors of positions and velocities."""

from contextlib import suppress
from typing import Any

import numpy as np

from ...results.diagnosis import ChartError
from ...results.diagnosis import explain as explain_state
from ...results.status import Status
from ...system.codes import GOOD, RANK_LOST
from ...system.evaluate import accelerations, rates
from ...system.evaluate import refine as refined
from ...typing import Vector
from ..control.stepper import Stepper
from ..resolution import tolerances_below_rounding
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
        run, s, t = self.run, self.run.start, self.t
        s.a[:], s.lam[:] = self._derivative(t, s.q, s.v, s.lam)
        atol = np.concatenate([run.atol_q, run.atol_v])
        if not self.fixed and (reason := tolerances_below_rounding(s.q, s.v, run.rtol, atol)):
            raise ChartError(Status.STEP_TOO_SMALL, reason)
        if not self.fixed:
            self._limit_at_rest(atol)
        self.clock.h = fixed_step or self.method.first_step or self._first_step(atol)

    def _limit_at_rest(self, atol: Vector) -> None:
        """From rest in equilibrium the steps are no longer than stability allows, see `rest`."""
        s, span = self.run.start, self.t_end - self.t
        y, rate = np.concatenate([s.q, s.v]), self._rate(self.t, s.q, s.v, s.a)
        if not at_rest(rate, 1.0 / (atol + self.run.rtol * np.abs(y)), span):
            return

        def derivative(y: Vector) -> Vector:
            found: Vector
            found, code = rates(self.t, y, s.lam.copy(), self.model, self.work)
            self._check(code, self.t, y[:self.system.nq])
            return found

        with suppress(ChartError):
            self.clock.largest = min(self.clock.largest, longest_step(derivative, y, rate, span, self.boundary))

    def _rate(self, t: float, q: Vector, v: Vector, a: Vector) -> Vector:
        """Derivatives of positions and velocities."""
        return np.concatenate([self.system.qdot(q, v, t), a])

    def _derivative(self, t: float, q: Vector, v: Vector, guess: Vector) -> tuple[Vector, Vector]:
        """Accelerations and multipliers of the equations of motion."""
        lam = guess.copy()
        a, lam, code, lost = accelerations(t, q, v, lam, self.model, self.work)
        self._check(RANK_LOST if code == GOOD and lost > len(self.system.dependent) else code, t, q)
        refined(t, q, v, a, lam, self.model, self.work)
        return a, lam

    def _check(self, code: int, t: float, q: Vector) -> None:
        """Count an evaluation, and raise what has failed in it."""
        self.system.callbacks.check()
        self.run.counts.residuals += 1
        self.run.counts.factorisations += 1
        self.run.counts.solves += 1
        if code != GOOD:
            raise ChartError(*explain_state(self.system, code, self.work, t, q))

    def _first_step(self, atol: Vector) -> float:
        """A step for small changes of the state and small errors of Euler's method (Hairer, Norsett, Wanner, section II.4)."""
        s, span = self.run.start, self.t_end - self.t
        y, rate = np.concatenate([s.q, s.v]), self._rate(self.t, s.q, s.v, s.a)
        weights = 1.0 / (atol + self.run.rtol * np.abs(y))
        size, speed = _norm(y * weights), _norm(rate * weights)
        h = 1e-6 if min(size, speed) < 1e-5 else 0.01 * size / speed
        h = min(h, abs(span), self.method.max_step)
        trial, t = y + np.copysign(h, span) * rate, self.t + np.copysign(h, span)
        q, v = trial[:self.system.nq], trial[self.system.nq:]
        try:
            a, _ = self._derivative(t, q, v, s.lam)
        except ChartError:
            return float(h)
        bend = _norm((self._rate(t, q, v, a) - rate) * weights) / h
        largest = max(speed, bend)
        longest = max(1e-6, 1e-3 * h) if largest <= 1e-15 else (0.01 / largest) ** (1.0 / (self.error_order + 1))
        return float(max(min(100.0 * h, longest, abs(span)), 1e-12 * abs(span)))


def _norm(x: Vector) -> float:
    return float(np.sqrt(np.mean(x * x)))
