"""Runs of the codes of Assimulo that take one step with each call: ODASSL and LSODAR."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from mbdae.driver.callbacks import SolverFailure
from mbdae.driver.run import Run
from mbdae.results.status import Status
from mbdae.typing import Vector

from ..direct.chunks import Chunks, march_of
from .bound import Bound
from .direct_run import DirectRun, since_last_step
from .output import Output

PACKAGE = "assimulo-testing"


class DirectSteps(DirectRun):
    """A code with compiled callbacks.

    Parameters
    ----------
    run : Run
    solver : solver of Assimulo
        With its options and its problem.
    y0 : ndarray
    output : Output

    Attributes
    ----------
    record : Structure
        The arguments of the code.
    code : int
        What it has returned when it failed.
    """

    loop: Any  # compiled functions, see `direct.march.loop`
    take_step: Any
    interpolated: Any
    counted: dict[str, int]  # where the counts of Assimulo's statistics are
    record: Any

    def __init__(self, run: Run, solver: Any, y0: Vector, output: Output) -> None:
        self.run, self.output, self.n, self.code = run, output, run.problem.n, 0
        self.bound = Bound(run.callbacks)
        self.record = self._made(solver, y0)
        self.march = march_of(run, self.bound.equations, self.record, run.wanted is not None, output.every)
        self.chunks = Chunks(self.loop, self.march, self.bound, run, self._unknowns, self._ended)
        self.chunks.compile()

    @abstractmethod
    def _made(self, solver: Any, y0: Vector) -> Any:
        """The arguments of the code."""

    @abstractmethod
    def _unknowns(self) -> Vector:
        """Those of the problem at the end of the last step."""

    def _rate(self) -> Vector | None:
        """Their rates, where the code has them."""
        return None

    def integrate(self) -> None:
        """See `DirectRun`."""
        try:
            if self.output.single:
                self.run.pull(self)
            else:
                self.chunks.to_end()
        except SolverFailure:
            if not self.failed:
                raise
        finally:
            self.bound.pass_on()

    def step(self) -> tuple[float, Vector, Vector | None]:
        """See `Stepper`."""
        code, t = self.take_step(self.march)
        self.bound.pass_on()
        self.bound.check()
        if code < 0:
            raise self._ended(code)
        return t, self._unknowns().copy(), self._rate()

    def at(self, t: float) -> tuple[Vector, Vector | None]:
        """See `Stepper`."""
        y = np.empty(self.n)
        self.interpolated(t, y, self.march)
        return y, None

    def _ended(self, code: int) -> SolverFailure:
        """What is replaced by `check`."""
        self.code = code
        return SolverFailure(Status.SOLVER_FAILED, str(self.error()))

    @property
    def failed(self) -> bool:
        """See `DirectRun`."""
        return self.code < 0

    def _explained(self, failure: SolverFailure) -> SolverFailure:
        return since_last_step(super()._explained(failure), self.bound.guard.bad, self.record.bad)

    def counts(self) -> dict[str, int]:
        """Those of Assimulo's statistics."""
        return {name: int(self.record.iwork[at]) for name, at in self.counted.items()}
