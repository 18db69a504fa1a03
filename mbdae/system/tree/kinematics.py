"""Frames, velocities and accelerations of all bodies from joint coordinates, joint by joint from the root to the leaves.

A joint leads from the point `s_i` of the body before it, in steps along and about axes, to the point `s_j` of its own body. The velocity of
body `j` at its centre of mass, with `rho = r_j - r_i` and the direction `b_k` of each velocity of the joint [Negrut, eqs. (3.127)-(3.134)]:

    (rdot_j, omega_j) = (rdot_i + omega_i x rho, omega_i) + sum_k b_k v_k

in global components. A rheonomic joint has steps without an unknown, of a prescribed length or angle `u(t)`; their `b_k u'` are added.
Reference points at the centres of mass keep all numbers of the size of a body, wherever the mechanism moves.
"""

import numpy as np

from ...compilation.compiled import compiled
from ..elements.common import first, second, value
from ..frames import omega, point, rotate, unrotate
from ..layout import BODY, BODY_T, EXTRA_CONSTRAINT, EXTRA_FORCE, MOTION, MOTION_T, NB, PLANAR, RIGID, count, frames, header, table
from ..vec3 import add, cross, scale, sub, vec
from .layout import (
    ACCELERATION,
    BALL,
    BIAS,
    RATE,
    SLIDE,
    SPEED,
    STEP_AXIS,
    axes,
    joints,
    kinematics,
    points,
    positions,
    steps,
)


@compiled
def place(t, q, model, work):
    """Frames of all bodies and the directions of the velocities; the Cartesian coordinates, too, with quaternions where they are used."""
    tree, moves, bodies, motions = joints(model), steps(model), table(model, BODY, BODY_T), table(model, MOTION, MOTION_T)
    X, kin, starts, B, out = frames(model, work), kinematics(model, work), points(model, work), axes(model, work), positions(model, work)
    _place_ground(X, header(model)[NB])
    zero = X[header(model)[NB], 0]
    for n in range(tree.shape[0]):
        joint = tree[n]
        b, p = joint["body"], joint["parent"]
        # steps from the point of the body before: x runs, R turns
        x, R, angle = point(X, p, joint["s_i"]), _rotation(X, p), joint["angle"] + zero
        if bodies[b]["kind"] == PLANAR and joint["above"] >= 0:
            angle += out[bodies[p]["q"] + 2]
        for k in range(joint["step"], joint["step"] + joint["steps"]):
            step = moves[k]
            starts[k, 0], starts[k, 1], starts[k, 2] = x
            at, v, axis = step["q"], step["v"], vec(step["axis"])
            if step["kind"] != BALL:
                a = _apply(R, axis)
                if step["motion"] < 0:
                    u = q[at]
                    if step["kind"] == SLIDE:
                        _put(B[v], a, (0.0, 0.0, 0.0))
                    else:
                        _put(B[v], x, a)
                else:
                    u = zero + _prescribe(t, step, a, motions, starts[k])
                if step["kind"] == SLIDE:
                    x = add(x, scale(u, a))
                else:
                    R = _product(R, _about(axis, u))
                    angle += u
            else:
                R = _product(R, _of_quaternion(q[at], q[at + 1], q[at + 2], q[at + 3]))
                for m in range(3):
                    _put(B[v + m], x, (R[m], R[3 + m], R[6 + m]))
        # the frame of the body, and where it is seen from the one before
        C = joint["C"]
        R = _product(R, (C[0], C[1], C[2], C[3], C[4], C[5], C[6], C[7], C[8]))
        for m in range(9):
            X[b, 3 + m] = R[m]
        r = sub(x, rotate(X, b, joint["s_j"]))
        X[b, 0], X[b, 1], X[b, 2] = r
        for m in range(3):
            kin[n, m] = r[m] - X[p, m]
        _complete(B, joint, moves, r)
        _put_coordinates(bodies[b], X, b, angle, out)
    if count(model, EXTRA_CONSTRAINT) or count(model, EXTRA_FORCE):
        orientations(model, work)


@compiled
def _prescribe(t, step, a, motions, start):
    """The prescribed length or angle of a step about or along `a`; the axis and the two derivatives beside the point where it begins."""
    at, sign = step["motion"], step["sign"]
    start[STEP_AXIS], start[STEP_AXIS + 1], start[STEP_AXIS + 2] = a
    start[SPEED], start[ACCELERATION] = sign * first(motions, at, t), sign * second(motions, at, t)
    return step["offset"] + sign * value(motions, at, t)


