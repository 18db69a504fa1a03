"""Work counters of a run."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields

from ..summary import Summarised, Summary


@dataclass(repr=False)
class Statistics(Summarised):
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
    cpu_seconds : float
        The same in processor time, of all threads of the process; `None` for a run that continues an earlier one.

    Examples
    --------
    >>> import mbdae
    >>> run = mbdae.solve(mbdae.library.system("double-pendulum"), mbdae.HalfImplicit(h=1e-2), (0, 1))
    >>> run.statistics.steps, run.statistics.residuals_jacobian
    (100, 0)
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
    cpu_seconds: float | None = field(default=None, compare=False)

    def as_dict(self) -> dict[str, int | float | None]:
        """All counters as a plain dictionary."""
        return asdict(self)

    def in_words(self) -> str:
        """The most important counters in one line."""
        words = (("steps", "steps"), ("rejected_error", "rejected"), ("residuals", "evaluations"), ("jacobians", "Jacobians"),
                 ("factorisations", "factorisations"))
        counts = [f"{getattr(self, name)} {word}" for name, word in words if getattr(self, name) is not None]
        return ", ".join(counts + ([] if self.seconds is None else [f"{self.seconds:.3g} s"]))

    def _summary(self) -> Summary:
        known = [(name, x) for name, x in self.as_dict().items() if x is not None]
        width = max((len(f"{x:d}") for _, x in known if isinstance(x, int)), default=0)
        rows = [(name, f"{x:{width}d}" if isinstance(x, int) else f"{x:.3g} s") for name, x in known]
        missing = [name for name, x in self.as_dict().items() if x is None]
        return Summary("Statistics", [*rows, ("not reported", ", ".join(missing))])

    @property
    def iterations_per_step(self) -> float | None:
        """Newton iterations per accepted step, `None` if one of them is unknown."""
        return self.newton_iterations / self.steps if self.steps and self.newton_iterations is not None else None


COUNTERS = tuple(f.name for f in fields(Statistics) if "seconds" not in f.name)


def summed(parts: Sequence[Statistics]) -> Statistics:
    """The sum of each counter over parts of a run; `None` if one of them does not report it."""
    counted = {f.name: [getattr(s, f.name) for s in parts] for f in fields(Statistics)}
    return Statistics(**{name: None if None in values else sum(values) for name, values in counted.items()})
