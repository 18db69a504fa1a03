"""Causes of failed evaluations, in words: loss of rank, no solution for the positions, jammed joints, chart no longer valid."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_array, diags_array, eye_array, vstack
from scipy.sparse.linalg import LinearOperator, eigsh, splu

from ..model import joints
from ..model.bodies import GROUND
from ..system import layout as lay
from ..system.assembly import State
from ..system.codes import CHART_LOST, NO_FRICTION, NO_POSITION, NOT_FINITE, RANK_LOST
from ..system.evaluate import accelerations
from ..system.jamming import jammed
from ..system.system import System
from .status import Cause, Status

MAX_ROWS = 400  # constraint equations, some of them redundant, for which singular positions are searched
AHEAD_ROWS = 1000  # the same for positions ahead, where many are examined
DENSE_ROWS = 100  # up to which, or where equations are redundant, all singular values are computed
NO_VALUE = 1e-14  # square of a singular value that is not told from zero by iteration
ZERO_ROW = 1e-14  # norm of a row of `Phi_q`, relative to the largest, that is zero but for rounding
JAM_TIME = 1e-6  # relative time before a joint jams at which step sizes tend to zero
SEARCH_STEPS = 2.5  # steps that are searched: along a straight line a dead point is twice as far away as on the motion
PREDICTED_RATIO = 1e-2  # as the next one, along a straight line
SINGULAR_RATIO = 1e-4  # smallest singular value of `Phi_q`, relative to its initial value, at a singular position
MAX_POSITION = 1e6  # relative to the largest initial coordinate; residuals at larger positions are meaningless
RESIDUAL_TOL = 1e-9  # relative to the coordinates, below which the constraints are satisfied

Vector = NDArray[np.float64]


class Positions(Protocol):
    """A time with its positions, such as a `State` or a `Moment`."""

    @property
    def t(self) -> float: ...
    @property
    def q(self) -> Vector: ...


class ChartError(ArithmeticError):
    """The equations in independent coordinates cannot be evaluated at a state, for the cause in `status` and `reason`."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


class NoInterpolant(ChartError):
    """The method cannot interpolate within a step."""


def explain(system: System, code: int, work: Vector, t: float, q: Any) -> Cause:
    """`(Status, reason)` for a code other than `GOOD`; `work` and `q` are those of the evaluation that has failed."""
    if code == RANK_LOST:
        return Cause(Status.SINGULAR, f"the constraints lose rank, {_lost_rows(system, work, t, q)}: a singular position")
    if code == NO_POSITION:
        return Cause(Status.SINGULAR, _without_position(system, t, q))
    if code == NO_FRICTION:
        return Cause(Status.NEWTON_FAILED, jammed(system, work, t))
    if code == CHART_LOST:
        return Cause(Status.CHART_LOST, "the independent coordinates are no longer independent")
    assert code == NOT_FINITE
    return Cause(Status.NOT_FINITE, "the equations are not finite")


def jam_ahead(system: System, t: float, q: Vector, v: Vector, a: Vector, span: float) -> Cause | None:
    """`(Status, reason)` if a joint jams within a step `span` from a state, or shortly after the state, otherwise `None`."""
    if not (system.has_friction and all(np.isfinite(x).all() for x in (q, v, a))):
        return None
    for ahead in (span, np.copysign(JAM_TIME * (1.0 + abs(t)), span)):
        work, at = system.workspace(), system.retract(q, ahead * v)
        code = accelerations(t + ahead, at, v + ahead * a, system.multiplier_guess(), system.model, work)[2]
        if code == NO_FRICTION:
            return explain(system, code, work, t + ahead, at)
    return None


def may_lose_rank(system: System) -> bool:
    """Whether `Phi_q` may lose rank: not where the joints between bodies form a tree, each of which has independent equations anywhere."""
    mechanism = system.mechanism
    if system.nc == 0 or mechanism is None or mechanism.drivers or not all(type(j).__module__ == joints.__name__ for j in mechanism.joints):
        return system.nc > 0
    part = {name: name for name in (GROUND, *(b.name for b in mechanism.bodies))}  # each body leads to one of its part of the graph

    def root(name: str) -> str:
        while part[name] != name:
            name = part[name]
        return name

    for joint in mechanism.joints:
        i, j = root(joint.i), root(joint.j)
        if i == j:
            return True
        part[i] = j
    return False


def near_singular(system: System, start: Positions, t: float, q: Vector, ratio: float = SINGULAR_RATIO) -> Cause | None:
    """`(Status, reason)` if the constraints are about to lose rank at `q` after a run from the state `start`, otherwise `None`.

    Step sizes tend to zero there before a factorisation fails. `ratio` bounds the smallest singular value of `Phi_q` relative to that at
    the start.
    """
    if system.nc > _most_rows(system) or not may_lose_rank(system):
        return None
    scales, before = _reference(system, start)
    if not _smallest(system, scales, t, q) < ratio * before:
        return None
    rows = _dependent_rows(system, scales, t, q)
    return Cause(Status.SINGULAR, f"the constraints are about to lose rank, in {rows}: a singular position")


