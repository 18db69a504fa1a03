"""Errors of a solution relative to a reference, constraint residuals, and energy drift."""

from copy import copy
from dataclasses import dataclass

import numpy as np

from ..model.forces import RSDA, TSDA, Friction
from ..model.motions import Constant
from ..results.solution import Solution
from ..system.system import System
from ..typing import Integers, Matrix, Vector
from .kinematics import ReferenceSolution

ROUNDING = 1e-14  # of times, relative to the last one
MAX_POINTS = 200  # of a long solution at which residuals and energies are evaluated


@dataclass(frozen=True)
class Errors:
    """Errors of a solution in SI units; `None` for an empty block.

    At each time the error of a block is its largest component in absolute value. `q`, `v`, `lam` are the root mean squares of these over
    all times except the first, `q_max`, `v_max`, `lam_max` the maxima. The first time is that of the given initial values.
    """

    q: float | None
    v: float | None
    lam: float | None
    q_max: float | None
    v_max: float | None
    lam_max: float | None


def errors(solution: Solution, reference: ReferenceSolution) -> Errors:
    """Errors of positions, velocities and multipliers.

    The error of positions is `q (-) q_ref` of the system: that of rotations is the angle between them [rad], and a quaternion and its
    opposite are equal. With redundant constraints the multipliers are not unique, and the constraint forces `Phi_q^T lam` are compared
    instead.

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
    """Root mean square and maximum over the times of the largest component."""
    if e.size == 0:
        return None, None
    worst = np.abs(e[1:] if len(e) > 1 else e).max(axis=1)
    return float(np.sqrt(np.mean(worst**2))), float(worst.max())


def at_times(solution: Solution, times: Vector) -> Solution | None:
    """The solution at these times if they are among its own up to rounding, as they often are with a fixed step, otherwise `None`."""
    if len(solution.t) < 2:
        return None
    order = np.argsort(solution.t)
    t = solution.t[order]
    right = np.clip(np.searchsorted(t, times), 1, len(t) - 1)
    at = order[np.where(times - t[right - 1] < t[right] - times, right - 1, right)]
    if np.abs(solution.t[at] - times).max(initial=0.0) > ROUNDING * np.abs(times).max(initial=0.0):
        return None
    found = copy(solution)
    found.t, found.q, found.v, found.a, found.lam = times, solution.q[at], solution.v[at], solution.a[at], solution.lam[at]
    return found


def constraint_residuals(solution: Solution) -> tuple[float, ...]:
    """The largest `|Phi|`, `|Phi_q v - nu|`, `|Phi_q a - gamma|` after the initial time, at no more than 200 points of a solution."""
    at = _sample(len(solution.t))
    levels = solution._residuals(at[1:] if len(at) > 1 else at)
    return tuple(float(x) for x in levels.max(axis=0))


def energy_drift(solution: Solution) -> float | None:
    """Largest change of the total energy relative to the largest kinetic energy; `None` if the energy is not conserved."""
    if not conserves_energy(solution.system):
        return None
    at = _sample(len(solution.t))
    states = list(zip(solution.t[at], solution.q[at], solution.v[at]))
    total = np.array([solution.system.energy(t, q, v) for t, q, v in states])
    kinetic = max(solution.system.kinetic_energy(t, q, v) for t, q, v in states)
    change = float(np.abs(total - total[0]).max())
    return change / kinetic if kinetic > 0.0 else change


def conserves_energy(system: System) -> bool:
    """Whether the total energy of the system is conserved.

    It is if no constraint depends on time and the only forces are gravity and linear springs. False for systems of user functions, about
    which nothing is known.
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
    """Indices of the first, the last, and equidistant points between them."""
    return np.unique(np.linspace(0, n - 1, min(n, MAX_POINTS)).round().astype(int))
