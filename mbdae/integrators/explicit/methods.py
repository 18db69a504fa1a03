"""Explicit methods with projections: Dormand and Prince's Runge-Kutta methods, and a half-explicit one."""

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass

import numpy as np

from ...driver.arguments import check_local_error, check_max_step, check_max_steps, check_step
from ...driver.method import Resumable
from ...driver.record import Record
from ...driver.support import FORMS, Settings, Support, supported
from ...problems.base import Problem
from ...problems.underlying_ode import UnderlyingODE
from ...results.trajectory import Trajectory
from ...system.assembly import State
from ...typing import TimeProgress, Tolerance, Until, Vector
from ..control.driver import Driver
from ..control.loop import Loops
from ..control.step_size import CAUTIOUS, StepSizeController, check_controller
from ..resolution import FINEST, share
from .attempt import LOOPS
from .dop853 import DOP853
from .dopri5 import DOPRI5
from .half_explicit import LOOPS as HALF_EXPLICIT_LOOPS
from .hem5 import HEM5
from .phem56 import PHEM56
from .stepper import ExplicitStepper
from .tableau import Tableau

TABLEAUS = {8: DOP853, 5: DOPRI5}
LOCAL_ERROR = {8: 1.0, 5: 0.2}
HALF_EXPLICIT = {"PHEM56": PHEM56, "HEM5": HEM5}
_SETTINGS = Settings(scaling="none", jacobian="none", linear_solver="reduced matrix, envelope")


def _only(form: str, reason: str) -> Support:
    return dict.fromkeys(FORMS, f"{reason}; {form!r} is that form") | {form: _SETTINGS}


@dataclass(frozen=True)
class Explicit(Resumable):
    """Base of the explicit methods with error control and projections after every step."""

    _: KW_ONLY
    first_step: float = 0.0
    max_step: float = np.inf
    max_steps: int = 1_000_000
    fixed_step: float = 0.0
    controller: StepSizeController = CAUTIOUS
    local_error: float | None = None

    one_step = True

    def __post_init__(self) -> None:
        name = type(self).__name__
        for field in ("first_step", "fixed_step"):
            check_step(name, field, getattr(self, field))
        check_max_step(name, self.max_step)
        check_max_steps(name, self.max_steps)
        check_controller(name, self.controller, not self.fixed_step, CAUTIOUS)
        if self.local_error is not None:
            check_local_error(name, self.local_error)

    @property
    def step_size(self) -> float | None:
        """See `Method`."""
        return self.fixed_step or None

    @property
    @abstractmethod
    def tableau(self) -> Tableau:
        """The formula."""

    @property
    @abstractmethod
    def usual_local_error(self) -> float:
        """`local_error` where it is not given."""

    @property
    @abstractmethod
    def loops(self) -> Loops:
        """The time loop, compiled with the stages of the method."""

    @abstractmethod
    def check(self, problem: Problem) -> None:
        """Refuse a problem that the method cannot do, by a ValueError."""

    def integrate(self, problem: Problem, state: State, t_end: float, *, rtol: float, atol: Tolerance, t_eval: Vector | None = None,
                  every: int = 1, progress: TimeProgress | None = None, until: Until | None = None,
                  record: Record | None = None) -> Trajectory:
        """See `mbdae.driver.method`."""
        self.check(problem)
        bounds = problem.tolerances(rtol, atol)[:problem.system.nq + problem.system.nv]
        if not (bounds > 0.0).all():
            raise ValueError(f"{type(self).__name__}: atol must be positive, got {atol!r}")
        factor = share(self.usual_local_error if self.local_error is None else self.local_error, rtol, FINEST)
        stepper = ExplicitStepper(self, problem, state, t_end, factor * rtol, factor * bounds)
        return Driver(stepper, t_eval=t_eval, every=every, progress=progress, until=until, record=record).to_end()


