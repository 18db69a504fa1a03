"""Inertias `[P, Q; Q^T, R]` of rigid bodies and of articulated parts of a tree, as tuples of 21 numbers.

`P` and `R` are symmetric, `xx, yy, zz, xy, xz, yz`, and `Q` is given by its rows. Motions and wrenches are pairs of vectors. Complex
numbers are not conjugated.
"""

from typing import NamedTuple

from ...compilation.compiled import compiled
from ..vec3 import add, cross, dot


class Inertia(NamedTuple):
    """The blocks of the translation, of both, and of the rotation."""

    P: tuple[float, ...]
    Q: tuple[float, ...]
    R: tuple[float, ...]


@compiled
def of_body(m, J):
    """Of a body at its centre of mass."""
    zero = 0.0 * m
    none = zero, zero, zero, zero, zero, zero, zero, zero, zero
    return Inertia((m, m, m, zero, zero, zero), none, (J[0], J[1], J[2], J[3], J[4], J[5]))


@compiled
def load(x):
    """From the first entries of an array."""
    return Inertia((x[0], x[1], x[2], x[3], x[4], x[5]), (x[6], x[7], x[8], x[9], x[10], x[11], x[12], x[13], x[14]),
                   (x[15], x[16], x[17], x[18], x[19], x[20]))


@compiled
def store(I, x):
    """To the first entries of an array."""
    P, Q, R = I.P, I.Q, I.R
    x[0], x[1], x[2], x[3], x[4], x[5] = P
    x[6], x[7], x[8], x[9], x[10], x[11], x[12], x[13], x[14] = Q
    x[15], x[16], x[17], x[18], x[19], x[20] = R


@compiled
def times(I, a, b):
    """The wrench of a motion `(a, b)`."""
    Q = I.Q
    of_b = dot((Q[0], Q[1], Q[2]), b), dot((Q[3], Q[4], Q[5]), b), dot((Q[6], Q[7], Q[8]), b)
    of_a = dot((Q[0], Q[3], Q[6]), a), dot((Q[1], Q[4], Q[7]), a), dot((Q[2], Q[5], Q[8]), a)
    return add(_symmetric(I.P, a), of_b), add(of_a, _symmetric(I.R, b))


@compiled
def _symmetric(S, x):
    """`S x`."""
    return S[0] * x[0] + S[3] * x[1] + S[4] * x[2], S[3] * x[0] + S[1] * x[1] + S[5] * x[2], S[4] * x[0] + S[5] * x[1] + S[2] * x[2]


@compiled
def less_product(I, a, b, x, y):
    """`I - (a, b) (x, y)^T`, of which it is known that it is symmetric."""
    Q = I.Q
    return Inertia(_less_product(I.P, a, x), (Q[0] - a[0] * y[0], Q[1] - a[0] * y[1], Q[2] - a[0] * y[2],
                                              Q[3] - a[1] * y[0], Q[4] - a[1] * y[1], Q[5] - a[1] * y[2],
                                              Q[6] - a[2] * y[0], Q[7] - a[2] * y[1], Q[8] - a[2] * y[2]), _less_product(I.R, b, y))


@compiled
def _less_product(S, a, x):
    """`S - a x^T`."""
    return (S[0] - a[0] * x[0], S[1] - a[1] * x[1], S[2] - a[2] * x[2],
            S[3] - a[0] * x[1], S[4] - a[0] * x[2], S[5] - a[1] * x[2])


@compiled
def plus(I, J):
    """`I + J`."""
    S, T, P, Q = I.P, J.P, I.R, J.R
    a, b = I.Q, J.Q
    return Inertia((S[0] + T[0], S[1] + T[1], S[2] + T[2], S[3] + T[3], S[4] + T[4], S[5] + T[5]),
                   (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5], a[6] + b[6], a[7] + b[7], a[8] + b[8]),
                   (P[0] + Q[0], P[1] + Q[1], P[2] + Q[2], P[3] + Q[3], P[4] + Q[4], P[5] + Q[5]))


@compiled
def shifted(I, d):
    """`X^T I X` with the motion `X (a, b) = (a + b x d, b)` of the point at `d` from another: the inertia by the motion of that one.

    With the matrix `D` of `d x`: `Q' = Q - P D` and `R' = R + D Q' + (D Q)^T`.
    """
    P, Q, R = I.P, I.Q, I.R
    # rows of Q'
    x = add((Q[0], Q[1], Q[2]), cross(d, (P[0], P[3], P[4])))
    y = add((Q[3], Q[4], Q[5]), cross(d, (P[3], P[1], P[5])))
    z = add((Q[6], Q[7], Q[8]), cross(d, (P[4], P[5], P[2])))
    # columns of D Q' and D Q
    e, f, g = cross(d, (x[0], y[0], z[0])), cross(d, (x[1], y[1], z[1])), cross(d, (x[2], y[2], z[2]))
    u, v, w = cross(d, (Q[0], Q[3], Q[6])), cross(d, (Q[1], Q[4], Q[7])), cross(d, (Q[2], Q[5], Q[8]))
    return Inertia(P, (x[0], x[1], x[2], y[0], y[1], y[2], z[0], z[1], z[2]),
                   (R[0] + e[0] + u[0], R[1] + f[1] + v[1], R[2] + g[2] + w[2],
                    R[3] + f[0] + u[1], R[4] + g[0] + u[2], R[5] + g[1] + v[2]))
