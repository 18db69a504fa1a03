"""Whether the last stage of a step satisfies the equations of motion, also where stiffness vanishes within the step.

Newton's method and the error estimate measure residuals through the matrix in the middle of the step. Where a damper of large constant `d`
lets go within the step, that takes the residual `r` of a free body for a velocity `r/d`, which passes every test. Stiff forces turn small
errors of the velocities into large residuals, too; these vanish with one more correction by that matrix, while those of a free body stay.
"""

from ...compilation.compiled import compiled
from ...system.vectors import fill
from ..bdf_formulas import ERROR
from .matrices import solve_with
from .newton import evaluate

LEAST = 1.0  # of the error of a velocity by the residual of a free body, relative to the tolerance, below which it does not matter
LEFT = 0.5  # of the residual after the correction, at most


@compiled
def end_holds(end, h, run):
    """Whether the residual of the last stage is small, but for what one more correction removes."""
    formula, y, yd = run.formulas[run.memory.level], run.y, run.yd
    s = formula.c.shape[0]
    for k in range(y.shape[0]):
        y[k], yd[k] = run.y0[k] + run.Z[s - 1, k], run.rate1[k]
    _weigh(h, run, run.r)
    if not evaluate(end, y, yd, run.R[0], run):
        return False
    before = _size(run.R[0], run.r)
    if before <= LEAST:
        return True
    # one more correction
    solve_with(run.R[0], run.real, run.sparse)
    run.counts.solves += 1
    c, x, column = formula.real / h, run.real.x, run.real.column
    for k in range(y.shape[0]):
        e = column[k] * x[k]
        y[k], yd[k] = y[k] - e, yd[k] - c * e
    return evaluate(end, y, yd, run.R[0], run) and _size(run.R[0], run.r) <= max(LEAST, LEFT * before)


@compiled
def _weigh(h, run, out):
    """The residuals of the equations of motion, rows of `F_yd v'`, by which velocities of free bodies get errors of the tolerance."""
    d, weight, n, m = run.derivatives, run.weights[ERROR], run.end.q.shape[0], run.end.v.shape[0]
    fill(out, 0.0)
    for k in range(d.rates.shape[0]):
        row, column = d.rows[k], d.columns[k]
        if n <= row < n + m and n <= column < n + m:
            out[row] += abs(d.rates[k]) * run.share / (weight[column] * h)


@compiled
def _size(residual, scale):
    """The largest residual of the equations of motion in these units."""
    largest = 0.0
    for k in range(residual.shape[0]):
        if scale[k] > 0.0:
            largest = max(largest, abs(residual[k]) / scale[k])
    return largest
