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
    """Gauss collocation on the index-3 equations, with projections onto constraints and energy after every step.

    The stages satisfy

        M(Q_i) W_i + Phi_q(Q_i)^T L_i = Q(t_i, Q_i, V_i),   Phi(t_i, Q_i) = 0,
        V_i = v0 + h sum_j a_ij W_j,   Q_i = q0 + h sum_j a_ij T(Q_j) V_j,

    and `q1 = q0 + h sum_i b_i T(Q_i) V_i`, `v1 = v0 + h sum_i b_i W_i`. Accelerations are `a1 = r a0 + sum_i d_i W_i` with `d = A^-T b`,
    `r = 1 - sum d = (-1)^s`, multipliers likewise [Wei, eqs. (10)-(12)]. The order is `2 s` without constraints; with constraints orders
    near `2 s` need the projection of positions and velocities. `docs/projections.md` has the observed orders.

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

    Raises
    ------
    ValueError
        If a parameter is invalid; by `integrate`, if the energy is not known, is not a number, or is changed by a force.

    Notes
    -----
    If Newton's method fails near a singular position, the run ends with `SINGULAR`, and the message names the constraints.
    Output at `t_eval` within a step is computed by a shorter step to that time, with all projections and the accuracy of a full step.
    """

    h: float = 1e-3
    stages: int = 3
    project: str = "PVA"
    norm: str = "mass"
    energy: Energy | None = None
    tol: float = 1e-15
    max_iter: int = 50

    def __post_init__(self) -> None:
        super().__post_init__()
        gauss(self.stages)
        check("ProjectedGauss", self.project, self.norm, self.energy)

    @property
    def label(self) -> str:
        """Name, stages, step size and projection for tables and legends."""
        return f"ProjectedGauss({self.stages}, h={self.h:g}{', ' + self.project if self.project else ''})"

    def stepper(self, problem: Problem, state: State, t_end: float) -> GaussStepper:
        """The integration from a state."""
        return GaussStepper(self, problem, state, t_end)
