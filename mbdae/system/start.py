"""Consistent initial values at any time, on the branches of the drivers and with the given velocities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..typing import ArrayLike, Matrix, Tolerance, Vector
from . import distance
from .assembly import AssemblyError, State, completed
from .branches import closed, mismatch, moves, near_guess, off_branch, opposite
from .continuation import follow
from .given import check_given, velocities_with
from .nearest import POSITION_TOL

if TYPE_CHECKING:
    from .system import System

GUESS_TOL = 1e-3  # residual of the driven constraints at the guess, relative to the size of the coordinates
MIN_STEPS = 16  # of the continuation from t = 0
QUATERNION_TOL = 1e-2  # drift of the length of a quaternion
# of a given state, relative to the sizes of coordinates, velocities, forces: states of methods with large steps or drift pass
POSITION_VIOLATION, VELOCITY_VIOLATION, FORCE_RESIDUAL = 1e-3, 5e-2, 1e-1
SHORT_ROW = 1e-3  # rows of Phi_q that are shorter, relative to the longest one, count as this long: they may vanish
REST_ACCELERATION = 1e-6  # m/s^2 or rad/s^2 that are no acceleration
ASSEMBLED = 100.0 * POSITION_TOL  # distance of assembled states from the constraints, at most
NOTICED = 0.1  # of the tolerances: distance that error tests notice
ROUNDING, CORRECTIONS = 1e-16, 5  # of Newton's method for the nearest positions


def start_at(system: System, t: float = 0.0, q: ArrayLike | None = None, v: ArrayLike | None = None) -> State:
    """The consistent state at the time `t`; see `mbdae.assemble`."""
    t = float(_finite(t, (), "t"))
    system.redundancy  # noqa: B018  # determined once, before the first factorisation
    given = None if v is None else _numbers(v, (system.nv,), "v")
    if given is not None and np.isinf(given).any():
        raise ValueError(f"assemble: v must be finite, or NaN where it is free, got {given}")
    if q is None and system.cartesian is not None:
        return _in_joint_coordinates(system, t, given)
    q, carried = _own_positions(system, t) if q is None else (closed(system, t, _finite(q, (system.nq,), "q")), True)
    guess = system.velocity_guess() if given is None else given
    found = velocities_with(system, t, q, guess)
    if np.isnan(given).any() if given is not None else system.mechanism is not None and not carried:
        check_given(system, t, q, guess, found)
    return completed(system, t, q, found)


def _in_joint_coordinates(system: Any, t: float, given: Vector | None) -> State:
    """The state that the bodies have in Cartesian coordinates."""
    if t == 0.0:
        q, v = system.initial_guess()
    else:
        state = start_at(system.cartesian, t)
        q, v = system.from_cartesian(state.q, state.v, state.t)
    if given is not None:
        v = velocities_with(system, t, q, given)
        check_given(system, t, q, given, v)
    return completed(system, t, q, v)


def check_state(system: System, state: State) -> None:
    """Check a user's state: quaternions have length one, driven angles are on the branch of their drivers, and the equations are satisfied
    on all three levels as far as methods with large steps or drift satisfy them.

    Raises
    ------
    ValueError
        Names the body, the driver or the constraint.
    """
    norms = np.linalg.norm(state.q[system.quaternions["q"][:, None] + np.arange(4)], axis=1)
    turned = np.abs(norms - 1.0) > QUATERNION_TOL
    if turned.any():
        k = int(np.argmax(turned))
        raise ValueError(f"state.q: the quaternion of {system.turning_bodies[k]!r} must have length 1, it has {norms[k]:.9g}")
    wrong = off_branch(system, state.t, state.q)
    if wrong:
        raise ValueError(f"state.q: {opposite(system, state.t, wrong)}; let mbdae.assemble make the state")
    known = bool(state.a.any() or state.lam.any())  # in singular positions all are zero
    levels, terms = distance.residuals(*_contiguous(state), known, system.model, system._work)
    system.callbacks.check()
    _check_constraints(system, state, levels)
    if known:
        _check_motion(terms)


def refined(system: System, state: State, rtol: float, atol: Tolerance, assembled: bool) -> State:
    """The state, moved onto the constraints if it is off them by more than the error test of a method with these tolerances would notice.

    What the first step removes of the distance counts as its error, which no step size reduces. An `assembled` state is as near as
    `ASSEMBLED`, and is not examined for tolerances larger than that.
    """
    least = float(np.min(atol))
    if system.nc == 0 or (assembled and least > ASSEMBLED):
        return state
    near, u = np.empty(system.nq), np.empty(system.nv)
    t, q, v, *_ = _contiguous(state)
    found = distance.onto_constraints(t, q, v, CORRECTIONS, system.model, system._work, near, u)
    system.callbacks.check()
    noticed = NOTICED * rtol, NOTICED * least, ROUNDING
    if not (found and (distance.exceeds(near, q, *noticed) or distance.exceeds(u, v, *noticed))):
        return state
    try:
        return completed(system, state.t, near, state.v)
    except (AssemblyError, FloatingPointError) as error:
        if system.callbacks.has_raised(error):
            raise
        return state  # left to the method, whose failure names the cause


def _check_constraints(system: System, state: State, levels: Matrix) -> None:
    """Refuse positions and velocities that are far from the constraints: a violation relative to the length of its row of `Phi_q`."""
    if system.nc == 0:
        return
    if not np.isfinite(levels).all():
        system.phi(state.t, state.q), system.phi_q_entries(state.t, state.q), system.nu(state.t, state.q)  # one of them raises
    positions, velocities, length = levels
    length = np.maximum(length, SHORT_ROW * length.max() + np.finfo(float).tiny)
    for x, violation, tol, what in ((state.q, positions, POSITION_VIOLATION, "state.q: the constraint"),
                                    (state.v, velocities, VELOCITY_VIOLATION, "state.v: the time derivative of the constraint")):
        excess = np.abs(violation) / length
        k = int(np.argmax(excess))
        if excess[k] > tol * (1.0 + np.abs(x).max()):
            raise ValueError(f"{what} {system.labels[k]!r} is violated by {violation[k]:.3g}; {_MADE}")


def _check_motion(terms: Matrix) -> None:
    """Refuse accelerations and multipliers that are far from the equations of motion; forces without a value are left to the run."""
    if not np.isfinite(terms).all():
        return
    force, inertia, reaction, masses = terms
    size = np.abs(terms[:3]).max(initial=0.0)
    residual = np.abs(inertia + reaction - force).max(initial=0.0)
    if residual > FORCE_RESIDUAL * size + REST_ACCELERATION * np.abs(masses).max(initial=0.0):
        raise ValueError(f"state.a, state.lam: the residual of the equations of motion is {residual:.3g}; {_MADE}")


_MADE = "mbdae.assemble(system, t, state.q, state.v) makes the state consistent"


def _own_positions(system: System, t: float) -> tuple[Vector, bool]:
    """Positions from the system's own guess, and whether they come by continuation from `t = 0`."""
    guess = system.initial_guess().q
    if t == 0.0 or not moves(system) or _belongs(system, t, guess):
        return closed(system, t, guess), False
    q = _followed(system, t, guess)
    return (closed(system, t, guess), False) if q is None else (q, True)


