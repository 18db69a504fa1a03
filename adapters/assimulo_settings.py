"""The settings that the solvers of Assimulo need for each formulation."""

from typing import Any

import numpy as np

from mbdae.driver.support import require, tightened
from mbdae.jacobians.strategy import Strategy

from .assimulo_problems import Guarded, algvar
from .assimulo_support import Facts, check_options, facts_of
from .contract import Tolerance, Vector

SILENT = 49  # verbosity: 50, said to be the silent one, makes GLIMDA report its errors
NORMAL = 30
PLENTY = 2**31 - 1  # steps; Fortran counts them in 32 bits


def configure(solver: Any, problem: Any = None, rtol: float = 1e-6, atol: Tolerance = 1e-8, jacobian: str | Strategy = "exact",
              max_order: int | None = None, first_step: float = 0.0, max_step: float = 0.0, verbosity: int = SILENT) -> Any:
    """Set what a solver object of Assimulo must be told for the formulation of its problem; whatever you set afterwards holds.

    Parameters
    ----------
    solver : solver of Assimulo
        E.g. `IDA(implicit_problem(problem))`.
    problem : Problem, optional
        By default that in the problem of the solver.
    rtol : float
    atol : float or array_like
        For positions and velocities; an array holds for all unknowns.
    jacobian : str or Strategy
        `"exact"` (complex step along column groups), another strategy or its name such as `"grouped:partitioned"` (see
        `mbdae.JacobianStrategy`), or `"difference"`: the solver's own quotients. Radau5DAE, ODASSL and GLIMDA make these in any case.
    max_order : int, optional
    first_step, max_step : float
        Zero leaves the first step to formulation and solver, and steps unlimited.
    verbosity : int
        The default keeps every solver silent; 30 is the default of Assimulo.

    Returns
    -------
    The solver itself.

    Raises
    ------
    ValueError
        If the solver cannot take the formulation, or has no such option.
    """
    name, native = type(solver).__name__, solver.problem
    facts = facts_of(name)
    source = getattr(native, "source", problem)
    if source is None:
        raise ValueError("configure: the problem of the solver is not one of ours, so problem must be given")
    check_options("configure", name, jacobian, max_order, first_step, max_step)
    require(name, facts.support, source)
    _check_events(name, facts, native)
    rtol, atol = tightened(facts.support, source, rtol, atol)
    _set_tolerances(solver, rtol, source.tolerances(rtol, atol))
    _set_steps(solver, facts, max_order, first_step or source.first_step, max_step)
    if name == "IDA":
        solver.algvar, solver.suppress_alg = algvar(source), bool(source.algebraic.any())
    if "usejac" in solver.options:
        solver.usejac = facts.jacobian == "exact" and jacobian != "difference"  # not used unasked, and Radau5DAE complains
    solver.verbosity, solver.display_progress = verbosity, verbosity <= NORMAL
    if isinstance(native, Guarded):
        native.callbacks.use(jacobian)
        _prepare(solver, native, name, facts)
    return solver


def _check_events(name: str, facts: Facts, native: Any) -> None:
    if not hasattr(native, "state_events"):
        return
    if not facts.stops:
        raise ValueError(f"{name} has no state events and would ignore them")
    if name == "Radau5DAE" and native.t0 < 0.0:
        raise ValueError("Radau5DAE looks for events at negative times without end: let the problem begin at t0 >= 0")


def _set_tolerances(solver: Any, rtol: float, atol: Vector) -> None:
    if not (atol > 0.0).all():
        raise ValueError("configure: atol must be positive, the solvers divide by it")
    solver.rtol, solver.atol = rtol, atol


def _set_steps(solver: Any, facts: Facts, max_order: int | None, first_step: float, max_step: float) -> None:
    options, name = solver.options, type(solver).__name__
    if facts.first_step is not None:
        solver.inith = first_step or facts.first_step
    if max_step:
        solver.maxh = max_step
    if "maxsteps" in options:
        options["maxsteps"] = PLENTY
    if max_order is None:
        return
    if name == "LSODAR":
        solver.maxordn, solver.maxords = max_order, min(max_order, 5)
    else:
        options["maxord"] = max_order  # the setter of ODASSL refuses what is right


def _prepare(solver: Any, native: Any, name: str, facts: Facts) -> None:
    solver.problem_info["step_events"] = facts.stops  # ODASSL does not heed them, and would lose its output times
    if name == "ODASSL":
        if hasattr(native, "algvar"):
            del native.algvar  # ODASSL would overwrite the tolerances of algebraic unknowns by 1e7, for good
        _shift(solver, native, np.minimum(solver.atol / solver.rtol, 1.0))


def _shift(solver: Any, native: Any, size: Vector) -> None:
    """Move the unknowns away from zero, to where absolute and relative tolerance are equal.

    The increments of ODASSL's difference quotients are relative to unknown and tolerance: where an unknown is zero they are so
    small that only rounding is left, and Newton's method fails.
    """
    offset, old = np.where(native.y0 < 0.0, -size, size), solver.y0 - native.y0
    solver.y0, solver.y = native.y0 + offset, solver.y - old + offset
