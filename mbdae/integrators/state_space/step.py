"""Common parts of the steps of all state-space methods: error norm, iteration matrix, initial guess of stages."""

import numpy as np

from ...compilation.compiled import compiled
from ...system import kernels
from ...system.dense import factorise, solve
from ..control.norm import size_of

RESOLVED = 0.1  # deviation of positions from the integral of their rates, relative to their motion in a step: a sixth of a turn


@compiled
def evaluate(t, state, run):
    """Evaluate a state at its `(z, z')`; `GOOD` or the code of a failure."""
    run.counts.residuals += 1
    s = state
    return run.evaluate(t, s.z, s.zd, s.q, s.v, s.a, s.lam, s.zdd, run.factors)


@compiled
def add_rows(c, rows, x, out):
    """`out += c rows^T x`, for matrices that are stored by their columns."""
    for k in range(rows.shape[0]):
        for i in range(rows.shape[1]):
            out[i] += c * x[k] * rows[k, i]


@compiled
def weigh(end, run):
    """Weights `1/(atol + rtol max(|x0|, |x1|))` of the error norm, for the start and another state [Negrut, eq. (4.6)]."""
    rtol, atol_q, atol_v, wq, wv = run.rtol, run.atol_q, run.atol_v, run.near.weights_q, run.near.weights_v
    q0, v0, q, v = run.start.q, run.start.v, end.q, end.v
    for k in range(wq.shape[0]):
        wq[k] = 1.0 / (atol_q[k] + rtol * max(abs(q0[k]), abs(q[k])))
    for k in range(wv.shape[0]):
        wv[k] = 1.0 / (atol_v[k] + rtol * max(abs(v0[k]), abs(v[k])))


@compiled
def size(ez, ezd, run):
    """Weighted root mean square of an error in `(z, z')` over all positions and velocities [Negrut, eq. (4.7)].

    `dq = T N dz`, `dv = N dz' + V dz`.
    """
    near = run.near
    move, change = np.zeros(run.start.v.shape[0]), np.empty(run.start.q.shape[0])
    add_rows(1.0, near.N, ez, move)
    kernels.qdot(0.0, run.start.q, move, run.model, change)
    for k in range(move.shape[0]):
        move[k] = 0.0
    add_rows(1.0, near.N, ezd, move)
    add_rows(1.0, near.V, ez, move)
    return size_of(change, move, run)


@compiled
def unresolved(t, h, run):
    """Whether a step is too long for the motion by drivers, which errors in `(z, z')` do not show: above 1 if it is.

    It compares the positions at both ends with the integral of their rates by the trapezoidal rule. In longer steps the constraints could
    be solved by positions of another branch.
    """
    start, end = run.start, run.end
    rate0, rate1 = np.empty_like(start.q), np.empty_like(start.q)
    kernels.qdot(t, start.q, start.v, run.model, rate0)
    kernels.qdot(t + h, end.q, end.v, run.model, rate1)
    worst = 0.0
    for k in range(rate0.shape[0]):
        off, move = abs(end.q[k] - start.q[k] - 0.5 * h * (rate0[k] + rate1[k])), abs(h) * max(abs(rate0[k]), abs(rate1[k]))
        if off > 0.0:
            worst = max(worst, off / (RESOLVED * move + 1.0 / run.near.weights_q[k]))
    return worst * worst


@compiled
def form(gh, bhh, near):
    """Factorise `W = I - gamma h J2 - beta h^2 J1`, `M^-1` times the integration Jacobian [Negrut, eqs. (3.46), (3.103)].

    By proposition 1 of [Negrut, section 3.4.1.3] the matrix is the same for accelerations as unknowns and for positions and velocities.
    """
    J1, J2, W = near.J1, near.J2, near.W
    n = W.shape[0]
    for i in range(n):
        for k in range(n):
            W[i, k] = -gh * J2[k, i] - bhh * J1[k, i]
        W[i, i] += 1.0
    return factorise(W, near.pivots)


@compiled
def forecast(base, based, run, x):
    """Initial guess for a stage with stiff forces: the acceleration `x` by the equations linearised at the start.

    `W x = x0 + J1 (z~ - z0) + J2 (z'~ - z0')`; `base` is `z~` and `based` is `z'~`, the parts of the stage that do not depend on `x`.
    """
    near, z, zd, zdd = run.near, run.start.z, run.start.zd, run.start.zdd
    d, dd = np.empty_like(z), np.empty_like(z)
    for k in range(x.shape[0]):
        x[k], d[k], dd[k] = zdd[k], base[k] - z[k], based[k] - zd[k]
    add_rows(1.0, near.J1, d, x)
    add_rows(1.0, near.J2, dd, x)
    solve(near.W, near.pivots, x)
    run.counts.solves += 1
