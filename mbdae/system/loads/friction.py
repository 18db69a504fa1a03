"""Coulomb friction in joints, from the multipliers of the joint's own constraint equations [Fang, section 3.4]."""

import numpy as np

from ...compilation.compiled import compiled
from ...model.forces import Friction
from ...model.joints import PlanarRevolute, PlanarTranslational, Revolute, Translational
from ...model.mechanism import Mechanism
from ...typing import Records
from ..elements.kind import Group
from ..frames import omega, point, point_velocity, rotate, unrotate
from ..layout import FRICTION_T, ROTATION, TRANSLATION
from ..vec3 import absolute, dot, scale, sub, tanh
from .common import force_at, wrench
from .kind import ForceKind, Numbers

_ZERO = (0.0, 0.0, 0.0)


@compiled
def _sign(e, v):
    """`sign v` with its transition at `v_s`."""
    if e["smooth"]:
        return tanh(v / e["v_s"])
    if abs(v.real) < e["v_s"]:
        return 0.0 * v
    return 0.0 * v + (1.0 if v.real > 0.0 else -1.0)


@compiled
def _normal_force(e, lam):
    """Size of the reaction that the rows of the joint carry."""
    rows = e["rows"]
    if e["nrows"] == 1:
        return absolute(lam[rows[0]])
    total = 0.0 * lam[0]
    for k in range(e["nrows"]):
        total += lam[rows[k]] ** 2
    return np.sqrt(total)


@compiled
def _radial_force(e, lam, axis):
    """Size of the reaction perpendicular to the axis of a revolute joint."""
    rows = e["rows"]
    if e["nrows"] == 2:
        return _normal_force(e, lam)
    F = lam[rows[0]], lam[rows[1]], lam[rows[2]]
    R = sub(F, scale(dot(F, axis), axis))
    return np.sqrt(dot(R, R))


@compiled
def force(e, X, bodies, lam, Q):
    i, j = e["i"], e["j"]
    axis = rotate(X, i, e["a_i"])
    if e["revolute"]:
        rate = dot(axis, sub(rotate(X, j, omega(X, j)), rotate(X, i, omega(X, i))))
        T = scale(-e["mu"] * e["lever"] * _radial_force(e, lam, axis) * _sign(e, rate), axis)
        wrench(Q, bodies, j, _ZERO, unrotate(X, j, T))
        wrench(Q, bodies, i, _ZERO, scale(-1.0, unrotate(X, i, T)))
    else:
        # sliding velocity of the contact point relative to the guide
        P = point(X, j, e["s_j"])
        s = unrotate(X, i, sub(P, (X[i, 0], X[i, 1], X[i, 2])))
        v = dot(axis, sub(point_velocity(X, j, e["s_j"]), point_velocity(X, i, s)))
        F = scale(-e["mu"] * _normal_force(e, lam) * _sign(e, v), axis)
        force_at(Q, bodies, X, j, e["s_j"], F, _ZERO)
        force_at(Q, bodies, X, i, s, scale(-1.0, F), _ZERO)


@compiled
def forces(table, X, bodies, lam, Q):
    """Friction of all joints; beside its record each one takes the multipliers."""
    for n in range(table.shape[0]):
        force(table[n], X, bodies, lam, Q)


def _fill(e: Records, f: Friction, numbers: Numbers) -> None:
    joint = _joint(f, numbers.mechanism)
    rows = numbers.mechanism.normal_rows(f)
    e["i"], e["j"], e["mu"], e["v_s"], e["smooth"] = numbers.body(joint.i), numbers.body(joint.j), f.mu, f.v_s, int(f.smooth)
    e["revolute"] = int(isinstance(joint, (Revolute, PlanarRevolute)))
    e["lever"] = f.radius or 0.0
    e["nrows"] = len(rows)
    e["rows"][:len(rows)] = rows
    e["s_i"][:len(joint.s_i)], e["s_j"][:len(joint.s_j)] = joint.s_i, joint.s_j
    axis = (0.0, 0.0, 1.0) if isinstance(joint, PlanarRevolute) else joint.a_i
    e["a_i"][:len(axis)] = axis


def _joint(f: Friction, mechanism: Mechanism) -> Revolute | PlanarRevolute | Translational | PlanarTranslational:
    kinds = (Revolute, PlanarRevolute, Translational, PlanarTranslational)
    return next(j for j in mechanism.joints if j.name == f.joint and isinstance(j, kinds))


def _groups(f: Friction, mechanism: Mechanism) -> tuple[list[Group], list[Group]]:
    """Both bodies of the joint."""
    joint = _joint(f, mechanism)
    groups = [(b, g) for b in (joint.i, joint.j) for g in (TRANSLATION, ROTATION)]
    return groups, groups


KIND = ForceKind(Friction, force, fill=_fill, groups=_groups, dtype=FRICTION_T)
