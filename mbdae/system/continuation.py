"""Continuation in time: positions follow the drivers in steps so small that the mechanism stays on its branch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..typing import Vector
from .assembly import AssemblyError, polished, velocities

if TYPE_CHECKING:
    from .system import System

MAX_DISPLACEMENT = 0.3  # rad or m, of a coordinate in one step
MAX_CORRECTION = 0.1  # of the predicted positions by Newton's method, relative to the displacement
MIN_STEP = 1e-9  # relative to the interval
CORRECTION_AT_REST = 1e-6  # rad or m, where the displacement is zero


def follow(system: System, t: float, q: Vector, goal: float, longest: float = np.inf) -> Vector:
    """Positions at the time `goal` on the branch of consistent ones at the time `t`, by predictor and corrector.

    The predictor extrapolates with the velocities of least kinetic energy, `min v . M v` subject to `Phi_q v = nu`. The corrector is
    Newton's method. A step is rejected where a coordinate moves by more than 0.3 rad or m, or the correction is larger than a tenth of the
    displacement.

    Parameters
    ----------
    system : System
    t : float
    q : ndarray, shape (nq,)
        `Phi(t, q) = 0`.
    goal : float
    longest : float
        Bound on the step [s].

    Returns
    -------
    ndarray, shape (nq,)

    Raises
    ------
    AssemblyError
        If the step becomes too small; the message says when.
    """
    shortest, h = MIN_STEP * abs(goal - t), _limited(goal - t, longest)
    while t != goal:
        at = goal if abs(goal - t) <= abs(h) else t + h
        step, new = at - t, _nearby(system, t, q, at)
        if new is not None:
            t, q, h = at, new, _limited(2.0 * step, longest)
        elif abs(step) <= shortest:
            raise AssemblyError(f"{system.name} cannot follow its drivers beyond t = {t:.9g}: is there a dead point?")
        else:
            h = 0.25 * step
    return q


def _limited(h: float, longest: float) -> float:
    return float(np.clip(h, -longest, longest))


def _nearby(system: System, t: float, q: Vector, goal: float) -> Vector | None:
    """Positions at `goal`; `None` if the step is rejected."""
    d = _displacement(system, t, q, goal - t)
    if np.abs(d).max(initial=0.0) > MAX_DISPLACEMENT:
        return None
    predicted = system.retract(q, d)
    try:
        new = polished(system, goal, predicted)
    except AssemblyError:
        return None
    corrected = np.abs(system.difference(new, predicted)).max(initial=0.0)
    return new if corrected <= MAX_CORRECTION * np.abs(d).max(initial=0.0) + CORRECTION_AT_REST else None


def _displacement(system: System, t: float, q: Vector, h: float) -> Vector:
    """`h v + h^2/2 a`, with `v` and `a` of minimum norm in the mass metric that satisfy the constraints."""
    v = velocities(system, t, q, np.zeros(system.nv))
    a = system.solve_kkt(t, q, np.zeros(system.nv), system.gamma(t, q, v)).x
    return h * (v + 0.5 * h * a)
