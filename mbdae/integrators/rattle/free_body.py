"""The motion of bodies without forces, from a state: exact for translations and symmetric bodies, a symmetric splitting for others.

In the principal axes of a body with moments of inertia `I_k` and the angular momentum `m = J omega` the kinetic energy of the rotation is

    T = sum_k m_k^2 / (2 I_k) = T_s + (1/I_1 - 1/I_2) m_1^2 / 2,

where `T_s` belongs to a symmetric body with the moments `(I_2, I_2, I_3)`. The motion of either part consists of rotations of the body:
about the first axis by the angle `h (1/I_1 - 1/I_2) m_1`; about `m` by `h |m| / I_2` and then about the third axis by
`h (1/I_3 - 1/I_2) m_3`. Half of the first part, the second, and again half of the first make a symmetric, symplectic method of order two
that keeps the angular momentum in space [Touma and Wisdom; Dullweber, Leimkuhler and McLachlan]. Axes are numbered such that `1/I_1` and
`1/I_2` are the closest pair.
"""

import math

import numpy as np

from ...compilation.compiled import compiled, exact
from ...system import layout as lay
from ...system.layout import BODY_T, QUATERNION_T, RIGID, table
from ...system.system import System
from ...typing import Matrix
from .sums import added

RECORD = 12  # numbers of a body: its moments of inertia, and its principal axes by columns


def principal_axes(system: System) -> Matrix:
    """Moments of inertia `(I_1, I_2, I_3)` and principal axes, rotation matrices by rows, of all rigid bodies: (n, `RECORD`)."""
    bodies = lay.records_of(system.model, lay.BODY, BODY_T)
    J = bodies["J"][bodies["kind"] == RIGID].reshape(-1, 3, 3)
    moments, axes = np.linalg.eigh(J)
    axes[:, :, 0] *= np.sign(np.linalg.det(axes))[:, None]
    # diagonal matrices as they are
    own = J[:, range(3), range(3)]
    diagonal = np.abs(J).sum(axis=(1, 2)) == own.sum(axis=1)
    moments[diagonal], axes[diagonal] = own[diagonal], np.eye(3)
    # an even permutation that leaves the closest pair in front
    gaps = np.abs(1.0 / moments[:, [1, 2, 0]] - 1.0 / moments[:, [2, 0, 1]])
    order = (np.argmin(gaps, axis=1)[:, None] + np.array([1, 2, 0])) % 3
    moments, axes = np.take_along_axis(moments, order, 1), np.take_along_axis(axes, order[:, None, :], 2)
    return np.ascontiguousarray(np.hstack([moments, axes.reshape(-1, 9)]))


@compiled
def move(x, h, free, model, x1):
    """Positions and velocities `x1` of free bodies after the time `h`, from `x`, both a `Phase`; `free` is from `principal_axes`."""
    quaternions, shift, at = table(model, lay.QUATERNION, QUATERNION_T), 0, 0
    for n in range(quaternions.shape[0]):
        to, iv = quaternions[n]["q"], quaternions[n]["v"]
        _translate(x, at, to, shift, h, x1)
        _rotate(x, to, iv, h, free[n], x1)
        shift, at = shift + 1, to + 4
    _translate(x, at, x.q.shape[0], shift, h, x1)


@compiled
def positions_ahead(x, h, free, model, q1):
    """The positions of `move` to rounding."""
    quaternions, shift, at, q, v = table(model, lay.QUATERNION, QUATERNION_T), 0, 0, x.q, x.v
    for n in range(quaternions.shape[0]):
        to, iv, body = quaternions[n]["q"], quaternions[n]["v"], free[n]
        for k in range(at, to):
            q1[k] = q[k] + h * v[k - shift]
        r, _ = _rotation(v[iv], v[iv + 1], v[iv + 2], h, body)
        r = _product((q[to], q[to + 1], q[to + 2], q[to + 3]), r)
        q1[to], q1[to + 1], q1[to + 2], q1[to + 3] = q[to] + r[0], q[to + 1] + r[1], q[to + 2] + r[2], q[to + 3] + r[3]
        shift, at = shift + 1, to + 4
    for k in range(at, q.shape[0]):
        q1[k] = q[k] + h * v[k - shift]


@compiled
def _translate(x, at, to, shift, h, x1):
    """The positions from `at` to `to`, with velocities that stay."""
    q, v, q_rest, v_rest, q1, v1, q1_rest, v1_rest = x.q, x.v, x.q_rest, x.v_rest, x1.q, x1.v, x1.q_rest, x1.v_rest
    for k in range(at, to):
        q1[k], q1_rest[k] = added(q[k], q_rest[k], h * v[k - shift])
        v1[k - shift], v1_rest[k - shift] = v[k - shift], v_rest[k - shift]


@exact
def _rotate(x, at, iv, h, body, x1):
    """The rotation of one body, with its quaternion and angular velocity at these places."""
    v, rest, v1, v1_rest = x.v, x.v_rest, x1.v, x1.v_rest
    r, change = _rotation(v[iv], v[iv + 1], v[iv + 2], h, body)
    v1[iv], v1_rest[iv] = added(v[iv], rest[iv], change[0])
    v1[iv + 1], v1_rest[iv + 1] = added(v[iv + 1], rest[iv + 1], change[1])
    v1[iv + 2], v1_rest[iv + 2] = added(v[iv + 2], rest[iv + 2], change[2])
    # a quaternion of length one
    q, rest, q1, q1_rest = (x.q[at], x.q[at + 1], x.q[at + 2], x.q[at + 3]), x.q_rest, x1.q, x1.q_rest
    r = _product(q, r)
    end = q[0] + r[0], q[1] + r[1], q[2] + r[2], q[3] + r[3]
    excess = end[0] * end[0] + end[1] * end[1] + end[2] * end[2] + end[3] * end[3] - 1.0
    short = (0.375 * excess - 0.5) * excess  # series of 1 / sqrt(1 + excess) - 1
    q1[at], q1_rest[at] = added(q[0], rest[at], r[0] + short * end[0])
    q1[at + 1], q1_rest[at + 1] = added(q[1], rest[at + 1], r[1] + short * end[1])
    q1[at + 2], q1_rest[at + 2] = added(q[2], rest[at + 2], r[2] + short * end[2])
    q1[at + 3], q1_rest[at + 3] = added(q[3], rest[at + 3], r[3] + short * end[3])


