"""Compiled callbacks of DASPK, and its loop over the steps.

The callbacks of the version in scikits-odes-daepack have one argument more than those of the original, the number of unknowns.
"""

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from mbdae.compilation.compiled import compiled
from mbdae.compilation.foreign import foreign
from mbdae.compilation.structure import Structure, structure_at
from mbdae.driver.callbacks import FATAL, GOOD
from mbdae.typing import Vector

from ..direct.guard import NO_FAULT, address, are_finite, follow_null_space, judged, with_derivative, with_kernel
from ..direct.march import loop
from .records import address_of, in_order, rate_of, replace, time_of, vector, whole

ENDS = -2  # value of `IRES` with which DASPK ends at once

_i = types.int64


class Solver(Structure):
    """DASPK with its arrays, as its package sets them up."""

    routine: int  # addresses
    residual: int
    jacobian: int
    n: Any  # of 32-bit integers, as all arrays of type Any
    s: Vector  # its clock
    y: Vector  # in its order
    yd: Vector
    to: Vector  # where the call is to end
    info: Any
    rtol: Vector
    atol: Vector
    flag: Any
    rwork: Vector
    lrw: Any
    iwork: Any
    liw: Any
    before: float  # its clock at the start of the last step
    end: float  # and at the end of the run
    last: float  # from where on it has arrived
    state: Vector  # the unknowns at the end of the step in the order of the problem; `y` itself where they are
    inside_s: Vector  # for interpolation
    inside_y: Vector
    inside_yd: Vector


@intrinsic
def call_routine(typingctx, at, res, n, t, y, yd, to, info, rtol, atol, flag, rwork, lrw, iwork, liw, rpar, ipar, jac, psol):
    """`DDASPK(RES, NEQ, T, Y, YPRIME, TOUT, INFO, RTOL, ATOL, IDID, RWORK, LRW, IWORK, LIW, RPAR, IPAR, JAC, PSOL)`, all addresses."""
    return foreign(types.void, (_i,) * 18)(typingctx, at, res, n, t, y, yd, to, info, rtol, atol, flag, rwork, lrw, iwork, liw, rpar, ipar,
                                           jac, psol)


@compiled
def call(s, y, yd, run):
    """A call of DASPK with the time, unknowns and derivatives in these arrays; its flag."""
    d, e = run.solver, address_of(run.equations)
    call_routine(d.routine, d.residual, d.n.ctypes.data, s.ctypes.data, y.ctypes.data, yd.ctypes.data, d.to.ctypes.data,
                 d.info.ctypes.data, d.rtol.ctypes.data, d.atol.ctypes.data, d.flag.ctypes.data, d.rwork.ctypes.data, d.lrw.ctypes.data,
                 d.iwork.ctypes.data, d.liw.ctypes.data, e, e, d.jacobian, 0)
    return np.int64(d.flag[0])


@compiled
def take_step(run):
    """One step; the flag of DASPK, and the time that it has reached."""
    d = run.solver
    d.before = d.s[0]
    d.info[2], d.to[0] = 1, d.end
    code = call(d.s, d.y, d.yd, run)
    in_order(d.y, d.state, run.equations)
    return code, run.t_end if d.s[0] >= d.last else time_of(d.s[0], run.equations)


@compiled
def unknowns(run):
    """Those at the end of the last step."""
    return run.solver.state


@compiled
def interpolated(t, out, run):
    """Write the unknowns at a time within the last step; DASPK refuses times before its initial time, so that is the start of the step."""
    d, e = run.solver, run.equations
    d.inside_s[0] = d.before
    d.inside_y[:] = d.y
    d.inside_yd[:] = d.yd
    d.info[2], d.to[0] = 0, min(e.guard.direction * (t - e.t0), d.rwork[3])
    code = call(d.inside_s, d.inside_y, d.inside_yd, run)
    y = in_order(d.inside_y, out, e)
    if e.order.shape[0] == 0:
        out[:] = y
    return code


MARCH = loop(take_step, unknowns, interpolated)


# callbacks -------------------------------------------------------------------------------------------------------------------


def _residual(at_n, at_s, at_y, at_yd, at_c, at_out, at_flag, equations, unused):
    e = equations
    if e.guard.fatal != NO_FAULT:
        whole(at_flag)[0] = ENDS
        return GOOD
    t, y, yd = time_of(vector(at_s, 1)[0], e), in_order(vector(at_y, e.n), e.y, e), rate_of(vector(at_yd, e.n), e)
    result = vector(at_out, e.n)
    out = result if e.order.shape[0] == 0 else e.out
    follow_null_space(t, y, e)
    code = judged(t, kernel(t, y, yd, out, *e.arguments), y, yd, e.guard)  # noqa: F821  # a name given by `with_kernel`
    if code == FATAL:
        whole(at_flag)[0] = ENDS
    elif code != GOOD:
        replace(out)
    for k in range(e.order.shape[0]):
        result[k] = out[e.order[k]]
    return GOOD


def _jacobian(at_n, at_s, at_y, at_yd, at_matrix, at_c, equations, unused):
    """Into a matrix that is zero."""
    e, derivatives = equations, structure_at(equations.derivatives, DERIVATIVES)  # noqa: F821
    t, y, yd = time_of(vector(at_s, 1)[0], e), in_order(vector(at_y, e.n), e.y, e), rate_of(vector(at_yd, e.n), e)
    values, places = derivatives.values, derivatives.places
    e.guard.jacobians += 1
    follow_null_space(t, y, e)
    factors = (1.0, e.guard.direction * vector(at_c, 1)[0])
    derivative(t, y, yd, factors, derivatives.sweep, derivatives.scratch, values, derivatives.arguments)  # noqa: F821
    if are_finite(t, values, e.guard):
        matrix = vector(at_matrix, derivatives.size)
        for k in range(values.shape[0]):
            matrix[places[k]] = values[k]
    return GOOD


def residual_address(kernel: Any, equations: Any) -> int:
    """Of the callback `RES(NEQ, T, Y, YPRIME, CJ, DELTA, IRES, RPAR, IPAR)` around `Problem.kernel`."""
    return address(with_kernel(_residual, kernel), (_i,) * 7 + (equations._numba_type_, _i))


def jacobian_address(derivative: Any, equations: Any, derivatives: Any) -> int:
    """Of the callback `JAC(NEQ, T, Y, YPRIME, PD, CJ, RPAR, IPAR)` around `Problem.derivative`."""
    callback = with_derivative(_jacobian, derivative, derivatives._numba_type_)
    return address(callback, (_i,) * 6 + (equations._numba_type_, _i))
