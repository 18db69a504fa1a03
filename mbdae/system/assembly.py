"""Consistent states: positions, velocities, accelerations and multipliers that satisfy the constraints on all three levels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import null_space

from ..typing import Matrix, Motion, Vector
from . import evaluate as ev
from . import layout as lay
from .codes import NO_FRICTION, NOT_FINITE
from .jamming import jammed

if TYPE_CHECKING:
    from .system import System

POSITION_TOLERANCE = 1e-13
MAX_ITERATIONS = 60
LARGEST = 0.1  # rad or m of a step on which the branch is kept


class AssemblyError(ValueError):
    """The mechanism cannot be brought into a consistent state."""


@dataclass(frozen=True)
class State:
    """A consistent state: `Phi = 0`, `Phi_q v = nu`, `M a + Phi_q^T lam = Q`, `Phi_q a = gamma`.

    Attributes
    ----------
    t : float
    q, v, a, lam : ndarray
    redundant : tuple of str
        Constraint equations that follow from the others here; `lam` is then the solution of minimal norm.
    """

    t: float
    q: Vector
    v: Vector
    a: Vector
    lam: Vector
    redundant: tuple[str, ...] = ()

    def copy(self) -> State:
        """The same state with arrays of its own."""
        return State(self.t, self.q.copy(), self.v.copy(), self.a.copy(), self.lam.copy(), self.redundant)


def completed(system: System, t: float, q: Vector, v_guess: Vector) -> State:
    """The state with consistent positions and the velocities nearest to a guess; accelerations and multipliers follow."""
    v = velocities(system, t, q, v_guess)
    a, lam, redundant = accelerations(system, t, q, v)
    G = system.phi_q(t, q)
    force = system.force(t, q, v, lam) - system.mass_times(t, q, a) - G.T @ lam
    a = a + system.solve_kkt(t, q, force, system.gamma(t, q, v) - G @ a)[0]  # removes the rounding of the first solution
    return State(float(t), q, v, a, lam, redundant)


def positions(system: System, t: float, guess: Vector) -> Vector:
    """Positions on `Phi(t, q) = 0` nearest to the guess in the mass metric, or near it where the nearest are not found."""
    if system.nc == 0:
        return guess.copy()
    q, stuck = _drawn(system, t, guess.copy(), guess)
    q = polished(system, t, q)
    return polished(system, t, _drawn(system, t, q, guess)[0]) if stuck else q


def approached(system: System, t: float, q: Vector, guess: Vector) -> Vector:
    """Positions as near to the guess in the mass metric as steps of limited size lead from consistent ones `q`, on their branch."""
    for _ in range(MAX_ITERATIONS):
        d, x = _newton_step(system, t, q, guess, system.phi(t, q))
        size = np.abs(d).max(initial=0.0)
        if size < 1e-9 * (1.0 + np.abs(x).max(initial=0.0)):
            break
        q = polished(system, t, system.retract(q, d * min(1.0, LARGEST / size)))
    return q


def _newton_step(system: System, t: float, q: Vector, guess: Vector, residual: Vector) -> tuple[Vector, Vector]:
    """The step towards the nearest positions, and the displacement from the guess."""
    x = system.difference(q, guess)
    pull = _transported(system, system.mass_times(t, guess, x), x)
    return system.solve_kkt(t, q, -pull, -residual)[0], x


def _drawn(system: System, t: float, q: Vector, guess: Vector) -> tuple[Vector, bool]:
    """Newton steps from `q` towards the nearest positions, and whether they got stuck on the way."""
    residual = system.phi(t, q)
    for _ in range(MAX_ITERATIONS):
        d, x = _newton_step(system, t, q, guess, residual)
        if _norm(residual) < _tolerance(q) and np.abs(d).max() < 1e-9 * (1.0 + np.abs(x).max()):
            break
        better = _damped(system, t, q, d, residual)
        if better is None:
            return q, True
        q, residual = better
    return q, False


def _damped(system: System, t: float, q: Vector, d: Vector, residual: Vector) -> tuple[Vector, Vector] | None:
    """The longest of the steps `d, d/2, d/4, ...` that brings the constraints nearer; `None` if there is none."""
    size = _norm(residual)
    for halving in range(25):
        trial = system.retract(q, d * 0.5**halving)
        new = system.phi(t, trial)
        if _norm(new) < max(0.999 * size, 1e-4 * (1.0 + np.abs(q).max())):
            return trial, new
    return None


def polished(system: System, t: float, q: Vector) -> Vector:
    """Newton steps on `Phi` alone until rounding is reached."""
    residual = system.phi(t, q)
    for _ in range(MAX_ITERATIONS):
        if _norm(residual) <= _tolerance(q):
            return q
        d, _, _ = system.solve_kkt(t, q, np.zeros(system.nv), -residual)
        trial = system.retract(q, d)
        new = system.phi(t, trial)
        if not _norm(new) < _norm(residual):
            better = _damped(system, t, q, d, residual) if _norm(residual) > 1e3 * _tolerance(q) else None
            if better is None:
                break
            trial, new = better
        q, residual = trial, new
    if _norm(residual) > 1e3 * _tolerance(q):
        raise AssemblyError(f"{system.name} cannot be assembled at t = {t:g}: {_worst(system, residual)}")
    return q


def _tolerance(q: Vector) -> float:
    return float(POSITION_TOLERANCE * (1.0 + np.abs(q).max()))


def _norm(x: Vector) -> float:
    return float(np.abs(x).max(initial=0.0))


def _worst(system: System, residual: Vector) -> str:
    order = np.argsort(-np.abs(residual))[:3]
    return "the constraints that remain open are " + ", ".join(f"{system.labels[k]} ({residual[k]:.3g})" for k in order)


def _transported(system: System, y: Vector, x: Vector) -> Vector:
    """`y` at displacement `x` as a covector of the local displacement: `J_r(theta)^-T` on every rotation `theta` of `x`."""
    out = y.copy()
    for body in system._bodies[system._bodies["kind"] == lay.RIGID]:
        k = slice(body["v"] + 3, body["v"] + 6)
        out[k] = _inverse_right_jacobian(x[k]).T @ y[k]
    return out


def _inverse_right_jacobian(x: Vector) -> Matrix:
    """`d log(exp(x) exp(d)) / dd` at `d = 0`."""
    angle2 = float(x @ x)
    X = np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])
    if angle2 < 1e-6:
        c = 1.0 / 12.0 + angle2 / 720.0
    else:
        angle = np.sqrt(angle2)
        c = 1.0 / angle2 - (1.0 + np.cos(angle)) / (2.0 * angle * np.sin(angle))
    jacobian: Matrix = np.eye(3) + 0.5 * X + c * X @ X
    return jacobian


def velocities(system: System, t: float, q: Vector, guess: Vector) -> Vector:
    """Velocities with `Phi_q v = nu` nearest to the guess in the mass metric."""
    if system.nc == 0:
        return guess.copy()
    v = guess.copy()
    for _ in range(2):  # the second pass removes the rounding of the first
        open_rates = system.nu(t, q) - system.phi_q(t, q) @ v
        v = v + system.solve_kkt(t, q, np.zeros(system.nv), open_rates)[0]
    left = system.phi_q(t, q) @ v - system.nu(t, q)
    if _norm(left) > 1e-8 * (1.0 + _norm(v)):
        raise AssemblyError(f"{system.name}: no velocity satisfies the constraints at t = {t:g}; {_worst(system, left)}")
    return v


def on_constraints(system: System, t: float, q: Vector, v: Vector) -> Motion:
    """Positions and velocities on the constraints, the nearest to those given."""
    q = positions(system, t, q)
    return q, velocities(system, t, q, v)


def accelerations(system: System, t: float, q: Vector, v: Vector) -> tuple[Vector, Vector, tuple[str, ...]]:
    """Accelerations and multipliers; with joint friction the multipliers enter the forces, see `mbdae.system.dynamics`.

    Returns
    -------
    a : ndarray, shape (nv,)
    lam : ndarray, shape (nc,)
        Of minimal norm where constraints are redundant.
    redundant : tuple of str

    Raises
    ------
    AssemblyError
        Names the joint that jams.
    """
    a, lam, code, dependent = ev.accelerations(float(t), system._q(q), system._v(v), system.multiplier_guess(), system.model, system._work)
    if code == NO_FRICTION:
        system.callbacks.raise_pending()
        raise AssemblyError(f"{system.name}: {jammed(system, system._work, t)}")
    if code == NOT_FINITE:
        system.gamma(t, q, v), system.force(t, q, v, lam)  # either says which of them it is
    system._checked(a, "a")
    if not dependent:
        return a, lam, ()
    if dependent == len(system.dependent):
        return a, lam, tuple(system.labels[k] for k in system.dependent)
    redundant = redundant_rows(system)  # before anything else is evaluated
    return a, least(system, t, q, lam), redundant


def least(system: System, t: float, q: Vector, lam: Vector) -> Vector:
    """Of all multipliers that mean the same forces as `lam` those of minimal norm; others than `lam` where constraints are redundant."""
    N = null_space(system.phi_q(t, q).toarray().T, rcond=1e-7)
    part: Vector = N @ (N.T @ lam)
    return lam - part


def redundant_rows(system: System) -> tuple[str, ...]:
    """Labels of the equations that the last factorisation found to follow from the ones before them."""
    head = system._header
    inverse_diagonal = system._work[head[lay.W_DIAG]:head[lay.W_DIAG] + system.nc]
    return tuple(system.labels[k] for k in sorted(system.row_order[inverse_diagonal == 0.0]))
