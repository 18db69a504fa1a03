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

from ...compilation.compiled import compiled
from ...system import layout as lay
from ...system.layout import BODY_T, QUATERNION_T, RIGID, table
from ...system.system import System
from ...typing import Matrix

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
def move(q, v, h, free, model, q1, v1):
    """Positions `q1` and velocities `v1` of free bodies after the time `h`; `free` is from `principal_axes`."""
    quaternions, shift, at = table(model, lay.QUATERNION, QUATERNION_T), 0, 0
    for n in range(quaternions.shape[0]):
        to, iv = quaternions[n]["q"], quaternions[n]["v"]
        for k in range(at, to):
            q1[k], v1[k - shift] = q[k] + h * v[k - shift], v[k - shift]
        _rotate(q, v, to, iv, h, free[n], q1, v1)
        shift, at = shift + 1, to + 4
    for k in range(at, q.shape[0]):
        q1[k], v1[k - shift] = q[k] + h * v[k - shift], v[k - shift]


@compiled
def _rotate(q, v, at, iv, h, body, q1, v1):
    """The rotation of one body, with its quaternion and angular velocity at these places."""
    I1, I2, I3 = body[0], body[1], body[2]
    a, b, c, d, e, f, g, o, p = body[3], body[4], body[5], body[6], body[7], body[8], body[9], body[10], body[11]
    # angular momentum in the principal axes
    x, y, z = v[iv], v[iv + 1], v[iv + 2]
    m = I1 * (a * x + d * y + g * z), I2 * (b * x + e * y + o * z), I3 * (c * x + f * y + p * z)
    # the rotation as a quaternion r in these axes
    r, excess = (1.0, 0.0, 0.0, 0.0), 0.5 * h * (1.0 / I1 - 1.0 / I2)
    if excess != 0.0:
        r, m = _about_first(r, m, excess * m[0])
    r = _times(r, _turned(h * m[0] / I2, h * m[1] / I2, h * m[2] / I2))
    r, m = _about_third(r, m, h * (1.0 / I3 - 1.0 / I2) * m[2])
    if excess != 0.0:
        r, m = _about_first(r, m, excess * m[0])
    # orientation and angular velocity
    r = r[0], a * r[1] + b * r[2] + c * r[3], d * r[1] + e * r[2] + f * r[3], g * r[1] + o * r[2] + p * r[3]
    r = _times((q[at], q[at + 1], q[at + 2], q[at + 3]), r)
    n = 1.0 / math.sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + r[3] * r[3])
    q1[at], q1[at + 1], q1[at + 2], q1[at + 3] = n * r[0], n * r[1], n * r[2], n * r[3]
    x, y, z = m[0] / I1, m[1] / I2, m[2] / I3
    v1[iv], v1[iv + 1], v1[iv + 2] = a * x + b * y + c * z, d * x + e * y + f * z, g * x + o * y + p * z


@compiled
def _about_first(r, m, angle):
    """Turn the body about its first axis; its angular momentum `m` stays where it is in space."""
    c, s = math.cos(0.5 * angle), math.sin(0.5 * angle)
    y, z = 2.0 * s * (c * m[2] - s * m[1]), 2.0 * s * (c * m[1] + s * m[2])  # small increments, so that rounding errors are
    return ((c * r[0] - s * r[1], c * r[1] + s * r[0], c * r[2] + s * r[3], c * r[3] - s * r[2]), (m[0], m[1] + y, m[2] - z))


@compiled
def _about_third(r, m, angle):
    """The same about the third axis."""
    c, s = math.cos(0.5 * angle), math.sin(0.5 * angle)
    x, y = 2.0 * s * (c * m[1] - s * m[0]), 2.0 * s * (c * m[0] + s * m[1])
    return ((c * r[0] - s * r[3], c * r[1] + s * r[2], c * r[2] - s * r[1], c * r[3] + s * r[0]), (m[0] + x, m[1] - y, m[2]))


@compiled
def _turned(x, y, z):
    """The quaternion of a rotation vector."""
    angle2 = x * x + y * y + z * z
    if angle2 < 1e-6:  # series: exact to rounding below this bound
        c, s = 1.0 - angle2 / 8.0 + angle2 * angle2 / 384.0, 0.5 - angle2 / 48.0 + angle2 * angle2 / 3840.0
    else:
        angle = math.sqrt(angle2)
        c, s = math.cos(0.5 * angle), math.sin(0.5 * angle) / angle
    return c, s * x, s * y, s * z


@compiled
def _times(p, r):
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
