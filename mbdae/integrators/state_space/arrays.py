"""The state of a state-space method, and the arrays of an integration."""

from collections.abc import Callable
from typing import Any, NamedTuple

from ...charts.derivative import MotionDerivatives
from ...charts.store import Displaced, Factors
from ...compilation.compiled import compiled
from ...compilation.structure import Structure
from ...system.vectors import put
from ...typing import Integers, Matrix, Vector
from ..control.records import Run, put_state


class ChartedState(Structure):
    """Independent coordinates `z`, their derivatives, and the state `(q, v, a, lam)` that follows from them."""

    z: Vector
    zd: Vector
    zdd: Vector
    q: Vector
    v: Vector
    a: Vector
    lam: Vector


class Near(Structure):
    """Derivatives at the start of a step, iteration matrix, weights of the error norm.

    The derivatives are those of `mbdae.charts.derivative`, a row for each direction: of `v` by `z`, of `(a, lam, z'')` by `z` and `z'`.
    """

    derivatives: MotionDerivatives  # the next seven arrays
    V: Matrix
    A1: Matrix
    L1: Matrix
    J1: Matrix
    A2: Matrix
    L2: Matrix
    J2: Matrix
    N: Matrix  # basis of the null space, by columns
    by_time: Vector  # derivative of z'' by time
    W: Matrix  # factors of the iteration matrix
    pivots: Integers
    weights_q: Vector  # of errors in positions
    weights_v: Vector  # of errors in velocities


class Stages(Structure):
    """Accelerations or increments of the stages, by rows: `X` of `z''` or `z`, `Xd` of `z'`; `K`, `Kd` are their derivatives."""

    X: Matrix
    Xd: Matrix
    K: Matrix
    Kd: Matrix


class Pair(Structure):
    """An error in `(z, z')`."""

    z: Vector
    zd: Vector


class Memory(Structure):
    """Quantities that a step passes on to the next one."""

    eta: float  # ratio of error and correction in Newton's method
    next_eta: float  # its value if the step is accepted
    rate: float  # contraction rate in the last step
    jacobian_age: int  # steps since the derivatives were evaluated, negative if new ones are requested
    shared: int  # 1 if several threads evaluate the derivatives
    factors_stale: int  # 1 if the factors of the chart belong to another state than the start of the step
    first_condition: float  # condition of the chart where it was chosen
    condition: float  # at the end of the step


class ReuseRule(NamedTuple):
    """Up to which contraction rate, and for how many further steps, the derivatives of a step are reused."""

    rate: float
    max_age: int


class SdirkCoefficients(NamedTuple):
    """See `sdirk_tableau`."""

    A: Matrix
    AA: Matrix
    c: Vector
    start: Matrix
    error: Vector
    error_A: Vector
    d_error: Vector
    begin: Vector
    begin_z: Vector


class DenseCoefficients(NamedTuple):
    """Coefficients of the polynomials of the dense output."""

    position: Matrix
    velocity: Matrix


class RosenbrockCoefficients(NamedTuple):
    """See `rosenbrock_tableau`."""

    e: float
    a_sum: Vector
    e_sum: Vector
    w: Matrix
    c: Matrix
    d: Matrix
    t: Matrix
    s: Vector
    p: Vector
    s_error: Vector
    p_error: Vector


class ChartedRun(Run):
    """Arrays of an integration."""

    inside: ChartedState  # a state within a step
    memory: Memory
    kind: int  # of the method, see `formulas`
    filtered: int  # 1 if the error estimate is filtered
    rheonomic: int  # 1 if the equations depend explicitly on time
    evaluations: int  # number of evaluations for the derivatives
    reuse: ReuseRule
    max_condition_growth: float  # of the chart, above which another one is looked for
    rtol: float
    atol_q: Vector  # of positions
    atol_v: Vector  # of velocities
    near: Near
    stages: Stages
    error: Pair
    defect: Pair  # of SDIRK methods, a second error estimate
    sdirk: SdirkCoefficients
    dense: DenseCoefficients
    rosenbrock: RosenbrockCoefficients
    factors: Factors  # of the chart
    place: Callable[..., int]
    evaluate: Callable[..., int]
    derive: Callable[..., bool]
    displaced: Displaced
    sparse: int  # 1 if the descriptor form has its own matrix
    descriptor: Callable[..., int]  # see `descriptor`
    augmented: Any  # an `Augmented`


@compiled
def put_all(state, out):
    """`out = state`."""
    put(state.z, out.z)
    put(state.zd, out.zd)
    put(state.zdd, out.zdd)
    put_state(state, out)
