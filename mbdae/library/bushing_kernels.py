"""Kernels of `bushing.Bushing`."""

from ..extend import add, compiled, dot, force_at, omega, point, point_velocity, rotate, scale, sub, unrotate


@compiled
def _place(e, X):
    """The place of the bushing on body j, seen from body i."""
    p, i = point(X, e["j"], e["s_j"]), e["i"]
    return unrotate(X, i, sub(p, (X[i, 0], X[i, 1], X[i, 2])))


@compiled
def _times(a, b):
    """Products of the components."""
    return a[0] * b[0], a[1] * b[1], a[2] * b[2]


@compiled
def _column(e, X, u):
    """`R u`: a direction of body j, seen from body i."""
    return unrotate(X, e["i"], rotate(X, e["j"], u))


@compiled
def _twist(e, X):
    """`sum_m g_m e_m x R e_m`."""
    g = e["g"]
    x, y, z = _column(e, X, (1.0, 0.0, 0.0)), _column(e, X, (0.0, 1.0, 0.0)), _column(e, X, (0.0, 0.0, 1.0))
    return g[1] * y[2] - g[2] * z[1], g[2] * z[0] - g[0] * x[2], g[0] * x[1] - g[1] * y[0]


def force(e, X, bodies, Q):
    i, j = e["i"], e["j"]
    place = _place(e, X)
    rate = unrotate(X, i, sub(point_velocity(X, j, e["s_j"]), point_velocity(X, i, place)))
    F = sub(e["load"], add(_times(e["k"], sub(place, e["s_i"])), _times(e["c"], rate)))
    turn = sub(unrotate(X, i, rotate(X, j, omega(X, j))), omega(X, i))
    T = scale(-1.0, add(_twist(e, X), _times(e["c_r"], turn)))
    push, moment = rotate(X, i, F), rotate(X, i, T)
    force_at(Q, bodies, X, j, e["s_j"], push, unrotate(X, j, moment))
    force_at(Q, bodies, X, i, place, scale(-1.0, push), scale(-1.0, T))


def energy(e, X, bodies):
    """`d . K d / 2 - load . d + sum_m g_m (1 - R_mm)`."""
    d, g = sub(_place(e, X), e["s_i"]), e["g"]
    x, y, z = _column(e, X, (1.0, 0.0, 0.0)), _column(e, X, (0.0, 1.0, 0.0)), _column(e, X, (0.0, 0.0, 1.0))
    bend = g[0] * (1.0 - x[0]) + g[1] * (1.0 - y[1]) + g[2] * (1.0 - z[2])
    return 0.5 * dot(_times(e["k"], d), d) - dot(e["load"], d) + bend
