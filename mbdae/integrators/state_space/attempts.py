"""One attempt at a step, for each of the methods: the new `(z, z')` and the estimated error."""

import numpy as np

from ...compilation.compiled import compiled
from ...system.codes import GOOD
from ...system.dense import solve
from . import increments
from .accelerations import stage
from .increments import correct
from .step import CONVERGED, EVALUATIONS, FACTORISATIONS, SINGULAR_MATRIX, SOLVES, add_rows, forecast, form

TRAPEZOIDAL_STATE_SPACE, TRAPEZOIDAL_DESCRIPTOR, SDIRK_DESCRIPTOR, SDIRK_FIRST_ORDER, ROSENBROCK = range(5)


@compiled
def attempt(method, t, h, eta, filtered, start, trial, near, stages, error, tableaus, tools, counts):
    """`(status, eta, rate)`; with `(z, z')` at the end of the step in `trial`, if it is `CONVERGED`, and the estimate in `error`."""
    sdirk, _, rosenbrock = tableaus
    gamma = diagonal(method, tableaus)
    counts[FACTORISATIONS] += 1
    if not form(gamma * h, (gamma * h) ** 2, near):
        return SINGULAR_MATRIX, eta, 0.0
    rate = 0.0
    if method <= TRAPEZOIDAL_DESCRIPTOR:
        status, eta, rate = _trapezoidal(method == TRAPEZOIDAL_DESCRIPTOR, t, h, eta, start, trial, near, error, tools, counts)
    elif method == SDIRK_DESCRIPTOR:
        status, eta, rate = _descriptor(t, h, eta, start, trial, near, stages, error, sdirk, tools, counts)
    elif method == SDIRK_FIRST_ORDER:
        status, eta, rate = increments.attempt(t, h, eta, start, trial, near, stages, sdirk, tools, counts)
        if status == CONVERGED:
            _sum_increments(stages, sdirk, start, trial, error)
    else:
        status = _rosenbrock(t, h, start, trial, near, stages, error, rosenbrock, tools, counts)
    if status == CONVERGED and filtered:
        correct(gamma * h, error[0], error[1], near, error[0], error[1])
        counts[SOLVES] += 1
    return status, eta, rate


@compiled
def diagonal(method, tableaus):
    """`gamma` in the matrix `I - gamma h J2 - (gamma h)^2 J1` of the method."""
    sdirk, _, rosenbrock = tableaus
    return 0.5 if method <= TRAPEZOIDAL_DESCRIPTOR else rosenbrock[0] if method == ROSENBROCK else sdirk[0][0, 0]


@compiled
def _trapezoidal(descriptor, t, h, eta, start, trial, near, error, tools, counts):
    """Newmark's formula with gamma = 1/2, beta = 1/4; the error is the difference to backward Euler [Negrut, eqs. (4.1), (4.2)]."""
    z, zd, x0, q, _, a, lam = start
    n = z.shape[0]
    base, based, x = np.empty(n), np.empty(n), np.empty(n)
    for k in range(n):
        base[k] = z[k] + h * zd[k] + 0.25 * h * h * x0[k]
        based[k] = zd[k] + 0.5 * h * x0[k]
    forecast(start, base, based, near, x)
    counts[SOLVES] += 1
    trial[3][:], trial[5][:], trial[6][:] = q, a, lam
    status, eta, rate = stage(descriptor, t + h, 0.5 * h, 0.25 * h * h, eta, start, trial, near, base, based, x, tools, counts)
    for k in range(n):
        trial[0][k], trial[1][k] = base[k] + 0.25 * h * h * x[k], based[k] + 0.5 * h * x[k]
        error[0][k] = trial[0][k] - (z[k] + h * trial[1][k])
        error[1][k] = trial[1][k] - (zd[k] + h * x[k])
    return status, eta, rate


