"""The state of a structural integrator and the arrays that its steps work with."""

from typing import Any, NamedTuple

import numpy as np

from ...compilation.compiled import compiled
from ...compilation.structure import Structure
from ...system import layout as lay
from ...system.coupling import Correction, Following, new_following
from ...system.vectors import put
from ..control.records import Run, put_state
from .matrix import ChartArrays, Matrix


class Memory(Structure):
    """What a step leaves to the next one."""

    jacobian_age: int  # steps since the derivatives were evaluated
    jacobian_requested: int  # 1 if the next step begins with their evaluation
    factors_stale: int  # 1 if the factors of the start of the step are those of another state
    back_step: float  # length of the step before
    formed: float  # length of the step for which the iteration matrix has been factorised, 0 for none
    condition_limit: float  # of the chart
    alpha_time_lag: float  # length of the step to which the auxiliary accelerations belong
    renewing_steps: int  # number of steps that renew their derivatives at the iterate
    rate: float  # contraction rate of the last step, the largest one
    iterations: int  # of the last step
    renewed: int  # 1 if it renewed the derivatives at the iterate


class StructuralState(Structure):
    """Positions, velocities, accelerations, auxiliary accelerations, multipliers."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    w: np.ndarray
    lam: np.ndarray


class Coefficients(NamedTuple):
    """Of the formula, see `formula`."""

    beta: float
    gamma: float
    alpha_m: float
    alpha_f: float


class Nearness(Structure):
    """Envelope and reciprocal diagonal of the factors of `Phi_q Phi_q^T`, and scratch."""

    envelope: np.ndarray
    inverse: np.ndarray
    y: np.ndarray


class Scratch(Correction):
    """Vectors of a step; `r` and `c` are the residuals of the equations of motion and of the constraints."""

    d: np.ndarray  # displacement
    ideal: np.ndarray  # displacement that the formula gives
    defect: np.ndarray  # constraint violation
    nearness: Nearness


class Friction(Structure):
    """What a step needs where forces depend on the multipliers; `lam` are those where they are others than the step's."""

    following: Following
    lam: np.ndarray


class StructuralRun(Run):
    """Arrays of an integration; `back` are the accelerations before those of `start`."""

    back: np.ndarray
    memory: Memory
    kind: int
    coefficients: Coefficients
    rtol: float
    atol: float
    scratch: Scratch
    friction: Friction | None
    matrix: Matrix
    chart: ChartArrays
    derive: Any


def scratch_for(system: Any) -> Scratch:
    """Vectors of a step."""
    nv, nc, envelope = system.nv, system.nc, int(system.model[:lay.HEADER_BYTES].view(np.int64)[lay.NENV])
    nearness = Nearness(envelope=np.zeros(envelope), inverse=np.zeros(nc), y=np.zeros(nc))
    return Scratch(d=np.zeros(nv), ideal=np.zeros(nv), defect=np.zeros(nc), r=np.zeros(nv), c=np.zeros(nc), da=np.zeros(nv),
                   dlam=np.zeros(nc), nearness=nearness)


def friction_for(system: Any) -> Friction | None:
    """`Friction`, or `None` where no forces depend on the multipliers: no step contains any of this then."""
    if not system.has_friction:
        return None
    return Friction(following=new_following(system.model, np.zeros(system.nc)), lam=np.array(system.start.lam))


@compiled
def put_all(state, out):
    """`out = state`."""
    put_state(state, out)
    put(state.w, out.w)
