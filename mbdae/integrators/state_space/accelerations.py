"""Implicit stages with accelerations as unknowns: the state-space and the descriptor form [Negrut, sections 3.2, 3.3, 4.1-4.3].

In a stage `z = z~ + (gamma h)^2 x`, `z' = z'~ + gamma h x`, with the acceleration `x = z''` of the stage.
"""

import numpy as np

from ...charts.motion import second_rates
from ...compilation.compiled import compiled
from ...system import kernels
from ...system import layout as lay
from ...system.codes import DIVERGED, GOOD
from ...system.dense import solve
from ...system.layout import header
from ...system.motion import accelerations, refine
from ..control.newton import ITERATE, newton_test
from ..control.norm import noise
from .descriptor import CORRECT
from .step import add_rows, size


@compiled
def stage(descriptor, t, gh, eta, trial, base, based, x, run):
    """Newton's method for one stage from the guess `x`; returns `(status, eta, rate)`, with the state of the stage in `trial`.

    With `descriptor` the unknowns are all accelerations and the multipliers, the equations those of motion and the constraints on
    acceleration level; otherwise the independent accelerations and the independent equations of motion.
    """
    n, counts, bhh = x.shape[0], run.counts, gh * gh
    dx, p, pd, before, rate = np.empty(n), np.empty(n), np.empty(n), 0.0, 0.0
    z1, zd1 = trial.z, trial.zd
    eta, least = max(eta, 1e-16) ** 0.8, noise(run)
    if descriptor and run.sparse != 0:
        _extrapolate(gh, bhh, trial, base, based, x, run)
    for iteration in range(run.newton.max_iter):
        # positions and velocities of the stage
        for k in range(n):
            z1[k], zd1[k] = base[k] + bhh * x[k], based[k] + gh * x[k]
        counts.residuals += 1
        status = run.place(t, z1, zd1, trial.q, trial.v, run.factors)
        if status != GOOD:
            return status, eta, rate
        # correction
        if descriptor and run.sparse != 0:
            status = run.descriptor(CORRECT, t, gh, bhh, trial, x, dx, run.factors, run.augmented)
        elif descriptor:
            status = _descriptor_correction(t, gh, bhh, trial, x, run, dx)
        else:
            status = _independent_correction(t, trial, x, run, dx)
        if status != GOOD:
            return status, eta, rate
        counts.solves += 1
        counts.newton_iterations += 1
        for k in range(n):
            x[k] += dx[k]
            p[k], pd[k] = bhh * dx[k], gh * dx[k]
        moved = size_of_accelerations(gh, bhh, run) if descriptor and run.sparse != 0 else size(p, pd, run)
        status, rate, eta = newton_test(run.newton, iteration, moved, before, eta, moved <= least)
        if status != ITERATE:
            return status, eta, rate
        before = moved
    return DIVERGED, eta, rate


@compiled
def _extrapolate(gh, bhh, trial, base, based, x, run):
    """Initial guess of `(a, lam)` where they are unknowns: by the derivatives, from the `(z, z')` of the stage before to those of this one.

    It fits that of `x`, so that the first corrections show how the iteration contracts.
    """
    near, n = run.near, x.shape[0]
    d, dd = np.empty(n), np.empty(n)
    for k in range(n):
        d[k], dd[k] = base[k] + bhh * x[k] - trial.z[k], based[k] + gh * x[k] - trial.zd[k]
    add_rows(1.0, near.A1, d, trial.a)
    add_rows(1.0, near.A2, dd, trial.a)
    add_rows(1.0, near.L1, d, trial.lam)
    add_rows(1.0, near.L2, dd, trial.lam)


@compiled
def size_of_accelerations(gh, bhh, run):
    """The norm of [Negrut, eq. (4.7)] of the changes in positions and velocities by the last correction of all accelerations."""
    da, wq, wv, total = run.augmented.b, run.near.weights_q, run.near.weights_v, 0.0
    move, change = np.empty(wv.shape[0]), np.empty(wq.shape[0])
    for k in range(wv.shape[0]):
        move[k] = bhh * da[k]
        total += (gh * da[k] * wv[k]) ** 2
    kernels.qdot(0.0, run.start.q, move, run.model, change)
    for k in range(wq.shape[0]):
        total += (change[k] * wq[k]) ** 2
    return np.sqrt(total / (wq.shape[0] + wv.shape[0]))


@compiled
def _independent_correction(t, trial, x, run, dx):
    """`dx = -(M^ W)^-1 Psi` with `Psi = N^T (M a - Q)`, the independent equations of motion [Negrut, eqs. (3.30), (3.47)].

    In `Psi` the accelerations `a` follow from `x` and the constraints. With those of the equations of motion, `a*`, they are
    `a = a* + N (x - z''(a*))`, and as `N^T (M a* - Q) = -N^T Phi_q^T lam = 0`, `Psi = M^ (x - z''(a*))`. Returns `GOOD` or the code of a
    failure, and leaves `a*` with its multipliers in `trial`.
    """
    status = _solved(t, trial.q, trial.v, trial.a, trial.lam, run.model, run.work)
    second_rates(t, trial.q, trial.v, trial.a, x.shape[0], run.factors.store, run.model, dx)
    for k in range(x.shape[0]):
        dx[k] -= x[k]
    solve(run.near.W, run.near.pivots, dx)
    return status


@compiled
def _descriptor_correction(t, gh, bhh, trial, x, run, dx):
    """Newton correction of `(a, lam)` for the equations (3.76) of [Negrut]; `dx` is its component in the independent accelerations.

    The matrix is that of the linear equations for `(a, lam)`, already factorised, plus a term of rank `n` for the dependence of positions
    and velocities on `x`; its inverse follows with the `n x n` matrix `W` (Sherman, Morrison, Woodbury). Returns `GOOD` or the code of a
    failure.
    """
    near, status = run.near, _independent_correction(t, trial, x, run, dx)
    add_rows(bhh, near.A1, dx, trial.a)
    add_rows(gh, near.A2, dx, trial.a)
    add_rows(bhh, near.L1, dx, trial.lam)
    add_rows(gh, near.L2, dx, trial.lam)
    return status


@compiled
def _solved(t, q, v, a, lam, model, work):
    """Solve the equations of motion for `(a, lam)` at fixed positions and velocities; `GOOD` or the code of a failure."""
    if header(model)[lay.COUPLED]:  # nonlinear with friction, whose derivatives by the multipliers are not in the matrix
        return accelerations(t, q, v, a, lam, model, work)
    refine(t, q, v, a, lam, model, work)
    return GOOD
