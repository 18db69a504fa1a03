"""Prescribed forces and torques as functions of time, in global or body-fixed components."""


from ...compilation.compiled import compiled
from ...model.forces import PointForce, PointTorque
from ...model.mechanism import Mechanism
from ...model.motions import Constant, Motion
from ...typing import Excitation, Records
from .. import words
from ..elements.common import value
from ..elements.kind import Group
from ..frames import rotate, unrotate
from ..layout import LOAD_T, ROTATION, TRANSLATION
from .common import force_at, wrench
from .kind import ForceKind, Numbers

_ZERO = (0.0, 0.0, 0.0)


@compiled
def force(e, t, X, motions, bodies, Q):
    b, m = e["body"], e["motion"]
    F = value(motions, m[0], t), value(motions, m[1], t), value(motions, m[2], t)
    if e["torque"]:
        T = unrotate(X, b, F)
        if e["in_body"]:
            T = (F[0] + 0.0 * T[0], F[1] + 0.0 * T[1], F[2] + 0.0 * T[2])
        wrench(Q, bodies, b, _ZERO, T)
    else:
        G = rotate(X, b, F)
        if not e["in_body"]:
            G = (F[0] + 0.0 * G[0], F[1] + 0.0 * G[1], F[2] + 0.0 * G[2])
        force_at(Q, bodies, X, b, e["s"], G, _ZERO)


def _fill(e: Records, f: PointForce | PointTorque, numbers: Numbers) -> None:
    torque = isinstance(f, PointTorque)
    e["body"], e["torque"], e["in_body"] = numbers.body(f.body), int(torque), int(f.frame == "body")
    e["motion"] = [numbers.motion(m, words.load(f, k)) for k, m in enumerate(words.components(f))]
    e["s"] = _ZERO if isinstance(f, PointTorque) else f.s


def _groups(f: PointForce | PointTorque, mechanism: Mechanism) -> tuple[list[Group], list[Group]]:
    """A force acts on the rotation by its lever, and turns with the body or its lever does."""
    turns = isinstance(f, PointForce) or f.frame == "global"
    return [(f.body, g) for g in (TRANSLATION, ROTATION)], [(f.body, ROTATION)] if turns else []


def _value(motion: Motion) -> Excitation:
    return lambda t: motion(t)[:1]


def _excitation(f: PointForce | PointTorque) -> list[Excitation]:
    """Each component that changes in time."""
    return [_value(x) for x in words.components(f) if not isinstance(x, Constant)]


KIND = ForceKind((PointForce, PointTorque), force, fill=_fill, groups=_groups, sees_velocities=False, excitation=_excitation,
                 dtype=LOAD_T)
