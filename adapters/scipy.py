"""SciPy's `solve_ivp` methods on the underlying ODE and on state-space form."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mbdae.driver.arguments import check_max_step, check_max_steps, check_step
from mbdae.driver.availability import Availability, installed
from mbdae.driver.callbacks import RECOVERABLE, TOLERATED, SolverCallbacks, SolverFailure
from mbdae.driver.method import Method
from mbdae.driver.run import Run
from mbdae.driver.support import explicit_support, require
from mbdae.jacobians.strategy import Strategy, as_strategy, labelled
from mbdae.problems.base import Problem
from mbdae.results.events import of_unknowns
from mbdae.results.statistics import Statistics
from mbdae.results.status import Status
from mbdae.results.trajectory import Trajectory
from mbdae.stopwatch import Stopwatch
from mbdae.system.assembly import State
from mbdae.typing import Event, TimeProgress, Tolerance, Until, Vector

from .terminal import FortranOutput, alone

_METHODS = ("RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA")
_IMPLICIT = ("Radau", "BDF", "LSODA")
_INITIAL_CALLS = 2  # evaluations before the first step
SUPPORT = explicit_support(jacobian="exact (Radau, BDF, LSODA)")


def availability() -> Availability:
    """State of the package."""
    return installed("scipy", "scipy", "pip install mbdae", "pip install -e .")
_MIN_ATOL = 1e-100


@contextmanager
def _lsoda_alone() -> Iterator[None]:
    """Suppress its output on failure, which is in the message of the solution; refuse nested runs, which would wait forever."""
    with FortranOutput("scipy.integrate._lsoda"), alone("SciPy's LSODA"):
        yield


def solve_ivp_arguments(problem: Problem, rtol: float = 1e-6, atol: Tolerance = 1e-8, method: str = "DOP853",
                        jacobian: str | Strategy = "exact", events: Sequence[Event] | None = None,
                        callbacks: SolverCallbacks | None = None) -> dict[str, Any]:
    """Arguments for `scipy.integrate.solve_ivp` and its solver classes: `fun`, tolerances, and `jac` where the method takes one.

    Parameters
    ----------
    problem : Problem
        Explicit: `UnderlyingODE` or `StateSpace`.
    rtol, atol : float
    method : str
        Not part of the result; it determines whether `jac` is.
    jacobian : str or Strategy
        `"exact"` (complex step along column groups), another strategy or its name such as `"grouped:partitioned"` (see
        `mbdae.JacobianStrategy`), or `"difference"`: the difference quotients of SciPy.
    events : sequence of callables, optional
        `event(t, q, v) -> float`, with `terminal` and `direction`, become SciPy's `event(t, y)`.
    callbacks : SolverCallbacks, optional
        Counter of evaluations.
    """
    require("solve_ivp_arguments", SUPPORT, problem)
    callbacks = SolverCallbacks(problem) if callbacks is None else callbacks
    callbacks.use(jacobian)
    evaluate = callbacks.rhs()

    def rhs(t: float, y: Vector) -> Vector:
        out = np.empty(problem.n)
        flag = evaluate(t, np.ascontiguousarray(y, dtype=float), out)
        # NaN, as an error relative to huge states may pass the error test; the choice of the first step needs finite values
        if flag == RECOVERABLE and method != "LSODA" and callbacks.calls > _INITIAL_CALLS:
            out[:] = np.nan
        return out

    options = {"fun": rhs, "rtol": rtol, "atol": problem.tolerances(rtol, atol)}
    if jacobian != "difference" and method in _IMPLICIT:
        options["jac"] = callbacks.rhs_jacobian()
    if events is not None:
        options["events"] = [of_unknowns(problem, event) for event in events]
    return options


class _Stepper:
    """A solver of SciPy; it is made with the first step, as it evaluates the equations and the Jacobian."""

    def __init__(self, make: Callable[[], Any], callbacks: SolverCallbacks) -> None:
        self._make, self._callbacks = make, callbacks
        self.solver: Any = None
        self._dense: Any = None

    def step(self) -> tuple[float, Vector, None]:
        try:
            self.solver = self.solver or self._make()
            message = self.solver.step()
        except ValueError as error:
            if not self._callbacks.bad:
                raise
            # the linear solver refuses values that are not finite
            raise SolverFailure(Status.NOT_FINITE, f"the equations are not finite (SciPy: {error})") from None
        if self.solver.status == "failed":
            raise SolverFailure(Status.STEP_TOO_SMALL, f"SciPy: {message}")
        self._dense = None
        return self.solver.t, self.solver.y.copy(), None

    def at(self, t: float) -> tuple[Vector, None]:
        if self._dense is None:
            self._dense = self.solver.dense_output()
        return self._dense(t), None

    def count(self, name: str) -> int:
        """`nfev`, `njev` or `nlu` of the solver."""
        return int(getattr(self.solver, name, 0))


@dataclass(frozen=True)
class SolveIvp(Method):
    """A method of `scipy.integrate.solve_ivp` on the underlying ODE, where the output is projected onto the constraints, or on state-space
    form.

    Parameters
    ----------
    method : {"RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA"}
    jacobian : str or Strategy
        For the implicit methods, as for `solve_ivp_arguments`.
    max_step : float
    max_steps : int
        Steps after which the run ends with `TOO_MANY_STEPS`.
    first_step : float
        Zero: the choice of SciPy.

    Examples
    --------
    >>> import mbdae
    >>> run = mbdae.solve(mbdae.library.system("double-pendulum"), mbdae.SolveIvp("RK45"), (0.0, 0.1))
    >>> run.success
    True
    """

    method: str = "DOP853"
    jacobian: str | Strategy = "exact"
    max_step: float = np.inf
    max_steps: int = 1_000_000
    first_step: float = 0.0

    support = SUPPORT
    package = "scipy"
    own_differences = True

    def __post_init__(self) -> None:
        if self.method not in _METHODS:
            raise ValueError(f"SolveIvp: method must be one of {', '.join(_METHODS)}, got {self.method!r}")
        as_strategy(self.jacobian, "SolveIvp")
        if self.method not in _IMPLICIT and self.jacobian not in ("exact", "difference"):
            raise ValueError(f"SolveIvp: {self.method} needs no Jacobian, so jacobian={self.jacobian!r} is not possible")
        check_max_steps("SolveIvp", self.max_steps)
        check_max_step("SolveIvp", self.max_step)
        check_step("SolveIvp", "first_step", self.first_step)

    @staticmethod
    def availability() -> Availability:
        """State of the package."""
        return availability()

    @property
    def one_step(self) -> bool:
        """See `mbdae.driver.method`."""
        return self.method not in ("BDF", "LSODA")

    @property
    def label(self) -> str:
        """Name for tables and legends."""
        return labelled(f"SciPy {self.method}", self.jacobian)

    def integrate(self, problem: Problem, state: State, t_end: float, *, rtol: float, atol: Tolerance, t_eval: Vector | None = None,
                  every: int = 1, progress: TimeProgress | None = None, until: Until | None = None) -> Trajectory:
        """See `mbdae.driver.method`."""
        import scipy.integrate

        callbacks = SolverCallbacks(problem)
        if self.method == "LSODA":  # it ends by itself; exceptions raised through Fortran would be printed
            callbacks.tolerated_at_a_gap = TOLERATED
        options = solve_ivp_arguments(problem, rtol, atol, self.method, self.jacobian, callbacks=callbacks)
        if not (options["atol"] >= _MIN_ATOL).all():
            raise ValueError(f"SolveIvp: atol must be at least {_MIN_ATOL:g}, SciPy divides by it where an unknown is zero, got {atol!r}")
        y0, yd0 = problem.pack(state)
        problem.compile(state.t, y0, yd0)
        run = Run(callbacks, state.t, t_end, (y0, yd0), t_eval=t_eval, every=every, progress=progress, until=until,
                  max_steps=self.max_steps)
        watch = Stopwatch()
        stepper = _Stepper(partial(getattr(scipy.integrate, self.method), options.pop("fun"), state.t, y0, t_end, max_step=self.max_step,
                                   first_step=min(self.first_step, abs(t_end - state.t)) or None, **options), callbacks)
        with warnings.catch_warnings(), _lsoda_alone() if self.method == "LSODA" else nullcontext():
            warnings.filterwarnings("ignore", message="lsoda:")
            run.carry_out(lambda: run.pull(stepper))
        return run.trajectory(Statistics(
            steps=run.steps, residuals=stepper.count("nfev"), residuals_jacobian=callbacks.calls - stepper.count("nfev"),
            jacobians=stepper.count("njev"), factorisations=stepper.count("nlu"), seconds=watch.seconds, cpu_seconds=watch.cpu_seconds))