@exact
def _rotation(x, y, z, h, body):
    """`r` of the rotation `1 + r` of a body with this angular velocity, and the change of the angular velocity, both in its own frame.

    Neither is the difference of two larger numbers: rounding errors are in proportion to the angle.
    """
    I1, I2, I3 = body[0], body[1], body[2]
    a, b, c, d, e, f, g, o, p = body[3], body[4], body[5], body[6], body[7], body[8], body[9], body[10], body[11]
    i1, i2, i3 = 1.0 / I1, 1.0 / I2, 1.0 / I3
    # angular momentum m in the principal axes, rotation there, changes n of the momentum
    m = I1 * (a * x + d * y + g * z), I2 * (b * x + e * y + o * z), I3 * (c * x + f * y + p * z)
    r, n, excess = (0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.5 * h * (i1 - i2)
    if excess != 0.0:
        r, n = _about_first(r, m, n, excess * m[0])
    r = _times(r, _turned(h * i2 * (m[0] + n[0]), h * i2 * (m[1] + n[1]), h * i2 * (m[2] + n[2])))
    r, n = _about_third(r, m, n, h * (i3 - i2) * (m[2] + n[2]))
    if excess != 0.0:
        r, n = _about_first(r, m, n, excess * (m[0] + n[0]))
    # in the frame of the body
    x, y, z = i1 * n[0], i2 * n[1], i3 * n[2]
    return ((r[0], a * r[1] + b * r[2] + c * r[3], d * r[1] + e * r[2] + f * r[3], g * r[1] + o * r[2] + p * r[3]),
            (a * x + b * y + c * z, d * x + e * y + f * z, g * x + o * y + p * z))


@exact
def _about_first(r, m, n, angle):
    """Turn the body about its first axis: `1 + r` becomes another rotation, the changes `n` of the angular momentum `m + n` others."""
    c, s = _half(angle)
    y, z = m[1] + n[1], m[2] + n[2]
    dy, dz = 2.0 * s * ((1.0 + c) * z - s * y), 2.0 * s * ((1.0 + c) * y + s * z)
    return _times(r, (c, s, 0.0, 0.0)), (n[0], n[1] + dy, n[2] - dz)


@exact
def _about_third(r, m, n, angle):
    """The same about the third axis."""
    c, s = _half(angle)
    x, y = m[0] + n[0], m[1] + n[1]
    dx, dy = 2.0 * s * ((1.0 + c) * y - s * x), 2.0 * s * ((1.0 + c) * x + s * y)
    return _times(r, (c, 0.0, 0.0, s)), (n[0] + dx, n[1] - dy, n[2])


@exact
def _half(angle):
    """Cosine of half the angle, minus one, and sine."""
    c, s = math.cos(0.25 * angle), math.sin(0.25 * angle)
    return -2.0 * s * s, 2.0 * s * c


@exact
def _turned(x, y, z):
    """`r` of a rotation vector, for the quaternion `1 + r`."""
    angle2 = x * x + y * y + z * z
    if angle2 < 1e-6:  # series: exact to rounding below this bound
        c, s = (angle2 / 384.0 - 0.125) * angle2, 0.5 - angle2 / 48.0 + angle2 * angle2 / 3840.0
    else:
        angle = math.sqrt(angle2)
        c, s = _half(angle)
        s /= angle
    return c, s * x, s * y, s * z


@exact
def _times(p, r):
    """`(1 + p) (1 + r) - 1` for two quaternions."""
    s = _product(p, r)
    return p[0] + r[0] + s[0], p[1] + r[1] + s[1], p[2] + r[2] + s[2], p[3] + r[3] + s[3]


@exact
def _product(p, r):
    """The product of two quaternions."""
    return (p[0] * r[0] - p[1] * r[1] - p[2] * r[2] - p[3] * r[3], p[0] * r[1] + p[1] * r[0] + p[2] * r[3] - p[3] * r[2],
            p[0] * r[2] + p[2] * r[0] + p[3] * r[1] - p[1] * r[3], p[0] * r[3] + p[3] * r[0] + p[1] * r[2] - p[2] * r[1])


@compiled
def add_gyroscopic(v, scale, model, out):
    """`out += scale omega x J omega` for every rigid body."""
    bodies = table(model, lay.BODY, BODY_T)
    for b in range(bodies.shape[0]):
        if bodies[b]["kind"] == RIGID:
            J, at = bodies[b]["J"], bodies[b]["v"] + 3
            x, y, z = v[at], v[at + 1], v[at + 2]
            mx, my, mz = J[0] * x + J[1] * y + J[2] * z, J[3] * x + J[4] * y + J[5] * z, J[6] * x + J[7] * y + J[8] * z
            out[at] += scale * (y * mz - z * my)
            out[at + 1] += scale * (z * mx - x * mz)
            out[at + 2] += scale * (x * my - y * mx)
