"""Projected Gauss methods [Wei]."""

from dataclasses import dataclass

from ...problems.base import Problem
from ...system.assembly import State
from ...typing import Energy
from ..one_step import FixedStep
from ..projections.project import check
from .stepper import GaussStepper
from .tableau import gauss


@dataclass(frozen=True)
class ProjectedGauss(FixedStep):
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

    With `stages_hold="position"` it is the method of the paper: `u = 0` and `Phi(t_i, Q_i) = 0` in all stages in the place of these
    constraints [Wei, eq. (11)]. It has order `s`, and needs the projection of positions and velocities.

    Accelerations before projections are `a1 = r a0 + sum_i d_i W_i` with `d = A^-T b`, `r = 1 - sum d = (-1)^s`, multipliers likewise
    [Wei, eqs. (10)-(12)]. `docs/projections.md` has the observed orders.

    Parameters
    ----------
    h : float
        Step size [s].
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
        Newton iterations per step, after which the run ends with `NEWTON_FAILED`.
    stages_hold : {"velocity", "position"}
        Level of the constraints in the stages.

    Raises
    ------
    ValueError
        If a parameter is invalid; by `integrate`, if the energy is not known, is not a number, or is changed by a force.

    Notes
    -----
    If Newton's method fails near a singular position, the run ends with `SINGULAR`, and the message names the constraints.
    Output at `t_eval` within a step is computed by a shorter step to that time, with all projections and the accuracy of a full step.
    With the constraints on velocities projections of positions and velocities change the state by rounding errors only, if `tol` is small.

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

    h: float = 1e-3
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

    @property
    def label(self) -> str:
        """Name, stages, step size, projection and constraints for tables and legends."""
        held = "" if self.stages_hold == "velocity" else f", {self.stages_hold} stages"
        return f"ProjectedGauss({self.stages}, h={self.h:g}{', ' + self.project if self.project else ''}{held})"

    def stepper(self, problem: Problem, state: State, t_end: float) -> GaussStepper:
        """The integration from a state."""
        return GaussStepper(self, problem, state, t_end)
