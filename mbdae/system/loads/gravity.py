"""Gravity and the gyroscopic torque `-omega x J omega` of rigid bodies."""


from ...compilation.compiled import compiled
from ..frames import omega
from ..layout import RIGID
from ..vec3 import cross, dot, scale, vec
from .common import wrench


@compiled
def forces(bodies, g, X, Q):
    weightless = g[0] == 0.0 and g[1] == 0.0 and g[2] == 0.0
    for b in range(bodies.shape[0]):
        if weightless and bodies[b]["kind"] != RIGID:
            continue
        T = (0.0 * X[b, 0], 0.0 * X[b, 0], 0.0 * X[b, 0])
        if bodies[b]["kind"] == RIGID:
            J, w = bodies[b]["J"], omega(X, b)
            T = cross((dot(vec(J), w), dot(vec(J[3:]), w), dot(vec(J[6:]), w)), w)
        wrench(Q, bodies, b, scale(bodies[b]["mass"], g), T)
