"""An integration by `ProjectedGauss`: its arrays."""

from typing import TYPE_CHECKING

import numpy as np

from ...problems.base import Problem
from ...system.assembly import State as Start
from ...typing import Vector
from ..control.newton import NewtonRule
from ..control.records import State, new_state
from ..projections.project import PREPARE, PROJECT, Projector
from .arrays import GaussRun, Memory, Previous, scratch_for, stages_for
from .attempt import LOOPS
from .choice import SIMPLIFIED
from .controlled import arrays_of_estimate
from .coupled import ABSENT, FORM
from .coupled_stepper import CoupledStepper
from .stages import EVALUATE, EVALUATE_END, GGL, POSITION, VELOCITY
from .tableau import gauss

if TYPE_CHECKING:
    from .methods import ProjectedGauss

HELD = {"velocity": VELOCITY, "position": POSITION, "ggl": GGL}


class GaussStepper(CoupledStepper):
    """See `Stepper`."""

    form = staticmethod(FORM)
    loops = LOOPS
    run: GaussRun

    def __init__(self, method: "ProjectedGauss", problem: Problem, state: Start, t_end: float, rtol: float, atol: Vector) -> None:
        super().__init__(method, problem, state, t_end)
        s, n, level = self.system, method.stages, HELD[method.stages_hold]
        rows = n if level == GGL else 1  # of u
        self.projector = Projector("ProjectedGauss", problem.system, method.project, method.norm, method.energy)
        p = self.projector
        self.model, self.work = p.model, p.work
        memory = Memory(mode=SIMPLIFIED, age=0, back_step=0.0, longer=1.0, target=float(p.value(state.t, state.q, state.v)), reached=0.0)
        common = self.common(rule=method.rule(), newton=NewtonRule(float(method.tol), int(method.max_iter)), start=new_state(State, state),
                             end=new_state(State, state))
        self.run = GaussRun(
            **common, **arrays_of_estimate(method, s, state, rtol, atol), stages=stages_for(s, n, rows), inner=stages_for(s, n, rows),
            previous=Previous(W=np.zeros((n, s.nv)), L=np.zeros((n, s.nc))), memory=memory, scratch=scratch_for(s, n, rows),
            tableau=gauss(n, method.stages_hold), level=level, prepare=PREPARE, evaluate=EVALUATE, evaluate_end=EVALUATE_END, form=ABSENT,
            project=PROJECT, projection=p.projection, keeps=p.keeps)
