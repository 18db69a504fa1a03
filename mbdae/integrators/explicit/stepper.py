"""An integration by an explicit Runge-Kutta method: arrays, first step, failures, dense output."""

from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ...compilation.structure import with_fields
from ...problems.base import Problem
from ...results.diagnosis import ChartError, NoInterpolant, near_singular, singular_ahead
from ...results.diagnosis import explain as explain_state
from ...results.status import Cause, Status
from ...results.steps import Step
from ...system.assembly import State as Start
from ...system.assembly import accelerations as accelerations_at
from ...system.assembly import on_constraints
from ...system.codes import ERROR_TEST, GOOD, NO_POSITION, RANK_LOST
from ...system.evaluate import accelerations
from ...system.evaluate import refine as refined
from ...typing import FullState, Matrix, Vector
from ..control.newton import NewtonRule
from ..control.records import State, new_state
from ..control.stepper import FIXED, Stepper
from ..projections.project import Projector
from ..resolution import tolerances_below_rounding
from .arrays import ExplicitRun, new_memory, new_pair, new_stages
from .attempt import MANY
from .rest import at_rest, longest_step

if TYPE_CHECKING:
    from .methods import Explicit

MAX_STEP_RATIO = 10.0  # of two consecutive steps
BOUNDARY = 6.0  # of `|h lambda|` from rest, at most
STIFF = "the equations seem to be stiff: the steps are at the limit of stability of an explicit method; RosenbrockNystrom has no such limit"

Snapshot: TypeAlias = tuple[float, State]  # t and the state at the start of a step


