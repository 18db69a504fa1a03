"""Positions that follow the drivers through time, in steps so small that the mechanism stays on its branch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..typing import Vector
from .assembly import AssemblyError, polished, velocities

if TYPE_CHECKING:
    from .system import System

FARTHEST = 0.3  # rad or m that a coordinate may move in one step
TRUST = 0.1  # share of a predicted displacement by which Newton's method may correct it
SHORTEST = 1e-9  # of the whole interval
REST = 1e-6  # correction that is allowed where the mechanism rests


def follow(system: System, t: float, q: Vector, goal: float, longest: float = np.inf) -> Vector:
    """Positions at the time `goal`, carried there by the drivers from consistent ones at the time `t`.

    Velocities are those of least kinetic energy that the constraints allow, so what no driver moves follows as little as possible. Newton's
    method starts from the extrapolated positions. Where a coordinate moves by more than 0.3 rad or m, or is corrected by more than a tenth
    of what it moves, the step is divided.

    Parameters
    ----------
    system : System
    t : float
    q : ndarray, shape (nq,)
        `Phi(t, q) = 0`.
    goal : float
    longest : float
        Longest step [s].

    Returns
    -------
    ndarray, shape (nq,)

    Raises
    ------
    AssemblyError
        If the mechanism cannot follow its drivers; the message says when.
    """
    shortest, h = SHORTEST * abs(goal - t), _limited(goal - t, longest)
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
    """Positions at `goal`, or `None` if they are too far away to be sure of the branch."""
    d = _displacement(system, t, q, goal - t)
    if np.abs(d).max(initial=0.0) > FARTHEST:
        return None
    predicted = system.retract(q, d)
    try:
        new = polished(system, goal, predicted)
    except AssemblyError:
        return None
    corrected = np.abs(system.difference(new, predicted)).max(initial=0.0)
    return new if corrected <= TRUST * np.abs(d).max(initial=0.0) + REST else None


def _displacement(system: System, t: float, q: Vector, h: float) -> Vector:
    """`h v + h^2/2 a` with the velocities of least kinetic energy and the smallest accelerations that the constraints allow with them."""
    v = velocities(system, t, q, np.zeros(system.nv))
    a = system.solve_kkt(t, q, np.zeros(system.nv), system.gamma(t, q, v))[0]
    return h * (v + 0.5 * h * a)
