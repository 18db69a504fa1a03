"""Runs of the codes that run to the end of the time span and call back after each step."""

from __future__ import annotations

import ctypes
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from mbdae.driver.callbacks import SolverFailure
from mbdae.driver.run import Run
from mbdae.interrupts import signals
from mbdae.results.status import Status
from mbdae.typing import Vector

from ..direct.chunks import Chunks, march_of
from ..direct.march import ARRIVED
from .after_steps import Solver, interpolated
from .bound import Bound
from .direct_run import DirectRun
from .output import Output

_VISIT = ctypes.CFUNCTYPE(ctypes.c_int64)


class AfterSteps(DirectRun):
    """A run with compiled callbacks.

    Parameters
    ----------
    run : Run
    y0 : ndarray
    span : (begin, end)
        The clock of the solver.
    output : Output
    rates : ndarray, optional
        What is passed on as the rates of the unknowns where something is to be called after each step.

    Attributes
    ----------
    bound : Bound
    solver : Steps
    march : March
    """

    interpolated: Any  # compiled function, see `direct.march.loop`

    def __init__(self, run: Run, y0: Vector, span: tuple[float, float], output: Output, rates: Vector | None = None) -> None:
        self.run, self.output, self.n, self._rates = run, output, run.problem.n, rates
        self.bound, guarded, (begin, end) = Bound(run.callbacks), run.callbacks.guarded, span
        self.solver = self._record(
            visit=self.bound.address(_VISIT(guarded(self._visit, 1))),
            each=self.bound.address(_VISIT(guarded(self._accept, 1))) if output.single else 0, flag=signals.flag, begin=begin, end=end,
            before=begin, s=begin, y=y0.copy(), code=ARRIVED, bad=0)
        self.march = march_of(run, self.bound.equations, self.solver, run.wanted is not None, output.every)
        self.march.before_y[:] = y0
        self.chunks = Chunks(None, self.march, self.bound, run, lambda: self.solver.y, self._no_output)

    @abstractmethod
    def _record(self, **fields: Any) -> Any:
        """The `Steps` of the code with these fields."""

    def integrate(self) -> None:
        """See `DirectRun`."""
        try:
            self.chunks.begin()
            self._call()
            if not self.output.single:
                self.chunks.take_output()
        finally:
            self.bound.pass_on()

    def check(self, failure: Callable[[Exception], SolverFailure]) -> None:
        """See `DirectRun`."""
        super().check(failure)
        if not self.output.single:
            self.chunks.end(ARRIVED)

    @abstractmethod
    def _call(self) -> None:
        """Call the routine."""

    # callbacks -----------------------------------------------------------------------------------------------------------

    def _visit(self) -> int:
        """Called by compiled code when it is time for Python; an exception is kept, and ends the run."""
        self.chunks.end(self.solver.code)
        self.chunks.begin()
        return 0

    def _accept(self) -> int:
        """Called after each step where there is more to do than output; whether the run is to end."""
        d, run = self.solver, self.run
        self.bound.pass_on()
        t = run.t_end if d.end - d.s <= 1e-14 * (d.end - d.begin) else run.callbacks.time(d.s)
        run.accept(t, d.y.copy(), self._rates, self._at)
        return int(run.ended)  # a remaining step would be too short

    def _at(self, t: float) -> tuple[Vector, Vector | None]:
        y = np.empty(self.n)
        self.interpolated(t, y, self.march)
        return y, self._rates

    def _no_output(self, code: int) -> SolverFailure:
        return SolverFailure(Status.SOLVER_FAILED, f"{self.name}: there is no output within a step")


class WithPolynomial:
    """What a code has that interpolates its steps by a routine of its own: comes before `AfterSteps` among the bases.

    Attributes
    ----------
    dense : int
        Address of the routine.
    """

    interpolated = staticmethod(interpolated)
    record_type: Any = Solver
    dense: int

    def _record(self, **fields: Any) -> Any:
        return self.record_type(dense=self.dense, cont=0, length=0, last=0, at=np.zeros(1), component=np.zeros(1, dtype=np.int32), **fields)
