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

import numpy as np

from mbdae.method import installed
from mbdae.status import Statistics, Status

from . import storage
from .boundary import Crossing, SolverFailure, refuse_redundant
from .run import Run
from .support import Settings, explicit_support, implicit_support, supported, tightened

DENSE_LIMIT = 120  # unknowns up to which dense factorisations are the quicker ones
_ITERATIVE = ("gmres", "bicgstab", "tfqmr")
_LINEAR = ("auto", "dense", "band", "sparse", *_ITERATIVE)
_LINEAR_ODE = ("auto", "dense", *_ITERATIVE)  # the Jacobian of the underlying ODE is full
_REPORT = re.compile(r"\s*\[\w+, Error: -?\d+\]")

_MASKED = Settings(mask=True, linear_solver="dense, band, sparse, Krylov")
IDA_SUPPORT = implicit_support(gear=Settings(linear_solver="dense, band, sparse, Krylov"), ggl=_MASKED, index2=_MASKED, index1=_MASKED,
                               index3=Settings(mask=True, tighten=1e-2, linear_solver="dense, band, sparse, Krylov"))
CVODE_SUPPORT = explicit_support(linear_solver="dense, Krylov")


def availability():
    """State of the package."""
    return installed("scikit-sundae", "sksundae", "pip install scikit-sundae")


def ida_arguments(problem, rtol=1e-6, atol=1e-8, jacobian="exact", linsolver="auto", events=None, crossing=None):
    """Arguments for `sksundae.ida.IDA`: `IDA(**ida_arguments(problem))` is a solver with the settings that the formulation needs.

    Parameters
    ----------
    problem : Problem
        Any implicit form but the overdetermined one.
    rtol, atol : float
        Tolerances of positions and velocities; multipliers get those of the formulation.
    jacobian : {"exact", "difference"}
        The complex-step Jacobian of the problem, or IDA's own difference quotients.
    linsolver : {"auto", "dense", "band", "sparse", "gmres", "bicgstab", "tfqmr"}
        `"band"` numbers unknowns and equations anew: `y` and `yd` that go in or come out are `y[band_order(problem)]`.
    events : sequence of callables, optional
        `event(t, q, v) -> float`, with `terminal` and `direction`, become `eventsfn`.
    crossing : Crossing, optional
        Counter of evaluations.

    Returns
    -------
    dict
    """
    crossing = Crossing(problem) if crossing is None else crossing
    _check_choices("ida_arguments", linsolver, jacobian, _LINEAR)
    linsolver = _linear_solver(problem, linsolver)
    order = band_order(problem) if linsolver == "band" else np.arange(problem.n)
    rtol, atol = tightened(IDA_SUPPORT, problem, rtol, atol)
    options = {"resfn": _residual(crossing, order if linsolver == "band" else None), "rtol": rtol,
               "atol": problem.tolerances(rtol, atol)[order], "linsolver": linsolver}
    if problem.algebraic.any():
        options["algebraic_idx"] = np.flatnonzero(problem.algebraic[order])
    if linsolver == "sparse":
        options["sparsity"] = problem.pattern
    if linsolver == "band":
        options["lband"], options["uband"] = _band(problem).lower, _band(problem).upper
    if jacobian == "exact" and linsolver not in _ITERATIVE:
        options["jacfn"] = _jacobian(crossing, linsolver)
    if events is not None:
        options |= _native_events(problem, events, order)
    return options


def band_order(problem):
    """Order of the unknowns for the band solver: it sees `y[order]`."""
    return _band(problem).order


def _band(problem):
    if not hasattr(problem, "_band_of_sundae"):
        problem._band_of_sundae = storage.Band(problem.pattern)
    return problem._band_of_sundae


def _check_choices(owner, linsolver, jacobian, possible):
    if linsolver not in possible:
        raise ValueError(f"{owner}: linsolver must be one of {', '.join(possible)}, got {linsolver!r}")
    if jacobian not in ("exact", "difference"):
        raise ValueError(f"{owner}: jacobian must be 'exact' or 'difference', got {jacobian!r}")


