"""Projections around the accepted steps of any other method."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from ..driver.method import Method, Resumable
from ..driver.record import Record
from ..driver.support import Support
from ..problems.base import Problem
from ..results.steps import StepWatch
from ..results.trajectory import Trajectory
from ..system.assembly import State
from ..typing import TimeProgress, Tolerance, Until, Vector
from .control.driver import Driver
from .projected_stepper import ProjectedStepper
from .projections.project import Projector, check
from .projections.restarted import Restarted
from .projections.states import ProjectedSteps, Projection

Energy: TypeAlias = Callable[[float, Vector, Vector], float]  # of t, q, v


@dataclass(frozen=True)
class Projected(Resumable):
    """Another method, with a projection after each of its accepted steps [Wei, section 3.2].

    A one-step method (`Method.one_step`) is restarted from each projected state, with the last step size or, if that was not cut, one a
    quarter longer. A multistep method would have order one if it were restarted in every step: it continues from its own states, and the
    output is projected.

    Parameters
    ----------
    method : method object
    project : {"", "P", "V", "PV", "PVA", "PVAE-n", "PVAE-0"}
        What is projected, as in `ProjectedGauss`. Without accelerations the output contains those of the method, and its multipliers.
    norm : {"mass", "identity"}
        See `ProjectedGauss`.
    energy : callable, optional
        `energy(t, q, v) -> float`, the conserved quantity, which is checked as in `ProjectedGauss`; by default the energy of the system.

    Raises
    ------
    ValueError
        If a field is not valid, or the method is projected already; by `integrate`, if the energy is not known or not a number, or if a
        force is known to change it.

    Notes
    -----
    A run ends with `PROJECTION_FAILED` if a projection has no solution. Statistics are the sums over the restarts of the method;
    factorisations and solves of the projections are added if the method counts its own, and `restarts` includes those of the method.

    Examples
    --------
    >>> import mbdae
    >>> run = mbdae.solve(mbdae.library.system("double-pendulum"), mbdae.Projected(mbdae.HalfImplicit(h=1e-3), "PV"), (0.0, 0.1))
    >>> run.success
    True
    """

    method: Method
    project: str = "PV"
    norm: str = "mass"
    energy: Energy | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.method, Method):
            raise ValueError(f"Projected: method must be a method object such as HalfImplicit(h=1e-3) or Ida(), got {self.method!r}")
        if isinstance(self.method, Projected):
            raise ValueError(f"Projected: method is projected already; give the method inside it, Projected({self.method.method!r}, "
                             f"{self.project!r})")
        check("Projected", self.project, self.norm, self.energy)
        object.__setattr__(self, "availability", self.method.availability)  # of the inner method, for all other methods a static one

    @property
    def label(self) -> str:
        """Name for tables and legends."""
        return f"{self.method.label}, projected ({self.project})" if self.project else self.method.label

    # the other attributes are those of the inner method

    @property
    def support(self) -> Support:
        return self.method.support

    @property
    def formulations(self) -> tuple[str, ...]:
        return self.method.formulations

    @property
    def package(self) -> str:
        return self.method.package

    @property
    def keeps_charts(self) -> bool:
        return self.method.keeps_charts

    @property
    def one_step(self) -> bool:
        return self.method.one_step

    @property
    def step_size(self) -> float | None:
        return self.method.step_size

    @property
    def max_steps(self) -> int | None:
        return self.method.max_steps

    @property
    def not_resumable(self) -> str:
        """See `Resumable`."""
        return "" if self.one_step else "projects the output of a method that is not restarted in each step"

    @property
    def records(self) -> bool:
        """See `Resumable`."""
        return self.one_step

    def integrate(self, problem: Problem, state: State, t_end: float, *, rtol: float = 1e-6, atol: Tolerance = 1e-8,
                  t_eval: Vector | None = None, every: int = 1, progress: TimeProgress | None = None,
                  until: Until | None = None, record: Record | None = None) -> Trajectory:
        """See `mbdae.driver.method`."""
        projection = Projection(Projector("Projected", problem.system, self.project, self.norm, self.energy), problem.system, state)
        if self.one_step:
            stepper = ProjectedStepper(Restarted(self.method, problem, t_end, rtol, atol), projection, state, t_end, t_eval)
            return Driver(stepper, t_eval=t_eval, every=every, progress=progress, until=until, record=record).to_end()
        watch = ProjectedSteps(until, projection) if isinstance(until, StepWatch) else until
        return projection.of_all(self.method.integrate(problem, state, t_end, rtol=rtol, atol=atol, t_eval=t_eval, every=every,
                                                       progress=progress, until=watch))
