"""What LSODI and LSODAR share: their arguments, how compiled callbacks find their equations, and the polynomial of the last step.

The codes have no `RPAR`; they pass on the array whose first entry is the number of unknowns. Behind that is the address of the `Equations`.
"""

from functools import cache
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from mbdae.compilation.compiled import compiled, compiled_with
from mbdae.compilation.foreign import foreign
from mbdae.compilation.structure import Structure
from mbdae.typing import Vector

from ..direct.guard import NO_FAULT
from .records import time_of

ENDED = -100  # in the place of the state of the code: the equations have ended the run
ONE_STEP = 5  # task: one step only, with a stop time
NORDSIECK = 160  # bytes before the Nordsieck array in `RWORK`
REACHED = 12  # where the time at the end of the last step is there

_i = types.int64


class Solver(Structure):
    """The arguments that both codes have."""

    routine: int  # addresses
    dense: int
    n: Any  # of 32-bit integers, as all arrays of type Any
    s: Vector  # its clock
    y: Vector
    to: Vector  # where the run is to end
    errors: Any  # kind of tolerances
    rtol: Vector
    atol: Vector
    task: Any
    state: Any  # of the run, and what the code returns
    options: Any
    rwork: Vector
    lrw: Any
    iwork: Any
    liw: Any
    formula: Any  # of LSODI: method and iteration; of LSODAR: where the Jacobian comes from
    last: float  # from where on it has arrived
    before: float  # its clock at the start of the last step
    inside_s: Vector  # arguments of `INTDY`
    derivative: Any
    flag: Any


@intrinsic
def call_dense(typingctx, at, t, k, yh, n, out, flag):
    """`INTDY(T, K, YH, NYH, DKY, IFLAG)`, all addresses."""
    return foreign(types.void, (_i,) * 6)(typingctx, at, t, k, yh, n, out, flag)


@compiled
def result(run):
    """The state that the code has returned after a step, and the time that it has reached."""
    d = run.solver
    code = ENDED if run.equations.guard.fatal != NO_FAULT else np.int64(d.state[0])  # it may have accepted a step with replaced values
    return code, run.t_end if d.s[0] >= d.last else time_of(d.s[0], run.equations)


@compiled
def unknowns(run):
    """Those at the end of the last step."""
    return run.solver.y


@compiled
def derivative_at(s, k, out, run):
    """Write the unknowns, `k = 0`, or their rates, `k = 1`, at a time of the clock of the solver within the last step."""
    d = run.solver
    d.inside_s[0], d.derivative[0] = s, k
    call_dense(d.dense, d.inside_s.ctypes.data, d.derivative.ctypes.data, d.rwork.ctypes.data + NORDSIECK, d.n.ctypes.data, out.ctypes.data,
               d.flag.ctypes.data)
    return np.int64(d.flag[0])


@compiled
def interpolated(t, out, run):
    """Write the unknowns at a time within the last step."""
    e = run.equations
    return derivative_at(min(e.guard.direction * (t - e.t0), run.solver.rwork[REACHED]), 0, out, run)


@cache
def with_equations(callback: Any, kernel: Any, kind: types.Type) -> Any:
    """A callback for the kernel of a class of problems, its name `kernel`, and `EQUATIONS`, the type of these."""
    return compiled_with(callback, kernel, kernel=kernel, EQUATIONS=kind)
