"""The equations of the stages: residuals, positions and velocities, end of the step, initial guess.

    M(Q_i) W_i + Phi_q(Q_i)^T L_i = Q(t_i, Q_i, V_i, L_i),   Phi(t_i, Q_i) = 0,
    V_i = v0 + h sum_j a_ij W_j,   Q_i = q0 + h sum_j a_ij T(Q_j) V_j           [Wei, eq. (11)].

The formula is applied to `q` itself, quaternions included: Gauss formulas conserve quadratic invariants such as their norms. A retraction
would limit the order.
"""

import numpy as np
from numba import types

from ...compilation.compiled import by_address, compiled
from ...system import kernels, sparse
from ...system import layout as lay
from ...system.layout import header, part
from ...system.vectors import largest, put

MAX_POSITION_ITER = 60  # fixed-point iterations for positions, on which `T` depends
POSITION_TOL = 1e-16  # change of positions, relative, at which these stop


@compiled
def evaluate(t, q, v, w, lam, model, work, r, p):
    """`r = Q - M w - Phi_q^T lam`, `p = Phi`, real or complex; returns whether they are finite.

    On return `work` contains `Phi_q` and, for systems of user functions, `M`; its factors are not changed.
    """
    G = part(model, work, lay.W_G)
    kernels.place(t, q, model, work)
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
def weigh(weights, rows, h, start, out):
    """`out = start + h sum_j weights[j] rows[j]`."""
    for k in range(out.shape[0]):
        total = 0.0
        for j in range(weights.shape[0]):
            total += weights[j] * rows[j, k]
        out[k] = start[k] + h * total


@compiled
def follow(t, h, fresh, stages, run):
    """Velocities and positions of the stages from their accelerations; with `fresh` the positions have no initial guess."""
    A, c, model, rates = run.tableau.A, run.tableau.c, run.model, run.scratch.rates
    q0, v0, Q, V, W = run.start.q, run.start.v, stages.Q, stages.V, stages.W
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
    for _ in range(MAX_POSITION_ITER):
        _rates(t, h, c, Q, V, rates, model)
        change = 0.0
        for i in range(c.shape[0]):
            put(Q[i], old)
            weigh(A[i], rates, h, q0, Q[i])
            for k in range(old.shape[0]):
                change = max(change, abs(Q[i, k] - old[k]))
        if change <= POSITION_TOL * (1.0 + largest(q0)) or not change < before:
            return
        before = change


@compiled
def _rates(t, h, c, Q, V, rates, model):
    """`T(Q_i) V_i`."""
    for i in range(c.shape[0]):
        kernels.qdot(t + c[i] * h, Q[i], V[i], model, rates[i])


@compiled
def finish(t, h, stages, end, run):
    """The state at the end of the step [Wei, eq. (10)]."""
    tableau, start, rates, model = run.tableau, run.start, run.scratch.rates, run.model
    b, d, r = tableau.b, tableau.d, tableau.r
    Q, V, W, L = stages.Q, stages.V, stages.W, stages.L
    weigh(b, W, h, start.v, end.v)
    if header(model)[lay.IDENTITY_MAP]:
        weigh(b, V, h, start.q, end.q)
    else:
        _rates(t, h, tableau.c, Q, V, rates, model)
        weigh(b, rates, h, start.q, end.q)
    extrapolate(d, W, r, start.a, end.a)
    extrapolate(d, L, r, start.lam, end.lam)


@compiled
def extrapolate(weights, rows, r, start, out):
    """`out = r start + sum_i weights[i] rows[i]`."""
    for k in range(out.shape[0]):
        total = r * start[k]
        for i in range(weights.shape[0]):
            total += weights[i] * rows[i, k]
        out[k] = total


@compiled
def guess(h, run):
    """Initial guess of the accelerations and multipliers of the stages, into `run.scratch`.

    Extrapolation of the polynomials through the stages of the previous step; in the first step the values of the start.
    """
    c, W, L, back_step = run.tableau.c, run.scratch.W, run.scratch.L, run.memory.back_step
    W0, L0, a, lam = run.previous.W, run.previous.L, run.start.a, run.start.lam
    weights, s, ratio = np.empty_like(c), c.shape[0], h / back_step if back_step != 0.0 else 0.0
    for i in range(s):
        if ratio == 0.0:
            put(a, W[i])
            put(lam, L[i])
            continue
        for j in range(s):
            weights[j] = 1.0
            for k in range(s):
                if k != j:
                    weights[j] *= (1.0 + ratio * c[i] - c[k]) / (c[j] - c[k])
        extrapolate(weights, W0, 0.0, a, W[i])
        extrapolate(weights, L0, 0.0, lam, L[i])