@dataclass(frozen=True)
class DormandPrince(Explicit):
    """Explicit Runge-Kutta methods of Dormand and Prince for mechanisms that are not stiff, projected after every step.

    `q' = T(q) v`, `v' = a(t, q, v)` with `[M Phi_q^T; Phi_q 0] (a, lam) = (Q, gamma)`: a step consists of the stages of the formula, one
    solution of these linear equations each, without Jacobians and iterations. Positions and velocities at its end are projected onto
    `Phi = 0` and `Phi_q v = nu` in the metric of the mass matrix, so that they hold to rounding; the projection changes them by less than
    the error, and the order is kept. Constraints may be redundant; `lam` then has minimum norm. Fast components of stiff forces limit
    the step by stability; failures say so.

    Parameters
    ----------
    order : {8, 5}
        8: the formula with 12 stages, error estimates of orders 5 and 3 and dense output of order 7 of DOP853. 5: that with 6 stages,
        error estimate and dense output of order 4 of DOPRI5, for crude tolerances.
    first_step, max_step : float
        Step sizes [s]; `first_step = 0`: estimated from the initial values.
    max_steps : int
        Steps after which the run ends with `TOO_MANY_STEPS`.
    fixed_step : float
        A step size [s] without error control, for studies of the order; `rtol` and `atol` are then not used.
    controller : StepSizeController
        By default `CAUTIOUS`, the elementary one with a safety factor of 0.7: a rejected step costs all stages. With 0.9, as in DOP853,
        a quarter of the steps are rejected, and errors are larger at the same cost.
    local_error : float, optional
        Largest estimated error of a step relative to the tolerances, in (0, 1]; by default 1 with order 8 and 0.2 with order 5: errors of
        the motion then are below a hundred tolerances where with 0.5 they reach 201.

    Raises
    ------
    ValueError
        If a parameter is invalid; by `integrate`, if `atol` is not positive, or the problem has Baumgarte's terms.

    Notes
    -----
    `atol` of `solve` is one number, or an array of one number for each position and each velocity. The error of a step is the larger one
    of the estimate and of the displacement by the projection. With order 8 the estimate has a third part that sees kinks and jumps of the
    forces wherever they lie in a step, and with `rtol` up to 1e-5 kinks in rejected steps are found from the accelerations of the
    stages; steps then end before them and cross them.

    References
    ----------
    E. Hairer, S. P. Norsett, G. Wanner, *Solving Ordinary Differential Equations I*, sections II.4 to II.6 and II.10; E. Eich, *Convergence
    results for a coordinate projection method applied to mechanical systems with algebraic constraints*, SIAM J. Numer. Anal. 30 (1993).

    Examples
    --------
    >>> import mbdae
    >>> run = mbdae.solve(mbdae.library.system("double-pendulum"), mbdae.DormandPrince(), (0.0, 0.1))
    >>> run.success, run.formulation
    (True, 'ode')
    """

    order: int = 8

    support = _only("ode", "it integrates the underlying ODE and projects onto the constraints")
    formulations = supported(support)

    def __post_init__(self) -> None:
        if isinstance(self.order, (bool, float)) or self.order not in tuple(TABLEAUS):
            raise ValueError(f"DormandPrince: order must be 8 or 5, got {self.order!r}")
        super().__post_init__()

    @property
    def label(self) -> str:
        """Name, order and step size for tables and legends."""
        return f"DormandPrince({self.order}" + (f", fixed_step={self.fixed_step:g})" if self.fixed_step else ")")

    @property
    def tableau(self) -> Tableau:
        """See `Explicit`."""
        return TABLEAUS[int(self.order)]

    @property
    def usual_local_error(self) -> float:
        """See `Explicit`."""
        return LOCAL_ERROR[int(self.order)]

    @property
    def loops(self) -> Loops:
        """See `Explicit`."""
        return LOOPS

    def check(self, problem: Problem) -> None:
        """See `Explicit`."""
        assert isinstance(problem, UnderlyingODE), problem.formulation
        if problem.alpha or problem.beta or not problem.project:
            raise ValueError("DormandPrince: it projects onto the constraints after every step; the problem must be UnderlyingODE(system), "
                             "with neither Baumgarte's terms nor project=False")


