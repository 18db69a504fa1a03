"""Runs of Fortran codes that take one step with each call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mbdae.driver.callbacks import SolverFailure
from mbdae.driver.run import Run
from mbdae.results.status import Status
from mbdae.typing import Vector

from ..direct.chunks import Chunks, march_of
from ..direct.march import March
from ..odes_steppers import FortranStepper, muted
from ..terminal import alone
from .bound import Bound
from .output import Output


class Direct(FortranStepper):
    """What the runs of DASPK and LSODI with compiled callbacks share; `begin` is called at the end of the initialisation.

    Attributes
    ----------
    bound : Bound
    record : Structure
        The arguments of the solver.
    """

    bound: Bound
    record: Any

    def begin(self, step: Any, run: Run, output: Output, unknowns: Callable[[], Vector]) -> None:
        """Compile the loop `step` and prepare its record."""
        self._single = output.single
        self.march: March = march_of(run, self.bound.equations, self.record, run.wanted is not None, output.every)
        self._chunks = Chunks(step, self.march, self.bound, run, unknowns, self.failure)
        self._chunks.compile()

    def integrate(self, run: Run) -> None:
        """See `FortranStepper`."""
        with alone(self.name), muted(self.solver):
            try:
                if self._single:
                    self._in_single_steps(run)
                else:
                    self._chunks.to_end()
            finally:
                self.bound.pass_on()

    def _in_single_steps(self, run: Run) -> None:
        try:
            run.pull(self)
        except SolverFailure as failure:
            if failure.status != Status.STEP_TOO_SMALL:
                raise
            raise self.bound.explained(failure, run.t) from failure

    def step(self) -> tuple[float, Vector, Vector]:
        """See `Stepper`."""
        self._advance()
        return self.clock.time(self.s), *self._state(self.y.copy(), self.yd.copy())

    def take(self, take_step: Any) -> None:
        """Take one step by a compiled function, and raise what has ended it."""
        code, _ = take_step(self.march)
        self.s = float(self.record.s[0])
        self.bound.check()
        if code < 0:
            raise self.bound.explained(self.failure(code), self.bound.callbacks.time(self.record.before))
