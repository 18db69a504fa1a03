"""An integration by Adams methods: arrays, the memory."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ...problems.base import Problem
from ...results.diagnosis import ChartError
from ...results.status import Status
from ...system.assembly import State as Start
from ...typing import Vector
from ..control.newton import NewtonRule
from ..control.records import State, new_state
from ..control.stepper import FIXED
from ..explicit.first_step import derivative
from ..explicit.methods import DormandPrince
from ..explicit.projected_stepper import ProjectedStepper
from ..projections.project import Projector
from .arrays import AdamsRun, new_differences, new_memory, new_pairs
from .attempt import LOOPS

if TYPE_CHECKING:
    from .methods import Adams

BOUNDARY = 1.0  # of `|h lambda|` from rest
PARTS = 4  # of a step of fixed length, for derivatives before the start


class AdamsStepper(ProjectedStepper):
    """See `Stepper`."""

    run: AdamsRun
    loops = LOOPS
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

    @property
    def degree(self) -> int:
        """See `ProjectedStepper`."""
        return max(self.run.memory.used + 1, 3)

    @property
    def kept(self) -> dict[str, Any]:
        """See `Stepper`: without what every step evaluates anew."""
        run = self.run
        return {"run.clock": run.clock, "run.counts": run.counts, "run.start": run.start, "run.end": run.end, "run.memory": run.memory,
                "run.differences": run.differences, "run.model": run.model, "run.work": run.work,
                "run.projection.counts": run.projection.counts}
