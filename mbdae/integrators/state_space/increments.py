"""SDIRK steps on the first-order form, with increments of positions and velocities as unknowns [Negrut, sections 3.4.1.3, 4.5.2]."""

import numpy as np

from ...compilation.compiled import compiled
from ...system.codes import GOOD
from ...system.dense import solve
from .step import CONVERGED, DIVERGED, EVALUATIONS, GOING, ITERATIONS, MOST_ITERATIONS, SOLVES, add_rows, forecast, judge, size


@compiled
def attempt(t, h, eta, start, trial, near, stages, tableau, tools, counts):
    """All stages of a step: `(status, eta, rate)`, with the increments `(Z, Z')` in `stages`.

    `z_i = sum_j a_ij k_j` with `k_i = h g(z0 + z_i)` is solved for the increment `z_i` of both halves of `w = (z, z')`. Derivatives of
    stages before are taken from their increments, `k = A^-1 z`, not evaluated anew [Negrut, eqs. (4.84)-(4.88)].
    """
    A, _, c, guess, _, _, _ = tableau
    Z, Zd, K, Kd = stages
    n, gamma, slowest = Z.shape[1], A[0, 0], 0.0
    trial[3][:], trial[6][:] = start[3], start[6]
    base, based = np.empty(n), np.empty(n)
    for i in range(A.shape[0]):
        base[:], based[:] = 0.0, 0.0
        for j in range(i):
            for k in range(n):
                base[k] += A[i, j] * K[j, k]
                based[k] += A[i, j] * Kd[j, k]
        Z[i], Zd[i] = 0.0, 0.0
        for j in range(i):
            for k in range(n):
                Z[i, k] += guess[i, j] * Z[j, k]
                Zd[i, k] += guess[i, j] * Zd[j, k]
        if i == 0:
            _first_guess(gamma * h, start, near, Z[0], Zd[0])
            counts[SOLVES] += 1
        status, eta, rate = _stage(t + c[i] * h, gamma * h, eta, start, trial, near, base, based, Z[i], Zd[i], tools, counts)
        if status != CONVERGED:
            return status, eta, rate
        slowest = max(slowest, rate)
        for k in range(n):
            K[i, k], Kd[i, k] = (Z[i, k] - base[k]) / gamma, (Zd[i, k] - based[k]) / gamma
    return CONVERGED, eta, slowest


@compiled
def _first_guess(gh, start, near, z, zd):
    """Increments of the first stage by the linearised equations."""
    x = np.empty_like(z)
    forecast(start, start[0] + gh * start[1], start[1], near, x)
    for k in range(z.shape[0]):
        zd[k] = gh * x[k]
        z[k] = gh * (start[1][k] + zd[k])


@compiled
def _stage(t, gh, eta, start, trial, near, base, based, z, zd, tools, counts):
    """Newton's method for one stage; `(status, eta, rate)`."""
    store, model, work, _, evaluate = tools
    n = z.shape[0]
    d, dd, before, rate = np.empty(n), np.empty(n), 0.0, 0.0
    eta = max(eta, 1e-16) ** 0.8
    for iteration in range(MOST_ITERATIONS):
        for k in range(n):
            trial[0][k], trial[1][k] = start[0][k] + z[k], start[1][k] + zd[k]
        counts[EVALUATIONS] += 1
        status = evaluate(t, trial[0], trial[1], trial[3], trial[4], trial[5], trial[6], trial[2], store, model, work)
        if status != GOOD:
            return status, eta, rate
        for k in range(n):
            d[k] = base[k] + gh * trial[1][k] - z[k]
            dd[k] = based[k] + gh * trial[2][k] - zd[k]
        correct(gh, d, dd, near, d, dd)
        counts[SOLVES] += 1
        counts[ITERATIONS] += 1
        moved = size(d, dd, near, start[3], model)
        for k in range(n):
            z[k] += d[k]
            zd[k] += dd[k]
        status, eta, rate = judge(iteration, moved, before, eta, rate)
        if status != GOING:
            return status, eta, rate
        before = moved
    return DIVERGED, eta, rate


@compiled
def correct(gh, r, rd, near, out, outd):
    """`(I - gamma h G) (out, outd) = (r, rd)` for `G = [0 I; J1 J2]` by one solve of half the size [Negrut, eqs. (3.101)-(3.105)].

    `out` may be `r` and `outd` may be `rd`.
    """
    jacobians, _, _, W, pivots, _ = near
    for k in range(rd.shape[0]):
        outd[k] = rd[k]
    add_rows(gh, jacobians[3], r, outd)
    solve(W, pivots, outd)
    for k in range(r.shape[0]):
        out[k] = r[k] + gh * outd[k]