def _belongs(system: System, t: float, guess: Vector) -> bool:
    """Whether the guess is meant for the time `t` rather than for `t = 0`: by its residuals at both times."""
    try:
        first, still = mismatch(system, 0.0, guess), system.mechanism is None and _rests(system, t, guess)
    except Exception:  # of a motion, say, that is undefined at t = 0
        system.callbacks.forget()
        return True
    fits = first <= GUESS_TOL * (1.0 + np.abs(guess).max(initial=0.0))
    return still or (not fits and mismatch(system, t, guess) < 0.5 * first)


def _rests(system: System, t: float, guess: Vector) -> bool:
    """Whether the constraints of user functions are the same at `t` as at 0."""
    return np.array_equal(system.phi(0.0, guess), system.phi(t, guess)) and not system.nu(t, guess).any()


def _followed(system: System, t: float, guess: Vector) -> Vector | None:
    """Positions by continuation from the guess at `t = 0`; `None` if it cannot be assembled there."""
    try:
        first = closed(system, 0.0, guess)
    except AssemblyError:
        return None
    try:
        return near_guess(system, t, follow(system, 0.0, first, t, abs(t) / MIN_STEPS), guess)
    except AssemblyError as error:
        raise AssemblyError(f"{error} The guess of the bodies was followed from t = 0; give positions near those at t = {t:g}") from None


def _finite(x: ArrayLike, shape: tuple[int, ...], what: str) -> Vector:
    """A guess of the user as an array."""
    x = _numbers(x, shape, what)
    if not np.isfinite(x).all():
        raise ValueError(f"assemble: {what} must be finite, got {x}")
    return x


def _contiguous(state: State) -> tuple[float, Vector, Vector, Vector, Vector]:
    """The state for compiled code."""
    q, v, a, lam = (np.ascontiguousarray(x, dtype=float) for x in (state.q, state.v, state.a, state.lam))
    return float(state.t), q, v, a, lam


def _numbers(x: ArrayLike, shape: tuple[int, ...], what: str) -> Vector:
    x = np.array(x, dtype=float)
    if x.shape != shape:
        raise ValueError(f"assemble: {what} must have shape {shape}, got {x.shape}")
    return x
