"""A direction and a distance vector: `u_i . d - f(t) = 0` with `u_i = A_i a_i`."""


from ...compilation.compiled import compiled
from ...model.primitives import DP2
from ..frames import point_velocity, rotate, spin, spin2, unrotate
from ..vec3 import cross, dot, scale, sub
from .common import distance, first, put_i, put_j, second, value
from .kind import ConstraintKind, Group, Mask, groups, rotations


@compiled
def phi(e, t, X, motions, out):
    out[e["row"]] = dot(rotate(X, e["i"], e["a_i"]), distance(X, e)) - value(motions, e["motion"], t)


@compiled
def phi_q(e, X, G):
    i, j = e["i"], e["j"]
    u, d = rotate(X, i, e["a_i"]), distance(X, e)
    h = sub(cross(e["a_i"], unrotate(X, i, d)), cross(e["s_i"], e["a_i"]))
    put_i(G, e, 0, scale(-1.0, u), h)
    put_j(G, e, 0, u, cross(e["s_j"], unrotate(X, j, u)))


@compiled
def nu(e, t, motions, out):
    out[e["row"]] = first(motions, e["motion"], t)


@compiled
def gamma(e, t, X, motions, out):
    i, j, a = e["i"], e["j"], e["a_i"]
    rate = sub(point_velocity(X, j, e["s_j"]), point_velocity(X, i, e["s_i"]))
    bend = sub(spin2(X, j, e["s_j"]), spin2(X, i, e["s_i"]))
    curvature = dot(spin2(X, i, a), distance(X, e)) + 2.0 * dot(spin(X, i, a), rate) + dot(rotate(X, i, a), bend)
    out[e["row"]] = second(motions, e["motion"], t) - curvature


def _nonzero(p: DP2, end: str, k: int) -> Mask:
    """The rotation of body i turns the direction; that of body j enters if the point is off its centre."""
    return (True,) * 3, (end == "i" or any(p.s_j),) * 3


def _couplings(p: DP2) -> list[tuple[Group, Group]]:
    """No two translations: `u_i . d` is linear in both."""
    return [(a, b) for a in groups(p) for b in groups(p) if a in rotations(p) or b in rotations(p)]


KIND = ConstraintKind(DP2, phi, phi_q, gamma, nu, nonzero=_nonzero, couplings=_couplings)
