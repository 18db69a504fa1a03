"""Compiled callbacks of RADAU5 in Assimulo for `F(t, y, yd) = 0`.

Its unknowns are `x = (y, z)`, and the equations `yd = z`, `0 = F(t, y, z)`. In this version `IPAR` is the flag of the callbacks; behind it
is the address of the `March`.
"""

from typing import Any

from numba import types

from mbdae.compilation.compiled import compiled
from mbdae.driver.callbacks import FATAL, GOOD, RECOVERABLE

from ..direct.guard import EQUATIONS, NO_FAULT, address, follow_null_space, judged, with_kernel
from .records import is_quotient, rate_of, replace, time_of, vector, whole

ENDS = -2  # value of the flag with which RADAU5 ends
WORD = 8  # bytes

_i = types.int64


@compiled
def halves(at, n):
    """The first and the second `n` real numbers at an address."""
    return vector(at, n), vector(at + WORD * n, n)


def _rhs(at_n, at_s, at_x, at_out, equations, at_flagged):
    """`(z, F(t, y, z))`."""
    e, s = equations, vector(at_s, 1)[0]
    (y, z), (rates, residual) = halves(at_x, e.n), halves(at_out, e.n)
    code = FATAL
    if e.guard.fatal == NO_FAULT:
        t, yd = time_of(s, e), rate_of(z, e)
        follow_null_space(t, y, e)
        code = judged(t, kernel(t, y, yd, residual, *e.arguments), y, yd, e.guard)  # noqa: F821  # a name given by `with_kernel`
        if is_quotient(s, y, z, e.tried) and code == RECOVERABLE:
            e.guard.fatal, code = EQUATIONS, FATAL
    rates[:] = z
    if code == FATAL:
        residual[:] = z  # as Assimulo, where the flag is not looked at
    elif code != GOOD:
        replace(residual)
    whole(at_flagged)[0] = ENDS if code == FATAL else GOOD
    return GOOD


def _mass(at_n, at_matrix, at_rows, equations, at_flagged):
    """The diagonal of the lower part of the matrix before the derivatives."""
    vector(at_matrix, equations.n)[:] = 0.0
    return GOOD


def rhs_address(kernel: Any, equations: Any) -> int:
    """Of the callback `FCN(N, X, Y, F, RPAR, IPAR)` around `Problem.kernel`."""
    return address(with_kernel(_rhs, kernel), (_i,) * 4 + (equations._numba_type_, _i))


def mass_address(kernel: Any, equations: Any) -> int:
    """Of the callback `MAS(N, AM, LMAS, RPAR, IPAR)`."""
    return address(with_kernel(_mass, kernel), (_i,) * 3 + (equations._numba_type_, _i))
