"""Two points coincide in the plane: `d_x = d_y = 0` with `d = r_j + A_j s_j - r_i - A_i s_i`, two rows."""


from ...compilation.compiled import compiled
from ...model.primitives import PlanarCoincident
from .common import put_i, put_j
from .kind import ConstraintKind, couplings_of_offsets


@compiled
def _arm(X, b, s):
    """`A_b s` in the plane."""
    return X[b, 3] * s[0] + X[b, 4] * s[1], X[b, 6] * s[0] + X[b, 7] * s[1]


@compiled
def phi(e, at, out):
    i, j, row = e["i"], e["j"], e["row"]
    u_i, u_j = _arm(at.X, i, e["s_i"]), _arm(at.X, j, e["s_j"])
    out[row], out[row + 1] = at.X[j, 0] + u_j[0] - at.X[i, 0] - u_i[0], at.X[j, 1] + u_j[1] - at.X[i, 1] - u_i[1]


@compiled
def phi_q(e, at, G):
    u_i, u_j = _arm(at.X, e["i"], e["s_i"]), _arm(at.X, e["j"], e["s_j"])
    put_i(G, e, 0, (-1.0, 0.0, 0.0), (0.0, 0.0, u_i[1]))
    put_j(G, e, 0, (1.0, 0.0, 0.0), (0.0, 0.0, -u_j[1]))
    put_i(G, e, 1, (0.0, -1.0, 0.0), (0.0, 0.0, -u_i[0]))
    put_j(G, e, 1, (0.0, 1.0, 0.0), (0.0, 0.0, u_j[0]))


@compiled
def gamma(e, at, out):
    """`(A s)'' = -omega^2 A s` at zero acceleration."""
    i, j, row = e["i"], e["j"], e["row"]
    u_i, u_j = _arm(at.X, i, e["s_i"]), _arm(at.X, j, e["s_j"])
    w_i, w_j = at.X[i, 17] * at.X[i, 17], at.X[j, 17] * at.X[j, 17]
    out[row], out[row + 1] = w_j * u_j[0] - w_i * u_i[0], w_j * u_j[1] - w_i * u_i[1]


def _nonzero(p, end, k):
    """A rotation enters if the point is off the centre of the body."""
    return tuple(axis == k for axis in range(3)), (any(getattr(p, f"s_{end}")),) * 3


KIND = ConstraintKind(PlanarCoincident, phi, phi_q, gamma, nonzero=_nonzero, couplings=couplings_of_offsets)
