"""Simplified Newton's method for the stages, with one real and `(s - 1)/2` complex systems.

    F(t0 + c_i h, y0 + Z_i, sum_j inverse_ij Z_j / h) = 0,   i = 1 ... s

With `F_y` and `F_yd` in the middle of the step, or of an earlier one, and the eigenvalues `c_p` and eigenvectors of `A^-1` a correction is

    (F_y + c_p/h F_yd) x_p = -sum_i left_pi F_i,   dZ_i = right_i0 x_0 + sum_p 2 Re(right_ip x_p)

[Hairer and Wanner, section IV.8].
"""

import numpy as np

from ...compilation.compiled import compiled
from ...system.codes import DIVERGED, GOOD, NOT_FINITE
from ...system.vectors import fill
from ..bdf_formulas import NEWTON, size
from ..control.newton import ITERATE, newton_test
from .matrices import solve_with

EPS = float(np.finfo(float).eps)
ROUNDING = 10.0 * EPS  # relative corrections that are rounding
NOISE = 1000.0  # corrections of so many roundings that stagnate are rounding


@compiled
def evaluate(t, y, yd, out, run):
    """`F(t, y, yd)`; whether it is finite."""
    run.counts.residuals += 1
    if run.redundant.shape[0] > 0:
        run.follow(t, y, run.redundant, run.followed, run.drifts, run.weight, run.model, run.work)
    return run.residual(t, y, yd, out, run.model, run.work, run.parameters)


@compiled
def slope(weights, Z, h, out):
    """`out = sum_j weights_j Z_j / h`."""
    fill(out, 0.0)
    for j in range(weights.shape[0]):
        w, row = weights[j] / h, Z[j]
        for k in range(out.shape[0]):
            out[k] += w * row[k]


@compiled
def solve_stages(t, h, run):
    """Solve for `Z` from the values in it; `GOOD`, `DIVERGED` or `NOT_FINITE`."""
    memory, counts, formula, rule = run.memory, run.counts, run.formulas[run.memory.level], run.newtons[run.memory.level]
    rounding = ROUNDING * size(run.y0, run.weights[NEWTON], run.norms.counts[NEWTON])
    before, last, rate = 0.0, 0.0, 0.0
    for k in range(rule.max_iter):
        if not _residuals(t, h, formula, run):
            return NOT_FINITE
        counts.newton_iterations += 1
        memory.corrections = k + 1
        moved = _correct(h, formula, run)
        if k > 0:  # the mean of the rates of two corrections: that of a complex pair oscillates
            last, rate = rate, moved / before
            before = moved / (rate if k == 1 else np.sqrt(rate * last)) if rate > 0.0 else before
        verdict = newton_test(rule, k, moved, before, memory.eta, moved <= NOISE * rounding)
        before = moved
        if k > 0:
            memory.eta, memory.rate = max(verdict.eta, EPS), verdict.rate
        if verdict.status == GOOD or (verdict.status != NOT_FINITE and moved <= rounding):
            memory.eta = max(memory.eta, EPS) ** 0.8
            return GOOD
        if verdict.status != ITERATE:
            return verdict.status
    return DIVERGED


@compiled
def _residuals(t, h, formula, run):
    """Residuals of all stages; whether they are finite."""
    y, yd, y0, Z = run.y, run.yd, run.y0, run.Z
    for i in range(formula.c.shape[0]):
        for k in range(y.shape[0]):
            y[k] = y0[k] + Z[i, k]
        slope(formula.inverse[i], Z, h, yd)
        if not evaluate(t + formula.c[i] * h, y, yd, run.R[i], run):
            return False
    return True


@compiled
def _combine(weights, R, out):
    """`out = sum_i weights_i R_i`."""
    fill(out, 0.0)
    for i in range(weights.shape[0]):
        w, row = weights[i], R[i]
        for k in range(out.shape[0]):
            out[k] += w * row[k]


@compiled
def _correct(h, formula, run):
    """Correct `Z`; the size of the correction, a root mean square over the stages."""
    R, Z, real, n, s = run.R, run.Z, run.real, run.y.shape[0], formula.c.shape[0]
    run.counts.solves += 1 + formula.pairs.shape[0]
    # the systems, whose right-hand sides need all residuals
    _combine(formula.left, R, run.r)
    solve_with(run.r, real, run.sparse, run.weights[NEWTON])
    for p in range(formula.pairs.shape[0]):
        _combine(formula.left_pairs[p], R, run.rc)
        solve_with(run.rc, run.pairs[p], run.sparse_pairs[p], run.weights[NEWTON])
    # back to the stages
    for i in range(s):
        x, column, w, row = real.x, real.column, formula.right[i], R[i]
        for k in range(n):
            row[k] = w * column[k] * x[k]
    for p in range(formula.pairs.shape[0]):
        _add_pair(formula.right_pairs, p, run.pairs[p], R)
    total, weight = 0.0, run.weights[NEWTON]
    for i in range(s):
        for k in range(n):
            Z[i, k] -= R[i, k]
            total += (weight[k] * R[i, k]) ** 2
    return np.sqrt(total / (s * run.norms.counts[NEWTON]))


@compiled
def _add_pair(right, p, factors, out):
    """`out_i += 2 Re(right_ip x)` with the solution `x` of a complex system."""
    x, column = factors.x, factors.column
    for i in range(right.shape[0]):
        w, row = 2.0 * right[i, p], out[i]
        for k in range(x.shape[0]):
            row[k] += column[k] * (w.real * x[k].real - w.imag * x[k].imag)
