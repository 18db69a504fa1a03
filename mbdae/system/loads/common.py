"""Adding a force and a torque to the generalised forces of a body."""


from ...compilation.compiled import compiled
from ..frames import unrotate
from ..layout import PARTICLE, PLANAR
from ..vec3 import add, cross


@compiled
def wrench(Q, bodies, b, F, T):
    """Global force `F` at the centre of mass and body-fixed torque `T`; the ground takes everything."""
    if b == bodies.shape[0]:
        return
    at, kind = bodies[b]["v"], bodies[b]["kind"]
    Q[at] += F[0]
    Q[at + 1] += F[1]
    if kind == PLANAR:
        Q[at + 2] += T[2]
        return
    Q[at + 2] += F[2]
    if kind != PARTICLE:
        Q[at + 3] += T[0]
        Q[at + 4] += T[1]
        Q[at + 5] += T[2]


@compiled
def force_at(Q, bodies, X, b, s, F, T):
    """Global force `F` at the body-fixed point `s`, and a body-fixed torque `T`."""
    wrench(Q, bodies, b, F, add(cross(s, unrotate(X, b, F)), T))
