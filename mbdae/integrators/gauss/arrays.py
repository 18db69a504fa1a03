"""What an integration by a Gauss method works with, by name."""

from typing import Any

import numpy as np
from numba import types

from ...compilation.structure import Structure, StructureType
from ..control.records import Run
from ..projections.levels import Projection
from .tableau import Gauss


class Memory(Structure):
    """What a step leaves to the next one."""

    mode: int  # SIMPLIFIED or COUPLED, see `newton`
    age: int  # steps since the coupled matrix was formed
    back_step: float  # length of the step before, 0 if there is none
    target: float  # the energy that the next step is to have
    reached: float  # the energy at the end of the step


class Stages(Structure):
    """Positions, velocities, accelerations, multipliers of the stages, one row each, and the coupled matrix with which they are found."""

    Q: np.ndarray
    V: np.ndarray
    W: np.ndarray
    L: np.ndarray
    matrix: np.ndarray
    pivots: np.ndarray
    mode: int
    age: int


class Previous(Structure):
    """Accelerations and multipliers of the stages of the step before."""

    W: np.ndarray
    L: np.ndarray


class Scratch(Structure):
    """Vectors of a step, those of the stages by rows."""

    rates: np.ndarray  # T(Q_i) V_i
    R: np.ndarray  # residuals of the equations of motion
    P: np.ndarray  # residuals of the constraints
    Y: np.ndarray  # corrections of the accelerations, of the multipliers
    Z: np.ndarray
    W: np.ndarray  # guesses of the accelerations, of the multipliers
    L: np.ndarray
    x: np.ndarray  # right-hand sides
    iterations: int  # of the last step that was tried
    other: np.ndarray  # complex scratch of the system


class GaussRun(Run):
    """Arrays of an integration; `inner` are the stages of steps to times of output."""

    stages: Stages
    inner: Stages
    previous: Previous
    memory: Memory
    scratch: Scratch
    tableau: Gauss
    prepare: Any  # functions called by their addresses
    evaluate: Any
    form: Any
    project: Any
    projection: Projection
    keeps: int  # the state whose energy is conserved


_F, _I, _X, _ROWS = types.float64, types.int64, types.float64[::1], types.float64[:, ::1]
_STAGES = dict.fromkeys("QVWL", _ROWS) | {"matrix": _ROWS, "pivots": types.int64[::1], "mode": _I, "age": _I}
_TABLEAU = dict.fromkeys(Gauss.__annotations__, _ROWS) | {"b": _X, "c": _X, "d": _X, "r": _F}
STAGES, TABLEAU = StructureType("Stages", tuple(_STAGES.items())), StructureType("Gauss", tuple(_TABLEAU.items()))


def stages_for(system: Any, stages: int) -> Stages:
    """Room for the stages. The matrix is large and mostly not needed: pages that nothing is written to cost nothing."""
    size, rows = stages * (system.nv + system.nc), {"Q": system.nq, "V": system.nv, "W": system.nv, "L": system.nc}
    return Stages(**{name: np.zeros((stages, n)) for name, n in rows.items()}, matrix=np.zeros((size, size)),
                  pivots=np.zeros(size, dtype=np.int64), mode=0, age=0)


def scratch_for(system: Any, stages: int) -> Scratch:
    """Vectors of a step."""
    nq, nv, nc = system.nq, system.nv, system.nc
    sizes = {"rates": nq, "R": nv, "P": nc, "Y": nv, "Z": nc, "W": nv, "L": nc}
    return Scratch(**{name: np.zeros((stages, n)) for name, n in sizes.items()}, x=np.zeros(stages * (nv + nc)), iterations=0,
                   other=system.workspace(complex))
