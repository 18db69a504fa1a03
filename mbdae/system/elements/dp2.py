"""A direction and a distance vector: `u_i . d - f(t) = 0` with `u_i = A_i a_i`."""


from ...compilation.compiled import compiled
from ..frames import point_velocity, rotate, spin, spin2, unrotate
from ..vec3 import cross, dot, scale, sub
from .common import distance, first, put, second, value


@compiled
def phi(table, t, motions, X, out):
    for n in range(table.shape[0]):
        e = table[n]
        out[e["row"]] = dot(rotate(X, e["i"], e["a_i"]), distance(X, e)) - value(motions, e["motion"], t)


@compiled
def rows(table, X, G):
    for n in range(table.shape[0]):
        e = table[n]
        i, j = e["i"], e["j"]
        u, d = rotate(X, i, e["a_i"]), distance(X, e)
        h = sub(cross(e["a_i"], unrotate(X, i, d)), cross(e["s_i"], e["a_i"]))
        put(G, e["at_i"], e["kind_i"], scale(-1.0, u), h)
        put(G, e["at_j"], e["kind_j"], u, cross(e["s_j"], unrotate(X, j, u)))


@compiled
def nu(table, t, motions, out):
    for n in range(table.shape[0]):
        out[table[n]["row"]] = first(motions, table[n]["motion"], t)


@compiled
def gamma(table, t, motions, X, out):
    for n in range(table.shape[0]):
        e = table[n]
        i, j, a = e["i"], e["j"], e["a_i"]
        rate = sub(point_velocity(X, j, e["s_j"]), point_velocity(X, i, e["s_i"]))
        bend = sub(spin2(X, j, e["s_j"]), spin2(X, i, e["s_i"]))
        curvature = dot(spin2(X, i, a), distance(X, e)) + 2.0 * dot(spin(X, i, a), rate) + dot(rotate(X, i, a), bend)
        out[e["row"]] = second(motions, e["motion"], t) - curvature
