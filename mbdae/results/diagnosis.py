"""Why the equations cannot be evaluated at a state, in words: lost rank, no positions, jammed joints, chart no longer valid."""

import numpy as np
from scipy.optimize import minimize_scalar

from ..system import layout as lay
from ..system.codes import CHART_LOST, NO_FRICTION, NO_POSITION, NOT_FINITE, RANK_LOST
from ..system.evaluate import accelerations
from ..system.jamming import jammed
from .status import Status

MOST_ROWS = 400  # of constraints that are looked through for what is wrong
SOON = 1e-6  # time, relative, before which steps shrink to nothing where a joint is about to jam
AHEAD = 2.5  # steps that are looked ahead: to a dead point the straight way is twice as long
APPARENT = 1e-2  # as the next, on a way that is not quite that of the motion
CLOSE = 1e-4  # share of its first value at which the smallest singular value of the constraints tells a singular position
BOUNDS = 1e6  # positions, relative to the largest at the start, beyond which residuals say nothing
CLOSED = 1e-9  # residual, relative to the coordinates, below which constraints are not what is wrong


class ChartError(ArithmeticError):
    """No chart can be had at a state; `status` and `reason` say why."""

    def __init__(self, status, reason):
        super().__init__(reason)
        self.status, self.reason = status, reason


def explain(system, code, work, t, q):
    """`(Status, reason)` for a code other than `GOOD`; `work` and `q` are those of the evaluation that has failed."""
    if code == RANK_LOST:
        return Status.SINGULAR, f"the constraints lose rank, {_lost_rows(system, work, t, q)}: a singular position"
    if code == NO_POSITION:
        return Status.SINGULAR, _without_position(system, t, q)
    if code == NO_FRICTION:
        return Status.NEWTON_FAILED, jammed(system, work, t)
    if code == CHART_LOST:
        return Status.CHART_LOST, "the independent coordinates are no longer independent"
    assert code == NOT_FINITE
    return Status.NOT_FINITE, "the equations are not finite"


def jam_ahead(system, t, q, v, a, span):
    """`(Status, reason)` if a joint jams within a step `span`, or a little later, of the motion on from a state, otherwise `None`."""
    if not (system.has_friction and all(np.isfinite(x).all() for x in (q, v, a))):
        return None
    for way in (span, np.copysign(SOON * (1.0 + abs(t)), span)):
        work, at = system.workspace(), system.retract(q, way * v)
        code = accelerations(t + way, at, v + way * a, system.multiplier_guess(), system.model, work)[2]
        if code == NO_FRICTION:
            return explain(system, code, work, t + way, at)
    return None


def near_singular(system, start, t, q):
    """`(Status, reason)` if the constraints are about to lose rank at `q` after a run from the state `start`, otherwise `None`.

    Steps shrink to nothing there before any factorisation fails.
    """
    if system.nc == 0:
        return None
    scales, before = _measure(system, start)
    if not _smallest(system, scales, t, q) < CLOSE * before:
        return None
    return Status.SINGULAR, f"the constraints are about to lose rank, in {_tight(system, scales, t, q)}: a singular position"


def singular_ahead(system, start, t, q, v, span):
    """`(Status, reason)` if the constraints lose rank within a step `span` from the state `(q, v)` at `t`, otherwise `None`.

    A step that meets a singular position fails some way before it. The way on is taken to be straight.
    """
    if not 0 < system.nc <= MOST_ROWS or not (np.isfinite(q).all() and np.isfinite(v).all()):
        return None
    scales, before = _measure(system, start)
    found = minimize_scalar(lambda s: _smallest(system, scales, t + s * span, system.retract(q, s * span * v)), bounds=(0.0, AHEAD),
                            method="bounded", options={"xatol": 1e-6})
    if not found.fun < APPARENT * before:
        return None
    at = t + found.x * span
    tight = _tight(system, scales, at, system.retract(q, found.x * span * v))
    return Status.SINGULAR, f"the constraints lose rank near t = {at:.6g}, in {tight}: a singular position"


def _measure(system, start):
    """Scales of the rows of `Phi_q`, and its smallest singular value, at a state that is taken to be regular."""
    rows = _gradients(system, start.t, start.q)
    scales = 1.0 / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
    return scales, np.linalg.svd(scales * rows, compute_uv=False)[_last(system)]


def _smallest(system, scales, t, q):
    return np.linalg.svd(scales * _gradients(system, t, q), compute_uv=False)[_last(system)]


def _tight(system, scales, t, q):
    """The constraints that are about to depend on each other."""
    weights = np.abs(np.linalg.svd(scales * _gradients(system, t, q))[0][:, _last(system)])
    return ", ".join(system.labels[k] for k in np.flatnonzero(weights > 0.5 * weights.max()))


def _last(system):
    """Number of the singular value of `Phi_q` that is the smallest but for those of redundant equations, which are zero."""
    return system.nc - len(system.dependent) - 1


def _gradients(system, t, q):
    return system.phi_q(t, q).toarray()


def _lost_rows(system, work, t, q):
    """Of the last factorisation the equations without a pivot; where some are redundant anyway, those that the rank loss is about."""
    if len(system.dependent):
        return f"in {_tight(system, _measure(system, system.start)[0], t, q)}"
    head = system._header
    pivots = work[head[lay.W_DIAG]:head[lay.W_DIAG] + system.nc]
    rows = sorted(system.row_order[pivots == 0.0])
    return ", ".join(system.labels[k] for k in rows) + (" follow" if len(rows) > 1 else " follows") + " from the others"


def _without_position(system, t, q):
    none = "no positions satisfy the constraints for these independent coordinates; "
    residual = system.phi(t, q) if np.isfinite(q).all() else np.full(system.nc, np.nan)
    if not system.nc or not np.isfinite(residual).all() or np.abs(q).max() > BOUNDS * (1.0 + np.abs(system.start.q).max()):
        return none + "they are out of all bounds"
    worst = np.argsort(-np.abs(residual))[:2]
    if np.abs(residual[worst[0]]) < CLOSED * (1.0 + np.abs(q).max()):
        return "the constraints hold, but the positions do not settle for these independent coordinates: a singular position is close"
    return none + "those that remain open most are " + ", ".join(f"{system.labels[k]} ({residual[k]:.3g})" for k in worst)
