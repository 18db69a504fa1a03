"""The arrays of an integration by an explicit Runge-Kutta method."""

import numpy as np

from ...compilation.structure import Structure
from ...system.system import System
from ...typing import Matrix, Vector
from ..control.records import Run, State
from ..projections.levels import Projection
from .hinges import Kink, no_kink
from .tableau import Coefficients


class Pair(Structure):
    """A vector of the length of the positions, and one of the length of the velocities."""

    q: Vector
    v: Vector


class Stages(Structure):
    """Derivatives of the positions and of the velocities in the stages, by rows."""

    q: Matrix
    v: Matrix


class Memory(Structure):
    """What is known of the last attempt, and of stiffness in the steps so far."""

    extended: int  # 1 if the stages of the dense output have been evaluated
    bare: int  # 1 if states within the step are wanted as they are interpolated
    cuts: int  # attempts of this step that were rejected for the displacement by the projection alone
    noisy: int  # 1 if the displacement has been found to be rounding
    modulus: float  # estimate of |h lambda| of the last step whose end was evaluated, see `errors`
    stiff: int  # steps at the boundary of the region of stability
    calm: int  # consecutive steps inside of it
    kink: Kink


class ExplicitRun(Run):
    """Arrays of an integration."""

    stages: Stages
    stage: State  # at which the derivative is evaluated
    raw: Pair  # the end of the step before its projection
    sums: Pair  # scratch
    second: Matrix  # second differences of the accelerations of two steps, see `control.bend`
    third: Matrix  # third ones
    weights: Pair  # of the error norm
    memory: Memory
    tableau: Coefficients
    projection: Projection
    rtol: float
    atol_q: Vector  # of positions
    atol_v: Vector  # of velocities


def new_pair(s: System) -> Pair:
    """Zeros."""
    return Pair(q=np.zeros(s.nq), v=np.zeros(s.nv))


def new_stages(s: System, m: int) -> Stages:
    """Zeros for `m` stages."""
    return Stages(q=np.zeros((m, s.nq)), v=np.zeros((m, s.nv)))


def new_memory() -> Memory:
    """Nothing is known."""
    return Memory(extended=0, bare=0, cuts=0, noisy=0, modulus=0.0, stiff=0, calm=0, kink=no_kink())
