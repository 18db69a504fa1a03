"""How far a solution is from a reference, from its constraints, and from the conservation of energy."""

from dataclasses import dataclass

import numpy as np

from ..model.forces import RSDA, TSDA, Friction
from ..model.motions import Constant
from ..results.solution import Solution
from ..system.system import System
from ..typing import Integers, Matrix
from .kinematics import ReferenceSolution

MOST_POINTS = 200  # points at which residuals and energies of a long solution are looked at


@dataclass(frozen=True)
class Errors:
    """Errors of a solution in SI units; `None` where there is nothing to compare.

    At each time the error of a block is its largest component in absolute value. `q`, `v`, `lam` are the root mean squares of these over
    all times but the first, `q_max`, `v_max`, `lam_max` the largest. The first time is the start, which is given and not computed.
    """

    q: float | None
    v: float | None
    lam: float | None
    q_max: float | None
    v_max: float | None
    lam_max: float | None


def errors(solution: Solution, reference: ReferenceSolution) -> Errors:
    """Errors of positions, velocities and multipliers.

    Positions are compared by `q (-) q_ref` of the system, so that rotations differ by the angle between them [rad] and a quaternion and
    its opposite are the same. Where constraints are redundant the multipliers are not unique; then the reactions `Phi_q^T lam` are
    compared in their place.

    Parameters
    ----------
    solution : Solution
    reference : ReferenceSolution
        At the same times.

    Returns
    -------
    Errors

    Raises
    ------
    ValueError
        If the times differ.
    """
    if solution.t.shape != reference.t.shape or not np.allclose(solution.t, reference.t, rtol=1e-9, atol=1e-12):
        raise ValueError("errors: solution and reference must be given at the same times")
    system = solution.system
    q = np.array([system.difference(x, y) for x, y in zip(solution.q, reference.q)])
    v = solution.v - reference.v
    lam = _multipliers(solution, reference)
    (q_rms, q_max), (v_rms, v_max), (lam_rms, lam_max) = (_size(e) for e in (q, v, lam))
    return Errors(q_rms, v_rms, lam_rms, q_max, v_max, lam_max)


def _multipliers(solution: Solution, reference: ReferenceSolution) -> Matrix:
    d = solution.lam - reference.lam
    if not reference.redundant:
        return d
    system = solution.system
    return np.array([system.phi_q(t, q).T @ x for t, q, x in zip(reference.t, reference.q, d)])


def _size(e: Matrix) -> tuple[float, float] | tuple[None, None]:
    """Root mean square over the times of the largest component, and the largest of all."""
    if e.size == 0:
        return None, None
    worst = np.abs(e[1:] if len(e) > 1 else e).max(axis=1)
    return float(np.sqrt(np.mean(worst**2))), float(worst.max())


def constraint_residuals(solution: Solution) -> tuple[float, ...]:
    """The largest `|Phi|`, `|Phi_q v - nu|`, `|Phi_q a - gamma|` after the start, at no more than about 200 points of a solution."""
    at = _sample(len(solution.t))
    levels = np.array([solution._residuals(k) for k in (at[1:] if len(at) > 1 else at)])
    return tuple(float(x) for x in levels.max(axis=0))


def energy_drift(solution: Solution) -> float | None:
    """Largest change of the total energy since the start, in units of the largest kinetic energy; `None` if it need not be conserved."""
    if not conserves_energy(solution.system):
        return None
    at = _sample(len(solution.t))
    states = list(zip(solution.t[at], solution.q[at], solution.v[at]))
    total = np.array([solution.system.energy(t, q, v) for t, q, v in states])
    kinetic = max(solution.system.kinetic_energy(t, q, v) for t, q, v in states)
    change = float(np.abs(total - total[0]).max())
    return change / kinetic if kinetic > 0.0 else change


def conserves_energy(system: System) -> bool:
    """Whether the total energy of the system should stay what it is.

    It should if no constraint depends on time and no force but gravity and linear springs acts. Of a system of user functions nothing is
    known, and the answer is no.
    """
    mechanism = system.mechanism
    if mechanism is None:
        return False
    fixed = all(isinstance(getattr(p, "f", Constant(0.0)), Constant) for p in mechanism.primitives)
    return fixed and all(_is_conservative(f) for f in mechanism.forces)


def _is_conservative(force: object) -> bool:
    if isinstance(force, (TSDA, RSDA)):
        return force.c == 0.0 and force.law is None
    return isinstance(force, Friction) and force.mu == 0.0


def _sample(n: int) -> Integers:
    """Indices of the first, the last, and evenly spread points between them."""
    return np.unique(np.linspace(0, n - 1, min(n, MOST_POINTS)).round().astype(int))
