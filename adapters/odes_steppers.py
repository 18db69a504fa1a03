"""The solvers of scikits.odes in single steps, with a time that starts at zero, without output.

Each has `integrate(run)`, which takes the steps, and `counts(run, exact)`, the fields of `Statistics` that it counts.
"""

import contextlib
import ctypes
import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

from mbdae.driver.callbacks import SolverCallbacks, SolverFailure
from mbdae.driver.run import Run
from mbdae.results.status import Status
from mbdae.typing import Integers, Vector

from .odes_arguments import SCIPY
from .terminal import alone, environment


class Clock:
    """The time of a solver, which starts at zero and increases.

    SUNDIALS needs a positive stop time, and for the FORTRAN solvers of the package a negative time means "one step only".

    Parameters
    ----------
    callbacks : SolverCallbacks
    t_end : float

    Attributes
    ----------
    end, last : float
        Its value at `t_end`, and the one from which on `t_end` has been reached.
    """

    def __init__(self, callbacks: SolverCallbacks, t_end: float) -> None:
        self.t_end, self.end, self.of, self.rate = t_end, callbacks.clock(t_end), callbacks.clock, callbacks.rate
        self._time, self.last = callbacks.time, self.end - 4.0 * np.spacing(self.end)
        self.own = callbacks.t0 != 0.0 or callbacks.direction < 0

    def time(self, s: float) -> float:
        """Time of the problem; exactly `t_end` at the end, in spite of rounding."""
        return self.t_end if s >= self.last else self._time(s)


class Sundials:
    """IDA or CVODE.

    Parameters
    ----------
    solver : scikits_odes_sundials.ida.IDA or scikits_odes_sundials.cvode.CVODE
    clock : Clock
    start : sequence of ndarray
        `y`, for IDA also `yd`, in the time and order of the solver.
    reports : list of str
        Messages collected by the error handler of the solver.
    place : ndarray of int or None
        Position of each unknown of the problem in the order of the solver.
    """

    def __init__(self, solver: Any, clock: Clock, start: tuple[Vector, ...], reports: list[str], place: Integers | None = None) -> None:
        self.solver, self.clock, self.reports, self.place, self._reached, self._one = solver, clock, reports, place, 0.0, True
        solver.set_options(tstop=_single_above(clock.end), one_step_compute=True)  # the last step must not go beyond the end
        with environment("SUNLOGGER_WARNING_FILENAME", os.devnull):  # SUNDIALS 7 prints its warnings in spite of the error handler
            solver.init_step(0.0, *start)

    def integrate(self, run: Run) -> None:
        self._trials = run.callbacks.calls  # `init_step` calls each function of CVODE once
        run.pull(self)

    def step(self) -> tuple[float, Vector, Vector | None]:
        values = self._call(True, self.clock.end)
        self._reached = values.t
        if values.t > self.clock.end:
            values = self._call(False, self.clock.end)
        return self.clock.time(values.t), *self._state(values)

    def at(self, t: float) -> tuple[Vector, Vector | None]:
        return self._state(self._call(False, min(self.clock.of(t), self._reached)))

    def _call(self, one: bool, s: float) -> Any:
        if one != self._one:
            self.solver.set_options(one_step_compute=one)
            self._one = one
        result = self.solver.step(s)
        if result.flag < 0:
            raise SolverFailure(_status(result.flag.name), f"SUNDIALS: {self._report(result)}")
        return result.values

    def _report(self, result: Any) -> str:
        if not self.reports:
            return str(result.message)
        return self.reports[-1] + (" (t relative to the start)" if self.clock.own else "")

    def _state(self, values: Any) -> tuple[Vector, Vector | None]:
        y, yd = values.y, getattr(values, "ydot", None)
        if self.place is not None:
            y, yd = y[self.place], None if yd is None else yd[self.place]
        return y, self.clock.rate(yd)

    def counts(self, run: Run, exact: bool) -> dict[str, int | None]:
        """The counters of IDA are not accessible: evaluations for difference quotients are not counted separately."""
        calls, jacobians = run.callbacks.calls, run.callbacks.jacobians
        if hasattr(self.solver, "get_info"):
            info = self.solver.get_info()
            residuals = info["NumRhsEvals"] + self._trials
            return {"residuals": residuals, "residuals_jacobian": calls - residuals, "jacobians": jacobians if exact else None,
                    "factorisations": info["NumLinSolvSetups"], "rejected_error": info["NumErrTestFails"]}
        return {"residuals": calls, "residuals_jacobian": 0, "jacobians": jacobians} if exact else {}