@compiled
def _place_ground(X, nb):
    for k in range(18):
        X[nb, k] = 0.0
    X[nb, 3] = X[nb, 7] = X[nb, 11] = 1.0


@compiled
def _complete(B, joint, moves, r):
    """Directions of turns: `a x (r - x)` of the centre of mass `r`, `a` of the rotation; so far they were `x` and `a`."""
    for k in range(joint["step"], joint["step"] + joint["steps"]):
        if moves[k]["kind"] != SLIDE and moves[k]["motion"] < 0:
            v = moves[k]["v"]
            for m in range(v, v + (3 if moves[k]["kind"] == BALL else 1)):
                a = vec(B[m, 3:])
                _put(B[m], cross(a, sub(r, vec(B[m]))), a)


@compiled
def _put_coordinates(body, X, b, angle, out):
    """The Cartesian coordinates of a body, but its quaternion."""
    at = body["q"]
    out[at], out[at + 1] = X[b, 0], X[b, 1]
    if body["kind"] == PLANAR:
        out[at + 2] = angle
    else:
        out[at + 2] = X[b, 2]


@compiled
def orientations(model, work):
    """The quaternions of the Cartesian coordinates. Elements of mbdae need none, and they take a third of the time of `place`."""
    bodies, X, out = table(model, BODY, BODY_T), frames(model, work), positions(model, work)
    for b in range(bodies.shape[0]):
        if bodies[b]["kind"] == RIGID:
            at, p = bodies[b]["q"], _quaternion(X, b)
            for m in range(4):
                out[at + 3 + m] = p[m]


@compiled
def place_velocity(v, model, work):
    """Velocities of all bodies, and the accelerations that they have while those of the joint coordinates are zero [ib., (3.135)]."""
    tree, moves = joints(model), steps(model)
    X, kin, starts, B = frames(model, work), kinematics(model, work), points(model, work), axes(model, work)
    zero = (0.0 * X[0, 0], 0.0 * X[0, 0], 0.0 * X[0, 0])
    for n in range(tree.shape[0]):
        joint = tree[n]
        b, p, up = joint["body"], joint["parent"], joint["above"]
        # velocity and acceleration of the point of the body before
        last = joint["step"] + joint["steps"]
        s = rotate(X, p, joint["s_i"])
        w = rotate(X, p, omega(X, p))
        dw, u, du = zero, vec(X[p, 12:]), zero
        if up >= 0:
            du, dw = vec(kin[up, BIAS:]), vec(kin[up, BIAS + 3:])
        u, du = _carry(s, w, dw, u, du)
        # steps
        end = add(vec(X[b]), rotate(X, b, joint["s_j"]))
        for k in range(joint["step"], last):
            at, start = moves[k]["v"], starts[k]
            if moves[k]["kind"] == SLIDE:
                far = end if k + 1 == last else vec(starts[k + 1])
                u, du = _carry(sub(far, vec(start)), w, dw, u, du)
                if moves[k]["motion"] < 0:
                    a = scale(v[at], vec(B[at]))
                else:
                    a = scale(start[SPEED], vec(start[STEP_AXIS:]))
                    du = add(du, scale(start[ACCELERATION], vec(start[STEP_AXIS:])))
                u, du = add(u, a), add(du, scale(2.0, cross(w, a)))
            else:
                if moves[k]["motion"] < 0:
                    a = scale(v[at], vec(B[at, 3:]))
                    if moves[k]["kind"] == BALL:
                        a = add(a, add(scale(v[at + 1], vec(B[at + 1, 3:])), scale(v[at + 2], vec(B[at + 2, 3:]))))
                else:
                    a = scale(start[SPEED], vec(start[STEP_AXIS:]))
                    dw = add(dw, scale(start[ACCELERATION], vec(start[STEP_AXIS:])))
                dw, w = add(dw, cross(w, a)), add(w, a)
        # the centre of mass
        u, du = _carry(sub(vec(X[b]), end), w, dw, u, du)
        for m in range(3):
            X[b, 12 + m], kin[n, BIAS + m], kin[n, BIAS + 3 + m] = u[m], du[m], dw[m]
        X[b, 15], X[b, 16], X[b, 17] = unrotate(X, b, w)


