"""The state within a step."""

import numpy as np

from ...compilation.compiled import compiled
from ...system import kernels
from ...system.codes import GOOD, NEEDS_MATRIX
from ...system.motion import refine
from ...system.vectors import is_finite, put
from ..control.hermite import cubic
from ..control.records import put_state
from ..explicit.consistent import normalise
from .formulas import SDIRK_DESCRIPTOR, SDIRK_FIRST_ORDER, formula
from .step import evaluate


@compiled
def between(time, t, h, run, inside):
    """The state at a time within the step from `t`, on the constraints; `GOOD` or the code of a failure."""
    state = run.inside
    run.memory.factors_stale = 1
    status = complete(t, (time - t) / h, h, state, run)
    if status == GOOD:
        refine(time, state.q, state.v, state.a, state.lam, run.model, run.work)
        put_state(state, inside)
    return status


@compiled
def complete(t, theta, h, state, run):
    """The state at `t + theta h` within the step from `t`; `GOOD` or the code of a failure.

    SDIRK formulas have a dense output. The other methods take a step of size `theta h` with the same derivatives, as accurate as the whole
    step. Cubic Hermite interpolation is used if this fails only: stiff forces amplify its errors in `z` in the accelerations and
    multipliers.
    """
    kind, found = run.kind, False
    if kind != SDIRK_DESCRIPTOR and kind != SDIRK_FIRST_ORDER:
        status, _, _ = formula(t, theta * h, 1.0, False, state, run.error, run)
        if status == NEEDS_MATRIX:
            return status
        found = status == GOOD and is_finite(np.sum(state.z) + np.sum(state.zd))
    if not found:
        interpolate(theta, h, run, state.z, state.zd)
    _guess(t, theta, h, state, run)
    return evaluate(t + theta * h, state, run)


@compiled
def _guess(t, theta, h, state, run):
    """Positions and multipliers from which those of the constraints are found: drivers may move them far in a step."""
    start, end, q = run.start, run.end, state.q
    rate0, rate1 = np.empty_like(q), np.empty_like(q)
    kernels.qdot(t, start.q, start.v, run.model, rate0)
    kernels.qdot(t + h, end.q, end.v, run.model, rate1)
    for k in range(q.shape[0]):
        q[k] = cubic(theta, h, start.q[k], end.q[k], rate0[k], rate1[k])
    normalise(q, state.v, run.model)  # the iteration keeps the norms of quaternions
    put(start.lam, state.lam)


@compiled
def interpolate(theta, h, run, z, zd):
    """`(z, z')` at `t + theta h`: by the dense output of SDIRK formulas, by cubic Hermite interpolation for other methods."""
    start, end, X, Xd, dense = run.start, run.end, run.stages.X, run.stages.Xd, run.dense
    z0, zd0, zdd0, z1, zd1, zdd1 = start.z, start.zd, start.zdd, end.z, end.zd, end.zdd
    n = z.shape[0]
    for k in range(n):
        z[k], zd[k] = z0[k], zd0[k]
    if run.kind == SDIRK_FIRST_ORDER:
        for i in range(X.shape[0]):
            weight = _polynomial(dense.position[i], theta)
            for k in range(n):
                z[k] += weight * X[i, k]
                zd[k] += weight * Xd[i, k]
    elif run.kind == SDIRK_DESCRIPTOR:
        for i in range(X.shape[0]):
            position, velocity = _polynomial(dense.position[i], theta), _polynomial(dense.velocity[i], theta)
            for k in range(n):
                z[k] += h * h * position * X[i, k]
                zd[k] += h * velocity * X[i, k]
        for k in range(n):
            z[k] += theta * h * zd0[k]
    else:
        for k in range(n):
            z[k] = cubic(theta, h, z0[k], z1[k], zd0[k], zd1[k])
            zd[k] = cubic(theta, h, zd0[k], zd1[k], zdd0[k], zdd1[k])


@compiled
def _polynomial(c, theta):
    """`c_0 theta + c_1 theta^2 + ...`"""
    s = 0.0
    for k in range(c.shape[0] - 1, -1, -1):
        s = (s + c[k]) * theta
    return s
