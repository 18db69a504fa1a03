"""One integration by an external solver: every step passes through `Run.accept`, whether the solver is stepped or calls back."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from ..interrupts import signals
from ..results.creeping import WINDOW, CreepWatch
from ..results.diagnosis import ChartError, NoInterpolant
from ..results.memory import Memory
from ..results.messages import AT_ROUNDING, REACHED_END, TERMINAL_EVENT, failed, too_many_steps
from ..results.rows import Columns, Rows
from ..results.statistics import Statistics
from ..results.status import Cause, Status
from ..results.steps import Step, StepWatch
from ..results.trajectory import Trajectory
from ..results.turning import Moment, TurnWatch
from ..system.assembly import AssemblyError
from ..typing import FullState, Matrix, Motion, TimeProgress, Until, Vector
from .callbacks import GuardedCallbacks, SolverCallbacks, SolverFailure
from .record import Record, Recorded

ROUNDING = 1e-15  # tolerance of the end, relative to the times of the run: GLIMDA stops three units of rounding before it
UNPROJECTED = "cannot be projected onto the constraints"
STALLED = 1000  # consecutive steps that move time by rounding only
MAX_ROWS = 1000  # of output that are kept before they are passed on

At: TypeAlias = Callable[[float], tuple[Vector, Vector | None]]  # `(y, yd)` at a time within the last step; `None` if `yd` is not known


class Row(NamedTuple):
    """One row of the output, see `Problem.stored`."""

    t: float
    y: Vector
    yd: Any


class Stepper(Protocol):
    """An external solver in single steps, see `Run.pull`."""

    def step(self) -> tuple[float, Vector, Vector | None]:
        """Take one step; `(t, y, yd)` at its end, where `yd` is `None` if the solver does not supply it."""
        ...

    def at(self, t: float) -> tuple[Vector, Vector | None]:
        """`(y, yd)` at a time within the last step."""
        ...


class FailedSince(SolverFailure):
    """The run has failed after the time `since`, and its last `steps` do not count."""

    def __init__(self, cause: Cause, since: float, steps: int) -> None:
        super().__init__(*cause)
        self.since, self.steps = since, steps


class Finished(Exception):
    """The run ends before the end of the time span, with success."""


class BasicRun:
    """Collects the output of a solver of any equations, and knows when and why it ends.

    Parameters
    ----------
    callbacks : GuardedCallbacks
    t0, t_end : float
    start : (y, yd)
    t_eval, every, progress
        As for `integrate`, see `mbdae.driver.method`.
    max_steps : int

    Attributes
    ----------
    rows : list of (t, y, yd)
        The stored output.
    steps : int
    status : Status
    message : str
    """

    def __init__(self, callbacks: GuardedCallbacks, t0: float, t_end: float, start: tuple[Vector, Vector], *, t_eval: Vector | None = None,
                 every: int = 1, progress: TimeProgress | None = None, max_steps: int = 1_000_000) -> None:
        self.callbacks, self.t_end, self.max_steps = callbacks, t_end, max_steps
        self.forward, self.rounding = 1.0 if t_end > t0 else -1.0, ROUNDING * max(abs(t0), abs(t_end))
        self.t, self.steps, self._stalled = t0, 0, 0
        self.status, self.message = Status.SUCCESS, REACHED_END
        self._progress, self._every = progress, every
        self.rows: list[Row] = []
        self.wanted = None if t_eval is None else list(t_eval[::-1])
        if self.wanted is None:
            self._keep(t0, *start)
        while self.wanted and self.forward * (self.wanted[-1] - t0) <= 0.0:
            self._keep(self.wanted.pop(), *start)

    def accept(self, t: float, y: Vector, yd: Vector | None, at: At) -> None:
        """To be called after each internal step of the solver.

        Parameters
        ----------
        t : float
        y, yd : ndarray
            Not to be changed afterwards.
        at : callable
            `at(t) -> y, yd` interpolates within the step.

        Raises
        ------
        SolverFailure, Finished
        """
        self.callbacks.raise_kept()
        signals.check()
        if abs(t - self.t_end) <= self.rounding:
            t = self.t_end
        before, self.t = self.t, t
        self._stalled = self._stalled + 1 if abs(t - before) <= 4e-16 * abs(t) else 0
        if self._stalled > STALLED:
            raise SolverFailure(Status.STEP_TOO_SMALL, AT_ROUNDING)
        if t == before:  # after an interpolation SUNDIALS returns the end of its last step once more
            return
        self.steps += 1
        self._store(t, y, yd, at)
        if self._progress is not None:
            self._progress(t)
        if self._stops(before, t, y, at):
            raise Finished(TERMINAL_EVENT)
        if self.steps == self.max_steps and not self.ended:
            raise SolverFailure(Status.TOO_MANY_STEPS, too_many_steps(self.max_steps))

    @property
    def ended(self) -> bool:
        """Whether the end of the time span has been reached."""
        return self.forward * (self.t_end - self.t) <= 0.0

    def carry_out(self, integrate: Callable[[], object]) -> None:
        """Call `integrate()`, which calls `accept`; its end becomes status and message, but exceptions of user functions are raised."""
        try:
            self._call(integrate)
            if not self.ended:
                raise SolverFailure(Status.SOLVER_FAILED, "the solver has stopped before the end")
        except Finished as done:
            self.message = str(done)
        except FailedSince as failure:
            self._fail(failure)
        except SolverFailure as met:
            self._fail(self.callbacks.explain(met))
        except ChartError as error:
            self._fail(error)

    def _fail(self, failure: SolverFailure | ChartError) -> None:
        self.status = failure.status
        self.message = failed(failure.reason, self.t)

    def _call(self, integrate: Callable[[], object]) -> None:
        try:
            integrate()
        except Exception:
            self.callbacks.raise_kept()  # the exception of the solver is a consequence of the kept one
            raise
        self.callbacks.raise_kept()

    def pull(self, stepper: Stepper) -> None:
        """Steps by `stepper.step() -> t, y, yd` until the end; `stepper.at(t) -> y, yd` interpolates within the last one."""
        while not self.ended:
            self.accept(*stepper.step(), stepper.at)

    def _store(self, t: float, y: Vector, yd: Vector | None, at: At) -> None:
        if self.wanted is None and (self.ended or self.steps % self._every == 0):
            self._keep(t, y, yd)
        while self.wanted and self.forward * (t - self.wanted[-1]) >= -1e-14 * abs(t):
            time = self.wanted.pop()
            with self._undisturbed():
                self._keep(time, *((y, yd) if time == t else at(time)))

    # what depends on the equations ---------------------------------------------------------------------------------------

    def _keep(self, t: float, y: Vector, yd: Vector | None) -> None:
        """Store an output."""
        self.rows.append(Row(t, y, yd))

    def _undisturbed(self) -> AbstractContextManager[None]:
        """Context of an output within a step."""
        return nullcontext()

    def _stops(self, before: float, t: float, y: Vector, at: At) -> bool:
        """Whether the run is to end after the step from `before` to `t`."""
        return False


class Run(BasicRun):
    """Collects the output of a solver of a problem, and knows when and why it ends.

    Parameters
    ----------
    callbacks : SolverCallbacks
    t0, t_end, start, t_eval, every, progress, max_steps
        As for `BasicRun`.
    until
        As for `integrate`, see `mbdae.driver.method`; a `Recorded` has the record, too.
    record : Record, optional
    """

    callbacks: SolverCallbacks
    since: float | None  # the end of the valid part of the output, see `FailedSince`

    def __init__(self, callbacks: SolverCallbacks, t0: float, t_end: float, start: tuple[Vector, Vector], *, t_eval: Vector | None = None,
                 every: int = 1, progress: TimeProgress | None = None, until: Until | None = None, max_steps: int = 1_000_000,
                 record: Record | None = None) -> None:
        self.problem, self._until, self.since = callbacks.problem, until, None
        self.record = record
        self.remember: Callable[[], Memory] | None = None  # the memory of the solver, where it can be kept
        if isinstance(until, Recorded):
            self.record, self._until = until.record, until.until
        s = self.problem.system
        self.output = Rows((s.nq, s.nv, s.nv, s.nc)) if self.record is None else self.record.rows
        self.last = self._moment(t0, start[0])
        begins = Moment(t0, self.last.q.copy(), self.last.v)
        self.turns, self.creeping = TurnWatch(s, begins), CreepWatch(s, begins)
        super().__init__(callbacks, t0, t_end, start, t_eval=t_eval, every=every, progress=progress, max_steps=max_steps)
        if self.record is not None and self.record.continues:  # the output of the start is that of the earlier run
            self.rows.clear()
        if self.record is not None and self.record.resumed is not None and t_eval is not None:
            self.wanted = list(t_eval[self.record.resumed.rows:][::-1])

    def accept(self, t: float, y: Vector, yd: Vector | None, at: At) -> None:
        """See `BasicRun`."""
        super().accept(t, y, yd, at)
        if self.record is not None:
            self._pass_on(self.record)

    def take(self, t: float, steps: int, rows: Iterable[tuple[float, Vector]]) -> None:
        """The output of a solver whose steps have been taken in compiled code, up to the step of number `steps` at the time `t`."""
        self.t, self.steps = t, steps
        for time, y in rows:
            self._keep(time, y, None)
        if len(self.rows) >= MAX_ROWS:
            lost = self._drain()
            if lost is not None:
                raise SolverFailure(*lost)

    def _pass_on(self, record: Record) -> None:
        """Pass output on, and write a checkpoint if it is time for one."""
        due = record.due
        if len(self.rows) >= MAX_ROWS or due:
            lost = self._drain()
            if lost is not None:
                raise SolverFailure(*lost)
        if due:
            memory = None if self.remember is None else self.remember()
            record.checkpoint(self.trajectory(Statistics(steps=self.steps)), memory)

    def _keep(self, t: float, y: Vector, yd: Vector | None) -> None:
        try:
            self.rows.append(Row(*self.problem.stored(t, y, yd)))
        except ChartError as error:
            raise SolverFailure(error.status, error.reason) from error

    def _undisturbed(self) -> AbstractContextManager[None]:
        return self.problem.undisturbed()

    def _stops(self, before: float, t: float, y: Vector, at: At) -> bool:
        self.look_for_turns(t, y)
        self.look_for_creeping(t, y)
        if self._until is None:
            return False
        if not isinstance(self._until, StepWatch):
            return self._until(t, *self.problem.motion(t, y))
        problem = self.problem

        def sample(times: Vector) -> Matrix:
            with problem.undisturbed():
                return np.array([problem.interpolated(s, at(s)[0]) for s in times])

        try:
            return self._until.after(Step(before, t, lambda: self._motion(t, y), problem.interpolated(t, y), sample, problem.completed))
        except NoInterpolant as error:
            raise FailedSince(Cause(error.status, error.reason), before, 1) from error

    def look_for_turns(self, t: float, y: Vector) -> None:
        """End the run if it has turned onto another branch of the motion with this step."""
        if not self.turns.active:
            return
        before, self.last = self.last, self._moment(t, y)
        if not self.turns.sudden(before.v, self.last.v, t - before.t):
            return
        with self.problem.undisturbed():
            turn = self.turns.examine(before, self.last)
        if turn is not None:
            raise FailedSince(*turn)

    def look_for_creeping(self, t: float, y: Vector) -> None:
        """End the run if its step sizes tend to zero at a singular position; examined after each `WINDOW` of steps."""
        if not self.creeping.active or self.steps % WINDOW:
            return
        with self.problem.undisturbed():
            found = self.creeping.after(self.steps, t, self._moment(t, y).q)
        if found is not None:
            raise SolverFailure(*found)

    def _moment(self, t: float, y: Vector) -> Moment:
        """Time, positions and velocities; views of `y` where they are among the unknowns."""
        blocks = self.problem.blocks
        return Moment(t, y[blocks["q"]], y[blocks["v"]]) if "v" in blocks else Moment(t, *self.problem.motion(t, y))

    def _fail(self, failure: SolverFailure | ChartError) -> None:
        if isinstance(failure, FailedSince):
            self.since, self.t = failure.since, failure.since
            self.steps -= failure.steps
            self.rows = [row for row in self.rows if self.forward * (row.t - self.since) <= 0.0]
        super()._fail(failure)

    def _motion(self, t: float, y: Vector) -> Motion:
        """Positions and velocities as they are put out."""
        try:
            return self.problem.projected(t, y)
        except AssemblyError as error:
            raise SolverFailure(Status.SOLVER_FAILED, f"the output at t = {t:.9g} {UNPROJECTED}: {error}") from error

    def trajectory(self, statistics: Statistics) -> Trajectory:
        """The stored output as states of the system, up to the first one that cannot be projected onto the constraints."""
        lost = self._drain()
        if lost is not None:
            self.status, self.message = lost
        return Trajectory(*self.output.columns(), self.callbacks.complete(statistics), self.status, self.message, self.since)

    def _drain(self) -> Cause | None:
        """Pass the stored output on as states of the system; the cause if one of them cannot be had."""
        if not self.rows:
            return None
        t, y, yd = zip(*self.rows)
        signals.check()
        try:
            with self._undisturbed():
                self.output.append(Columns(np.array(t), *self.problem.states(np.array(t), np.array(y), yd)))
            self.rows.clear()
            return None
        except (AssemblyError, FloatingPointError):
            return self._drain_one_by_one()

    def _drain_one_by_one(self) -> Cause | None:
        """The same where one of the states cannot be had, which ends the output."""
        system, lost = self.problem.system, None
        states: list[FullState] = []
        try:
            for row in self.rows:
                signals.check()
                with self._undisturbed():
                    states.append(self.problem.state(*row))
        except (AssemblyError, FloatingPointError) as error:
            if system.callbacks.has_raised(error):
                raise
            at, off = self.rows[len(states)].t, isinstance(error, AssemblyError)
            reason = f"the output at t = {at:.9g} {UNPROJECTED if off else 'has no finite equations'}: {error}"
            lost = Cause(Status.SOLVER_FAILED if off else Status.NOT_FINITE, reason)
        t = np.array([row.t for row in self.rows[:len(states)]])
        sizes = (system.nq, system.nv, system.nv, system.nc)
        q, v, a, lam = (np.array([s[k] for s in states]).reshape(len(t), n) for k, n in enumerate(sizes))
        self.output.append(Columns(t, q, v, a, lam))
        self.rows.clear()
        return lost
