"""An integration by an explicit Runge-Kutta method: arrays, first step, failures, dense output."""

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ...compilation.structure import with_fields
from ...problems.base import Problem
from ...results.diagnosis import NoInterpolant, near_singular, singular_ahead
from ...results.status import Cause
from ...results.steps import Step
from ...system.assembly import State as Start
from ...system.assembly import accelerations as accelerations_at
from ...system.assembly import on_constraints
from ...system.codes import ERROR_TEST, GOOD, NO_POSITION, RANK_LOST
from ...typing import FullState, Matrix, Vector
from ..control.newton import NewtonRule
from ..control.records import State, new_state
from ..control.stepper import FIXED
from ..projections.project import Projector
from .arrays import ExplicitRun, new_memory, new_pair, new_stages
from .attempt import MANY
from .start import StartedStepper

if TYPE_CHECKING:
    from .methods import Explicit

MAX_STEP_RATIO = 15.0  # of two consecutive steps
BOUNDARY = 6.0  # of `|h lambda|` from rest, at most
STIFF = "the equations seem to be stiff: the steps are at the limit of stability of an explicit method; RosenbrockNystrom has no such limit"

Snapshot: TypeAlias = tuple[float, State]  # t and the state at the start of a step


class ExplicitStepper(StartedStepper):
    """See `Stepper`."""

    run: ExplicitRun
    lasting = True

    def __init__(self, method: "Explicit", problem: Problem, state: Start, t_end: float, rtol: float, atol: Vector) -> None:
        super().__init__(problem.system, state, t_end)
        self.method, self.tableau, self.loops, self.max_steps = method, method.tableau, method.loops, method.max_steps
        tableau = self.tableau
        self.error_order, self.boundary = tableau.error_order, min(tableau.stiffness, BOUNDARY)
        self.projector = Projector(type(method).__name__, problem.system, "PV", "mass", work=self.work)
        s, rule = self.system, FIXED if method.fixed_step else method.controller.rule(tableau.error_order + 1, MAX_STEP_RATIO)
        common = self.common(rule=rule, newton=NewtonRule(0.0, 0), start=new_state(State, state), end=new_state(State, state))
        pairs = {name: new_pair(s) for name in ("raw", "sums", "weights")}
        self.run = ExplicitRun(
            **common, **pairs, second=np.zeros((2, s.nv)), third=np.zeros((2, s.nv)), stages=new_stages(s, len(tableau.c)),
            stage=new_state(State, state), memory=new_memory(), tableau=tableau.coefficients, projection=self.projector.projection,
            rtol=float(rtol), atol_q=atol[:s.nq].copy(), atol_v=atol[s.nq:].copy())
        self.clock.fixed, self.clock.largest = int(method.fixed_step > 0.0), float(method.max_step)

    def begin(self) -> None:
        """See `Stepper`."""
        self.start(self.method.fixed_step)

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
                "run.second": run.second, "run.third": run.third, "run.model": run.model, "run.work": run.work,
                "run.projection.counts": run.projection.counts}

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
