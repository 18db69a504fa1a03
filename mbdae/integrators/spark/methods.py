"""Specialised partitioned additive Runge-Kutta methods [Jay]."""

from dataclasses import dataclass

from ...problems.base import Problem
from ...system.assembly import State
from ...typing import Vector
from ..gauss.controlled import Controlled
from .stepper import SparkStepper
from .tableau import check


@dataclass(frozen=True)
class Spark(Controlled):
    """Specialised partitioned additive Runge-Kutta methods (SPARK) of orders 2 to 8, symmetric, with constraints on two levels.

    Stages of the motion at the nodes `c_i`, in which forces are evaluated, and of the constraints at the nodes `e_k` of Lobatto,

        M(Q_i) W_i = Q(t_i, Q_i, V_i, F_i),   M(X_k) U_k + Phi_q(X_k)^T L_k = 0,   F_i = sum_k E_ik L_k,
        V_i = v0 + h sum_j u_ij W_j + h sum_k r_ik U_k,   Q_i = q0 + h sum_j a_ij T(Q_j) V_j,   X_k = q0 + h sum_j g_kj T(Q_j) V_j,
        Phi(t_k, X_k) = 0 at all `e_k > 0`,   Phi_q(q1) v1 = nu(t1, q1),

    with `q1 = X` at `e = 1` and `v1 = v0 + h sum_i b_i W_i + h sum_k d_k U_k`. The coefficients are those of two pairs:

    - `"gauss-lobatto"`: `s` nodes of Gauss for the motion and `s + 1` of Lobatto for the constraints, order `2 s` [Jay 2007];
    - `"lobatto"`: Lobatto IIIA for positions and IIIB for velocities, `s + 1` stages at the same nodes, order `2 s` [Jay 1996]. With order
      2 and constant `T` it is RATTLE, with forces that depend on velocities implicit.

    - Order: `order` in `q`, `v`, `a` and `lam`, also with constraints that depend on time, redundant ones, damping, smooth friction, and
      stiff springs that the step resolves; `a` and `lam` at the end are those of the equations of motion, with minimum norm where
      constraints are redundant. With stiff forces that the step does not resolve the order of `v` is lower, and the errors of `"lobatto"`
      are much larger than those of `"gauss-lobatto"`.
    - `Phi = 0` and `Phi_q v = nu` at the end of every step, up to rounding.
    - Symmetric: a step back from its end leads to its start. The error of the energy of conservative mechanisms stays bounded. Symplectic
      for particles and planar bodies with a potential and constraints that do not depend on time.

    Parameters
    ----------
    h : float or None
        Step size [s]; `None`: controlled by `rtol` and `atol` of `solve`.
    order : {2, 4, 6, 8}
        Twice the number `s` above.
    pair : {"gauss-lobatto", "lobatto"}
    tol : float
        Newton's method stops when the error of the velocities, relative to the largest or 1, is below it or below rounding.
    max_iter : int
        Newton iterations per step, after which the run ends with `NEWTON_FAILED`, or with step-size control the step is shortened.
    first_step, max_step : float
        Step sizes [s] with step-size control; `first_step = 0`: estimated from the initial values.
    max_steps : int
        Steps after which the run ends with `TOO_MANY_STEPS`.
    controller : StepSizeController
        Of the step size; by default the elementary one.

    Raises
    ------
    ValueError
        If a parameter is invalid; by `integrate`, if `atol` is not positive.

    Notes
    -----
    If Newton's method fails near a singular position, the run ends with `SINGULAR`, and the message names the constraints.
    Output within a step is computed by a shorter step to that time. Forces with kinks or jumps lower the order.

    With step-size control the error of a step is estimated from its residuals in the trapezoidal and Simpson's rule, with accelerations at
    both ends and one evaluation in the middle. The estimate is of order `h^p` for a method of order `p`, one less than the error, so that
    errors are proportional to the tolerances; for orders 6 and 8 it extrapolates from the ratio of the residuals, as in DOP853 [Hairer,
    Norsett, Wanner, *Solving Ordinary Differential Equations I*, section II.10]. `atol` is one number, or one for each position and
    velocity. Steps of varying size are neither symmetric nor symplectic over many steps; constraints hold at the end of each one.
    In systems with more than 100 unknowns of all stages steps are also so short that Newton's method converges without the dense matrix of
    all stages, unless stiff forces would make them much shorter. At `rtol` of 1e-5 and below kinks of forces are seen by differences of
    the accelerations.

    References
    ----------
    L. O. Jay, *Symplectic partitioned Runge-Kutta methods for constrained Hamiltonian systems*, SIAM J. Numer. Anal. 33 (1996);
    *Specialized partitioned additive Runge-Kutta methods for systems of overdetermined DAEs with holonomic constraints*, SIAM J. Numer.
    Anal. 45 (2007); E. Hairer, C. Lubich, G. Wanner, *Geometric numerical integration*, section VII.1.

    Examples
    --------
    >>> import mbdae
    >>> run = mbdae.solve(mbdae.library.system("spatial-four-bar"), mbdae.Spark(h=1e-2, order=4), (0.0, 0.1))
    >>> run.success, bool(run.constraint_residuals[:, :2].max() < 1e-12)
    (True, True)
    """

    h: float | None = 1e-3
    order: int = 6
    pair: str = "gauss-lobatto"
    tol: float = 1e-15
    max_iter: int = 50

    def __post_init__(self) -> None:
        super().__post_init__()
        check(self.order, self.pair)

    @property
    def label(self) -> str:
        """Name, order, step size and pair for tables and legends."""
        return f"Spark({self.order}, {self.step_label}{'' if self.pair == 'gauss-lobatto' else ', ' + self.pair})"

    @property
    def order_of_steps(self) -> int:
        """See `Controlled`."""
        return int(self.order)

    def stepper(self, problem: Problem, state: State, t_end: float, rtol: float, atol: Vector) -> SparkStepper:
        """See `Controlled`."""
        return SparkStepper(self, problem, state, t_end, rtol, atol)
