"""Two points coincide in the plane: `d_x = d_y = 0` with `d = r_j + A_j s_j - r_i - A_i s_i`, two rows."""


from ...compilation.compiled import compiled
from .common import put


@compiled
def _arm(X, b, s):
    """`A_b s` in the plane."""
    return X[b, 3] * s[0] + X[b, 4] * s[1], X[b, 6] * s[0] + X[b, 7] * s[1]


@compiled
def phi(table, X, out):
    for n in range(table.shape[0]):
        e = table[n]
        i, j, row = e["i"], e["j"], e["row"]
        u_i, u_j = _arm(X, i, e["s_i"]), _arm(X, j, e["s_j"])
        out[row], out[row + 1] = X[j, 0] + u_j[0] - X[i, 0] - u_i[0], X[j, 1] + u_j[1] - X[i, 1] - u_i[1]


@compiled
def rows(table, X, G):
    for n in range(table.shape[0]):
        e = table[n]
        u_i, u_j, stride = _arm(X, e["i"], e["s_i"]), _arm(X, e["j"], e["s_j"]), e["stride"]
        put(G, e["at_i"], e["kind_i"], (-1.0, 0.0, 0.0), (0.0, 0.0, u_i[1]))
        put(G, e["at_j"], e["kind_j"], (1.0, 0.0, 0.0), (0.0, 0.0, -u_j[1]))
        put(G, e["at_i"] + stride, e["kind_i"], (0.0, -1.0, 0.0), (0.0, 0.0, -u_i[0]))
        put(G, e["at_j"] + stride, e["kind_j"], (0.0, 1.0, 0.0), (0.0, 0.0, u_j[0]))


@compiled
def gamma(table, X, out):
    """`(A s)'' = -omega^2 A s` at zero acceleration."""
    for n in range(table.shape[0]):
        e = table[n]
        i, j, row = e["i"], e["j"], e["row"]
        u_i, u_j = _arm(X, i, e["s_i"]), _arm(X, j, e["s_j"])
        w_i, w_j = X[i, 17] * X[i, 17], X[j, 17] * X[j, 17]
        out[row], out[row + 1] = w_j * u_j[0] - w_i * u_i[0], w_j * u_j[1] - w_i * u_i[1]
