"""Runs of one-step methods that are restarted from the projected state after each step, see `Projected`."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..driver.method import Method
from ..driver.record import Record
from ..problems.base import Problem
from ..results.diagnosis import ChartError, near_singular, singular_ahead
from ..results.memory import Memory
from ..results.messages import REACHED_END, TERMINAL_EVENT, failed, too_many_steps
from ..results.rows import Columns, Rows
from ..results.statistics import Statistics, summed
from ..results.status import Cause, Status
from ..results.steps import Step, StepWatch, TimedState, split_state
from ..results.trajectory import Trajectory
from ..results.turning import Moment, TurnWatch
from ..stopwatch import Stopwatch
from ..system.assembly import AssemblyError, State, accelerations
from ..typing import FullState, Matrix, TimeProgress, Tolerance, Until, Vector
from .projections.memory import ProjectedMemory
from .projections.states import Projection

STRETCH = 1.25  # factor of the step size after a step that was not cut
MIN_RATIO = 0.99  # of the step taken to the step proposed, below which it has been cut
SAME_TIME = 1e-9  # distance of two equal times, relative to the step size
LAST = 1.02  # factor of the step size up to which the end of the run limits a step
AHEAD = 2.0  # steps that are searched for a singular position: methods of low order fail early
VAGUE = (Status.NEWTON_FAILED, Status.STEP_TOO_SMALL)  # failures whose cause may be a singular position


class _Before(NamedTuple):
    """What a step starts from: the state, the step size proposed, the energy to be conserved."""

    state: State
    step: float
    target: float


class Options(NamedTuple):
    """The options of `integrate`."""

    t_eval: Vector | None
    every: int
    progress: TimeProgress | None
    until: Until | None
    record: Record | None


class ProjectedRun:
    """One integration by a method that is restarted from the projected states."""

    def __init__(self, method: Method, problem: Problem, state: State, t_end: float, tolerances: tuple[float, Tolerance],
                 projection: Projection, output: Options) -> None:
        self.inner, self.problem, self.system, self.state, self.t_end = method, problem, problem.system, state, t_end
        self.tolerances, self.every, self.progress, self.until = tolerances, output.every, output.progress, output.until
        self.projection, self.max_steps, self.fixed = projection, method.max_steps, method.step_size
        self.step, self.steps, self.forward = 0.0, 0, 1.0 if t_end > state.t else -1.0
        self.begins, self.last = state, (state.t, state.q, state.v, state.a, state.lam)
        self.rows: list[TimedState] = []  # those of the last steps
        self.record, sizes = output.record, [len(x) for x in (state.q, state.v, state.a, state.lam)]
        self.output = Rows(sizes) if self.record is None else self.record.rows
        self.counted: list[Statistics] = []
        self.restarts, self.passed = 0, np.nan  # runs of the method before those in `counted`, time of the last row that was passed on
        self.status, self.message = Status.SUCCESS, REACHED_END
        self.turns = TurnWatch(self.system)
        self.end: float | None = None  # of the valid part of a run that has turned
        self.times = None if output.t_eval is None else np.asarray(output.t_eval, dtype=float)  # of the output that is still to come
        self.memory, self.held, self.watch = ProjectedMemory(problem, projection, self.turns), False, Stopwatch()
        if self.record is not None and self.record.resumed is not None:
            self._resume(self.record.resumed)
        else:
            self._keep_start()

    def _keep_start(self) -> None:
        s = self.state
        if self.times is None or s.t in self.times[:1]:
            self.rows.append((s.t, s.q, s.v, s.a, s.lam))
        if self.times is not None:
            self.times = self.times[self.forward * (self.times - s.t) > 0.0]

    def to_end(self) -> Trajectory:
        """Integrate, and return the trajectory."""
        try:
            while self.forward * (self.t_end - self.state.t) > 0.0:
                self._remember()
                before = _Before(self.state, self.step, self.projection.target)
                self._adaptive() if self.fixed is None else self._fixed(self.fixed)
                if self.progress is not None:
                    self.progress(self.state.t)
                self._look_for_turns(before.state)
                if self.until is not None and self._ends(before):
                    self.message = TERMINAL_EVENT
                    break
                if self.max_steps is not None and self.steps >= self.max_steps and self.state.t != self.t_end:
                    raise ChartError(Status.TOO_MANY_STEPS, too_many_steps(self.max_steps))
        except ChartError as failure:
            self._fail(failure.status, failed(failure.reason, self.state.t))
        except _Ended as ended:
            self._fail(ended.status, ended.reason)
        if self.record is not None and self.message != REACHED_END:
            self.record.memory = self._now() if self.status == Status.TOO_MANY_STEPS else None
        return self._trajectory()

    # continuation ----------------------------------------------------------------------------------------------------------

    def _remember(self) -> None:
        """Pass output on; keep the memory before the end of the run limits the steps, and write checkpoints."""
        record = self.record
        if record is None:
            return
        self._pass_on()
        rest, step = abs(self.t_end - self.state.t), self.step if self.fixed is None else self.fixed
        if not self.held and LAST * step >= rest:
            self.held, record.memory = True, self._now()
        if record.due:
            record.checkpoint(self._trajectory(), self._now())

    def _now(self) -> Memory:
        """The memory after the last step."""
        assert self.record is not None
        self._pass_on()
        numbers = [self.step, self.steps, self.restarts + len(self.counted), self.passed]
        return self.memory.keep(self.state, self.last, numbers, summed(self.counted), self.record.before + self.output.count, self.seconds)

    @property
    def seconds(self) -> float:
        """Wall time of the run."""
        return self.watch.seconds + (0.0 if self.record is None else self.record.seconds)

    def _resume(self, memory: Memory) -> None:
        """Go on after the step of this memory."""
        self.state, self.last, (self.step, steps, restarts, self.passed), statistics = self.memory.resume(memory)
        self.steps, self.restarts, self.counted = int(steps), int(restarts) - 1, [statistics]
        if self.times is not None:
            self.times = self.times[memory.rows:]

    def _pass_on(self) -> None:
        """The rows of the last steps to the output."""
        if self.rows:
            self.passed = float(self.rows[-1][0])
            self.output.append(Columns(*(np.array(x) for x in zip(*self.rows))))
            self.rows = []

    # failures --------------------------------------------------------------------------------------------------------------

    def _fail(self, status: Status, message: str) -> None:
        self.status, self.message = status, message
        if self.times is None and (self.rows[-1][0] if self.rows else self.passed) != self.last[0]:
            self.rows.append(self.last)  # the last state is always kept

    def _look_for_turns(self, before: State) -> None:
        """End the run if it has turned onto another branch of the motion with the step from `before`, see `mbdae.results.turning`."""
        s, turns = self.state, self.turns
        if not (turns.active and turns.sudden(before.v, s.v, s.t - before.t)):
            return
        turn = turns.examine(Moment(before.t, before.q, before.v), Moment(s.t, s.q, s.v))
        if turn is not None:
            self.end, self.steps = turn.since, self.steps - turn.steps
            self.rows = [row for row in self.rows if self.forward * (row[0] - turn.since) <= 0.0]
            self.last = self.rows[-1] if self.rows else self.last
            raise _Ended(turn.cause.status, failed(turn.cause.reason, turn.since))

    # one step ------------------------------------------------------------------------------------------------------------

    def _fixed(self, h: float) -> None:
        """A step of the fixed size; output before its end is computed by shorter steps from the same state."""
        end = self.begins.t + self.forward * (self.steps + 1) * h
        end = self.t_end if self.forward * (self.t_end - end) <= SAME_TIME * h else end
        while self.times is not None and len(self.times) and self.forward * (end - self.times[0]) > SAME_TIME * h:
            self._store(self.times[0], self._to(self.times[0]))
            self.times = self.times[1:]
        self._accept(end, self._to(end))

    def _to(self, t: float) -> FullState:
        """The state of the method at the end of a run to `t`."""
        return _row(self._run(self.inner, t), -1)

    def _adaptive(self) -> None:
        """A step of the size that the method chooses; it interpolates to the times of output."""
        ended: list[tuple[float, Vector, Vector]] = []

        def until(t: float, q: Vector, v: Vector) -> bool:
            ended.append((t, q, v))
            return True

        piece = self._run(self._with(self.step), self.t_end, self.times, until)
        if not ended:
            raise _Ended(piece.status, piece.message)
        t, q, v = ended[-1]
        if self.times is None:
            a, lam = piece.a[-1], piece.lam[-1]
        else:
            inside = int(np.sum(self.forward * (t - piece.t) > 0.0))
            for k in range(inside):
                self._store(piece.t[k], _row(piece, k))
            self.times = self.times[inside:]
            a, lam = self._consistent(t, q, v)
        taken = abs(t - self.state.t)
        self.step = taken * STRETCH if taken >= MIN_RATIO * self.step else taken
        self._accept(t, (q, v, a, lam))

    def _with(self, step: float) -> Method:
        """The method, with a first step of this size if it is not zero."""
        if step == 0.0:
            return self.inner
        inner: Any = self.inner  # a dataclass with this field, see `Method.one_step`
        changed: Method = replace(inner, first_step=min(step, abs(self.t_end - self.state.t)))
        return changed

    def _run(self, method: Method, t_end: float, t_eval: Vector | None = None, until: Until | None = None) -> Trajectory:
        """A run of the method from the present state."""
        rtol, atol = self.tolerances
        piece = method.integrate(self.problem, self.state, t_end, rtol=rtol, atol=atol, t_eval=t_eval, until=until)
        self.counted.append(piece.statistics)
        if piece.status != Status.SUCCESS:
            raise _Ended(*self._reason(piece, self.step if self.fixed is None else self.fixed))
        return piece

    def _reason(self, piece: Trajectory, step: float) -> Cause:
        """Status and message of a run that has failed; those of a singular position if there is one within two steps."""
        s, system, behind = self.state, self.system, None
        if piece.status in VAGUE:
            span = AHEAD * self.forward * step
            behind = near_singular(system, self.begins, s.t, s.q) or singular_ahead(system, self.begins, s.t, s.q, s.v, span)
        return Cause(behind.status, failed(behind.reason, s.t)) if behind else Cause(piece.status, piece.message)

    def _accept(self, t: float, state: FullState) -> None:
        """Continue from the projection of this state."""
        found, reached = self.projection.of(t, state)
        self.projection.keep(reached)
        self.steps += 1
        self.last, is_last = (t, *found), self.forward * (self.t_end - t) <= 0.0
        if self.times is None and (self.steps % self.every == 0 or is_last):
            self.rows.append(self.last)
        elif self.times is not None and len(self.times) and abs(self.times[0] - t) <= SAME_TIME * abs(t - self.state.t):
            self.rows.append((self.times[0], *found))
            self.times = self.times[1:]
        self.state = State(float(t), *found[:2], *self._consistent(t, *found[:2]))

    def _consistent(self, t: float, q: Vector, v: Vector) -> tuple[Vector, Vector]:
        """Accelerations and multipliers of the equations of motion."""
        try:
            a, lam, _ = accelerations(self.system, t, q, v)
            return a, lam
        except AssemblyError as error:
            if self.system.callbacks.has_raised(error):
                raise
            raise ChartError(Status.PROJECTION_FAILED, str(error)) from error

    def _store(self, t: float, state: FullState) -> None:
        """Store the projection of a state of the method at a time of output; the run does not continue from there."""
        self.rows.append((t, *self.projection.of(t, state)[0]))

    # the steps for events and dense output -------------------------------------------------------------------------------

    def _ends(self, before: _Before) -> bool:
        """Whether the run is to end after this step."""
        if self.until is None:
            return False
        t, q, v, a, lam = self.last
        if not isinstance(self.until, StepWatch):
            return self.until(t, self.state.q.copy(), self.state.v.copy())
        return self.until.after(Step(before.state.t, t, lambda: (q.copy(), v.copy()), np.concatenate([q, v, a, lam]),
                                     lambda times: self._within(times, before), split_state(self.system)))

    def _within(self, times: Vector, before: _Before) -> Matrix:
        """Projected states within the last step: the method repeats the step, and interpolates or ends at these times."""
        now, self.state = self.state, before.state
        try:
            rows = self._interpolated(times, before.step) if self.fixed is None else [self._to(t) for t in times]
        finally:
            self.state = now
        return np.array([np.concatenate(self.projection.of(t, row, before.target)[0]) for t, row in zip(times, rows)])

    def _interpolated(self, times: Vector, step: float) -> list[FullState]:
        """States by the interpolant of the method in a step of this size."""
        order = np.argsort(self.forward * times)
        piece = self._run(self._with(step), self.t_end, times[order], lambda t, q, v: True)
        return [_row(piece, k) for k in np.argsort(order)]

    # the end -------------------------------------------------------------------------------------------------------------

    def _trajectory(self) -> Trajectory:
        """The output so far."""
        statistics = summed(self.counted)
        statistics.steps, statistics.seconds = self.steps, self.seconds
        statistics.cpu_seconds = None if self.record is not None and self.record.resumed else self.watch.cpu_seconds
        statistics.restarts = (statistics.restarts or 0) + max(self.restarts + len(self.counted) - 1, 0)
        statistics = self.projection.counted(statistics)
        self._pass_on()
        return Trajectory(*self.output.columns(), statistics, self.status, self.message, self.end)


def _row(trajectory: Trajectory, k: int) -> FullState:
    """A state of a trajectory."""
    return trajectory.q[k], trajectory.v[k], trajectory.a[k], trajectory.lam[k]


class _Ended(Exception):
    """A run of the method has failed, or has made no step."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason
