"""Kinematic analysis: the motion of a mechanism whose drivers leave it no freedom, without integrating anything."""

from dataclasses import dataclass

import numpy as np

from ..system.assembly import AssemblyError, State, accelerations, assemble, positions, velocities

FARTHEST = 0.3  # rad or m that a coordinate may move in one step
TRUST = 0.1  # share of a predicted displacement by which Newton's method may correct it
SHORTEST = 1e-9  # of the whole interval
REST = 1e-6  # correction that is allowed where the mechanism rests


@dataclass(frozen=True)
class ReferenceSolution:
    """A motion to measure others against, one row per time.

    Attributes
    ----------
    t, q, v, a, lam : ndarray, shape (n,), (n, nq), (n, nv), (n, nv), (n, nc)
    source : str
        How it was found.
    redundant : bool
        Whether some constraint equations follow from others, so that the multipliers are not unique.
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    lam: np.ndarray
    source: str
    redundant: bool = False


def freedom(system, state):
    """Degrees of freedom `nv - rank(Phi_q)` in a state; redundant constraints count once."""
    if system.nc == 0:
        return system.nv
    return system.nv - int(np.linalg.matrix_rank(system.phi_q(state.t, state.q).toarray()))


def kinematic_reference(system, times, state=None):
    """Positions from `Phi(t, q) = 0`, velocities from `Phi_q v = nu`, accelerations and multipliers from the equations of motion.

    Newton's method starts from the extrapolated neighbouring state. Where a coordinate moves by more than 0.3 rad or m, or is corrected by
    more than a tenth of what it moves, the step between the two is divided, so that the mechanism stays on its branch.

    Parameters
    ----------
    system : System
        Of rank `nv` everywhere on the way: every degree of freedom is driven.
    times : array_like
        In order, forward or backward.
    state : State, optional
        Consistent state that names the branch; by default the assembled one at the first time.

    Returns
    -------
    ReferenceSolution

    Raises
    ------
    ValueError
        If the mechanism has a freedom left.
    AssemblyError
        If the mechanism cannot follow its drivers; the message says when.
    """
    times = np.atleast_1d(np.asarray(times, dtype=float))
    state = assemble(system, times[0]) if state is None else state
    left = freedom(system, state)
    if left:
        raise ValueError(f"{system.name}: the drivers leave {left} degrees of freedom at t = {state.t:g}; kinematic analysis needs none")
    smallest = SHORTEST * (abs(times[-1] - state.t) + abs(times[0] - state.t))
    states = []
    for t in times:
        state = _moved(system, state, t, smallest)
        states.append(state)
    t, q, v, a, lam = (np.array([getattr(s, name) for s in states]) for name in ("t", "q", "v", "a", "lam"))
    return ReferenceSolution(t, q, v, a, lam, "kinematic analysis", any(s.redundant for s in states))


def _moved(system, state, goal, smallest):
    """The state at `goal` on the branch of `state`."""
    h = goal - state.t
    while state.t != goal:
        t = goal if abs(goal - state.t) <= abs(h) else state.t + h
        step = t - state.t
        new = _nearby(system, state, t)
        if new is not None:
            state, h = new, 2.0 * step
        elif abs(step) <= smallest:
            raise AssemblyError(f"{system.name} cannot follow its drivers beyond t = {state.t:.9g}: is there a dead point?")
        else:
            h = 0.25 * step
    return state


def _nearby(system, state, t):
    """The state at `t`, or `None` if it is too far away to be sure of the branch."""
    h = t - state.t
    d = h * (state.v + 0.5 * h * state.a)
    if np.abs(d).max() > FARTHEST:
        return None
    predicted = system.retract(state.q, d)
    try:
        q = positions(system, t, predicted)
        v = velocities(system, t, q, state.v)
    except AssemblyError:
        return None
    if np.abs(system.difference(q, predicted)).max() > TRUST * np.abs(d).max() + REST:
        return None
    a, lam, redundant = accelerations(system, t, q, v)
    return State(float(t), q, v, a, lam, redundant)
