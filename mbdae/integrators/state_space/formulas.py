"""The formulas of the methods: `(z, z')` at the end of a step and its error estimate."""

import numpy as np

from ...compilation.compiled import compiled
from ...system.codes import GOOD, SINGULAR_MATRIX
from ...system.dense import solve
from ...system.vectors import put
from . import increments
from .accelerations import stage
from .descriptor import FORM
from .increments import correct
from .step import add_rows, evaluate, forecast, form

TRAPEZOIDAL_STATE_SPACE, TRAPEZOIDAL_DESCRIPTOR, SDIRK_DESCRIPTOR, SDIRK_FIRST_ORDER, ROSENBROCK = range(5)


@compiled
def formula(t, h, eta, filtered, trial, error, run):
    """One step: returns `(status, eta, rate)`, with `(z, z')` at its end in `trial` and its error estimate in `error`."""
    gamma, kind, rate = diagonal(run), run.kind, 0.0
    run.counts.factorisations += 1
    if not form(gamma * h, (gamma * h) ** 2, run.near):
        return SINGULAR_MATRIX, eta, 0.0
    if run.sparse != 0:
        run.counts.factorisations += 1
        start = run.start
        status = run.descriptor(FORM, t, gamma * h, (gamma * h) ** 2, start, start.z, start.z, run.factors, run.augmented)
        if status != GOOD:
            return status, eta, 0.0
    if kind <= TRAPEZOIDAL_DESCRIPTOR:
        status, eta, rate = _trapezoidal(t, h, eta, trial, error, run)
    elif kind == SDIRK_DESCRIPTOR:
        status, eta, rate = _descriptor(t, h, eta, trial, error, run)
    elif kind == SDIRK_FIRST_ORDER:
        status, eta, rate = increments.attempt(t, h, eta, trial, run)
        if status == GOOD:
            _sum_increments(trial, error, run)
    else:
        status = _rosenbrock(t, h, trial, error, run)
    if status == GOOD and filtered:
        correct(gamma * h, error.z, error.zd, run.near, error.z, error.zd)
        run.counts.solves += 1
    if status == GOOD and kind in (SDIRK_DESCRIPTOR, SDIRK_FIRST_ORDER):
        _defect(h, run)
    return status, eta, rate


@compiled
def _defect(h, run):
    """`gamma h (I - gamma h J)^-1 (w0' - u')` for `w = (z, z')`, with the derivative `u'` at the start from the stages, into `run.defect`.

    No stage is between the start of the step and `c_1 h`: a jump of the forces there is seen by none of them, but by the second derivative
    at the start, which is known. For smooth motions this has the order of the error estimate. The inverse matrix removes what a stiff
    component in the errors of the start contributes.
    """
    start, X, Xd, defect, gamma = run.start, run.stages.X, run.stages.Xd, run.defect, diagonal(run)
    by_slope, by_increment, descriptor = run.sdirk.begin, run.sdirk.begin_z, run.kind == SDIRK_DESCRIPTOR
    for k in range(start.z.shape[0]):
        first, second = 0.0, 0.0  # h (z0' - u') and h u'' from the stages
        for i in range(by_slope.shape[0]):
            first -= h * by_slope[i] * Xd[i, k]
            second += h * by_slope[i] * X[i, k] if descriptor else by_increment[i] * Xd[i, k]
        defect.z[k], defect.zd[k] = gamma * first, gamma * (h * start.zdd[k] - second)
    correct(gamma * h, defect.z, defect.zd, run.near, defect.z, defect.zd)
    run.counts.solves += 1


@compiled
def diagonal(run):
    """`gamma` in the matrix `I - gamma h J2 - (gamma h)^2 J1` of the method."""
    return 0.5 if run.kind <= TRAPEZOIDAL_DESCRIPTOR else run.rosenbrock.e if run.kind == ROSENBROCK else run.sdirk.A[0, 0]


@compiled
def _trapezoidal(t, h, eta, trial, error, run):
    """Newmark's formula with gamma = 1/2, beta = 1/4; error estimate by backward Euler [Negrut, eqs. (4.1), (4.2)]."""
    start = run.start
    z, zd, zdd, z1, zd1, ez, ezd = start.z, start.zd, start.zdd, trial.z, trial.zd, error.z, error.zd
    n = z.shape[0]
    base, based, x = np.empty(n), np.empty(n), np.empty(n)
    for k in range(n):
        base[k] = z[k] + h * zd[k] + 0.25 * h * h * zdd[k]
        based[k] = zd[k] + 0.5 * h * zdd[k]
    forecast(base, based, run, x)
    _begin_at(start, trial)
    status, eta, rate = stage(run.kind == TRAPEZOIDAL_DESCRIPTOR, t + h, 0.5 * h, eta, trial, base, based, x, run)
    for k in range(n):
        z1[k], zd1[k] = base[k] + 0.25 * h * h * x[k], based[k] + 0.5 * h * x[k]
        ez[k] = z1[k] - (z[k] + h * zd1[k])
        ezd[k] = zd1[k] - (zd[k] + h * x[k])
    return status, eta, rate


