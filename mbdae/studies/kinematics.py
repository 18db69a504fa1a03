"""Kinematic analysis: the motion of a mechanism without degrees of freedom, from the constraint equations alone."""

from dataclasses import dataclass

import numpy as np

from ..assemble import assemble
from ..system.assembly import State, accelerations, velocities
from ..system.continuation import follow
from ..system.system import System
from ..typing import ArrayLike, Matrix, Vector


@dataclass(frozen=True)
class ReferenceSolution:
    """A reference solution, one row per time.

    Attributes
    ----------
    t, q, v, a, lam : ndarray, shape (n,), (n, nq), (n, nv), (n, nv), (n, nc)
    source : str
        Method of computation.
    redundant : bool
        Whether constraint equations are redundant, so that the multipliers are not unique.
    """

    t: Vector
    q: Matrix
    v: Matrix
    a: Matrix
    lam: Matrix
    source: str
    redundant: bool = False


def freedom(system: System, state: State) -> int:
    """Degrees of freedom `nv - rank(Phi_q)` in a state."""
    if system.nc == 0:
        return system.nv
    return system.nv - int(np.linalg.matrix_rank(system.phi_q(state.t, state.q).toarray()))


def kinematic_reference(system: System, times: ArrayLike, state: State | None = None) -> ReferenceSolution:
    """Positions from `Phi(t, q) = 0`, velocities from `Phi_q v = nu`, accelerations and multipliers from the equations of motion.

    Positions are continued from one time to the next, see `mbdae.system.continuation`, so that the mechanism stays on its branch.

    Parameters
    ----------
    system : System
        With `Phi_q` of rank `nv` at all times: every degree of freedom is driven.
    times : array_like
        Increasing or decreasing.
    state : State, optional
        Consistent state on the branch; by default the assembled one at the first time.

    Returns
    -------
    ReferenceSolution

    Raises
    ------
    ValueError
        If the mechanism has a degree of freedom.
    AssemblyError
        If the mechanism cannot follow its drivers; the message contains the time.
    """
    times = np.atleast_1d(np.asarray(times, dtype=float))
    state = assemble(system, times[0]) if state is None else state
    left = freedom(system, state)
    if left:
        raise ValueError(f"{system.name}: the drivers leave {left} degrees of freedom at t = {state.t:g}; kinematic analysis needs none")
    states = []
    for t in times:
        state = _moved(system, state, t)
        states.append(state)
    t, q, v, a, lam = (np.array([getattr(s, name) for s in states]) for name in ("t", "q", "v", "a", "lam"))
    return ReferenceSolution(t, q, v, a, lam, "kinematic analysis", any(s.redundant for s in states))


def _moved(system: System, state: State, t: float) -> State:
    """The state at the time `t` on the branch of `state`."""
    if t == state.t:
        return state
    q = follow(system, state.t, state.q, t)
    v = velocities(system, t, q, state.v)
    a, lam, redundant = accelerations(system, t, q, v)
    return State(float(t), q, v, a, lam, redundant)
