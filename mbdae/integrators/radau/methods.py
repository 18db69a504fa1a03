"""Radau IIA methods of orders 5, 9 and 13 with variable order and step size."""

from dataclasses import dataclass

import numpy as np

from ...driver.arguments import check_max_step, check_max_steps, check_step
from ...driver.method import Resumable
from ...driver.record import Record
from ...driver.support import Settings, implicit_support, supported
from ...jacobians.partitioned import PartitionedJacobian
from ...jacobians.strategy import Strategy, as_strategy, labelled
from ...problems.base import Problem
from ...results.trajectory import Trajectory
from ...system.assembly import State
from ...typing import TimeProgress, Until, Vector
from ...typing import Tolerance as Atol
from ..bdf import LINEAR, compared_blocks, compile_for, rounded_blocks, unknown_powers
from ..bdf_formulas import EXCLUDED, Norms
from ..bdf_memory import not_resumable
from ..bdf_stepper import norms_for
from ..control.driver import Driver
from ..control.newton import NewtonRule
from ..control.step_size import PREDICTIVE, Rule, StepSizeController, check_controller
from ..control.stepper import FIXED
from .stepper import RadauStepper
from .tableau import STAGES

ORDERS = tuple(2 * s - 1 for s in STAGES)
MAX_STEP_RATIO, FIRST_STEP_RATIO = 8.0, 1000.0  # of two consecutive steps, and of the first two
MAX_SHARE = 20.0  # tolerance of the estimates, relative to that of the run
CRUDE = 2e-4  # relative tolerance from which on the order rises to 9 only
DENSE_LIMIT = 150  # unknowns up to which dense matrices are faster
FIXED_ITER = 60  # corrections of a step of fixed size, which iterates to rounding
FIXED_RATE = 2.0  # contraction rate above which such a step fails, as it cannot be shortened
EPS = float(np.finfo(float).eps)

_WHY = "its error estimate and its projection are those of the stabilised index-2 equations; 'ggl' is that form"
SUPPORT = implicit_support(ggl=Settings(exclude=True, excluded_atol="atol", scaling="iteration matrix", linear_solver="dense, sparse"),
                           **dict.fromkeys(("gear", "index2", "index1", "index3"), _WHY))


def _norms(problem: Problem, state: State, rtol: float, bounds: Vector, left: float) -> Norms:
    """Those of `Bdf`, without `mu` in Newton's test, which may leave `left`.

    `Phi_q^T mu` moves the positions, which are tested; `mu` itself contains their rounding, magnified by the inverse of `Phi_q Phi_q^T`.
    """
    powers, mu = unknown_powers(problem, "exclude"), problem.blocks["mu"]
    powers[:, mu] = EXCLUDED
    shared = [x for x in compared_blocks(problem) if x[0] != mu.start]
    rounded = [x for x in rounded_blocks(problem, state, left) if x[0] != mu.start]
    return norms_for(rtol, bounds, powers, shared, rounded)