def _single_above(x: float) -> float:
    """The stop time in single precision, rounded up: beyond one below the end SUNDIALS would step far beyond the end."""
    single = np.float32(x)
    return float(single if float(single) >= x else np.nextafter(single, np.float32(np.inf)))


def _status(name: str) -> Status:
    """Status from the name of a flag of SUNDIALS."""
    if name.startswith("CONV_FAIL"):
        return Status.NEWTON_FAILED
    return Status.STEP_TOO_SMALL if name.startswith("ERR_FAIL") else Status.SOLVER_FAILED


class FortranStepper(ABC):
    """DASPK or LSODI, by their compiled routines: `step` of their classes prints failures, and fails at the end of the time span of LSODI.

    Parameters
    ----------
    solver : scikits_odes_daepack.ddaspkint.ddaspk or scikits_odes_daepack.lsodiint.lsodi
    clock, start, place
        As for `Sundials`.
    """

    name: str
    statuses: dict[int, Status]

    def __init__(self, solver: Any, clock: Clock, start: tuple[Vector, Vector], place: Integers | None = None) -> None:
        self.solver, self.clock, self.place, self.s = solver, clock, place, 0.0
        solver.set_options(tstop=clock.end)
        solver.init_step(0.0, *start)
        self.y, self.yd = (np.array(x) for x in start)

    def integrate(self, run: Run) -> None:
        with alone(self.name), muted(self.solver):
            run.pull(self)

    def step(self) -> tuple[float, Vector, Vector]:
        self._advance()
        return self.clock.time(self.s), *self._state(self.y, self.yd)

    def _state(self, y: Vector, yd: Vector) -> tuple[Vector, Vector]:
        if self.place is not None:
            y, yd = y[self.place], yd[self.place]
        return y, self.clock.rate(yd)

    @abstractmethod
    def _advance(self) -> None:
        """Take one step: `s`, `y` and `yd` are then those at its end."""

    @abstractmethod
    def at(self, t: float) -> tuple[Vector, Vector]:
        """`(y, yd)` at a time within the last step."""

    def failure(self, flag: int) -> SolverFailure:
        """What a negative flag means."""
        message = " ".join(self.solver.messages.get(flag, f"flag {flag}").split())
        return SolverFailure(self.statuses.get(flag, Status.SOLVER_FAILED), f"{self.name}: {message}")

    def _check(self, flag: int) -> None:
        if flag < 0:
            raise self.failure(flag)


class Daspk(FortranStepper):
    """DASPK."""

    name = "DASPK"
    statuses = {-6: Status.STEP_TOO_SMALL, -7: Status.NEWTON_FAILED, -9: Status.NEWTON_FAILED, -10: Status.NEWTON_FAILED}

    def _advance(self) -> None:
        self._before = self.s
        self.solver.info[2] = 1  # one step only
        self.y, self.yd, self.s, flag = self._call(self.s, self.clock.end)
        self._check(flag)

    def at(self, t: float) -> tuple[Vector, Vector]:
        """Interpolation; DASPK refuses times before its initial time, so that is set to the start of the step."""
        self.solver.info[2] = 0
        y, yd, _, flag = self._call(self._before, min(self.clock.of(t), self.solver.rwork[3]))
        self._check(flag)
        return self._state(y, yd)

    def _call(self, s: float, to: float) -> Any:
        solver = self.solver
        return solver._runner(solver._resFn, solver._jacFn, self.y, self.yd, s, to, *solver.call_args)

    def counts(self, run: Run, exact: bool) -> dict[str, int | None]:
        solver, n = self.solver, run.problem.n
        calls, jacobians, errors, failures = (int(k) for k in solver.iwork[11:15])
        spent = 0 if exact else jacobians * n
        jacobians = run.callbacks.jacobians if exact else jacobians  # DASPK also counts updates as Jacobians
        return {"residuals": calls - spent, "residuals_jacobian": spent, "jacobians": jacobians, "rejected_error": errors,
                "rejected_newton": failures, "newton_iterations": int(solver.iwork[18])}


