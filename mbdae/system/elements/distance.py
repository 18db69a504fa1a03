"""Squared distance of two points: `d . d - f(t) = 0`."""


from ...compilation.compiled import compiled
from ..frames import point_velocity, spin2, unrotate
from ..vec3 import cross, dot, scale, sub
from .common import distance, first, put, second, value


@compiled
def phi(table, t, motions, X, out):
    for n in range(table.shape[0]):
        e = table[n]
        d = distance(X, e)
        out[e["row"]] = dot(d, d) - value(motions, e["motion"], t)


@compiled
def rows(table, X, G):
    for n in range(table.shape[0]):
        e = table[n]
        d = scale(2.0, distance(X, e))
        put(G, e["at_i"], e["kind_i"], scale(-1.0, d), cross(unrotate(X, e["i"], d), e["s_i"]))
        put(G, e["at_j"], e["kind_j"], d, cross(e["s_j"], unrotate(X, e["j"], d)))


@compiled
def nu(table, t, motions, out):
    for n in range(table.shape[0]):
        out[table[n]["row"]] = first(motions, table[n]["motion"], t)


@compiled
def gamma(table, t, motions, X, out):
    for n in range(table.shape[0]):
        e = table[n]
        rate = sub(point_velocity(X, e["j"], e["s_j"]), point_velocity(X, e["i"], e["s_i"]))
        bend = sub(spin2(X, e["j"], e["s_j"]), spin2(X, e["i"], e["s_i"]))
        out[e["row"]] = second(motions, e["motion"], t) - 2.0 * (dot(rate, rate) + dot(distance(X, e), bend))
