"""Two points coincide: `d = r_j + A_j s_j - r_i - A_i s_i = 0`, three rows."""


from ...compilation.compiled import compiled
from ...model.primitives import Coincident
from ..frames import point, spin2
from ..vec3 import cross, sub
from .common import put_i, put_j
from .kind import ConstraintKind, Mask, couplings_of_offsets


@compiled
def phi(e, X, out):
    d = sub(point(X, e["j"], e["s_j"]), point(X, e["i"], e["s_i"]))
    row = e["row"]
    out[row], out[row + 1], out[row + 2] = d[0], d[1], d[2]


@compiled
def phi_q(e, X, G):
    """Row k of A is `A^T e_k`."""
    i, j, s_i, s_j = e["i"], e["j"], e["s_i"], e["s_j"]
    # written out: constant indices are worth a third of the time
    put_i(G, e, 0, (-1.0, 0.0, 0.0), cross((X[i, 3], X[i, 4], X[i, 5]), s_i))
    put_j(G, e, 0, (1.0, 0.0, 0.0), cross(s_j, (X[j, 3], X[j, 4], X[j, 5])))
    put_i(G, e, 1, (0.0, -1.0, 0.0), cross((X[i, 6], X[i, 7], X[i, 8]), s_i))
    put_j(G, e, 1, (0.0, 1.0, 0.0), cross(s_j, (X[j, 6], X[j, 7], X[j, 8])))
    put_i(G, e, 2, (0.0, 0.0, -1.0), cross((X[i, 9], X[i, 10], X[i, 11]), s_i))
    put_j(G, e, 2, (0.0, 0.0, 1.0), cross(s_j, (X[j, 9], X[j, 10], X[j, 11])))


@compiled
def gamma(e, X, out):
    g = sub(spin2(X, e["i"], e["s_i"]), spin2(X, e["j"], e["s_j"]))
    row = e["row"]
    out[row], out[row + 1], out[row + 2] = g[0], g[1], g[2]


def _nonzero(p: Coincident, end: str, k: int) -> Mask:
    """A rotation enters if the point is off the centre of the body."""
    return tuple(axis == k for axis in range(3)), (any(getattr(p, f"s_{end}")),) * 3


KIND = ConstraintKind(Coincident, phi, phi_q, gamma, nonzero=_nonzero, couplings=couplings_of_offsets)
