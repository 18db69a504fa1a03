"""Translational spring-damper-actuator: tension `k (l - l0) + c l' + law(l, l', t)` along the line of its two points."""

import numpy as np

from ...compilation.compiled import compiled
from ..callbacks import law
from ..elements.common import distance
from ..frames import point_velocity
from ..vec3 import dot, scale, sub
from .common import force_at

_ZERO = (0.0, 0.0, 0.0)


@compiled
def forces(table, bodies, t, X, Q):
    for n in range(table.shape[0]):
        e = table[n]
        d = distance(X, e)
        length = np.sqrt(dot(d, d))
        rate = dot(d, sub(point_velocity(X, e["j"], e["s_j"]), point_velocity(X, e["i"], e["s_i"]))) / length
        tension = e["k"] * (length - e["free"]) + e["c"] * rate
        if e["law"] != 0:
            tension += law(e["law"], length, rate, t)
        F = scale(tension / length, d)
        force_at(Q, bodies, X, e["i"], e["s_i"], F, _ZERO)
        force_at(Q, bodies, X, e["j"], e["s_j"], scale(-1.0, F), _ZERO)


@compiled
def energy(table, X):
    """`1/2 sum k (l - l0)^2`."""
    total = 0.0
    for n in range(table.shape[0]):
        d = distance(X, table[n])
        total += 0.5 * table[n]["k"] * (np.sqrt(dot(d, d)) - table[n]["free"]) ** 2
    return total
