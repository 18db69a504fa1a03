"""Bodies as frames: position, rotation matrix, velocity. Kinematic map, retraction, energies."""

import math

import numpy as np

from ..compilation.compiled import compiled
from .layout import BODY, BODY_T, GRAVITY, PLANAR, QUATERNION, QUATERNION_T, RIGID, frames, table
from .vec3 import cross, dot, vec


@compiled
def rotate(X, b, s):
    """`A_b s`: body-fixed to global components."""
    return (X[b, 3] * s[0] + X[b, 4] * s[1] + X[b, 5] * s[2],
            X[b, 6] * s[0] + X[b, 7] * s[1] + X[b, 8] * s[2],
            X[b, 9] * s[0] + X[b, 10] * s[1] + X[b, 11] * s[2])


@compiled
def unrotate(X, b, u):
    """`A_b^T u`: global to body-fixed components."""
    return (X[b, 3] * u[0] + X[b, 6] * u[1] + X[b, 9] * u[2],
            X[b, 4] * u[0] + X[b, 7] * u[1] + X[b, 10] * u[2],
            X[b, 5] * u[0] + X[b, 8] * u[1] + X[b, 11] * u[2])


@compiled
def point(X, b, s):
    """`r_b + A_b s`."""
    u = rotate(X, b, s)
    return X[b, 0] + u[0], X[b, 1] + u[1], X[b, 2] + u[2]


@compiled
def omega(X, b):
    return X[b, 15], X[b, 16], X[b, 17]


@compiled
def spin(X, b, s):
    """`A (omega x s)`: rate of the vector `A s`."""
    return rotate(X, b, cross(omega(X, b), s))


@compiled
def spin2(X, b, s):
    """`A (omega x (omega x s))`: second derivative of `A s` at zero angular acceleration."""
    w = omega(X, b)
    return rotate(X, b, cross(w, cross(w, s)))


@compiled
def point_velocity(X, b, s):
    """`rdot_b + A_b (omega x s)`."""
    u = spin(X, b, s)
    return X[b, 12] + u[0], X[b, 13] + u[1], X[b, 14] + u[2]


@compiled
def place(q, model, work):
    """Fill in the positions and rotation matrices of all bodies; `A(p)` is evaluated from `p/|p|`."""
    bodies = table(model, BODY, BODY_T)
    X = frames(model, work)
    nb = bodies.shape[0]
    for b in range(nb):
        at = bodies[b]["q"]
        if bodies[b]["kind"] == RIGID:
            _rigid(X, b, q, at)
        elif bodies[b]["kind"] == PLANAR:
            _planar(X, b, q, at)
        else:
            _identity(X, b)
            X[b, 0], X[b, 1], X[b, 2] = q[at], q[at + 1], q[at + 2]
    _identity(X, nb)
    X[nb, 0] = X[nb, 1] = X[nb, 2] = 0.0


@compiled
def _rigid(X, b, q, at):
    X[b, 0], X[b, 1], X[b, 2] = q[at], q[at + 1], q[at + 2]
    e0, e1, e2, e3 = q[at + 3], q[at + 4], q[at + 5], q[at + 6]
    s = 2.0 / (e0 * e0 + e1 * e1 + e2 * e2 + e3 * e3)
    s1, s2, s3 = s * e1, s * e2, s * e3
    X[b, 3] = 1.0 - (s2 * e2 + s3 * e3)
    X[b, 4] = s1 * e2 - s3 * e0
    X[b, 5] = s1 * e3 + s2 * e0
    X[b, 6] = s1 * e2 + s3 * e0
    X[b, 7] = 1.0 - (s1 * e1 + s3 * e3)
    X[b, 8] = s2 * e3 - s1 * e0
    X[b, 9] = s1 * e3 - s2 * e0
    X[b, 10] = s2 * e3 + s1 * e0
    X[b, 11] = 1.0 - (s1 * e1 + s2 * e2)


@compiled
def _planar(X, b, q, at):
    _identity(X, b)
    X[b, 0], X[b, 1], X[b, 2] = q[at], q[at + 1], 0.0
    c, s = np.cos(q[at + 2]), np.sin(q[at + 2])
    X[b, 3], X[b, 4], X[b, 6], X[b, 7] = c, -s, s, c


@compiled
def _identity(X, b):
    for k in range(3, 12):
        X[b, k] = 0.0
    X[b, 3] = X[b, 7] = X[b, 11] = 1.0


@compiled
def place_velocity(v, model, work):
    """Fill in the velocities of all bodies."""
    bodies = table(model, BODY, BODY_T)
    X = frames(model, work)
    nb = bodies.shape[0]
    for b in range(nb + 1):
        for k in range(12, 18):
            X[b, k] = 0.0
    for b in range(nb):
        at = bodies[b]["v"]
        if bodies[b]["kind"] == PLANAR:
            X[b, 12], X[b, 13], X[b, 17] = v[at], v[at + 1], v[at + 2]
        else:
            for k in range(6 if bodies[b]["kind"] == RIGID else 3):
                X[b, 12 + k] = v[at + k]


