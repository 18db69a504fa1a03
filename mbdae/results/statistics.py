"""Work counters of a run."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields


@dataclass
class Statistics:
    """Work counters of a run. `None` means that the solver does not report the counter; values are never estimated.

    Attributes
    ----------
    steps : int
        Accepted steps.
    rejected_error, rejected_newton : int
        Steps rejected by the error test and by Newton's method.
    residuals : int
        Evaluations of the residual, the right-hand side or (one-step integrators) of `Phi`, without those spent on Jacobians.
    residuals_jacobian : int
        Evaluations spent on difference quotients. The complex step evaluates the residual for complex numbers, which is not counted.
    jacobians, partitioned_updates, factorisations, solves, newton_iterations : int
    restarts : int
        Restarts of the solver, or changes of the local parametrisation.
    seconds : float
        Wall time of the integration, without compilation and without the computation of consistent initial values.
    """

    steps: int | None = None
    rejected_error: int | None = None
    rejected_newton: int | None = None
    residuals: int | None = None
    residuals_jacobian: int | None = None
    jacobians: int | None = None
    partitioned_updates: int | None = None
    factorisations: int | None = None
    solves: int | None = None
    newton_iterations: int | None = None
    restarts: int | None = None
    seconds: float | None = None

    def as_dict(self) -> dict[str, int | float | None]:
        """All counters as a plain dictionary."""
        return asdict(self)

    @property
    def iterations_per_step(self) -> float | None:
        """Newton iterations per accepted step, `None` if one of them is unknown."""
        return self.newton_iterations / self.steps if self.steps and self.newton_iterations is not None else None


def summed(parts: Sequence[Statistics]) -> Statistics:
    """The sum of each counter over parts of a run; `None` if one of them does not report it."""
    counted = {f.name: [getattr(s, f.name) for s in parts] for f in fields(Statistics)}
    return Statistics(**{name: None if None in values else sum(values) for name, values in counted.items()})