def _linear_solver(problem, linsolver):
    if linsolver != "auto":
        return linsolver
    return "dense" if problem.n <= DENSE_LIMIT or not problem.implicit else "sparse"


def _residual(crossing, order):
    n = crossing.problem.n
    y, yd, result = np.empty(n), np.empty(n), np.empty(n)  # compiled code wants writable arrays, IDA hands over read-only ones
    evaluate = crossing.residual()

    def residual(t, y_in, yd_in, out):
        y[:], yd[:] = y_in, yd_in
        evaluate(t, y, yd, out)

    def in_band_order(t, y_in, yd_in, out):
        y[order], yd[order] = y_in, yd_in
        evaluate(t, y, yd, result)
        out[:] = result[order]

    return residual if order is None else in_band_order


def _jacobian(crossing, linsolver):
    problem = crossing.problem
    if linsolver == "band":
        band = _band(problem)
        evaluate, place = crossing.jacobian(band.store(band.upper)), band.place
        return lambda t, y, yd, residual, c, J: evaluate(t, y[place], yd[place], c, J) and None
    evaluate = crossing.jacobian(storage.csc if linsolver == "sparse" else storage.dense(problem))
    return lambda t, y, yd, residual, c, J: evaluate(t, y, yd, c, J) and None


def _native_events(problem, events, order):
    """Events as `eventsfn`."""
    place = np.argsort(order)

    def eventsfn(t, y, yd, out):
        q, v = problem.motion(y[place])
        out[:] = [event(t, q, v) for event in events]

    eventsfn.terminal = [bool(getattr(e, "terminal", False)) for e in events]
    eventsfn.direction = [int(getattr(e, "direction", 0)) for e in events]
    return {"eventsfn": eventsfn, "num_events": len(events)}


def cvode_arguments(problem, rtol=1e-6, atol=1e-8, jacobian="exact", linsolver="auto", events=None, crossing=None):
    """Arguments for `sksundae.cvode.CVODE`, as `ida_arguments`; linear solvers are dense or iterative."""
    crossing = Crossing(problem) if crossing is None else crossing
    _check_choices("cvode_arguments", linsolver, jacobian, _LINEAR_ODE)
    linsolver = _linear_solver(problem, linsolver)
    y, evaluate, derivative = np.empty(problem.n), crossing.rhs(), crossing.rhs_jacobian()

    def rhs(t, y_in, out):
        y[:] = y_in
        evaluate(t, y, out)

    def jacobian_of_rhs(t, y_in, f, J):
        J[:, :] = derivative(t, y_in)

    options = {"rhsfn": rhs, "rtol": rtol, "atol": problem.tolerances(rtol, atol), "linsolver": linsolver}
    if jacobian == "exact" and linsolver == "dense":
        options["jacfn"] = jacobian_of_rhs
    if events is not None:
        native = _native_events(problem, events, np.arange(problem.n))
        inner = native["eventsfn"]

        def eventsfn(t, y, out):
            inner(t, y, None, out)

        eventsfn.terminal, eventsfn.direction = inner.terminal, inner.direction
        options |= native | {"eventsfn": eventsfn}
    return options


