"""Adding a force and a torque to the generalised forces of a body."""


from ...compilation.compiled import compiled
from ..frames import unrotate
from ..layout import PARTICLE, PLANAR
from ..vec3 import add, cross


@compiled
def wrench(Q, bodies, b, F, T):
    """Global force `F` at the centre of mass and body-fixed torque `T`; forces on the ground have no effect."""
    if b == bodies.shape[0]:
        return
    v, kind = bodies[b]["v"], bodies[b]["kind"]
    Q[v] += F[0]
    Q[v + 1] += F[1]
    if kind == PLANAR:
        Q[v + 2] += T[2]
        return
    Q[v + 2] += F[2]
    if kind != PARTICLE:
        Q[v + 3] += T[0]
        Q[v + 4] += T[1]
        Q[v + 5] += T[2]


@compiled
def force_at(Q, bodies, X, b, s, F, T):
    """Global force `F` at the body-fixed point `s`, and a body-fixed torque `T`."""
    wrench(Q, bodies, b, F, add(cross(s, unrotate(X, b, F)), T))
