"""The error estimate of a step, where the motion is smooth and where forces have kinks.

The estimate of order `s` solves `(F_y + c_0/h F_yd) e = F(t0, y0, u'(0))`, with the derivative `u'(0)` of the collocation polynomial at
the start [Hairer and Wanner, section IV.8]. But for that filter it is the divided difference `D_s` of the derivative over the start and all
nodes. Where a force has a kink `D_s` is zero for some places of that, while the error is of the order of the kink. Ratios of divided
differences are about `h omega / k` for smooth motions and about one at a kink or a jump:

    rho = min(D_(s-1) / D_(s-2), sqrt(D_(s-1) / D_(s-3))),   E = max(D_s, 0.8 rho D_(s-1)).

`D_(s-1)`, over the start and all nodes but the end, is zero for other places than `D_s`: at a kink the error of the step is at most 1.3,
3.8 and 7.3 times `E` for three, five and seven stages, wherever it lies. For smooth motions both terms are about the same.

With three stages there is no `D_(s-3)`, and `D_(s-2)` is a first difference, to which the smooth motion beside a kink contributes as much.
There the second differences of the accelerations in two steps are compared as well, see `control.bend`.
"""

import numpy as np

from ...compilation.compiled import compiled
from ...system.vectors import fill
from ..bdf_formulas import ERROR, size
from ..control.bend import SUDDEN, forget_differences, is_sudden
from .matrices import solve_with
from .newton import evaluate, slope

LEAST_ERROR = 1e-10
PART = 0.8  # of `rho D_(s-1)` that is about `D_s` where the motion is smooth
MAX_RATIO = 2.0  # of two divided differences, at most, as the lower one may be zero at a kink
FILTERED = 1.25  # `E` over `D_s` from which on `D_(s-1)` is filtered, too, as it may be that of a stiff component
ROUGH = 0.5  # ratio of two divided differences from which on the motion is not smooth


@compiled
def error_of(t, h, run):
    """The error of the step that has been solved, relative to its tolerance.

    In the first step and after a rejected one a large estimate is filtered once more, `F(t0, y0 - e, u'(0))`, as it is then of the size of
    the error of a stiff component.
    """
    formula, e, rest, share = run.formulas[run.memory.level], run.r, run.difference, run.share
    lower, lowest = _difference(formula.differences[1], h, run), _difference(formula.differences[2], h, run)
    slope(formula.differences[0], run.Z, h, rest)
    if not _estimate(t, h, 0.0, run):
        return np.inf
    # D_(s-1) over the start and all nodes but the end
    for m in range(rest.shape[0]):
        rest[m] = h * rest[m] - e[m]
    highest, high = _size(e, run), _size(rest, run)
    sudden = _is_sudden(h, lowest, run)
    if larger(highest, high, lower, lowest, sudden) > FILTERED * highest:
        _filter(h, run)
        high = _size(rest, run)
        sudden = _is_sudden(h, lowest, run)
    error = tested(larger(highest, high, lower, lowest, sudden), high, lower, lowest, share)
    if error >= 1.0 and (run.counts.steps == 0 or run.clock.rejected != 0):
        if not _estimate(t, h, 1.0, run):
            return np.inf
        error = tested(larger(_size(e, run), high, lower, lowest, sudden), high, lower, lowest, share)
    return max(error, LEAST_ERROR)


@compiled
def _is_sudden(h, lowest, run):
    """Whether `D_2`, without or with its filter, is that of a kink; False with more than three stages, after which nothing is."""
    if lowest > 0.0:
        forget_differences(run.bends)
        return False
    return is_sudden(run.difference, run.weights[ERROR], run.start.q.shape[0], abs(h) ** 3, SUDDEN, run.bends)


@compiled
def larger(highest, high, lower, lowest, sudden):
    """`E` from `D_s`, `D_(s-1)`, `D_(s-2)` and `D_(s-3)`, the last one zero if there is none, with three stages.

    There `D_1` is that of the smooth motion, and `rho` too small at a kink: it is 1 where `D_2` is `sudden`, see `control.bend`.
    """
    if lowest == 0.0 and sudden:
        return max(highest, PART * high)
    ratio = min(high / lower, MAX_RATIO) if lower > 0.0 else MAX_RATIO
    if lowest > 0.0:
        ratio = min(ratio, np.sqrt(high / lowest))
    return max(highest, PART * ratio * high)


@compiled
def tested(E, high, lower, lowest, share):
    """`E` relative to its tolerance: `share` times that of the run, as `E` is of a lower order, or that of the run at a kink.

    With three stages `lower` is a first difference, which is not that of a kink, and does not count.
    """
    rough = ROUGH * (max(high, np.sqrt(E * lower)) if lowest > 0.0 else high) < E
    return E / (min(share, 1.0) if rough else share)


@compiled
def _size(x, run):
    return size(x, run.weights[ERROR], run.norms.counts[ERROR])


@compiled
def _difference(weights, h, run):
    """The size of a divided difference of the derivatives of the stages."""
    slope(weights, run.Z, h, run.yd)
    return abs(h) * _size(run.yd, run)


@compiled
def _estimate(t, h, part, run):
    """`(F_y + c_0/h F_yd) e = F(t0, y0 - part e, u'(0))`; whether it is finite."""
    real, y, e = run.real, run.y, run.r
    slope(run.formulas[run.memory.level].start, run.Z, h, run.yd)
    for m in range(y.shape[0]):
        y[m] = run.y0[m] - (part * e[m] if part != 0.0 else 0.0)
    if not evaluate(t, y, run.yd, run.R[0], run):
        return False
    solve_with(run.R[0], real, run.sparse, run.weights[ERROR])
    run.counts.solves += 1
    for m in range(e.shape[0]):
        e[m] = real.column[m] * real.x[m]
    return True


@compiled
def _filter(h, run):
    """Filter the difference `D` over the nodes as the estimate, `(F_y + c_0/h F_yd) x = c_0/h F_yd D`: `D - e` becomes `x - e`."""
    real, d, e, rest, r = run.real, run.derivatives, run.r, run.difference, run.R[0]
    c = run.formulas[run.memory.level].real / h
    fill(r, 0.0)
    for k in range(d.rates.shape[0]):
        r[d.rows[k]] += c * d.rates[k] * (rest[d.columns[k]] + e[d.columns[k]])
    solve_with(r, real, run.sparse, run.weights[ERROR])
    run.counts.solves += 1
    for m in range(rest.shape[0]):
        rest[m] = real.column[m] * real.x[m] - e[m]
