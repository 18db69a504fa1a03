"""`Adams`: predictor-corrector methods of variable order."""

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
from ..resolution import share
from .arrays import MAX_ORDER
from .stepper import AdamsStepper

LOCAL_ERROR = 0.05
FINEST = 1e-12  # relative tolerance of a step, below which jumps of forces need steps below rounding

_SUPPORT: Support = dict.fromkeys(FORMS, "it integrates the underlying ODE and projects onto the constraints; 'ode' is that form") | {
    "ode": Settings(scaling="none", jacobian="none", linear_solver="reduced matrix, envelope")}


@dataclass(frozen=True)
class Adams(Resumable):
    """Adams-Bashforth-Moulton methods of variable order and step for mechanisms that are not stiff, projected after every step.

    `q' = T(q) v`, `v' = a(t, q, v)` with `[M Phi_q^T; Phi_q 0] (a, lam) = (Q, gamma)`: a step predicts by the formula of order `k`,
    evaluates, corrects by that of order `k + 1`, projects positions and velocities onto `Phi = 0` and `Phi_q v = nu` in the metric of the
    mass matrix, and evaluates again. The second evaluation and the projections take the factors of the first one, with iterative
    refinement, so that a step costs one factorisation of the KKT matrix and two evaluations of the forces; a step of `DormandPrince`
    costs 12 of both. Constraints may be redundant; `lam` then has minimum norm.

    Parameters
    ----------
    max_order : int
        Largest order `k` of the predictor, from 1 to 12.
    first_step, max_step : float
        Step sizes [s]; `first_step = 0`: estimated from the initial values.
    max_steps : int
        Steps after which the run ends with `TOO_MANY_STEPS`.
    fixed_step : float
        A step size [s] without error control, for studies of the order; `rtol` and `atol` are then not used. The order is `max_order` from
        the first step on, with derivatives before the start from `DormandPrince` backward in time.
    local_error : float
        Largest estimated error of a step relative to the tolerances, in (0, 1].

    Raises
    ------
    ValueError
        If a parameter is invalid; by `integrate`, if `atol` is not positive, or the problem has Baumgarte's terms.

    References
    ----------
    L. F. Shampine, M. K. Gordon, *Computer Solution of Ordinary Differential Equations: The Initial Value Problem*, Freeman, 1975;
    E. Hairer, S. P. Norsett, G. Wanner, *Solving Ordinary Differential Equations I*, sections III.5 and III.7.

    Examples
    --------
    >>> import mbdae
    >>> run = mbdae.solve(mbdae.library.system("double-pendulum"), mbdae.Adams(), (0.0, 0.1))
    >>> run.success, run.formulation
    (True, 'ode')
    """

    max_order: int = MAX_ORDER
    _: KW_ONLY
    first_step: float = 0.0
    max_step: float = np.inf
    max_steps: int = 1_000_000
    fixed_step: float = 0.0
    local_error: float = LOCAL_ERROR

    support = _SUPPORT
    formulations = supported(_SUPPORT)

    def __post_init__(self) -> None:
        if isinstance(self.max_order, (bool, float)) or self.max_order not in range(1, MAX_ORDER + 1):
            raise ValueError(f"Adams: max_order must be an integer from 1 to {MAX_ORDER}, got {self.max_order!r}")
        for field in ("first_step", "fixed_step"):
            check_step("Adams", field, getattr(self, field))
        check_max_step("Adams", self.max_step)
        check_max_steps("Adams", self.max_steps)
        check_local_error("Adams", self.local_error)

    @property
    def label(self) -> str:
        """Name, largest order and step size for tables and legends."""
        given = [str(self.max_order)] if self.max_order != MAX_ORDER else []
        given += [f"fixed_step={self.fixed_step:g}"] if self.fixed_step else []
        return "Adams" + (f"({', '.join(given)})" if given else "")

    @property
    def step_size(self) -> float | None:
        """See `Method`."""
        return self.fixed_step or None

    def integrate(self, problem: Problem, state: State, t_end: float, *, rtol: float, atol: Tolerance, t_eval: Vector | None = None,
                  every: int = 1, progress: TimeProgress | None = None, until: Until | None = None,
                  record: Record | None = None) -> Trajectory:
        """See `mbdae.driver.method`."""
        assert isinstance(problem, UnderlyingODE), problem.formulation
        if problem.alpha or problem.beta or not problem.project:
            raise ValueError("Adams: it projects onto the constraints after every step; the problem must be UnderlyingODE(system), "
                             "with neither Baumgarte's terms nor project=False")
        bounds = problem.tolerances(rtol, atol)[:problem.system.nq + problem.system.nv]
        if not (bounds > 0.0).all():
            raise ValueError(f"Adams: atol must be positive, got {atol!r}")
        factor = share(self.local_error, rtol, FINEST)
        stepper = AdamsStepper(self, problem, state, t_end, factor * rtol, factor * bounds)
        return Driver(stepper, t_eval=t_eval, every=every, progress=progress, until=until, record=record).to_end()
