"""An integration by an explicit Runge-Kutta method: arrays, the memory."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ...problems.base import Problem
from ...system.assembly import State as Start
from ...typing import Vector
from ..control.newton import NewtonRule
from ..control.records import State, new_state
from ..control.stepper import FIXED
from ..projections.project import Projector
from .arrays import ExplicitRun, new_memory, new_pair, new_stages
from .projected_stepper import ProjectedStepper

if TYPE_CHECKING:
    from .methods import Explicit

MAX_STEP_RATIO = 15.0  # of two consecutive steps
BOUNDARY = 6.0  # of `|h lambda|` from rest, at most


class ExplicitStepper(ProjectedStepper):
    """See `Stepper`."""

    run: ExplicitRun

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

    @property
    def degree(self) -> int:
        """See `ProjectedStepper`."""
        return self.tableau.degree

    @property
    def kept(self) -> dict[str, Any]:
        """See `Stepper`: without what every step evaluates anew."""
        run = self.run
        return {"run.clock": run.clock, "run.counts": run.counts, "run.start": run.start, "run.end": run.end, "run.memory": run.memory,
                "run.second": run.second, "run.third": run.third, "run.model": run.model, "run.work": run.work,
                "run.projection.counts": run.projection.counts}
