"""Compiled callbacks of RODAS and DOPRI5 in Assimulo: right-hand sides of `yd = f(t, y)`."""

from typing import Any

import numpy as np
from numba import types

from mbdae.compilation.compiled import compiled
from mbdae.compilation.structure import structure_at
from mbdae.driver.callbacks import FATAL, GOOD

from ..direct.guard import EQUATIONS, NO_FAULT, address, judged, with_kernel
from . import after_steps
from .after_steps import of_kernel_and_march
from .records import as_rates, time_of, vector

LARGEST = 1e100  # rates at the start whose squares, relative to the tolerances, are numbers

_i = types.int64


class DopriSolver(after_steps.Solver):
    """What the callbacks of DOPRI5 need besides the equations."""

    guesses: int  # whether it guesses its first step, by the second evaluation


@compiled
def largest(x):
    """The largest magnitude."""
    found = 0.0
    for k in range(x.shape[0]):
        found = max(found, abs(x[k]))
    return found


def _rhs(at_n, at_s, at_y, at_out, equations, march):
    """`f(t, y)` on the clock of the solver; zeros when the run is to end, which ends the step at once."""
    e = equations
    y, out = vector(at_y, e.n), vector(at_out, e.n)
    code = FATAL
    if e.guard.fatal == NO_FAULT:
        t = time_of(vector(at_s, 1)[0], e)
        code = judged(t, kernel(t, y, out, *e.arguments), y, e.yd, e.guard)  # noqa: F821  # a name given by `with_kernel`
    as_rates(out, code, e.guard.direction)
    return GOOD


def _rhs_of_dopri(at_n, at_s, at_y, at_out, equations, at_march):
    """The same, but NaN where it is not finite: relative to huge states an error may pass the test of DOPRI5."""
    e = equations
    y, out = vector(at_y, e.n), vector(at_out, e.n)
    code = FATAL
    if e.guard.fatal == NO_FAULT:
        t = time_of(vector(at_s, 1)[0], e)
        code = judged(t, kernel(t, y, out, *e.arguments), y, e.yd, e.guard)  # noqa: F821
        if e.guard.calls == 1 and (code != GOOD or largest(out) > LARGEST):  # the first step would be NaN, and repeated for ever
            e.guard.fatal, code = EQUATIONS, FATAL
    guessing = e.guard.calls == 2 and structure_at(at_march, MARCH).solver.guesses != 0  # noqa: F821
    if code != GOOD and code != FATAL and not guessing:
        out[:] = np.nan
        return GOOD
    as_rates(out, code, e.guard.direction)
    return GOOD


def rhs_address(kernel: Any, equations: Any) -> int:
    """Of the callback `FCN(N, X, Y, F, RPAR, IPAR)` of RODAS around `Explicit.kernel`."""
    return address(with_kernel(_rhs, kernel), (_i,) * 4 + (equations._numba_type_, _i))


def rhs_of_dopri_address(kernel: Any, equations: Any, march: Any) -> int:
    """Of the callback `FCN(N, X, Y, F, RPAR, IPAR)` of DOPRI5 around `Explicit.kernel`."""
    return address(of_kernel_and_march(_rhs_of_dopri, kernel, march._numba_type_), (_i,) * 4 + (equations._numba_type_, _i))
