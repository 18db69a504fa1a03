"""Runs of LSODI in the library of its package, whose class sets up the arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from mbdae.driver.run import Run
from mbdae.typing import Vector

from ..odes_steppers import Clock, Lsodi
from .arguments import integer, integer_with_address
from .bound import Bound
from .library import routine
from .lsodi import MARCH, Solver, matrix_address, residual_address, take_step
from .odepack import REACHED, derivative_at, interpolated
from .output import Output
from .stepped import Direct

DIRECT_LSODI = "scikits-odes-daepack", "scikits_odes_daepack.lsodi", "lsodi_", "intdy_"  # distribution, module, symbols


class DirectLsodi(Direct, Lsodi):
    """LSODI with compiled callbacks.

    Parameters
    ----------
    solver, clock, start
        As for `Lsodi`.
    run : Run
    output : Output
    """

    def __init__(self, solver: Any, clock: Clock, start: tuple[Vector, Vector], *, run: Run, output: Output) -> None:
        super().__init__(solver, clock, start)
        self.bound = Bound(run.callbacks)
        self.record = self._made()
        self.begin(MARCH, run, output, lambda: self.record.y)

    def _made(self) -> Solver:
        errors, rtol, atol, task, state, options, rwork, iwork, formula = self.solver.call_args
        p, equations = self.bound.problem, self.bound.equations
        derivatives = self.bound.derivatives()
        return Solver(routine=routine(*DIRECT_LSODI[:3]), dense=routine(*DIRECT_LSODI[:2], "intdy_"),
                      residual=residual_address(p.kernel, equations), matrix=matrix_address(p.derivative, equations, derivatives),
                      n=integer_with_address(p.n, equations._address),
                      s=np.zeros(1), y=self.y, yd=self.yd.copy(), to=np.array([self.clock.end]), errors=integer(errors),
                      rtol=np.array([rtol], dtype=float), atol=np.asarray(atol, dtype=float), task=integer(task), state=integer(state),
                      options=integer(options), rwork=rwork, lrw=integer(len(rwork)), iwork=iwork, liw=integer(len(iwork)),
                      formula=integer(formula), last=self.clock.last, before=0.0, inside_s=np.zeros(1),
                      derivative=integer(0), flag=integer(0))

    def _advance(self) -> None:
        self.take(take_step)
        self._check(derivative_at(self.record.rwork[REACHED], 1, self.yd, self.march))

    def at(self, t: float) -> tuple[Vector, Vector]:
        """See `Stepper`."""
        y, yd = np.empty(len(self.y)), np.empty(len(self.y))
        self._check(interpolated(t, y, self.march))
        self._check(derivative_at(self.record.inside_s[0], 1, yd, self.march))
        return self._state(y, yd)
