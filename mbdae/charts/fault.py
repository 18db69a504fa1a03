"""What is wrong where a chart cannot be evaluated, in words."""

import numpy as np

from ..status import Status
from ..system import layout as lay
from .configuration import CHART_LOST, NO_FRICTION, NO_POSITION, NOT_FINITE, RANK_LOST


class ChartError(ArithmeticError):
    """No chart can be had at a state; `status` and `reason` say why."""

    def __init__(self, status, reason):
        super().__init__(reason)
        self.status, self.reason = status, reason


def explain(system, code, work, t, q):
    """`(Status, reason)` for a code other than `GOOD`; `work` and `q` are those of the evaluation that has failed."""
    if code == RANK_LOST:
        return Status.SINGULAR, f"the constraints lose rank, {_lost_rows(system, work)}: a singular position"
    if code == NO_POSITION:
        return Status.SINGULAR, f"no positions satisfy the constraints for these independent coordinates; {_open_rows(system, t, q)}"
    if code == NO_FRICTION:
        return Status.NEWTON_FAILED, "the friction forces do not settle"
    if code == CHART_LOST:
        return Status.CHART_LOST, "the independent coordinates are no longer independent"
    assert code == NOT_FINITE
    return Status.NOT_FINITE, "the equations are not finite"


def _lost_rows(system, work):
    """Of the last factorisation the equations without a pivot, but those that are redundant anyway."""
    head = system.model[:lay.HEADER_BYTES].view(np.int64)
    pivots = work[head[lay.W_DIAG]:head[lay.W_DIAG] + system.nc]
    rows = sorted(set(system.row_order[pivots == 0.0]) - set(system.dependent))
    return ", ".join(system.labels[k] for k in rows) + (" follow" if len(rows) > 1 else " follows") + " from the others"


def _open_rows(system, t, q):
    residual = system.phi(t, q) if np.isfinite(q).all() else np.full(system.nc, np.nan)
    if not system.nc or not np.isfinite(residual).all():
        return "the iteration has left all bounds"
    worst = np.argsort(-np.abs(residual))[:2]
    return "those that remain open most are " + ", ".join(f"{system.labels[k]} ({residual[k]:.3g})" for k in worst)