@compiled
def qdot(q, v, model, out):
    """`T(q) v`: for a quaternion `pdot = 1/2 p (0, omega)`, otherwise `v` itself."""
    quaternions, shift, at = table(model, QUATERNION, QUATERNION_T), 0, 0
    for n in range(quaternions.shape[0]):
        to, iv = quaternions[n]["q"], quaternions[n]["v"]
        for k in range(at, to):
            out[k] = v[k - shift]
        e0, e1, e2, e3 = q[to], q[to + 1], q[to + 2], q[to + 3]
        w1, w2, w3 = v[iv], v[iv + 1], v[iv + 2]
        out[to] = -0.5 * (e1 * w1 + e2 * w2 + e3 * w3)
        out[to + 1] = 0.5 * (e0 * w1 - e3 * w2 + e2 * w3)
        out[to + 2] = 0.5 * (e3 * w1 + e0 * w2 - e1 * w3)
        out[to + 3] = 0.5 * (-e2 * w1 + e1 * w2 + e0 * w3)
        shift, at = shift + 1, to + 4
    for k in range(at, q.shape[0]):
        out[k] = v[k - shift]


@compiled
def retract(q, d, model, out):
    """`q (+) d`: translations add, rotations multiply by the exponential, `p <- p exp(d/2)`, renormalised."""
    quaternions, shift, at = table(model, QUATERNION, QUATERNION_T), 0, 0
    for n in range(quaternions.shape[0]):
        to, iv = quaternions[n]["q"], quaternions[n]["v"]
        for k in range(at, to):
            out[k] = q[k] + d[k - shift]
        _turn(q, d[iv], d[iv + 1], d[iv + 2], to, out)
        shift, at = shift + 1, to + 4
    for k in range(at, q.shape[0]):
        out[k] = q[k] + d[k - shift]


@compiled
def _turn(q, x, y, z, at, out):
    # quaternion of the rotation
    angle2 = x * x + y * y + z * z
    if angle2 < 1e-6:  # series: exact to rounding below this bound
        c, s = 1.0 - angle2 / 8.0 + angle2 * angle2 / 384.0, 0.5 - angle2 / 48.0 + angle2 * angle2 / 3840.0
    else:
        angle = math.sqrt(angle2)
        c, s = math.cos(0.5 * angle), math.sin(0.5 * angle) / angle
    # product, normalised
    e0, e1, e2, e3 = q[at], q[at + 1], q[at + 2], q[at + 3]
    a, b, d = s * x, s * y, s * z
    f0, f1 = c * e0 - e1 * a - e2 * b - e3 * d, c * e1 + e0 * a + e2 * d - e3 * b
    f2, f3 = c * e2 + e0 * b + e3 * a - e1 * d, c * e3 + e0 * d + e1 * b - e2 * a
    n = 1.0 / math.sqrt(f0 * f0 + f1 * f1 + f2 * f2 + f3 * f3)
    out[at], out[at + 1], out[at + 2], out[at + 3] = n * f0, n * f1, n * f2, n * f3


@compiled
def difference(q, q0, model, out):
    """`q (-) q0`: the `d` with `q0 (+) d = q`; rotations by the logarithm."""
    quaternions, shift, at = table(model, QUATERNION, QUATERNION_T), 0, 0
    for n in range(quaternions.shape[0]):
        to, iv = quaternions[n]["q"], quaternions[n]["v"]
        for k in range(at, to):
            out[k - shift] = q[k] - q0[k]
        out[iv], out[iv + 1], out[iv + 2] = _angle_between(q0, q, to)
        shift, at = shift + 1, to + 4
    for k in range(at, q.shape[0]):
        out[k - shift] = q[k] - q0[k]


@compiled
def _angle_between(q0, q, at):
    """The rotation vector that leads from one quaternion to the other."""
    e = (q0[at], -q0[at + 1], -q0[at + 2], -q0[at + 3])
    f = (q[at], q[at + 1], q[at + 2], q[at + 3])
    w = e[0] * f[0] - e[1] * f[1] - e[2] * f[2] - e[3] * f[3]
    x = e[0] * f[1] + e[1] * f[0] + e[2] * f[3] - e[3] * f[2]
    y = e[0] * f[2] + e[2] * f[0] + e[3] * f[1] - e[1] * f[3]
    z = e[0] * f[3] + e[3] * f[0] + e[1] * f[2] - e[2] * f[1]
    n = math.sqrt(x * x + y * y + z * z)
    sign = 1.0 if w >= 0.0 else -1.0
    c = 2.0 * sign * (math.atan2(n, abs(w)) / n if n > 1e-12 else 1.0 / max(abs(w), 1e-300))
    return c * x, c * y, c * z


@compiled
def kinetic_energy(model, work):
    """`1/2 sum m |rdot|^2 + omega . J omega` of the placed state."""
    bodies = table(model, BODY, BODY_T)
    X = frames(model, work)
    energy = 0.0
    for b in range(bodies.shape[0]):
        u, w = vec(X[b, 12:]), vec(X[b, 15:])
        J = bodies[b]["J"]
        Jw = dot(vec(J), w), dot(vec(J[3:]), w), dot(vec(J[6:]), w)
        energy += 0.5 * (bodies[b]["mass"] * dot(u, u) + dot(w, Jw))
    return energy


@compiled
def gravity_energy(model, work):
    """`-sum m g . r` of the placed state."""
    bodies = table(model, BODY, BODY_T)
    X = frames(model, work)
    g = vec(table(model, GRAVITY, np.float64))
    energy = 0.0
    for b in range(bodies.shape[0]):
        energy -= bodies[b]["mass"] * dot(g, vec(X[b]))
    return energy
