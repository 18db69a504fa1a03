"""Compiled callbacks of LSODI, and its loop over the steps.

LSODI has no `RPAR`; it passes on the array whose first entry is the number of unknowns. Behind that is the address of the `Equations`.
"""

from functools import cache
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from mbdae.compilation.compiled import compiled, compiled_with
from mbdae.compilation.foreign import foreign
from mbdae.compilation.structure import Structure, structure_at
from mbdae.driver.callbacks import FATAL, GOOD, HUGE
from mbdae.typing import Vector

from ..direct.guard import NO_FAULT, address, follow_null_space, judged
from ..direct.march import loop
from .records import behind, rate_of, replace, time_of, vector

ENDED = -100  # in the place of the state of LSODI: the equations have ended the run

_i = types.int64


class Solver(Structure):
    """LSODI with its arrays, as its package sets them up."""

    routine: int  # addresses
    dense: int
    residual: int
    matrix: int
    n: Any  # of 32-bit integers, as all arrays of type Any
    s: Vector  # its clock
    y: Vector
    yd: Vector  # at the start; then a work array
    to: Vector  # where the run is to end
    errors: Any  # kind of tolerances
    rtol: Vector
    atol: Vector
    task: Any
    state: Any  # of the run, and what LSODI returns
    options: Any
    rwork: Vector
    lrw: Any
    iwork: Any
    liw: Any
    formula: Any
    last: float  # from where on it has arrived
    before: float  # its clock at the start of the last step
    inside_s: Vector  # arguments of `INTDY`
    derivative: Any
    flag: Any


@intrinsic
def call_routine(typingctx, at, res, adda, jac, n, y, yd, t, to, errors, rtol, atol, task, state, options, rwork, lrw, iwork, liw, mf):
    """`LSODI(RES, ADDA, JAC, NEQ, Y, YDOTI, T, TOUT, ITOL, RTOL, ATOL, ITASK, ISTATE, IOPT, RWORK, LRW, IWORK, LIW, MF)`, all addresses."""
    return foreign(types.void, (_i,) * 19)(typingctx, at, res, adda, jac, n, y, yd, t, to, errors, rtol, atol, task, state, options, rwork,
                                           lrw, iwork, liw, mf)


@intrinsic
def call_dense(typingctx, at, t, k, yh, n, out, flag):
    """`INTDY(T, K, YH, NYH, DKY, IFLAG)`, all addresses."""
    return foreign(types.void, (_i,) * 6)(typingctx, at, t, k, yh, n, out, flag)


@compiled
def take_step(run):
    """One step; the state of LSODI, and the time that it has reached."""
    d = run.solver
    d.before = d.s[0]
    d.task[0] = 5  # one step only, with a stop time
    call_routine(d.routine, d.residual, d.matrix, 0, d.n.ctypes.data, d.y.ctypes.data, d.yd.ctypes.data, d.s.ctypes.data,
                 d.to.ctypes.data, d.errors.ctypes.data, d.rtol.ctypes.data, d.atol.ctypes.data, d.task.ctypes.data, d.state.ctypes.data,
                 d.options.ctypes.data, d.rwork.ctypes.data, d.lrw.ctypes.data, d.iwork.ctypes.data, d.liw.ctypes.data,
                 d.formula.ctypes.data)
    code = ENDED if run.equations.guard.fatal != NO_FAULT else np.int64(d.state[0])  # it may have accepted a step with huge values
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
    call_dense(d.dense, d.inside_s.ctypes.data, d.derivative.ctypes.data, d.rwork.ctypes.data + 160, d.n.ctypes.data, out.ctypes.data,
               d.flag.ctypes.data)
    return np.int64(d.flag[0])


@compiled
def interpolated(t, out, run):
    """Write the unknowns at a time within the last step."""
    e = run.equations
    return derivative_at(min(e.guard.direction * (t - e.t0), run.solver.rwork[12]), 0, out, run)


MARCH = loop(take_step, unknowns, interpolated)


# callbacks -------------------------------------------------------------------------------------------------------------------


def _residual(at_n, at_s, at_y, at_yd, at_out, at_flag):
    e = structure_at(behind(at_n), EQUATIONS)  # noqa: F821  # a name given by `with_kernel`
    t, y, yd, out = time_of(vector(at_s, 1)[0], e), vector(at_y, e.n), rate_of(vector(at_yd, e.n), e), vector(at_out, e.n)
    code = FATAL
    if e.guard.fatal == NO_FAULT:
        follow_null_space(t, y, e)
        code = judged(t, kernel(t, y, yd, out, *e.arguments), y, yd, e.guard)  # noqa: F821
    if code == FATAL:
        out[:] = HUGE
    elif code != GOOD:
        replace(out)
    return GOOD


def _matrix(at_n, at_s, at_y, at_lower, at_upper, at_matrix, at_rows):
    """Subtract `dF/dyd`, for residuals `F = A yd - g`."""
    e = structure_at(behind(at_n), EQUATIONS)  # noqa: F821
    if e.guard.fatal != NO_FAULT:
        return GOOD
    derivatives = structure_at(e.derivatives, DERIVATIVES)  # noqa: F821
    t, y, matrix = time_of(vector(at_s, 1)[0], e), vector(at_y, e.n), vector(at_matrix, derivatives.size)
    values, places = derivatives.values, derivatives.places
    follow_null_space(t, y, e)
    factors = (0.0, 1.0)  # of `dF/dy` and `dF/dyd`
    derivative(t, y, e.out, factors, derivatives.sweep, derivatives.scratch, values, derivatives.arguments)  # noqa: F821
    for k in range(values.shape[0]):  # where they are not finite Newton's method fails, and LSODI cuts its step
        matrix[places[k]] -= e.guard.direction * values[k]
    return GOOD


def residual_address(kernel: Any, equations: Any) -> int:
    """Of the callback `RES(NEQ, T, Y, S, R, IRES)` around `Problem.kernel`."""
    return address(_with_kernel(kernel, equations._numba_type_), (_i,) * 6)


def matrix_address(derivative: Any, equations: Any, derivatives: Any) -> int:
    """Of the callback `ADDA(NEQ, T, Y, ML, MU, P, NROWP)` around `Problem.derivative`."""
    return address(_with_derivative(derivative, equations._numba_type_, derivatives._numba_type_), (_i,) * 7)


@cache
def _with_kernel(kernel: Any, kind: types.Type) -> Any:
    return compiled_with(_residual, kernel, kernel=kernel, EQUATIONS=kind)


@cache
def _with_derivative(derivative: Any, kind: types.Type, derivatives: types.Type) -> Any:
    return compiled_with(_matrix, derivative, derivative=derivative, EQUATIONS=kind, DERIVATIVES=derivatives)
