"""The methods: Newmark, HHT and generalised-alpha, on constraints of one level and in null-space coordinates."""

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from . import step
from .base import Structural
from .formula import generalized_alpha, hht, newmark

LEVELS = {"position": step.POSITION, "velocity": step.VELOCITY, "acceleration": step.ACCELERATION, "stabilised": step.STABILISED}
BASES = {"orthonormal": "tangent", "fundamental": "partition"}


@dataclass(frozen=True)
class Classical(Structural):
    """What the methods on constraints of one level share."""

    _: KW_ONLY
    level: str = "position"

    def __post_init__(self):
        super().__post_init__()
        if self.level not in tuple(LEVELS):
            raise ValueError(f"{type(self).__name__}: level must be one of {', '.join(LEVELS)}, not {self.level!r}")
        if self.level == "position" and self.formula.beta == 0.0:
            raise ValueError(f"{type(self).__name__}: with beta = 0 the accelerations do not reach the positions, so that no multiplier "
                             "can keep these; use another level, or NullSpaceNewmark")

    @property
    def kind(self):
        """What is done about the constraints, see `step`."""
        return step.CORRECTED if self.adaptive and self.level == "position" else LEVELS[self.level]


@dataclass(frozen=True)
class NullSpace(Structural):
    """What the methods in null-space coordinates share."""

    _: KW_ONLY
    basis: str = "orthonormal"

    kind = step.NULL_SPACE

    def __post_init__(self):
        super().__post_init__()
        if self.basis not in tuple(BASES):
            raise ValueError(f"{type(self).__name__}: basis must be one of {', '.join(BASES)}, got {self.basis!r}")

    @property
    def parametrisation(self):
        """Of the null space, where Newton's matrix is needed; see `mbdae.charts`."""
        return BASES[self.basis]


# formulas with their coefficients, whatever is done about the constraints; they come first among the bases, so that their fields are last


@dataclass(frozen=True)
class _NewmarkFormula:
    beta: float = 0.25
    gamma: float = 0.5

    _bounds: ClassVar[tuple] = (("beta", 0.0, 1.0), ("gamma", 0.0, 1.0))

    @property
    def formula(self):
        """See `Formula`."""
        return newmark(self.beta, self.gamma)


@dataclass(frozen=True)
class _HHTFormula:
    h: float | None = None
    alpha: float = -0.05

    _bounds: ClassVar[tuple] = (("alpha", -1.0 / 3.0, 0.0),)

    @property
    def formula(self):
        """See `Formula`."""
        return hht(self.alpha)


@dataclass(frozen=True)
class _GeneralizedAlphaFormula:
    rho_inf: float = 0.8

    _bounds: ClassVar[tuple] = (("rho_inf", 0.0, 1.0),)

    @property
    def formula(self):
        """See `Formula`."""
        return generalized_alpha(self.rho_inf)


@dataclass(frozen=True)
class Newmark(_NewmarkFormula, Classical):
    """Newmark's method with multipliers for the constraints of one level: the classical way [Bustos, section 2].

    `q1 = q0 (+) (h v0 + h^2 ((1/2 - beta) a0 + beta a1))`, `v1 = v0 + h ((1 - gamma) a0 + gamma a1)`, `M a1 + Phi_q^T lam1 = Q` at the end
    of the step, and there `Phi = 0`, `Phi_q v = nu` or `Phi_q a = gamma`. Constraints of the other levels drift or oscillate. On positions
    the multipliers are stable with `gamma > 1/2` only: with `gamma = 1/2` they grow like `x^n`, where `x` is the larger root of
    `x^2 + (1/beta - 2) x + 1 = 0`, and -1, a double one, for the trapezoidal rule.

    Parameters
    ----------
    h : float or None
        Step [s]; `None`: `rtol` and `atol` of `solve` control it.
    level : {"position", "velocity", "acceleration", "stabilised"}
        Index 3, 2 or 1; or index 2 with positions moved to the nearest with `Phi = 0`, as in the formulation of Gear, Gupta and Leimkuhler.
    first_step : float
        With control of the step: the first one [s], 0 to let the method choose. The error is estimated with the accelerations of two
        steps. Every step then ends with velocities on `Phi_q v = nu`, if `level` is "position", and but for "acceleration" with
        accelerations and multipliers of the equations of motion: their errors follow the tolerance as those of positions do.
    tol : float
        The iteration stops when its error is below this, relative to the largest acceleration.
    max_iter : int
        Iterations per step before it counts as failed.
    max_steps : int
    controller : StepSizeController
        With control of the step: the rule for the next one; elementary unless given.
    beta, gamma : float
        They may follow `h` by position. The trapezoidal rule unless given; others are
        `LINEAR_ACCELERATION`, `FOX_GOODWIN` and `CENTRAL_DIFFERENCES`, pairs `(beta, gamma)`.

    Raises
    ------
    ValueError
        For parameters out of bounds, and for `beta = 0` on positions.
    """


