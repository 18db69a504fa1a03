"""The compiled loop over the steps of IDA and CVODE."""

import numpy as np
from numba import types
from numba.extending import intrinsic

from mbdae.compilation.compiled import compiled
from mbdae.compilation.foreign import foreign
from mbdae.compilation.structure import Structure
from mbdae.typing import Vector

from ..direct.march import loop
from .callbacks import vector

ONE_STEP = 2  # `IDA_ONE_STEP`, `CV_ONE_STEP`

_i, _d = types.int64, types.float64


class Solver(Structure):
    """IDA or CVODE for compiled code."""

    implicit: int  # 1: IDA, 0: CVODE
    solve: int  # addresses of functions of SUNDIALS
    interpolate: int
    memory: int  # of the solver
    y: int  # vectors of SUNDIALS
    yp: int
    inside: int
    reached: Vector  # where the solver writes its time


@intrinsic
def call_ida(typingctx, address, memory, t_end, reached, y, yp, task):
    """`int IDASolve(void *, double, double *, N_Vector, N_Vector, int)`, addresses as integers."""
    return foreign(types.int32, (_i, _d, _i, _i, _i, types.int32))(typingctx, address, memory, t_end, reached, y, yp, task)


@intrinsic
def call_cvode(typingctx, address, memory, t_end, y, reached, task):
    """`int CVode(void *, double, N_Vector, double *, int)`, addresses as integers."""
    return foreign(types.int32, (_i, _d, _i, _i, types.int32))(typingctx, address, memory, t_end, y, reached, task)


@intrinsic
def call_interpolate(typingctx, address, memory, t, k, out):
    """`int IDAGetDky(void *, double, int, N_Vector)`, and the same of CVODE, addresses as integers."""
    return foreign(types.int32, (_i, _d, types.int32, _i))(typingctx, address, memory, t, k, out)


@compiled
def take_step(run):
    """One step of the solver; what it returns, and the time that it has reached."""
    s = run.solver
    if s.implicit != 0:
        code = call_ida(s.solve, s.memory, run.t_end, s.reached.ctypes.data, s.y, s.yp, np.int32(ONE_STEP))
    else:
        code = call_cvode(s.solve, s.memory, run.t_end, s.y, s.reached.ctypes.data, np.int32(ONE_STEP))
    return code, s.reached[0]


@compiled
def unknowns(run):
    """Those at the end of the last step."""
    return vector(run.solver.y, run.equations.n, run.equations)


@compiled
def interpolated(t, out, run):
    """Write the unknowns at a time within the last step; what the solver returns."""
    s = run.solver
    code = call_interpolate(s.interpolate, s.memory, t, np.int32(0), s.inside)
    if code >= 0:
        out[:] = vector(s.inside, run.equations.n, run.equations)
    return code


MARCH = loop(take_step, unknowns, interpolated)
