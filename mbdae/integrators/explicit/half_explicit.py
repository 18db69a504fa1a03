"""Half-explicit stages for index 2: accelerations and multipliers from constraints on velocities, without their second derivatives.

With `Q_i = q0 + h sum_(j<i) a_ij T(Q_j) V_j`, `V_i = v0 + h sum_(j<i) a_ij W_j`, and a bar for the coefficients of the constraints,

    M(Q_i) W_i + Phi_q(Q_i)^T L_i = Q(t_i, Q_i, V_i),   Phi_q(Q^_i) (v0 + h sum_(j<=i) a^_ij W_j) = nu(t^_i, Q^_i),
    Q^_i = q0 + h sum_(j<=i) a^_ij T(Q_j) V_j,

linear equations for `(W_i, L_i)`; `W_1` are the accelerations at the start.
"""

import numpy as np

from ...compilation.compiled import compiled
from ...system import kernels, kkt, sparse
from ...system import layout as lay
from ...system.codes import GOOD, NOT_FINITE, RANK_LOST, SINGULAR_MATRIX
from ...system.evaluate import factor
from ...system.layout import count, part
from ...system.two_positions import solve_kept
from ...system.vectors import is_finite, largest, put
from ..control.loop import loops
from .attempt import accept, retry, step
from .consistent import make_consistent
from .errors import at_kink, estimate, looks_for_kinks, measured, sum_stages
from .interpolation import between
from .stages import combine, keep, take_stages, weighted_sum


@compiled
def take_half_explicit_stages(t, h, end, run):
    """All stages of a step and the positions and velocities at its end; `GOOD` or the code of a failure."""
    tableau = run.tableau
    if run.start.lam.shape[0] == 0:
        return take_stages(t, h, end, run)
    keep(t, 0, run.start, run, run.model)
    put(run.start.lam, run.stage.lam)
    for i in range(1, tableau.stages):
        combine(h, i, run, run.stage)
        held = end if tableau.held_c[i] == 1.0 else t + tableau.held_c[i] * h
        status = _solve_stage(t + tableau.c[i] * h, held, i, h, run)
        if status != GOOD:
            return status
    combine(h, tableau.stages, run, run.end)
    return GOOD


@compiled
def _solve_stage(t, held, i, h, run):
    """`(W_i, L_i)` at the positions and velocities in `run.stage`, whose constraints hold at the time `held`."""
    s, model, work, row = run.stage, run.model, run.work, run.tableau.held[i]
    force, held_q, held_v, c = np.empty_like(s.v), np.empty_like(s.q), np.empty_like(s.v), np.empty_like(s.lam)
    if not is_finite(largest(s.q) + largest(s.v)):
        return NOT_FINITE
    run.counts.residuals += 1
    run.counts.factorisations += 2
    run.counts.solves += 1
    # equations of motion of the stage
    if factor(t, s.q, model, work) > count(model, lay.DEPENDENT):
        return RANK_LOST
    kernels.place_velocity(s.v, model, work)
    kernels.force(t, s.q, s.v, s.lam, model, work, force)
    kernels.qdot(t, s.q, s.v, model, run.stages.q[i])
    # where the constraints hold, and the velocity there without W_i
    weighted_sum(row, i + 1, run.stages.q, held_q)
    weighted_sum(row, i, run.stages.v, held_v)
    for k in range(held_q.shape[0]):
        held_q[k] = run.start.q[k] + h * held_q[k]
    for k in range(held_v.shape[0]):
        held_v[k] = run.start.v[k] + h * held_v[k]
    G1 = np.empty_like(part(model, work, lay.W_G))
    kernels.place(held, held_q, model, work)
    kernels.phi_q(held, held_q, model, work, G1)
    kernels.nu(held, held_q, model, work, c)
    for k in range(c.shape[0]):
        c[k] = -c[k]
    sparse.add_times(G1, held_v, model, c)
    # L_i: G1 M^-1 G^T L = G1 M^-1 f + c / (h a^_ii)
    for k in range(c.shape[0]):
        c[k] /= h * row[i]
    _apply_inverse(force, model, work, held_v)
    sparse.add_times(G1, held_v, model, c)
    if not is_finite(largest(c)):
        return NOT_FINITE
    if not solve_kept(G1, model, work, c):
        return SINGULAR_MATRIX
    # W_i = M^-1 (f - G^T L); not with L of minimum norm: off the constraints G^T L is another one, as redundant rows are independent there
    for k in range(c.shape[0]):
        s.lam[k], c[k] = c[k], -c[k]
    sparse.add_transposed(part(model, work, lay.W_G), c, model, force)
    _apply_inverse(force, model, work, s.a)
    put(s.a, run.stages.v[i])
    return GOOD if is_finite(largest(s.a) + largest(s.lam)) else NOT_FINITE


@compiled
def _apply_inverse(x, model, work, out):
    """`out = M^-1 x`, after `factor`."""
    L = part(model, work, lay.W_MINV)
    sparse.half_solve(L, x, model, out)
    sparse.half_solve_transposed(L, out, model, out)


@compiled
def tangential_estimate(h, run):
    """The estimate of the formula, with errors of the velocities projected onto the constraints at the end.

    The accelerations of the stages satisfy the constraints on velocities in the sums of the method only: without the projection the
    estimate is that of the multipliers. A second estimate counts as in `estimate`.
    """
    if run.start.lam.shape[0] == 0:
        return estimate(h, run)
    _sum_tangential(run.tableau.errors[0], run)
    error = abs(h) * measured(run)
    if error != 0.0 and run.tableau.errors[1].any():
        _sum_tangential(run.tableau.errors[1], run)
        error = error**2 / np.sqrt(error**2 + 0.01 * (abs(h) * measured(run)) ** 2)
    return max(error, at_kink(_sum_tangential, h, run)) if looks_for_kinks(run) else error


@compiled
def _sum_tangential(coefficients, run):
    """Sums of all derivatives with these coefficients, with velocities projected onto the constraints, into `run.sums`."""
    sums, model, work = run.sums, run.model, run.work
    sum_stages(coefficients, run)
    force, zero, x, mu = np.empty_like(sums.v), np.zeros_like(run.start.lam), np.empty_like(sums.v), np.empty_like(run.start.lam)
    sparse.mass_times(kernels.mass_values(model, work), sums.v, model, force)
    kkt.solve(model, work, force, zero, x, mu)
    put(x, sums.v)


@compiled
def attempt(t, h, end, run):
    """One half-explicit step and its error."""
    return step(take_half_explicit_stages, tangential_estimate, make_consistent, t, h, end, run)


LOOPS = loops(attempt, retry, accept, between)
