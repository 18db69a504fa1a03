"""The base of the state-space methods: parameters, validation, `integrate`."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...charts.pointers import DERIVATIVES
from ...driver.arguments import check_max_step, check_max_steps, check_step
from ...driver.method import Method
from ...driver.support import FORMS, Settings, Support, supported
from ...problems.base import Problem
from ...problems.state_space import StateSpace
from ...results.trajectory import Trajectory
from ...system.assembly import State
from ...typing import TimeProgress, Tolerance, Until, Vector
from ..control.driver import Driver
from ..control.step_size import ELEMENTARY, StepSizeController, check_controller
from .sdirk_tableau import SDIRK_4_15, Sdirk
from .stepper import ChartedStepper

_REFUSED = "it integrates in independent coordinates; 'partition' and 'tangent' are such forms"
_SETTINGS = Settings(scaling="none", linear_solver="reduced matrix, dense")
SUPPORT: Support = {form: _SETTINGS if form in ("partition", "tangent") else _REFUSED for form in FORMS}


@dataclass(frozen=True)
class Charted(Method):
    """Base of the integrators of the state-space form, with error control of positions and velocities."""

    jacobian: str = "exact"
    first_step: float = 0.0
    max_step: float = np.inf
    max_steps: int = 1_000_000
    fixed_step: float = 0.0
    filter: bool = False
    controller: StepSizeController = ELEMENTARY

    keeps_charts = True
    one_step = True
    support = SUPPORT
    formulations = supported(SUPPORT)
    kind: ClassVar[int]  # of the formula, see `formulas`
    tableau: ClassVar[Sdirk] = SDIRK_4_15  # a placeholder in methods that are not SDIRK, for compiled code

    def __post_init__(self) -> None:
        name = type(self).__name__
        if not isinstance(self.jacobian, str) or self.jacobian not in DERIVATIVES:
            raise ValueError(f"{name}: jacobian must be one of {', '.join(DERIVATIVES)}, got {self.jacobian!r}")
        for field in ("first_step", "fixed_step"):
            check_step(name, field, getattr(self, field))
        check_max_step(name, self.max_step)
        check_max_steps(name, self.max_steps)
        if not isinstance(self.filter, (bool, np.bool_)):
            raise ValueError(f"{name}: filter must be True or False, got {self.filter!r}")
        check_controller(name, self.controller, not self.fixed_step)

    @property
    @abstractmethod
    def error_order(self) -> int:
        """Order of the embedded formula."""

    @property
    def label(self) -> str:
        """Name for tables and legends."""
        name = type(self).__name__ + (f"(fixed_step={self.fixed_step:g})" if self.fixed_step else "")
        name += "" if self.filter == type(self).filter else ", filtered" if self.filter else ", not filtered"
        return name if self.jacobian == "exact" else f"{name}, {self.jacobian} Jacobian"

    def integrate(self, problem: Problem, state: State, t_end: float, *, rtol: float, atol: Tolerance, t_eval: Vector | None = None,
                  every: int = 1, progress: TimeProgress | None = None, until: Until | None = None) -> Trajectory:
        """See `mbdae.driver.method`."""
        if np.ndim(atol) or not atol > 0.0:
            raise ValueError(f"{type(self).__name__}: atol must be one positive number: the independent coordinates change with the chart, "
                             f"and their values pass through zero; got {atol!r}")
        assert isinstance(problem, StateSpace), problem.formulation
        stepper = ChartedStepper(self, problem, state, t_end, rtol, float(atol))
        return Driver(stepper, t_eval=t_eval, every=every, progress=progress, until=until).to_end()
