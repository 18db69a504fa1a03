"""`Phi_q`, `gamma` and the forces in joint coordinates from those in Cartesian coordinates, along the paths of the tree."""

from ...compilation.compiled import compiled
from .. import layout as lay
from ..frames import rotate, unrotate
from ..layout import BODY_T, PLANAR, RIGID, frames, table
from ..vec3 import dot, sub, vec
from .inertia import Pair, add_wrench
from .kinematics import place_rates
from .layout import BIAS, END_T, PLACE_T, RATE, ROW_T, WRENCH, axes, gradients, joints, kinematics, wrenches

ROUNDING = 1e-15  # of an entry of Phi_q, relative to the terms that cancel in it and the number of joints on the path of the row


@compiled
def phi_q(model, work, out):
    """Values of `Phi_q`: a row, as a wrench on the bodies at its ends, is carried to the root [Negrut, section 3.4.3].

    The wrenches of both ends cancel where a joint moves them together. What rounding leaves is set to zero: a row of rounding errors would
    count as an independent one.
    """
    tree, bodies, X, G = joints(model), table(model, lay.BODY, BODY_T), frames(model, work), gradients(model, work)
    kin, B = kinematics(model, work), axes(model, work)
    rows, ends, path = table(model, lay.TREE_ROW, ROW_T), table(model, lay.TREE_END, END_T), table(model, lay.TREE_PLACE, PLACE_T)
    for r in range(rows.shape[0]):
        row = rows[r]
        first, last = row["place"], row["place"] + row["places"]
        for i in range(first, last):
            for k in range(WRENCH, WRENCH + 6):
                kin[path[i]["joint"], k] = 0.0
        for i in range(row["end"], row["end"] + row["ends"]):
            n = ends[i]["joint"]
            _add_force(G, ends[i]["at"], bodies[tree[n]["body"]]["kind"], X, tree[n]["body"], kin[n])
        forces, moments, reach = 0.0, 0.0, 0.0
        for i in range(first, last):
            n, at = path[i]["joint"], path[i]["at"]
            joint = tree[n]
            forces, moments = max(forces, _largest(kin[n], WRENCH, 3)), max(moments, _largest(kin[n], WRENCH + 3, 3))
            arm = reach + _largest(kin[n], 0, 3)
            for k in range(joint["n"]):
                b = B[joint["v"] + k]
                x = _work(b, kin[n])
                out[at + k] = x - x.real if abs(x.real) <= ROUNDING * row["places"] * _terms(b, forces, moments, reach, arm) else x
            if joint["above"] >= 0:
                _add_wrench_before(kin[n], kin[joint["above"]])
                reach = arm


@compiled
def _terms(b, forces, moments, reach, arm):
    """The size of what cancels in an entry: `forces` and `moments` are the largest of the row, carried along a path of the length `reach`.

    A velocity along an axis has forces only, so that a body far away has no larger errors than another one. The arm of a turn is the
    difference of two places, unless its axis goes through the centre of mass; `arm` is the length of the path with this joint.
    """
    along, about = _largest(b, 0, 3), _largest(b, 3, 3)
    if about == 0.0:
        return along * forces
    return about * (moments + reach * forces) + (max(along, arm) * forces if along > 0.0 else 0.0)


@compiled
def _largest(x, start, n):
    """The largest real part of some entries."""
    out = 0.0
    for k in range(start, start + n):
        out = max(out, abs(x[k].real))
    return out


@compiled
def _add_force(Q, at, kind, X, b, out):
    """A generalised force of Cartesian velocity coordinates, added as a wrench in global axes."""
    out[WRENCH] += Q[at]
    out[WRENCH + 1] += Q[at + 1]
    if kind == PLANAR:
        out[WRENCH + 5] += Q[at + 2]
    else:
        out[WRENCH + 2] += Q[at + 2]
    if kind == RIGID:
        T = rotate(X, b, (Q[at + 3], Q[at + 4], Q[at + 5]))
        for k in range(3):
            out[WRENCH + 3 + k] += T[k]


