"""Runs of DASPK in the library of its package, whose class sets up the arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from mbdae.driver.run import Run
from mbdae.jacobians.strategy import Strategy, as_strategy
from mbdae.typing import Integers, Vector

from .. import storage
from ..direct.bound import EXACT
from ..odes_steppers import Clock, Daspk
from .arguments import integer
from .bound import Bound
from .daspk import MARCH, Solver, interpolated, jacobian_address, residual_address, take_step
from .library import routine
from .output import Output
from .stepped import Direct

DIRECT_DASPK = "scikits-odes-daepack", "scikits_odes_daepack.ddaspk", "ddaspk_"  # distribution, module, symbol


class DirectDaspk(Direct, Daspk):
    """DASPK with compiled callbacks.

    Parameters
    ----------
    solver, clock, start, place
        As for `Daspk`.
    run : Run
    jacobian : str or Strategy
    band : storage.Band, optional
    output : Output
    """

    def __init__(self, solver: Any, clock: Clock, start: tuple[Vector, Vector], place: Integers | None, *, run: Run,
                 jacobian: str | Strategy, band: storage.Band | None, output: Output) -> None:
        super().__init__(solver, clock, start, place)
        self.bound, self.exact = Bound(run.callbacks, band), as_strategy(jacobian) == EXACT
        self.record = self._made(jacobian)
        self.begin(MARCH, run, output, lambda: self.record.state)

    def _made(self, jacobian: str | Strategy) -> Solver:
        info, rtol, atol, rwork, iwork = self.solver.call_args
        n = len(self.y)
        state = self.y if self.place is None else np.empty(n)
        p, equations = self.bound.problem, self.bound.equations
        if self.exact:
            given = jacobian_address(p.derivative, equations, self.bound.derivatives())
        else:
            given = 0 if as_strategy(jacobian) is None else self.bound.jacobian_in_python(self.solver.jac)
        return Solver(routine=routine(*DIRECT_DASPK), residual=residual_address(p.kernel, equations), jacobian=given,
                      n=integer(n), s=np.zeros(1), y=self.y, yd=self.yd, to=np.zeros(1), info=info, rtol=np.asarray(rtol, dtype=float),
                      atol=np.asarray(atol, dtype=float), flag=integer(0), rwork=rwork, lrw=integer(len(rwork)), iwork=iwork,
                      liw=integer(len(iwork)), before=0.0, end=self.clock.end, last=self.clock.last, state=state, inside_s=np.zeros(1),
                      inside_y=np.empty(n), inside_yd=np.empty(n))

    def _advance(self) -> None:
        self.take(take_step)

    def at(self, t: float) -> tuple[Vector, Vector]:
        """See `Stepper`."""
        y = np.empty(len(self.y))
        self._check(interpolated(t, y, self.march))
        return y, self._state(self.y, self.record.inside_yd.copy())[1]

    def counts(self, run: Run, exact: bool) -> dict[str, int | None]:
        """See `Daspk`."""
        counts = super().counts(run, exact)
        return counts | {"jacobians": self.bound.guard.jacobians} if self.exact else counts
