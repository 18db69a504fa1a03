"""What all structural integrators share: their parameters, and how they are run."""

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, fields
from typing import ClassVar

import numpy as np

from ...driver.arguments import check_step, is_finite, is_integer
from ...driver.method import Method
from ...driver.support import index3_support
from ..control.driver import Driver
from ..control.step_size import ELEMENTARY, StepSizeController, check_controller
from ..resolution import warn_of_rounding
from .formula import Formula
from .step import POSITION
from .stepper import StructuralStepper

SHOWN = ("alpha", "beta", "gamma", "rho_inf", "level", "basis")  # in labels, where they are not the default
AMPLIFICATION = 50.0  # of the rounding of positions in accelerations, where multipliers serve positions


@dataclass(frozen=True)
class Structural(Method):
    """Base of the integrators that take positions and velocities from accelerations by Newmark's formulas."""

    h: float | None = 1e-3
    _: KW_ONLY
    first_step: float = 0.0
    tol: float = 1e-10
    max_iter: int = 30
    max_steps: int = 10_000_000
    controller: StepSizeController = ELEMENTARY
    _bounds: ClassVar[tuple] = ()  # of the coefficients: name, least and largest value

    support: ClassVar[dict] = index3_support()
    formulations: ClassVar[tuple] = ("index3",)

    def __post_init__(self):
        name = type(self).__name__
        if not (self.h is None or (is_finite(self.h) and self.h > 0.0)):
            raise ValueError(f"{name}: h must be positive and finite, or None for control of the step, got {self.h!r}")
        check_step(name, "first_step", self.first_step)
        if self.h is not None and self.first_step:
            raise ValueError(f"{name}: steps of fixed size h = {self.h:g} have no first_step; h=None lets the tolerances choose them")
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
        """Whether the tolerances control the step."""
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
    def label(self):
        """Name, coefficients and step for tables and legends."""
        given = [(f.name, getattr(self, f.name)) for f in fields(self) if f.name in SHOWN and getattr(self, f.name) != f.default]
        chosen = [f"{name}={_shown(value)}" for name, value in given]
        step = ["adaptive"] if self.adaptive else [f"h={self.h:g}"]
        return f"{type(self).__name__}({', '.join(step + chosen)})"

    @property
    def one_step(self):
        """See `mbdae.driver.method`: auxiliary accelerations are more than a state, and `h` sets the step only if it is fixed."""
        return not self.adaptive and self.formula.alpha_m == 0.0 == self.formula.alpha_f

    @property
    @abstractmethod
    def formula(self) -> Formula:
        """The `Formula` with its coefficients."""

    @property
    @abstractmethod
    def kind(self):
        """What is done about the constraints, see `step`."""

    @property
    def parametrisation(self):
        """Of the null space, where Newton's matrix is needed; see `mbdae.charts`."""
        return "tangent"

    def integrate(self, problem, state, t_end, *, rtol=None, atol=None, t_eval=None, every=1, progress=None, until=None):
        """See `mbdae.driver.method`; tolerances have a meaning without `h` only."""
        if self.adaptive and (rtol is None or np.ndim(atol) or not (atol or 0.0) > 0.0):
            raise ValueError(f"{type(self).__name__}: for control of the step atol must be one positive number, got {atol!r}")
        if self.kind == POSITION:
            warn_of_rounding(self.label, self.h, state, t_end, AMPLIFICATION)
        stepper = StructuralStepper(self, problem, state, t_end, rtol, atol)
        return Driver(stepper, t_eval=t_eval, every=every, progress=progress, until=until).to_end()


def _shown(value):
    return value if isinstance(value, str) else f"{value:.7g}"
