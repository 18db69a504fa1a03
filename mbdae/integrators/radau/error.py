"""The error estimate of a step, where the motion is smooth and where forces have kinks.

The estimate of order `s` solves `(F_y + c_0/h F_yd) e = F(t0, y0, u'(0))`, with the derivative `u'(0)` of the collocation polynomial at
the start [Hairer and Wanner, section IV.8]. But for that filter it is the divided difference `D_s` of the derivative over the start and all
nodes. Where a force has a kink `D_s` is zero for some places of that, while the error is of the order of the kink. Ratios of divided
differences are about `h omega / k` for smooth motions and about one at a kink or a jump:

    rho = min(D_(s-1) / D_(s-2), sqrt(D_(s-1) / D_(s-3))),   E = max(D_s, 0.8 rho D_(s-1)).

`D_(s-1)`, over the start and all nodes but the end, is zero for other places than `D_s`: at a kink the error of the step is at most 1.3,
3.8 and 7.3 times `E` for three, five and seven stages, wherever it lies. For smooth motions both terms are about the same.
"""

import numpy as np

from ...compilation.compiled import compiled
from ..bdf_formulas import ERROR, size
from .matrices import solve_with
from .newton import evaluate, slope

LEAST_ERROR = 1e-10
PART = 0.8  # of `rho D_(s-1)` that is about `D_s` where the motion is smooth
MAX_RATIO = 2.0  # of two divided differences, at most, as the lower one may be zero at a kink
ROUGH = 0.5  # ratio of two divided differences from which on the motion is not smooth


@compiled
def error_of(t, h, run):
    """The error of the step that has been solved, relative to its tolerance.

    The tolerance is `share` times that of the run, as `E` is of a lower order than the formula, and that of the run where the motion is not
    smooth. In the first step and after a rejected one a large estimate is filtered once more, `F(t0, y0 - e, u'(0))`, as it is then of the
    size of the error of a stiff component.
    """
    real, formula, y, e = run.real, run.formulas[run.memory.level], run.y, run.r
    weight, count, rest = run.weights[ERROR], run.norms.counts[ERROR], run.difference
    lower = abs(h) * _difference(formula.differences[1], h, run)
    lowest = abs(h) * _difference(formula.differences[2], h, run)
    slope(formula.differences[0], run.Z, h, rest)
    slope(formula.start, run.Z, h, run.yd)
    error = np.inf
    for k in range(2):
        for m in range(y.shape[0]):
            y[m] = run.y0[m] - (e[m] if k > 0 else 0.0)
        if not evaluate(t, y, run.yd, run.R[0], run):
            return error
        solve_with(run.R[0], real, run.sparse)
        run.counts.solves += 1
        for m in range(y.shape[0]):
            e[m] = real.column[m] * real.x[m]
            if k == 0:  # D_(s-1) over the start and all nodes but the end
                rest[m] = h * rest[m] - e[m]
        error = max(_tested(size(e, weight, count), size(rest, weight, count), lower, lowest, run.share), LEAST_ERROR)
        if error < 1.0 or (run.counts.steps > 0 and run.clock.rejected == 0):
            break
    return error


@compiled
def _difference(weights, h, run):
    """The size of a divided difference of the derivatives of the stages."""
    slope(weights, run.Z, h, run.yd)
    return size(run.yd, run.weights[ERROR], run.norms.counts[ERROR])


@compiled
def _tested(highest, high, lower, lowest, share):
    """`E` relative to its tolerance, from `D_s`, `D_(s-1)`, `D_(s-2)` and `D_(s-3)`, the last one zero if there is none."""
    ratio = min(high / lower, MAX_RATIO) if lower > 0.0 else MAX_RATIO
    if lowest > 0.0:
        ratio = min(ratio, np.sqrt(high / lowest))
    E = max(highest, PART * ratio * high)
    rough = ROUGH * max(high, np.sqrt(E * lower)) < E
    return E / (min(share, 1.0) if rough else share)
