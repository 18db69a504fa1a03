"""SUNDIALS through scikit-sundae: IDA for `F(t, y, yd) = 0`, CVODE for `yd = f(t, y)`.

The wheel of scikit-sundae carries SUNDIALS, so these are the solvers that are always there.
"""

import contextlib
import ctypes
import os
import re
import sys
import time
import warnings
from dataclasses import dataclass
from importlib import metadata

import numpy as np

from mbdae.method import Availability
from mbdae.status import Statistics, Status

from .boundary import Guard, Output, SolverFailure, drive, refuse_redundant

DENSE_LIMIT = 120  # unknowns up to which dense factorisations are the quicker ones
_LINEAR = ("auto", "dense", "sparse", "gmres", "bicgstab", "tfqmr")
_ITERATIVE = ("gmres", "bicgstab", "tfqmr")
_REPORT = re.compile(r"\s*\[\w+, Error: -?\d+\]")
_LINEAR_ODE = ("auto", "dense", *_ITERATIVE)  # the Jacobian of the underlying ODE is full


def availability():
    """State of the package."""
    try:
        version = metadata.version("scikit-sundae")
    except metadata.PackageNotFoundError:
        version = None
    return Availability("scikit-sundae", version, "pip install scikit-sundae")


def ida_arguments(problem, rtol=1e-6, atol=1e-8, jacobian="exact", linsolver="auto", guard=None):
    """Arguments for `sksundae.ida.IDA`: `IDA(**ida_arguments(problem))` is a solver with the settings that the formulation needs.

    Parameters
    ----------
    problem : Problem
        Any implicit form but the overdetermined one.
    rtol, atol : float
        Tolerances of positions and velocities; multipliers get those of the formulation.
    jacobian : {"exact", "difference"}
        The complex-step Jacobian of the problem, or IDA's own difference quotients.
    linsolver : {"auto", "dense", "sparse", "gmres", "bicgstab", "tfqmr"}
    guard : Guard, optional
        Counter of evaluations.

    Returns
    -------
    dict
    """
    guard = Guard() if guard is None else guard
    _check_choices("ida_arguments", linsolver, jacobian, _LINEAR)
    linsolver = _linear_solver(problem, linsolver)
    options = {"resfn": _residual(problem, guard), "rtol": rtol, "atol": problem.tolerances(rtol, atol), "linsolver": linsolver}
    if problem.algebraic.any():
        options["algebraic_idx"] = np.flatnonzero(problem.algebraic)
    if linsolver == "sparse":
        options["sparsity"] = problem.pattern
    if jacobian == "exact" and linsolver not in _ITERATIVE:
        options["jacfn"] = _jacobian(problem, guard, linsolver)
    return options


def _check_choices(owner, linsolver, jacobian, possible):
    if linsolver not in possible:
        raise ValueError(f"{owner}: linsolver must be one of {', '.join(possible)}, got {linsolver!r}")
    if jacobian not in ("exact", "difference"):
        raise ValueError(f"{owner}: jacobian must be 'exact' or 'difference', got {jacobian!r}")


def _linear_solver(problem, linsolver):
    if linsolver != "auto":
        return linsolver
    return "dense" if problem.n <= DENSE_LIMIT or not problem.implicit else "sparse"


def _residual(problem, guard):
    y, yd = np.empty(problem.n), np.empty(problem.n)  # compiled code wants writable arrays, IDA hands over read-only ones

    def residual(t, y_in, yd_in, out):
        y[:], yd[:] = y_in, yd_in
        problem.residual(t, y, yd, out)
        guard.check(t, out)

    return residual


def _jacobian(problem, guard, linsolver):
    rows = problem.pattern.indices
    columns = np.repeat(np.arange(problem.n), np.diff(problem.pattern.indptr))
    sparse = linsolver == "sparse"

    def jacobian(t, y, yd, residual, c, J):
        values = problem.jacobian_values(t, y, yd, c)
        guard.check_jacobian(t, values)
        if sparse:
            J[:] = values
        else:
            J[rows, columns] = values

    return jacobian


