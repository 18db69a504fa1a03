"""Projected Gauss methods [Wei]."""

from dataclasses import dataclass

from ...problems.base import Problem
from ...system.assembly import State
from ...typing import Energy, Vector
from ..projections.project import check
from .controlled import Controlled
from .stepper import GaussStepper
from .tableau import gauss


@dataclass(frozen=True)
class ProjectedGauss(Controlled):
    """Gauss methods of order `2 s` for constrained mechanisms, with projections onto constraints and energy after every step.

    The stages satisfy

        M(Q_i) W_i + Phi_q(Q_i)^T L_i = Q(t_i, Q_i, V_i, L_i),
        V_i = v0 + h sum_j a_ij W_j,   Q_i = q0 + h sum_j a_ij T(Q_j) (V_j + u),

    and `q1 = q0 + h sum_i b_i T(Q_i) (V_i + u)`, `v1 = v0 + h sum_i b_i W_i`. The constraints are

        sum_i b_i P_k(2 c_i - 1) (Phi_q(Q_i) V_i - nu(t_i, Q_i)) = 0,   k = 0 ... s - 2,
        Phi_q(q1) v1 = nu(t1, q1),   Phi(t1, q1) = 0,   sum_i b_i (M(Q_i) u + Phi_q(Q_i)^T mu) = 0,

    with Legendre's polynomials `P_k`: the stages satisfy the constraints on velocities in the mean, and the end of the step both levels.
    The method is symmetric, and `q` and `v` have order `2 s`, also with constraints that depend on time, redundant ones, friction, damping
    and stiff forces. So have `a` and `lam` with the projection of accelerations, but with stiff forces, which multiply errors of
    `q` and `v`, only in the limit of small steps. The error of the energy of conservative mechanisms stays bounded. Gauss formulas do not
    damp fast components: vibrations and transients of stiff forces need small steps, and after sudden changes `lam` may oscillate.

    With `stages_hold="ggl"` both levels of constraints hold in each stage, which has a `u_i` of its own in the place of `u`:

        Phi(t_i, Q_i) = 0,   Phi_q(Q_i) V_i = nu(t_i, Q_i),   M(Q_i) u_i + Phi_q(Q_i)^T mu_i = 0,

    as collocation on the equations of Gear, Gupta and Leimkuhler. The end satisfies the constraints by the projection of positions and
    velocities, which it needs. `q`, `v` and `lam` have order `2 s` then, too, with stiff forces in long steps `q` only; all of them have
    order `s` where forces depend on `lam`, as friction does. The method is not symmetric.

    With `stages_hold="position"` it is the method of the paper: `u = 0` and `Phi(t_i, Q_i) = 0` in all stages in the place of these
    constraints [Wei, eq. (11)]. It has order `s`, and needs the projection of positions and velocities.

    Accelerations before projections are `a1 = r a0 + sum_i d_i W_i` with `d = A^-T b`, `r = 1 - sum d = (-1)^s`, multipliers likewise
    [Wei, eqs. (10)-(12)]. `docs/projections.md` has the observed orders.

    Parameters
    ----------
    h : float or None
        Step size [s]; `None`: controlled by `rtol` and `atol` of `solve`, with a projection of accelerations, and not with `"position"`.
    stages : {1, 2, 3, 4}
    project : {"", "P", "V", "PV", "PVA", "PVAE-n", "PVAE-0"}
        Projections after every step: of positions, velocities, accelerations, and onto the energy of the previous step (`n`) or of the
        initial state (`0`) [Wei, eqs. (28)-(30)]. With accelerations the multipliers are those of the equations of motion.
    norm : {"mass", "identity"}
        Metric of the projections: the mass matrix, or the identity, without distinction of metres and radians. In a projection onto the
        energy velocities are always projected in the metric of the mass matrix, since others change the kinetic energy.
    energy : callable, optional
        The conserved quantity `energy(t, q, v) -> float`, for systems with user forces; by default the energy of the system. If a function
        is not constant along the motion, the run ends with `PROJECTION_FAILED`.
    tol : float
        Newton's method stops when the error of the velocities, relative to the largest or 1, is below it or below rounding.
    max_iter : int
        Newton iterations per step, after which the run ends with `NEWTON_FAILED`, or with step-size control the step is shortened.
    stages_hold : {"velocity", "position", "ggl"}
        Level of the constraints in the stages: velocities in the mean, positions, or both.
    first_step, max_step : float
        Step sizes [s] with step-size control; `first_step = 0`: estimated from the initial values.
    max_steps : int
        Steps after which the run ends with `TOO_MANY_STEPS`.
    controller : StepSizeController
        Of the step size; by default the elementary one.

    Raises
    ------
    ValueError
        If a parameter is invalid; by `integrate`, if the energy is not known, is not a number, or is changed by a force.

    Notes
    -----
    If Newton's method fails near a singular position, the run ends with `SINGULAR`, and the message names the constraints.
    Output at `t_eval` within a step is computed by a shorter step to that time, with all projections and the accuracy of a full step.
    With the constraints on velocities projections of positions and velocities change the state by rounding errors only, if `tol` is small.

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
    [Wei]; L. O. Jay, *Specialized Runge-Kutta methods for index 2 differential-algebraic equations*, Mathematics of Computation 75 (2006).

    Examples
    --------
    >>> import mbdae
    >>> run = mbdae.solve(mbdae.library.system("double-pendulum"), mbdae.ProjectedGauss(h=1e-2, stages=2), (0.0, 0.1))
    >>> run.success
    True
    """

    h: float | None = 1e-3
    stages: int = 3
    project: str = "PVA"
    norm: str = "mass"
    energy: Energy | None = None
    tol: float = 1e-15
    max_iter: int = 50
    stages_hold: str = "velocity"

    def __post_init__(self) -> None:
        super().__post_init__()
        gauss(self.stages, self.stages_hold)
        check("ProjectedGauss", self.project, self.norm, self.energy)
        if self.adaptive and (self.stages_hold == "position" or "A" not in self.project):
            raise ValueError("ProjectedGauss: step-size control, h=None, needs stages_hold='velocity' or 'ggl' and a projection of "
                             f"accelerations, project='PVA', 'PVAE-n' or 'PVAE-0', got {self.stages_hold!r} and {self.project!r}")

    @property
    def label(self) -> str:
        """Name, stages, step size, projection and constraints for tables and legends."""
        held = {"velocity": "", "ggl": ", GGL stages"}.get(self.stages_hold, f", {self.stages_hold} stages")
        return f"ProjectedGauss({self.stages}, {self.step_label}{', ' + self.project if self.project else ''}{held})"

    @property
    def order_of_steps(self) -> int:
        """See `Controlled`."""
        return 2 * int(self.stages)

    def stepper(self, problem: Problem, state: State, t_end: float, rtol: float, atol: Vector) -> GaussStepper:
        """See `Controlled`."""
        return GaussStepper(self, problem, state, t_end, rtol, atol)
