"""What the steps of all state-space methods share: sizes of errors, Newton's convergence, the matrix of the linear equations.

States are tuples `(z, z', z'', q, v, a, lam)`. `near` is what is known of the equations near the start of a step, `(jacobians, basis,
explicit, W, pivots, weights)`: derivatives as in `mbdae.charts.derivative.linearise`, the columns of `N`, the derivative by time, the
factors of the matrix of the linear equations, and the weights of errors in positions and velocities. `tools` are `(store, model, work,
place, evaluate)`, the last two the kernels of `mbdae.charts.motion`.
"""

import numpy as np

from ...compilation.compiled import compiled
from ...system import kernels
from ...system.codes import NOT_FINITE
from ...system.dense import factorise, solve

# beside what the evaluation of a chart returns
CONVERGED, GOING, DIVERGED, SINGULAR_MATRIX, ERROR_TEST, BAD_DERIVATIVES = 0, 100, 101, 102, 103, -1

STEPS, REJECTED_ERROR, REJECTED_NEWTON, EVALUATIONS, JACOBIANS, FACTORISATIONS, SOLVES, ITERATIONS, EXTRA, STORED, COUNTERS = range(11)

KAPPA = 0.02  # share of the tolerance that an iteration may leave [Negrut, eq. (4.91)]
MOST_ITERATIONS = 10


@compiled
def add_rows(c, rows, x, out):
    """`out += c rows^T x`, for matrices that are kept by their columns."""
    for k in range(rows.shape[0]):
        for i in range(rows.shape[1]):
            out[i] += c * x[k] * rows[k, i]


@compiled
def weigh(start, end, rtol, atol, weights):
    """Reciprocals of `atol + rtol max(|x0|, |x1|)` for positions and velocities of two states [Negrut, eq. (4.6)]."""
    wq, wv = weights
    for k in range(wq.shape[0]):
        wq[k] = 1.0 / (atol + rtol * max(abs(start[3][k]), abs(end[3][k])))
    for k in range(wv.shape[0]):
        wv[k] = 1.0 / (atol + rtol * max(abs(start[4][k]), abs(end[4][k])))


@compiled
def size(ez, ezd, near, q, model):
    """Root mean square of an error in `(z, z')`, seen in all positions and velocities and weighed [Negrut, eq. (4.7)].

    With the derivatives of the motion by `z`: `dq = T N dz`, `dv = N dz' + V dz`.
    """
    jacobians, basis, _, _, _, (wq, wv) = near
    move, change = np.zeros(wv.shape[0]), np.empty(wq.shape[0])
    add_rows(1.0, basis, ez, move)
    kernels.qdot(0.0, q, move, model, change)
    total = 0.0
    for k in range(wq.shape[0]):
        total += (change[k] * wq[k]) ** 2
    move[:] = 0.0
    add_rows(1.0, basis, ezd, move)
    add_rows(1.0, jacobians[0], ez, move)
    for k in range(wv.shape[0]):
        total += (move[k] * wv[k]) ** 2
    return np.sqrt(total / (wq.shape[0] + wv.shape[0]))


@compiled
def form(gh, bhh, near):
    """`W = I - gamma h J2 - beta h^2 J1`, factorised: `M^-1` times the integration Jacobian [Negrut, eqs. (3.46), (3.103)].

    Proposition 1 of [Negrut, section 3.4.1.3] is that one matrix serves accelerations as unknowns and positions and velocities alike.
    """
    jacobians, _, _, W, pivots, _ = near
    J1, J2, n = jacobians[3], jacobians[6], W.shape[0]
    for i in range(n):
        for k in range(n):
            W[i, k] = -gh * J2[k, i] - bhh * J1[k, i]
        W[i, i] += 1.0
    return factorise(W, pivots)


@compiled
def forecast(start, base, based, near, x):
    """The acceleration `x` in a stage of the equations linearised at the start: stiff forces far from it throw Newton's method off.

    `W x = x0 + J1 (z~ - z0) + J2 (z'~ - z0')` with the parts `base`, `based` of the stage that do not depend on `x`.
    """
    jacobians, _, _, W, pivots, _ = near
    for k in range(x.shape[0]):
        x[k] = start[2][k]
    add_rows(1.0, jacobians[3], base - start[0], x)
    add_rows(1.0, jacobians[6], based - start[1], x)
    solve(W, pivots, x)


@compiled
def judge(k, moved, before, eta, rate):
    """What to do after correction number `k` of weighed size `moved`: `(status, eta, rate)`, the status `GOING` to go on.

    With the rate of convergence `theta` the error that is left is `eta |correction|`, `eta = theta/(1 - theta)`; of the first one `eta`
    is a guess from the step before [Negrut, eqs. (4.89)-(4.91)]. It is given up as soon as the remaining iterations will not do.
    """
    if not np.isfinite(moved):
        return NOT_FINITE, eta, rate
    if k == 0:
        return (CONVERGED if moved * eta <= KAPPA else GOING), eta, rate
    theta = moved / before
    if not theta < 1.0:
        return (CONVERGED if moved <= 1e-6 * KAPPA else DIVERGED), eta, theta
    eta = theta / (1.0 - theta)
    if eta * moved <= KAPPA:
        return CONVERGED, eta, theta
    return (DIVERGED if theta ** (MOST_ITERATIONS - k - 1) * eta * moved > KAPPA else GOING), eta, theta
