"""An integration by Adams methods: arrays, first step, failures, dense output."""

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ...compilation.structure import with_fields
from ...problems.base import Problem
from ...results.diagnosis import ChartError, NoInterpolant, near_singular, singular_ahead
from ...results.status import Cause, Status
from ...results.steps import Step
from ...system.assembly import State as Start
from ...system.assembly import accelerations as accelerations_at
from ...system.assembly import on_constraints
from ...system.codes import ERROR_TEST, GOOD, NO_POSITION, RANK_LOST
from ...typing import FullState, Matrix, Vector
from ..control.newton import NewtonRule
from ..control.records import State, new_state
from ..control.stepper import FIXED
from ..explicit.attempt import MANY
from ..explicit.first_step import derivative
from ..explicit.methods import DormandPrince
from ..explicit.start import StartedStepper
from ..explicit.stepper import STIFF
from ..projections.project import Projector
from .arrays import AdamsRun, new_differences, new_memory, new_pairs
from .attempt import LOOPS

if TYPE_CHECKING:
    from .methods import Adams

BOUNDARY = 1.0  # of `|h lambda|` from rest
PARTS = 4  # of a step of fixed length, for derivatives before the start

Snapshot: TypeAlias = tuple[float, State]  # t and the state at the start of a step


class AdamsStepper(StartedStepper):
    """See `Stepper`."""

    run: AdamsRun
    loops = LOOPS
    lasting = True
    error_order, boundary = 1, BOUNDARY

    def __init__(self, method: "Adams", problem: Problem, state: Start, t_end: float, rtol: float, atol: Vector) -> None:
        super().__init__(problem.system, state, t_end)
        self.method, self.max_steps = method, method.max_steps
        self.projector = Projector("Adams", problem.system, "PV", "mass", work=self.work)
        s = self.system
        common = self.common(rule=FIXED, newton=NewtonRule(0.0, 0), start=new_state(State, state), end=new_state(State, state))
        self.run = AdamsRun(**common, **new_pairs(s), differences=new_differences(s), stage=new_state(State, state),
                            memory=new_memory(int(method.max_order)), projection=self.projector.projection,
                            rtol=float(rtol), atol_q=atol[:s.nq].copy(), atol_v=atol[s.nq:].copy())
        self.clock.fixed, self.clock.largest = int(method.fixed_step > 0.0), float(method.max_step)
        self.problem = problem

    def begin(self) -> None:
        """See `Stepper`."""
        self.start(self.method.fixed_step)
        if self.fixed:
            self._begin_with_history(np.copysign(self.method.fixed_step, self.t_end - self.t))

    def _begin_with_history(self, h: float) -> None:
        """Derivatives at the start and in the steps of the length `h` before it, and their backward differences."""
        m, k = self.run.memory, int(self.method.max_order)
        times = self.t - h * np.arange(1.0, k + 1.0)
        past = DormandPrince(fixed_step=abs(h) / PARTS).integrate(self.problem, self.begins, times[-1], rtol=1.0, atol=1.0, t_eval=times)
        if past.status is not Status.SUCCESS:
            raise ChartError(past.status, f"before the start, for the first steps of fixed length: {past.message}")
        rows = np.empty((k + 1, self.system.nq + self.system.nv))
        for j, (t, q, v, a, lam) in enumerate([self.row(), *zip(past.t, past.q, past.v, past.a, past.lam)]):
            self._check(derivative(t, np.concatenate([q, v]), a.copy(), lam.copy(), self.model, self.work, rows[j]), t, q)
        for j in range(k + 1):
            self.run.differences.q[j], self.run.differences.v[j] = np.split(rows[0], [self.system.nq])
            rows = rows[:-1] - rows[1:]
        m.since[:k + 1] = h * np.arange(k + 1)
        m.order, m.known, m.rising = k, k + 1, 0

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
                "run.differences": run.differences, "run.model": run.model, "run.work": run.work,
                "run.projection.counts": run.projection.counts}

    def snapshot(self) -> Snapshot:
        """See `Stepper`."""
        return self.t, new_state(State, self.run.start)

    def step(self, before: Snapshot) -> Step:
        """The last accepted step, with the polynomial of the formula; states are projected when they are completed."""
        (t0, start), (t, q, v, _, _) = before, self.row()
        return Step(t0, t, lambda: (q.copy(), v.copy()), np.concatenate([q, v]), lambda times: self._within(times, t0, start),
                    self._completed, max(self.run.memory.used + 1, 3))

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