@compiled
def _begin_at(start, trial):
    """Initial guess of a stage: the state at the start of the step."""
    put(start.z, trial.z)
    put(start.zd, trial.zd)
    put(start.q, trial.q)
    put(start.a, trial.a)
    put(start.lam, trial.lam)


@compiled
def _descriptor(t, h, eta, trial, error, run):
    """SDIRK with the accelerations `x_i` of the stages as unknowns [Negrut, section 3.3.2]."""
    tableau, start, X, Xd = run.sdirk, run.start, run.stages.X, run.stages.Xd
    A, AA, c, guess = tableau.A, tableau.AA, tableau.c, tableau.start
    z, zd, z1, zd1, ez, ezd = start.z, start.zd, trial.z, trial.zd, error.z, error.zd
    n, gamma, slowest, descriptor = z.shape[0], A[0, 0], 0.0, h != 0.0  # not a literal: `stage` is compiled once
    base, based = np.empty(n), np.empty(n)
    _begin_at(start, trial)
    for i in range(A.shape[0]):
        # constant part of the stage, initial guess
        for k in range(n):
            base[k], based[k], ahead = z[k] + c[i] * h * zd[k], zd[k], 0.0
            for j in range(i):
                base[k] += h * h * AA[i, j] * X[j, k]
                based[k] += h * A[i, j] * X[j, k]
                ahead += guess[i, j] * Xd[j, k]
            X[i, k] = (ahead - (based[k] - zd[k])) / (gamma * h)
        if i == 0:
            forecast(base, based, run, X[0])
        status, eta, rate = stage(descriptor, t + c[i] * h, gamma * h, eta, trial, base, based, X[i], run)
        if status != GOOD:
            return status, eta, rate
        slowest = max(slowest, rate)
        for k in range(n):
            Xd[i, k] = based[k] - zd[k] + gamma * h * X[i, k]
    # end of the step, equal to the last stage; error
    last, weight, weight_position = A.shape[0] - 1, tableau.error, tableau.error_A
    for k in range(n):
        z1[k], zd1[k] = base[k] + (gamma * h) ** 2 * X[last, k], zd[k] + Xd[last, k]
        ez[k], ezd[k] = 0.0, 0.0
        for i in range(A.shape[0]):
            ez[k] += h * h * weight_position[i] * X[i, k]
            ezd[k] += h * weight[i] * X[i, k]
    return GOOD, eta, slowest


@compiled
def _sum_increments(trial, error, run):
    """The end of the step, equal to the last stage, and the error estimate from all stages [Negrut, eq. (4.86)]."""
    Z, Zd, weight = run.stages.X, run.stages.Xd, run.sdirk.d_error
    z, zd, z1, zd1, ez, ezd = run.start.z, run.start.zd, trial.z, trial.zd, error.z, error.zd
    last = Z.shape[0] - 1
    for k in range(Z.shape[1]):
        z1[k], zd1[k] = z[k] + Z[last, k], zd[k] + Zd[last, k]
        ez[k], ezd[k] = 0.0, 0.0
        for i in range(Z.shape[0]):
            ez[k] += weight[i] * Z[i, k]
            ezd[k] += weight[i] * Zd[i, k]


@compiled
def _rosenbrock(t, h, trial, error, run):
    """The four stages of the Rosenbrock-Nystrom method [Negrut, eqs. (4.49)-(4.53)]; two new evaluations, the first is known."""
    e, sum_a, sum_e, w, c, d, tt, s, p, s_error, p_error = run.rosenbrock
    start, near, U = run.start, run.near, run.stages.X
    z, zd, z1, zd1, ez, ezd, J1, W, pivots = start.z, start.zd, trial.z, trial.zd, error.z, error.zd, near.J1, near.W, near.pivots
    n = z.shape[0]
    f, slope, bend, ahead = start.zdd, near.by_time.copy(), np.empty(n), np.zeros(n)
    add_rows(1.0, J1, zd, slope)
    put(start.q, trial.q)
    put(start.lam, trial.lam)
    for i in range(4):
        if i == 1 or i == 2:  # the fourth stage has the evaluation of the third
            for k in range(n):
                z1[k], zd1[k] = z[k] + h * sum_a[i] * zd[k], zd[k]
                for j in range(i):
                    z1[k] += h * tt[i, j] * U[j, k]
                    zd1[k] += w[i, j] * U[j, k]
            status = evaluate(t + sum_a[i] * h, trial, run)
            if status != GOOD:
                return status
            f = trial.zdd
        for k in range(n):
            bend[k], ahead[k] = 0.0, 0.0
            for j in range(i):
                bend[k] += d[i, j] * U[j, k]
                ahead[k] += c[i, j] * U[j, k]
        for k in range(n):
            U[i, k] = e * (h * f[k] + h * h * sum_e[i] * slope[k] + ahead[k])
        add_rows(h * h * e, J1, bend, U[i])
        solve(W, pivots, U[i])
        run.counts.solves += 1
    for k in range(n):
        z1[k], zd1[k], ez[k], ezd[k] = z[k] + h * zd[k], zd[k], 0.0, 0.0
        for i in range(4):
            z1[k] += h * p[i] * U[i, k]
            zd1[k] += s[i] * U[i, k]
            ez[k] += h * p_error[i] * U[i, k]
            ezd[k] += s_error[i] * U[i, k]
    return GOOD
