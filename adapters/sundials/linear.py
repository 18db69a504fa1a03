"""Compiled callbacks of a linear solver of SUNDIALS: factors of mbdae for the values that the callback for the Jacobian has left.

The `content` of the linear solver, its first word, is the address of an `OwnSolver`.
"""

import numpy as np
from numba import carray, types

from mbdae.compilation.compiled import by_address, compiled
from mbdae.compilation.foreign import pointer
from mbdae.compilation.structure import Structure, StructureType, structure_at
from mbdae.system.codes import GOOD
from mbdae.system.static_lu import FACTORS, StaticFactors, factorise, solve
from mbdae.typing import Vector

from .callbacks import vector

SINGULAR = 1  # what `setup` returns: a failure, but not for good

_i, _d, _x = types.int64, types.float64, types.float64[::1]


class OwnSolver(Structure):
    """What the callbacks of the linear solver need."""

    n: int
    vector_data: int  # address of a function of SUNDIALS
    values: Vector  # of the matrix, in the order of the pattern
    factors: StaticFactors


SOLVER_FIELDS = (("n", _i), ("vector_data", _i), ("values", _x), ("factors", FACTORS))
_SOLVER = StructureType("OwnSolver", SOLVER_FIELDS)


@compiled
def _own(linear):
    """The content of a linear solver: its first word."""
    return structure_at(carray(pointer(linear), (1,), np.int64)[0], _SOLVER)


@compiled
def _setup(linear, matrix):
    """`int setup(SUNLinearSolver, SUNMatrix)`"""
    own = _own(linear)
    return 0 if factorise(own.values, own.factors) == GOOD else SINGULAR


@compiled
def _solve(linear, matrix, x, b, tolerance):
    """`int solve(SUNLinearSolver, SUNMatrix, N_Vector, N_Vector, double)`"""
    own = _own(linear)
    solve(own.factors, vector(b, own.n, own), vector(x, own.n, own))
    return 0


SETUP, SOLVE = by_address(_setup, _i(_i, _i)), by_address(_solve, _i(_i, _i, _i, _i, _d))
