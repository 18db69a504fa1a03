"""The equations of the stages: residuals, positions and velocities, end of the step, initial guess.

    M(Q_i) W_i + Phi_q(Q_i)^T L_i = Q(t_i, Q_i, V_i, L_i),
    V_i = v0 + h sum_j a_ij W_j,   Q_i = q0 + h sum_j a_ij T(Q_j) (V_j + u)

with constraints of the level `POSITION`,

    Phi(t_i, Q_i) = 0,   u = 0                                                  [Wei, eq. (11)],

or `GGL`, with a `u_i` of each stage,

    Phi(t_i, Q_i) = 0,   g_i = Phi_q(Q_i) V_i - nu(t_i, Q_i) = 0,   M(Q_i) u_i + Phi_q(Q_i)^T mu_i = 0,

or `VELOCITY`,

    sum_i b_i P_k(2 c_i - 1) g_i = 0  for k < s - 1,
    Phi_q(q1) v1 = nu(t1, q1),   Phi(t1, q1) = 0,   sum_i b_i (M(Q_i) u + Phi_q(Q_i)^T mu) = 0

at the end `q1 = q0 + h sum_i b_i T(Q_i) (V_i + u)`, `v1 = v0 + h sum_i b_i W_i` of the step. `P_k` are Legendre's polynomials. `u` and `mu`
are of order `h^(2s)`, and zero for `s > 1` if the constraints are quadratic in `q` and constant in time. The idea to satisfy orthogonality
conditions and the constraints at the end in the place of those of all stages is that of Jay's specialized methods for index 2.

The formula is applied to `q` itself, quaternions included: Gauss formulas conserve quadratic invariants such as their norms. A retraction
would limit the order.

References
----------
L. O. Jay, *Specialized Runge-Kutta methods for index 2 differential-algebraic equations*, Mathematics of Computation 75 (2006).
"""

import numpy as np
from numba import types

from ...compilation.compiled import by_address, compiled
from ...system import kernels, sparse
from ...system import layout as lay
from ...system.layout import header, part
from ...system.sparse import fill
from ...system.vectors import all_finite, is_finite, largest, put

POSITION, VELOCITY, GGL = range(3)  # level of the constraints in the stages
MAX_EXTRAPOLATION = 2.5  # ratio of two steps up to which the stages of the previous one are extrapolated
MAX_POSITION_ITER = 60  # fixed-point iterations for positions, on which `T` depends
POSITION_TOL = 1e-16  # change of positions, relative, at which these stop


@compiled
def evaluate(t, q, v, w, lam, level, model, work, r, p, x):
    """`r = Q - M w - Phi_q^T lam`, and `p`, `Phi` or `Phi_q v - nu`, real or complex; returns whether they are finite.

    With `GGL` `x = Phi`, otherwise it is not changed.

    On return `work` contains `Phi_q` and, for systems of user functions, `M`; its factors are not changed.
    """
    G = part(model, work, lay.W_G)
    kernels.place(t, q, model, work)
    kernels.place_velocity(v, model, work)
    kernels.phi_q(t, q, model, work, G)
    kernels.mass(t, q, model, work)
    _violation(t, q, v, level, model, work, p)
    if level == GGL:
        kernels.phi(t, q, model, work, x)
    force = np.empty_like(r)
    kernels.force(t, q, v, lam, model, work, force)
    sparse.mass_times(kernels.mass_values(model, work), w, model, r)
    sparse.add_transposed(G, lam, model, r)
    good = True
    for k in range(r.shape[0]):
        r[k] = force[k] - r[k]
        good = good and is_finite(r[k].real)
    for k in range(p.shape[0]):
        good = good and is_finite(p[k].real) and (level != GGL or is_finite(x[k].real))
    return good


_F, _M, _B = types.float64, types.uint8[::1], types.boolean
_X = types.float64[::1]
EVALUATE = by_address(evaluate, _B(_F, _X, _X, _X, _X, types.int64, _M, _X, _X, _X, _X))


@compiled
def _violation(t, q, v, level, model, work, p):
    """`p = Phi` or `p = Phi_q v - nu`, with bodies placed and `Phi_q` in `work`."""
    if level == POSITION:
        kernels.phi(t, q, model, work, p)
        return
    kernels.nu(t, q, model, work, p)
    for k in range(p.shape[0]):
        p[k] = -p[k]
    sparse.add_times(part(model, work, lay.W_G), v, model, p)


@compiled
def evaluate_end(t, q, v, model, work, p, x):
    """`p = Phi_q v - nu` and `x = Phi` at the end of the step, real or complex; `Phi_q` is left in `work`."""
    kernels.place(t, q, model, work)
    kernels.phi_q(t, q, model, work, part(model, work, lay.W_G))
    _violation(t, q, v, VELOCITY, model, work, p)
    kernels.phi(t, q, model, work, x)


EVALUATE_END = by_address(evaluate_end, types.void(_F, _X, _X, _M, _X, _X, _X))


@compiled
def residuals(t, h, stages, run):
    """Residuals of all stages and of the end of the step; whether they are finite."""
    Q, V, W, L, R, P = stages.Q, stages.V, stages.W, stages.L, run.scratch.R, run.scratch.P
    c, model, work, evaluate, level, good = run.tableau.c, run.model, run.work, run.evaluate, run.level, True
    p, speed, drift, balance = run.scratch.p, run.scratch.speed, run.scratch.drift, run.scratch.balance
    run.counts.residuals += c.shape[0]
    for i in range(balance.shape[0]):
        fill(balance[i], 0.0)
    if level == POSITION:
        for i in range(c.shape[0]):
            good = good and evaluate(t + c[i] * h, Q[i], V[i], W[i], L[i], level, model, work, R[i], P[i], p)
        return good
    if level == GGL:
        for i in range(c.shape[0]):
            good = good and evaluate(t + c[i] * h, Q[i], V[i], W[i], L[i], level, model, work, R[i], P[i], drift[i])
            _add_balance(1.0, stages.u[i], stages.mu[i], model, work, speed, balance[i])
        return good
    for i in range(c.shape[0]):
        fill(P[i], 0.0)
    for i in range(c.shape[0]):
        good = good and evaluate(t + c[i] * h, Q[i], V[i], W[i], L[i], level, model, work, R[i], p, drift[0])
        _add_moments(i, p, run.tableau.moments, P)
        _add_balance(run.tableau.b[i], stages.u[0], stages.mu[0], model, work, speed, balance[0])
    return good and _at_end(t, h, stages, run)


