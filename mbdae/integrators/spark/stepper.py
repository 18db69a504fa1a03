"""An integration by `Spark`: its arrays."""

from typing import TYPE_CHECKING

from ...problems.base import Problem
from ...system.assembly import State as Start
from ...typing import Vector
from ..control.newton import NewtonRule
from ..control.records import State, new_state
from ..gauss.choice import SIMPLIFIED
from ..gauss.controlled import arrays_of_estimate
from ..gauss.coupled_stepper import CoupledStepper
from ..gauss.stages import EVALUATE_END
from ..projections.project import PREPARE, PROJECT, Projector
from .arrays import Memory, SparkRun, previous_for, scratch_for, stages_for
from .attempt import LOOPS
from .coupled import ABSENT, FORM
from .stages import MOTION, REACTION
from .tableau import formula

if TYPE_CHECKING:
    from .methods import Spark



class SparkStepper(CoupledStepper):
    """See `Stepper`."""

    form = staticmethod(FORM)
    loops = LOOPS
    run: SparkRun

    def __init__(self, method: "Spark", problem: Problem, state: Start, t_end: float, rtol: float, atol: Vector) -> None:
        super().__init__(method, problem, state, t_end)
        s, f = self.system, formula(method.order, method.pair)
        self.projector = Projector("Spark", problem.system, "PVA", "mass", work=self.work)
        common = self.common(rule=method.rule(), newton=NewtonRule(float(method.tol), int(method.max_iter)), start=new_state(State, state),
                             end=new_state(State, state))
        memory = Memory(mode=SIMPLIFIED, age=0, back_step=0.0, longer=1.0)
        self.run = SparkRun(
            **common, **arrays_of_estimate(method, s, state, rtol, atol), stages=stages_for(s, f), inner=stages_for(s, f),
            previous=previous_for(s, f), memory=memory, scratch=scratch_for(s, f), formula=f,
            prepare=PREPARE, motion=MOTION, reaction=REACTION, evaluate_end=EVALUATE_END, form=ABSENT, project=PROJECT,
            projection=self.projector.projection)

    @property
    def omitted(self) -> tuple[str, ...]:
        """See `Stepper`: the formula, too."""
        return (*(f"run.formula.{name}" for name in type(self.run.formula).__annotations__), *super().omitted)
