"""RATTLE with free rigid bodies, and its compositions."""

from dataclasses import dataclass

from ...problems.base import Problem
from ...system.assembly import State
from ...typing import Density
from ..one_step import FixedStep
from .composition import weights
from .stepper import RattleStepper


@dataclass(frozen=True)
class Rattle(FixedStep):
    """RATTLE on index-3 equations: second order, symmetric, symplectic; and its compositions of orders four, six and eight.

    One step of order two, with `G = Phi_q`, the forces `F = Q + omega x J omega` without the gyroscopic torques, and the motion `D_h` of
    free bodies during the time `h`, in which their momenta are constant in space:

        M v+ = M v0 + h/2 F(t0, q0, v0, lam0) - G(q0)^T mu0,  (q1, v-) = D_h(q0, v+),   Phi(t1, q1) = 0,
        M v1 = M v- + h/2 F(t1, q1, v1, lam1) - G(q1)^T mu1,  G(q1) v1 = nu(t1, q1).

    `D_h` is `q0 (+) h v+` for particles, planar bodies and translations, the exact rotation for bodies with two equal moments of inertia,
    and a symmetric composition of exact rotations for others, see `mbdae.integrators.rattle.free_body`. It is the discrete Euler-Poincare
    equation of the rotation, since it turns the body and keeps its angular momentum in space; a gyroscopic torque `-omega x J omega` at the
    start of the step would be of order one. `a` and `lam` are those of the equations of motion at `(t1, q1, v1)`, with minimum norm where
    constraints are redundant; `lam` of joint friction in `F` as well.

    - Order: `order` in `q`, `v`, `a` and `lam`, also with constraints that depend on time, redundant ones, damping, stiff springs that the
      step resolves, smooth friction and forces in Python. It is lower where forces have kinks or jumps.
    - Symmetric: a step back from its end leads to its start. Forces that depend on velocities are explicit in the first half of a step and
      implicit in the second, which is its mirror image; others are explicit, so that `h` times the largest frequency must stay below 2.0,
      2.7, 2.5 and 3.1 for the four orders.
    - Symplectic for forces with a potential, fixed `h` and constraints that do not depend on time: the error of the energy stays bounded.
      Linear and angular momenta that the equations conserve are conserved to rounding.

    The parts of a composed step stay within it. Some go back in time, so that damping must be slow beside them.

    Parameters
    ----------
    h : float
        Step size [s].
    order : {2, 4, 6, 8}
        A step consists of 1, 5, 9 or 17 parts. Forces that depend on velocities make a part twice as expensive.
    tol : float
        Newton's method stops when the error of positions or velocities, relative to the largest or 1, is below it or below rounding.
    max_iter : int
        Iterations for positions or velocities, after which the run ends with `NEWTON_FAILED`.
    density : callable, optional
        `density(t, q, v) -> float`, positive and the same for `-v`: the steps have the length `h / rho`, with `rho_- rho_+` the square of
        the density at the state between two steps. Both ends of a step count alike, so that the error of the energy stays bounded, too, for
        motions that are periodic or nearly so; the steps are no longer symplectic. It takes some 40 microseconds a step.

    Raises
    ------
    ValueError
        If a parameter is invalid; by `integrate`, if the mass matrix is not constant: in joint coordinates, for systems of functions with
        `kinematics` or a mass matrix that depends on the position.

    Notes
    -----
    Output within a step is computed by a shorter step to that time. Where a friction force jumps, at the end of sliding with
    `smooth=False`, there may be no velocities that satisfy the equations, and the run ends with `NEWTON_FAILED`.

    References
    ----------
    H. C. Andersen, *Rattle: a velocity version of the Shake algorithm*, J. Comput. Phys. 52 (1983); A. Dullweber, B. Leimkuhler,
    R. McLachlan, *Symplectic splitting methods for rigid body molecular dynamics*, J. Chem. Phys. 107 (1997); J. Touma, J. Wisdom,
    *Lie-Poisson integrators for rigid body dynamics in the solar system*, Astron. J. 107 (1994); T. Holder, B. Leimkuhler, S. Reich,
    *Explicit variable step-size and time-reversible integration*, Appl. Numer. Math. 39 (2001); E. Hairer, C. Lubich, G. Wanner,
    *Geometric numerical integration*, sections V.3, VII.1.4 and VIII.3.

    Examples
    --------
    >>> import mbdae
    >>> run = mbdae.solve(mbdae.library.system("heavy-top"), mbdae.Rattle(h=1e-3, order=4), (0.0, 0.1))
    >>> run.success, bool(abs(run.energy - run.energy[0]).max() < 1e-5 * run.energy[0])
    (True, True)
    """

    h: float = 1e-3
    order: int = 2
    tol: float = 1e-16
    max_iter: int = 50
    density: Density | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        weights(self.order)
        if not (self.density is None or callable(self.density)):
            raise ValueError(f"Rattle: density must be callable or None, got {self.density!r}")

    @property
    def step_size(self) -> float | None:
        """See `Method`."""
        return self.h if self.density is None else None

    @property
    def label(self) -> str:
        """Name, order and step size for tables and legends."""
        return f"Rattle({self.order}, h={self.h:g}{', density' if self.density else ''})"

    def stepper(self, problem: Problem, state: State, t_end: float) -> RattleStepper:
        """The integration from a state."""
        return RattleStepper(self, problem, state, t_end)
