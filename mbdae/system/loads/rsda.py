"""Rotational spring-damper-actuator: torque `k (theta - theta0) + c theta' + law(theta, theta', t)` about a common axis."""

import math

from ...compilation.compiled import compiled
from ...model.forces import RSDA
from ...model.mechanism import Mechanism
from ...typing import Records
from .. import words
from ..callbacks import law
from ..elements.kind import Group
from ..frames import omega, rotate, unrotate
from ..layout import ROTATION, SPRING_T
from ..vec3 import angle, cross, dot, scale, sub
from .common import wrench
from .kind import ForceKind, Numbers, default_record

_ZERO = (0.0, 0.0, 0.0)


@compiled
def _planar_angle(e, bodies, q):
    theta = 0.0 * q[0]
    if e["j"] < bodies.shape[0]:
        theta += q[bodies[e["j"]]["q"] + 2]
    if e["i"] < bodies.shape[0]:
        theta -= q[bodies[e["i"]]["q"] + 2]
    return theta


@compiled
def _spatial_angle(e, X):
    """Angle from `b_i` to `b_j` about the axis, in `theta0 + (-pi, pi]`."""
    u, w = rotate(X, e["i"], e["b_i"]), rotate(X, e["j"], e["b_j"])
    v = rotate(X, e["i"], cross(e["a_i"], e["b_i"]))
    c, s = math.cos(e["free"]), math.sin(e["free"])
    x, y = dot(u, w), dot(v, w)
    return e["free"] + angle(c * y - s * x, c * x + s * y)


@compiled
def _angle(e, bodies, q, X):
    return _planar_angle(e, bodies, q) if e["planar"] else _spatial_angle(e, X)


@compiled
def force(e, t, q, X, bodies, Q):
    i, j = e["i"], e["j"]
    axis = rotate(X, i, e["a_i"])
    rate = dot(axis, sub(rotate(X, j, omega(X, j)), rotate(X, i, omega(X, i))))
    theta = _angle(e, bodies, q, X)
    torque = e["k"] * (theta - e["free"]) + e["c"] * rate
    if e["law"] != 0:
        torque += law(e["law"], theta, rate, t)
    T = scale(torque, axis)
    wrench(Q, bodies, i, _ZERO, unrotate(X, i, T))
    wrench(Q, bodies, j, _ZERO, scale(-1.0, unrotate(X, j, T)))


@compiled
def energy(e, q, X, bodies):
    """`1/2 k (theta - theta0)^2`."""
    return 0.5 * e["k"] * (_angle(e, bodies, q, X) - e["free"]) ** 2


def _fill(e: Records, f: RSDA, numbers: Numbers) -> None:
    default_record(e, f, numbers)
    e["free"], e["law"] = f.theta0, 0 if f.law is None else numbers.law(f.law, words.law(f))
    if f.a_i is None:
        e["planar"], e["a_i"] = 1, (0.0, 0.0, 1.0)


def _groups(f: RSDA, mechanism: Mechanism) -> tuple[list[Group], list[Group]]:
    """Rotations only."""
    groups = [(b, ROTATION) for b in (f.i, f.j)]
    return groups, groups


KIND = ForceKind(RSDA, force, energy, fill=_fill, groups=_groups, dtype=SPRING_T)
