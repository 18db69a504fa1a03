"""pyradau13: RADAU of Hairer and Wanner, Radau IIA methods of order 5, 9 and 13 for `M y' = f(t, y)` with a constant singular `M`."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq

from mbdae.driver.arguments import check_max_step, check_max_steps, check_step
from mbdae.driver.availability import Availability, installed
from mbdae.driver.callbacks import FATAL, SolverCallbacks, SolverFailure
from mbdae.driver.run import Run
from mbdae.driver.support import EXPLICIT, SQUARE_ONLY, Settings, supported
from mbdae.jacobians.strategy import Strategy, as_strategy, labelled
from mbdae.results.events import evaluated, passed
from mbdae.results.statistics import Statistics
from mbdae.results.status import Status
from mbdae.results.trajectory import Trajectory
from mbdae.stopwatch import Stopwatch
from mbdae.system.assembly import State

from . import pyradau13 as recipe
from . import storage
from .contract import Event, Progress, Support, Tolerance, Until, Vector
from .terminal import alone

MANY_STEPS = 2**31 - 1  # the limit of steps is kept by `Run`, which counts accepted ones

_LEVELS = "it takes M y' = f(t, y) with a constant M; 'mass' is that form, with the constraints on any level: MassMatrix(system, level=...)"
_ORDERS = (None, 5, 9, 13)

# RADAU scales the errors of an unknown by its index, so multipliers stay in the error test. The polynomials between its steps are of lower
# order than these: errors there are some hundred times those at the ends, which smaller tolerances hold down. In index 3 they do not help
# the velocities, whose errors count h times, as much as they cost.
POSITION_LEVEL = 1e-1  # factor on the tolerances in index 3
_MASS = Settings(excluded_atol=1e-6, tighten=1e-2, scaling="errors of index 2 by h, of index 3 by h^2")
SUPPORT: Support = {"mass": _MASS,
           **{form: _LEVELS for form in ("index3", "ggl", "gear", "index2", "index1")}, "overdetermined": SQUARE_ONLY,
           **{form: f"it is driven with a mass matrix; SciPy's Radau does {form!r}" for form in EXPLICIT}}


def availability() -> Availability:
    """State of the package."""
    return installed("pyradau13", "pyradau13", f"pip install {recipe.FOLDER}", "pip install ./adapters/pyradau13")


def radau13_arguments(problem: Any, rtol: float = 1e-6, atol: Tolerance = 1e-8, jacobian: str | Strategy = "exact",
                      order: int | None = None, events: Sequence[Event] | None = None,
                      callbacks: SolverCallbacks | None = None) -> dict[str, Any]:
    """Arguments for `radau13`: `radau13(**radau13_arguments(problem), y0=y0, t=t_end)` with the right settings.

    They hold `rhs_fn`, `jacobian_fn`, `mass_matrix`, the numbers of unknowns of each index, tolerances, the first step, and the order.

    Parameters
    ----------
    problem : MassMatrix
    rtol, atol : float
        Tolerances of positions and velocities; multipliers get their own `atol`.
    jacobian : str or Strategy
        `"exact"` (complex step along column groups), another strategy or its name such as `"grouped:partitioned"` (see
        `mbdae.JacobianStrategy`), or `"difference"`: RADAU's own quotients.
    order : {None, 5, 9, 13}
        `None` begins with 5 and leaves the choice to RADAU; 9 and 13 need the constraints on the velocity or acceleration level, as by
        default.
    events : sequence of callables, optional
        `event(t, q, v) -> float`, with `terminal` and `direction`: an `EventLog` finds their zeros as `dense_callback`.
    callbacks : SolverCallbacks, optional
        Counter of evaluations.

    Returns
    -------
    dict

    Raises
    ------
    ValueError
        If RADAU cannot take the formulation, or this order of it.
    """
    _check_choices("radau13_arguments", order, jacobian)
    _check_problem("radau13_arguments", problem, order)
    callbacks = SolverCallbacks(problem) if callbacks is None else callbacks
    callbacks.use(jacobian)
    how = _MASS
    factor = POSITION_LEVEL if problem.level == 3 else how.tighten
    atol = problem.tolerances(rtol, atol * factor if np.ndim(atol) == 0 else atol, how.excluded_atol)
    # one vector of tolerances demands the other
    options = {"rhs_fn": _lasting(callbacks, _rhs(callbacks)), "reltol": np.full(problem.n, rtol * factor), "abstol": atol,
               "mass_matrix": problem.mass.toarray(), "h0": problem.first_step, "max_steps": MANY_STEPS, "initial_order": order or 5}
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


def _check_problem(owner: str, problem: Any, order: int | None) -> None:
    how = SUPPORT[problem.formulation]
    if isinstance(how, str):
        raise ValueError(f"{owner}: RADAU cannot take the form {problem.formulation!r}: {how}")
    if problem.level == 3 and order in (9, 13):
        raise ValueError(f"{owner}: in index 3 steps of order {order} fail at the start or miss the solution; take order=None or 5, or the "
                         "form MassMatrix(system, level=2) or level=1")


def _lasting(callbacks: SolverCallbacks, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` as RADAU has to see it: RADAU goes on after an exception, so every later call raises the same one again."""

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
        # RADAU takes NaN for convergence or crashes on it, so what is not finite has become huge
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
    """A `dense_callback` that finds the zeros of events and halts RADAU after the step in which there was a terminal one.

    `radau13` then returns the end of that step, without its time; the zeros and the states there are kept here.

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
        """As RADAU calls it after each step, and with `t_old == t` at the start."""
        return self._look(t_old, t, y, cont)

    def _find(self, t_old: float, t: float, y: Vector, cont: Callable[[float], Vector]) -> bool:
        values = [self._value(event, t, y) for event in self.events]
        before, self._before = self._before, values
        found = [] if t == t_old else [k for k, pair in enumerate(zip(before, values)) if passed(self.events[k], *pair)]
        for k in found:
            ends = {t_old: before[k], t: values[k]}  # as they were when their signs were compared
            zero = brentq(lambda s, k=k, ends=ends: ends[s] if s in ends else self._value(self.events[k], s, cont(s)), t_old, t,
                          xtol=1e-14, rtol=1e-14)
            self.times[k].append(zero)
            self.states[k].append(cont(zero))
        return any(getattr(self.events[k], "terminal", False) for k in found)

    def _value(self, event: Event, t: float, y: Vector) -> float:
        return evaluated(event, t, *self.problem.motion(t, y))


@dataclass(frozen=True)
class Radau13:
    """RADAU on the mass-matrix form, by default in index 2: Radau IIA of variable step and order.

    Tolerances are made a hundred times smaller, and the output is projected onto the constraints and completed by the equations: where
    tried, errors of positions and velocities are then below 50 tolerances at all output times. In index 3, `MassMatrix(system, level=3)`,
    velocities may be off by thousands of tolerances, and runs at loose tolerances may fail.

    One run at a time: RADAU keeps its state in common blocks, so a user function that calls it in turn is refused.

    Parameters
    ----------
    order : {None, 5, 9, 13}
        `None`: RADAU begins with order 5 and chooses. Orders 9 and 13 are not for a problem `MassMatrix(system, level=3)`.
    jacobian : str or Strategy
        `"exact"` (complex step along column groups), another strategy or its name such as `"grouped:partitioned"` (see
        `mbdae.JacobianStrategy`), or `"difference"`: RADAU's own quotients.
    max_step : float
    first_step : float
        Zero leaves it to the formulation.
    max_steps : int
        Steps after which the run ends with `TOO_MANY_STEPS`.
    """

    order: int | None = None
    jacobian: str | Strategy = "exact"
    max_step: float = np.inf
    first_step: float = 0.0
    max_steps: int = 1_000_000

    support = SUPPORT
    formulations = supported(SUPPORT)
    package = "pyradau13"
    availability = staticmethod(availability)
    one_step = True

    def __post_init__(self) -> None:
        _check_choices("Radau13", self.order, self.jacobian)
        check_max_step("Radau13", self.max_step)
        check_step("Radau13", "first_step", self.first_step)
        check_max_steps("Radau13", self.max_steps)

    @property
    def label(self) -> str:
        """Name for tables and legends."""
        order = "RADAU" if self.order is None else f"RADAU of order {self.order}"
        return labelled(order, self.jacobian)

    def integrate(self, problem: Any, state: State, t_end: float, *, rtol: float, atol: Tolerance, t_eval: Vector | None = None,
                  every: int = 1, progress: Progress | None = None, until: Until | None = None) -> Trajectory:
        """See `mbdae.driver.method`."""
        _check_problem("Radau13", problem, self.order)
        span, direction = abs(t_end - state.t), 1 if t_end > state.t else -1
        # RADAU's clock runs forward only, and begins at `span`: at zero RADAU takes no step for too small, down to 1e-308
        callbacks = SolverCallbacks(problem, keeps=True, t0=state.t - direction * span, direction=direction)
        start = problem.pack(state)
        problem.compile(state.t, *start)
        run = Run(callbacks, state.t, t_end, start, t_eval=t_eval, every=every, progress=progress, until=until, max_steps=self.max_steps)
        watch = Stopwatch()
        run.carry_out(lambda: self._drive(run, start[0], span, rtol, atol))
        return run.trajectory(self._statistics(run, watch.seconds))

    def _drive(self, run: Run, y0: Vector, span: float, rtol: float, atol: Tolerance) -> None:
        from pyradau13 import radau13

        callbacks, n = run.callbacks, run.problem.n
        options = radau13_arguments(run.problem, rtol, atol, self.jacobian, self.order, callbacks=callbacks)
        # nothing may be raised through RADAU, see `_lasting`: on zeros it finds the end of its step, or a singular matrix, at once
        options |= {name: callbacks.guarded(options[name], np.zeros(size)) for name, size in (("rhs_fn", n), ("jacobian_fn", (n, n)))
                    if name in options}
        options["dense_callback"] = callbacks.guarded(_acceptance(run, span), True)
        options["max_step_size"] = self.max_step if math.isfinite(self.max_step) else 0.0
        options["h0"] = self.first_step or options["h0"]
        with alone("RADAU"):
            try:
                radau13(**options, y0=y0, t0=span, t=2.0 * span)
            except RuntimeError as error:
                callbacks.raise_kept()
                raise _failure(str(error)) from error

    def _statistics(self, run: Run, seconds: float) -> Statistics:
        """RADAU does not tell what it has counted, nor which evaluations were for difference quotients."""
        callbacks = run.callbacks
        if self.jacobian == "difference":
            return Statistics(steps=run.steps, seconds=seconds)
        return Statistics(steps=run.steps, residuals=callbacks.calls, residuals_jacobian=0, jacobians=callbacks.jacobians, seconds=seconds)


def _acceptance(run: Run, span: float) -> Callable[..., Any]:
    """RADAU's `dense_callback`, which hands its steps over to `run`; true ends the integration."""
    callbacks, no_rates = run.callbacks, np.full(run.problem.n, np.nan)

    def accept(s_old: float, s: float, y: Vector, cont: Callable[[float], Vector]) -> bool:
        def at(t: float) -> tuple[Vector, Vector]:
            return cont(min(max(callbacks.clock(t), s_old), s)), no_rates  # `cont` refuses what lies outside by rounding

        if s > s_old:  # the first call is for the start
            run.accept(run.t_end if 2.0 * span - s <= 1e-14 * span else callbacks.time(s), y, no_rates, at)
        return run.ended  # what may be left is too short for RADAU

    return accept


def _failure(report: str) -> SolverFailure:
    """RADAU's report of how it ended, without the time on its own clock."""
    reason = "; ".join(line.strip() for line in report.split("\n") if "AT X=" not in line)
    return SolverFailure(Status.STEP_TOO_SMALL if "idid = -3" in report else Status.SOLVER_FAILED, f"RADAU: {reason}")
