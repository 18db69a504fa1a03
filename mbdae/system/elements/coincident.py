"""Two points coincide: `d = r_j + A_j s_j - r_i - A_i s_i = 0`, three rows."""


from ...compilation.compiled import compiled
from ..frames import point, spin2
from ..vec3 import cross, sub
from .common import put

_E = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
_MINUS_E = ((-1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, -1.0))


@compiled
def phi(table, X, out):
    for n in range(table.shape[0]):
        e = table[n]
        d = sub(point(X, e["j"], e["s_j"]), point(X, e["i"], e["s_i"]))
        row = e["row"]
        out[row], out[row + 1], out[row + 2] = d[0], d[1], d[2]


@compiled
def rows(table, X, G):
    for n in range(table.shape[0]):
        e = table[n]
        for k in range(3):
            i, j, a = e["i"], e["j"], 3 + 3 * k  # row k of A is A^T e_k
            h_i = cross((X[i, a], X[i, a + 1], X[i, a + 2]), e["s_i"])
            h_j = cross(e["s_j"], (X[j, a], X[j, a + 1], X[j, a + 2]))
            put(G, e["at_i"] + k * e["stride"], e["kind_i"], _MINUS_E[k], h_i)
            put(G, e["at_j"] + k * e["stride"], e["kind_j"], _E[k], h_j)


@compiled
def gamma(table, X, out):
    for n in range(table.shape[0]):
        e = table[n]
        g = sub(spin2(X, e["i"], e["s_i"]), spin2(X, e["j"], e["s_j"]))
        row = e["row"]
        out[row], out[row + 1], out[row + 2] = g[0], g[1], g[2]
