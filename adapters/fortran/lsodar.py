"""Compiled callback of LSODAR in Assimulo, and its loop over the steps."""

from typing import Any

from numba import types
from numba.extending import intrinsic

from mbdae.compilation.compiled import compiled
from mbdae.compilation.foreign import foreign
from mbdae.compilation.structure import structure_at
from mbdae.driver.callbacks import FATAL, GOOD

from ..direct.guard import NO_FAULT, address, judged
from ..direct.march import loop
from . import odepack
from .odepack import ONE_STEP, interpolated, result, unknowns, with_equations
from .records import ROUNDING, as_rates, behind, time_of, vector

_i = types.int64


class Solver(odepack.Solver):
    """LSODAR with its arrays, as its class in Assimulo sets them up."""

    rhs: int  # addresses
    jacobian: int
    roots: Any  # their number, zero, and what would be found of them
    bad: int  # evaluations that were not finite until the last step that has moved time


@intrinsic
def call_routine(typingctx, at, f, n, y, t, to, errors, rtol, atol, task, state, options, rwork, lrw, iwork, liw, jac, jt, g, ng, found):
    """`DLSODAR(F, NEQ, Y, T, TOUT, ITOL, RTOL, ATOL, ITASK, ISTATE, IOPT, RWORK, LRW, IWORK, LIW, JAC, JT, G, NG, JROOT)`, addresses."""
    return foreign(types.void, (_i,) * 20)(typingctx, at, f, n, y, t, to, errors, rtol, atol, task, state, options, rwork, lrw, iwork, liw,
                                           jac, jt, g, ng, found)


@compiled
def take_step(run):
    """One step; the state of LSODAR, and the time that it has reached."""
    d = run.solver
    d.before = d.s[0]
    d.task[0] = ONE_STEP
    roots = d.roots.ctypes.data
    call_routine(d.routine, d.rhs, d.n.ctypes.data, d.y.ctypes.data, d.s.ctypes.data, d.to.ctypes.data, d.errors.ctypes.data,
                 d.rtol.ctypes.data, d.atol.ctypes.data, d.task.ctypes.data, d.state.ctypes.data, d.options.ctypes.data,
                 d.rwork.ctypes.data, d.lrw.ctypes.data, d.iwork.ctypes.data, d.liw.ctypes.data, d.jacobian, d.formula.ctypes.data, 0,
                 roots, roots)
    if d.s[0] - d.before > ROUNDING * d.s[0]:
        d.bad = run.equations.guard.bad
    return result(run)


MARCH = loop(take_step, unknowns, interpolated)


def _rhs(at_n, at_s, at_y, at_out):
    """`f(t, y)` on the clock of the solver; zeros when the run is to end, with which the step ends."""
    e = structure_at(behind(at_n), EQUATIONS)  # noqa: F821  # a name given by `with_equations`
    y, out = vector(at_y, e.n), vector(at_out, e.n)
    code = FATAL
    if e.guard.fatal == NO_FAULT:
        t = time_of(vector(at_s, 1)[0], e)
        code = judged(t, kernel(t, y, out, *e.arguments), y, e.yd, e.guard)  # noqa: F821
    as_rates(out, code, e.guard.direction)
    return GOOD


def rhs_address(kernel: Any, equations: Any) -> int:
    """Of the callback `F(NEQ, T, Y, YDOT)` around `Explicit.kernel`."""
    return address(with_equations(_rhs, kernel, equations._numba_type_), (_i,) * 4)