class ExplicitStepper(Stepper):
    """See `Stepper`."""

    run: ExplicitRun

    def __init__(self, method: "Explicit", problem: Problem, state: Start, t_end: float, rtol: float, atol: Vector) -> None:
        super().__init__(problem.system, state, t_end)
        self.method, self.tableau, self.loops, self.max_steps = method, method.tableau, method.loops, method.max_steps
        tableau = self.tableau
        self.projector = Projector(type(method).__name__, problem.system, "PV", "mass")
        self.model, self.work = self.projector.model, self.projector.work
        s, rule = self.system, FIXED if method.fixed_step else method.controller.rule(tableau.error_order + 1, MAX_STEP_RATIO)
        common = self.common(rule=rule, newton=NewtonRule(0.0, 0), start=new_state(State, state), end=new_state(State, state))
        pairs = {name: new_pair(s) for name in ("raw", "sums", "weights")}
        self.run = ExplicitRun(
            **common, **pairs, stages=new_stages(s, len(tableau.c)), stage=new_state(State, state), memory=new_memory(),
            tableau=tableau.coefficients, projection=self.projector.projection, rtol=float(rtol), atol_q=atol[:s.nq].copy(),
            atol_v=atol[s.nq:].copy())
        self.clock.fixed, self.clock.largest = int(method.fixed_step > 0.0), float(method.max_step)

    # the first step ------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """See `Stepper`."""
        run, s, t = self.run, self.run.start, self.t
        s.a[:], s.lam[:] = self._derivative(t, s.q, s.v, s.lam)
        atol = np.concatenate([run.atol_q, run.atol_v])
        if not self.fixed and (reason := tolerances_below_rounding(s.q, s.v, run.rtol, atol)):
            raise ChartError(Status.STEP_TOO_SMALL, reason)
        if not self.fixed:
            self._limit_at_rest(atol)
        self.clock.h = self.method.fixed_step or self.method.first_step or self._first_step(atol)

    def _limit_at_rest(self, atol: Vector) -> None:
        """From rest in equilibrium the steps are no longer than stability allows, see `rest`."""
        s, span = self.run.start, self.t_end - self.t
        y, rate = np.concatenate([s.q, s.v]), self._rate(self.t, s.q, s.v, s.a)
        if not at_rest(rate, 1.0 / (atol + self.run.rtol * np.abs(y)), span):
            return

        def derivative(y: Vector) -> Vector:
            q, v = y[:self.system.nq], y[self.system.nq:]
            return self._rate(self.t, q, v, self._derivative(self.t, q, v, s.lam)[0])

        boundary = min(self.tableau.stiffness, BOUNDARY)
        with suppress(ChartError):
            self.clock.largest = min(self.clock.largest, longest_step(derivative, y, rate, span, boundary))

    def _rate(self, t: float, q: Vector, v: Vector, a: Vector) -> Vector:
        """Derivatives of positions and velocities."""
        return np.concatenate([self.system.qdot(q, v, t), a])

    def _derivative(self, t: float, q: Vector, v: Vector, guess: Vector) -> tuple[Vector, Vector]:
        """Accelerations and multipliers of the equations of motion."""
        lam = guess.copy()
        a, lam, code, lost = accelerations(t, q, v, lam, self.model, self.work)
        self.system.callbacks.check()
        self.run.counts.residuals += 1
        self.run.counts.factorisations += 1
        self.run.counts.solves += 1
        if code == GOOD and lost > len(self.system.dependent):
            code = RANK_LOST
        if code != GOOD:
            raise ChartError(*explain_state(self.system, code, self.work, t, q))
        refined(t, q, v, a, lam, self.model, self.work)
        return a, lam

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
        longest = max(1e-6, 1e-3 * h) if largest <= 1e-15 else (0.01 / largest) ** (1.0 / (self.tableau.error_order + 1))
        return float(max(min(100.0 * h, longest, abs(span)), 1e-12 * abs(span)))

    # failures ------------------------------------------------------------------------------------------------------------

    def additional_counts(self) -> dict[str, int]:
        """Work of the projections."""
        return {"factorisations": self.projector.factorisations, "solves": self.projector.solves}

    def explain(self, fault: int) -> Cause:
        """See `Stepper`."""
        (t, q, v, _, _), h = self.row(), np.copysign(self.clock.h, self.t_end - self.t)
        if fault in (NO_POSITION, RANK_LOST):
            behind = near_singular(self.system, self.begins, t, q) or singular_ahead(self.system, self.begins, t, q, v, h)
            return behind or self.projector.explain(fault, t + h, self.run.raw.q)
        status, reason = super().explain(fault)
        return Cause(status, f"{reason}; {STIFF}" if fault == ERROR_TEST and self.remark() else reason)

    def remark(self) -> str:
        """See `Stepper`: whether the equations are stiff."""
        return STIFF if self.run.memory.stiff >= MANY else ""

    # steps ---------------------------------------------------------------------------------------------------------------

    @property
    def kept(self) -> dict[str, Any]:
        """See `Stepper`: without what every step evaluates anew."""
        run = self.run
        return {"run.clock": run.clock, "run.counts": run.counts, "run.start": run.start, "run.end": run.end, "run.memory": run.memory,
                "run.model": run.model, "run.work": run.work, "run.projection.counts": run.projection.counts}

    def snapshot(self) -> Snapshot:
        """See `Stepper`."""
        return self.t, new_state(State, self.run.start)

    def step(self, before: Snapshot) -> Step:
        """The last accepted step, with the dense output of the formula; states are projected when they are completed."""
        (t0, start), (t, q, v, _, _) = before, self.row()
        return Step(t0, t, lambda: (q.copy(), v.copy()), np.concatenate([q, v]), lambda times: self._within(times, t0, start),
                    self._completed, self.tableau.degree)

    def _completed(self, t: float, values: Vector) -> FullState:
        """The state on the constraints next to interpolated positions and velocities."""
        q, v = on_constraints(self.system, t, values[:self.system.nq], values[self.system.nq:])
        a, lam, _ = accelerations_at(self.system, t, q, v)
        return q, v, a, lam

    def _within(self, times: Vector, t0: float, start: State) -> Matrix:
        """Interpolated positions and velocities at times within the last step, by rows."""
        self.run.memory.bare = 1
        try:
            columns, code = self.sampled(with_fields(self.run, start=start), times, t0)
        finally:
            self.run.memory.bare = 0
        if code != GOOD:
            raise NoInterpolant(*self.explain(code))
        return columns[:, :self.system.nq + self.system.nv]


def _norm(x: Vector) -> float:
    return float(np.sqrt(np.mean(x * x)))