@compiled
def _work(b, kin):
    s = b[0] * kin[WRENCH]
    for k in range(1, 6):
        s += b[k] * kin[WRENCH + k]
    return s


@compiled
def _add_wrench_before(kin, to):
    add_wrench(kin, WRENCH, to, WRENCH)


@compiled
def nu(model, work, out):
    """`nu` of the joint coordinates: that of the Cartesian ones, less `Phi_q` times the velocities that prescribed motions cause."""
    place_rates(model, work)
    _subtract(RATE, model, work, out)


@compiled
def gamma(model, work, out):
    """`gamma` of the joint coordinates: that of the Cartesian ones, less `Phi_q` times the accelerations that velocities cause."""
    _subtract(BIAS, model, work, out)


@compiled
def _subtract(which, model, work, out):
    """`out -= Phi_q x` of the Cartesian coordinates, with the motions `x` of the bodies from `which` on."""
    tree, bodies, X, G = joints(model), table(model, lay.BODY, BODY_T), frames(model, work), gradients(model, work)
    kin, rows, ends = kinematics(model, work), table(model, lay.TREE_ROW, ROW_T), table(model, lay.TREE_END, END_T)
    for r in range(rows.shape[0]):
        for i in range(rows[r]["end"], rows[r]["end"] + rows[r]["ends"]):
            n, at = ends[i]["joint"], ends[i]["at"]
            b = tree[n]["body"]
            kind = bodies[b]["kind"]
            out[r] -= G[at] * kin[n, which] + G[at + 1] * kin[n, which + 1]
            out[r] -= G[at + 2] * (kin[n, which + 5] if kind == PLANAR else kin[n, which + 2])
            if kind == RIGID:
                turn = unrotate(X, b, vec(kin[n, which + 3:]))
                out[r] -= G[at + 3] * turn[0] + G[at + 4] * turn[1] + G[at + 5] * turn[2]


@compiled
def effective(Q, body, X, b, kin):
    """The force on a body less its inertia times the accelerations that velocities cause, as a wrench in global axes."""
    at, m, a, zero = body["v"], body["mass"], vec(kin[BIAS:]), 0.0 * kin[BIAS]
    if body["kind"] == PLANAR:
        return Pair((Q[at] - m * a[0], Q[at + 1] - m * a[1], zero), (zero, zero, Q[at + 2] - body["J"][8] * kin[BIAS + 5]))
    linear = Q[at] - m * a[0], Q[at + 1] - m * a[1], Q[at + 2] - m * a[2]
    if body["kind"] != RIGID:
        return Pair(linear, (zero, zero, zero))
    alpha, J = unrotate(X, b, vec(kin[BIAS + 3:])), body["J"]
    torque = sub(vec(Q[at + 3:]), (dot(vec(J), alpha), dot(vec(J[3:]), alpha), dot(vec(J[6:]), alpha)))
    return Pair(linear, rotate(X, b, torque))


@compiled
def force(model, work, out):
    """Forces of the joint coordinates: those of the Cartesian ones, less `M` times the accelerations that velocities cause."""
    tree, bodies, X, Q = joints(model), table(model, lay.BODY, BODY_T), frames(model, work), wrenches(model, work)
    kin, B = kinematics(model, work), axes(model, work)
    for n in range(tree.shape[0]):
        b = tree[n]["body"]
        wrench = effective(Q, bodies[b], X, b, kin[n])
        for k in range(3):
            kin[n, WRENCH + k], kin[n, WRENCH + 3 + k] = wrench.linear[k], wrench.angular[k]
    # to the root
    for n in range(tree.shape[0] - 1, -1, -1):
        joint = tree[n]
        for v in range(joint["v"], joint["v"] + joint["n"]):
            out[v] = _work(B[v], kin[n])
        if joint["above"] >= 0:
            _add_wrench_before(kin[n], kin[joint["above"]])
