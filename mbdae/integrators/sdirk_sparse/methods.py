"""SDIRK4/16 in independent coordinates, with a sparse matrix of all positions, velocities, accelerations and multipliers."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...driver.arguments import check_local_error, check_max_step, check_max_steps, check_step
from ...driver.method import Resumable
from ...driver.record import Record
from ...driver.support import FORMS, Settings, Support, supported
from ...jacobians.partitioned import PartitionedJacobian
from ...jacobians.strategy import Strategy, as_strategy, labelled
from ...problems.base import Problem
from ...results.trajectory import Trajectory
from ...system.assembly import State
from ...system.system import System
from ...typing import TimeProgress, Until, Vector
from ...typing import Tolerance as Atol
from ..bdf import LINEAR
from ..bdf_memory import not_resumable
from ..control.driver import Driver
from ..control.step_size import ELEMENTARY, StepSizeController, check_controller
from ..resolution import share
from ..state_space.base import check_newton
from ..state_space.sdirk_tableau import SDIRK_4_16, Sdirk
from .stepper import SparseStepper

FINEST = 7e-13  # relative tolerance of a step, below which errors of the iteration add up
DENSE_LIMIT = 200  # unknowns of a stage up to which dense matrices are faster

_REFUSED = "its equations are those of motion and the constraints on all levels; 'overdetermined' is that form"
SUPPORT: Support = {form: Settings(scaling="iteration matrix", linear_solver="dense, sparse") if form == "overdetermined" else _REFUSED
                    for form in FORMS}


@dataclass(frozen=True)
class SdirkSparse(Resumable):
    """SDIRK4/16 in independent coordinates for large mechanisms: order 4, L-stable, sparse matrices.

    A stage solves for all positions, velocities, accelerations and multipliers at once,

        Phi = 0,  P q = P (q0 + c_i h q0' + h^2 sum_j (A A)_ij q_j''),
        Phi_q v = nu,  P T v = P (q0' + h sum_j a_ij q_j''),
        M a + Phi_q^T lam = Q,  Phi_q a = gamma,   q'' = T a + T' v,

    by Newton's method with the exact sparse matrix of the start of the step. The formula holds in the independent coordinates `P q`
    only, so that the method is that of `SdirkDescriptor` [Negrut, sections 3.3.2, 4.2, table 13], without matrices of the size of the
    degrees of freedom. Its cost is linear in the number of bodies for chains, trees and ladders.
    Coordinates are chosen by sparse Gaussian elimination, and anew where a pivot has become small. The end of every step is projected onto
    the constraints.

    Parameters
    ----------
    jacobian : str or Strategy
        `"exact"` (complex step along column groups), or another strategy or its name, see `mbdae.JacobianStrategy`.
    linsolver : {"auto", "dense", "sparse"}
        `"auto"`: dense up to 200 unknowns of a stage, then sparse.
    first_step, max_step : float
        Step sizes [s]; `first_step = 0`: estimated from the initial values.
    max_steps : int
        Steps after which the run ends with `TOO_MANY_STEPS`.
    fixed_step : float
        A step size [s] without error control, for studies of the order.
    filter : bool
        Multiply the error estimate by `(I - gamma h J)^-1`, which damps its stiff components [Negrut, eq. (5.6)].
    controller : StepSizeController
        By default the elementary one.
    local_error : float
        Largest estimated error of a step relative to the tolerances, in (0, 1]. With 1 errors reach 3900 tolerances on one mechanism.
    newton_tol : float, optional
        The iteration ends when the estimated error of the iterate is below this times the tolerance. By default 0.02, but with step-size
        control at most `sqrt(rtol)`.
    max_iter : int
        Iterations of Newton's method for a stage.
    reuse_rate : float
        Contraction rate of Newton's method, in [0, 1), up to which the derivatives of a step are reused in the next one.
    max_jacobian_age : int or None
        Steps in which derivatives are reused at most; `None`: no limit.

    Raises
    ------
    ValueError
        If a parameter is invalid; by `integrate`, if `atol` is not positive, or a kinematic map of functions is not square.

    Notes
    -----
    An array `atol` of `solve` has a number for each position, velocity and multiplier; those of the multipliers are not used.

    References
    ----------
    D. Negrut, *On the implicit integration of differential-algebraic equations of multibody dynamics*, PhD thesis, University of Iowa
    (1998).

    Examples
    --------
    >>> import mbdae
    >>> run = mbdae.solve(mbdae.library.system("double-pendulum"), mbdae.SdirkSparse(), (0.0, 0.1))
    >>> run.success, run.formulation
    (True, 'overdetermined')
    """

    jacobian: str | Strategy = "exact"
    linsolver: str = "auto"
    first_step: float = 0.0
    max_step: float = np.inf
    max_steps: int = 1_000_000
    fixed_step: float = 0.0
    filter: bool = False
    controller: StepSizeController = ELEMENTARY
    local_error: float = 0.007
    newton_tol: float | None = None
    max_iter: int = 10
    reuse_rate: float = 1e-3
    max_jacobian_age: int | None = None

    support = SUPPORT
    formulations = supported(SUPPORT)
    one_step = True
    tableau: ClassVar[Sdirk] = SDIRK_4_16

    def __post_init__(self) -> None:
        name = "SdirkSparse"
        if as_strategy(self.jacobian, name) is None:
            raise ValueError(f"{name}: it has no difference quotients of its own; jacobian can be 'dense', 'grouped' or 'estimated'")
        if self.linsolver not in LINEAR:
            raise ValueError(f"{name}: linsolver must be one of {', '.join(LINEAR)}, got {self.linsolver!r}")
        for field in ("first_step", "fixed_step"):
            check_step(name, field, getattr(self, field))
        check_max_step(name, self.max_step)
        check_max_steps(name, self.max_steps)
        if not isinstance(self.filter, (bool, np.bool_)):
            raise ValueError(f"{name}: filter must be True or False, got {self.filter!r}")
        check_controller(name, self.controller, not self.fixed_step)
        check_local_error(name, self.local_error)
        check_newton(name, self.newton_tol, self.max_iter, self.reuse_rate, self.max_jacobian_age)

    @property
    def label(self) -> str:
        """Name and step size for tables and legends."""
        name = "SdirkSparse" + (f"(fixed_step={self.fixed_step:g})" if self.fixed_step else "")
        return labelled(name + (", filtered" if self.filter else ""), self.jacobian)

    @property
    def step_size(self) -> float | None:
        """See `Method`."""
        return self.fixed_step or None

    @property
    def not_resumable(self) -> str:
        """See `Resumable`."""
        return not_resumable(self.jacobian)

    # for the stepper --------------------------------------------------------------------------------------------------------

    def linear(self, system: System) -> str:
        """The linear solver for a system."""
        if self.linsolver != "auto":
            return self.linsolver
        return "dense" if system.nq + 2 * system.nv + system.nc <= DENSE_LIMIT else "sparse"

    def integrate(self, problem: Problem, state: State, t_end: float, *, rtol: float, atol: Atol, t_eval: Vector | None = None,
                  every: int = 1, progress: TimeProgress | None = None, until: Until | None = None,
                  record: Record | None = None) -> Trajectory:
        """See `mbdae.driver.method`."""
        s = problem.system
        bounds = problem.tolerances(rtol, atol)[:s.nq + s.nv]
        if not (bounds > 0.0).all():
            raise ValueError(f"SdirkSparse: atol must be positive, got {atol!r}")
        if s.of_functions and s.nq != s.nv:
            raise ValueError(f"SdirkSparse: the kinematic map of {s.name} is not square, and what it keeps constant is not known; use "
                             "SdirkDescriptor, or RadauIIA")
        strategy = as_strategy(self.jacobian, "SdirkSparse")
        assert strategy is not None
        jacobian = strategy.bind(problem)
        assert isinstance(jacobian, PartitionedJacobian)
        factor = 1.0 if self.fixed_step else share(self.local_error, rtol, FINEST)
        stepper = SparseStepper(self, problem, state, t_end, jacobian, factor * rtol, factor * bounds)
        return Driver(stepper, t_eval=t_eval, every=every, progress=progress, until=until, record=record).to_end()
