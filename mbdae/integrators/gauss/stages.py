"""The equations of the stages, their residuals, and what follows from accelerations and multipliers of the stages.

    M(Q_i) W_i + Phi_q(Q_i)^T L_i = Q(t_i, Q_i, V_i, L_i),   Phi(t_i, Q_i) = 0,
    V_i = v0 + h sum_j a_ij W_j,   Q_i = q0 + h sum_j a_ij T(Q_j) V_j           [Wei, eq. (11)].

Positions are integrated in `q` itself, quaternions too: Gauss formulas keep what is quadratic, so the norms at the ends of the steps, and
no retraction enters, whose order would matter. `stages` are `(Q, V, W, L)`, one row each, `rates` the `T(Q_i) V_i`.
"""

import numpy as np
from numba import types

from ...compilation.compiled import by_address, compiled
from ...system import kernels, sparse
from ...system import layout as lay
from ...system.layout import header, part
from ...system.vectors import largest
from ..projections.levels import put

SWEEPS = 60  # of the positions, which their rates depend on
SETTLED = 1e-16  # change of positions, relative, below which they are left alone


@compiled
def evaluate(t, q, v, w, lam, model, work, r, p):
    """`r = Q - M w - Phi_q^T lam`, `p = Phi`, real or complex; returns whether they are finite.

    `Phi_q` and, for systems of user functions, `M` are left in `work`; factors there stay as they are.
    """
    G = part(model, work, lay.W_G)
    kernels.place(q, model, work)
    kernels.place_velocity(v, model, work)
    kernels.phi_q(t, q, model, work, G)
    kernels.mass(t, q, model, work)
    kernels.phi(t, q, model, work, p)
    force = np.empty_like(r)
    kernels.force(t, q, v, lam, model, work, force)
    sparse.mass_times(kernels.mass_values(model, work), w, model, r)
    sparse.add_transposed(G, lam, model, r)
    good = True
    for k in range(r.shape[0]):
        r[k] = force[k] - r[k]
        good = good and np.isfinite(r[k].real)
    for k in range(p.shape[0]):
        good = good and np.isfinite(p[k].real)
    return good


_F, _M, _B = types.float64, types.uint8[::1], types.boolean
_X = types.float64[::1]
EVALUATE = by_address(evaluate, _B(_F, _X, _X, _X, _X, _M, _X, _X, _X))


@compiled
def put_rows(rows, out):
    """`out = rows`, for matrices."""
    for i in range(rows.shape[0]):
        put(rows[i], out[i])


@compiled
def weigh(weights, rows, h, start, out):
    """`out = start + h sum_j weights[j] rows[j]`."""
    for k in range(out.shape[0]):
        total = 0.0
        for j in range(weights.shape[0]):
            total += weights[j] * rows[j, k]
        out[k] = start[k] + h * total


@compiled
def follow(t, h, start, stages, rates, tableau, fresh, model):
    """Velocities and positions of the stages from their accelerations; `fresh` if there are no positions to begin with."""
    A, c = tableau[0], tableau[2]
    q0, v0 = start[0], start[1]
    Q, V, W = stages[0], stages[1], stages[2]
    for i in range(c.shape[0]):
        weigh(A[i], W, h, v0, V[i])
    if header(model)[lay.IDENTITY_MAP]:
        for i in range(c.shape[0]):
            weigh(A[i], V, h, q0, Q[i])
        return
    if fresh:
        for i in range(c.shape[0]):
            kernels.qdot(t, q0, V[i], model, rates[i])
            for k in range(q0.shape[0]):
                Q[i, k] = q0[k] + c[i] * h * rates[i, k]
    old, before = np.empty_like(q0), np.inf
    for _ in range(SWEEPS):
        for i in range(c.shape[0]):
            kernels.qdot(t + c[i] * h, Q[i], V[i], model, rates[i])
        change = 0.0
        for i in range(c.shape[0]):
            put(Q[i], old)
            weigh(A[i], rates, h, q0, Q[i])
            for k in range(old.shape[0]):
                change = max(change, abs(Q[i, k] - old[k]))
        if change <= SETTLED * (1.0 + largest(q0)) or not change < before:
            return
        before = change


@compiled
def finish(t, h, start, stages, rates, tableau, end, model):
    """The state at the end of the step [Wei, eq. (10)]; `start` and `end` are `(q, v, a, lam)`."""
    b, c, d, r = tableau[1], tableau[2], tableau[3], tableau[4]
    Q, V, W, L = stages
    weigh(b, W, h, start[1], end[1])
    if header(model)[lay.IDENTITY_MAP]:
        weigh(b, V, h, start[0], end[0])
    else:
        for i in range(c.shape[0]):
            kernels.qdot(t + c[i] * h, Q[i], V[i], model, rates[i])
        weigh(b, rates, h, start[0], end[0])
    extrapolate(d, W, r, start[2], end[2])
    extrapolate(d, L, r, start[3], end[3])


@compiled
def extrapolate(weights, rows, r, start, out):
    """`out = r start + sum_i weights[i] rows[i]`."""
    for k in range(out.shape[0]):
        total = r * start[k]
        for i in range(weights.shape[0]):
            total += weights[i] * rows[i, k]
        out[k] = total


@compiled
def guess(ratio, start, stages, previous, tableau):
    """Accelerations and multipliers of the stages from those of the step before, whose length is `1/ratio` of this one.

    The polynomial through its stages is continued; `ratio = 0` if there was none, then they are those of the start.
    """
    c, s = tableau[2], tableau[2].shape[0]
    weights, nothing = np.empty(s), np.zeros(max(start[2].shape[0], start[3].shape[0]))
    for i in range(s):
        if ratio == 0.0:
            put(start[2], stages[2][i])
            put(start[3], stages[3][i])
            continue
        for j in range(s):
            weights[j] = 1.0
            for k in range(s):
                if k != j:
                    weights[j] *= (1.0 + ratio * c[i] - c[k]) / (c[j] - c[k])
        weigh(weights, previous[0], 1.0, nothing, stages[2][i])
        weigh(weights, previous[1], 1.0, nothing, stages[3][i])
