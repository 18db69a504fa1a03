"""The state inside a step."""

import numpy as np

from ...charts.configuration import GOOD
from ...compiled import compiled
from ..dense import solve
from .attempts import SDIRK_DESCRIPTOR, SDIRK_FIRST_ORDER, diagonal
from .step import EVALUATIONS, SOLVES, size

CORRECTIONS = 6  # of an interpolated state
NEGLIGIBLE = 1e-4  # size of one, in units of the tolerance, behind which none is made


@compiled
def complete(method, t, h, start, near, tableaus, tools, state, counts):
    """All that belongs to interpolated `(z, z', z'')`; what is wrong if it is not `GOOD`.

    The dense output of SDIRK formulas is used as it is. Cubics through the ends of a step do not know of stiff forces, which magnify their
    errors in `z` to accelerations and multipliers that have nothing to do with those at the ends. There they are the parts `z~`, `z~'`
    of an implicit stage `z = z~ + (gamma h)^2 d`, `z' = z~' + gamma h d`, whose accelerations `z~'' + d` are those of the equations,
    `d = f(t, z, z') - z~''`: with the matrix of the step, which is at hand. `d` vanishes at the ends, and is of third order where
    nothing is stiff.
    """
    store, model, work, _, evaluate = tools
    z, zd, x, q, v, a, lam = state
    gh, before, f, p, pd = diagonal(method, tableaus) * h, np.inf, np.empty_like(z), np.empty_like(z), np.empty_like(z)
    _, _, _, W, pivots, _ = near
    for k in range(CORRECTIONS + 1):
        counts[EVALUATIONS] += 1
        status = evaluate(t, z, zd, q, v, a, lam, f, store, model, work)
        if status != GOOD or method in (SDIRK_DESCRIPTOR, SDIRK_FIRST_ORDER) or k == CORRECTIONS:
            return status
        for i in range(z.shape[0]):
            f[i] -= x[i]
        solve(W, pivots, f)
        counts[SOLVES] += 1
        for i in range(z.shape[0]):
            p[i], pd[i] = gh * gh * f[i], gh * f[i]
        moved = size(p, pd, near, start[3], model)
        if not NEGLIGIBLE < moved < before:
            return status
        before = moved
        for i in range(z.shape[0]):
            z[i], zd[i], x[i] = z[i] + p[i], zd[i] + pd[i], x[i] + f[i]
    return status


@compiled
def interpolate(method, theta, h, start, end, stages, dense, z, zd, x):
    """`(z, z')` at the share `theta` of a step: the dense output of SDIRK formulas; cubics through the ends for the others, with `z''`."""
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
            x[k] = _slope(theta, h, start[1][k], end[1][k], start[2][k], end[2][k])


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


@compiled
def _slope(theta, h, a, b, da, db):
    """The derivative of `_hermite` by time."""
    return 6.0 * theta * (1.0 - theta) * (b - a) / h + (1.0 - theta) * (1.0 - 3.0 * theta) * da + theta * (3.0 * theta - 2.0) * db