class _Stepper:
    """One internal step at a time, and interpolation within the last one."""

    def __init__(self, solver, t_end, place=None):
        self.solver, self.t_end, self.place, self.last = solver, t_end, place, None

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

    def _state(self, result):
        y, yd = (None if x is None else np.array(x).reshape(-1) for x in (result.y, getattr(result, "yp", None)))
        if self.place is not None:
            y, yd = y[self.place], yd[self.place]
        return float(np.ravel(result.t)[-1]), y, yd


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

    def _carry_out(self, solver, run, start, place=None):
        """Initialise the solver, step it to the end, and return what it has cost."""
        begin = time.perf_counter()
        stepper = _Stepper(solver, run.t_end, place)
        os.environ.setdefault("SUNLOGGER_WARNING_FILENAME", os.devnull)  # SUNDIALS would print its warnings

        def integrate():
            solver.init_step(run.t, *start)
            run.pull(stepper)

        try:
            with contextlib.redirect_stdout(_WithoutReports(sys.stdout)):
                run.carry_out(integrate)
        finally:
            if stepper.last is None and _linear_solver(run.problem, self.linsolver) == "sparse":
                _keep_forever(solver)
        seconds, last, calls = time.perf_counter() - begin, stepper.last, run.crossing.calls
        if last is None:
            return Statistics(steps=run.steps, seconds=seconds)
        # its own count leaves out the evaluations for difference quotients
        return Statistics(steps=run.steps, residuals=int(last.nfev), residuals_jacobian=calls - int(last.nfev), jacobians=int(last.njev),
                          seconds=seconds)


@dataclass(frozen=True)
class Ida(_Sundials):
    """SUNDIALS IDA: BDF of variable order and step for implicit problems.

    Parameters
    ----------
    jacobian : {"exact", "difference"}
        The problem's own Jacobian (complex step along column groups), or IDA's difference quotients.
    linsolver : {"auto", "dense", "band", "sparse", "gmres", "bicgstab", "tfqmr"}
        `"auto"`: dense up to 120 unknowns, then sparse. `"band"`: unknowns and equations renumbered for a small band.
    max_order : int
    first_step, max_step : float
        Zero leaves the choice to IDA, or the first step to the formulation.
    max_steps : int
        Steps after which the run ends with `TOO_MANY_STEPS`.
    """

    support = IDA_SUPPORT
    formulations = supported(IDA_SUPPORT)

    def integrate(self, problem, state, t_end, *, rtol, atol, t_eval=None, every=1, progress=None, until=None):
        """See `mbdae.method`."""
        from sksundae.ida import IDA

        refuse_redundant(state, self.label)
        crossing = Crossing(problem)
        arguments = ida_arguments(problem, rtol, atol, self.jacobian, self.linsolver, crossing=crossing)
        first_step = self.first_step or problem.first_step
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Custom sparse Jacobian")  # the pattern is for the storage, the values are ours
            solver = IDA(**arguments, max_order=self.max_order, first_step=first_step, max_step=self.max_step)
        start = problem.pack(state)
        problem.compile(state.t, *start)
        run = Run(crossing, state.t, t_end, start, t_eval=t_eval, every=every, progress=progress, until=until, max_steps=self.max_steps)
        if self.linsolver == "band":
            band = _band(problem)
            statistics = self._carry_out(solver, run, tuple(x[band.order] for x in start), band.place)
        else:
            statistics = self._carry_out(solver, run, start)
        return run.trajectory(statistics)


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

    support = CVODE_SUPPORT
    formulations = supported(CVODE_SUPPORT)
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

    def integrate(self, problem, state, t_end, *, rtol, atol, t_eval=None, every=1, progress=None, until=None):
        """See `mbdae.method`."""
        from sksundae.cvode import CVODE

        crossing = Crossing(problem)
        arguments = cvode_arguments(problem, rtol, atol, self.jacobian, self.linsolver, crossing=crossing)
        order = self.max_order if self.multistep == "BDF" or self.max_order != 5 else 12
        solver = CVODE(**arguments, method=self.multistep, max_order=order, first_step=self.first_step, max_step=self.max_step)
        y0, yd0 = problem.pack(state)
        problem.compile(state.t, y0, yd0)
        run = Run(crossing, state.t, t_end, (y0, yd0), t_eval=t_eval, every=every, progress=progress, until=until,
                  max_steps=self.max_steps)
        return run.trajectory(self._carry_out(solver, run, (y0,)))
