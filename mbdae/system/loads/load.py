"""Prescribed forces and torques as functions of time, in global or body-fixed components."""


from ...compilation.compiled import compiled
from ..elements.common import value
from ..frames import rotate, unrotate
from .common import force_at, wrench

_ZERO = (0.0, 0.0, 0.0)


@compiled
def forces(table, bodies, motions, t, X, Q):
    for n in range(table.shape[0]):
        e = table[n]
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
