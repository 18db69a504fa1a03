"""A problem for the callbacks of Fortran codes, which pass all arguments by their addresses."""

import numpy as np
from numba import carray, types
from numba.extending import intrinsic

from mbdae.compilation.compiled import compiled
from mbdae.compilation.foreign import pointer
from mbdae.driver.callbacks import FATAL, GOOD, HUGE
from mbdae.integrators.control.hermite import cubic
from mbdae.system.vectors import is_finite
from mbdae.typing import Integers, Vector

from ..direct import guard

ROUNDING = 4e-16  # of the clock, relative to it


class Equations(guard.Equations):
    """A problem on the clock of a solver, which shows zero at `t0`; `t = t0 + direction * s`."""

    t0: float
    order: Integers  # `y[order]` are the unknowns of the solver; empty where it has those of the problem
    y: Vector  # in the order of the problem, on the clock of the problem
    yd: Vector
    out: Vector
    tried: Vector  # clock, unknowns and rates of the last evaluation, of codes with difference quotients of their own


class Derivatives(guard.Derivatives):
    """What the exact Jacobian needs besides."""

    size: int  # entries of the matrix of the solver


@intrinsic
def address_of(typingctx, structure):
    """Of the memory of a structure."""
    def codegen(context, builder, signature, args):
        return builder.ptrtoint(args[0], context.get_value_type(types.int64))

    return types.int64(structure), codegen


@compiled
def vector(at, n):
    """`n` real numbers at an address."""
    return carray(pointer(at), (n,), np.float64)


@compiled
def whole(at):
    """An integer of Fortran at an address, as an array of one."""
    return carray(pointer(at), (1,), np.int32)


@compiled
def behind(at):
    """The address in the second word of what is at an address."""
    return carray(pointer(at), (2,), np.int64)[1]


@compiled
def time_of(s, equations):
    """Time of the problem when the clock of the solver shows `s`."""
    return equations.t0 + equations.guard.direction * s


@compiled
def in_order(x, to, equations):
    """The unknowns of the solver in the order of the problem: themselves, or copied to `to`."""
    order = equations.order
    if order.shape[0] == 0:
        return x
    for k in range(order.shape[0]):
        to[order[k]] = x[k]
    return to


@compiled
def rate_of(x, equations):
    """The derivatives of the solver in the order of the problem and on its clock."""
    e = equations
    y = in_order(x, e.yd, e)
    if e.guard.direction > 0.0:
        return y
    for k in range(e.n):
        e.yd[k] = -y[k]
    return e.yd


@compiled
def is_quotient(s, y, yd, tried):
    """Whether an evaluation is one for a difference quotient: at most two unknowns, or their rates, differ from those of the one before.

    The arguments are noted. Codes that do not look at the values of their quotients take a huge one for a derivative. Its unknown then
    stays where it is, which passes all tests, or their steps become tiny.
    """
    n, others = y.shape[0], 0
    for k in range(n):
        others += 1 if y[k] != tried[1 + k] or yd[k] != tried[1 + n + k] else 0
        tried[1 + k], tried[1 + n + k] = y[k], yd[k]
    is_near = s == tried[0] and others <= 2
    tried[0] = s
    return is_near


@compiled
def replace(out):
    """Huge values for those that are not finite: Newton's method diverges, and the solver cuts the step."""
    for k in range(out.shape[0]):
        if not is_finite(out[k]):
            out[k] = HUGE


@compiled
def as_rates(out, code, factor):
    """What a callback for a right-hand side writes after an evaluation: `factor out`, or zeros when the run is to end."""
    if code == FATAL:
        out[:] = 0.0
    elif code != GOOD:
        replace(out)
    for k in range(out.shape[0]):
        out[k] *= factor


@compiled
def cubics(s, span, start, end, out):
    """Cubic Hermite polynomials of the unknowns at `s` of the clock in `span`, with the unknowns and rates at its `start` and `end`."""
    (y0, rate0), (y1, rate1), h = start, end, span[1] - span[0]
    theta = (min(max(s, span[0]), span[1]) - span[0]) / h
    for k in range(out.shape[0]):
        out[k] = cubic(theta, h, y0[k], y1[k], rate0[k], rate1[k])