class Lsodi(FortranStepper):
    """LSODI."""

    name = "LSODI"
    statuses = {-4: Status.STEP_TOO_SMALL, -5: Status.NEWTON_FAILED}

    def _advance(self) -> None:
        solver = self.solver
        solver.call_args[3] = 5  # one step only, with a stop time
        self.y, _, self.s, flag = solver._runner(solver._resFn, solver.adda, solver._jacFn, self.y, self.yd, self.s, self.clock.end,
                                                 *solver.call_args)
        solver.call_args[4] = flag
        self._check(flag)
        self.yd = self._interpolate(solver.rwork[12], 1)

    def at(self, t: float) -> tuple[Vector, Vector]:
        s = min(self.clock.of(t), self.solver.rwork[12])
        return self._state(self._interpolate(s, 0), self._interpolate(s, 1))

    def _interpolate(self, s: float, derivative: int) -> Vector:
        x: Vector
        x, flag = self.solver._intdy(s, derivative, self.solver.rwork[20:], len(self.y))
        self._check(flag)
        return x

    def counts(self, run: Run, exact: bool) -> dict[str, int | None]:
        """Each Jacobian of LSODI takes one evaluation per unknown and one more."""
        calls, jacobians = (int(k) for k in self.solver.iwork[11:13])
        spent = jacobians * (run.problem.n + 1)
        return {"residuals": calls - spent, "residuals_jacobian": spent, "jacobians": jacobians}


@contextlib.contextmanager
def muted(solver: Any) -> Iterator[None]:
    """Switch off the FORTRAN output of DASPK, which would appear when the process ends; LSODI has none."""
    if solver.name != "ddaspk":
        yield
        return
    switch = _switch()
    switch(ctypes.byref(ctypes.c_int(0)))
    try:
        yield
    finally:
        switch(ctypes.byref(ctypes.c_int(1)))


@cache
def _switch() -> Callable[[Any], object]:
    """The routine that switches the output of DASPK."""
    from scikits_odes_daepack import ddaspk

    found: Callable[[Any], object] = getattr(ctypes.CDLL(ddaspk.__file__), "xsetf_", lambda flag: None)
    return found


class Dop:
    """DOP853 or DOPRI5. `step` of the package does not work: the solver of SciPy behind it is run, and calls back after its steps.

    Parameters
    ----------
    solver : scikits_odes.dopri5.dopri5
        DOP853 or DOPRI5.
    pair : {scipy.integrate.DOP853, scipy.integrate.RK45}
        The same formulas, for output between the steps.
    clock : Clock
    y0 : ndarray
    options : dict
        Options of the solver.
    """

    def __init__(self, solver: Any, pair: Any, clock: Clock, y0: Vector, options: dict[str, Any]) -> None:
        self.solver, self.pair, self.clock, self._reached = solver, pair, clock, (0.0, y0)
        self._error: BaseException | None = None
        self._tolerances = {"rtol": np.maximum(options["rtol"], 1e-13), "atol": options["atol"]}  # SciPy warns of smaller ones

    def integrate(self, run: Run) -> None:
        self._run = run
        self.solver.init_step(*self._reached)
        self._core = self.solver.solver
        self._core.set_solout(self._accept)
        # SciPy 1.17 stores the functions of a run in static memory, which a nested run would overwrite
        with alone("DOP853 and DOPRI5 of SciPy") if SCIPY >= (1, 17) else contextlib.nullcontext(), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="dop")  # failures are reported as warnings
            self._core.integrate(self.clock.end)
        if self._error is not None:
            raise self._error
        self._check(self._core)

    def _accept(self, s: float, y: Vector) -> int | None:
        """Exceptions are stored until the solver has returned: raised through it, they would be printed to standard error."""
        self._before, self._reached = self._reached, (s, y.copy())
        try:
            self._run.accept(self.clock.time(s), self._reached[1], None, self.at)
        except BaseException as error:
            self._error = error
            return -1
        return None

    def at(self, t: float) -> tuple[Vector, None]:
        """By a separate step from the start of the last one: the dense output of the solver is not accessible."""
        s, (before, y) = self.clock.of(t), self._before
        if s <= before:
            return y, None
        step = self.pair(self._rate, before, y, s, first_step=s - before, **self._tolerances)
        while step.status == "running":
            message = step.step()
        if step.status == "failed":
            raise SolverFailure(Status.STEP_TOO_SMALL, f"{type(self._core._integrator).__name__}, between two steps: {message}")
        return step.y, None

    def _rate(self, s: float, y: Vector) -> Vector:
        out = np.empty_like(y)
        self.solver.rfn(s, y, out)
        return out

    def _check(self, core: Any) -> None:
        from scikits_odes.dopri5 import STATUS_MESSAGE, StatusEnumDOP

        code = core.get_return_code()
        if code < 0:
            status = Status.STEP_TOO_SMALL if code == StatusEnumDOP.STEPSIZE_FAIL else Status.SOLVER_FAILED
            raise SolverFailure(status, f"{type(core._integrator).__name__}: {STATUS_MESSAGE[code]}")

    def counts(self, run: Run, exact: bool) -> dict[str, int | None]:
        rejected = int(self._core._integrator.iwork[19])
        return {"residuals": run.callbacks.calls, "residuals_jacobian": 0, "jacobians": 0, "factorisations": 0, "rejected_error": rejected}
