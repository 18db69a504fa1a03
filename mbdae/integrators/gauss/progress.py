"""The convergence of Newton's method for the stages: whether it goes on, has converged, or needs another matrix."""

from typing import NamedTuple

import numpy as np

from ...compilation.compiled import compiled
from ..control.newton import ITERATE, NewtonRule, Verdict, newton_test

REUSE_RATE = 0.3  # contraction rate up to which a matrix is reused without a forecast of convergence
MAX_FORECAST_ITER = 12  # further iterations in the forecast of convergence at a larger rate
POSITION_ROUNDING = 2e-15  # relative
STAGNATION_TOL = 1e-13  # relative corrections of positions below which stagnation is due to rounding
LATE_STAGNATION_TOL = 1e-11  # the same after `LATE_ITER` iterations, or after corrections that contracted
LATE_ITER = 4


class Progress(NamedTuple):
    """The convergence of Newton's method with one matrix.

    Attributes
    ----------
    k : int
        Number of corrections.
    size : float
        Size of the last correction of the velocities.
    left : float
        Its estimate without rounding.
    rate : float
        Contraction rate before the corrections were at rounding, 0 if it is not known.
    noisy : bool
        Whether the last correction was at rounding.
    verdict : Verdict
    """

    k: int
    size: float
    left: float
    rate: float
    noisy: bool
    verdict: Verdict


@compiled
def nothing():
    """Before the first correction."""
    return Progress(0, np.inf, np.inf, 0.0, False, Verdict(ITERATE, 0.0, 1.0))


@compiled
def progress_after(tol, iteration, correction, last):
    """`Progress` after a correction of velocities and positions, both relative.

    Rounding of positions, divided by `h`, enters the velocities and hides the error in the tangent space. Once a correction is at rounding,
    this error is estimated with the contraction rate before. A matrix is replaced if `MAX_FORECAST_ITER` further iterations do not suffice.
    """
    size, shift = correction
    k, rate, tried = last.k, last.rate, size / last.size
    noisy = shift <= POSITION_ROUNDING or (rate > 0.0 and tried > 2.0 * rate and shift <= LATE_STAGNATION_TOL)
    hidden = noisy and rate > 0.0
    left, before = (rate * last.left, last.left) if hidden else (size, last.size)
    # a first correction at rounding with a new matrix is the last; so are small corrections that stagnate
    first = 0.0 if noisy and iteration > 1 else 1.0
    stagnant = size <= tol or (not hidden and shift <= (STAGNATION_TOL if iteration <= LATE_ITER else LATE_STAGNATION_TOL))
    rule = NewtonRule(tol, k + 1 + MAX_FORECAST_ITER, 0.0, 1.0, 1, REUSE_RATE)
    verdict = newton_test(rule, k, size if size <= tol else left, before, first, stagnant)
    if not hidden and 0.0 < verdict.rate < 1.0:
        rate = verdict.rate
    return Progress(k + 1, size, left, rate, noisy, verdict)
