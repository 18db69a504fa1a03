"""pyradau13: RADAU of Hairer and Wanner, Radau IIA methods of order 5, 9 and 13 for `M y' = f(t, y)` with a constant singular `M`."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq

from mbdae.driver.arguments import check_choice, check_max_step, check_max_steps, check_step
from mbdae.driver.availability import Availability, installed
from mbdae.driver.callbacks import FATAL, SolverCallbacks, SolverFailure
from mbdae.driver.method import Method
from mbdae.driver.run import Run
from mbdae.driver.support import EXPLICIT, SQUARE_ONLY, Settings, Support
from mbdae.jacobians.strategy import Strategy, as_strategy, labelled
from mbdae.problems.base import Problem
from mbdae.problems.mass_matrix import MassMatrix
from mbdae.results.events import evaluated, passed
from mbdae.results.statistics import Statistics
from mbdae.results.status import Status
from mbdae.results.trajectory import Trajectory
from mbdae.stopwatch import Stopwatch
from mbdae.system.assembly import State
from mbdae.typing import Event, TimeProgress, Tolerance, Until, Vector

from . import pyradau13 as recipe
from . import storage
from .fortran.library import BACKENDS, called_directly
from .fortran.output import Output
from .fortran.radau_run import DIRECT_RADAU, DirectRadau
from .terminal import alone

MAX_STEPS = 2**31 - 1  # `Run` limits the number of accepted steps

_LEVELS = "it solves M y' = f(t, y) with a constant M; use 'mass', with the constraints on any level: MassMatrix(system, level=...)"
_ORDERS = (None, 5, 9, 13)

# RADAU scales the errors of an unknown by its index, so multipliers are part of the error test. Its dense output has a lower order than the
# steps, with errors about a hundred times larger, hence the smaller tolerances. In index 3, where errors of velocities are weighted with h,
# these cost more than they improve.
POSITION_LEVEL = 1e-1  # factor on the tolerances in index 3
_MASS = Settings(excluded_atol=1e-6, tighten=1e-2, scaling="errors of index 2 by h, of index 3 by h^2")
SUPPORT: Support = {"mass": _MASS,
           **{form: _LEVELS for form in ("index3", "ggl", "gear", "index2", "index1")}, "overdetermined": SQUARE_ONLY,
           **{form: f"it is used with a mass matrix; SciPy's Radau supports {form!r}" for form in EXPLICIT}}


def availability() -> Availability:
    """State of the package."""
    return installed("pyradau13", "pyradau13", f"pip install {recipe.FOLDER}", "pip install ./adapters/pyradau13")


def radau13_arguments(problem: Problem, rtol: float = 1e-6, atol: Tolerance = 1e-8, jacobian: str | Strategy = "exact",
                      order: int | None = None, events: Sequence[Event] | None = None,
                      callbacks: SolverCallbacks | None = None) -> dict[str, Any]:
    """Arguments for `radau13`: `radau13(**radau13_arguments(problem), y0=y0, t=t_end)` with the right settings.

    They contain `rhs_fn`, `jacobian_fn`, `mass_matrix`, the numbers of unknowns of each index, tolerances, the first step, and the order.

    Parameters
    ----------
    problem : MassMatrix
    rtol, atol : float
        Tolerances of positions and velocities; multipliers have an `atol` of their own.
    jacobian : str or Strategy
        `"exact"` (complex step along column groups), another strategy or its name such as `"grouped:partitioned"` (see
        `mbdae.JacobianStrategy`), or `"difference"`: the difference quotients of RADAU.
    order : {None, 5, 9, 13}
        `None`: variable order, starting with 5. Orders 9 and 13 need the constraints on the velocity (the default) or acceleration
        level.
    events : sequence of callables, optional
        `event(t, q, v) -> float`, with `terminal` and `direction`: an `EventLog` locates their zeros as `dense_callback`.
    callbacks : SolverCallbacks, optional
        Counter of evaluations.

    Returns
    -------
    dict

    Raises
    ------
    ValueError
        If RADAU does not support the formulation, or the order for it.
    """
    _check_choices("radau13_arguments", order, jacobian)
    problem = _checked("radau13_arguments", problem, order)
    callbacks = SolverCallbacks(problem) if callbacks is None else callbacks
    callbacks.use(jacobian)
    how = _MASS
    factor = POSITION_LEVEL if problem.level == 3 else how.tighten
    atol = problem.tolerances(rtol, atol * factor if np.ndim(atol) == 0 else atol, how.excluded_value)
    # both tolerances must be vectors
    options = {"rhs_fn": _lasting(callbacks, _rhs(callbacks)), "reltol": np.full(problem.n, rtol * factor), "abstol": atol,
               "mass_matrix": problem.mass.toarray(), "h0": problem.first_step, "max_steps": MAX_STEPS, "initial_order": order or 5}
    options |= {f"dae_index_{k}_count": n for k, n in enumerate(problem.nind, 1)}
    if order is not None:
        options |= {"min_order": order, "max_order": order}
    if jacobian != "difference":
        options["jacobian_fn"] = _lasting(callbacks, _jacobian(callbacks))
    if events is not None:
        options["dense_callback"] = EventLog(callbacks, events)
    return options


def _check_choices(owner: str, order: int | None, jacobian: str | Strategy) -> None:
    if order not in _ORDERS:
        raise ValueError(f"{owner}: order must be one of None, 5, 9, 13, got {order!r}")
    as_strategy(jacobian, owner)


def _checked(owner: str, problem: Problem, order: int | None) -> MassMatrix:
    """The problem, in a form and level of the constraints that RADAU supports."""
    how = SUPPORT[problem.formulation]
    if isinstance(how, str):
        raise ValueError(f"{owner}: RADAU cannot take the form {problem.formulation!r}: {how}")
    assert isinstance(problem, MassMatrix)
    if problem.level == 3 and order in (9, 13):
        raise ValueError(f"{owner}: in index 3 steps of order {order} fail initially or are wrong; use order=None or 5, or the "
                         "form MassMatrix(system, level=2) or level=1")
    return problem


def _lasting(callbacks: SolverCallbacks, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` that raises its first exception again in every later call, as RADAU continues after an exception."""

    def call(*args: Any) -> Any:
        if callbacks.error is not None:
            raise callbacks.error
        try:
            return function(*args)
        except BaseException as error:
            callbacks.error = error
            raise

    return call


