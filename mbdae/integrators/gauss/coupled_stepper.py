"""What integrations by `ProjectedGauss` and `Spark` share: the coupled matrix of the stages, failures, dense output."""

from collections.abc import Mapping
from typing import Any, ClassVar, TypeAlias

import numpy as np

from ...compilation.compiled import ByAddress
from ...compilation.structure import Structure, with_fields
from ...results.diagnosis import ChartError, near_singular, singular_ahead
from ...results.status import Cause, Status
from ...results.steps import Step, split_state
from ...system.codes import DIVERGED, ERROR_TEST, GOOD, NEEDS_MATRIX, NO_POSITION, RANK_LOST, SINGULAR_MATRIX, STALLED
from ...typing import Matrix, Vector
from ..control.loop import next_step
from ..control.records import State, new_state
from ..projections.project import Projector
from .choice import LARGEST
from .controlled import ControlledStepper

TOO_LARGE = "the system is too large for the iteration matrix of all stages: take shorter steps, or RadauIIA if forces are stiff"
Snapshot: TypeAlias = tuple[float, dict[str, Structure]]  # t, and fields of the run at the start of a step


class CoupledStepper(ControlledStepper):
    """A `ControlledStepper` whose Newton iteration falls back on the matrix of all stages at once, formed where it is needed.

    Attributes
    ----------
    form : compiled function
        Forms that matrix.
    """

    form: ClassVar[Any]
    projector: Projector

    def assist(self, fault: int) -> None:
        """Compile the functions that form the coupled matrix."""
        assert fault == NEEDS_MATRIX, fault
        if isinstance(self.form, ByAddress):
            self.form.__wrapper_address__()
        self.run.form = self.form

    @property
    def omitted(self) -> tuple[str, ...]:
        """See `Stepper`: the coupled matrix while it has not been formed."""
        return () if self.run.form is self.form else ("run.stages.matrix", "run.inner.matrix")

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
            lacks = f"; {TOO_LARGE}" if self.run.clock.fixed and len(self.run.stages.pivots) > LARGEST else ""
            return Cause(Status.NEWTON_FAILED, f"Newton's method {how} {tried} iterations{lacks}")
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
        start, previous = new_state(State, self.run.start), new_state(type(self.run.previous), self.run.previous)
        return self.t, {"start": start, "previous": previous, "memory": with_fields(self.run.memory)}

    def step(self, before: Snapshot) -> Step:
        """The last accepted step; states within it are computed by shorter steps from its start."""
        (t0, kept), (t, q, v, a, lam) = before, self.row()
        return Step(t0, t, lambda: (q.copy(), v.copy()), np.concatenate([q, v, a, lam]), lambda times: self._within(times, t0, kept),
                    split_state(self.system), self.method.order_of_steps + 1)

    def _within(self, times: Vector, t0: float, kept: dict[str, Structure]) -> Matrix:
        """States at times within the last step, by rows."""
        columns, code = self.sampled(with_fields(self.run, **kept), times, t0)
        if code == NEEDS_MATRIX:
            self.assist(code)
            return self._within(times, t0, kept)
        if code != GOOD:
            raise ChartError(*self.explain(code))
        return columns
