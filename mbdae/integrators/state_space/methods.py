"""The implicit integrators of the thesis on state-space form [Negrut, chapter 4].

`z'' = f(t, z, z')` in independent coordinates; the methods differ in formula and unknowns. Positions, velocities, accelerations and
multipliers satisfy the constraints to rounding at the end of every step. Charts are switched between steps.
"""

from dataclasses import dataclass
from typing import ClassVar

from .base import Charted
from .formulas import ROSENBROCK, SDIRK_DESCRIPTOR, SDIRK_FIRST_ORDER, TRAPEZOIDAL_DESCRIPTOR, TRAPEZOIDAL_STATE_SPACE
from .sdirk_tableau import SDIRK_4_15, SDIRK_4_16, Sdirk

_END = """
    Notes
    -----
    `atol` of `solve` is one number, or an array of one number for each position and each velocity, `Atol_i` of [Negrut, eq. (4.6)].
"""
_PARAMETERS = """
    Parameters
    ----------
    jacobian : {"exact", "complex", "difference"}
        Derivatives of the equations in the `2 dof` directions of the chart. `"exact"`: complex step for the forces, linear equations for
        kinematics and multipliers. `"complex"`: complex step for the whole evaluation of `z''`, factorisation included, at a higher cost.
        `"difference"`: forward differences.
    first_step, max_step : float
        `first_step = 0`: estimated from the initial values.
    max_steps : int
        Steps after which the run ends with `TOO_MANY_STEPS`.
    fixed_step : float
        A step size without error control, for studies of the order; `rtol` and `atol` are then used in Newton's method only. A step that
        fails is repeated once in a new chart.
    filter : bool
        Multiply the error estimate by `(I - gamma h J)^-1`, which damps its stiff components [Negrut, eq. (5.6)].
    controller : StepSizeController
        By default the elementary one, as in the thesis; others are `PI`, `PI42`, `H211B` and `PREDICTIVE`. Its `safety`, `shrink` and
        `grow` are the safety factor and the limits of growth [Negrut, section 4.2.1].
    local_error : float
        Largest estimated error of a step relative to the tolerances, in (0, 1]; 1 in the thesis. Smaller values, the default of methods
        whose errors add up to more than a hundred tolerances on some mechanism, take more steps, and cost the same for the same error.
    newton_tol : float, optional
        `kappa`: the iteration ends when the estimated error of the iterate is below `kappa` times the tolerance [Negrut, eq. (4.91)].
        Between 0.01 and 0.1 in the thesis. By default 0.02, but with step-size control at most `sqrt(rtol)`, so that errors stay
        proportional to `rtol`.
    max_iter : int
        Iterations of Newton's method for a stage, `k_max` [Negrut, section 4.5.2]; 7 to 10 in the thesis.
    reuse_rate : float
        Contraction rate of Newton's method, in [0, 1), up to which the derivatives of a step are reused in the next one.
    max_jacobian_age : int or None
        Steps in which derivatives are reused at most. 0: they are evaluated in every step, as in the thesis [Negrut, tables 11, 14, 15,
        17]; `None`: no limit. After a rejected step they are kept in any case.
    max_condition_growth : float
        `alpha`: growth of the condition number of the parametrisation above which another one is looked for [Negrut, section 4.1.2]. At
        least 1, may be infinite.
    threads : int
        Threads that share the columns of the derivatives [Negrut, appendix A]. They pay where an evaluation of the derivatives takes
        longer than half a millisecond, from some twenty degrees of freedom on; results are the same to rounding.
""" + _END


@dataclass(frozen=True)
class TrapezoidalStateSpace(Charted):
    __doc__ = f"""Trapezoidal rule, the state-space method: Newton's method on the independent equations of motion.

    `z1 = z0 + h z0' + h^2/4 (z0'' + z1'')`, `z1' = z0' + h/2 (z0'' + z1'')`, order 2, A-stable. The unknowns are the independent
    accelerations `z1''`, the equations `N^T (M a - Q) = 0` [Negrut, sections 3.2.1.2, 4.1]. The error estimate is the difference from
    backward Euler, of order 1; errors are therefore far below the tolerance.
    {_PARAMETERS}

    Examples
    --------
    >>> import mbdae
    >>> run = mbdae.solve(mbdae.library.system("double-pendulum"), mbdae.TrapezoidalStateSpace(), (0.0, 0.1))
    >>> run.success
    True
    """

    local_error: float = 0.12

    kind, error_order = TRAPEZOIDAL_STATE_SPACE, 1


_MATRIX = """
    matrix : {"reduced", "sparse"}
        `"reduced"`: the factors of the equations of motion at each iterate, and a correction of the size of the degrees of freedom
        (Sherman, Morrison, Woodbury). `"sparse"`: the matrix of all accelerations and multipliers at the start of the step, factorised as a
        sparse one, as in the thesis [Negrut, section 3.3]; not for joint friction.
"""
MATRICES = ("reduced", "sparse")


