"""Kernels of `guided_rod.GuidedRod`."""

from ..extend import (
    add,
    compiled,
    cross,
    dot,
    first,
    omega,
    point,
    point_velocity,
    put_i,
    put_j,
    rotate,
    scale,
    second,
    spin2,
    sub,
    unrotate,
    value,
)


@compiled
def _end(e, f):
    """`p`."""
    return add(e["s_i"], scale(f, e["axis"]))


@compiled
def _distance(e, X, p):
    """`d`."""
    return sub(point(X, e["j"], e["s_j"]), point(X, e["i"], p))


def phi(e, t, X, motions, out):
    d = _distance(e, X, _end(e, value(motions, e["motion"], t)))
    out[e["row"]] = dot(d, d) - e["length"] ** 2


def phi_q(e, t, X, motions, G):
    p = _end(e, value(motions, e["motion"], t))
    d = scale(2.0, _distance(e, X, p))
    put_i(G, e, 0, scale(-1.0, d), cross(unrotate(X, e["i"], d), p))
    put_j(G, e, 0, d, cross(e["s_j"], unrotate(X, e["j"], d)))


def nu(e, t, X, motions, out):
    d = _distance(e, X, _end(e, value(motions, e["motion"], t)))
    out[e["row"]] = 2.0 * first(motions, e["motion"], t) * dot(d, rotate(X, e["i"], e["axis"]))


def gamma(e, t, X, motions, out):
    """`-2 (d' . d' + d . d'')` without accelerations of the bodies."""
    i, j, axis = e["i"], e["j"], e["axis"]
    p = _end(e, value(motions, e["motion"], t))
    slide, pull = scale(first(motions, e["motion"], t), axis), scale(second(motions, e["motion"], t), axis)
    rate = sub(point_velocity(X, j, e["s_j"]), add(point_velocity(X, i, p), rotate(X, i, slide)))
    guided = rotate(X, i, add(scale(2.0, cross(omega(X, i), slide)), pull))
    bend = sub(spin2(X, j, e["s_j"]), add(spin2(X, i, p), guided))
    out[e["row"]] = -2.0 * (dot(rate, rate) + dot(_distance(e, X, p), bend))
