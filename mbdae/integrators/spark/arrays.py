"""The arrays of an integration by `Spark`."""

from typing import Any

import numpy as np
from numba import types

from ...compilation.structure import Structure, StructureType
from ...system.system import System
from ...typing import ComplexVector, Integers, Matrix, Vector
from ..gauss.arrays import room_for
from ..gauss.controlled import ControlledRun
from ..projections.levels import Projection
from .tableau import Formula


class Memory(Structure):
    """Quantities that a step passes on to the next one."""

    mode: int  # SIMPLIFIED or COUPLED, see `choice`
    age: int  # steps since the coupled matrix was formed
    back_step: float  # size of the step before, 0 if there is none
    longer: float  # by how much the error allows longer steps than the last one by the simplified method


class Stages(Structure):
    """The stages of a step by rows, and the factors of the coupled matrix.

    Of the motion: positions `Q`, velocities `V`, accelerations `W` by applied forces, multipliers `F` on which forces depend. Of the
    constraints: positions `X`, accelerations `U` by reactions, multipliers `L`. `v` are the velocities at the end of the step.
    """

    Q: Matrix
    V: Matrix
    W: Matrix
    F: Matrix
    X: Matrix
    U: Matrix
    L: Matrix
    v: Vector
    matrix: Matrix
    pivots: Integers
    mode: int
    age: int
    rate: float  # contraction rate of the last attempt, 0 if it is not known


class Previous(Structure):
    """Accelerations and multipliers of the stages of the previous step."""

    W: Matrix
    U: Matrix
    L: Matrix


class Scratch(Structure):
    """Vectors of a step, those of the stages by rows."""

    rates: Matrix  # T(Q_i) V_i
    R: Matrix  # residuals of the motion
    S: Matrix  # residuals of the reactions
    P: Matrix  # residuals of the constraints: positions at `e_2 ...`, velocities at the end in the last row
    dW: Matrix  # corrections
    dU: Matrix
    dL: Matrix
    Y: Matrix  # combinations of corrections, in which the equations are decoupled
    Z: Matrix
    W: Matrix  # initial guess of the accelerations and multipliers
    U: Matrix
    L: Matrix
    x: Vector  # right-hand sides
    drift: Vector  # residual of the positions at the end
    iterations: int  # of the last attempt
    other: ComplexVector  # complex scratch of the system


class SparkRun(ControlledRun):
    """Arrays of an integration; `inner` are the stages of shorter steps to times of output."""

    stages: Stages
    inner: Stages
    previous: Previous
    memory: Memory
    scratch: Scratch
    formula: Formula
    prepare: Any  # these six are functions called by their addresses
    motion: Any
    reaction: Any
    evaluate_end: Any
    form: Any
    project: Any
    projection: Projection


_F, _I, _X, _ROWS = types.float64, types.int64, types.float64[::1], types.float64[:, ::1]
_STAGES = dict.fromkeys("QVWFXUL", _ROWS) | {"v": _X, "matrix": _ROWS, "pivots": types.int64[::1], "mode": _I, "age": _I, "rate": _F}
_FORMULA = dict.fromkeys(Formula.__annotations__, _ROWS) | dict.fromkeys("bcde", _X)
STAGES, FORMULA = StructureType("Stages", tuple(_STAGES.items())), StructureType("Formula", tuple(_FORMULA.items()))


def stages_for(system: System, formula: Formula) -> Stages:
    """Arrays for the stages. The coupled matrix is large; it takes no memory until it is formed."""
    s, m, nq, nv, nc = len(formula.c), len(formula.e), system.nq, system.nv, system.nc
    n = s * nv + m * (nv + nc)
    room = room_for(n)
    rows = {"Q": (s, nq), "V": (s, nv), "W": (s, nv), "F": (s, nc), "X": (m, nq), "U": (m, nv), "L": (m, nc), "matrix": (room, room)}
    return Stages(**{name: np.zeros(shape) for name, shape in rows.items()}, v=np.zeros(nv), pivots=np.zeros(n, dtype=np.int64),
                  mode=0, age=0, rate=0.0)


def previous_for(system: System, formula: Formula) -> Previous:
    """Room for the accelerations and multipliers of a step."""
    s, m = len(formula.c), len(formula.e)
    return Previous(W=np.zeros((s, system.nv)), U=np.zeros((m, system.nv)), L=np.zeros((m, system.nc)))


def scratch_for(system: System, formula: Formula) -> Scratch:
    """Vectors of a step."""
    s, m, nq, nv, nc = len(formula.c), len(formula.e), system.nq, system.nv, system.nc
    of_motion = {"rates": nq, "R": nv, "dW": nv, "W": nv}
    of_constraints = {"S": nv, "P": nc, "dU": nv, "dL": nc, "Y": nv, "Z": nc, "U": nv, "L": nc}
    return Scratch(**{name: np.zeros((s, n)) for name, n in of_motion.items()}, x=np.zeros(s * nv + m * (nv + nc)), drift=np.zeros(nc),
                   **{name: np.zeros((m, n)) for name, n in of_constraints.items()}, iterations=0, other=system.workspace(complex))
