"""An integration by `Spark`: arrays, coupled matrix, failures, dense output."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ...compilation.compiled import ByAddress
from ...compilation.structure import Structure, with_fields
from ...problems.base import Problem
from ...results.diagnosis import ChartError, near_singular, singular_ahead
from ...results.status import Cause, Status
from ...results.steps import Step, split_state
from ...system.assembly import State as Start
from ...system.codes import DIVERGED, ERROR_TEST, GOOD, NEEDS_MATRIX, NO_POSITION, RANK_LOST, SINGULAR_MATRIX, STALLED
from ...typing import Matrix, Vector
from ..control.loop import next_step
from ..control.newton import NewtonRule
from ..control.records import State, new_state
from ..gauss.controlled import ControlledStepper, arrays_of_estimate
from ..gauss.newton import SIMPLIFIED
from ..gauss.stages import EVALUATE_END
from ..projections.project import PREPARE, PROJECT, Projector
from .arrays import Memory, Previous, SparkRun, previous_for, scratch_for, stages_for
from .attempt import LOOPS
from .coupled import ABSENT, FORM
from .stages import MOTION, REACTION
from .tableau import formula

if TYPE_CHECKING:
    from .methods import Spark

Snapshot: TypeAlias = tuple[float, dict[str, Structure]]  # t, and fields of the run at the start of a step


class SparkStepper(ControlledStepper):
    """See `Stepper`."""

    loops = LOOPS
    run: SparkRun

    def __init__(self, method: "Spark", problem: Problem, state: Start, t_end: float, rtol: float, atol: Vector) -> None:
        super().__init__(method, problem, state, t_end)
        s, f = self.system, formula(method.order, method.pair)
        self.projector = Projector("Spark", problem.system, "PVA", "mass")
        self.work = self.projector.work
        common = self.common(rule=method.rule(), newton=NewtonRule(float(method.tol), int(method.max_iter)), start=new_state(State, state),
                             end=new_state(State, state))
        self.run = SparkRun(
            **common, **arrays_of_estimate(method, s, state, rtol, atol), stages=stages_for(s, f), inner=stages_for(s, f),
            previous=previous_for(s, f), memory=Memory(mode=SIMPLIFIED, age=0, back_step=0.0), scratch=scratch_for(s, f), formula=f,
            prepare=PREPARE, motion=MOTION, reaction=REACTION, evaluate_end=EVALUATE_END, form=ABSENT, project=PROJECT,
            projection=self.projector.projection)

    def assist(self, fault: int) -> None:
        """Compile the functions that form the coupled matrix."""
        assert fault == NEEDS_MATRIX, fault
        if isinstance(FORM, ByAddress):
            FORM.__wrapper_address__()
        self.run.form = FORM

    @property
    def omitted(self) -> tuple[str, ...]:
        """See `Stepper`: the formula, and the coupled matrix while it has not been formed."""
        names = tuple(f"run.formula.{name}" for name in type(self.run.formula).__annotations__)
        return names if self.run.form is FORM else (*names, "run.stages.matrix", "run.inner.matrix")

    def prepare(self, saved: Mapping[str, np.ndarray]) -> None:
        """See `Stepper`."""
        if "run.stages.matrix" in saved:
            self.assist(NEEDS_MATRIX)

    def additional_counts(self) -> dict[str, int]:
        """Work of the projections."""
        return {"factorisations": self.projector.factorisations, "solves": self.projector.solves}

    # failures ------------------------------------------------------------------------------------------------------------

    def explain(self, fault: int) -> Cause:
        """See `Stepper`."""
        tried = self.run.scratch.iterations
        if fault == DIVERGED:
            how = "did not converge in" if tried == self.method.max_iter else "diverged after"
            return Cause(Status.NEWTON_FAILED, f"Newton's method {how} {tried} iterations")
        if fault in (SINGULAR_MATRIX, ERROR_TEST, STALLED):
            return super().explain(fault)
        (t, q, v, _, _), h = self.row(), next_step(self.clock).h
        if fault in (NO_POSITION, RANK_LOST):
            behind = near_singular(self.system, self.begins, t, q) or singular_ahead(self.system, self.begins, t, q, v, h)
            if behind:
                return behind
        return self.projector.explain(fault, t + h, q)

    # steps ---------------------------------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """See `Stepper`."""
        start, previous = new_state(State, self.run.start), new_state(Previous, self.run.previous)
        return self.t, {"start": start, "previous": previous, "memory": with_fields(self.run.memory)}

    def step(self, before: Snapshot) -> Step:
        """The last accepted step; states within it are computed by shorter steps from its start."""
        (t0, kept), (t, q, v, a, lam) = before, self.row()
        return Step(t0, t, lambda: (q.copy(), v.copy()), np.concatenate([q, v, a, lam]), lambda times: self._within(times, t0, kept),
                    split_state(self.system), self.method.order + 1)

    def _within(self, times: Vector, t0: float, kept: dict[str, Structure]) -> Matrix:
        """States at times within the last step, by rows."""
        columns, code = self.sampled(with_fields(self.run, **kept), times, t0)
        if code == NEEDS_MATRIX:
            self.assist(code)
            return self._within(times, t0, kept)
        if code != GOOD:
            raise ChartError(*self.explain(code))
        return columns