@compiled
def _add_moments(i, p, moments, P):
    """Add the constraints `p` of stage `i` to their combinations."""
    for k in range(P.shape[0] - 1):
        for m in range(p.shape[0]):
            P[k, m] += moments[k, i] * p[m]


@compiled
def _add_balance(weight, u, mu, model, work, x, balance):
    """`balance += weight (M u + Phi_q^T mu)`, with `M` and `Phi_q` of the stage in `work`; `x` is scratch."""
    sparse.mass_times(kernels.mass_values(model, work), u, model, x)
    sparse.add_transposed(part(model, work, lay.W_G), mu, model, x)
    for k in range(x.shape[0]):
        balance[k] += weight * x[k]


@compiled
def _at_end(t, h, stages, run):
    """Residuals of the constraints at the end of the step; whether they are finite."""
    scratch, evaluate_end = run.scratch, run.evaluate_end
    q, v, p, drift = scratch.end_q, scratch.end_v, scratch.P[scratch.P.shape[0] - 1], scratch.drift[0]
    end_of(t, h, stages, run, q, v)
    evaluate_end(t + h, q, v, run.model, run.work, p, drift)
    return all_finite(p) and all_finite(drift)


@compiled
def weigh(weights, rows, h, start, out):
    """`out = start + h sum_j weights[j] rows[j]`."""
    for k in range(out.shape[0]):
        total = 0.0
        for j in range(weights.shape[0]):
            total += weights[j] * rows[j, k]
        out[k] = start[k] + h * total


@compiled
def _add_share(weights, share, u, h, q):
    """`q += h sum_j weights[j] u_j`, with `share`, the sum of the weights, if there is one `u` for all stages."""
    for j in range(u.shape[0]):
        weight = h * (share if u.shape[0] == 1 else weights[j])
        for k in range(q.shape[0]):
            q[k] += weight * u[j, k]


@compiled
def follow(t, h, fresh, stages, run):
    """Velocities and positions of the stages from their accelerations; with `fresh` the positions have no initial guess."""
    A, c, model, rates, x = run.tableau.A, run.tableau.c, run.model, run.scratch.rates, run.scratch.speed
    q0, v0, Q, V, W, u = run.start.q, run.start.v, stages.Q, stages.V, stages.W, stages.u
    for i in range(c.shape[0]):
        weigh(A[i], W, h, v0, V[i])
    if header(model)[lay.IDENTITY_MAP]:
        for i in range(c.shape[0]):
            weigh(A[i], V, h, q0, Q[i])
            _add_share(A[i], c[i], u, h, Q[i])
        return
    if fresh:
        for i in range(c.shape[0]):
            _sum(V[i], u[i % u.shape[0]], x)
            kernels.qdot(t, q0, x, model, rates[i])
            for k in range(q0.shape[0]):
                Q[i, k] = q0[k] + c[i] * h * rates[i, k]
    old, before = np.empty_like(q0), np.inf
    for _ in range(MAX_POSITION_ITER):
        _rates(t, h, stages, run)
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
def _rates(t, h, stages, run):
    """`T(Q_i) (V_i + u)`."""
    c, model, rates, x = run.tableau.c, run.model, run.scratch.rates, run.scratch.speed
    for i in range(c.shape[0]):
        _sum(stages.V[i], stages.u[i % stages.u.shape[0]], x)
        kernels.qdot(t + c[i] * h, stages.Q[i], x, model, rates[i])


@compiled
def _sum(x, y, out):
    """`out = x + y`."""
    for k in range(x.shape[0]):
        out[k] = x[k] + y[k]


@compiled
def end_of(t, h, stages, run, q, v):
    """Positions and velocities at the end of the step [Wei, eq. (10)]."""
    b, start, rates = run.tableau.b, run.start, run.scratch.rates
    weigh(b, stages.W, h, start.v, v)
    if header(run.model)[lay.IDENTITY_MAP]:
        weigh(b, stages.V, h, start.q, q)
        _add_share(b, 1.0, stages.u, h, q)
    else:
        _rates(t, h, stages, run)
        weigh(b, rates, h, start.q, q)


@compiled
def finish(t, h, stages, end, run):
    """The state at the end of the step [Wei, eq. (10)]."""
    tableau, start = run.tableau, run.start
    end_of(t, h, stages, run, end.q, end.v)
    extrapolate(tableau.d, stages.W, tableau.r, start.a, end.a)
    extrapolate(tableau.d, stages.L, tableau.r, start.lam, end.lam)


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

    Extrapolation of the polynomials through the stages of the previous step; in the first step, and in one that is much longer than the
    previous one, the values of the start.
    """
    c, W, L, back_step = run.tableau.c, run.scratch.W, run.scratch.L, run.memory.back_step
    W0, L0, a, lam = run.previous.W, run.previous.L, run.start.a, run.start.lam
    weights, s, ratio = np.empty_like(c), c.shape[0], h / back_step if back_step != 0.0 else 0.0
    if ratio > MAX_EXTRAPOLATION:
        ratio = 0.0
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
