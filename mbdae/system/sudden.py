"""Sudden changes of the velocities, compared with the steps before, and how near a step passes by a singular position."""

import numpy as np

from ..compilation.compiled import compiled
from . import kernels
from . import layout as lay
from .evaluate import factor
from .layout import header, part

SUDDEN = 5.0  # a change of the velocities in time, relative to the largest one in recent steps
FADING, GROWING = 0.98, 1.003  # bounds of the factor by which what is remembered of these follows in a step
IS_SUDDEN = -1.0
PLACES = 3  # along a step at which pivots are computed, the last one at its end


@compiled
def change_rate(v0, v1, h):
    """The largest change of a velocity in a step, divided by its length."""
    change = 0.0
    for k in range(v0.shape[0]):
        d = abs(v1[k] - v0[k])
        if d > change:
            change = d
    return change / abs(h)


@compiled
def usual_after(v0, v1, h, usual):
    """The usual rate of change of the velocities after a step, `IS_SUDDEN` if it is sudden; `usual` is zero where none is known."""
    rate = change_rate(v0, v1, h)
    if usual == 0.0:
        return rate
    if rate > SUDDEN * usual:
        return IS_SUDDEN
    return min(max(rate, FADING * usual), GROWING * usual)


@compiled
def smallest_pivot(t, q, ptr, order, model, work):
    """The smallest pivot of `Phi_q M^-1 Phi_q^T` relative to the diagonal entry of its row, without those of redundant rows.

    `ptr` and `order` are `System.pattern.ptr` and `System.row_order`.
    """
    factor(t, q, model, work)
    W, inverse, smallest = part(model, work, lay.W_W), part(model, work, lay.W_DIAG), np.inf
    for k in range(order.shape[0]):
        scale = 0.0
        for j in range(ptr[order[k]], ptr[order[k] + 1]):
            scale += W[j] * W[j]
        if scale * inverse[k] > 0.0:
            smallest = min(smallest, 1.0 / (scale * inverse[k]))
    return smallest


@compiled
def smallest_along(t0, q0, t1, q1, ptr, order, model, work):
    """`(pivot, share)`: the smallest one at some places on the way from `q0` to `q1`, and where on the way it is."""
    d, nearest, where = np.zeros(header(model)[lay.NV]), np.inf, 0.0
    kernels.difference(q1, q0, model, d)
    q = np.zeros(q0.shape[0])
    for k in range(1, PLACES + 1):
        share = k / PLACES
        kernels.retract(q0, share * d, model, q)
        pivot = smallest_pivot(t0 + share * (t1 - t0), q, ptr, order, model, work)
        if pivot < nearest:
            nearest, where = pivot, share
    return nearest, where
