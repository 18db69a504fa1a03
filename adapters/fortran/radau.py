"""Compiled callbacks of RADAU in pyradau13, which runs to the end of the time span and calls back after each step.

`RPAR` of the callbacks is the address of the `Equations`, `IPAR` that of the `March`.
"""

from functools import cache
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from mbdae.compilation.compiled import compiled, compiled_with
from mbdae.compilation.foreign import foreign
from mbdae.compilation.structure import Structure, structure_at
from mbdae.driver.callbacks import FATAL, GOOD
from mbdae.typing import Vector

from ..direct.guard import NO_FAULT, address, are_finite, follow_null_space, judged, with_derivative, with_kernel
from ..direct.march import FAILED, GOES_ON, after_step
from .records import replace, time_of, vector, whole

STOP = -1  # value of `IRTRN` with which RADAU ends

_i = types.int64


class Solver(Structure):
    """What the callbacks of RADAU need besides the equations."""

    mass: Vector  # the matrix before the derivatives, by columns
    dense: int  # address of `CONTRA`
    visit: int  # address of a function in Python that takes output, and returns whether the run is to end
    flag: Any  # set by an interrupt
    begin: float  # its clock at the start of the run
    end: float
    cont: int  # address of the polynomial of the last step, and of its length
    length: int
    before: float  # its clock at the start and at the end of the last step
    s: float
    y: Vector  # the unknowns at the end of the last step
    at: Vector  # arguments of `CONTRA`
    component: Any
    code: int  # why Python is visited


@intrinsic
def call_dense(typingctx, at, component, s, cont, length):
    """`CONTRA(I, X, CONT, LRC)`, all addresses."""
    return foreign(types.float64, (_i,) * 4)(typingctx, at, component, s, cont, length)


@intrinsic
def call_visit(typingctx, at):
    """`int64 visit()`."""
    return foreign(_i, ())(typingctx, at)


@compiled
def interpolated(t, out, run):
    """Write the unknowns at a time within the last step."""
    d, e = run.solver, run.equations
    d.at[0] = min(max(e.guard.direction * (t - e.t0), d.before), d.s)
    for k in range(e.n):
        d.component[0] = k + 1
        out[k] = call_dense(d.dense, d.component.ctypes.data, d.at.ctypes.data, d.cont, d.length)
    return 0


STEP_TAKEN, STORE_TIMES = after_step(interpolated)


def _rhs(at_n, at_s, at_y, at_out, equations, march):
    """`f(t, y) = -F(t, y, 0)` on the clock of the solver; zeros when the run is to end, which ends the step at once."""
    e = equations
    y, out = vector(at_y, e.n), vector(at_out, e.n)
    code = FATAL
    if e.guard.fatal == NO_FAULT:
        t = time_of(vector(at_s, 1)[0], e)
        follow_null_space(t, y, e)
        code = judged(t, kernel(t, y, e.yd, out, *e.arguments), y, e.yd, e.guard)  # noqa: F821  # a name given by `with_kernel`
    if code == FATAL:
        out[:] = 0.0
    elif code != GOOD:
        replace(out)
    for k in range(e.n):
        out[k] *= -e.guard.direction
    return GOOD


def _jacobian(at_n, at_s, at_y, at_matrix, at_rows, equations, march):
    e, derivatives = equations, structure_at(equations.derivatives, DERIVATIVES)  # noqa: F821
    t, y, matrix = time_of(vector(at_s, 1)[0], e), vector(at_y, e.n), vector(at_matrix, derivatives.size)
    values, places = derivatives.values, derivatives.places
    matrix[:] = 0.0
    if e.guard.fatal != NO_FAULT:
        return GOOD
    e.guard.jacobians += 1
    follow_null_space(t, y, e)
    derivative(t, y, e.yd, (1.0, 0.0), derivatives.sweep, derivatives.scratch, values, derivatives.arguments)  # noqa: F821
    if are_finite(t, values, e.guard):
        for k in range(values.shape[0]):
            matrix[places[k]] = -e.guard.direction * values[k]
    return GOOD


def _mass(at_n, at_matrix, at_rows, equations, at_march):
    mass = structure_at(at_march, MARCH).solver.mass  # noqa: F821
    matrix = vector(at_matrix, mass.shape[0])
    matrix[:] = mass
    return GOOD


def _accepted(at_number, at_before, at_s, at_y, cont, length, at_n, equations, at_march, at_flag):
    """After each step, and at the start."""
    run = structure_at(at_march, MARCH)  # noqa: F821
    y, d = vector(at_y, equations.n), run.solver
    d.before, d.s, d.cont, d.length = vector(at_before, 1)[0], vector(at_s, 1)[0], cont, length
    if equations.guard.fatal != NO_FAULT or (d.s > d.before and finished(y, run)):
        whole(at_flag)[0] = STOP
    if run.usual != np.inf:
        run.before_y[:] = y
    return GOOD


@compiled
def finished(y, run):
    """Output after a step, with visits of Python where they are needed; whether the run is to end."""
    d = run.solver
    d.y[:] = y
    t = run.t_end if d.end - d.s <= 1e-14 * (d.end - d.begin) else time_of(d.s, run.equations)
    d.code = STEP_TAKEN(t, y, d.flag, run)
    while d.code != GOES_ON or run.stored == run.rows_t.shape[0]:
        if call_visit(d.visit) != 0:
            return True
        d.code = GOES_ON if run.by_steps != 0 or STORE_TIMES(run.t, y, run) else FAILED
    return run.forward * (run.t_end - run.t) <= 0.0  # a remaining step would be too short


def rhs_address(kernel: Any, equations: Any) -> int:
    """Of the callback `FCN(N, X, Y, F, RPAR, IPAR)` around `Problem.kernel`."""
    return address(with_kernel(_rhs, kernel), (_i,) * 4 + (equations._numba_type_, _i))


def jacobian_address(derivative: Any, equations: Any, derivatives: Any) -> int:
    """Of the callback `JAC(N, X, Y, DFY, LDFY, RPAR, IPAR)` around `Problem.derivative`."""
    callback = with_derivative(_jacobian, derivative, derivatives._numba_type_)
    return address(callback, (_i,) * 5 + (equations._numba_type_, _i))


def mass_address(equations: Any, march: Any) -> int:
    """Of the callback `MAS(N, AM, LMAS, RPAR, IPAR)`."""
    return address(_of_march(_mass, march._numba_type_), (_i,) * 3 + (equations._numba_type_, _i))


def accepted_address(equations: Any, march: Any) -> int:
    """Of the callback `SOLOUT(NR, XOLD, X, Y, CONT, LRC, N, RPAR, IPAR, IRTRN)`."""
    return address(_of_march(_accepted, march._numba_type_), (_i,) * 7 + (equations._numba_type_, _i, _i))


@cache
def _of_march(callback: Any, kind: types.Type) -> Any:
    return compiled_with(callback, finished, MARCH=kind)
