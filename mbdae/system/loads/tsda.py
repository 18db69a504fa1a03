"""Translational spring-damper-actuator: tension `k (l - l0) + c l' + law(l, l', t)` along the line of its two points."""

import numpy as np

from ...compilation.compiled import compiled
from ...model.forces import TSDA
from ...typing import Records
from .. import words
from ..callbacks import law
from ..elements.common import distance
from ..frames import point_velocity
from ..layout import SPRING_T
from ..vec3 import dot, scale, sub
from .common import force_at
from .kind import ForceKind, Numbers, default_record

_ZERO = (0.0, 0.0, 0.0)


@compiled
def force(e, t, X, bodies, Q):
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
def energy(e, X):
    """`1/2 k (l - l0)^2`."""
    d = distance(X, e)
    return 0.5 * e["k"] * (np.sqrt(dot(d, d)) - e["free"]) ** 2


def _fill(e: Records, f: TSDA, numbers: Numbers) -> None:
    default_record(e, f, numbers)
    e["free"], e["law"] = f.l0, 0 if f.law is None else numbers.law(f.law, words.law(f))


KIND = ForceKind(TSDA, force, energy, fill=_fill, dtype=SPRING_T)
