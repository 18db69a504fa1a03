"""BDF steps of one size at one order, for studies of the order."""

import numpy as np

from ..results.status import Cause
from ..system.codes import NEEDS_STEP
from ..typing import Vector
from . import bdf_formulas as bdf
from .bdf_stepper import BdfStepper, Equations, Parts

MAX_ITERATIONS = 12  # of Newton's method, as steps cannot be cut
SAME_TIME = 1e-12  # relative distance of two times that are the same


class FixedBdfStepper(BdfStepper):
    """Steps of one size at one order, without an error test: for studies of the order.

    A formula of order `k` needs values at `k` times before its first step. They are computed by steps with error control at the given
    tolerance, which must be well below the errors of the formula.

    Parameters
    ----------
    equations, t_end, parts
        See `BdfStepper`.
    order : int
    size : float
        The last step is shortened to end at `t_end`.
    """

    def __init__(self, equations: Equations, t_end: float, parts: Parts, *, order: int, size: float) -> None:
        super().__init__(equations, t_end, parts)
        self._order, self._size = order, size
        self._signed = float(np.copysign(size, t_end - self.t))
        self._values: list[Vector] = []
        self.run.memory.plans = 1

    def begin(self) -> None:
        """See `BdfStepper`."""
        super().begin()
        self._values.append(self.y.copy())
        self._aim()

    def assist(self, fault: int) -> None:
        """The size of the next step while values before the first step of the formula are missing; or a matrix."""
        if fault != NEEDS_STEP:
            super().assist(fault)
            return
        if abs(self.t - self._target) <= SAME_TIME * abs(self._signed):
            self._values.append(self.y.copy())
        if len(self._values) <= self._order:
            self._aim()
        else:
            self._fix()

    @property
    def _target(self) -> float:
        """The next time at which a value is needed."""
        return self.clock.origin + len(self._values) * self._signed

    def _aim(self) -> None:
        """Let the next step end at the next target at the latest."""
        rest = abs(self._target - self.t)
        if self.clock.h * 1.01 >= rest:
            self.clock.h = rest

    def _fix(self) -> None:
        """From now on steps of one size."""
        clock, memory = self.clock, self.run.memory
        clock.origin, clock.steps, clock.h, clock.fixed = self.t, 0, self._size, 1
        memory.order = memory.next_order = memory.last_order = self._order
        memory.last_step, memory.factor, memory.plans = self._signed, 1.0, 0
        bdf.equidistant(np.array(self._values[::-1]), self._signed, self.run.phi, self.run.table)

    def explain(self, fault: int) -> Cause:
        """See `BdfStepper`."""
        found = super().explain(fault)
        where = f" in a step of the fixed size {self._signed:.3g}" if self.fixed else ""
        return Cause(found.status, found.reason + where)
