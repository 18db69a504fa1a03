"""SDIRK steps on the first-order form, with increments of positions and velocities as unknowns [Negrut, sections 3.4.1.3, 4.5.2]."""

import numpy as np

from ...compilation.compiled import compiled
from ...system.codes import DIVERGED, GOOD
from ...system.dense import solve
from ...system.vectors import put
from ..control.newton import ITERATE, newton_test
from ..control.norm import noise
from .step import add_rows, evaluate, forecast, size


@compiled
def attempt(t, h, eta, trial, run):
    """All stages of a step: returns `(status, eta, rate)`, with the increments `(Z, Z')` in `run.stages`.

    `z_i = sum_j a_ij k_j`, `k_i = h g(z0 + z_i)` is solved for the increments `z_i` of `w = (z, z')`. The derivatives of the previous
    stages follow from their increments by `k = A^-1 z`, without an evaluation [Negrut, eqs. (4.84)-(4.88)].
    """
    A, c, guess = run.sdirk.A, run.sdirk.c, run.sdirk.start
    Z, Zd, K, Kd = run.stages.X, run.stages.Xd, run.stages.K, run.stages.Kd
    n, gamma, slowest = Z.shape[1], A[0, 0], 0.0
    put(run.start.q, trial.q)
    put(run.start.lam, trial.lam)
    base, based = np.empty(n), np.empty(n)
    for i in range(A.shape[0]):
        # constant part of the stage, initial guess
        for k in range(n):
            base[k], based[k], Z[i, k], Zd[i, k] = 0.0, 0.0, 0.0, 0.0
        for j in range(i):
            for k in range(n):
                base[k] += A[i, j] * K[j, k]
                based[k] += A[i, j] * Kd[j, k]
                Z[i, k] += guess[i, j] * Z[j, k]
                Zd[i, k] += guess[i, j] * Zd[j, k]
        if i == 0:
            _first_guess(gamma * h, run, Z[0], Zd[0])
        status, eta, rate = _stage(t + c[i] * h, gamma * h, eta, trial, base, based, Z[i], Zd[i], run)
        if status != GOOD:
            return status, eta, rate
        slowest = max(slowest, rate)
        for k in range(n):
            K[i, k], Kd[i, k] = (Z[i, k] - base[k]) / gamma, (Zd[i, k] - based[k]) / gamma
    return GOOD, eta, slowest


@compiled
def _first_guess(gh, run, z, zd):
    """Initial guess of the increments of the first stage by the linearised equations."""
    z0, zd0 = run.start.z, run.start.zd
    x, base = np.empty_like(z), np.empty_like(z)
    for k in range(z.shape[0]):
        base[k] = z0[k] + gh * zd0[k]
    forecast(base, zd0, run, x)
    for k in range(z.shape[0]):
        zd[k] = gh * x[k]
        z[k] = gh * (zd0[k] + zd[k])


@compiled
def _stage(t, gh, eta, trial, base, based, z, zd, run):
    """Newton's method for one stage; returns `(status, eta, rate)`."""
    n, counts = z.shape[0], run.counts
    d, dd, before, rate = np.empty(n), np.empty(n), 0.0, 0.0
    z0, zd0, z1, zd1, zdd1 = run.start.z, run.start.zd, trial.z, trial.zd, trial.zdd
    eta, least = max(eta, 1e-16) ** 0.8, noise(run)
    for iteration in range(run.newton.max_iter):
        # residual
        for k in range(n):
            z1[k], zd1[k] = z0[k] + z[k], zd0[k] + zd[k]
        status = evaluate(t, trial, run)
        if status != GOOD:
            return status, eta, rate
        for k in range(n):
            d[k] = base[k] + gh * zd1[k] - z[k]
            dd[k] = based[k] + gh * zdd1[k] - zd[k]
        # correction
        correct(gh, d, dd, run.near, d, dd)
        counts.solves += 1
        counts.newton_iterations += 1
        for k in range(n):
            z[k] += d[k]
            zd[k] += dd[k]
        moved = size(d, dd, run)
        status, rate, eta = newton_test(run.newton, iteration, moved, before, eta, moved <= least)
        if status != ITERATE:
            return status, eta, rate
        before = moved
    return DIVERGED, eta, rate


@compiled
def correct(gh, r, rd, near, out, outd):
    """`(I - gamma h G) (out, outd) = (r, rd)` for `G = [0 I; J1 J2]` by one solution of size `n` [Negrut, eqs. (3.101)-(3.105)].

    `out` may be `r` and `outd` may be `rd`.
    """
    for k in range(rd.shape[0]):
        outd[k] = rd[k]
    add_rows(gh, near.J1, r, outd)
    solve(near.W, near.pivots, outd)
    for k in range(r.shape[0]):
        out[k] = r[k] + gh * outd[k]