@compiled
def _descriptor(t, h, eta, start, trial, near, stages, error, sdirk, tools, counts):
    """SDIRK with the accelerations `x_i` of the stages as unknowns [Negrut, section 3.3.2]."""
    A, AA, c, guess, weight, weight_position, _ = sdirk
    z, zd, _, q, _, a, lam = start
    X, Xd = stages[0], stages[1]
    n, gamma, slowest, descriptor = z.shape[0], A[0, 0], 0.0, h != 0.0  # not a literal: `stage` is compiled once
    base, based = np.empty(n), np.empty(n)
    trial[3][:], trial[5][:], trial[6][:] = q, a, lam
    for i in range(A.shape[0]):
        for k in range(n):
            base[k], based[k], ahead = z[k] + c[i] * h * zd[k], zd[k], 0.0
            for j in range(i):
                base[k] += h * h * AA[i, j] * X[j, k]
                based[k] += h * A[i, j] * X[j, k]
                ahead += guess[i, j] * Xd[j, k]
            X[i, k] = (ahead - (based[k] - zd[k])) / (gamma * h)
        if i == 0:
            forecast(start, base, based, near, X[0])
            counts[SOLVES] += 1
        status, eta, rate = stage(descriptor, t + c[i] * h, gamma * h, (gamma * h) ** 2, eta, start, trial, near, base, based, X[i], tools,
                                  counts)
        if status != CONVERGED:
            return status, eta, rate
        slowest = max(slowest, rate)
        for k in range(n):
            Xd[i, k] = based[k] - zd[k] + gamma * h * X[i, k]
    last = A.shape[0] - 1
    for k in range(n):
        trial[0][k], trial[1][k] = base[k] + (gamma * h) ** 2 * X[last, k], zd[k] + Xd[last, k]
        error[0][k], error[1][k] = 0.0, 0.0
        for i in range(A.shape[0]):
            error[0][k] += h * h * weight_position[i] * X[i, k]
            error[1][k] += h * weight[i] * X[i, k]
    return CONVERGED, eta, slowest


@compiled
def _sum_increments(stages, sdirk, start, trial, error):
    """The end of a stiffly accurate step is its last stage; the error follows from all of them [Negrut, eq. (4.86)]."""
    Z, Zd, weight = stages[0], stages[1], sdirk[6]
    last = Z.shape[0] - 1
    for k in range(Z.shape[1]):
        trial[0][k], trial[1][k] = start[0][k] + Z[last, k], start[1][k] + Zd[last, k]
        error[0][k], error[1][k] = 0.0, 0.0
        for i in range(Z.shape[0]):
            error[0][k] += weight[i] * Z[i, k]
            error[1][k] += weight[i] * Zd[i, k]


@compiled
def _rosenbrock(t, h, start, trial, near, stages, error, tableau, tools, counts):
    """The four stages of the Rosenbrock-Nystrom method [Negrut, eqs. (4.49)-(4.53)]; three evaluations, the first of them at hand."""
    e, sum_a, sum_e, w, c, d, tt, s, p, s_error, p_error = tableau
    store, model, work, _, evaluate = tools
    z, zd, x0, q, _, _, lam = start
    jacobians, _, explicit, W, pivots, _ = near
    n, U, J1 = z.shape[0], stages[0], jacobians[3]
    f, slope, bend, ahead = x0.copy(), explicit.copy(), np.empty(n), np.zeros(n)
    add_rows(1.0, J1, zd, slope)
    trial[3][:], trial[6][:] = q, lam
    for i in range(4):
        if i == 1 or i == 2:  # the fourth stage is evaluated where the third is
            for k in range(n):
                trial[0][k], trial[1][k] = z[k] + h * sum_a[i] * zd[k], zd[k]
                for j in range(i):
                    trial[0][k] += h * tt[i, j] * U[j, k]
                    trial[1][k] += w[i, j] * U[j, k]
            counts[EVALUATIONS] += 1
            status = evaluate(t + sum_a[i] * h, trial[0], trial[1], trial[3], trial[4], trial[5], trial[6], f, store, model, work)
            if status != GOOD:
                return status
        for k in range(n):
            bend[k], ahead[k] = 0.0, 0.0
            for j in range(i):
                bend[k] += d[i, j] * U[j, k]
                ahead[k] += c[i, j] * U[j, k]
        for k in range(n):
            U[i, k] = e * (h * f[k] + h * h * sum_e[i] * slope[k] + ahead[k])
        add_rows(h * h * e, J1, bend, U[i])
        solve(W, pivots, U[i])
        counts[SOLVES] += 1
    for k in range(n):
        trial[0][k], trial[1][k], error[0][k], error[1][k] = z[k] + h * zd[k], zd[k], 0.0, 0.0
        for i in range(4):
            trial[0][k] += h * p[i] * U[i, k]
            trial[1][k] += s[i] * U[i, k]
            error[0][k] += h * p_error[i] * U[i, k]
            error[1][k] += s_error[i] * U[i, k]
    return CONVERGED
