"""The linear solver of mbdae for IDA: the iteration matrix, factorised in the order of bodies and joints, by compiled callbacks.

The callback for the Jacobian leaves the values in arrays of ours (see `Derivatives.values`), where `setup` factorises them; matrices of
SUNDIALS are not used but for one of a single entry, as IDA wants to have one. Its `content` is the address of an `OwnSolver`. As a
direct solver it has its corrections scaled by IDA where the leading coefficient has changed.

A matrix that is singular is a failure that SUNDIALS calls recoverable, as in its own solvers: IDA cuts the step.
"""

import ctypes
from typing import Any

import numpy as np
from numba import carray, types
from numba.core import config

from mbdae.compilation.compiled import by_address, compiled
from mbdae.compilation.foreign import pointer
from mbdae.compilation.structure import Structure, StructureType, structure_at
from mbdae.problems.base import Problem
from mbdae.problems.elimination import pivots, refusal
from mbdae.system.codes import GOOD
from mbdae.system.static_lu import FACTORS, StaticFactors, factorise, solve, static_factors
from mbdae.typing import Vector

from .callbacks import vector
from .library import LinearSolverLayout

OWN = "kkt"  # its name
SINGULAR = 1  # what `setup` returns: a failure, but not for good

_i, _d, _x = types.int64, types.float64, types.float64[::1]


class OwnSolver(Structure):
    """What the callbacks of the linear solver need."""

    n: int
    vector_data: int  # address of a function of SUNDIALS
    values: Vector  # of the matrix, in the order of the pattern
    factors: StaticFactors


_SOLVER = StructureType("OwnSolver", (("n", _i), ("vector_data", _i), ("values", _x), ("factors", FACTORS)))


def takes_own(problem: Problem, jacobian: Any) -> bool:
    """Whether a run in the C library can have it."""
    return problem.implicit and not refusal(problem.system) and not _differences(jacobian)


def _differences(jacobian: Any) -> bool:
    return isinstance(jacobian, str) and jacobian == "difference"


def check_own(owner: str, problem: Problem, backend: str, jacobian: Any) -> None:
    """Whether it was asked for where it can be had.

    Raises
    ------
    ValueError
        If there is no C library, no Jacobian, or no order of bodies and joints.
    """
    reason = refusal(problem.system)
    if reason:
        raise ValueError(f"{owner}: linsolver='kkt' eliminates bodies and joints of a mechanism in Cartesian coordinates, but for "
                         f"{problem.system.name!r} {reason}; linsolver='auto' takes it")
    if backend == "wrapper" or config.DISABLE_JIT:
        raise ValueError(f"{owner}: linsolver='kkt' needs the C library and compiled code, not backend='wrapper' or NUMBA_DISABLE_JIT=1; "
                         "linsolver='sparse' does without")
    if _differences(jacobian):
        raise ValueError(f"{owner}: linsolver='kkt' needs a Jacobian, which jacobian='exact' or 'grouped' evaluate; IDA's own differences "
                         "are for dense matrices")


def own_solver(problem: Problem, values: Vector, vector_data: int) -> OwnSolver:
    """Room for the factors of a problem, in the order of its `pivots`; `vector_data` is the address of `N_VGetArrayPointer`."""
    return OwnSolver(n=problem.n, vector_data=vector_data, values=values, factors=static_factors(problem.pattern, *pivots(problem)))


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
    solve(own.values, own.factors, vector(b, own.n, own), vector(x, own.n, own))
    return 0


_SETUP, _SOLVE = by_address(_setup, _i(_i, _i)), by_address(_solve, _i(_i, _i, _i, _i, _d))


def fill_in(linear: int, layout: LinearSolverLayout, solver: OwnSolver, gettype: int) -> None:
    """Make an empty linear solver of SUNDIALS this one.

    Parameters
    ----------
    linear : int
        Address of what `SUNLinSolNewEmpty` has made.
    layout : LinearSolverLayout
    solver : OwnSolver
        Must be kept alive as long as the linear solver.
    gettype : int
        Address of the function that calls it a direct solver.
    """
    set_content(linear, solver._address)
    table = ctypes.c_void_p.from_address(linear + 8 * layout.table).value
    assert table is not None
    addresses: dict[str, int] = {"gettype": gettype, "setup": _SETUP.__wrapper_address__(), "solve": _SOLVE.__wrapper_address__()}
    for name, address in addresses.items():
        ctypes.c_void_p.from_address(table + 8 * layout.places[name]).value = address


def set_content(linear: int, address: int | None) -> None:
    """The first word; `None` before SUNDIALS frees the solver, as it would free what is there."""
    ctypes.c_void_p.from_address(linear).value = address