@dataclass(frozen=True)
class HHT(_HHTFormula, Classical):
    """The method of Hilber, Hughes and Taylor [Hilber] with multipliers for the constraints of one level, and control of the step.

    Newmark's formulas with `beta = (1 - alpha)^2/4`, `gamma = 1/2 - alpha` in accelerations `w1 = (1 + alpha) a1 - alpha a0`. Of order 2.

    Parameters
    ----------
    h, level, first_step, tol, max_iter, max_steps, controller
        As for `Newmark`.
    alpha : float
        In [-1/3, 0]; infinitely fast vibrations lose most with -1/3, nothing with 0.
    """


@dataclass(frozen=True)
class GeneralizedAlpha(_GeneralizedAlphaFormula, Classical):
    """Generalised-alpha of Chung and Hulbert [Chung] on Lie groups, with multipliers for the constraints of one level.

    Newmark's formulas in accelerations `w` with `(1 - alpha_m) w1 + alpha_m w0 = (1 - alpha_f) a1 + alpha_f a0`, in the notation of Arnold
    and Bruels (2007) [ArnoldBruels]. Of order 2 in positions, velocities and multipliers.

    Parameters
    ----------
    h, level, first_step, tol, max_iter, max_steps, controller
        As for `Newmark`.
    rho_inf : float
        In [0, 1]: the factor by which a step multiplies infinitely fast vibrations.
    """


@dataclass(frozen=True)
class NullSpaceNewmark(_NewmarkFormula, NullSpace):
    """Newmark's method in the coordinates of the tangent space at the end of each step [Bustos, section 5].

    With a basis `N` of the null space of `Phi_q(q1)` the coordinates of old and new values are `alpha = N^+ (x - x_p)`, where the
    particular solution `x_p` has minimal norm [Bustos, eqs. (34), (53)-(58)], and Newmark's formulas hold for them, that is

        N^T ((q1 (-) q0) - h v0 - h^2 ((1/2 - beta) a0 + beta a1)) = 0,   Phi(t1, q1) = 0,
        N^T (v1 - v0 - h ((1 - gamma) a0 + gamma a1)) = 0,                Phi_q v1 = nu,
        M a1 + Phi_q^T lam1 = Q(t1, q1, v1),                              Phi_q a1 = gamma:

    constraints hold on all three levels, and stability is that of the method without constraints, with the frequencies of the reduced
    system (see `mbdae.studies.stability`).

    Of order 2 in positions, velocities and multipliers for `gamma = 1/2`. Fox-Goodwin's coefficients give frequencies to order 4, but
    velocities to order 2: positions of undamped linear systems are of order 4 where the motion starts from rest, else of order 2 too.

    Parameters
    ----------
    h : float or None
        Step [s]; `None`: `rtol` and `atol` of `solve` control it.
    basis : {"orthonormal", "fundamental"}
        Basis of the null space in which Newton's matrix is formed where forces are stiff: orthonormal, or Coleman's sparse
        one `[-A^-1 B; I]`. Solutions do not depend on it.
    first_step, tol, max_iter, max_steps, controller, beta, gamma
        As for `Newmark`. Central differences, `beta = 0`, are possible.
    """


@dataclass(frozen=True)
class NullSpaceHHT(_HHTFormula, NullSpace):
    """The method of Hilber, Hughes and Taylor in null-space coordinates, with control of the step; see `NullSpaceNewmark` and `HHT`.

    Parameters
    ----------
    h, basis, first_step, tol, max_iter, max_steps, controller
        As for `NullSpaceNewmark`.
    alpha : float
        In [-1/3, 0].
    """


@dataclass(frozen=True)
class NullSpaceGeneralizedAlpha(_GeneralizedAlphaFormula, NullSpace):
    """Generalised-alpha in null-space coordinates; see `NullSpaceNewmark` and `GeneralizedAlpha`.

    Parameters
    ----------
    h, basis, first_step, tol, max_iter, max_steps, controller
        As for `NullSpaceNewmark`.
    rho_inf : float
        In [0, 1].
    """
