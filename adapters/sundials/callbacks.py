"""Compiled callbacks of SUNDIALS: residual, right-hand side and Jacobian of a problem, counted and guarded.

`user_data` of the solver is the address of an `Equations`. A callback is compiled once for each class of problems; all that is particular
to a mechanism is in its tables.
"""

from typing import Any

import numpy as np
from numba import carray, types
from numba.extending import intrinsic

from mbdae.compilation.compiled import compiled
from mbdae.compilation.foreign import foreign, pointer
from mbdae.compilation.structure import structure_at
from mbdae.driver.callbacks import FATAL, GOOD
from mbdae.typing import Integers

from ..direct import guard
from ..direct.guard import address, are_finite, follow_null_space, judged, with_derivative, with_kernel


class Equations(guard.Equations):
    """A problem for the callbacks."""

    vector_data: int  # addresses of functions of SUNDIALS
    matrix_data: int  # zero if the values of the Jacobian stay where they are
    index_values: int
    index_pointers: int


class Derivatives(guard.Derivatives):
    """What the exact Jacobian needs besides."""

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
    if not are_finite(t, values, equations.guard):
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
    return address(with_kernel(_residual, kernel), (_d, _i, _i, _i, equations._numba_type_))


def rhs_address(kernel: Any, equations: Equations) -> int:
    """Of the callback `int f(double t, N_Vector y, N_Vector out, void *)` around `Explicit.kernel`."""
    return address(with_kernel(_rhs, kernel), (_d, _i, _i, equations._numba_type_))


def jacobian_address(derivative: Any, equations: Equations, derivatives: Derivatives) -> int:
    """Of the callback for `F_y + c F_yp` around `Problem.derivative`."""
    callback = with_derivative(_jacobian, derivative, derivatives._numba_type_)
    return address(callback, (_d, _d, _i, _i, _i, _i, equations._numba_type_, _i, _i, _i))

