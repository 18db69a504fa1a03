"""Newmark, HHT and generalised-alpha, on constraints of one level and in null-space coordinates."""

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from . import step
from .base import Bounds, Structural
from .formula import Formula, generalized_alpha, hht, newmark

LEVELS = {"position": step.POSITION, "velocity": step.VELOCITY, "acceleration": step.ACCELERATION, "stabilised": step.STABILISED}
BASES = {"orthonormal": "tangent", "fundamental": "partition"}


@dataclass(frozen=True)
class Classical(Structural):
    """Base of the methods on constraints of one level."""

    _: KW_ONLY
    level: str = "position"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.level not in tuple(LEVELS):
            raise ValueError(f"{type(self).__name__}: level must be one of {', '.join(LEVELS)}, not {self.level!r}")
        if self.level == "position" and self.formula.beta == 0.0:
            raise ValueError(f"{type(self).__name__}: with beta = 0 positions do not depend on the accelerations of the step, so that the "
                             "multipliers are not determined on position level; use another level, or NullSpaceNewmark")

    @property
    def kind(self) -> int:
        """The treatment of the constraints, see `step`."""
        return step.CORRECTED if self.adaptive and self.level == "position" else LEVELS[self.level]


@dataclass(frozen=True)
class NullSpace(Structural):
    """Base of the methods in null-space coordinates."""

    _: KW_ONLY
    basis: str = "orthonormal"

    kind = step.NULL_SPACE

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.basis not in tuple(BASES):
            raise ValueError(f"{type(self).__name__}: basis must be one of {', '.join(BASES)}, got {self.basis!r}")

    @property
    def parametrisation(self) -> str:
        """See `Structural`."""
        return BASES[self.basis]


# formulas with their coefficients; they are the first base of a method, so that its coefficients are the last fields


@dataclass(frozen=True)
class _NewmarkFormula:
    beta: float = 0.25
    gamma: float = 0.5

    _bounds: ClassVar[Bounds] = (("beta", 0.0, 1.0), ("gamma", 0.0, 1.0))

    @property
    def formula(self) -> Formula:
        """See `Formula`."""
        return newmark(self.beta, self.gamma)


@dataclass(frozen=True)
class _HHTFormula:
    h: float | None = None
    alpha: float = -0.05

    _bounds: ClassVar[Bounds] = (("alpha", -1.0 / 3.0, 0.0),)

    @property
    def formula(self) -> Formula:
        """See `Formula`."""
        return hht(self.alpha)


@dataclass(frozen=True)
class _GeneralizedAlphaFormula:
    rho_inf: float = 0.8

    _bounds: ClassVar[Bounds] = (("rho_inf", 0.0, 1.0),)

    @property
    def formula(self) -> Formula:
        """See `Formula`."""
        return generalized_alpha(self.rho_inf)


@dataclass(frozen=True)
class Newmark(_NewmarkFormula, Classical):
    """Newmark's method with multipliers for the constraints of one level [Bustos, section 2].

    `q1 = q0 (+) (h v0 + h^2 ((1/2 - beta) a0 + beta a1))`, `v1 = v0 + h ((1 - gamma) a0 + gamma a1)`, `M a1 + Phi_q^T lam1 = Q` and
    one of `Phi = 0`, `Phi_q v = nu`, `Phi_q a = gamma` at the end of the step. Residuals of the other constraints drift or oscillate. On
    position level the multipliers are stable for `gamma > 1/2` only: for `gamma = 1/2` they grow like `x^n`, where `x` is the root of
    `x^2 + (1/beta - 2) x + 1 = 0` of larger modulus, a double root -1 for the trapezoidal rule.

    Parameters
    ----------
    h : float or None
        Step size [s]; `None`: controlled by `rtol` and `atol` of `solve`; errors of formulas of order 2 are proportional to `rtol`.
    level : {"position", "velocity", "acceleration", "stabilised"}
        Index 3, 2 or 1; or index 2 with positions projected onto `Phi = 0`, as in the formulation of Gear, Gupta and Leimkuhler.
    first_step : float
        With step-size control: the first step size [s], 0 for a default. The error is estimated with the accelerations of two steps. Every
        step then ends with accelerations and multipliers of the equations of motion, unless `level` is "acceleration", and with velocities
        on `Phi_q v = nu`, if it is "position". Their errors are then proportional to the tolerances as those of the positions.
    tol : float
        Newton's method stops when its error is below it, relative to the largest acceleration.
    max_iter : int
        Iterations per step, after which the step is rejected.
    max_steps : int
    controller : StepSizeController
        With step-size control; by default the elementary controller.
    beta, gamma : float
        By default the trapezoidal rule; `LINEAR_ACCELERATION`, `FOX_GOODWIN` and `CENTRAL_DIFFERENCES` are other pairs `(beta, gamma)`.
        Both may be positional arguments after `h`.

    Raises
    ------
    ValueError
        For parameters out of bounds, and for `beta = 0` on position level.

    Examples
    --------
    >>> import mbdae
    >>> run = mbdae.solve(mbdae.library.system("double-pendulum"), mbdae.Newmark(1e-2, *mbdae.TRAPEZOIDAL, level="stabilised"), (0.0, 0.1))
    >>> run.success
    True
    """


