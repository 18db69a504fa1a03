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
from .nearest import POSITION_TOL, states_on_constraints, transported

if TYPE_CHECKING:
    from .system import System

MAX_ITERATIONS = 60
MAX_STEP = 0.1  # rad or m, of a step that stays on the branch
SHARE_OF_LARGEST = 1e-6  # violations below this share of the largest one are not named


class AssemblyError(ValueError):
    """The mechanism cannot be brought into a consistent state.

    Examples
    --------
    >>> import mbdae
    >>> bead = mbdae.Particle("bead", 1.0, (3, 0, 0))
    >>> rods = [mbdae.Rod("one", "ground", "bead"), mbdae.Rod("two", "ground", "bead", s_i=(5, 0, 0))]
    >>> try:
    ...     state = mbdae.assemble(mbdae.Mechanism("impossible", [bead], rods))
    ... except mbdae.AssemblyError as error:
    ...     print("impossible" in str(error))
    True
    """


@dataclass(frozen=True)
class State:
    """A consistent state: `Phi = 0`, `Phi_q v = nu`, `M a + Phi_q^T lam = Q`, `Phi_q a = gamma`.

    Attributes
    ----------
    t : float
    q, v, a, lam : ndarray
    redundant : tuple of str
        Constraint equations that follow from the others here; `lam` is then the solution of minimal norm.

    Examples
    --------
    >>> import mbdae
    >>> state = mbdae.assemble(mbdae.library.mechanism("four-link"))
    >>> state.t, state.q.shape, state.lam.shape
    (0.0, (21,), (18,))
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
    """The consistent state at given consistent positions, with the velocities nearest to a guess."""
    v = velocities(system, t, q, v_guess)
    a, lam, redundant = accelerations(system, t, q, v)
    G = system.phi_q(t, q)
    force = system.force(t, q, v, lam) - system.mass_times(t, q, a) - G.T @ lam
    a = a + system.solve_kkt(t, q, force, system.gamma(t, q, v) - G @ a).x  # one step of iterative refinement
    return State(float(t), q, v, a, lam, redundant)


def positions(system: System, t: float, guess: Vector) -> Vector:
    """`min |q (-) guess|_M` subject to `Phi(t, q) = 0`; feasible positions near the guess where the iteration stalls."""
    if system.nc == 0:
        return guess.copy()
    q, stalled = _nearest(system, t, guess.copy(), guess)
    q = polished(system, t, q)
    if not stalled:
        return q
    q, _ = _nearest(system, t, q, guess)
    return polished(system, t, q)


def approached(system: System, t: float, q: Vector, guess: Vector) -> Vector:
    """The same minimum from consistent positions `q` by steps of limited size, which stay on the branch of `q`."""
    for _ in range(MAX_ITERATIONS):
        d, x = _newton_step(system, t, q, guess, system.phi(t, q))
        size = np.abs(d).max(initial=0.0)
        if size < 1e-9 * (1.0 + np.abs(x).max(initial=0.0)):
            break
        q = polished(system, t, system.retract(q, d * min(1.0, MAX_STEP / size)))
    return q


def _newton_step(system: System, t: float, q: Vector, guess: Vector, residual: Vector) -> tuple[Vector, Vector]:
    """The Newton step of this minimisation, `M d + Phi_q^T lam = -M x`, `Phi_q d = -Phi`, and the displacement `x` from the guess."""
    x = system.difference(q, guess)
    pull = transported(system.mass_times(t, guess, x), x, system._model, np.empty(system.nv))
    return system.solve_kkt(t, q, -pull, -residual).x, x


def _nearest(system: System, t: float, q: Vector, guess: Vector) -> tuple[Vector, bool]:
    """Newton's method with line search from `q` for the nearest positions, and whether the line search has failed."""
    residual = system.phi(t, q)
    for _ in range(MAX_ITERATIONS):
        d, x = _newton_step(system, t, q, guess, residual)
        if _norm(residual) < _tolerance(q) and np.abs(d).max() < 1e-9 * (1.0 + np.abs(x).max()):
            break
        better = _line_search(system, t, q, d, residual)
        if better is None:
            return q, True
        q, residual = better
    return q, False


def _line_search(system: System, t: float, q: Vector, d: Vector, residual: Vector) -> tuple[Vector, Vector] | None:
    """The longest of the steps `d, d/2, d/4, ...` that reduces the residual, and that residual; `None` if there is none."""
    size = _norm(residual)
    for halving in range(25):
        trial = system.retract(q, d * 0.5**halving)
        new = system.phi(t, trial)
        if _norm(new) < max(0.999 * size, 1e-4 * (1.0 + np.abs(q).max())):
            return trial, new
    return None


def polished(system: System, t: float, q: Vector) -> Vector:
    """Newton's method on `Phi(t, q) = 0`, each step of minimum norm in the mass metric, until the residual is rounding."""
    residual = system.phi(t, q)
    for _ in range(MAX_ITERATIONS):
        if _norm(residual) <= _tolerance(q):
            return q
        d = system.solve_kkt(t, q, np.zeros(system.nv), -residual).x
        trial = system.retract(q, d)
        new = system.phi(t, trial)
        if not _norm(new) < _norm(residual):
            better = _line_search(system, t, q, d, residual) if _norm(residual) > 1e3 * _tolerance(q) else None
            if better is None:
                break
            trial, new = better
        q, residual = trial, new
    if _norm(residual) > 1e3 * _tolerance(q):
        raise AssemblyError(f"{system.name} cannot be assembled at t = {t:g}: {_violations(system, residual)}")
    return q


