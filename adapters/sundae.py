"""SUNDIALS through scikit-sundae: IDA for `F(t, y, yd) = 0`, CVODE for `yd = f(t, y)`.

The wheel of scikit-sundae carries SUNDIALS, so these are the solvers that are always there.
"""

import contextlib
import ctypes
import os
import re
import sys
import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, TextIO

import numpy as np
from numba.core import config

from mbdae.driver.arguments import check_choice, check_limit, check_max_steps, check_order, check_step
from mbdae.driver.availability import Availability, installed
from mbdae.driver.callbacks import SolverCallbacks, SolverFailure
from mbdae.driver.method import Method
from mbdae.driver.run import Run
from mbdae.driver.support import supported, tightened
from mbdae.jacobians.strategy import Strategy, labelled
from mbdae.problems.base import Problem
from mbdae.results.statistics import Statistics
from mbdae.results.status import Status
from mbdae.results.trajectory import Trajectory
from mbdae.stopwatch import Stopwatch
from mbdae.system.assembly import State
from mbdae.typing import Integers, TimeProgress, Tolerance, Until, Vector

from .sundae_arguments import (
    CVODE_SUPPORT,
    IDA_SUPPORT,
    LINEAR,
    LINEAR_CVODE,
    LINEAR_IDA,
    band_order,
    check_choices,
    cvode_arguments,
    ida_arguments,
    linear_solver,
)
from .sundials.library import ORIGINS, Library, LibraryError, library
from .sundials.own_solver import OWN, check_own, takes_own
from .sundials.run import Request, supports
from .sundials.run import Settings as RunSettings
from .sundials.run import integrate as run_in
from .sundials.session import ADAMS, BDF

__all__ = ["Cvode", "Ida", "availability", "band_order", "cvode_arguments", "ida_arguments"]

BACKENDS = ("auto", *ORIGINS, "wrapper")

_REPORT = re.compile(r"\s*\[\w+, Error: -?\d+\]")

def availability() -> Availability:
    """State of the package."""
    return installed("scikit-sundae", "sksundae", "pip install mbdae", "pip install -e .")


class _Stepper:
    """One internal step at a time, and interpolation within the last one, by the clock of the solver."""

    def __init__(self, solver: Any, run: Run, place: Integers | None = None) -> None:
        self.solver, self.callbacks, self.end, self.place = solver, run.callbacks, run.callbacks.clock(run.t_end), place
        self.last: Any = None  # result of the solver

    def step(self) -> tuple[float, Vector, Vector | None]:
        return self._state(self._call("onestep", self.end))

    def at(self, t: float) -> tuple[Vector, Vector | None]:
        _, y, yd = self._state(self._call("normal", self.callbacks.clock(t)))
        return y, yd

    def _call(self, mode: str, s: float) -> Any:
        result = self.solver.step(s, mode, self.end)
        if not result.success:
            raise SolverFailure(_status(result.message), f"SUNDIALS: {result.message}")
        self.last = result
        return result

    def _state(self, result: Any) -> tuple[float, Vector, Vector | None]:
        y, yp = np.array(result.y).reshape(-1), getattr(result, "yp", None)
        yd = None if yp is None else np.array(yp).reshape(-1)
        if self.place is not None:
            y, yd = y[self.place], None if yd is None else yd[self.place]
        return self.callbacks.time(float(np.ravel(result.t)[-1])), y, self.callbacks.rate(yd)


class _WithoutReports:
    """Standard output without the error reports that scikit-sundae prints; what user functions print goes through."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._after_report = stream, False

    def write(self, text: str) -> int:
        if _REPORT.match(text) or (self._after_report and text == "\n"):
            self._after_report = not self._after_report
            return len(text)
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _crossing(problem: Problem, state: State, t_end: float) -> SolverCallbacks:
    """Forward the clock of the solver is time itself; backward it runs from zero, as the package takes positive first steps only."""
    return SolverCallbacks(problem) if t_end > state.t else SolverCallbacks(problem, t0=state.t, direction=-1)


def _keep_forever(solver: Any) -> None:
    """A sparse solver that has not factorised yet must not be freed: SUNDIALS would free factors that do not exist, and crash."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(solver))


def _status(message: str) -> Status:
    text = str(message).lower()
    if "convergence" in text or "nonlinear" in text:
        return Status.NEWTON_FAILED
    if "error test" in text or "step size" in text or "h too small" in text:
        return Status.STEP_TOO_SMALL
    return Status.SOLVER_FAILED


