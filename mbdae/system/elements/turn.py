"""A direction that turns in body i: `u_i . u_j = 0` with `u_i = A_i n(t)`, `n(t) = b_i cos f(t) - a_i sin f(t)`."""

import math

from ...compilation.compiled import compiled
from ..frames import omega, rotate, spin, spin2, unrotate
from ..vec3 import add, cross, dot, scale, sub
from .common import first, put, second, value

_ZERO = (0.0, 0.0, 0.0)


@compiled
def _normal(e, f):
    """`n` and its derivative with respect to the angle."""
    c, s = math.cos(f), math.sin(f)
    return sub(scale(c, e["b_i"]), scale(s, e["a_i"])), sub(scale(-s, e["b_i"]), scale(c, e["a_i"]))


@compiled
def phi(table, t, motions, X, out):
    for k in range(table.shape[0]):
        e = table[k]
        n, _ = _normal(e, value(motions, e["motion"], t))
        out[e["row"]] = dot(rotate(X, e["i"], n), rotate(X, e["j"], e["a_j"]))


@compiled
def rows(table, t, motions, X, G):
    for k in range(table.shape[0]):
        e = table[k]
        n, _ = _normal(e, value(motions, e["motion"], t))
        u, w = rotate(X, e["i"], n), rotate(X, e["j"], e["a_j"])
        put(G, e["at_i"], e["kind_i"], _ZERO, cross(n, unrotate(X, e["i"], w)))
        put(G, e["at_j"], e["kind_j"], _ZERO, cross(e["a_j"], unrotate(X, e["j"], u)))


@compiled
def nu(table, t, motions, X, out):
    for k in range(table.shape[0]):
        e = table[k]
        _, dn = _normal(e, value(motions, e["motion"], t))
        out[e["row"]] = -first(motions, e["motion"], t) * dot(rotate(X, e["i"], dn), rotate(X, e["j"], e["a_j"]))


@compiled
def gamma(table, t, motions, X, out):
    for k in range(table.shape[0]):
        e = table[k]
        i, j, a_j = e["i"], e["j"], e["a_j"]
        n, dn = _normal(e, value(motions, e["motion"], t))
        fd, fdd = first(motions, e["motion"], t), second(motions, e["motion"], t)
        n1 = scale(fd, dn)  # n' and n'', in body i
        n2 = sub(scale(fdd, dn), scale(fd * fd, n))
        rate = add(spin(X, i, n), rotate(X, i, n1))
        bend = add(spin2(X, i, n), rotate(X, i, add(scale(2.0, cross(omega(X, i), n1)), n2)))
        out[e["row"]] = -(dot(bend, rotate(X, j, a_j)) + 2.0 * dot(rate, spin(X, j, a_j))
                          + dot(rotate(X, i, n), spin2(X, j, a_j)))