def singular_ahead(system: System, start: State, t: float, q: Vector, v: Vector, span: float) -> Cause | None:
    """`(Status, reason)` if the constraints lose rank within a step `span` from the state `(q, v)` at `t`, otherwise `None`.

    A step fails before it reaches a singular position. The search is along a straight line.
    """
    if system.nc > min(AHEAD_ROWS, _most_rows(system)) or not may_lose_rank(system) or not (np.isfinite(q).all() and np.isfinite(v).all()):
        return None
    scales, before = _reference(system, start)
    found = minimize_scalar(lambda s: _smallest(system, scales, t + s * span, system.retract(q, s * span * v)), bounds=(0.0, SEARCH_STEPS),
                            method="bounded", options={"xatol": 1e-6})
    if not found.fun < PREDICTED_RATIO * before:
        return None
    at = t + found.x * span
    rows = _dependent_rows(system, scales, at, system.retract(q, found.x * span * v))
    return Cause(Status.SINGULAR, f"the constraints lose rank near t = {at:.6g}, in {rows}: a singular position")


def rank_lost_at(system: System, start: Positions, t: float, q: Vector, ratio: float) -> str | None:
    """Which constraints lose rank, `", in ..."`, if the smallest singular value at `q` is below `ratio` times that at `start`."""
    scales, before = _reference(system, start)
    if not _smallest(system, scales, t, q) < ratio * before:
        return None
    return f", in {_dependent_rows(system, scales, t, q)}"


def _most_rows(system: System) -> float:
    """Constraint equations up to which singular values are computed."""
    return MAX_ROWS if len(system.dependent) else np.inf


def _reference(system: System, start: Positions) -> tuple[Vector, float]:
    """Scales of the rows of `Phi_q`, and its smallest singular value, at a regular state."""
    scales = _scales(system.phi_q(start.t, start.q))
    return scales, _smallest(system, scales, start.t, start.q)


def _scales(phi_q: Any) -> Vector:
    """Reciprocal norms of the rows of `Phi_q`; one for rows that are zero."""
    norms = np.sqrt(np.asarray((phi_q * phi_q).sum(axis=1)).ravel())
    return 1.0 / np.where(norms > ZERO_ROW * norms.max(initial=0.0), norms, 1.0)


def _smallest(system: System, scales: Vector, t: float, q: Vector) -> float:
    """The smallest singular value of the scaled `Phi_q`."""
    return _smallest_of(system, scales, t, q)[0]


def _dependent_rows(system: System, scales: Vector, t: float, q: Vector) -> str:
    """Labels of the constraints that become linearly dependent."""
    weights = np.abs(_smallest_of(system, scales, t, q, True)[1])
    return ", ".join(system.labels[k] for k in np.flatnonzero(weights > 0.5 * weights.max()))


def _smallest_of(system: System, scales: Vector, t: float, q: Vector, vector: bool = False) -> tuple[float, Vector]:
    """The smallest singular value of the scaled `Phi_q`, apart from the zeros of redundant equations, and its left vector if asked for."""
    rows = diags_array(scales) @ csr_array(system.phi_q(t, q))
    if system.nc > DENSE_ROWS and not len(system.dependent):
        return _by_iteration(rows)
    k = system.nc - len(system.dependent) - 1
    if not vector:
        return np.linalg.svd(rows.toarray(), compute_uv=False)[k], np.zeros(0)
    U, values, _ = np.linalg.svd(rows.toarray())
    return values[k], U[:, k]


def _by_iteration(A: Any) -> tuple[float, Vector]:
    """Smallest singular value and left vector of a sparse matrix, by Lanczos iteration with the inverse of `A A^T + NO_VALUE I`.

    The inverse is the last block of that of `[I A^T; A -NO_VALUE I]`, whose factors lose fewer digits than those of `A A^T`.
    """
    if not np.isfinite(A.data).all():
        return np.nan, np.zeros(0)
    m, n = A.shape
    K = vstack([csr_array(eye_array(n)), A]).tocsc()
    K.resize((n + m, n + m))
    solve = splu((K + K.T - diags_array(np.r_[np.ones(n), np.full(m, NO_VALUE)])).tocsc()).solve
    inverse = LinearOperator((m, m), matvec=lambda x: -solve(np.r_[np.zeros(n), x.ravel()])[n:], dtype=float)
    values, vectors = eigsh(inverse, 1, which="LM", v0=np.random.default_rng(0).standard_normal(m), tol=1e-6)
    return float(np.sqrt(max(1.0 / values[0] - NO_VALUE, 0.0))), vectors[:, 0]


def _lost_rows(system: System, work: Vector, t: float, q: Vector) -> str:
    """Equations without a pivot in the last factorisation; with redundant equations, those that become dependent in addition."""
    if len(system.dependent):
        return f"in {_dependent_rows(system, _scales(system.phi_q(t, q)), t, q)}"
    head = system._header
    pivots = work[head[lay.W_DIAG]:head[lay.W_DIAG] + system.nc]
    rows = sorted(system.row_order[pivots == 0.0])
    return ", ".join(system.labels[k] for k in rows) + (" follow" if len(rows) > 1 else " follows") + " from the others"


def _without_position(system: System, t: float, q: Vector) -> str:
    """Why the iteration for the positions has failed."""
    none = "no positions satisfy the constraints for these independent coordinates; "
    residual = system.phi(t, q) if np.isfinite(q).all() else np.full(system.nc, np.nan)
    if not system.nc or not np.isfinite(residual).all() or np.abs(q).max() > MAX_POSITION * (1.0 + np.abs(system.initial_guess().q).max()):
        return none + "the iterates are unbounded"
    worst = np.argsort(-np.abs(residual))[:2]
    if np.abs(residual[worst[0]]) < RESIDUAL_TOL * (1.0 + np.abs(q).max()):
        return "the constraints hold, but the iteration for these independent coordinates does not converge: a singular position is close"
    return none + "the largest residuals are those of " + ", ".join(f"{system.labels[k]} ({residual[k]:.3g})" for k in worst)
