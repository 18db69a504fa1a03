"""Newton's matrix of CVODE for the underlying ODE, by the index-1 equations of the same mechanism.

The right-hand side `f` of `y' = f(t, y)` with `y = (q, v)` is given by the index-1 equations `F(t, (y, lam), y') = 0`. Their derivative
along `y`, with `F_lam dlam` for the multipliers, is `F_y dy + F_lam dlam + F_yd df = 0`. For the solution `x` of

    (I - gamma f_y) x = b,    c = 1 / gamma,

`df = f_y x = c (x - b)`, so that `x` is the first part of the solution of

    (F_y + c F_yd) x + F_lam dlam = c F_yd b.

The matrix on the left is that of IDA for the index-1 form, sparse where `I - gamma f_y` is full.
"""

from functools import cache
from typing import Any

import numpy as np
from numba import carray, types

from mbdae.compilation.compiled import by_address, compiled, compiled_with
from mbdae.compilation.foreign import pointer
from mbdae.compilation.structure import Structure, StructureType, structure_at
from mbdae.driver.callbacks import FATAL, GOOD
from mbdae.system.static_lu import solve as solve_factorised
from mbdae.system.vectors import fill, is_finite
from mbdae.typing import Integers, Vector

from ..direct.guard import JACOBIAN
from .callbacks import Equations, vector
from .linear import SOLVER_FIELDS, OwnSolver

_i, _d, _x, _n = types.int64, types.float64, types.float64[::1], types.int64[::1]


class Rates(Structure):
    """`F_yd` of the index-1 form by columns, and what the product `c F_yd b` needs.

    Attributes
    ----------
    c : float
    values : ndarray
        In the order of the pattern.
    indices, indptr : ndarray of int
        Of the pattern.
    x : ndarray
        Right-hand side and solution of the index-1 form.
    """

    c: float
    values: Vector
    indices: Integers
    indptr: Integers
    x: Vector


RATES = StructureType("Rates", (("c", _d), ("values", _x), ("indices", _n), ("indptr", _n), ("x", _x)))


class OdeSolver(OwnSolver):
    """What the callbacks of the linear solver need; the first fields are those that `setup` reads."""

    rates: Rates


_SOLVER = StructureType("OdeSolver", (*SOLVER_FIELDS, ("rates", RATES)))


class OdeDerivatives(Structure):
    """What the callback for Newton's matrix needs."""

    sweep: Any
    scratch: Any
    arguments: Any  # of the kernel of the index-1 form for complex numbers
    model: Any  # of the index-1 form
    work: Vector
    follow: Any  # see `NullVectors`
    redundant: Integers
    at: Vector
    drifts: int
    weight: float
    lam: Vector  # multipliers of the last right-hand side
    y: Vector  # of the index-1 form
    yd: Vector
    out: Vector
    dependence: Vector  # `F_y` by all unknowns, in the order of the pattern
    values: Vector  # `F_y + c F_yd`
    rates: Rates


@compiled
def _form(gamma, d):
    """`F_y + F_yd / gamma`."""
    d.rates.c = 1.0 / gamma
    for k in range(d.values.shape[0]):
        d.values[k] = d.dependence[k] + d.rates.values[k] / gamma


def _newton_matrix(t, yy, fy, matrix, jacobian_is_good, jacobian_is_new, gamma, equations, scratch1, scratch2, scratch3):
    """`int f(double, N_Vector, N_Vector, SUNMatrix, int, int *, double, void *, N_Vector, N_Vector, N_Vector)`"""
    d = structure_at(equations.derivatives, DERIVATIVES)  # noqa: F821  # a name given by `compiled_with`
    is_new = carray(pointer(jacobian_is_new), (1,), np.int32)
    is_new[0] = 0
    if jacobian_is_good == 0:
        is_new[0] = 1
        equations.guard.jacobians += 1
        y = vector(yy, equations.n, equations)
        kernel(t, y, d.out, *equations.arguments)  # noqa: F821  # the multipliers
        for k in range(equations.n):
            d.y[k], d.yd[k] = y[k], d.out[k]
        for k in range(d.lam.shape[0]):
            d.y[equations.n + k] = d.lam[k]
        if d.redundant.shape[0] > 0:
            d.follow(t, d.y, d.redundant, d.at, d.drifts, d.weight, d.model, d.work)
        derivative(t, d.y, d.yd, (1.0, 0.0), d.sweep, d.scratch, d.dependence, d.arguments)  # noqa: F821
        derivative(t, d.y, d.yd, (0.0, 1.0), d.sweep, d.scratch, d.rates.values, d.arguments)  # noqa: F821
    _form(gamma, d)
    for k in range(d.values.shape[0]):
        if not is_finite(d.values[k]):
            equations.guard.fatal, equations.guard.t = JACOBIAN, t
            return FATAL
    return GOOD


def matrix_address(kernel: Any, derivative: Any, equations: Equations, derivatives: OdeDerivatives) -> int:
    """Of the callback around `Explicit.kernel` and the `derivative` of the index-1 form."""
    return _address(kernel, derivative, equations._numba_type_, derivatives._numba_type_)


@cache
def _address(kernel: Any, derivative: Any, equations: StructureType, derivatives: StructureType) -> int:
    function = compiled_with(_newton_matrix, derivative, kernel=kernel, derivative=derivative, DERIVATIVES=derivatives)
    signature = types.int64(_d, _i, _i, _i, types.int32, _i, _d, equations, _i, _i, _i)
    address: int = by_address(function, signature).__wrapper_address__()
    return address


@compiled
def _solve(linear, matrix, x, b, tolerance):
    """`int solve(SUNLinearSolver, SUNMatrix, N_Vector, N_Vector, double)`"""
    own = structure_at(carray(pointer(linear), (1,), np.int64)[0], _SOLVER)
    rates, right = own.rates, vector(b, own.n, own)
    # c F_yd b
    fill(rates.x, 0.0)
    for j in range(own.n):
        s = rates.c * right[j]
        for k in range(rates.indptr[j], rates.indptr[j + 1]):
            rates.x[rates.indices[k]] += rates.values[k] * s
    solve_factorised(own.factors, rates.x, rates.x)
    out = vector(x, own.n, own)
    for k in range(own.n):
        out[k] = rates.x[k]
    return 0


SOLVE = by_address(_solve, _i(_i, _i, _i, _i, _d))