@dataclass(frozen=True)
class RadauIIA(Resumable):
    """Radau IIA methods of three, five and seven stages for stiff mechanisms, orders 5, 9 and 13, with variable order and step size.

    Collocation of the equations of Gear, Gupta and Leimkuhler at the right Radau points `c_i`, with `c_s = 1`:

        Q'_i = T(Q_i) (V_i - Phi_q^T mu_i),  M V'_i + Phi_q^T lam_i = Q,  Phi_q V_i = nu,  Phi(t_i, Q_i) = 0,
        Y_i = y0 + h sum_j a_ij Y'_j,  y1 = Y_s,

    by Newton's method with one real and `(s - 1)/2` complex matrices, from exact derivatives of all forces. The end of every step is
    projected onto `Phi = 0` and `Phi_q v = nu`, which removes what Newton's method has left of them; `lam` there is that of the
    equations of motion, with minimum norm where constraints are redundant.

    Parameters
    ----------
    order : {"variable", 5, 9, 13}
        `"variable"`: raised where Newton's method converges fast, up to 9 for `rtol` from 2e-4 on; lowered where it is slow, as in RADAU,
        and from 13 to 9 where a step is rejected twice.
    jacobian : str or Strategy
        `"exact"` (complex step along column groups), or another strategy or its name, see `mbdae.JacobianStrategy`.
    linsolver : {"auto", "dense", "sparse"}
        `"auto"`: by blocks, see Notes, and where that is not possible dense up to 150 unknowns, then sparse.
    first_step, max_step : float
        Step sizes [s]; `first_step = 0`: estimated from the initial values.
    max_steps : int
        Steps after which the run ends with `TOO_MANY_STEPS`.
    fixed_step : float
        A step size [s] without error control, for studies of the order; it needs a fixed order. Newton's method then iterates to rounding,
        and `rtol` and `atol` are not used.
    controller : StepSizeController
        By default Gustafsson's predictive one.

    Raises
    ------
    ValueError
        If a parameter is invalid; by `integrate`, if `atol` is not positive.

    Notes
    -----
    Orders in `q` and `v` are `2 s - 1` where the equations are not stiff; `lam` in the stages has order `s`, that of the output the order
    of `q` and `v`.

    Newton's systems are solved by blocks from 25 unknowns on: a matrix of `v` and `lam` and one of `mu`, which leave out changes of `Phi_q`
    within the step, and corrections by the residual of the position constraints. Constraints that are redundant, kinematics of a user, and
    bodies that turn by about a radian in a step need the whole matrix.

    References
    ----------
    E. Hairer, G. Wanner, *Solving Ordinary Differential Equations II*, sections IV.8, VI.9 and VII.4, and *Stiff differential equations
    solved by Radau methods*, J. Comput. Appl. Math. 111 (1999).

    Examples
    --------
    >>> import mbdae
    >>> run = mbdae.solve(mbdae.library.system("double-pendulum"), mbdae.RadauIIA(), (0.0, 0.1))
    >>> run.success, run.formulation
    (True, 'ggl')
    """

    order: int | str = "variable"
    jacobian: str | Strategy = "exact"
    linsolver: str = "auto"
    first_step: float = 0.0
    max_step: float = np.inf
    max_steps: int = 1_000_000
    fixed_step: float = 0.0
    controller: StepSizeController = PREDICTIVE

    support = SUPPORT
    formulations = supported(SUPPORT)
    one_step = True

    def __post_init__(self) -> None:
        if isinstance(self.order, (bool, float)) or self.order not in ("variable", *ORDERS):
            raise ValueError(f"RadauIIA: order must be 'variable', {', '.join(map(str, ORDERS[:-1]))} or {ORDERS[-1]}, got {self.order!r}")
        if as_strategy(self.jacobian, "RadauIIA") is None:
            raise ValueError("RadauIIA: it has no difference quotients of its own; jacobian can be 'dense', 'grouped' or 'estimated'")
        if self.linsolver not in LINEAR:
            raise ValueError(f"RadauIIA: linsolver must be one of {', '.join(LINEAR)}, got {self.linsolver!r}")
        for field in ("first_step", "fixed_step"):
            check_step("RadauIIA", field, getattr(self, field))
        check_max_step("RadauIIA", self.max_step)
        check_max_steps("RadauIIA", self.max_steps)
        check_controller("RadauIIA", self.controller, not self.fixed_step, PREDICTIVE)
        if self.fixed_step and self.order == "variable":
            raise ValueError(f"RadauIIA: fixed_step needs a fixed order, one of {', '.join(map(str, ORDERS))}")

    @property
    def label(self) -> str:
        """Name, order and step size for tables and legends."""
        given = [] if self.order == "variable" else [str(self.order)]
        given += [f"fixed_step={self.fixed_step:g}"] if self.fixed_step else []
        return labelled("RadauIIA" + (f"({', '.join(given)})" if given else ""), self.jacobian)

    @property
    def step_size(self) -> float | None:
        """See `Method`."""
        return self.fixed_step or None

    @property
    def not_resumable(self) -> str:
        """See `Resumable`."""
        return not_resumable(self.jacobian)

    # for the stepper --------------------------------------------------------------------------------------------------------

    def levels(self, rtol: float) -> tuple[int, int]:
        """The lowest and the highest formula, numbers in `STAGES`.

        At crude tolerances steps become so long with order 13 that Newton's method limits them.
        """
        if self.order == "variable":
            return 0, len(STAGES) - (1 if rtol < CRUDE else 2)
        level = ORDERS.index(int(self.order))
        return level, level

    def linear(self, n: int) -> str:
        """The linear solver for `n` unknowns."""
        if self.linsolver != "auto":
            return self.linsolver
        return "dense" if n <= DENSE_LIMIT else "sparse"

    def rule(self, s: int) -> Rule:
        """Of the step size, with an error estimate of order `s`."""
        return FIXED if self.fixed_step else self.controller.rule(s + 1, MAX_STEP_RATIO)

    def first_rule(self, s: int) -> Rule:
        """The same after the first step, which is estimated from the initial values only, and may be far too short."""
        return FIXED if self.fixed_step else self.controller.rule(s + 1, FIRST_STEP_RATIO)

    def share(self, rtol: float) -> float:
        """The tolerance of the error estimates, relative to that of the run.

        The estimates are of the orders 3, 5 and 7, the formulas of the orders 5, 9 and 13. With a tolerance of `0.1 rtol^(2/3)` errors are
        of the size of `rtol`. RADAU raises it further for the higher orders. At most `MAX_SHARE` here: errors of stiff components, and
        with three stages those of a kink right before the end of a step, are of the order of the estimate. Where the motion is seen not to
        be smooth estimates are tested against `rtol`.
        """
        return min(float(0.1 * rtol ** (-1.0 / 3.0)), MAX_SHARE)

    def newton(self, s: int, rtol: float) -> NewtonRule:
        """Newton's test, for errors relative to the tolerances of the run.

        A third of what RADAU allows: what the iteration leaves is an error of the step, while the estimate is far above that.
        """
        if self.fixed_step:
            return NewtonRule(0.0, FIXED_ITER, forecast=FIXED_ITER, max_rate=FIXED_RATE)
        share = self.share(rtol)
        own = share * rtol
        return NewtonRule(max(10.0 * EPS / own, 0.3 * own**0.5) * share, 10 + (5 * (s - 3)) // 2, max_rate=0.99)

    def integrate(self, problem: Problem, state: State, t_end: float, *, rtol: float, atol: Atol, t_eval: Vector | None = None,
                  every: int = 1, progress: TimeProgress | None = None, until: Until | None = None,
                  record: Record | None = None) -> Trajectory:
        """See `mbdae.driver.method`."""
        excluded = None if np.ndim(atol) else float(atol)  # an array is for all unknowns
        bounds = problem.tolerances(rtol, atol, excluded)
        if not (bounds > 0.0).all():
            raise ValueError(f"RadauIIA: atol must be positive, got {atol!r}")
        norms = _norms(problem, state, rtol, bounds, self.newton(STAGES[0], rtol).tol or 1.0)
        strategy = as_strategy(self.jacobian, "RadauIIA")
        assert strategy is not None
        jacobian = strategy.bind(problem)
        assert isinstance(jacobian, PartitionedJacobian)
        stepper = RadauStepper(self, problem, state, t_end, jacobian, norms)
        compile_for(problem, jacobian, state.t, stepper.equations.y0, stepper.equations.yd0)
        return Driver(stepper, t_eval=t_eval, every=every, progress=progress, until=until, record=record).to_end()
