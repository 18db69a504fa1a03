"""Projected Gauss methods [Wei]."""

from collections.abc import Callable
from dataclasses import dataclass

from ..control.driver import Driver
from ..one_step import FixedStep
from ..projections.project import check
from .stepper import GaussStepper
from .tableau import gauss


@dataclass(frozen=True)
class ProjectedGauss(FixedStep):
    """Gauss formulas on the index-3 equations, with projections onto constraints and energy after every step.

    In the stages, which are coupled,

        M(Q_i) W_i + Phi_q(Q_i)^T L_i = Q(t_i, Q_i, V_i),   Phi(t_i, Q_i) = 0,
        V_i = v0 + h sum_j a_ij W_j,   Q_i = q0 + h sum_j a_ij T(Q_j) V_j,

    then `q1 = q0 + h sum_i b_i T(Q_i) V_i`, `v1 = v0 + h sum_i b_i W_i`, and with `d = A^-T b`, `r = 1 - sum d = (-1)^s` accelerations
    `a1 = r a0 + sum_i d_i W_i` and multipliers alike [Wei, eqs. (10)-(12)]. The order is `2 s` without constraints. With them it takes the
    projection of positions and velocities to come near it; `docs/projections.md` has the orders found.

    Parameters
    ----------
    h : float
        Step [s].
    stages : {1, 2, 3, 4}
    project : {"", "P", "V", "PV", "PVA", "PVAE-n", "PVAE-0"}
        What is projected after every step: positions, velocities, accelerations, and the energy onto that of the step before (`n`) or of
        the start (`0`) [Wei, eqs. (28)-(30)]. With accelerations the multipliers are set to those of the equations of motion.
    norm : {"mass", "identity"}
        What is nearest: in the metric of the mass matrix, or by the sum of squares, metres and radians alike. Together with the energy
        velocities are projected in the metric of the mass matrix in any case: others change the kinetic energy.
    energy : callable, optional
        `energy(t, q, v) -> float`, what is conserved, for mechanisms whose forces do not tell, such as user forces; by default the energy
        of the system. Energies that are functions are checked: where one is found to change along the motion the run ends with
        `PROJECTION_FAILED`.
    tol : float
        Newton stops when what is left of the velocities, relative to the largest or 1, is shorter than this or than rounding.
    max_iter : int
        Newton iterations per step before the run ends with `NEWTON_FAILED`.

    Raises
    ------
    ValueError
        If a field makes no sense; by `integrate`, if the energy is not known, is no number, or a force is known to change it.

    Notes
    -----
    Where Newton's method fails before a singular position the run ends with `SINGULAR`, and the message names the constraints.
    Output at `t_eval` between two steps comes from a shorter step to that time, with all of the accuracy and all projections.
    """

    h: float = 1e-3
    stages: int = 3
    project: str = "PVA"
    norm: str = "mass"
    energy: Callable | None = None
    tol: float = 1e-15
    max_iter: int = 50

    def __post_init__(self):
        super().__post_init__()
        gauss(self.stages)
        check("ProjectedGauss", self.project, self.norm, self.energy)

    @property
    def label(self):
        """Name, stages, step and projection for tables and legends."""
        return f"ProjectedGauss({self.stages}, h={self.h:g}{', ' + self.project if self.project else ''})"

    def stepper(self, problem, state, t_end):
        """The integration from a state."""
        return GaussStepper(self, problem, state, t_end)

    def integrate(self, problem, state, t_end, *, rtol=None, atol=None, t_eval=None, every=1, progress=None, until=None):
        """See `mbdae.driver.method`; tolerances have no meaning here, and the last step takes what is left."""
        return Driver(self.stepper(problem, state, t_end), t_eval=t_eval, every=every, progress=progress, until=until).to_end()