class _Stepper:
    """One internal step at a time, and interpolation within the last one."""

    def __init__(self, solver, t_end):
        self.solver, self.t_end, self.last = solver, t_end, None

    def step(self):
        return self._state(self._call("onestep", self.t_end))

    def at(self, t):
        return self._state(self._call("normal", t))[1:]

    def _call(self, mode, t):
        result = self.solver.step(t, mode, self.t_end)
        if not result.success:
            raise SolverFailure(_status(result.message), f"SUNDIALS: {result.message}")
        self.last = result
        return result

    @staticmethod
    def _state(result):
        yp = getattr(result, "yp", None)
        return float(np.ravel(result.t)[-1]), np.array(result.y).reshape(-1), None if yp is None else np.array(yp).reshape(-1)


class _WithoutReports:
    """Standard output without the error reports that scikit-sundae prints; what user functions print goes through."""

    def __init__(self, stream):
        self._stream, self._after_report = stream, False

    def write(self, text):
        if _REPORT.match(text) or (self._after_report and text == "\n"):
            self._after_report = not self._after_report
            return len(text)
        return self._stream.write(text)

    def __getattr__(self, name):
        return getattr(self._stream, name)


def _keep_forever(solver):
    """A sparse solver that has not factorised yet must not be freed: SUNDIALS would free factors that do not exist, and crash."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(solver))


def _status(message):
    text = str(message).lower()
    if "convergence" in text or "nonlinear" in text:
        return Status.NEWTON_FAILED
    if "error test" in text or "step size" in text or "h too small" in text:
        return Status.STEP_TOO_SMALL
    return Status.SOLVER_FAILED


@dataclass(frozen=True)
class _Sundials:
    jacobian: str = "exact"
    linsolver: str = "auto"
    max_order: int = 5
    first_step: float = 0.0
    max_step: float = 0.0
    max_steps: int = 1_000_000

    package = "scikit-sundae"
    availability = staticmethod(availability)

    linear_solvers = _LINEAR
    highest_order = 5

    def __post_init__(self):
        owner = type(self).__name__
        _check_choices(owner, self.linsolver, self.jacobian, self.linear_solvers)
        if not 1 <= self.max_order <= self.highest_order:
            raise ValueError(f"{owner}: max_order must be one of 1 to {self.highest_order}, got {self.max_order}")
        if self.max_steps < 1:
            raise ValueError(f"{owner}: max_steps must be at least 1, got {self.max_steps}")
        if self.first_step < 0 or self.max_step < 0:
            raise ValueError(f"{owner}: first_step and max_step must not be negative")

    @property
    def label(self):
        """Name for tables and legends."""
        return type(self).__name__ + ("" if self.jacobian == "exact" else ", difference Jacobian")

    def _run(self, solver, guard, problem, start, t0, t_end, output, progress):
        begin = time.perf_counter()
        stepper = _Stepper(solver, t_end)
        state = start if len(start) == 2 else (*start, None)
        os.environ.setdefault("SUNLOGGER_WARNING_FILENAME", os.devnull)  # SUNDIALS would print its warnings
        try:
            with contextlib.redirect_stdout(_WithoutReports(sys.stdout)):
                solver.init_step(t0, *start)
                steps, status, message = drive(stepper, guard, t0, state, t_end, output, progress, self.max_steps)
        finally:
            if stepper.last is None and _linear_solver(problem, self.linsolver) == "sparse":
                _keep_forever(solver)
        seconds = time.perf_counter() - begin
        nfev = None if stepper.last is None else int(stepper.last.nfev)
        njev = None if stepper.last is None else int(stepper.last.njev)
        differences = None if nfev is None else guard.calls - nfev
        statistics = Statistics(steps=steps, residuals=nfev, residuals_jacobian=differences, jacobians=njev, seconds=seconds)
        return statistics, status, message


@dataclass(frozen=True)
class Ida(_Sundials):
    """SUNDIALS IDA: BDF of variable order and step for implicit problems.

    Parameters
    ----------
    jacobian : {"exact", "difference"}
        The problem's own Jacobian (complex step along column groups), or IDA's difference quotients.
    linsolver : {"auto", "dense", "sparse", "gmres", "bicgstab", "tfqmr"}
        `"auto"`: dense up to 120 unknowns, then sparse.
    max_order : int
    first_step, max_step : float
        Zero leaves the choice to IDA, or the first step to the formulation.
    max_steps : int
        Steps after which the run ends with `TOO_MANY_STEPS`.
    """

    formulations = ("gear", "ggl", "index2", "index1", "index3")

    def integrate(self, problem, state, t_end, *, rtol, atol, t_eval=None, every=1, progress=None):
        """See `mbdae.method`."""
        from sksundae.ida import IDA

        refuse_redundant(state, self.label)
        guard = Guard()
        arguments = ida_arguments(problem, rtol, atol, self.jacobian, self.linsolver, guard)
        first_step = self.first_step or problem.first_step
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Custom sparse Jacobian")  # the pattern is for the storage, the values are ours
            solver = IDA(**arguments, max_order=self.max_order, first_step=first_step, max_step=self.max_step)
        start = problem.pack(state)
        problem.compile(state.t, *start)
        output = Output(t_eval, every)
        statistics, status, message = self._run(solver, guard, problem, start, state.t, t_end, output, progress)
        return output.trajectory(problem, statistics, status, message)


@dataclass(frozen=True)
class Cvode(_Sundials):
    """SUNDIALS CVODE: BDF or Adams for the underlying ODE.

    Parameters
    ----------
    multistep : {"BDF", "Adams"}
    jacobian, linsolver, max_order, first_step, max_step, max_steps
        As for `Ida`; linear solvers are dense or iterative.
    """

    multistep: str = "BDF"

    formulations = ("ode",)
    linear_solvers = _LINEAR_ODE

    def __post_init__(self):
        if self.multistep not in ("BDF", "Adams"):
            raise ValueError(f"Cvode: multistep must be 'BDF' or 'Adams', got {self.multistep!r}")
        super().__post_init__()

    @property
    def highest_order(self):
        """Of the formulas of the multistep method."""
        return 5 if self.multistep == "BDF" else 12

    @property
    def label(self):
        return super().label.replace("Cvode", f"Cvode {self.multistep}")

    def integrate(self, problem, state, t_end, *, rtol, atol, t_eval=None, every=1, progress=None):
        """See `mbdae.method`."""
        from sksundae.cvode import CVODE

        guard = Guard()
        arguments = cvode_arguments(problem, rtol, atol, self.jacobian, self.linsolver, guard)
        order = self.max_order if self.multistep == "BDF" or self.max_order != 5 else 12
        solver = CVODE(**arguments, method=self.multistep, max_order=order, first_step=self.first_step, max_step=self.max_step)
        y0, yd0 = problem.pack(state)
        problem.compile(state.t, y0, yd0)
        output = Output(t_eval, every)
        statistics, status, message = self._run(solver, guard, problem, (y0,), state.t, t_end, output, progress)
        return output.trajectory(problem, statistics, status, message)


def cvode_arguments(problem, rtol=1e-6, atol=1e-8, jacobian="exact", linsolver="auto", guard=None):
    """Arguments for `sksundae.cvode.CVODE`, as `ida_arguments`."""
    guard = Guard() if guard is None else guard
    _check_choices("cvode_arguments", linsolver, jacobian, _LINEAR_ODE)
    linsolver = _linear_solver(problem, linsolver)
    y = np.empty(problem.n)

    def rhs(t, y_in, out):
        y[:] = y_in
        problem.rhs(t, y, out)
        guard.check(t, out)

    def jacobian_of_rhs(t, y_in, f, J):
        J[:, :] = problem.rhs_jacobian(t, y_in)
        guard.check_jacobian(t, J)

    options = {"rhsfn": rhs, "rtol": rtol, "atol": problem.tolerances(rtol, atol), "linsolver": linsolver}
    if jacobian == "exact" and linsolver == "dense":
        options["jacfn"] = jacobian_of_rhs
    return options
