"""Compiled callbacks of SUNDIALS: residual, right-hand side and Jacobian of a problem, counted and guarded.

`user_data` of the solver is the address of an `Equations`. A callback is compiled once for each class of problems; all that is particular
to a mechanism is in its tables.
"""

from functools import cache
from typing import Any

import numpy as np
from numba import carray, types
from numba.extending import intrinsic

from mbdae.compilation.compiled import by_address, compiled, compiled_with
from mbdae.compilation.foreign import foreign, pointer
from mbdae.compilation.structure import Structure, structure_at
from mbdae.driver.callbacks import FATAL, GOOD, RECOVERABLE, TOLERATED, TOLERATED_AT_A_GAP, TOLERATED_IN_A_ROW
from mbdae.system.vectors import is_finite
from mbdae.typing import Integers, Vector

NO_FAULT, EQUATIONS, JACOBIAN = range(3)  # values of `Guard.fatal`


class Guard(Structure):
    """What has been evaluated, and where it was not finite."""

    calls: int  # evaluations of the equations
    jacobians: int
    bad: int  # evaluations that were not finite
    bad_in_a_row: int
    last_bad: int  # `calls` at the last one
    gap: float  # first time, in the direction of integration, at which they were not finite
    at_the_gap: int  # evaluations that were not finite since then
    direction: float
    fatal: int  # what ended the run
    t: float  # of the first evaluation of those in a row that were not finite
    y: Vector
    yd: Vector


class Equations(Structure):
    """A problem for the callbacks."""

    n: int
    m: int
    guard: Guard
    arguments: Any  # of the kernel, behind `out`
    model: Any
    work: Vector
    follow: Any  # to be called before an evaluation where constraints are redundant, see `NullVectors`
    redundant: Integers
    at: Vector
    drifts: int
    weight: float
    derivatives: int  # address of `Derivatives`, or zero
    vector_data: int  # addresses of functions of SUNDIALS
    matrix_data: int  # zero if the values of the Jacobian stay where they are
    index_values: int
    index_pointers: int


class Derivatives(Structure):
    """What the exact Jacobian needs besides."""

    sweep: Any
    scratch: Any
    arguments: Any  # of the kernel for complex numbers
    values: Vector
    places: Integers  # of the values in dense storage; empty for sparse storage
    indices: Integers  # of the sparse pattern
    indptr: Integers


_i, _d = types.int64, types.float64


@intrinsic
def call_pointer(typingctx, address, of):
    """`void *f(void *)`, addresses as integers."""
    return foreign(_i, (_i,))(typingctx, address, of)


@compiled
def vector(at, n, equations):
    """The entries of a vector of SUNDIALS."""
    return carray(pointer(call_pointer(equations.vector_data, at)), (n,), np.float64)


@compiled
def follow_null_space(t, y, equations):
    """`Problem.follow`."""
    e = equations
    if e.redundant.shape[0] > 0:
        e.follow(t, y, e.redundant, e.at, e.drifts, e.weight, e.model, e.work)


@compiled
def judged(t, finite, y, yd, guard):
    """What the callback returns after an evaluation: the solver cuts its step where the equations are not finite, up to a limit."""
    guard.calls += 1
    if finite:
        if guard.direction * t >= guard.gap:
            guard.gap, guard.at_the_gap = np.inf, 0
        return GOOD
    guard.bad += 1
    guard.bad_in_a_row = guard.bad_in_a_row + 1 if guard.last_bad == guard.calls - 1 else 1
    guard.last_bad = guard.calls
    if guard.bad_in_a_row == 1:  # the others in a row may be its consequences
        guard.t = t
        guard.y[:] = y
        guard.yd[:] = yd
    guard.gap = min(guard.gap, guard.direction * t)
    guard.at_the_gap += 1
    if guard.bad_in_a_row > TOLERATED_IN_A_ROW or guard.bad > TOLERATED or guard.at_the_gap > TOLERATED_AT_A_GAP:
        guard.fatal = EQUATIONS
        return FATAL
    return RECOVERABLE


