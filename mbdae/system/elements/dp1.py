"""Two directions: `u_i . u_j - f(t) = 0` with `u = A a`."""


from ...compilation.compiled import compiled
from ..frames import rotate, spin, spin2, unrotate
from ..vec3 import cross, dot
from .common import first, put, second, value

_ZERO = (0.0, 0.0, 0.0)


@compiled
def phi(table, t, motions, X, out):
    for n in range(table.shape[0]):
        e = table[n]
        u, w = rotate(X, e["i"], e["a_i"]), rotate(X, e["j"], e["a_j"])
        out[e["row"]] = dot(u, w) - value(motions, e["motion"], t)


@compiled
def rows(table, X, G):
    for n in range(table.shape[0]):
        e = table[n]
        u, w = rotate(X, e["i"], e["a_i"]), rotate(X, e["j"], e["a_j"])
        put(G, e["at_i"], e["kind_i"], _ZERO, cross(e["a_i"], unrotate(X, e["i"], w)))
        put(G, e["at_j"], e["kind_j"], _ZERO, cross(e["a_j"], unrotate(X, e["j"], u)))


@compiled
def nu(table, t, motions, out):
    for n in range(table.shape[0]):
        out[table[n]["row"]] = first(motions, table[n]["motion"], t)


@compiled
def gamma(table, t, motions, X, out):
    for n in range(table.shape[0]):
        e = table[n]
        i, j, a, b = e["i"], e["j"], e["a_i"], e["a_j"]
        curvature = (dot(spin2(X, i, a), rotate(X, j, b)) + dot(rotate(X, i, a), spin2(X, j, b))
                     + 2.0 * dot(spin(X, i, a), spin(X, j, b)))
        out[e["row"]] = second(motions, e["motion"], t) - curvature
