"""Compiled callbacks of LSODI, and its loop over the steps."""

from functools import cache
from typing import Any

from numba import types
from numba.extending import intrinsic

from mbdae.compilation.compiled import compiled, compiled_with
from mbdae.compilation.foreign import foreign
from mbdae.compilation.structure import structure_at
from mbdae.driver.callbacks import FATAL, GOOD, HUGE
from mbdae.typing import Vector

from ..direct.guard import NO_FAULT, address, follow_null_space, judged
from ..direct.march import loop
from . import odepack
from .odepack import ONE_STEP, interpolated, result, unknowns, with_equations
from .records import behind, rate_of, replace, time_of, vector, whole

CUT = 3  # value of `IRES` with which LSODI repeats the step with a shorter one

_i = types.int64


class Solver(odepack.Solver):
    """LSODI with its arrays, as its package sets them up."""

    residual: int  # addresses
    matrix: int
    yd: Vector  # at the start; then a work array


@intrinsic
def call_routine(typingctx, at, res, adda, jac, n, y, yd, t, to, errors, rtol, atol, task, state, options, rwork, lrw, iwork, liw, mf):
    """`LSODI(RES, ADDA, JAC, NEQ, Y, YDOTI, T, TOUT, ITOL, RTOL, ATOL, ITASK, ISTATE, IOPT, RWORK, LRW, IWORK, LIW, MF)`, all addresses."""
    return foreign(types.void, (_i,) * 19)(typingctx, at, res, adda, jac, n, y, yd, t, to, errors, rtol, atol, task, state, options, rwork,
                                           lrw, iwork, liw, mf)


@compiled
def take_step(run):
    """One step; the state of LSODI, and the time that it has reached."""
    d = run.solver
    d.before = d.s[0]
    d.task[0] = ONE_STEP
    call_routine(d.routine, d.residual, d.matrix, 0, d.n.ctypes.data, d.y.ctypes.data, d.yd.ctypes.data, d.s.ctypes.data,
                 d.to.ctypes.data, d.errors.ctypes.data, d.rtol.ctypes.data, d.atol.ctypes.data, d.task.ctypes.data, d.state.ctypes.data,
                 d.options.ctypes.data, d.rwork.ctypes.data, d.lrw.ctypes.data, d.iwork.ctypes.data, d.liw.ctypes.data,
                 d.formula.ctypes.data)
    return result(run)


MARCH = loop(take_step, unknowns, interpolated)


# callbacks -------------------------------------------------------------------------------------------------------------------


def _residual(at_n, at_s, at_y, at_yd, at_out, at_flag):
    e = structure_at(behind(at_n), EQUATIONS)  # noqa: F821  # a name given by `with_equations`
    t, y, yd, out = time_of(vector(at_s, 1)[0], e), vector(at_y, e.n), rate_of(vector(at_yd, e.n), e), vector(at_out, e.n)
    code = FATAL
    if e.guard.fatal == NO_FAULT:
        follow_null_space(t, y, e)
        code = judged(t, kernel(t, y, yd, out, *e.arguments), y, yd, e.guard)  # noqa: F821
    if code == FATAL:
        out[:] = HUGE
    elif code != GOOD:
        replace(out)
        whole(at_flag)[0] = CUT
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
    return address(with_equations(_residual, kernel, equations._numba_type_), (_i,) * 6)


def matrix_address(derivative: Any, equations: Any, derivatives: Any) -> int:
    """Of the callback `ADDA(NEQ, T, Y, ML, MU, P, NROWP)` around `Problem.derivative`."""
    return address(_with_derivative(derivative, equations._numba_type_, derivatives._numba_type_), (_i,) * 7)


@cache
def _with_derivative(derivative: Any, kind: types.Type, derivatives: types.Type) -> Any:
    return compiled_with(_matrix, derivative, derivative=derivative, EQUATIONS=kind, DERIVATIVES=derivatives)
