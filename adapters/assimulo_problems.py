"""Mechanisms as problems of Assimulo."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mbdae.driver.callbacks import FATAL, GOOD, RECOVERABLE, SolverCallbacks, SolverFailure
from mbdae.problems import Overdetermined
from mbdae.problems.base import Problem
from mbdae.results.events import evaluated
from mbdae.results.status import Status
from mbdae.system.assembly import State
from mbdae.system.start import start_at
from mbdae.typing import Event, Integers, Vector

from . import storage
from .assimulo_invariants import WithInvariants
from .assimulo_support import SOLVERS
from .fortran.records import is_quotient

PATIENCE = 200  # evaluations after an exception within which a solver that can be stopped comes to the end of a step


def implicit_problem(problem: Problem, t0: float = 0.0, state: State | None = None, events: Sequence[Event] | None = None,
                     callbacks: SolverCallbacks | None = None) -> Any:
    """A mechanism as `assimulo.problem.Implicit_Problem`.

    Parameters
    ----------
    problem : Problem
        Any implicit form except the overdetermined one.
    t0 : float
    state : State, optional
        Consistent initial values; by default assembled from the guess of the mechanism's bodies.
    events : sequence of callables, optional
        `event(t, q, v) -> float`, with `terminal` and `direction`, become `state_events` and `handle_event`; `t_events[k]` of the
        result holds the times at which event `k` was found.
    callbacks : SolverCallbacks, optional
        Counter of evaluations, by default a new one; it can also reverse time.

    Returns
    -------
    Implicit_Problem
        With `res`, `jac`, `algvar`, `y0`, `yd0`, and `source`, the problem whose `unpack`, `motion` and `state` belong to its `y`.

    Raises
    ------
    ValueError
        If the problem has another form.
    """
    if not problem.implicit or problem.m != problem.n:
        raise ValueError(f"implicit_problem needs as many residuals as unknowns, got {problem!r}; see explicit_problem and "
                         "overdetermined_problem")
    native, y0, yd0 = _native("Implicit_Problem", problem, t0, state, callbacks)
    native.y0, native.yd0 = y0, native.callbacks.rate(yd0)
    native.res, native.jac = _residual(native), _jacobian(native)
    if problem.algebraic.any():
        native.algvar = algvar(problem)
    if events is not None:
        native.watch(events)
    return native


def explicit_problem(problem: Problem, t0: float = 0.0, state: State | None = None, events: Sequence[Event] | None = None,
                     callbacks: SolverCallbacks | None = None) -> Any:
    """A mechanism as `assimulo.problem.Explicit_Problem` with `rhs` and `jac`.

    Parameters
    ----------
    problem : Problem
        Explicit: `UnderlyingODE` or `StateSpace`.
    t0, state, events, callbacks
        As for `implicit_problem`.
    """
    if problem.implicit:
        raise ValueError(f"explicit_problem needs an UnderlyingODE or a StateSpace, got {problem!r}; see implicit_problem")
    native, y0, _ = _native("Explicit_Problem", problem, t0, state, callbacks)
    native.y0, native.rhs, native.jac = y0, _rhs(native), _rhs_jacobian(native)
    if events is not None:
        native.watch(events)
    return native


def overdetermined_problem(problem: Problem, t0: float = 0.0, state: State | None = None, callbacks: SolverCallbacks | None = None) -> Any:
    """A mechanism as `assimulo.problem.Overdetermined_Problem` for ODASSL, with `y = (q, v)`: see `WithInvariants`.

    Parameters
    ----------
    problem : Overdetermined
    t0, state, callbacks
        As for `implicit_problem`. ODASSL has no events.
    """
    if isinstance(problem, Overdetermined):
        problem = WithInvariants(problem)
    if not isinstance(problem, WithInvariants):
        raise ValueError(f"overdetermined_problem needs an Overdetermined problem, got {problem!r}")
    native, y0, yd0 = _native("Overdetermined_Problem", problem, t0, state, callbacks)
    native.y0, native.yd0, native.res, native.neq = y0, native.callbacks.rate(yd0), _residual(native), problem.m
    return native


class _Result(NamedTuple):
    """The last result of a solver."""

    t: float
    y: Vector
    yd: Vector | None


class Guarded:
    """Base of the problems made here: no exception of a callback is lost, and the results are copies.

    Attributes
    ----------
    callbacks : SolverCallbacks
    listener : callable or None
        `listener(t, y, yd, solver)` receives the results instead of the lists of the solver.
    stoppable : bool
        Whether the solver can be stopped after a step. Exceptions must not be raised through these solvers: RungeKutta34 and, before 3.9,
        CVode suppress them, others replace them, IDA prints them, and Fortran writes to standard error. Instead the callback returns finite
        values, the solver is stopped, and then the exception is raised. It is raised through the others.
    invalidates : bool
        Whether the solver gets NaN where the equations are not finite: relative to huge states an error may pass the test of Dopri5.
    takes_quotients : bool
        Whether the solver takes difference quotients that are not finite for derivatives, see `is_quotient`.
    ends_at_nan : bool
        Whether the first values that are not finite end the run: RungeKutta34 does not repeat steps.
    suppress_errors : callable
        Called before an exception is raised through a solver.
    offset : ndarray or None
        Shift of the unknowns of the solver relative to those of the problem.
    """

    callbacks: SolverCallbacks
    listener: Callable[..., None] | None = None
    offset: Vector | None = None
    stoppable, invalidates, ends_at_nan, takes_quotients = False, False, False, False
    events: tuple[Event, ...] = ()
    t_events: Sequence[list[float]] = ()
    _last: _Result | None = None
    _ignored = 0  # evaluations since an exception has been kept
    if TYPE_CHECKING:  # attributes of the classes of Assimulo
        y0: Vector
        rhs: Callable[..., Any]

    @property
    def source(self) -> Any:
        """The problem behind this one."""
        return self.callbacks.problem

    def suppress_errors(self) -> None:
        """Does nothing in a script."""

    def initialize(self, solver: Any) -> None:
        """Called at the start of a simulation."""
        name = type(solver).__name__
        self.callbacks.error, self._ignored = None, 0
        self.stoppable = name in SOLVERS and SOLVERS[name].stops and solver.problem_info["step_events"]
        self.invalidates, self.ends_at_nan = name == "Dopri5", name == "RungeKutta34"
        self.takes_quotients = name in ("Radau5DAE", "ODASSL", "GLIMDA")
        offset = solver.y0 - self.y0
        self.offset = offset if offset.any() else None

    def finalize(self, solver: Any) -> None:
        """Does nothing; the one of Assimulo would log."""

    def handle_result(self, solver: Any, t: float, y: Vector, yd: Vector | None = None) -> None:
        """Store a result or pass it to the listener; copies, as ODASSL overwrites the first array later."""
        y, yd = y.copy(), None if yd is None else yd.copy()
        if self.callbacks.error is None:
            try:
                self._accept(solver, t, y if self.offset is None else y - self.offset, yd)
                self._last = _Result(t, y, yd)
            except BaseException as error:
                self.callbacks.error = error
        if not self.stoppable:
            self.raise_kept(solver)

    def _accept(self, solver: Any, t: float, y: Vector, yd: Vector | None) -> None:
        if not np.isfinite(y).all():  # IDA may return NaN with success
            raise SolverFailure(Status.NOT_FINITE, f"the solver returned values that are not finite at t = {self.callbacks.time(t):.9g}")
        if self.listener is not None:
            self.listener(t, y, yd, solver)
        elif len(solver.t_sol) != 1 or solver.t_sol[0] != t:  # several solvers report the initial values twice
            super().handle_result(solver, t, y, *(() if yd is None else (yd,)))  # type: ignore[misc]  # of Assimulo, see `_kind`

    def step_events(self, solver: Any) -> bool:
        """Whether the solver must stop, as `handle_event` has to raise an exception."""
        return self.callbacks.error is not None

    def handle_event(self, solver: Any, event_info: Any) -> None:
        """Raise a stored exception; otherwise store the events, and end the simulation after a terminal one."""
        from assimulo.exception import TerminateSimulation

        try:
            self.raise_kept(solver)
        except TerminateSimulation:  # raised by a user function: it ends the run
            raise
        except BaseException:
            # otherwise Radau5ODE of 3.9 does not free its memory, and the next run crashes
            solver.finalize()
            raise
        found = [k for k, sign in enumerate(event_info[0]) if sign and self._has_direction(solver, k, sign)]
        for k in found:
            self.t_events[k].append(self.callbacks.time(solver.t))
        if any(getattr(self.events[k], "terminal", False) for k in found):
            raise TerminateSimulation

    def raise_kept(self, solver: Any = None) -> None:
        """Raise the stored exception, if any; it remains stored, to distinguish it from exceptions of the solver.

        The solver, which has continued with placeholder values, is reset to the last result.
        """
        if self.callbacks.error is None:
            return
        if solver is not None and self._last is not None:
            solver.t, solver.y = self._last.t, self._last.y
            if self._last.yd is not None:
                solver.yd = self._last.yd
        self.suppress_errors()
        raise self.callbacks.error

    def flag(self, evaluate: Callable[..., Any], *arguments: Any) -> Any:
        """The result of `evaluate`, which stores exceptions itself, except an interrupt before or after it."""
        try:
            return evaluate(*arguments)
        except BaseException as error:
            self.callbacks.error = error
            return FATAL

    def fail(self, out: Vector, placeholder: Vector) -> Vector:
        """Placeholder values of a callback after an exception; raised if the solver cannot be stopped, or does not come to a stop.

        With tolerances whose squares vanish Dopri5 chooses NaN as the size of its first step, which it then repeats without an end.
        """
        self._ignored += 1
        if not self.stoppable or self._ignored > PATIENCE:
            self.raise_kept()
        out[:len(placeholder)] = placeholder
        return out

    def watch(self, events: Sequence[Event]) -> None:
        """Make `event(t, q, v)` state events of Assimulo."""
        self.events, self.t_events = tuple(events), [[] for _ in events]
        evaluate = self.callbacks.guarded(self._values, np.ones(len(self.events)))
        self.state_events = lambda t, y, *derivatives_and_switches: evaluate(t, y)

    def _values(self, t: float, y: Vector) -> Vector:
        time = self.callbacks.time(t)
        q, v = self.source.motion(time, y)
        return np.array([evaluated(event, time, q, v) for event in self.events])

    def _has_direction(self, solver: Any, k: int, sign: int) -> bool:
        """Whether a zero is crossed in the direction of the event; LSODAR does not report the direction, so it is computed from `rhs`."""
        wanted = getattr(self.events[k], "direction", 0)
        if wanted and type(solver).__name__ == "LSODAR":
            h = 1e-7 * max(1.0, abs(solver.t))
            step = h * np.asarray(self.rhs(solver.t, solver.y))
            sign = self._values(solver.t + h, solver.y + step)[k] - self._values(solver.t - h, solver.y - step)[k]
        return not wanted or wanted * sign > 0


@cache
def _kind(name: str) -> Any:
    from assimulo import problem

    return type(f"Mechanism{name}", (Guarded, getattr(problem, name)), {"__doc__": f"A mechanism as `{name}`."})


def _native(kind: str, problem: Problem, t0: float, state: State | None,
            callbacks: SolverCallbacks | None) -> tuple[Any, Vector, Vector]:
    callbacks = SolverCallbacks(problem, keeps=True) if callbacks is None else callbacks
    state = start_at(problem.system, t0) if state is None else state
    if state.t != t0:
        raise ValueError(f"the state belongs to t = {state.t:g}, the problem starts at t0 = {t0:g}")
    native = _kind(kind)(t0=callbacks.clock(t0), name=problem.system.name)
    native.callbacks = callbacks
    return native, *problem.pack(state)


def algvar(problem: Problem) -> Integers:
    """`algvar` of Assimulo: 1 for differential unknowns, 0 for algebraic ones."""
    return np.where(problem.algebraic, 0, 1)


def _not_finite(callbacks: SolverCallbacks, s: float) -> SolverFailure:
    return SolverFailure(Status.NOT_FINITE, f"the equations are not finite near t = {callbacks.time(s):.9g}")


def _residual(native: Any) -> Callable[..., Any]:
    m, callbacks, evaluate = native.source.m, native.callbacks, native.callbacks.residual()
    tried = np.full(1 + 2 * native.source.n, np.nan)

    def res(t: float, y: Vector, yd: Vector, sw: Any = None) -> Vector:
        if native.offset is not None:
            y = y - native.offset
        out = np.empty(m)  # a new array for each call, which users may keep
        flag = native.flag(evaluate, t, y, yd, out)
        if native.takes_quotients and is_quotient(t, y, yd, tried) and flag == RECOVERABLE:
            flag, callbacks.error = FATAL, _not_finite(callbacks, t)
        return out if flag != FATAL else native.fail(out, yd)

    return res


def _rhs(native: Any) -> Callable[..., Any]:
    n, callbacks, evaluate = native.source.n, native.callbacks, native.callbacks.rhs()

    def rhs(t: float, y: Vector, sw: Any = None) -> Vector:
        out = np.empty(n)
        flag = native.flag(evaluate, t, y, out)
        if flag == FATAL:
            failed: Vector = native.fail(out, np.zeros(n))
            return failed
        if flag != GOOD and native.invalidates:
            out[:] = np.nan
        if flag != GOOD and native.ends_at_nan:
            callbacks.error = _not_finite(callbacks, t)
        return out

    return rhs


def _jacobian(native: Any) -> Callable[..., Any]:
    n, evaluate = native.source.n, native.callbacks.jacobian(storage.dense(native.source))

    def jac(c: float, t: float, y: Vector, yd: Vector, sw: Any = None) -> Vector:
        J = np.empty((n, n))
        return J if native.flag(evaluate, t, y, yd, c, J) == GOOD else native.fail(J, c * np.eye(n))

    return jac


def _rhs_jacobian(native: Any) -> Callable[..., Any]:
    n, evaluate = native.source.n, native.callbacks.rhs_jacobian()

    def jac(t: float, y: Vector, sw: Any = None) -> Vector:
        J = native.flag(evaluate, t, y)
        return J if J is not FATAL else np.zeros((n, n))

    return jac