@compiled
def place_rates(model, work):
    """The velocities of all bodies that prescribed motions cause while those of the joint coordinates are zero, as RATE."""
    tree, moves, X, kin, starts = joints(model), steps(model), frames(model, work), kinematics(model, work), points(model, work)
    zero = (0.0 * X[0, 0], 0.0 * X[0, 0], 0.0 * X[0, 0])
    for n in range(tree.shape[0]):
        joint = tree[n]
        b, up = joint["body"], joint["above"]
        u, w = zero, zero
        if up >= 0:
            w = vec(kin[up, RATE + 3:])
            u = add(vec(kin[up, RATE:]), cross(w, vec(kin[n])))
        for k in range(joint["step"], joint["step"] + joint["steps"]):
            if moves[k]["motion"] >= 0:
                a = scale(starts[k, SPEED], vec(starts[k, STEP_AXIS:]))
                if moves[k]["kind"] == SLIDE:
                    u = add(u, a)
                else:
                    u, w = add(u, cross(a, sub(vec(X[b]), vec(starts[k])))), add(w, a)
        for m in range(3):
            kin[n, RATE + m], kin[n, RATE + 3 + m] = u[m], w[m]


@compiled
def _carry(d, w, dw, u, du):
    """Velocity and acceleration of a point of a body at the distance `d` from another, which has `u` and `du`."""
    wd = cross(w, d)
    return add(u, wd), add(du, add(cross(dw, d), cross(w, wd)))


# rotation matrices as tuples, by rows ---------------------------------------------------------------------------------------------


@compiled
def _rotation(X, b):
    return X[b, 3], X[b, 4], X[b, 5], X[b, 6], X[b, 7], X[b, 8], X[b, 9], X[b, 10], X[b, 11]


@compiled
def _apply(R, a):
    return (R[0] * a[0] + R[1] * a[1] + R[2] * a[2], R[3] * a[0] + R[4] * a[1] + R[5] * a[2], R[6] * a[0] + R[7] * a[1] + R[8] * a[2])


@compiled
def _product(R, S):
    a, b, c = _apply(R, (S[0], S[3], S[6])), _apply(R, (S[1], S[4], S[7])), _apply(R, (S[2], S[5], S[8]))
    return a[0], b[0], c[0], a[1], b[1], c[1], a[2], b[2], c[2]


@compiled
def _about(a, angle):
    """The rotation about a unit vector [Rodrigues]."""
    s, c = np.sin(angle), np.cos(angle)
    d = 1.0 - c
    return (c + d * a[0] * a[0], d * a[0] * a[1] - s * a[2], d * a[0] * a[2] + s * a[1],
            d * a[1] * a[0] + s * a[2], c + d * a[1] * a[1], d * a[1] * a[2] - s * a[0],
            d * a[2] * a[0] - s * a[1], d * a[2] * a[1] + s * a[0], c + d * a[2] * a[2])


@compiled
def _of_quaternion(e0, e1, e2, e3):
    """`A(p)` of `p / |p|`."""
    s = 2.0 / (e0 * e0 + e1 * e1 + e2 * e2 + e3 * e3)
    return (1.0 - s * (e2 * e2 + e3 * e3), s * (e1 * e2 - e3 * e0), s * (e1 * e3 + e2 * e0),
            s * (e1 * e2 + e3 * e0), 1.0 - s * (e1 * e1 + e3 * e3), s * (e2 * e3 - e1 * e0),
            s * (e1 * e3 - e2 * e0), s * (e2 * e3 + e1 * e0), 1.0 - s * (e1 * e1 + e2 * e2))


@compiled
def _quaternion(X, b):
    """A unit quaternion of the rotation matrix of a body, from its largest component."""
    x, y, z = X[b, 3], X[b, 7], X[b, 11]
    sizes = (1.0 + x + y + z, 1.0 + x - y - z, 1.0 - x + y - z, 1.0 - x - y + z)  # squares of twice the components
    u, v, w = X[b, 10] - X[b, 8], X[b, 5] - X[b, 9], X[b, 6] - X[b, 4]  # 4 e0 (e1, e2, e3)
    f, g, h = X[b, 4] + X[b, 6], X[b, 5] + X[b, 9], X[b, 8] + X[b, 10]  # 4 (e1 e2, e1 e3, e2 e3)
    best = 0
    for k in range(1, 4):
        if sizes[k].real > sizes[best].real:
            best = k
    s = np.sqrt(sizes[best])
    c = 0.5 / s
    if best == 0:
        return 0.5 * s, c * u, c * v, c * w
    if best == 1:
        return c * u, 0.5 * s, c * f, c * g
    if best == 2:
        return c * v, c * f, 0.5 * s, c * h
    return c * w, c * g, c * h, 0.5 * s


@compiled
def _put(out, a, b):
    """Two vectors into the first six entries."""
    out[0], out[1], out[2] = a
    out[3], out[4], out[5] = b