def _residual(t, yy, yp, rr, equations):
    y, yd = vector(yy, equations.n, equations), vector(yp, equations.n, equations)
    follow_null_space(t, y, equations)
    finite = kernel(t, y, yd, vector(rr, equations.m, equations), *equations.arguments)  # noqa: F821  # a name given by `compiled_with`
    return judged(t, finite, y, yd, equations.guard)


def _rhs(t, yy, yp, equations):
    y, out = vector(yy, equations.n, equations), vector(yp, equations.n, equations)
    return judged(t, kernel(t, y, out, *equations.arguments), y, out, equations.guard)  # noqa: F821


def _jacobian(t, c, yy, yp, rr, J, equations, scratch1, scratch2, scratch3):
    derivatives = structure_at(equations.derivatives, DERIVATIVES)  # noqa: F821
    y, yd, values = vector(yy, equations.n, equations), vector(yp, equations.n, equations), derivatives.values
    equations.guard.jacobians += 1
    follow_null_space(t, y, equations)
    derivative(t, y, yd, (1.0, c), derivatives.sweep, derivatives.scratch, values, derivatives.arguments)  # noqa: F821
    for k in range(values.shape[0]):
        if not is_finite(values[k]):
            equations.guard.fatal, equations.guard.t = JACOBIAN, t
            return FATAL
    _store(derivatives, equations, J)
    return GOOD


@compiled
def _store(derivatives, equations, J):
    """Write the values into a matrix of SUNDIALS, which is zero."""
    if equations.matrix_data == 0:
        return
    values, places = derivatives.values, derivatives.places
    data = call_pointer(equations.matrix_data, J)
    if places.shape[0] > 0:
        entries = carray(pointer(data), (equations.m * equations.n,), np.float64)
        for k in range(values.shape[0]):
            entries[places[k]] = values[k]
        return
    entries, indices, indptr = carray(pointer(data), values.shape, np.float64), derivatives.indices, derivatives.indptr
    rows = carray(pointer(call_pointer(equations.index_values, J)), indices.shape, indices.dtype)
    columns = carray(pointer(call_pointer(equations.index_pointers, J)), indptr.shape, indptr.dtype)
    for k in range(values.shape[0]):
        entries[k], rows[k] = values[k], indices[k]
    for k in range(indptr.shape[0]):
        columns[k] = indptr[k]


def residual_address(kernel: Any, equations: Equations) -> int:
    """Of the callback `int f(double t, N_Vector y, N_Vector yp, N_Vector out, void *)` around `Problem.kernel`."""
    return _address(_with_kernel(_residual, kernel), (_d, _i, _i, _i, equations._numba_type_))


def rhs_address(kernel: Any, equations: Equations) -> int:
    """Of the callback `int f(double t, N_Vector y, N_Vector out, void *)` around `Explicit.kernel`."""
    return _address(_with_kernel(_rhs, kernel), (_d, _i, _i, equations._numba_type_))


def jacobian_address(derivative: Any, equations: Equations, derivatives: Derivatives) -> int:
    """Of the callback for `F_y + c F_yp` around `Problem.derivative`."""
    callback = _with_derivative(derivative, derivatives._numba_type_)
    return _address(callback, (_d, _d, _i, _i, _i, _i, equations._numba_type_, _i, _i, _i))


@cache
def _with_kernel(callback: Any, kernel: Any) -> Any:
    return compiled_with(callback, kernel, kernel=kernel)


@cache
def _with_derivative(derivative: Any, kind: types.Type) -> Any:
    return compiled_with(_jacobian, derivative, derivative=derivative, DERIVATIVES=kind)


@cache
def _address(function: Any, arguments: tuple[Any, ...]) -> int:
    address: int = by_address(function, types.int64(*arguments)).__wrapper_address__()
    return address
