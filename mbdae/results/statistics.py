"""What a run cost."""

from dataclasses import asdict, dataclass


@dataclass
class Statistics:
    """What happened in a run. `None` means that the backend does not report it; it is never a guess.

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
        How often the run was started anew, or its independent coordinates were exchanged.
    seconds : float
        Wall time of the integration, without compilation of the problem and without the consistent start.
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
