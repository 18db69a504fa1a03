"""Newton's test: whether an iteration has converged, goes on or is given up [Hairer and Wanner, section IV.8]."""

from typing import NamedTuple

import numpy as np

from ...compilation.compiled import compiled
from ...system.codes import DIVERGED, GOOD, NOT_FINITE
from ...system.vectors import is_finite

ITERATE = -1  # the iteration goes on
LEAST_GAP = 0.1  # between the contraction rate and 1, in the estimate of the error that is left
OVERFLOWING = 1e10  # correction after which one that is not finite is the end of a divergence, not a fault of the equations
NOISY_RATE = 0.5  # corrections of the size of rounding that contract less have come to their end
TOLERANCE = 0.02  # error that may be left, relative to the tolerances of a step
EPS = float(np.finfo(float).eps)


class NewtonRule(NamedTuple):
    """What the test asks for.

    Attributes
    ----------
    tol : float
        Error that may be left.
    max_iter : int
        Corrections.
    least_eta : float
        Lower bound on the ratio of error and correction: 1 asks for a correction below `tol` whatever the contraction rate.
    max_rate : float
        Contraction rate from which on the iteration diverges.
    forecast : int
        Number of the correction, counted from 0, from which on the iteration is given up if the remaining ones will not do.
    fast : float
        Contraction rate up to which it is not given up by forecast.
    """

    tol: float
    max_iter: int
    least_eta: float = 0.0
    max_rate: float = 1.0
    forecast: int = 1
    fast: float = 0.0


class Verdict(NamedTuple):
    """What the test says.

    Attributes
    ----------
    status : int
        `GOOD`: converged; `ITERATE`; `DIVERGED`; `NOT_FINITE`.
    rate : float
        Contraction rate, 0 after the first correction.
    eta : float
        Ratio of the error that is left and the correction.
    """

    status: int
    rate: float
    eta: float


def newton_tolerance(given: float | None, rtol: float, fixed: float) -> float:
    """`kappa`; by default 0.02, with step-size control at most `sqrt(rtol)`, but not below rounding: a tenth of the bound of RADAU5.

    Each step adds an error of up to `kappa` times the tolerance, and the number of steps grows as the tolerance falls.
    """
    if given is not None:
        return float(given)
    return TOLERANCE if fixed else min(TOLERANCE, float(max(EPS / rtol, np.sqrt(rtol))))


@compiled
def newton_test(rule, k, size, before, eta, noisy):
    """`Verdict` on correction number `k = 0, 1, ...` of size `size`, after one of size `before`.

    With the contraction rate `theta` the error that is left is `eta size`, `eta = theta/(1 - theta)`. For the first correction the `eta`
    that is given stands for it: that of the step before, or infinity. `noisy` corrections are as small as rounding; they end the iteration
    if they do not contract any more.
    """
    if not is_finite(size):
        return Verdict(DIVERGED if k > 0 and before > OVERFLOWING else NOT_FINITE, 0.0, eta)
    rate = size / before if k > 0 and before > 0.0 else 0.0
    if k > 0:
        eta = rate / max(1.0 - rate, LEAST_GAP)
    left = max(eta, rule.least_eta) * size
    if left <= rule.tol or (noisy and rate > NOISY_RATE):
        return Verdict(GOOD, rate, eta)
    if k > 0 and rate >= rule.max_rate:
        return Verdict(DIVERGED, rate, eta)
    remaining = rule.max_iter - k - 1
    hopeless = k >= rule.forecast and rate > rule.fast and rate**remaining * left > rule.tol
    return Verdict(DIVERGED if hopeless or remaining == 0 else ITERATE, rate, eta)
