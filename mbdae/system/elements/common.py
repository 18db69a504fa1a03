"""Functions of time, and the storage of the rows of Phi_q, for all primitive constraints."""

import math

from ...compilation.compiled import compiled
from ..callbacks import call_motion
from ..frames import point
from ..layout import FIXED, PARTICLE, PLANAR
from ..vec3 import sub

CONSTANT, POLYNOMIAL, HARMONIC, FUNCTION = 0, 1, 2, 3


@compiled
def value(motions, k, t):
    """`f(t)` of motion `k`."""
    m = motions[k]
    c = m["c"]
    if m["kind"] == CONSTANT:
        return c[0]
    if m["kind"] == HARMONIC:
        return c[3] + c[0] * math.sin(c[1] * t + c[2])
    if m["kind"] == FUNCTION:
        return call_motion(m["f"], t)
    f = 0.0
    for n in range(7, -1, -1):
        f = f * t + c[n]
    return f


@compiled
def first(motions, k, t):
    """`f'(t)`."""
    m = motions[k]
    c = m["c"]
    if m["kind"] == CONSTANT:
        return 0.0
    if m["kind"] == HARMONIC:
        return c[0] * c[1] * math.cos(c[1] * t + c[2])
    if m["kind"] == FUNCTION:
        return call_motion(m["df"], t)
    f = 0.0
    for n in range(7, 0, -1):
        f = f * t + n * c[n]
    return f


@compiled
def second(motions, k, t):
    """`f''(t)`."""
    m = motions[k]
    c = m["c"]
    if m["kind"] == CONSTANT:
        return 0.0
    if m["kind"] == HARMONIC:
        return -c[0] * c[1] * c[1] * math.sin(c[1] * t + c[2])
    if m["kind"] == FUNCTION:
        return call_motion(m["d2f"], t)
    f = 0.0
    for n in range(7, 1, -1):
        f = f * t + n * (n - 1) * c[n]
    return f


@compiled
def distance(X, e):
    """`d = r_j + A_j s_j - r_i - A_i s_i`."""
    return sub(point(X, e["j"], e["s_j"]), point(X, e["i"], e["s_i"]))


@compiled
def put(G, at, kind, g, h):
    """One body's segment of a row: `g` on its translation, `h` on its body-fixed rotation."""
    if kind == FIXED:
        return
    G[at], G[at + 1] = g[0], g[1]
    if kind == PLANAR:
        G[at + 2] = h[2]
        return
    G[at + 2] = g[2]
    if kind != PARTICLE:
        G[at + 3], G[at + 4], G[at + 5] = h[0], h[1], h[2]


@compiled
def put_i(G, e, k, g, h):
    """Gradients of equation `k` of an element by the translation and the rotation of body i."""
    put(G, e["at_i"] + k * e["stride"], e["kind_i"], g, h)


@compiled
def put_j(G, e, k, g, h):
    """Gradients of equation `k` of an element by the translation and the rotation of body j."""
    put(G, e["at_j"] + k * e["stride"], e["kind_j"], g, h)