def _rhs(callbacks: SolverCallbacks) -> Callable[..., Any]:
    evaluate, sign = callbacks.residual(), -callbacks.direction
    out, at_rest = np.empty(callbacks.problem.n), np.zeros(callbacks.problem.n)

    def rhs(t: float, y: Vector) -> Vector:
        # RADAU accepts NaN as convergence or crashes; `evaluate` has replaced values that are not finite by huge ones
        if evaluate(t, y, at_rest, out) == FATAL:
            assert callbacks.error is not None
            raise callbacks.error
        return np.multiply(out, sign, out=out)

    return rhs


def _jacobian(callbacks: SolverCallbacks) -> Callable[..., Any]:
    n, sign = callbacks.problem.n, -callbacks.direction
    evaluate, J, at_rest = callbacks.jacobian(storage.dense(callbacks.problem)), np.empty((n, n)), np.zeros(n)

    def jacobian(t: float, y: Vector) -> Vector:
        if evaluate(t, y, at_rest, 0.0, J) == FATAL:
            assert callbacks.error is not None
            raise callbacks.error
        return np.multiply(J, sign, out=J)

    return jacobian


class EventLog:
    """A `dense_callback` that locates the zeros of events and stops RADAU after the step with a terminal one.

    `radau13` then returns the end of that step, without its time; the zeros and the states at them are stored here.

    Parameters
    ----------
    callbacks : SolverCallbacks
    events : sequence of callables

    Attributes
    ----------
    times, states : list of list
        Per event: `t` and `y` of its zeros.
    """

    def __init__(self, callbacks: SolverCallbacks, events: Sequence[Event]) -> None:
        self.problem, self.events = callbacks.problem, list(events)
        self._before: list[float] = []
        self.times: list[list[float]] = [[] for _ in self.events]
        self.states: list[list[Vector]] = [[] for _ in self.events]
        self._look = _lasting(callbacks, self._find)

    def __call__(self, t_old: float, t: float, y: Vector, cont: Callable[[float], Vector]) -> bool:
        """Called by RADAU after each step, and initially with `t_old == t`."""
        return bool(self._look(t_old, t, y, cont))

    def _find(self, t_old: float, t: float, y: Vector, cont: Callable[[float], Vector]) -> bool:
        values = [self._value(event, t, y) for event in self.events]
        before, self._before = self._before, values
        found = [] if t == t_old else [k for k, pair in enumerate(zip(before, values)) if passed(self.events[k], *pair)]
        for k in found:
            ends = {t_old: before[k], t: values[k]}  # the values whose signs were compared
            zero = brentq(lambda s, k=k, ends=ends: ends[s] if s in ends else self._value(self.events[k], s, cont(s)), t_old, t,
                          xtol=1e-14, rtol=1e-14)
            self.times[k].append(zero)
            self.states[k].append(cont(zero))
        return any(getattr(self.events[k], "terminal", False) for k in found)

    def _value(self, event: Event, t: float, y: Vector) -> float:
        return evaluated(event, t, *self.problem.motion(t, y))


