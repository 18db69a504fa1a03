"""Steppers of methods that integrate the underlying ODE and project their steps: failures, stiffness, dense output."""

from abc import abstractmethod
from typing import TypeAlias

import numpy as np

from ...compilation.structure import with_fields
from ...results.diagnosis import NoInterpolant, near_singular, singular_ahead
from ...results.status import Cause
from ...results.steps import Step
from ...system.assembly import accelerations as accelerations_at
from ...system.assembly import on_constraints
from ...system.codes import ERROR_TEST, GOOD, NO_POSITION, RANK_LOST
from ...typing import FullState, Matrix, Vector
from ..control.records import State, new_state
from ..projections.project import Projector
from .stability import MANY
from .start import StartedStepper

STIFF = "the equations seem to be stiff: the steps are at the limit of stability of an explicit method; RosenbrockNystrom has no such limit"

Snapshot: TypeAlias = tuple[float, State]  # t and the state at the start of a step


class ProjectedStepper(StartedStepper):
    """A `StartedStepper` with a projection at the end of each step and an interpolant of its own.

    `run` has `raw`, the end of a step before its projection, and `memory` with `stiff`, see `stability`, and `bare`, 1 if states within
    the step are wanted as they are interpolated.
    """

    lasting = True
    projector: Projector

    @property
    @abstractmethod
    def degree(self) -> int:
        """Degree of the interpolant of the last step."""

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

    def snapshot(self) -> Snapshot:
        """See `Stepper`."""
        return self.t, new_state(State, self.run.start)

    def step(self, before: Snapshot) -> Step:
        """The last accepted step, with the dense output of the method; states are projected when they are completed."""
        (t0, start), (t, q, v, _, _) = before, self.row()
        return Step(t0, t, lambda: (q.copy(), v.copy()), np.concatenate([q, v]), lambda times: self._within(times, t0, start),
                    self._completed, self.degree)

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
