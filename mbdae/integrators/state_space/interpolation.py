"""The state inside a step."""

import numpy as np

from ...compilation.compiled import compiled
from .attempts import SDIRK_DESCRIPTOR, SDIRK_FIRST_ORDER, attempt
from .step import CONVERGED, EVALUATIONS


@compiled
def complete(method, t, theta, h, start, end, near, stages, tableaus, tools, state, counts):
    """All that belongs to the share `theta` of the step from `t`; what is wrong if it is not `GOOD`.

    The dense output of SDIRK formulas is used as it is. Cubics through the ends of a step do not know of stiff forces, which magnify their
    errors in `z` to accelerations and multipliers that have nothing to do with those at the ends. The other methods get there by a shorter
    step, with the derivatives that are at hand, which is as accurate as the whole one; by cubics only if that fails.
    """
    store, model, work, _, evaluate = tools
    z, zd, x, q, v, a, lam = state
    status = CONVERGED + 1
    if method != SDIRK_DESCRIPTOR and method != SDIRK_FIRST_ORDER:
        error = np.empty_like(z), np.empty_like(z)
        status, _, _ = attempt(method, t, theta * h, 1.0, False, start, state, near, stages, error, tableaus, tools, counts)
        q[:], lam[:] = start[3], start[6]
    if status != CONVERGED or not np.isfinite(np.sum(z) + np.sum(zd)):
        interpolate(method, theta, h, start, end, stages, tableaus[1], z, zd)
        q[:], lam[:] = end[3], end[6]
    counts[EVALUATIONS] += 1
    return evaluate(t + theta * h, z, zd, q, v, a, lam, x, store, model, work)


@compiled
def interpolate(method, theta, h, start, end, stages, dense, z, zd):
    """`(z, z')` at the share `theta` of a step: the dense output of SDIRK formulas; cubics through the ends for the others."""
    n = z.shape[0]
    for k in range(n):
        z[k], zd[k] = start[0][k], start[1][k]
    if method == SDIRK_FIRST_ORDER:
        for i in range(stages[0].shape[0]):
            weight = _polynomial(dense[0][i], theta)
            for k in range(n):
                z[k] += weight * stages[0][i, k]
                zd[k] += weight * stages[1][i, k]
    elif method == SDIRK_DESCRIPTOR:
        for i in range(stages[0].shape[0]):
            position, velocity = _polynomial(dense[0][i], theta), _polynomial(dense[1][i], theta)
            for k in range(n):
                z[k] += h * h * position * stages[0][i, k]
                zd[k] += h * velocity * stages[0][i, k]
        for k in range(n):
            z[k] += theta * h * start[1][k]
    else:
        for k in range(n):
            z[k] = _hermite(theta, h, start[0][k], end[0][k], start[1][k], end[1][k])
            zd[k] = _hermite(theta, h, start[1][k], end[1][k], start[2][k], end[2][k])


@compiled
def _polynomial(c, theta):
    """`c_0 theta + c_1 theta^2 + ...`"""
    s = 0.0
    for k in range(c.shape[0] - 1, -1, -1):
        s = (s + c[k]) * theta
    return s


@compiled
def _hermite(theta, h, a, b, da, db):
    """The cubic with the values `a`, `b` and the slopes `da`, `db` at the ends."""
    rise = b - a
    return a + theta * (rise + (1.0 - theta) * ((1.0 - theta) * (h * da - rise) - theta * (h * db - rise)))
