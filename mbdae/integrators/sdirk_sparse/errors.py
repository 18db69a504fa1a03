"""Solutions with the matrix of a step: corrections of stages and error estimates."""

from ...compilation.compiled import compiled, window
from ...system import kernels
from ...system.vectors import fill
from ..control.norm import size_of
from ..iteration_matrix import solve
from .elimination import solve_rows


@compiled
def solve_for(rz, rzd, run):
    """Solve with `rz` and `rzd` in the rows of the formula, and zeros in the others, for `run.moved`."""
    p, nv, nc, r = run.partition, run.start.v.shape[0], run.start.lam.shape[0], run.r
    fill(r, 0.0)
    n = p.independent.shape[0]
    first = 2 * p.kept.shape[0] + nv + nc
    for k in range(n):
        i = p.independent[k]
        r[first + k], r[first + n + k] = rz[i], rzd[i]
    solve(r, run.factors)
    run.counts.solves += 1
    for k in range(r.shape[0]):
        run.moved[k] = run.factors.column[k] * run.factors.x[k]


@compiled
def embedded(h, run):
    """The error of the embedded formula in all positions and velocities, relative to the tolerances."""
    tableau, stages, ez, ezd, p, b = run.tableau, run.stages, run.error_q, run.rates, run.partition, run.basis
    for m in range(p.independent.shape[0]):
        k = p.independent[m]
        ez[k], ezd[k] = 0.0, 0.0
        for i in range(tableau.c.shape[0]):
            ez[k] += h * h * tableau.error_A[i] * stages.qdd[i, k]
            ezd[k] += h * tableau.error[i] * stages.qdd[i, k]
    if run.filtered:
        return _filtered(tableau.A[0, 0] * h, ez, ezd, run)
    _along(ezd, run, run.error_v)
    _along(ez, run, b.move)
    kernels.qdot(0.0, run.end.q, b.move, run.model, b.trial)
    return size_of(b.trial, run.error_v, run)


@compiled
def _along(x, run, out):
    """The velocities `N P x` that satisfy the constraints, by the last factors."""
    p, b = run.partition, run.basis
    fill(b.b, 0.0)
    for m in range(p.independent.shape[0]):
        b.b[p.kept.shape[0] + m] = x[p.independent[m]]
    solve_rows(b.elimination, b.b, out)


@compiled
def defect(h, run):
    """`gamma h (I - gamma h G)^-1 (w'(t) - sum_i w_i k_i)`, relative to the tolerances: a jump of the forces before the first stage."""
    tableau, stages, gh = run.tableau, run.stages, run.tableau.A[0, 0] * h
    rz, rzd = run.error_q, run.base
    for k in range(rz.shape[0]):
        rate, second = 0.0, run.qdd0[k]
        for i in range(tableau.c.shape[0]):
            rate -= tableau.begin[i] * stages.dqd[i, k]
            second -= tableau.begin[i] * stages.qdd[i, k]
        rz[k], rzd[k] = gh * rate, gh * second
    return _filtered(gh, rz, rzd, run)


@compiled
def _filtered(gh, rz, rzd, run):
    """The size of `(I - gamma h G)^-1 (rz, rzd)` in all positions and velocities."""
    for k in range(rz.shape[0]):
        rz[k] += gh * rzd[k]
    solve_for(rz, rzd, run)
    nq, nv = rz.shape[0], run.start.v.shape[0]
    return size_of(window(run.moved, 0, nq), window(run.moved, nq, nv), run)
