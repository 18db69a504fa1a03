"""The state of a state-space method and the arrays that its steps work with."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...charts.derivative import MotionDerivatives
from ...charts.store import Displaced, Factors
from ...compilation.compiled import compiled
from ...compilation.structure import Structure
from ...system.vectors import put
from ..control.records import Run, put_state


class ChartedState(Structure):
    """Independent coordinates `z`, their rates, and the motion that belongs to them."""

    z: np.ndarray
    zd: np.ndarray
    zdd: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    lam: np.ndarray


class Near(Structure):
    """What is known of the equations near the start of a step.

    The derivatives are those of `mbdae.charts.derivative`, a row for each direction: of `v` by `z`, of `(a, lam, z'')` by `z` and `z'`.
    """

    derivatives: MotionDerivatives  # all of the seven that follow
    V: np.ndarray
    A1: np.ndarray
    L1: np.ndarray
    J1: np.ndarray
    A2: np.ndarray
    L2: np.ndarray
    J2: np.ndarray
    N: np.ndarray  # columns of the basis of the null space
    by_time: np.ndarray  # derivative of z'' by the time
    W: np.ndarray  # factors of the iteration matrix
    pivots: np.ndarray
    weights_q: np.ndarray  # of errors in positions
    weights_v: np.ndarray  # and in velocities


class Stages(Structure):
    """Accelerations or increments of the stages, by rows: `X` of `z''` or `z`, `Xd` of `z'`; `K`, `Kd` are their derivatives."""

    X: np.ndarray
    Xd: np.ndarray
    K: np.ndarray
    Kd: np.ndarray


class Pair(Structure):
    """An error in `(z, z')`."""

    z: np.ndarray
    zd: np.ndarray


class Memory(Structure):
    """What a step leaves to the next one."""

    eta: float  # ratio of error and correction of Newton's method
    next_eta: float  # the same, if the step is accepted
    rate: float  # contraction rate of the last step
    jacobian_age: int  # steps since the derivatives were evaluated, -1 if they are to be
    factors_stale: int  # 1 if the factors of the chart are those of another state than the start
    first_condition: float  # of the chart where it was chosen
    condition: float  # at the end of the step


class SdirkCoefficients(NamedTuple):
    """See `sdirk_tableau`."""

    A: np.ndarray
    AA: np.ndarray
    c: np.ndarray
    start: np.ndarray
    error: np.ndarray
    error_A: np.ndarray
    d_error: np.ndarray


class DenseCoefficients(NamedTuple):
    """Of the polynomials of the dense output."""

    position: np.ndarray
    velocity: np.ndarray


class RosenbrockCoefficients(NamedTuple):
    """See `rosenbrock_tableau`."""

    e: float
    a_sum: np.ndarray
    e_sum: np.ndarray
    w: np.ndarray
    c: np.ndarray
    d: np.ndarray
    t: np.ndarray
    s: np.ndarray
    p: np.ndarray
    s_error: np.ndarray
    p_error: np.ndarray


class ChartedRun(Run):
    """Arrays of an integration."""

    inside: ChartedState  # a state between two steps
    memory: Memory
    kind: int  # of the method, see `formulas`
    filtered: int  # 1 if the error estimate is filtered
    rheonomic: int  # 1 if the equations depend on the time
    evaluations: int  # that derivatives take
    rtol: float
    atol: float
    near: Near
    stages: Stages
    error: Pair
    sdirk: SdirkCoefficients
    dense: DenseCoefficients
    rosenbrock: RosenbrockCoefficients
    factors: Factors  # of the chart
    place: Callable
    evaluate: Callable
    derive: Callable
    displaced: Displaced


@compiled
def put_all(state, out):
    """`out = state`."""
    put(state.z, out.z)
    put(state.zd, out.zd)
    put(state.zdd, out.zdd)
    put_state(state, out)
