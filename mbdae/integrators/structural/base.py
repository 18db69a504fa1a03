"""The base of the structural integrators: parameters, validation, `integrate`."""

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, fields
from typing import ClassVar, TypeAlias

import numpy as np

from ...driver.arguments import check_step, is_finite, is_integer
from ...driver.method import Resumable
from ...driver.record import Record
from ...driver.support import Support, index3_support
from ...problems.base import Problem
from ...results.trajectory import Trajectory
from ...system.assembly import State
from ...typing import TimeProgress, Tolerance, Until, Vector
from ..control.driver import Driver
from ..control.step_size import ELEMENTARY, StepSizeController, check_controller
from ..resolution import warn_of_rounding
from .formula import Formula
from .step import POSITION
from .stepper import StructuralStepper

LABELLED = ("alpha", "beta", "gamma", "rho_inf", "level", "basis")  # parameters in labels if they are not the default
ROUNDING_AMPLIFICATION = 50.0  # of positions in accelerations, with constraints on position level

Bounds: TypeAlias = tuple[tuple[str, float, float], ...]  # name of a parameter, its least and largest value


@dataclass(frozen=True)
class Structural(Resumable):
    """Base of the integrators with Newmark's formulas for positions and velocities."""

    h: float | None = 1e-3
    _: KW_ONLY
    first_step: float = 0.0
    tol: float = 1e-10
    max_iter: int = 30
    max_steps: int = 10_000_000
    controller: StepSizeController = ELEMENTARY
    _bounds: ClassVar[Bounds] = ()  # of the coefficients

    support: ClassVar[Support] = index3_support()
    formulations: ClassVar[tuple[str, ...]] = ("index3",)

    def __post_init__(self) -> None:
        name = type(self).__name__
        if not (self.h is None or (is_finite(self.h) and self.h > 0.0)):
            raise ValueError(f"{name}: h must be positive and finite, or None for step-size control, got {self.h!r}")
        check_step(name, "first_step", self.first_step)
        if self.h is not None and self.first_step:
            raise ValueError(f"{name}: first_step is for step-size control, h=None; the step size is fixed at h = {self.h:g}")
        if not (is_finite(self.tol) and self.tol > 0.0):
            raise ValueError(f"{name}: tol must be positive and finite, got {self.tol!r}")
        check_controller(name, self.controller, self.adaptive)
        for field in ("max_iter", "max_steps"):
            given = getattr(self, field)
            if not (is_integer(given) and given >= 1):
                raise ValueError(f"{name}: {field} must be an integer of at least 1, got {given!r}")
        for field, low, high in self._bounds:
            given = getattr(self, field)
            if not (is_finite(given) and low <= given <= high):
                raise ValueError(f"{name}: {field} must be a number from {low:.4g} to {high:.4g}, got {given!r}")

    @property
    def adaptive(self) -> bool:
        """Whether the step size is controlled by the tolerances."""
        return self.h is None

    @property
    def step_size(self) -> float | None:
        """See `Method`."""
        return self.h

    @property
    def newton_tolerance(self) -> float:
        """Tolerance of Newton's method."""
        return self.tol

    @property
    def label(self) -> str:
        """Name, step size and coefficients for tables and legends."""
        given = [(f.name, getattr(self, f.name)) for f in fields(self) if f.name in LABELLED and getattr(self, f.name) != f.default]
        chosen = [f"{name}={_shown(value)}" for name, value in given]
        step = ["adaptive"] if self.h is None else [f"h={self.h:g}"]
        return f"{type(self).__name__}({', '.join(step + chosen)})"

    @property
    def one_step(self) -> bool:
        """See `Method`: only with a fixed step size, and without auxiliary accelerations, which are not a part of the state."""
        return not self.adaptive and self.formula.alpha_m == 0.0 == self.formula.alpha_f

    @property
    @abstractmethod
    def formula(self) -> Formula:
        """The `Formula` with its coefficients."""

    @property
    @abstractmethod
    def kind(self) -> int:
        """The treatment of the constraints, see `step`."""

    @property
    def parametrisation(self) -> str:
        """Independent coordinates of the iteration matrix for stiff forces, see `mbdae.charts`."""
        return "tangent"

    def integrate(self, problem: Problem, state: State, t_end: float, *, rtol: float, atol: Tolerance, t_eval: Vector | None = None,
                  every: int = 1, progress: TimeProgress | None = None, until: Until | None = None,
                  record: Record | None = None) -> Trajectory:
        """See `mbdae.driver.method`; the tolerances are used with step-size control only, `h=None`."""
        if self.adaptive and (np.ndim(atol) or not atol > 0.0):
            raise ValueError(f"{type(self).__name__}: for step-size control atol must be one positive number, got {atol!r}")
        if self.h is not None and self.kind == POSITION:
            warn_of_rounding(self.label, self.h, state, t_end, ROUNDING_AMPLIFICATION)
        stepper = StructuralStepper(self, problem, state, t_end, rtol, atol)
        return Driver(stepper, t_eval=t_eval, every=every, progress=progress, until=until, record=record).to_end()


def _shown(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.7g}"
