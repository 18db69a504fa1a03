"""The linear solver of mbdae for IDA: its iteration matrix, factorised in the order of bodies and joints, by compiled callbacks.

The callback for the Jacobian leaves the values in arrays of ours (see `Derivatives.values`), where `setup` factorises them; matrices of
SUNDIALS are not used but for one of a single entry, as IDA wants to have one. As a direct solver it has its corrections scaled by IDA
where the leading coefficient has changed.

A matrix that is singular is a failure that SUNDIALS calls recoverable, as in its own solvers: IDA cuts the step.
"""

import ctypes
from typing import Any

from numba.core import config

from mbdae.jacobians.strategy import JacobianStrategy, as_strategy
from mbdae.problems.base import Problem
from mbdae.problems.elimination import factors_of, refusal
from mbdae.problems.underlying_ode import UnderlyingODE
from mbdae.typing import Vector

from .library import LinearSolverLayout
from .linear import SETUP, OwnSolver

OWN = "kkt"  # its name


def takes_own(problem: Problem, jacobian: Any) -> bool:
    """Whether a run in the C library can have it."""
    return not _reason(problem, jacobian)


def _reason(problem: Problem, jacobian: Any) -> str:
    """Why a problem cannot have it with a Jacobian, and what can be done; empty if it can."""
    reason = refusal(problem.system)
    if reason:
        return (f"eliminates bodies and joints of a mechanism in Cartesian coordinates, but for {problem.system.name!r} {reason}; "
                "linsolver='auto' takes it")
    if not (problem.implicit or isinstance(problem, UnderlyingODE)):
        return (f"eliminates bodies and joints, which are not among the unknowns of the form {problem.formulation!r}; linsolver='auto' "
                "takes it")
    strategy = as_strategy(jacobian)
    if strategy is None:
        return "needs a Jacobian, which jacobian='exact' or 'grouped' evaluate; own differences of SUNDIALS are for dense matrices"
    if not problem.implicit and strategy != JacobianStrategy("exact"):
        return "forms the Jacobian of the underlying ODE itself, jacobian='exact'; linsolver='dense' takes other strategies"
    return ""


def check_own(owner: str, problem: Problem, backend: str, jacobian: Any) -> None:
    """Whether it was asked for where it can be had.

    Raises
    ------
    ValueError
        If there is no C library, no Jacobian, or no order of bodies and joints.
    """
    reason = _reason(problem, jacobian)
    if reason:
        raise ValueError(f"{owner}: linsolver='kkt' {reason}")
    if backend == "wrapper" or config.DISABLE_JIT:
        other = "sparse" if problem.implicit else "dense"
        raise ValueError(f"{owner}: linsolver='kkt' needs the C library and compiled code, not backend='wrapper' or NUMBA_DISABLE_JIT=1; "
                         f"linsolver='{other}' does without")


def own_solver(problem: Problem, values: Vector, vector_data: int) -> OwnSolver:
    """Room for the factors of a problem, in the order of its `pivots`; `vector_data` is the address of `N_VGetArrayPointer`."""
    return OwnSolver(n=problem.n, vector_data=vector_data, values=values, factors=factors_of(problem))


def fill_in(linear: int, layout: LinearSolverLayout, solver: OwnSolver, gettype: int, solve: Any) -> None:
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
    solve : function called by its address
    """
    set_content(linear, solver._address)
    table = ctypes.c_void_p.from_address(linear + 8 * layout.table).value
    assert table is not None
    addresses: dict[str, int] = {"gettype": gettype, "setup": _address(SETUP), "solve": _address(solve)}
    for name, address in addresses.items():
        ctypes.c_void_p.from_address(table + 8 * layout.places[name]).value = address


def _address(function: Any) -> int:
    address: int = function.__wrapper_address__()
    return address


def set_content(linear: int, address: int | None) -> None:
    """The first word; `None` before SUNDIALS frees the solver, as it would free what is there."""
    ctypes.c_void_p.from_address(linear).value = address
