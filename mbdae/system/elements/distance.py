"""Squared distance of two points: `d . d - f(t) = 0`."""


from ...compilation.compiled import compiled
from ...model.primitives import D
from ..frames import point_velocity, spin2, unrotate
from ..vec3 import cross, dot, scale, sub
from .common import distance, first, put_i, put_j, second, value
from .kind import ConstraintKind, Mask


@compiled
def phi(e, t, X, motions, out):
    d = distance(X, e)
    out[e["row"]] = dot(d, d) - value(motions, e["motion"], t)


@compiled
def phi_q(e, X, G):
    d = scale(2.0, distance(X, e))
    put_i(G, e, 0, scale(-1.0, d), cross(unrotate(X, e["i"], d), e["s_i"]))
    put_j(G, e, 0, d, cross(e["s_j"], unrotate(X, e["j"], d)))


@compiled
def nu(e, t, motions, out):
    out[e["row"]] = first(motions, e["motion"], t)


@compiled
def gamma(e, t, X, motions, out):
    rate = sub(point_velocity(X, e["j"], e["s_j"]), point_velocity(X, e["i"], e["s_i"]))
    bend = sub(spin2(X, e["j"], e["s_j"]), spin2(X, e["i"], e["s_i"]))
    out[e["row"]] = second(motions, e["motion"], t) - 2.0 * (dot(rate, rate) + dot(distance(X, e), bend))


def _nonzero(p: D, end: str, k: int) -> Mask:
    """A rotation enters if the point is off the centre of the body."""
    return (True,) * 3, (any(getattr(p, f"s_{end}")),) * 3


KIND = ConstraintKind(D, phi, phi_q, gamma, nu, nonzero=_nonzero)
