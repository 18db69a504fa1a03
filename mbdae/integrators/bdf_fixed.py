"""BDF steps of one size at one order, for studies of the order."""

import numpy as np

from ..driver.callbacks import Residual, SolverFailure
from ..typing import Vector
from . import bdf_formulas as bdf
from .bdf_stepper import BdfStepper, StepJacobian, Tolerance
from .iteration_matrix import IterationMatrix


class FixedBdfStepper(BdfStepper):
    """Steps of one size at one order, without an error test: for studies of the order.

    A formula of order `k` needs values at `k` times before its first step. They are computed by steps with error control at the given
    tolerance, which must be well below the errors of the formula.

    Parameters
    ----------
    order : int
    size : float
        The last step is shortened to end at `t_end`.
    """

    max_iterations = 12  # steps cannot be cut

    def __init__(self, residual: Residual, t0: float, y0: Vector, yd0: Vector, t_end: float, jacobian: StepJacobian,
                 matrix: IterationMatrix, tolerance: Tolerance, *, order: int, size: float, max_order: int = bdf.HIGHEST,
                 first_step: float = 0.0, max_step: float = 0.0) -> None:
        super().__init__(residual, t0, y0, yd0, t_end, jacobian, matrix, tolerance, max_order=max_order, first_step=first_step,
                         max_step=max_step)
        self._order, self._begin, self._end = order, self.t, self.t_end
        self._size = float(np.copysign(size, self.t_end - self.t))
        self._values = [self._phi[0].copy()]
        self._aim()

    def step(self) -> tuple[float, Vector, Vector]:
        out = super().step()
        if self._is_filling() and self.t == self.t_end:
            self._values.append(self._y.copy())
            self._aim()
        return out

    def _is_filling(self) -> bool:
        """Whether values before the first step of the formula are missing."""
        return len(self._values) <= self._order

    def _aim(self) -> None:
        """Set the next time at which a value is needed, or the end once there are enough values."""
        if self._is_filling():
            target = self._begin + len(self._values) * self._size
            self.t_end = target if abs(target - self._begin) < abs(self._end - self._begin) else self._end
            return
        self.t_end, self.k, self._last_order, self._last_step = self._end, self._order, self._order, self._size
        bdf.equidistant(np.array(self._values[::-1]), self._size, self._phi, self._table)

    def _limit(self) -> None:
        if self._is_filling():
            super()._limit()
            return
        rest = self.t_end - self.t
        self.h = rest if abs(rest) <= abs(self._size) * (1.0 + 1e-9) else self._size

    def _attempt(self) -> bool:
        if self._is_filling():
            return super()._attempt()
        if self._corrected() is None:
            status, reason = self._failure
            raise SolverFailure(status, f"{reason} in a step of the fixed size {self.h:.3g}")
        self._accept(self.k)
        return True