@dataclass(frozen=True)
class HalfExplicit(Explicit):
    """PHEM56 and HEM5, half-explicit methods of order 5 for index 2, with positions and velocities projected after every step.

    The accelerations `W_i` and multipliers `L_i` of a stage at `(Q_i, V_i)`, which are explicit, solve the linear equations

        M(Q_i) W_i + Phi_q(Q_i)^T L_i = Q(t_i, Q_i, V_i),   Phi_q(Q^_i) (v0 + h sum_(j<=i) a^_ij W_j) = nu(t^_i, Q^_i),

    so that velocities satisfy the constraints in the stages, and second derivatives of the constraints are not needed there. Projection,
    error control and dense output of order 4 are those of `DormandPrince`, which costs less: a stage here factorises matrices of two
    positions. The other coefficients of PHEM56 are those of DOPRI5; by default its `local_error` is 0.06, as its estimate is too small
    where steps are long: with 1 errors were up to 850 tolerances at `rtol` from 1e-5 to 1e-3. In HEM5 `Q^_i` is the position of the next
    stage. It has eight stages in the place of six, and an estimate that is larger than the error: with a `local_error` of 1, the default,
    it takes 1.2 to 1.8 times as many steps, with smaller errors.

    Parameters
    ----------
    formula : {"PHEM56", "HEM5"}
    first_step, max_step, max_steps, fixed_step, controller, local_error
        As for `DormandPrince`.

    Raises
    ------
    ValueError
        If a parameter is invalid; by `integrate`, if `atol` is not positive, or forces depend on the multipliers, as joint friction does.

    Notes
    -----
    An array `atol` of `solve` has a number for each position, velocity and multiplier; those of the multipliers are not used.

    References
    ----------
    A. Murua, *Partitioned half-explicit Runge-Kutta methods for differential-algebraic systems of index 2*, Computing 59 (1997).
    V. Brasey, *A half-explicit Runge-Kutta method of order 5 for solving constrained mechanical systems*, Computing 48 (1992).

    Examples
    --------
    >>> import mbdae
    >>> run = mbdae.solve(mbdae.library.system("double-pendulum"), mbdae.HalfExplicit(), (0.0, 0.1))
    >>> run.success, run.formulation
    (True, 'index2')
    """

    formula: str = "PHEM56"

    support = _only("index2", "it discretises the index-2 equations")
    formulations = supported(support)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.formula not in tuple(HALF_EXPLICIT):
            raise ValueError(f"HalfExplicit: formula must be one of {', '.join(HALF_EXPLICIT)}, got {self.formula!r}")

    @property
    def label(self) -> str:
        """Name, formula and step size for tables and legends."""
        given = [self.formula] if self.formula != "PHEM56" else []
        given += [f"fixed_step={self.fixed_step:g}"] if self.fixed_step else []
        return "HalfExplicit" + (f"({', '.join(given)})" if given else "")

    @property
    def tableau(self) -> Tableau:
        """See `Explicit`."""
        return HALF_EXPLICIT[self.formula]

    @property
    def usual_local_error(self) -> float:
        """See `Explicit`."""
        return {"PHEM56": 0.06, "HEM5": 1.0}[self.formula]

    @property
    def loops(self) -> Loops:
        """See `Explicit`."""
        return HALF_EXPLICIT_LOOPS

    def check(self, problem: Problem) -> None:
        """See `Explicit`."""
        if problem.system.has_friction:
            raise ValueError(f"HalfExplicit: forces of {problem.system.name} depend on the multipliers, which the linear equations of its "
                             "stages do not allow; use DormandPrince")
