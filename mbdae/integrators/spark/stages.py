"""The equations of the stages: residuals, positions and velocities, initial guess.

    M(Q_i) W_i = Q(t_i, Q_i, V_i, F_i),   F_i = sum_k E_ik L_k,   M(X_k) U_k + Phi_q(X_k)^T L_k = 0,
    V_i = v0 + h sum_j u_ij W_j + h sum_k r_ik U_k,
    Q_i = q0 + h sum_j a_ij T(Q_j) V_j,   X_k = q0 + h sum_j g_kj T(Q_j) V_j

at the nodes `c_i` of the motion and `e_k` of the constraints, with

    Phi(t0 + e_k h, X_k) = 0 for k = 2 ... m,   Phi_q(q1) v1 = nu(t1, q1),
    q1 = X_m,   v1 = v0 + h sum_i b_i W_i + h sum_k d_k U_k

[Jay 2007], see `tableau`. The formula is applied to `q` itself, quaternions included.
"""

import numpy as np
from numba import types

from ...compilation.compiled import by_address, compiled
from ...system import kernels, sparse
from ...system import layout as lay
from ...system.layout import header, part
from ...system.sparse import fill
from ...system.vectors import all_finite, is_finite, largest, put
from ..gauss.stages import MAX_EXTRAPOLATION, MAX_POSITION_ITER, POSITION_TOL, weigh


@compiled
def motion(t, q, v, w, lam, model, work, r):
    """`r = Q - M w`, real or complex; returns whether it is finite."""
    kernels.place(t, q, model, work)
    kernels.place_velocity(v, model, work)
    kernels.phi_q(t, q, model, work, part(model, work, lay.W_G))  # for forces that depend on multipliers
    kernels.mass(t, q, model, work)
    force = np.empty_like(r)
    kernels.force(t, q, v, lam, model, work, force)
    sparse.mass_times(kernels.mass_values(model, work), w, model, r)
    good = True
    for k in range(r.shape[0]):
        r[k] = force[k] - r[k]
        good = good and is_finite(r[k].real)
    return good


@compiled
def reaction(t, q, u, lam, model, work, r, p):
    """`r = -M u - Phi_q^T lam` and `p = Phi`, real or complex; returns whether they are finite. `M` and `Phi_q` are left in `work`."""
    G = part(model, work, lay.W_G)
    kernels.place(t, q, model, work)
    kernels.phi_q(t, q, model, work, G)
    kernels.mass(t, q, model, work)
    kernels.phi(t, q, model, work, p)
    sparse.mass_times(kernels.mass_values(model, work), u, model, r)
    sparse.add_transposed(G, lam, model, r)
    good = True
    for k in range(r.shape[0]):
        r[k] = -r[k]
        good = good and is_finite(r[k].real)
    for k in range(p.shape[0]):
        good = good and is_finite(p[k].real)
    return good


_F, _M, _B, _X = types.float64, types.uint8[::1], types.boolean, types.float64[::1]
MOTION, REACTION = by_address(motion, _B(_F, _X, _X, _X, _X, _M, _X, _X)), by_address(reaction, _B(_F, _X, _X, _X, _M, _X, _X, _X))


@compiled
def residuals(t, h, stages, run):
    """Residuals of all stages and of the end of the step; whether they are finite."""
    f, s, model, work = run.formula, run.scratch, run.model, run.work
    n, m, good = f.c.shape[0], f.e.shape[0], True
    run.counts.residuals += n
    motion, reaction, evaluate_end = run.motion, run.reaction, run.evaluate_end
    for i in range(n):
        good = good and motion(t + f.c[i] * h, stages.Q[i], stages.V[i], stages.W[i], stages.F[i], model, work, s.R[i])
    for k in range(m):
        p = s.P[k - 1] if k > 0 else s.drift  # the start satisfies its constraints
        good = good and reaction(t + f.e[k] * h, stages.X[k], stages.U[k], stages.L[k], model, work, s.S[k], p)
    evaluate_end(t + h, stages.X[m - 1], stages.v, model, work, s.P[m - 1], s.drift)
    return good and all_finite(s.P[m - 1])


