"""The settings that the solvers of Assimulo need for each formulation."""

from typing import Any

import numpy as np

from mbdae.driver.support import require, tightened
from mbdae.jacobians.strategy import Strategy
from mbdae.problems.base import Problem
from mbdae.typing import Tolerance, Vector

from .assimulo_problems import Guarded, algvar
from .assimulo_support import Facts, check_options, facts_of

SILENT = 49  # verbosity; with 50, documented as silent, GLIMDA reports its errors
NORMAL = 30
MAX_STEPS = 2**31 - 1  # Fortran counts them in 32 bits


def configure(solver: Any, problem: Problem | None = None, rtol: float = 1e-6, atol: Tolerance = 1e-8, jacobian: str | Strategy = "exact",
              max_order: int | None = None, first_step: float = 0.0, max_step: float = 0.0, verbosity: int = SILENT) -> Any:
    """Set the options of a solver object of Assimulo for the formulation of its problem; later settings override them.

    Parameters
    ----------
    solver : solver of Assimulo
        E.g. `IDA(implicit_problem(problem))`.
    problem : Problem, optional
        By default that of the solver.
    rtol : float
    atol : float or array_like
        For positions and velocities; an array is for all unknowns.
    jacobian : str or Strategy
        `"exact"` (complex step along column groups), another strategy or its name such as `"grouped:partitioned"` (see
        `mbdae.JacobianStrategy`), or `"difference"`: the difference quotients of the solver, which Radau5DAE, ODASSL and GLIMDA always use.
    max_order : int, optional
    first_step, max_step : float
        Zero: the first step of the formulation or solver, and no limit of the step size.
    verbosity : int
        The default suppresses all output; 30 is the default of Assimulo.

    Returns
    -------
    The solver itself.

    Raises
    ------
    ValueError
        If the solver does not support the formulation, or has no such option.
    """
    name, native = type(solver).__name__, solver.problem
    facts = facts_of(name)
    source = getattr(native, "source", problem)
    if source is None:
        raise ValueError("configure: the problem of the solver was not made by mbdae, so problem must be given")
    check_options("configure", name, jacobian, max_order, first_step, max_step)
    require(name, facts.support, source)
    _check_matrix(name, source)
    _check_events(name, facts, native)
    rtol, atol = tightened(facts.support, source, rtol, atol)
    _set_tolerances(solver, rtol, source.tolerances(rtol, atol))
    _set_steps(solver, facts, max_order, first_step or source.first_step, max_step)
    if name == "IDA":
        solver.algvar, solver.suppress_alg = algvar(source), bool(source.algebraic.any())
    if "usejac" in solver.options:
        solver.usejac = facts.jacobian == "exact" and jacobian != "difference"  # off by default; Radau5DAE has no such option
    solver.verbosity, solver.display_progress = verbosity, verbosity <= NORMAL
    if isinstance(native, Guarded):
        native.callbacks.use(jacobian)
        _prepare(solver, native, name, facts)
    return solver


def _check_matrix(name: str, source: Problem) -> None:
    """Whether the matrix of `yd` is constant, as Assimulo tells GLIMDA; otherwise its steps shrink to nothing."""
    if name == "GLIMDA" and not source.system.constant_mass and getattr(source, "form", "") != "explicit":
        raise ValueError(f"GLIMDA cannot take the form {source.formulation!r} of {source.system.name!r}: Assimulo declares the matrix of "
                         "yd as constant to it, but the mass matrix depends on the positions; use 'ggl', in scripts "
                         "GGL(system, form='explicit')")


def _check_events(name: str, facts: Facts, native: Any) -> None:
    if not hasattr(native, "state_events"):
        return
    if not facts.stops:
        raise ValueError(f"{name} has no state events")
    if name == "Radau5DAE" and native.t0 < 0.0:
        raise ValueError("Radau5DAE does not terminate if events occur at negative times: the problem must start at t0 >= 0")


def _set_tolerances(solver: Any, rtol: float, atol: Vector) -> None:
    if not (atol > 0.0).all():
        raise ValueError("configure: atol must be positive, as the solvers divide by it")
    solver.rtol, solver.atol = rtol, atol


def _set_steps(solver: Any, facts: Facts, max_order: int | None, first_step: float, max_step: float) -> None:
    options, name = solver.options, type(solver).__name__
    if facts.first_step is not None:
        solver.inith = first_step or facts.first_step
    if max_step:
        solver.maxh = max_step
    if "maxsteps" in options:
        options["maxsteps"] = MAX_STEPS
    if max_order is None:
        return
    if name == "LSODAR":
        solver.maxordn, solver.maxords = max_order, min(max_order, 5)
    else:
        options["maxord"] = max_order  # the setter of ODASSL refuses valid values


def _prepare(solver: Any, native: Any, name: str, facts: Facts) -> None:
    solver.problem_info["step_events"] = facts.stops  # with step events ODASSL would lose its output times
    if name == "ODASSL":
        if hasattr(native, "algvar"):
            del native.algvar  # ODASSL would set the tolerances of algebraic unknowns to 1e7 permanently
        _shift(solver, native, np.minimum(solver.atol / solver.rtol, 1.0))


def _shift(solver: Any, native: Any, size: Vector) -> None:
    """Shift the unknowns away from zero, to where absolute and relative tolerance are equal.

    The increments of ODASSL's difference quotients are proportional to the unknown and the tolerance: at zero the quotients consist of
    rounding errors, and Newton's method fails.
    """
    offset, old = np.where(native.y0 < 0.0, -size, size), solver.y0 - native.y0
    solver.y0, solver.y = native.y0 + offset, solver.y - old + offset