@dataclass(frozen=True)
class HHT(_HHTFormula, Classical):
    """The method of Hilber, Hughes and Taylor [Hilber] with multipliers for the constraints of one level.

    Newmark's formulas for auxiliary accelerations `w1 = (1 + alpha) a1 - alpha a0` with `beta = (1 - alpha)^2/4`, `gamma = 1/2 - alpha`.
    Order 2; by default with step-size control.

    Parameters
    ----------
    h, level, first_step, tol, max_iter, max_steps, controller
        As for `Newmark`.
    alpha : float
        In [-1/3, 0]: damping at high frequencies is largest for -1/3; 0 is the trapezoidal rule, without damping.

    Examples
    --------
    >>> import mbdae
    >>> run = mbdae.solve(mbdae.library.system("double-pendulum"), mbdae.HHT(), (0.0, 0.1))
    >>> run.success
    True
    """


@dataclass(frozen=True)
class GeneralizedAlpha(_GeneralizedAlphaFormula, Classical):
    """Generalised-alpha of Chung and Hulbert [Chung] on Lie groups, with multipliers for the constraints of one level.

    Newmark's formulas for auxiliary accelerations `(1 - alpha_m) w1 + alpha_m w0 = (1 - alpha_f) a1 + alpha_f a0`, in the notation of
    Arnold and Bruels (2007) [ArnoldBruels]. Order 2 in positions, velocities and multipliers.

    Parameters
    ----------
    h, level, first_step, tol, max_iter, max_steps, controller
        As for `Newmark`.
    rho_inf : float
        In [0, 1]: the spectral radius at infinite frequency.

    Examples
    --------
    >>> import mbdae
    >>> run = mbdae.solve(mbdae.library.system("double-pendulum"), mbdae.GeneralizedAlpha(h=1e-3, rho_inf=0.8), (0.0, 0.1))
    >>> run.success
    True
    """


@dataclass(frozen=True)
class NullSpaceNewmark(_NewmarkFormula, NullSpace):
    """Newmark's method in the coordinates of the tangent space at the end of each step [Bustos, section 5].

    With a basis `N` of the null space of `Phi_q(q1)` the coordinates of old and new values are `alpha = N^+ (x - x_p)`, where `x_p` is the
    minimum-norm solution [Bustos, eqs. (34), (53)-(58)]. Newmark's formulas hold for these coordinates,

        N^T ((q1 (-) q0) - h v0 - h^2 ((1/2 - beta) a0 + beta a1)) = 0,   Phi(t1, q1) = 0,
        N^T (v1 - v0 - h ((1 - gamma) a0 + gamma a1)) = 0,                Phi_q v1 = nu,
        M a1 + Phi_q^T lam1 = Q(t1, q1, v1),                              Phi_q a1 = gamma:

    The constraints hold on all three levels. The method is stable if Newmark's method is stable for the frequencies of the reduced system,
    see `mbdae.studies.stability`.

    Order 2 in positions, velocities and multipliers for `gamma = 1/2`. With Fox-Goodwin's coefficients frequencies are of order 4 and
    velocities of order 2; positions of undamped linear systems are of order 4 for a motion that starts from rest, otherwise of order 2.

    Parameters
    ----------
    h : float or None
        Step size [s]; `None`: controlled by `rtol` and `atol` of `solve`; errors of formulas of order 2 are proportional to `rtol`.
    basis : {"orthonormal", "fundamental"}
        Basis of the null space for the iteration matrix of stiff forces: orthonormal, or Coleman's sparse `[-A^-1 B; I]`. Solutions do not
        depend on it.
    first_step, tol, max_iter, max_steps, controller, beta, gamma
        As for `Newmark`. Central differences, `beta = 0`, are possible.

    Examples
    --------
    >>> import mbdae
    >>> run = mbdae.solve(mbdae.library.system("double-pendulum"), mbdae.NullSpaceNewmark(1e-3, *mbdae.FOX_GOODWIN), (0.0, 0.1))
    >>> run.success
    True
    """


@dataclass(frozen=True)
class NullSpaceHHT(_HHTFormula, NullSpace):
    """The method of Hilber, Hughes and Taylor in null-space coordinates, by default with step-size control.

    See `NullSpaceNewmark` and `HHT`.

    Parameters
    ----------
    h, basis, first_step, tol, max_iter, max_steps, controller
        As for `NullSpaceNewmark`.
    alpha : float
        In [-1/3, 0].

    Examples
    --------
    >>> import mbdae
    >>> run = mbdae.solve(mbdae.library.system("double-pendulum"), mbdae.NullSpaceHHT(), (0.0, 0.1))
    >>> run.success
    True
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

    Examples
    --------
    >>> import mbdae
    >>> run = mbdae.solve(mbdae.library.system("double-pendulum"), mbdae.NullSpaceGeneralizedAlpha(h=1e-3, rho_inf=0.8), (0.0, 0.1))
    >>> run.success
    True
    """