@compiled
def follow(t, h, fresh, stages, run):
    """Velocities and positions of all stages from their accelerations; with `fresh` the positions have no initial guess."""
    f, start, rates = run.formula, run.start, run.scratch.rates
    for i in range(f.c.shape[0]):
        weigh(f.U[i], stages.W, h, start.v, stages.V[i])
        _add(f.R[i], stages.U, h, stages.V[i])
        _combine(f.E[i], stages.L, stages.F[i])
    weigh(f.b, stages.W, h, start.v, stages.v)
    _add(f.d, stages.U, h, stages.v)
    if header(run.model)[lay.IDENTITY_MAP]:
        for i in range(f.c.shape[0]):
            put(stages.V[i], rates[i])
            weigh(f.A[i], stages.V, h, start.q, stages.Q[i])
    else:
        _positions(t, h, fresh, stages, run)
    for k in range(f.e.shape[0]):
        weigh(f.P[k], rates, h, start.q, stages.X[k])


@compiled
def _positions(t, h, fresh, stages, run):
    """Positions of the stages of the motion, on which `T` depends, by a fixed-point iteration; `run.scratch.rates` are `T(Q_i) V_i`."""
    f, q0, rates, model = run.formula, run.start.q, run.scratch.rates, run.model
    n = f.c.shape[0]
    for i in range(n):
        kernels.qdot(t + f.c[i] * h, q0 if fresh else stages.Q[i], stages.V[i], model, rates[i])
    old, before = np.empty_like(q0), np.inf
    for _ in range(MAX_POSITION_ITER):
        change = 0.0
        for i in range(n):
            put(stages.Q[i], old)
            weigh(f.A[i], rates, h, q0, stages.Q[i])
            for k in range(old.shape[0]):
                change = max(change, abs(stages.Q[i, k] - old[k]))
        for i in range(n):
            kernels.qdot(t + f.c[i] * h, stages.Q[i], stages.V[i], model, rates[i])
        if change <= POSITION_TOL * (1.0 + largest(q0)) or not change < before:
            return
        before = change


@compiled
def _add(weights, rows, h, out):
    """`out += h sum_j weights[j] rows[j]`."""
    for j in range(weights.shape[0]):
        for k in range(out.shape[0]):
            out[k] += h * weights[j] * rows[j, k]


@compiled
def _combine(weights, rows, out):
    """`out = sum_j weights[j] rows[j]`."""
    fill(out, 0.0)
    _add(weights, rows, 1.0, out)


@compiled
def guess(h, run):
    """Initial guess of the accelerations and multipliers of the stages, into `run.scratch`.

    Extrapolation of the polynomials through the stages of the previous step; in the first step, and in one that is much longer than the
    previous one, accelerations and multipliers of the start, as if all accelerations were of applied forces.
    """
    f, s, start, previous, back_step = run.formula, run.scratch, run.start, run.previous, run.memory.back_step
    if back_step == 0.0 or abs(h) > MAX_EXTRAPOLATION * abs(back_step):
        for i in range(f.c.shape[0]):
            put(start.a, s.W[i])
        for k in range(f.e.shape[0]):
            fill(s.U[k], 0.0)
            put(start.lam, s.L[k])
        return
    weights = np.empty_like(f.e)
    for i in range(f.c.shape[0]):
        _lagrange(1.0 + f.c[i] * h / back_step, f.c, weights)
        _combine(weights[:f.c.shape[0]], previous.W, s.W[i])
    for k in range(f.e.shape[0]):
        _lagrange(1.0 + f.e[k] * h / back_step, f.e, weights)
        _combine(weights, previous.U, s.U[k])
        _combine(weights, previous.L, s.L[k])


@compiled
def _lagrange(x, nodes, out):
    """The Lagrange polynomials of these nodes at `x`."""
    for j in range(nodes.shape[0]):
        out[j] = 1.0
        for k in range(nodes.shape[0]):
            if k != j:
                out[j] *= (x - nodes[k]) / (nodes[j] - nodes[k])
