"""The state of a structural integrator, and the arrays of an integration."""

from typing import Any, NamedTuple

import numpy as np

from ...compilation.compiled import compiled
from ...compilation.structure import Structure
from ...system import layout as lay
from ...system.coupling import Correction, Following, new_following
from ...system.system import System
from ...system.vectors import put
from ...typing import Vector
from ..control.records import Run, put_state
from .matrix import ChartArrays, ReducedIterationMatrix


class Memory(Structure):
    """Quantities that a step passes on to the next one."""

    jacobian_age: int  # steps since the derivatives were evaluated
    jacobian_requested: int  # 1 if the next step begins with their evaluation
    factors_stale: int  # 1 if the factors belong to another state than the start of the step
    back_step: float  # size of the step before
    formed: float  # step size for which the iteration matrix has been factorised, 0 for none
    condition_limit: float  # of the chart
    alpha_time_lag: float  # step size to which the auxiliary accelerations belong
    renewing_steps: int  # number of further steps that evaluate the derivatives at the iterate
    rate: float  # largest contraction rate in the last step
    iterations: int  # of the last step
    renewed: int  # 1 if it evaluated the derivatives at the iterate


class StructuralState(Structure):
    """Positions, velocities, accelerations, auxiliary accelerations, multipliers."""

    q: Vector
    v: Vector
    a: Vector
    w: Vector
    lam: Vector


class Coefficients(NamedTuple):
    """Coefficients of `formula.Formula`."""

    beta: float
    gamma: float
    alpha_m: float
    alpha_f: float


class Nearness(Structure):
    """Envelope and reciprocal diagonal of the factors of `Phi_q Phi_q^T`, and scratch."""

    envelope: Vector
    inverse: Vector
    y: Vector


class Scratch(Correction):
    """Vectors of a step; `r` and `c` are the residuals of the equations of motion and of the constraints."""

    d: Vector  # displacement
    ideal: Vector  # displacement by the formula, before the projection
    defect: Vector  # constraint violation
    nearness: Nearness


class Friction(Structure):
    """Arrays for forces that depend on multipliers; `lam` are these multipliers if they are not those of the step, see `step.CORRECTED`."""

    following: Following
    lam: Vector


class StructuralRun(Run):
    """Arrays of an integration; `back` are the accelerations before those of `start`."""

    back: Vector
    memory: Memory
    kind: int  # see `step`
    coefficients: Coefficients
    rtol: float  # of the error of a step
    atol: float
    share: float  # of the tolerances of the solution in these
    scratch: Scratch
    friction: Friction | None
    matrix: ReducedIterationMatrix
    chart: ChartArrays
    derive: Any  # a function called by its address


def scratch_for(system: System) -> Scratch:
    """Vectors of a step."""
    nv, nc, envelope = system.nv, system.nc, int(system.model[:lay.HEADER_BYTES].view(np.int64)[lay.NENV])
    nearness = Nearness(envelope=np.zeros(envelope), inverse=np.zeros(nc), y=np.zeros(nc))
    return Scratch(d=np.zeros(nv), ideal=np.zeros(nv), defect=np.zeros(nc), r=np.zeros(nv), c=np.zeros(nc), da=np.zeros(nv),
                   dlam=np.zeros(nc), nearness=nearness)


def friction_for(system: System, lam: Vector) -> Friction | None:
    """`Friction` with the multipliers of the start, or `None` if no forces depend on the multipliers."""
    if not system.has_friction:
        return None
    return Friction(following=new_following(system.model, np.zeros(system.nc)), lam=np.array(lam))


@compiled
def put_all(state, out):
    """`out = state`."""
    put_state(state, out)
    put(state.w, out.w)
