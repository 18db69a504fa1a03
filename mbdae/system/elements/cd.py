"""One global component of a distance vector: `c . d - f(t) = 0`; the direction `c` is kept in `a_i`."""


from ...compilation.compiled import compiled
from ..frames import spin2, unrotate
from ..vec3 import cross, dot, scale, sub
from .common import distance, first, put, second, value


@compiled
def phi(table, t, motions, X, out):
    for n in range(table.shape[0]):
        e = table[n]
        out[e["row"]] = dot(e["a_i"], distance(X, e)) - value(motions, e["motion"], t)


@compiled
def rows(table, X, G):
    for n in range(table.shape[0]):
        e = table[n]
        c = e["a_i"]
        put(G, e["at_i"], e["kind_i"], scale(-1.0, c), cross(unrotate(X, e["i"], c), e["s_i"]))
        put(G, e["at_j"], e["kind_j"], c, cross(e["s_j"], unrotate(X, e["j"], c)))


@compiled
def nu(table, t, motions, out):
    for n in range(table.shape[0]):
        out[table[n]["row"]] = first(motions, table[n]["motion"], t)


@compiled
def gamma(table, t, motions, X, out):
    for n in range(table.shape[0]):
        e = table[n]
        bend = sub(spin2(X, e["j"], e["s_j"]), spin2(X, e["i"], e["s_i"]))
        out[e["row"]] = second(motions, e["motion"], t) - dot(e["a_i"], bend)
