"""Squared distance of two points: `d . d - f(t) = 0`."""


from ...compilation.compiled import compiled
from ...model.primitives import D
from ..frames import point_velocity, spin2, unrotate
from ..vec3 import cross, dot, scale, sub
from .common import distance, first, put_i, put_j, second, value
from .kind import ConstraintKind


@compiled
def phi(e, at, out):
    d = distance(at.X, e)
    out[e["row"]] = dot(d, d) - value(at, e["motion"])


@compiled
def phi_q(e, at, G):
    d = scale(2.0, distance(at.X, e))
    put_i(G, e, 0, scale(-1.0, d), cross(unrotate(at.X, e["i"], d), e["s_i"]))
    put_j(G, e, 0, d, cross(e["s_j"], unrotate(at.X, e["j"], d)))


@compiled
def nu(e, at, out):
    out[e["row"]] = first(at, e["motion"])


@compiled
def gamma(e, at, out):
    rate = sub(point_velocity(at.X, e["j"], e["s_j"]), point_velocity(at.X, e["i"], e["s_i"]))
    bend = sub(spin2(at.X, e["j"], e["s_j"]), spin2(at.X, e["i"], e["s_i"]))
    out[e["row"]] = second(at, e["motion"]) - 2.0 * (dot(rate, rate) + dot(distance(at.X, e), bend))


def _nonzero(p, end, k):
    """A rotation enters if the point is off the centre of the body."""
    return (True,) * 3, (any(getattr(p, f"s_{end}")),) * 3


KIND = ConstraintKind(D, phi, phi_q, gamma, nu, nonzero=_nonzero)
