"""Two points coincide in the plane: `d_x = d_y = 0` with `d = r_j + A_j s_j - r_i - A_i s_i`, two rows."""


from ...compilation.compiled import compiled
from ...model.primitives import PlanarCoincident
from .common import put_i, put_j
from .kind import ConstraintKind, Mask, couplings_of_offsets


@compiled
def _arm(X, b, s):
    """`A_b s` in the plane."""
    return X[b, 3] * s[0] + X[b, 4] * s[1], X[b, 6] * s[0] + X[b, 7] * s[1]


@compiled
def phi(e, X, out):
    i, j, row = e["i"], e["j"], e["row"]
    u_i, u_j = _arm(X, i, e["s_i"]), _arm(X, j, e["s_j"])
    out[row], out[row + 1] = X[j, 0] + u_j[0] - X[i, 0] - u_i[0], X[j, 1] + u_j[1] - X[i, 1] - u_i[1]


@compiled
def phi_q(e, X, G):
    u_i, u_j = _arm(X, e["i"], e["s_i"]), _arm(X, e["j"], e["s_j"])
    put_i(G, e, 0, (-1.0, 0.0, 0.0), (0.0, 0.0, u_i[1]))
    put_j(G, e, 0, (1.0, 0.0, 0.0), (0.0, 0.0, -u_j[1]))
    put_i(G, e, 1, (0.0, -1.0, 0.0), (0.0, 0.0, -u_i[0]))
    put_j(G, e, 1, (0.0, 1.0, 0.0), (0.0, 0.0, u_j[0]))


@compiled
def gamma(e, X, out):
    """`(A s)'' = -omega^2 A s` at zero acceleration."""
    i, j, row = e["i"], e["j"], e["row"]
    u_i, u_j = _arm(X, i, e["s_i"]), _arm(X, j, e["s_j"])
    w_i, w_j = X[i, 17] * X[i, 17], X[j, 17] * X[j, 17]
    out[row], out[row + 1] = w_j * u_j[0] - w_i * u_i[0], w_j * u_j[1] - w_i * u_i[1]


def _nonzero(p: PlanarCoincident, end: str, k: int) -> Mask:
    """A rotation enters if the point is off the centre of the body."""
    return tuple(axis == k for axis in range(3)), (any(getattr(p, f"s_{end}")),) * 3


KIND = ConstraintKind(PlanarCoincident, phi, phi_q, gamma, nonzero=_nonzero, couplings=couplings_of_offsets)