@dataclass(frozen=True)
class Descriptor(Charted):
    __doc__ = f"""Base of the methods on the descriptor form.
    {_PARAMETERS.replace(_END, _MATRIX + _END)}"""

    matrix: str = "reduced"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.matrix, str) or self.matrix not in MATRICES:
            raise ValueError(f"{type(self).__name__}: matrix must be one of {', '.join(MATRICES)}, got {self.matrix!r}")

    @property
    def sparse(self) -> bool:
        """Whether the matrix is the sparse one."""
        return self.matrix == "sparse"


@dataclass(frozen=True)
class TrapezoidalDescriptor(Descriptor):
    __doc__ = f"""Trapezoidal rule, the descriptor form: as `TrapezoidalStateSpace`, with all accelerations and the multipliers as unknowns.

    The equations are those of motion and the constraints on the acceleration level [Negrut, sections 3.3, 4.3].
    {_PARAMETERS.replace(_END, _MATRIX + _END)}

    Examples
    --------
    >>> import mbdae
    >>> run = mbdae.solve(mbdae.library.system("double-pendulum"), mbdae.TrapezoidalDescriptor(), (0.0, 0.1))
    >>> run.success
    True
    """

    local_error: float = 0.12

    kind, error_order = TRAPEZOIDAL_DESCRIPTOR, 1


@dataclass(frozen=True)
class SdirkMethod(Charted):
    __doc__ = f"""Base of SDIRK methods on the first-order form, with positions and velocities as unknowns.

    A subclass defines the class attribute `tableau`, made by `mbdae.extend.sdirk`. The base supplies step-size control by the embedded
    formula, charts, dense output, events and statistics. A second error estimate compares the derivative at the start of the step with the
    one that follows from the stages, so that jumps of the forces before the first stage are seen.
    {_PARAMETERS}"""

    tableau: ClassVar[Sdirk]
    kind = SDIRK_FIRST_ORDER

    @property
    def error_order(self) -> int:
        """Order of the embedded formula."""
        return self.tableau.error_order


@dataclass(frozen=True)
class SdirkDescriptor(Descriptor, SdirkMethod):
    __doc__ = f"""SDIRK4/16, the descriptor form: five stages, order 4, L-stable, with all accelerations and the multipliers as unknowns.

    The embedded formula has order 3 [Negrut, sections 3.3.2, 4.2, table 13].
    {_PARAMETERS.replace(_END, _MATRIX + _END)}

    Examples
    --------
    >>> import mbdae
    >>> run = mbdae.solve(mbdae.library.system("double-pendulum"), mbdae.SdirkDescriptor(), (0.0, 0.1))
    >>> run.success
    True
    """

    local_error: float = 0.018

    tableau, kind, finest = SDIRK_4_16, SDIRK_DESCRIPTOR, 2e-12


@dataclass(frozen=True)
class SdirkFirstOrder(SdirkMethod):
    __doc__ = f"""SDIRK4/15 on the first-order form: five stages, order 4, L-stable, with positions and velocities as unknowns.

    Stopping rule, forecast of convergence and starting values as in the code of Hairer and Wanner [Negrut, section 4.5]. Their filter
    of the error estimate is optional, `filter`: with it errors reach fifty times the tolerance if stiff directions rotate with the bodies.
    {_PARAMETERS}

    Examples
    --------
    >>> import mbdae
    >>> run = mbdae.solve(mbdae.library.system("double-pendulum"), mbdae.SdirkFirstOrder(), (0.0, 0.1))
    >>> run.success
    True
    """

    local_error: float = 0.018

    tableau, finest = SDIRK_4_15, 2e-12


@dataclass(frozen=True)
class RosenbrockNystrom(Charted):
    __doc__ = f"""Rosenbrock-Nystrom method: four stages, order 4, L-stable, no iteration; derivatives are evaluated in every step.

    Two new evaluations of the accelerations per step. The embedded formula has order 3 [Negrut, section 4.4]. Errors of velocities may
    exceed ten times the tolerance if stiff directions rotate with the bodies.
    {_PARAMETERS}

    Examples
    --------
    >>> import mbdae
    >>> run = mbdae.solve(mbdae.library.system("double-pendulum"), mbdae.RosenbrockNystrom(), (0.0, 0.1))
    >>> run.success
    True
    """

    filter: bool = True
    local_error: float = 0.035

    kind, error_order = ROSENBROCK, 3

    def __post_init__(self) -> None:
        super().__post_init__()
        for field in ("newton_tol", "max_iter", "reuse_rate", "max_jacobian_age"):
            if getattr(self, field) != getattr(type(self), field):
                raise ValueError(f"RosenbrockNystrom: there is no Newton iteration, {field} must be left at its default, got "
                                 f"{getattr(self, field)!r}")
