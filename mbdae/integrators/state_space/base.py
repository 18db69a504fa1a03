"""The base of the state-space methods: parameters, validation, `integrate`."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...charts.condition import MAX_GROWTH
from ...charts.pointers import DERIVATIVES
from ...driver.arguments import check_local_error, check_max_step, check_max_steps, check_step, is_finite, is_integer, is_limit
from ...driver.method import Resumable
from ...driver.record import Record
from ...driver.support import FORMS, Settings, Support, supported
from ...problems.base import Problem
from ...problems.state_space import StateSpace
from ...results.trajectory import Trajectory
from ...system.assembly import State
from ...typing import TimeProgress, Tolerance, Until, Vector
from ..control.driver import Driver
from ..control.step_size import ELEMENTARY, StepSizeController, check_controller
from ..resolution import FINEST, share
from .sdirk_tableau import SDIRK_4_15, Sdirk
from .stepper import FOREVER, ChartedStepper

_REFUSED = "it integrates in independent coordinates; 'partition' and 'tangent' are such forms"
_SETTINGS = Settings(scaling="none", linear_solver="reduced matrix, dense")
SUPPORT: Support = {form: _SETTINGS if form in ("partition", "tangent") else _REFUSED for form in FORMS}


def check_newton(name: str, newton_tol: object, max_iter: object, reuse_rate: object, max_jacobian_age: object) -> None:
    """The parameters of Newton's method and of the reuse of derivatives."""
    if newton_tol is not None and not (is_finite(newton_tol) and newton_tol > 0.0):
        raise ValueError(f"{name}: newton_tol must be None, or positive and finite, got {newton_tol!r}")
    if not (is_integer(max_iter) and max_iter >= 1):
        raise ValueError(f"{name}: max_iter must be at least 1 and an integer, got {max_iter!r}")
    if not (is_finite(reuse_rate) and 0.0 <= reuse_rate < 1.0):
        raise ValueError(f"{name}: reuse_rate must be in [0, 1), got {reuse_rate!r}")
    if max_jacobian_age is not None and not (is_integer(max_jacobian_age) and 0 <= max_jacobian_age <= FOREVER):
        raise ValueError(f"{name}: max_jacobian_age must be an integer, not negative, or None, got {max_jacobian_age!r}")


@dataclass(frozen=True)
class Charted(Resumable):
    """Base of the integrators of the state-space form, with error control of positions and velocities."""

    jacobian: str = "exact"
    first_step: float = 0.0
    max_step: float = np.inf
    max_steps: int = 1_000_000
    fixed_step: float = 0.0
    filter: bool = False
    controller: StepSizeController = ELEMENTARY
    local_error: float = 1.0
    newton_tol: float | None = None
    max_iter: int = 10
    reuse_rate: float = 1e-3
    max_jacobian_age: int | None = None
    max_condition_growth: float = MAX_GROWTH
    threads: int = 1

    keeps_charts = True
    one_step = True
    support = SUPPORT
    formulations = supported(SUPPORT)
    finest: ClassVar[float] = FINEST  # relative tolerance of a step, below which errors of the iteration and rounding add up
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
        check_local_error(name, self.local_error)
        check_newton(name, self.newton_tol, self.max_iter, self.reuse_rate, self.max_jacobian_age)
        if not (is_limit(self.max_condition_growth) and self.max_condition_growth >= 1.0):
            raise ValueError(f"{name}: max_condition_growth must be at least 1, a number or infinity, got {self.max_condition_growth!r}")

        if not (is_integer(self.threads) and self.threads >= 1):
            raise ValueError(f"{name}: threads must be at least 1 and an integer, got {self.threads!r}")

    @property
    def sparse(self) -> bool:
        """Whether the descriptor form has a sparse matrix of its own."""
        return False

    @property
    @abstractmethod
    def error_order(self) -> int:
        """Order of the embedded formula."""

    @property
    def label(self) -> str:
        """Name for tables and legends."""
        name = type(self).__name__ + (f"(fixed_step={self.fixed_step:g})" if self.fixed_step else "")
        name += "(matrix='sparse')" if self.sparse else ""
        name += "" if self.filter == type(self).filter else ", filtered" if self.filter else ", not filtered"
        return name if self.jacobian == "exact" else f"{name}, {self.jacobian} Jacobian"

    def integrate(self, problem: Problem, state: State, t_end: float, *, rtol: float, atol: Tolerance, t_eval: Vector | None = None,
                  every: int = 1, progress: TimeProgress | None = None, until: Until | None = None,
                  record: Record | None = None) -> Trajectory:
        """See `mbdae.driver.method`."""
        assert isinstance(problem, StateSpace), problem.formulation
        if self.sparse and problem.system.has_friction:
            raise ValueError(f"{type(self).__name__}: the sparse matrix has no derivatives by the multipliers, on which the friction of "
                             f"{problem.system.name} depends; use matrix='reduced'")
        s, bounds = problem.system, np.asarray(atol, dtype=float)
        if bounds.shape not in ((), (s.nq + s.nv,)) or not (bounds > 0.0).all():
            raise ValueError(f"{type(self).__name__}: atol must be one positive number, or {s.nq + s.nv} of them, for positions and "
                             f"velocities: the independent coordinates change with the chart; got {atol!r}")
        factor = 1.0 if self.fixed_step else share(self.local_error, rtol, self.finest)
        stepper = ChartedStepper(self, problem, state, t_end, factor * rtol, factor * bounds)
        return Driver(stepper, t_eval=t_eval, every=every, progress=progress, until=until, record=record).to_end()