@dataclass(frozen=True)
class Radau13(Method):
    """RADAU on the mass-matrix form, by default in index 2: Radau IIA of variable step and order.

    Tolerances are divided by a hundred, the output is projected onto the constraints, and accelerations and multipliers are computed from
    the equations: in tests the errors of positions and velocities are below 50 tolerances at all output times. In index 3,
    `MassMatrix(system, level=3)`, errors of velocities may be thousands of tolerances, and runs with large tolerances may fail.

    RADAU stores its state in common blocks, so nested runs are refused.

    Parameters
    ----------
    order : {None, 5, 9, 13}
        `None`: variable order, starting with 5. Orders 9 and 13 are not possible with `MassMatrix(system, level=3)`.
    jacobian : str or Strategy
        `"exact"` (complex step along column groups), another strategy or its name such as `"grouped:partitioned"` (see
        `mbdae.JacobianStrategy`), or `"difference"`: the difference quotients of RADAU.
    max_step : float
    first_step : float
        Zero: the first step of the formulation.
    max_steps : int
        Steps after which the run ends with `TOO_MANY_STEPS`.
    backend : {"auto", "library", "wrapper"}
        `"library"`: the routine in the library of the package is called directly, with compiled callbacks and no Python in its loop;
        `"wrapper"`: through the package; `"auto"`: the library where its version was tested, otherwise the wrapper.

    Examples
    --------
    >>> import mbdae
    >>> mbdae.Radau13().label
    'RADAU'
    """

    order: int | None = None
    jacobian: str | Strategy = "exact"
    max_step: float = np.inf
    first_step: float = 0.0
    max_steps: int = 1_000_000
    backend: str = "auto"

    support = SUPPORT
    package = "pyradau13"
    own_differences = True
    one_step = True

    def __post_init__(self) -> None:
        _check_choices("Radau13", self.order, self.jacobian)
        check_max_step("Radau13", self.max_step)
        check_step("Radau13", "first_step", self.first_step)
        check_max_steps("Radau13", self.max_steps)
        check_choice("Radau13", "backend", self.backend, BACKENDS)

    @staticmethod
    def availability() -> Availability:
        """State of the package."""
        return availability()

    @property
    def label(self) -> str:
        """Name for tables and legends."""
        order = "RADAU" if self.order is None else f"RADAU of order {self.order}"
        return labelled(order, self.jacobian)

    def integrate(self, problem: Problem, state: State, t_end: float, *, rtol: float, atol: Tolerance, t_eval: Vector | None = None,
                  every: int = 1, progress: TimeProgress | None = None, until: Until | None = None) -> Trajectory:
        """See `mbdae.driver.method`."""
        problem = _checked("Radau13", problem, self.order)
        span, direction = abs(t_end - state.t), 1 if t_end > state.t else -1
        # the time of RADAU increases from `span`: near zero no step size would count as too small, down to 1e-308
        callbacks = SolverCallbacks(problem, keeps=True, t0=state.t - direction * span, direction=direction)
        start, directly = problem.pack(state), called_directly("Radau13", self.backend, problem, *DIRECT_RADAU)
        if not directly:
            problem.compile(state.t, *start)
        run = Run(callbacks, state.t, t_end, start, t_eval=t_eval, every=every, progress=progress, until=until, max_steps=self.max_steps)
        watch = Stopwatch()
        if directly:
            output = Output(progress is not None or until is not None, every)
            direct = DirectRadau(run, self._options(run, span, rtol, atol), start[0], span, self.jacobian, output, _failure)
            watch = Stopwatch()  # without what was compiled
            run.carry_out(direct.integrate)
            counts = direct.counts()
        else:
            run.carry_out(lambda: self._drive(run, start[0], span, rtol, atol))
            counts = self._counts(run)
        return run.trajectory(Statistics(steps=run.steps, seconds=watch.seconds, cpu_seconds=watch.cpu_seconds, **counts))

    def _options(self, run: Run, span: float, rtol: float, atol: Tolerance) -> dict[str, Any]:
        """Those of `radau13`, with callbacks that raise no exceptions."""
        callbacks, n = run.callbacks, run.problem.n
        options = radau13_arguments(run.problem, rtol, atol, self.jacobian, self.order, callbacks=callbacks)
        # no exceptions through RADAU, see `_lasting`: with zeros it ends its step, or finds a singular matrix, at once
        options |= {name: callbacks.guarded(options[name], np.zeros(size)) for name, size in (("rhs_fn", n), ("jacobian_fn", (n, n)))
                    if name in options}
        options["max_step_size"] = self.max_step if math.isfinite(self.max_step) else 0.0
        options["h0"] = self.first_step or options["h0"]
        return options

    def _drive(self, run: Run, y0: Vector, span: float, rtol: float, atol: Tolerance) -> None:
        from pyradau13 import radau13

        options = self._options(run, span, rtol, atol)
        options["dense_callback"] = run.callbacks.guarded(_acceptance(run, span), True)
        with alone("RADAU"):
            try:
                radau13(**options, y0=y0, t0=span, t=2.0 * span)
            except RuntimeError as error:
                run.callbacks.raise_kept()
                raise _failure(error) from error

    def _counts(self, run: Run) -> dict[str, int | None]:
        """Through the package RADAU does not report its counts; evaluations for difference quotients cannot be separated."""
        if self.jacobian == "difference":
            return {}
        return {"residuals": run.callbacks.calls, "residuals_jacobian": 0, "jacobians": run.callbacks.jacobians}


def _acceptance(run: Run, span: float) -> Callable[..., Any]:
    """The `dense_callback` of RADAU, which passes its steps to `run`; true ends the integration."""
    callbacks, no_rates = run.callbacks, np.full(run.problem.n, np.nan)

    def accept(s_old: float, s: float, y: Vector, cont: Callable[[float], Vector]) -> bool:
        def at(t: float) -> tuple[Vector, Vector]:
            return cont(min(max(callbacks.clock(t), s_old), s)), no_rates  # `cont` refuses times outside of the step, even by rounding

        if s > s_old:  # the first call is for the initial values
            run.accept(run.t_end if 2.0 * span - s <= 1e-14 * span else callbacks.time(s), y, no_rates, at)
        return run.ended  # a remaining step would be too short

    return accept


def _failure(error: Exception) -> SolverFailure:
    """The report of RADAU as a `SolverFailure`, without the time of the solver."""
    report = str(error)
    reason = "; ".join(line.strip() for line in report.split("\n") if "AT X=" not in line)
    return SolverFailure(Status.STEP_TOO_SMALL if "idid = -3" in report else Status.SOLVER_FAILED, f"RADAU: {reason}")
