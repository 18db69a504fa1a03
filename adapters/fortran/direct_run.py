"""What runs of codes in libraries share that write to the terminal: why a run has ended is known after it only."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from mbdae.driver.callbacks import SolverFailure
from mbdae.driver.run import Run
from mbdae.results.status import Status

from ..direct.guard import NO_FAULT
from .bound import Bound


class DirectRun(ABC):
    """A run with compiled callbacks.

    Attributes
    ----------
    run : Run
    bound : Bound
    """

    name: str
    run: Run
    bound: Bound

    @abstractmethod
    def integrate(self) -> None:
        """Run to the end; `check` must follow."""

    def check(self, failure: Callable[[Exception], SolverFailure]) -> None:
        """Raise what has ended the run, with the `failure` of the exception of the package, once it is known what the code has written."""
        self.bound.check()
        if self.bound.guard.fatal != NO_FAULT or self.failed:
            raise self._explained(failure(self.error()))

    def _explained(self, failure: SolverFailure) -> SolverFailure:
        """The failure, traced back to values that were not finite if they have caused it."""
        return self.bound.explained(failure, self.run.t)

    @property
    @abstractmethod
    def failed(self) -> bool:
        """Whether the code has neither arrived at the end nor been stopped."""

    @abstractmethod
    def error(self) -> Exception:
        """What the package would raise about a run that has failed."""


def since_last_step(failure: SolverFailure, bad: int, at_last_step: int) -> SolverFailure:
    """A failure after `bad` evaluations that were not finite, some since the last step: they explain it, as for runs of Assimulo."""
    if failure.status == Status.NOT_FINITE or bad == at_last_step:
        return failure
    return SolverFailure(Status.NOT_FINITE, f"the equations are not finite ({failure.reason})")
