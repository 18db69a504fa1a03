"""The arrays of an integration by Adams methods."""

import numpy as np

from ...compilation.structure import Structure
from ...system.system import System
from ...typing import Vector
from ..control.records import Run, State
from ..explicit.arrays import Pair, Stages, new_pair, new_stages
from ..projections.levels import Projection

MAX_ORDER = 12
ROWS = MAX_ORDER + 2  # differences of the orders 0 to k + 1


class Memory(Structure):
    """The formula, and what is known of the last attempt and of stiffness in the steps so far.

    `k` is the order of the predictor, with `k` differences; that of the corrector is `k + 1`.
    """

    order: int  # k of the next step
    highest: int  # largest k
    used: int  # k of the last attempt
    known: int  # derivatives at the present time and before
    rising: int  # 1 while the order rises with every step, at the start
    steady: int  # steps since the order has changed
    failures: int  # rejected attempts of this step
    lower: int  # 1 if the errors of the attempt suggest a lower order
    present: float  # error of order k of the attempt at equal steps, relative to the tolerances
    below: float  # the same of order k - 1
    modulus: float  # estimate of |h lambda| of the last step
    stiff: int  # steps at the boundary of the region of stability
    calm: int  # consecutive steps inside of it
    cuts: int  # attempts of this step that were rejected for the displacement by the projection alone
    noisy: int  # 1 if the displacement has been found to be rounding
    at: int  # the first row of the differences at the start
    end: int  # that of the differences at the end of the last attempt
    bare: int  # 1 if states within the step are wanted as they are interpolated
    since: Vector  # t_n - t_(n-j)
    nodes: Vector  # t_(n+1) - t_(n+1-j) of the last attempt
    g: Vector  # weights of the differences in the integral over the step
    beta: Vector  # factors on the differences at the start
    sigma: Vector  # of the error estimates for further steps of the same length


class AdamsRun(Run):
    """Arrays of an integration."""

    differences: Stages  # modified divided differences of the derivatives by rows, those at the start and those at the end
    stage: State  # the predicted end
    rate: Pair  # its derivative
    change: Pair  # the difference of order k at the end
    raw: Pair  # the corrected end before its projection
    weights: Pair  # of the error norm
    memory: Memory
    projection: Projection
    rtol: float
    atol_q: Vector  # of positions
    atol_v: Vector  # of velocities


def new_memory(highest: int) -> Memory:
    """Before the first step."""
    vectors = {name: np.zeros(ROWS) for name in ("since", "nodes", "g", "beta", "sigma")}
    return Memory(order=1, highest=highest, used=1, known=0, rising=1, steady=0, failures=0, lower=0, present=0.0, below=0.0,
                  modulus=0.0, stiff=0, calm=0, cuts=0, noisy=0, at=0, end=ROWS, bare=0, **vectors)


def new_differences(s: System) -> Stages:
    """Zeros."""
    return new_stages(s, 2 * ROWS)


def new_pairs(s: System) -> dict[str, Pair]:
    """Zeros, by name."""
    return {name: new_pair(s) for name in ("rate", "change", "raw", "weights")}
