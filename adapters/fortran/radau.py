"""Compiled callbacks of RADAU in pyradau13: right-hand side, Jacobian and mass matrix."""

from typing import Any

from numba import types

from mbdae.compilation.compiled import compiled
from mbdae.compilation.structure import structure_at
from mbdae.driver.callbacks import FATAL, GOOD
from mbdae.typing import Vector

from ..direct.guard import NO_FAULT, address, are_finite, follow_null_space, judged, with_derivative, with_kernel
from . import after_steps
from .after_steps import of_march
from .records import as_rates, time_of, vector

_i = types.int64


class Solver(after_steps.Solver):
    """What the callbacks of RADAU need besides the equations."""

    mass: Vector  # the matrix before the derivatives, by columns


@compiled
def put(values, places, factor, matrix):
    """Write `factor values` to their places."""
    for k in range(values.shape[0]):
        matrix[places[k]] = factor * values[k]


def _rhs(at_n, at_s, at_y, at_out, equations, march):
    """`f(t, y) = -F(t, y, 0)` on the clock of the solver; zeros when the run is to end, which ends the step at once."""
    e = equations
    y, out = vector(at_y, e.n), vector(at_out, e.n)
    code = FATAL
    if e.guard.fatal == NO_FAULT:
        t = time_of(vector(at_s, 1)[0], e)
        follow_null_space(t, y, e)
        code = judged(t, kernel(t, y, e.yd, out, *e.arguments), y, e.yd, e.guard)  # noqa: F821  # a name given by `with_kernel`
    as_rates(out, code, -e.guard.direction)
    return GOOD


def _jacobian(at_n, at_s, at_y, at_matrix, at_rows, equations, march):
    e, derivatives = equations, structure_at(equations.derivatives, DERIVATIVES)  # noqa: F821
    t, y, matrix = time_of(vector(at_s, 1)[0], e), vector(at_y, e.n), vector(at_matrix, derivatives.size)
    values, places = derivatives.values, derivatives.places
    matrix[:] = 0.0
    if e.guard.fatal != NO_FAULT:
        return GOOD
    e.guard.jacobians += 1
    follow_null_space(t, y, e)
    derivative(t, y, e.yd, (1.0, 0.0), derivatives.sweep, derivatives.scratch, values, derivatives.arguments)  # noqa: F821
    if are_finite(t, values, e.guard):
        put(values, places, -e.guard.direction, matrix)
    return GOOD


def _mass(at_n, at_matrix, at_rows, equations, at_march):
    mass = structure_at(at_march, MARCH).solver.mass  # noqa: F821
    matrix = vector(at_matrix, mass.shape[0])
    for k in range(mass.shape[0]):
        matrix[k] = mass[k]
    return GOOD


def rhs_address(kernel: Any, equations: Any) -> int:
    """Of the callback `FCN(N, X, Y, F, RPAR, IPAR)` around `Problem.kernel`."""
    return address(with_kernel(_rhs, kernel), (_i,) * 4 + (equations._numba_type_, _i))


def jacobian_address(derivative: Any, equations: Any, derivatives: Any) -> int:
    """Of the callback `JAC(N, X, Y, DFY, LDFY, RPAR, IPAR)` around `Problem.derivative`."""
    callback = with_derivative(_jacobian, derivative, derivatives._numba_type_)
    return address(callback, (_i,) * 5 + (equations._numba_type_, _i))


def mass_address(equations: Any, march: Any) -> int:
    """Of the callback `MAS(N, AM, LMAS, RPAR, IPAR)`."""
    return address(of_march(_mass, march._numba_type_), (_i,) * 3 + (equations._numba_type_, _i))
