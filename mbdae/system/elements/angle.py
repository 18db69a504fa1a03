"""Relative angle of planar bodies: `angle_j - angle_i - f(t) = 0`. The row of Phi_q is constant."""


from ...compilation.compiled import compiled
from ..layout import FIXED
from .common import first, second, value


@compiled
def phi(table, t, motions, q, out):
    """`i`, `j` are positions of the angles in `q`, -1 for the ground."""
    for n in range(table.shape[0]):
        e = table[n]
        difference = -value(motions, e["motion"], t) + 0.0 * q[0]
        if e["kind_i"] != FIXED:
            difference -= q[e["i"]]
        if e["kind_j"] != FIXED:
            difference += q[e["j"]]
        out[e["row"]] = difference


@compiled
def rows(table, G):
    for n in range(table.shape[0]):
        e = table[n]
        if e["kind_i"] != FIXED:
            G[e["at_i"]], G[e["at_i"] + 1], G[e["at_i"] + 2] = 0.0, 0.0, -1.0
        if e["kind_j"] != FIXED:
            G[e["at_j"]], G[e["at_j"] + 1], G[e["at_j"] + 2] = 0.0, 0.0, 1.0


@compiled
def nu(table, t, motions, out):
    for n in range(table.shape[0]):
        out[table[n]["row"]] = first(motions, table[n]["motion"], t)


@compiled
def gamma(table, t, motions, out):
    for n in range(table.shape[0]):
        out[table[n]["row"]] = second(motions, table[n]["motion"], t)
