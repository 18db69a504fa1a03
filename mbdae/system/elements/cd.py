"""One global component of a distance vector: `c . d - f(t) = 0`; the direction `c` is stored in `a_i`."""


from ...compilation.compiled import compiled
from ...model.primitives import CD
from ...typing import Records
from ..frames import spin2, unrotate
from ..vec3 import cross, dot, scale, sub
from .common import distance, first, put_i, put_j, second, value
from .kind import ConstraintKind, Mask, couplings_of_offsets


@compiled
def phi(e, t, X, motions, out):
    out[e["row"]] = dot(e["a_i"], distance(X, e)) - value(motions, e["motion"], t)


@compiled
def phi_q(e, X, G):
    c = e["a_i"]
    put_i(G, e, 0, scale(-1.0, c), cross(unrotate(X, e["i"], c), e["s_i"]))
    put_j(G, e, 0, c, cross(e["s_j"], unrotate(X, e["j"], c)))


@compiled
def nu(e, t, motions, out):
    out[e["row"]] = first(motions, e["motion"], t)


@compiled
def gamma(e, t, X, motions, out):
    bend = sub(spin2(X, e["j"], e["s_j"]), spin2(X, e["i"], e["s_i"]))
    out[e["row"]] = second(motions, e["motion"], t) - dot(e["a_i"], bend)


def _nonzero(p: CD, end: str, k: int) -> Mask:
    """A rotation enters if the point is off the centre of the body."""
    return tuple(c != 0.0 for c in p.c), (any(getattr(p, f"s_{end}")),) * 3


def _fill(e: Records, p: CD, bodies: Records) -> None:
    e["a_i"] = p.c


KIND = ConstraintKind(CD, phi, phi_q, gamma, nu, fill=_fill, nonzero=_nonzero, couplings=couplings_of_offsets)
