"""Whether the last stage of a step satisfies the equations of motion, also where stiffness vanishes within the step.

Newton's method and the error estimate measure residuals through the matrix in the middle of the step. Where a damper of large constant `d`
lets go within the step, that takes the residual `r` of a free body for a velocity `r/d`, which passes every test. Stiff forces turn small
errors of the velocities into large residuals, too; these vanish with one more correction by that matrix, while those of a free body stay.

An iteration that ends after one correction knows its contraction rate from the step before. Where stiffness begins within the step that is
too small; a further correction is large then, and the step is repeated with new derivatives.
"""

from ...compilation.compiled import compiled
from ...system.codes import DIVERGED, ERROR_TEST, GOOD
from ...system.vectors import fill
from ..bdf_formulas import ERROR, size
from .matrices import solve_with
from .newton import evaluate

LEAST = 1.0  # of the error of a velocity by the residual of a free body, relative to the tolerance, below which it does not matter
UNFINISHED = 1.0  # correction, relative to the tolerance, above which Newton's method has not converged
LEFT = 0.5  # of the residual after the correction, at most


@compiled
def end_holds(end, h, run):
    """`GOOD` if the residual of the last stage is small, but for what a small further correction removes.

    `DIVERGED` if that correction is large, `ERROR_TEST` if the residual stays.
    """
    formula, y, yd = run.formulas[run.memory.level], run.y, run.yd
    s = formula.c.shape[0]
    for k in range(y.shape[0]):
        y[k], yd[k] = run.y0[k] + run.Z[s - 1, k], run.rate1[k]
    _weigh(h, run, run.r)
    if not evaluate(end, y, yd, run.R[0], run):
        return ERROR_TEST
    before = _size(run.R[0], run.r)
    allowed = LEAST * run.share
    if before <= (LEAST if run.memory.corrections == 1 else allowed):
        return GOOD
    # one more correction
    solve_with(run.R[0], run.real, run.sparse, run.weights[ERROR])
    run.counts.solves += 1
    c, x, column, moved = formula.real / h, run.real.x, run.real.column, run.difference
    for k in range(y.shape[0]):
        moved[k] = column[k] * x[k]
        y[k], yd[k] = y[k] - moved[k], yd[k] - c * moved[k]
    if size(moved, run.weights[ERROR], run.norms.counts[ERROR]) > UNFINISHED:
        return DIVERGED
    holds = evaluate(end, y, yd, run.R[0], run) and _size(run.R[0], run.r) <= max(allowed, LEFT * before)
    return GOOD if holds else ERROR_TEST


@compiled
def _weigh(h, run, out):
    """The residuals of the equations of motion, rows of `F_yd v'`, by which velocities of free bodies get errors of the tolerance."""
    d, weight, n, m = run.derivatives, run.weights[ERROR], run.end.q.shape[0], run.end.v.shape[0]
    fill(out, 0.0)
    for k in range(d.rates.shape[0]):
        row, column = d.rows[k], d.columns[k]
        if n <= row < n + m and n <= column < n + m:
            out[row] += abs(d.rates[k]) / (weight[column] * abs(h))


@compiled
def _size(residual, scale):
    """The largest residual of the equations of motion in these units."""
    largest = 0.0
    for k in range(residual.shape[0]):
        if scale[k] > 0.0:
            largest = max(largest, abs(residual[k]) / scale[k])
    return largest
