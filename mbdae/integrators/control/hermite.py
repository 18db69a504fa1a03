"""The interpolant of methods that have none of their own: cubics in positions and velocities through the ends of the step."""

import numpy as np

from ...compilation.compiled import compiled
from ...system import kernels
from ...system.codes import GOOD, NOT_FINITE
from ...system.vectors import is_finite, largest


@compiled
def hermite(time, t, h, start, end, model, inside):
    """`q`, `v` by cubics through values and rates at both ends, `a` the rate of `v`, `lam` linear."""
    theta, rate0, rate1 = (time - t) / h, np.empty_like(start.q), np.empty_like(start.q)
    kernels.qdot(t, start.q, start.v, model, rate0)
    kernels.qdot(t + h, end.q, end.v, model, rate1)
    q, q0, q1, v, v0, v1, a, a0, a1 = inside.q, start.q, end.q, inside.v, start.v, end.v, inside.a, start.a, end.a
    for k in range(q.shape[0]):
        q[k] = cubic(theta, h, q0[k], q1[k], rate0[k], rate1[k])
    for k in range(v.shape[0]):
        v[k] = cubic(theta, h, v0[k], v1[k], a0[k], a1[k])
        rise = (v1[k] - v0[k]) / h
        a[k] = 6.0 * theta * (1.0 - theta) * rise + (1.0 - theta) * (1.0 - 3.0 * theta) * a0[k] + theta * (3.0 * theta - 2.0) * a1[k]
    lam, lam0, lam1 = inside.lam, start.lam, end.lam
    for k in range(lam.shape[0]):
        lam[k] = (1.0 - theta) * lam0[k] + theta * lam1[k]
    return GOOD if is_finite(largest(inside.q) + largest(inside.v)) else NOT_FINITE


@compiled
def cubic(theta, h, x0, x1, rate0, rate1):
    """The cubic with these values and rates at the ends of a step of length `h`, at the share `theta` of it."""
    rise = x1 - x0
    return x0 + theta * (rise + (1.0 - theta) * ((1.0 - theta) * (h * rate0 - rise) - theta * (h * rate1 - rise)))
