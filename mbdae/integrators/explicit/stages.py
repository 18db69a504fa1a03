"""Stages of an explicit Runge-Kutta formula on the underlying ODE `q' = T(q) v`, `v' = a(t, q, v)`."""

from ...compilation.compiled import compiled
from ...system import kernels
from ...system.codes import GOOD, NOT_FINITE
from ...system.evaluate import solve_motion
from ...system.vectors import fill, is_finite, largest, put


@compiled
def take_stages(t, h, end, run):
    """All stages of a step and the positions and velocities at its end, before the projection; `GOOD` or the code of a failure."""
    tableau = run.tableau
    keep(t, 0, run.start, run, run.model)
    put(run.start.lam, run.stage.lam)
    for i in range(1, tableau.stages):
        status = take_stage(end if tableau.c[i] == 1.0 else t + tableau.c[i] * h, i, h, run, run.model)
        if status != GOOD:
            return status
    combine(h, tableau.stages, run, run.end)
    return GOOD


@compiled
def take_stage(t, i, h, run, model):
    """Stage `i` at `t`, after those before it; `GOOD` or the code of a failure."""
    combine(h, i, run, run.stage)
    status = evaluate(t, run.stage, run, model)
    keep(t, i, run.stage, run, model)
    return status


@compiled
def combine(h, i, run, out):
    """`y0 + h sum_(j<i) a_ij k_j` into the positions and velocities of `out`."""
    row, start = run.tableau.A[i], run.start
    weighted_sum(row, i, run.stages.q, out.q)
    weighted_sum(row, i, run.stages.v, out.v)
    q, v, q0, v0 = out.q, out.v, start.q, start.v
    for k in range(q.shape[0]):
        q[k] = q0[k] + h * q[k]
    for k in range(v.shape[0]):
        v[k] = v0[k] + h * v[k]


@compiled
def weighted_sum(c, n, rows, out):
    """`out = sum_(i<n) c_i rows_i`."""
    fill(out, 0.0)
    for i in range(n):
        weight = c[i]
        if weight != 0.0:
            x = rows[i]
            for k in range(out.shape[0]):
                out[k] += weight * x[k]


@compiled
def evaluate(t, state, run, model):
    """`a` and `lam` of the equations of motion at the positions and velocities of a state; `GOOD` or the code of a failure.

    Multipliers on entry are the guess for those with joint friction.
    """
    if not is_finite(largest(state.q) + largest(state.v)):
        return NOT_FINITE
    run.counts.residuals += 1
    run.counts.factorisations += 1
    run.counts.solves += 1
    return solve_motion(t, state.q, state.v, state.a, state.lam, model, run.work)


@compiled
def keep(t, i, state, run, model):
    """The derivative `k_i` from an evaluated state."""
    kernels.qdot(t, state.q, state.v, model, run.stages.q[i])
    put(state.a, run.stages.v[i])
