"""Codes that run to the end of the time span and call back after each step: RADAU, RODAS, RADAU5, DOPRI5, GLIMDA.

`RPAR` of their callbacks is the address of the `Equations`, `IPAR` that of the `March`, or of a flag with that behind it.
"""

from functools import cache
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from mbdae.compilation.compiled import compiled, compiled_with
from mbdae.compilation.foreign import foreign
from mbdae.compilation.structure import Structure, structure_at
from mbdae.driver.callbacks import GOOD
from mbdae.typing import Vector

from ..direct.guard import NO_FAULT, address
from ..direct.march import FAILED, GOES_ON, after_step
from .records import ROUNDING, behind, time_of, vector, whole

STOP = -1  # value of `IRTRN` with which the codes end

_i = types.int64


class Steps(Structure):
    """What the callbacks need besides the equations."""

    visit: int  # address of a function in Python that takes output, and returns whether the run is to end
    each: int  # address of one that is called after each step, or zero
    flag: Any  # set by an interrupt
    begin: float  # its clock at the start of the run
    end: float
    before: float  # its clock at the start and at the end of the last step
    s: float
    y: Vector  # the unknowns at the end of the last step
    code: int  # why Python is visited
    bad: int  # evaluations that were not finite until the last step that has moved time


class Solver(Steps):
    """The same for codes that have the polynomial of the last step."""

    dense: int  # address of the routine for dense output
    cont: int  # addresses of the polynomial, and of the arguments behind it: one or, if `last` is not zero, two
    length: int
    last: int
    at: Vector  # arguments of the routine for dense output
    component: Any


@intrinsic
def call_dense(typingctx, at, component, s, cont, length):
    """`CONTRA(I, X, CONT, LRC)`, all addresses."""
    return foreign(types.float64, (_i,) * 4)(typingctx, at, component, s, cont, length)


@intrinsic
def call_dense_of(typingctx, at, component, s, cont, components, count):
    """`CONTD5(I, X, CONT, ICOMP, ND)`, all addresses."""
    return foreign(types.float64, (_i,) * 5)(typingctx, at, component, s, cont, components, count)


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
        component, s = d.component.ctypes.data, d.at.ctypes.data
        if d.last == 0:
            out[k] = call_dense(d.dense, component, s, d.cont, d.length)
        else:
            out[k] = call_dense_of(d.dense, component, s, d.cont, d.length, d.last)
    return 0


def _finished(y, run):
    d = run.solver
    d.y[:] = y
    if d.each != 0:
        return call_visit(d.each) != 0
    t = run.t_end if d.end - d.s <= 1e-14 * (d.end - d.begin) else time_of(d.s, run.equations)
    d.code = step_taken(t, y, d.flag, run)  # noqa: F821  # a name given by `finish_with`, as one below
    while d.code != GOES_ON or run.stored == run.rows_t.shape[0]:
        if call_visit(d.visit) != 0:
            return True
        d.code = GOES_ON if run.by_steps != 0 or store_times(run.t, y, run) else FAILED  # noqa: F821
    return run.forward * (run.t_end - run.t) <= 0.0  # a remaining step would be too short


def finish_with(interpolated: Any) -> Any:
    """`finished(y, run)`: output after a step, with visits of Python where they are needed; whether the run is to end.

    Parameters
    ----------
    interpolated : compiled function
        As for `after_step`.
    """
    return compiled_with(_finished, interpolated, **after_step(interpolated)._asdict())


@compiled
def note_step(before, s, run):
    """Note the clock at the start and at the end of a step."""
    d = run.solver
    d.before, d.s = before, s
    if s - before > ROUNDING * s:
        d.bad = run.equations.guard.bad


finished = finish_with(interpolated)


@compiled
def step_ended(at_before, at_s, at_y, cont, length, last, run, at_flag):
    """What the callbacks of the codes with a polynomial do after a step; the codes call them at the start, too."""
    d, y = run.solver, vector(at_y, run.equations.n)
    note_step(vector(at_before, 1)[0], vector(at_s, 1)[0], run)
    d.cont, d.length, d.last = cont, length, last
    if run.equations.guard.fatal != NO_FAULT or (d.s > d.before and finished(y, run)):
        whole(at_flag)[0] = STOP
    if run.usual != np.inf:
        run.before_y[:] = y


# callbacks `SOLOUT` ----------------------------------------------------------------------------------------------------------


def _after_step(at_number, at_before, at_s, at_y, cont, length, at_n, equations, at_march, at_flag):
    step_ended(at_before, at_s, at_y, cont, length, 0, structure_at(at_march, MARCH), at_flag)  # noqa: F821  # given by `compiled_with`
    return GOOD


def _after_step_with_error(at_number, at_before, at_s, at_y, cont, at_error, length, at_n, equations, at_flagged, at_flag):
    step_ended(at_before, at_s, at_y, cont, length, 0, structure_at(behind(at_flagged), MARCH), at_flag)  # noqa: F821
    return GOOD


def _after_explicit_step(at_number, at_before, at_s, at_y, at_n, cont, components, count, equations, at_march, at_flag):
    step_ended(at_before, at_s, at_y, cont, components, count, structure_at(at_march, MARCH), at_flag)  # noqa: F821
    return GOOD


def after_step_address(equations: Any, march: Any) -> int:
    """Of the callback `SOLOUT(NR, XOLD, X, Y, CONT, LRC, N, RPAR, IPAR, IRTRN)` of RADAU and RODAS."""
    return address(of_march(_after_step, march._numba_type_), (_i,) * 7 + (equations._numba_type_, _i, _i))


def after_step_with_error_address(equations: Any, march: Any) -> int:
    """Of the callback `SOLOUT(NR, XOLD, X, Y, CONT, WERR, LRC, N, RPAR, IPAR, IRTRN)` of RADAU5 in Assimulo."""
    return address(of_march(_after_step_with_error, march._numba_type_), (_i,) * 8 + (equations._numba_type_, _i, _i))


def after_explicit_step_address(equations: Any, march: Any) -> int:
    """Of the callback `SOLOUT(NR, XOLD, X, Y, N, CONT, ICOMP, ND, RPAR, IPAR, IRTRN)` of DOPRI5."""
    return address(of_march(_after_explicit_step, march._numba_type_), (_i,) * 8 + (equations._numba_type_, _i, _i))


@cache
def of_march(callback: Any, kind: types.Type) -> Any:
    """A callback that takes the address of a `March` of this type, its name `MARCH`."""
    return compiled_with(callback, finished, MARCH=kind)


@cache
def of_kernel_and_march(callback: Any, kernel: Any, kind: types.Type) -> Any:
    """The same for a callback for the kernel of a class of problems, its name `kernel`."""
    return compiled_with(callback, kernel, kernel=kernel, MARCH=kind)
