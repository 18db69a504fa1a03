"""Two directions: `u_i . u_j - f(t) = 0` with `u = A a`."""


from ...compilation.compiled import compiled
from ...model.primitives import DP1
from ..frames import rotate, spin, spin2, unrotate
from ..vec3 import cross, dot
from .common import first, put_i, put_j, second, value
from .kind import ConstraintKind, Mask, couplings_of_rotations

_ZERO = (0.0, 0.0, 0.0)


@compiled
def phi(e, t, X, motions, out):
    u, w = rotate(X, e["i"], e["a_i"]), rotate(X, e["j"], e["a_j"])
    out[e["row"]] = dot(u, w) - value(motions, e["motion"], t)


@compiled
def phi_q(e, X, G):
    u, w = rotate(X, e["i"], e["a_i"]), rotate(X, e["j"], e["a_j"])
    put_i(G, e, 0, _ZERO, cross(e["a_i"], unrotate(X, e["i"], w)))
    put_j(G, e, 0, _ZERO, cross(e["a_j"], unrotate(X, e["j"], u)))


@compiled
def nu(e, t, motions, out):
    out[e["row"]] = first(motions, e["motion"], t)


@compiled
def gamma(e, t, X, motions, out):
    i, j, a, b = e["i"], e["j"], e["a_i"], e["a_j"]
    curvature = (dot(spin2(X, i, a), rotate(X, j, b)) + dot(rotate(X, i, a), spin2(X, j, b))
                 + 2.0 * dot(spin(X, i, a), spin(X, j, b)))
    out[e["row"]] = second(motions, e["motion"], t) - curvature


def _nonzero(p: DP1, end: str, k: int) -> Mask:
    """Only rotations enter."""
    return (False,) * 3, (True,) * 3


KIND = ConstraintKind(DP1, phi, phi_q, gamma, nu, nonzero=_nonzero, couplings=couplings_of_rotations)