@dataclass(frozen=True)
class _Sundials(Method):
    jacobian: str | Strategy = "exact"
    linsolver: str = "auto"
    max_order: int = 5
    first_step: float = 0.0
    max_step: float = 0.0
    max_steps: int = 1_000_000
    backend: str = "auto"

    package = "scikit-sundae"
    own_differences = True

    linear_solvers: ClassVar[tuple[str, ...]] = LINEAR

    @property
    def highest_order(self) -> int:
        """Of the formulas."""
        return 5

    def __post_init__(self) -> None:
        owner = type(self).__name__
        check_choices(owner, self.linsolver, self.jacobian, self.linear_solvers)
        check_order(owner, self.max_order, self.highest_order)
        check_max_steps(owner, self.max_steps)
        check_step(owner, "first_step", self.first_step)
        check_limit(owner, "max_step", self.max_step)
        check_choice(owner, "backend", self.backend, BACKENDS)

    @staticmethod
    def availability() -> Availability:
        """State of the package."""
        return availability()

    @property
    def label(self) -> str:
        """Name for tables and legends."""
        return labelled(type(self).__name__, self.jacobian)

    def _library(self, problem: Problem) -> Library | None:
        """The library to be called directly, `None` for the wrapper."""
        own = self.linsolver == OWN
        if own:
            check_own(type(self).__name__, problem, self.backend, self.jacobian)
        if self.backend == "wrapper" or config.DISABLE_JIT:
            return None
        linsolver = self._linear_solver(problem)
        if not supports(problem, linsolver, self.jacobian):
            if self.backend == "auto":
                return None
            raise ValueError(f"{type(self).__name__}: backend={self.backend!r} takes the linear solvers dense, sparse and kkt, the "
                             f"last two with a Jacobian; got linsolver={self.linsolver!r}, jacobian={self.jacobian!r}")
        try:
            return library("wheel" if self.backend == "auto" else self.backend)
        except LibraryError:
            if self.backend == "auto" and not own:
                return None
            raise

    def _linear_solver(self, problem: Problem) -> str:
        """That of a run in the library: by itself the factors of mbdae where they can be had, but for small implicit problems."""
        found = linear_solver(problem, self.linsolver)
        is_better = self.linsolver == "auto" and (found == "sparse" or not problem.implicit)
        return OWN if is_better and takes_own(problem, self.jacobian) else found

    def _direct(self, found: Library, request: Request, **settings: Any) -> Trajectory:
        """A run in the library."""
        problem = request.problem
        rtol, atol = tightened(self.support, problem, request.rtol, request.atol)
        settings = {"first_step": self.first_step or problem.first_step, "max_order": self.max_order} | settings
        linsolver = self._linear_solver(problem)
        return run_in(found, request._replace(rtol=rtol, atol=atol),
                      RunSettings(jacobian=self.jacobian, linsolver=linsolver, max_step=self.max_step, max_steps=self.max_steps,
                                  **settings))

    def _carry_out(self, solver: Any, run: Run, start: tuple[Vector, ...], place: Integers | None = None) -> Statistics:
        """Initialise the solver, step it to the end, and return its statistics."""
        watch = Stopwatch()
        stepper = _Stepper(solver, run, place)
        os.environ.setdefault("SUNLOGGER_WARNING_FILENAME", os.devnull)  # SUNDIALS would print its warnings

        def integrate() -> None:
            solver.init_step(run.callbacks.clock(run.t), start[0], *map(run.callbacks.rate, start[1:]))
            run.pull(stepper)

        try:
            with contextlib.redirect_stdout(_WithoutReports(sys.stdout)):
                run.carry_out(integrate)
        finally:
            if stepper.last is None and linear_solver(run.problem, self.linsolver) == "sparse":
                _keep_forever(solver)
        spent: dict[str, Any] = {"seconds": watch.seconds, "cpu_seconds": watch.cpu_seconds}
        last, calls = stepper.last, run.callbacks.calls
        if last is None:
            return Statistics(steps=run.steps, **spent)
        # its own count leaves out the evaluations for difference quotients
        return Statistics(steps=run.steps, residuals=int(last.nfev), residuals_jacobian=calls - int(last.nfev),
                          jacobians=run.callbacks.jacobians or int(last.njev), **spent)


