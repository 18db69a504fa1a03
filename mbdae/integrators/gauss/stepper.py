"""An integration by `ProjectedGauss`: arrays, coupled matrix, failures, dense output."""

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
from ..projections.project import PREPARE, PROJECT, Projector
from .arrays import GaussRun, Memory, Previous, scratch_for, stages_for
from .attempt import LOOPS
from .controlled import ControlledStepper, arrays_of_estimate
from .coupled import ABSENT, FORM
from .newton import SIMPLIFIED
from .stages import EVALUATE, EVALUATE_END, POSITION, VELOCITY
from .tableau import gauss

if TYPE_CHECKING:
    from .methods import ProjectedGauss

Snapshot: TypeAlias = tuple[float, dict[str, Structure]]  # t, and fields of the run at the start of a step


class GaussStepper(ControlledStepper):
    """See `Stepper`."""

    loops = LOOPS
    run: GaussRun

    def __init__(self, method: "ProjectedGauss", problem: Problem, state: Start, t_end: float, rtol: float, atol: Vector) -> None:
        super().__init__(method, problem, state, t_end)
        s, n, level = self.system, method.stages, VELOCITY if method.stages_hold == "velocity" else POSITION
        self.projector = Projector("ProjectedGauss", problem.system, method.project, method.norm, method.energy)
        p = self.projector
        self.model, self.work = p.model, p.work
        memory = Memory(mode=SIMPLIFIED, age=0, back_step=0.0, target=float(p.value(state.t, state.q, state.v)), reached=0.0)
        common = self.common(rule=method.rule(), newton=NewtonRule(float(method.tol), int(method.max_iter)), start=new_state(State, state),
                             end=new_state(State, state))
        self.run = GaussRun(
            **common, **arrays_of_estimate(method, s, state, rtol, atol), stages=stages_for(s, n), inner=stages_for(s, n),
            previous=Previous(W=np.zeros((n, s.nv)), L=np.zeros((n, s.nc))), memory=memory, scratch=scratch_for(s, n),
            tableau=gauss(n, method.stages_hold), level=level, prepare=PREPARE, evaluate=EVALUATE, evaluate_end=EVALUATE_END, form=ABSENT,
            project=PROJECT, projection=p.projection, keeps=p.keeps)

    def assist(self, fault: int) -> None:
        """Compile the functions that form the coupled matrix."""
        assert fault == NEEDS_MATRIX, fault
        if isinstance(FORM, ByAddress):
            FORM.__wrapper_address__()
        self.run.form = FORM

    @property
    def omitted(self) -> tuple[str, ...]:
        """See `Stepper`: the coupled matrix while it has not been formed."""
        return () if self.run.form is FORM else ("run.stages.matrix", "run.inner.matrix")

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
                    split_state(self.system), 2 * self.method.stages + 1)

    def _within(self, times: Vector, t0: float, kept: dict[str, Structure]) -> Matrix:
        """States at times within the last step, by rows."""
        columns, code = self.sampled(with_fields(self.run, **kept), times, t0)
        if code == NEEDS_MATRIX:
            self.assist(code)
            return self._within(times, t0, kept)
        if code != GOOD:
            raise ChartError(*self.explain(code))
        return columns
