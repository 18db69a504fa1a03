"""Two points coincide: `d = r_j + A_j s_j - r_i - A_i s_i = 0`, three rows."""


from ...compilation.compiled import compiled
from ...model.primitives import Coincident
from ..frames import point, spin2
from ..vec3 import cross, sub
from .common import put_i, put_j
from .kind import ConstraintKind, couplings_of_offsets

_E = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
_MINUS_E = ((-1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, -1.0))


@compiled
def phi(e, at, out):
    d = sub(point(at.X, e["j"], e["s_j"]), point(at.X, e["i"], e["s_i"]))
    row = e["row"]
    out[row], out[row + 1], out[row + 2] = d[0], d[1], d[2]


@compiled
def phi_q(e, at, G):
    for k in range(3):
        i, j, a = e["i"], e["j"], 3 + 3 * k  # row k of A is A^T e_k
        h_i = cross((at.X[i, a], at.X[i, a + 1], at.X[i, a + 2]), e["s_i"])
        h_j = cross(e["s_j"], (at.X[j, a], at.X[j, a + 1], at.X[j, a + 2]))
        put_i(G, e, k, _MINUS_E[k], h_i)
        put_j(G, e, k, _E[k], h_j)


@compiled
def gamma(e, at, out):
    g = sub(spin2(at.X, e["i"], e["s_i"]), spin2(at.X, e["j"], e["s_j"]))
    row = e["row"]
    out[row], out[row + 1], out[row + 2] = g[0], g[1], g[2]


def _nonzero(p, end, k):
    """A rotation enters if the point is off the centre of the body."""
    return tuple(axis == k for axis in range(3)), (any(getattr(p, f"s_{end}")),) * 3


KIND = ConstraintKind(Coincident, phi, phi_q, gamma, nonzero=_nonzero, couplings=couplings_of_offsets)
