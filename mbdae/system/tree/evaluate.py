"""Conversions between joint and Cartesian coordinates, one call from Python each."""

import numpy as np

from ...compilation.compiled import compiled
from .. import kernels, sparse
from .. import layout as lay
from ..frames import unrotate
from ..layout import BODY_T, PLANAR, RIGID, frames, header, table
from ..vec3 import vec
from ..vectors import put
from . import call
from .kinematics import orientations
from .layout import BIAS, axes, joints, kinematics, positions, wrenches


@compiled
def to_cartesian(t, q, v, a, model, work):
    """Positions, velocities and accelerations of the bodies; `a` are those of the joint coordinates."""
    kernels.place(t, q, model, work)
    orientations(model, work)
    kernels.place_velocity(v, model, work)
    tree, bodies, X = joints(model), table(model, lay.BODY, BODY_T), frames(model, work)
    kin, B = kinematics(model, work), axes(model, work)
    n = wrenches(model, work).shape[0]
    rates, accelerations = np.zeros(n, work.dtype), np.zeros(n, work.dtype)
    motion = np.zeros((tree.shape[0], 6), work.dtype)  # accelerations without those of `BIAS`
    for k in range(tree.shape[0]):
        joint, up = tree[k], tree[k]["above"]
        b, at = joint["body"], bodies[joint["body"]]["v"]
        if up >= 0:
            alpha, rho = vec(motion[up, 3:]), vec(kin[k])
            for m in range(6):
                motion[k, m] = motion[up, m]
            motion[k, 0] += alpha[1] * rho[2] - alpha[2] * rho[1]
            motion[k, 1] += alpha[2] * rho[0] - alpha[0] * rho[2]
            motion[k, 2] += alpha[0] * rho[1] - alpha[1] * rho[0]
        for i in range(joint["v"], joint["v"] + joint["n"]):
            for m in range(6):
                motion[k, m] += B[i, m] * a[i]
        linear = motion[k, 0] + kin[k, BIAS], motion[k, 1] + kin[k, BIAS + 1], motion[k, 2] + kin[k, BIAS + 2]
        angular = motion[k, 3] + kin[k, BIAS + 3], motion[k, 4] + kin[k, BIAS + 4], motion[k, 5] + kin[k, BIAS + 5]
        _put(X[b, 12:], linear, unrotate(X, b, angular), bodies[b]["kind"], at, rates, accelerations)
    return positions(model, work).copy(), rates, accelerations


@compiled
def rows_to_cartesian(t, q, v, a, model, work):
    """The same for the rows of a trajectory."""
    sizes = positions(model, work).shape[0], wrenches(model, work).shape[0]
    out = np.empty((q.shape[0], sizes[0])), np.empty((q.shape[0], sizes[1])), np.empty((q.shape[0], sizes[1]))
    for k in range(q.shape[0]):
        found = to_cartesian(t[k], q[k], v[k], a[k], model, work)
        for n in range(3):
            put(found[n], out[n][k])
    return out


@compiled
def _put(x, a, alpha, kind, at, rates, accelerations):
    """Velocity `x` and acceleration of a body in its Cartesian velocity coordinates."""
    rates[at], rates[at + 1], accelerations[at], accelerations[at + 1] = x[0], x[1], a[0], a[1]
    if kind == PLANAR:
        rates[at + 2], accelerations[at + 2] = x[5], alpha[2]
    else:
        rates[at + 2], accelerations[at + 2] = x[2], a[2]
    if kind == RIGID:
        for k in range(3):
            rates[at + 3 + k], accelerations[at + 3 + k] = x[3 + k], alpha[k]


@compiled
def rates(t, q, v, model, work):
    """Velocities of the joint coordinates that cause those of the bodies, `min |V w - v|_M`: exact where these satisfy the joints."""
    kernels.place(t, q, model, work)
    kinematics(model, work)[:, BIAS:BIAS + 6] = 0.0
    kernels.mass(t, q, model, work)
    M, L = kernels.mass_values(model, work), work[header(model)[lay.W_MINV]:header(model)[lay.W_G]]
    sparse.factor_mass(M, model, L)
    # V^T M_c v as the force of the joint coordinates
    bodies, P = table(model, lay.BODY, BODY_T), wrenches(model, work)
    for b in range(bodies.shape[0]):
        at, J = bodies[b]["v"], bodies[b]["J"]
        P[at], P[at + 1] = bodies[b]["mass"] * v[at], bodies[b]["mass"] * v[at + 1]
        P[at + 2] = (J[8] if bodies[b]["kind"] == PLANAR else bodies[b]["mass"]) * v[at + 2]
        if bodies[b]["kind"] == RIGID:
            for k in range(3):
                P[at + 3 + k] = J[3 * k] * v[at + 3] + J[3 * k + 1] * v[at + 4] + J[3 * k + 2] * v[at + 5]
    out = np.zeros(header(model)[lay.NV])
    call.evaluate(call.FORCE, 0.0, out, model, work)
    sparse.mass_solve(L, out, model, out)
    return out