def _tolerance(q: Vector) -> float:
    return float(POSITION_TOL * (1.0 + np.abs(q).max()))


def _norm(x: Vector) -> float:
    return float(np.abs(x).max(initial=0.0))


def _violations(system: System, residual: Vector) -> str:
    largest = _norm(residual)
    worst = [k for k in np.argsort(-np.abs(residual))[:3] if abs(residual[k]) > SHARE_OF_LARGEST * largest]
    return "the violated constraints are " + ", ".join(f"{system.labels[k]} ({residual[k]:.3g})" for k in worst)


def velocities(system: System, t: float, q: Vector, guess: Vector) -> Vector:
    """`min |v - guess|_M` subject to `Phi_q v = nu`."""
    if system.nc == 0:
        return guess.copy()
    v = guess.copy()
    for _ in range(2):  # the second is iterative refinement
        defect = system.nu(t, q) - system.phi_q(t, q) @ v
        v = v + system.solve_kkt(t, q, np.zeros(system.nv), defect).x
    left = system.phi_q(t, q) @ v - system.nu(t, q)
    if _norm(left) > 1e-8 * (1.0 + _norm(v)):
        raise AssemblyError(f"{system.name}: no velocity satisfies the constraints at t = {t:g}; {_violations(system, left)}")
    return v


def on_constraints(system: System, t: float, q: Vector, v: Vector) -> Motion:
    """The nearest positions and velocities on the constraints."""
    rows_q, rows_v = on_constraints_of_rows(system, np.array([t]), np.array([q]), np.array([v]))
    return rows_q[0], rows_v[0]


def on_constraints_of_rows(system: System, t: Vector, q: Matrix, v: Matrix) -> tuple[Matrix, Matrix]:
    """`on_constraints` of several states, by rows: (n, nq) and (n, nv)."""
    t, q, v, done = np.ascontiguousarray(t, dtype=float), np.array(q, dtype=float), np.array(v, dtype=float), 0
    if system.nc == 0:
        return q, v
    while True:
        done = states_on_constraints(done, t, q, v, system.model, system._work)
        if done == len(t):
            return q, v
        q[done] = positions(system, float(t[done]), q[done])
        v[done] = velocities(system, float(t[done]), q[done], v[done])
        done += 1


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
        system.gamma(t, q, v), system.force(t, q, v, lam)  # raise an error that names the function
    system._checked(a, "a")
    if not dependent:
        return a, lam, ()
    if dependent == len(system.dependent):
        return a, lam, tuple(system.labels[k] for k in system.dependent)
    redundant = redundant_rows(system)  # reads the factors, which later evaluations overwrite
    return a, least(system, t, q, lam), redundant


def accelerations_of_rows(system: System, t: Vector, q: Matrix, v: Matrix) -> tuple[Matrix, Matrix]:
    """`accelerations` at several states, by rows: (n, nv) and (n, nc)."""
    a, lam, done = np.empty((len(t), system.nv)), np.empty((len(t), system.nc)), 0
    t, q, v, guess = (np.ascontiguousarray(x, dtype=float) for x in (t, q, v, system.multiplier_guess()))
    while True:
        done = ev.accelerations_of_rows(done, t, q, v, guess, system.model, system._work, a, lam)
        if done == len(t):
            return a, lam
        a[done], lam[done], _ = accelerations(system, float(t[done]), q[done], v[done])
        done += 1


def violations_of_rows(system: System, t: Vector, q: Matrix, v: Matrix, a: Matrix) -> Matrix:
    """Largest `|Phi|`, `|Phi_q v - nu|`, `|Phi_q a - gamma|` at several states, by rows: (n, 3).

    Raises
    ------
    FloatingPointError
        Names the function that is not finite; exceptions of user functions arrive unchanged.
    """
    out = np.empty((len(t), 3))
    t, q, v, a = (np.ascontiguousarray(x, dtype=float) for x in (t, q, v, a))
    done = ev.violations_of_rows(0, t, q, v, a, system.model, system._work, out)
    if done == len(t):
        return out
    system.callbacks.raise_pending()
    at = float(t[done])
    system.phi(at, q[done]), system.phi_q_entries(at, q[done]), system.nu(at, q[done]), system.gamma(at, q[done], v[done])
    raise FloatingPointError(f"{system.name}: the velocities or accelerations at t = {at:.9g} are not finite")


def least(system: System, t: float, q: Vector, lam: Vector) -> Vector:
    """The multipliers of minimum norm with the same constraint forces as `lam`."""
    N = null_space(system.phi_q(t, q).toarray().T, rcond=1e-7)
    part: Vector = N @ (N.T @ lam)
    return lam - part


def redundant_rows(system: System) -> tuple[str, ...]:
    """Labels of the equations without a pivot in the last factorisation."""
    head = system._header
    inverse_diagonal = system._work[head[lay.W_DIAG]:head[lay.W_DIAG] + system.nc]
    return tuple(system.labels[k] for k in sorted(system.row_order[inverse_diagonal == 0.0]))
