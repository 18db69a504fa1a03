"""Compiled callbacks of GLIMDA in Assimulo for `F(t, y, yd) = 0`.

It has no dense output: within a step the cubic Hermite polynomial of the unknowns and their rates is used. The callback after a step has
no `IPAR`, but gets the number of unknowns, behind which is the address of the `March`. It cannot end a run: after it the residual does.
"""

from typing import Any

import numpy as np
from numba import types

from mbdae.compilation.compiled import compiled
from mbdae.compilation.structure import structure_at
from mbdae.driver.callbacks import FATAL, GOOD, RECOVERABLE
from mbdae.typing import Vector

from ..direct.guard import EQUATIONS, NO_FAULT, address, follow_null_space, judged
from . import after_steps
from .after_steps import finish_with, note_step, of_kernel_and_march, of_march
from .records import behind, cubics, is_quotient, rate_of, replace, time_of, vector, whole

ENDS = -10  # value of `IERR` with which Newton's method has failed: after at most 16 shorter steps GLIMDA ends

_i = types.int64


class Solver(after_steps.Steps):
    """What the callbacks need besides the equations."""

    yd: Vector  # the rates at the end of the last step
    before_state: Vector  # unknowns and rates at its start
    before_yd: Vector
    stopped: int  # whether the run is to end
    refused: int  # calls of the residual since then


@compiled
def interpolated(t, out, run):
    """Write the unknowns at a time within the last step."""
    d, e = run.solver, run.equations
    cubics(e.guard.direction * (t - e.t0), (d.before, d.s), (d.before_state, d.before_yd), (d.y, d.yd), out)
    return 0


finished = finish_with(interpolated)


# callbacks -------------------------------------------------------------------------------------------------------------------


def _residual(at_m, at_n, at_yd, at_y, at_s, at_out, equations, at_march, at_error):
    e, s = equations, vector(at_s, 1)[0]
    y, out = vector(at_y, e.n), vector(at_out, e.n)
    code = FATAL
    d = structure_at(at_march, MARCH).solver  # noqa: F821  # a name given by `of_kernel_and_march`, as one below
    if e.guard.fatal == NO_FAULT and d.stopped == 0:
        t, yd = time_of(s, e), rate_of(vector(at_yd, e.n), e)
        follow_null_space(t, y, e)
        code = judged(t, kernel(t, y, yd, out, *e.arguments), y, yd, e.guard)  # noqa: F821
        if is_quotient(s, y, yd, e.tried) and code == RECOVERABLE:
            e.guard.fatal, code = EQUATIONS, FATAL
    if code == FATAL:
        d.refused += 1
        out[:] = 0.0
        whole(at_error)[0] = ENDS
    elif code != GOOD:
        replace(out)
    return GOOD


@compiled
def _differentiated(at_m, at_n, at_y, at_s, at_out, equations, at_march, at_error):
    """What the derivatives are those of: the unknowns themselves."""
    vector(at_out, equations.n)[:] = vector(at_y, equations.n)
    return GOOD


def _after_step(at_level, at_s, at_h, at_order, at_y, at_m, at_yd, at_n):
    run = structure_at(behind(at_m), MARCH)  # noqa: F821
    d, n = run.solver, run.equations.n
    y, yd = vector(at_y, n), vector(at_yd, n)
    d.before_state[:] = d.y
    d.before_yd[:] = d.yd
    d.yd[:] = yd
    note_step(d.s, vector(at_s, 1)[0], run)
    if run.equations.guard.fatal != NO_FAULT or finished(y, run):
        d.stopped = 1
    if run.usual != np.inf:
        run.before_y[:] = y
    return GOOD


def residual_address(kernel: Any, equations: Any, march: Any) -> int:
    """Of the callback `FEVL(M, N, QPRIME, XIN, T, FZXT, RPAR, IPAR, IERR)` around `Problem.kernel`."""
    callback = of_kernel_and_march(_residual, kernel, march._numba_type_)
    return address(callback, (_i,) * 6 + (equations._numba_type_, _i, _i))


def differentiated_address(equations: Any) -> int:
    """Of the callback `QEVL(M, N, XIN, T, Q, RPAR, IPAR, IERR)`."""
    return address(_differentiated, (_i,) * 5 + (equations._numba_type_, _i, _i))


def after_step_address(march: Any) -> int:
    """Of the callback `SOLOUT(PRTLEV, TPH, H, P, X, M, QP, N)`."""
    return address(of_march(_after_step, march._numba_type_), (_i,) * 8)
