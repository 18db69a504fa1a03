"""The arrays of an integration by a Gauss method."""

from typing import Any

import numpy as np
from numba import types

from ...compilation.structure import Structure, StructureType
from ...system.system import System
from ...typing import ComplexVector, Integers, Matrix, Vector
from ..projections.levels import Projection
from .choice import LARGEST
from .controlled import ControlledRun
from .tableau import Gauss


class Memory(Structure):
    """Quantities that a step passes on to the next one."""

    mode: int  # SIMPLIFIED or COUPLED, see `choice`
    age: int  # steps since the coupled matrix was formed
    back_step: float  # size of the step before, 0 if there is none
    longer: float  # by how much the error allows longer steps than the last one by the simplified method
    target: float  # energy onto which the next step is projected
    reached: float  # energy at the end of the step


class Stages(Structure):
    """Positions, velocities, accelerations and multipliers of the stages, by rows, and the factors of the coupled matrix.

    `u` and `mu` have one row for all stages with `VELOCITY`, one for each with `GGL`, see `stages`; for `POSITION` they are zero.
    """

    Q: Matrix
    V: Matrix
    W: Matrix
    L: Matrix
    u: Matrix
    mu: Matrix
    matrix: Matrix
    pivots: Integers
    mode: int
    age: int
    rate: float  # contraction rate of the last attempt, 0 if it is not known


class Previous(Structure):
    """Accelerations and multipliers of the stages of the previous step."""

    W: Matrix
    L: Matrix


class Scratch(Structure):
    """Vectors of a step, those of the stages by rows."""

    rates: Matrix  # T(Q_i) V_i
    R: Matrix  # residuals of the equations of motion
    P: Matrix  # residuals of the constraints, or their combinations
    Y: Matrix  # corrections of the accelerations
    Z: Matrix  # corrections of the multipliers
    W: Matrix  # initial guess of the accelerations
    L: Matrix  # initial guess of the multipliers
    x: Vector  # right-hand sides
    p: Vector  # residual of the constraints in a stage
    speed: Vector  # a vector of the size of velocities
    end_q: Vector  # positions and velocities at the end of the step, before projections
    end_v: Vector
    drift: Matrix  # residual of the positions at the end, or in the stages
    balance: Matrix  # residual of the equations for `u`
    du: Matrix  # corrections of `u` and `mu`, with `GGL` of `A u` and `A mu`
    dmu: Matrix
    iterations: int  # of the last attempt
    other: ComplexVector  # complex scratch of the system


class GaussRun(ControlledRun):
    """Arrays of an integration; `inner` are the stages of shorter steps to times of output."""

    stages: Stages
    inner: Stages
    previous: Previous
    memory: Memory
    scratch: Scratch
    tableau: Gauss
    level: int  # POSITION, VELOCITY or GGL, see `stages`
    prepare: Any  # these five are functions called by their addresses
    evaluate: Any
    evaluate_end: Any
    form: Any
    project: Any
    projection: Projection
    keeps: int  # the state whose energy is conserved, see `Projector`


_F, _I, _X, _ROWS = types.float64, types.int64, types.float64[::1], types.float64[:, ::1]
_STAGES = dict.fromkeys(("Q", "V", "W", "L", "u", "mu", "matrix"), _ROWS) | {"pivots": types.int64[::1], "mode": _I, "age": _I, "rate": _F}
_TABLEAU = dict.fromkeys(Gauss.__annotations__, _ROWS) | {"b": _X, "c": _X, "d": _X, "r": _F}
STAGES, TABLEAU = StructureType("Stages", tuple(_STAGES.items())), StructureType("Gauss", tuple(_TABLEAU.items()))


def room_for(unknowns: int) -> int:
    """Rows and columns of the coupled matrix of all stages, see `choice`."""
    return unknowns if unknowns <= LARGEST else 0


def stages_for(system: System, stages: int, rows: int) -> Stages:
    """Arrays for the stages, with this number of rows of `u`. The coupled matrix is large; it takes no memory until it is formed."""
    size, sizes = stages * (system.nv + system.nc), {"Q": system.nq, "V": system.nv, "W": system.nv, "L": system.nc}
    room = room_for(size)
    arrays = {name: np.zeros((stages, n)) for name, n in sizes.items()}
    return Stages(**arrays, u=np.zeros((rows, system.nv)), mu=np.zeros((rows, system.nc)), matrix=np.zeros((room, room)),
                  pivots=np.zeros(size, dtype=np.int64), mode=0, age=0, rate=0.0)


def scratch_for(system: System, stages: int, rows: int) -> Scratch:
    """Vectors of a step, with this number of rows of corrections of `u`."""
    nq, nv, nc = system.nq, system.nv, system.nc
    sizes = {"rates": nq, "R": nv, "P": nc, "Y": nv, "Z": nc, "W": nv, "L": nc}
    ends = {"drift": nc, "balance": nv, "du": nv, "dmu": nc}
    vectors = {"p": nc, "speed": nv, "end_q": nq, "end_v": nv}
    arrays = {name: np.zeros((stages, n)) for name, n in sizes.items()} | {name: np.zeros((rows, n)) for name, n in ends.items()}
    return Scratch(**arrays, **{name: np.zeros(n) for name, n in vectors.items()}, x=np.zeros(stages * (nv + nc)), iterations=0,
                   other=system.workspace(complex))
