"""Compiled callback of ODASSL in Assimulo, and its loop over the steps.

The callback of this version has two arguments more than that of the original, the numbers of equations and unknowns.

Its unknowns are shifted away from zero; `IPAR` is the address of the shifts. It has no dense output: within a step the cubic Hermite
polynomial of the unknowns and their rates is used.
"""

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from mbdae.compilation.compiled import compiled
from mbdae.compilation.foreign import foreign
from mbdae.compilation.structure import Structure
from mbdae.driver.callbacks import FATAL, GOOD, RECOVERABLE
from mbdae.typing import Vector

from ..direct.guard import EQUATIONS, NO_FAULT, address, follow_null_space, judged, with_kernel
from ..direct.march import loop
from .records import ROUNDING, address_of, cubics, is_quotient, rate_of, replace, time_of, vector, whole

ENDS = -2  # value of `IRES` with which ODASSL ends at once

_i = types.int64


class Solver(Structure):
    """ODASSL with its arrays, as its class in Assimulo sets them up."""

    routine: int  # addresses
    residual: int
    m: Any  # numbers of equations and unknowns; of 32-bit integers, as all arrays of type Any
    n: Any
    s: Vector  # its clock
    y: Vector
    yd: Vector
    to: Vector  # the end of the run
    info: Any
    rtol: Vector
    atol: Vector
    flag: Any
    rwork: Vector
    lrw: Any
    iwork: Any
    liw: Any
    offset: Vector  # shift of its unknowns
    state: Vector  # the unknowns of the problem at the end of the last step
    before: float  # clock, unknowns and rates at its start
    before_state: Vector
    before_yd: Vector
    bad: int  # evaluations that were not finite until the last step that has moved time


@intrinsic
def call_routine(typingctx, at, res, m, n, t, y, yd, to, info, rtol, atol, flag, rwork, lrw, iwork, liw, rpar, ipar, jac):
    """`ODASSL(RES, NEQ, NY, T, Y, YPRIME, TOUT, INFO, RTOL, ATOL, IDID, RWORK, LRW, IWORK, LIW, RPAR, IPAR, JAC)`, all addresses."""
    return foreign(types.void, (_i,) * 18)(typingctx, at, res, m, n, t, y, yd, to, info, rtol, atol, flag, rwork, lrw, iwork, liw, rpar,
                                           ipar, jac)


@compiled
def take_step(run):
    """One step; the flag of ODASSL, and the time that it has reached. It steps beyond the end, and interpolates there."""
    d = run.solver
    d.before = d.s[0]
    d.before_state[:] = d.state
    d.before_yd[:] = d.yd
    call_routine(d.routine, d.residual, d.m.ctypes.data, d.n.ctypes.data, d.s.ctypes.data, d.y.ctypes.data, d.yd.ctypes.data,
                 d.to.ctypes.data, d.info.ctypes.data, d.rtol.ctypes.data, d.atol.ctypes.data, d.flag.ctypes.data, d.rwork.ctypes.data,
                 d.lrw.ctypes.data, d.iwork.ctypes.data, d.liw.ctypes.data, address_of(run.equations), d.offset.ctypes.data, 0)
    for k in range(d.y.shape[0]):
        d.state[k] = d.y[k] - d.offset[k]
    if d.s[0] - d.before > ROUNDING * d.s[0]:
        d.bad = run.equations.guard.bad
    return np.int64(d.flag[0]), run.t_end if d.s[0] >= d.to[0] else time_of(d.s[0], run.equations)


@compiled
def unknowns(run):
    """Those at the end of the last step."""
    return run.solver.state


@compiled
def interpolated(t, out, run):
    """Write the unknowns at a time within the last step."""
    d, e = run.solver, run.equations
    cubics(e.guard.direction * (t - e.t0), (d.before, d.s[0]), (d.before_state, d.before_yd), (d.state, d.yd), out)
    return 0


MARCH = loop(take_step, unknowns, interpolated)


def _residual(at_s, at_m, at_n, at_y, at_yd, at_out, at_flag, equations, at_offset):
    e = equations
    if e.guard.fatal != NO_FAULT:
        whole(at_flag)[0] = ENDS
        return GOOD
    shifted, offset, y = vector(at_y, e.n), vector(at_offset, e.n), e.y
    for k in range(e.n):
        y[k] = shifted[k] - offset[k]
    s = vector(at_s, 1)[0]
    t, yd, out = time_of(s, e), rate_of(vector(at_yd, e.n), e), vector(at_out, e.m)
    follow_null_space(t, y, e)
    code = judged(t, kernel(t, y, yd, out, *e.arguments), y, yd, e.guard)  # noqa: F821  # a name given by `with_kernel`
    if is_quotient(s, y, yd, e.tried) and code == RECOVERABLE:
        e.guard.fatal, code = EQUATIONS, FATAL
    if code == FATAL:
        whole(at_flag)[0] = ENDS
    elif code != GOOD:
        replace(out)
    return GOOD


def residual_address(kernel: Any, equations: Any) -> int:
    """Of the callback `RES(T, NEQ, NY, Y, YPRIME, DELTA, IRES, RPAR, IPAR)` around `Problem.kernel`."""
    return address(with_kernel(_residual, kernel), (_i,) * 7 + (equations._numba_type_, _i))