@dataclass(frozen=True)
class Ida(_Sundials):
    """SUNDIALS IDA: BDF of variable order and step for implicit problems.

    Parameters
    ----------
    jacobian : str or Strategy
        `"exact"` (complex step along column groups), another strategy or its name such as `"grouped:partitioned"` (see
        `mbdae.JacobianStrategy`), or `"difference"`: IDA's own quotients.
    linsolver : {"auto", "dense", "band", "sparse", "kkt", "gmres", "bicgstab", "tfqmr"}
        `"auto"`: dense up to 120 unknowns, then `"kkt"` where it can be had, otherwise sparse. `"band"`: unknowns and equations renumbered
        for a small band. `"kkt"`: the factors of mbdae, body by body and joint by joint without exchanges of rows (see
        `mbdae.problems.elimination`), in time proportional to the number of bodies for chains and trees; for mechanisms in Cartesian
        coordinates, in the C library. Krylov methods are preconditioned with sparse factors of the exact Jacobian.
    max_order : int
    first_step, max_step : float
        Zero leaves the choice to IDA, or the first step to the formulation.
    max_steps : int
        Steps after which the run ends with `TOO_MANY_STEPS`.
    backend : {"auto", "wheel", "system", "wrapper"}
        `"wheel"`: the C library in the wheel of scikit-sundae is called directly, with compiled callbacks and no Python in its loop;
        `"system"`: the library of the system (Debian's `libsundials-dev`); both with the linear solvers `"dense"`, `"sparse"` and `"kkt"`.
        `"wrapper"`: through scikit-sundae. `"auto"`: the wheel's library where it can, otherwise the wrapper.

    Examples
    --------
    >>> import mbdae
    >>> run = mbdae.solve(mbdae.library.system("double-pendulum"), mbdae.Ida(), (0.0, 0.1), formulation="ggl")
    >>> run.success
    True
    """

    support = IDA_SUPPORT
    formulations = supported(IDA_SUPPORT)
    linear_solvers = LINEAR_IDA

    def integrate(self, problem: Problem, state: State, t_end: float, *, rtol: float, atol: Tolerance, t_eval: Vector | None = None,
                  every: int = 1, progress: TimeProgress | None = None, until: Until | None = None) -> Trajectory:
        """See `mbdae.driver.method`."""
        found = self._library(problem)
        if found is not None:
            return self._direct(found, Request(problem, state, t_end, rtol, atol, t_eval, every, progress, until))
        from sksundae.ida import IDA

        callbacks = _crossing(problem, state, t_end)
        arguments = ida_arguments(problem, rtol, atol, self.jacobian, self.linsolver, callbacks=callbacks)
        arguments["first_step"] = self.first_step or arguments["first_step"]
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Custom sparse Jacobian")  # the pattern is for the storage, the values are ours
            solver = IDA(**arguments, max_order=self.max_order, max_step=self.max_step)
        start = problem.pack(state)
        problem.compile(state.t, *start)
        run = Run(callbacks, state.t, t_end, start, t_eval=t_eval, every=every, progress=progress, until=until, max_steps=self.max_steps)
        if self.linsolver == "band":
            order = band_order(problem)
            statistics = self._carry_out(solver, run, tuple(x[order] for x in start), np.argsort(order))
        else:
            statistics = self._carry_out(solver, run, start)
        return run.trajectory(statistics)


@dataclass(frozen=True)
class Cvode(_Sundials):
    """SUNDIALS CVODE: BDF or Adams for the underlying ODE.

    Parameters
    ----------
    multistep : {"BDF", "Adams"}
    jacobian, max_order, first_step, max_step, max_steps, backend
        As for `Ida`.
    linsolver : {"auto", "dense", "kkt", "gmres", "bicgstab", "tfqmr"}
        `"kkt"`: for the underlying ODE of mechanisms in Cartesian coordinates, by the factors of mbdae for the index-1 equations (see
        `mbdae.adapters.sundials.linear_ode`), with the exact Jacobian. `"auto"`: `"kkt"` where it can be had, otherwise dense.

    Examples
    --------
    >>> import mbdae
    >>> run = mbdae.solve(mbdae.library.system("double-pendulum"), mbdae.Cvode(multistep="Adams"), (0.0, 0.1))
    >>> run.success
    True
    """

    multistep: str = "BDF"

    support = CVODE_SUPPORT
    formulations = supported(CVODE_SUPPORT)
    linear_solvers = LINEAR_CVODE

    def __post_init__(self) -> None:
        if self.multistep not in ("BDF", "Adams"):
            raise ValueError(f"Cvode: multistep must be 'BDF' or 'Adams', got {self.multistep!r}")
        super().__post_init__()

    @property
    def highest_order(self) -> int:
        """Of the formulas of the multistep method."""
        return 5 if self.multistep == "BDF" else 12

    @property
    def label(self) -> str:
        return super().label.replace("Cvode", f"Cvode {self.multistep}")

    def integrate(self, problem: Problem, state: State, t_end: float, *, rtol: float, atol: Tolerance, t_eval: Vector | None = None,
                  every: int = 1, progress: TimeProgress | None = None, until: Until | None = None) -> Trajectory:
        """See `mbdae.driver.method`."""
        order = self.max_order if self.multistep == "BDF" or self.max_order != 5 else 12
        found = self._library(problem)
        if found is not None:
            return self._direct(found, Request(problem, state, t_end, rtol, atol, t_eval, every, progress, until), max_order=order,
                                first_step=self.first_step, multistep=BDF if self.multistep == "BDF" else ADAMS)
        from sksundae.cvode import CVODE

        callbacks = _crossing(problem, state, t_end)
        arguments = cvode_arguments(problem, rtol, atol, self.jacobian, self.linsolver, callbacks=callbacks)
        solver = CVODE(**arguments, method=self.multistep, max_order=order, first_step=self.first_step, max_step=self.max_step)
        y0, yd0 = problem.pack(state)
        problem.compile(state.t, y0, yd0)
        run = Run(callbacks, state.t, t_end, (y0, yd0), t_eval=t_eval, every=every, progress=progress, until=until,
                  max_steps=self.max_steps)
        return run.trajectory(self._carry_out(solver, run, (y0,)))
