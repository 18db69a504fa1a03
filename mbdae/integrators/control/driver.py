"""The driver of all in-house methods: chunks of steps, output, events, progress, interrupts, messages, statistics."""

import time
from typing import Any

import numpy as np

from ...interrupts import signals
from ...results.diagnosis import ChartError, jam_ahead, near_singular, singular_ahead
from ...results.messages import REACHED_END, TERMINAL_EVENT, failed, too_many_steps
from ...results.statistics import Statistics
from ...results.status import Cause, Status
from ...results.steps import StepWatch, TimedState
from ...results.trajectory import Trajectory
from ...results.turning import Moment, TurnWatch
from ...stopwatch import Stopwatch
from ...typing import TimeProgress, Until, Vector
from ..resolution import step_below_rounding
from .loop import ARRIVED, ASKING, FAILED
from .records import COUNTERS, Output, State, new_output
from .stepper import Stepper

CHUNK_SECONDS = 0.2  # between two calls of `progress` and checks for signals
FIRST_CHUNK = 64
VAGUE = (Status.NEWTON_FAILED, Status.STEP_TOO_SMALL, Status.CHART_LOST)  # failures whose cause may be a singular position


class Driver:
    """One integration.

    Parameters
    ----------
    stepper : Stepper
    t_eval, every, progress, until
        As for `integrate`, see `mbdae.driver.method`.
    """

    def __init__(self, stepper: Stepper, *, t_eval: Vector | None, every: int, progress: TimeProgress | None,
                 until: Until | None) -> None:
        self.stepper, self.every, self.progress, self.until = stepper, every, progress, until
        s, self.by_steps = stepper.begins, t_eval is None
        never = np.copysign(np.inf, stepper.t_end - s.t)  # an empty `t_eval` requests no output, unlike `None`
        self.times = np.zeros(0) if t_eval is None else np.array(t_eval if len(t_eval) else [never], dtype=float)
        self.columns = tuple(np.shape(x) for x in (0.0, s.q, s.v, s.a, s.lam))
        self.rows: list[tuple[Vector, ...]] = []  # columns of parts of the output
        self.spare: Output | None = None  # storage for the next part of the output
        self.chunk, self.status, self.message = FIRST_CHUNK, Status.SUCCESS, REACHED_END
        self.turns = TurnWatch(stepper.system)
        self.end: float | None = None  # of the valid part of a run that has turned, see `mbdae.results.turning`
        if not self.turns.active:
            stepper.clock.usual = np.inf

    def to_end(self) -> Trajectory:
        """Integrate."""
        watch = Stopwatch()
        self._keep_start()
        try:
            self.stepper.begin()
            self._check_step()
            self._march(0)  # compiles before the clock starts
            watch = Stopwatch()
            self._carry_out()
        except ChartError as error:
            self._fail(*self._with_cause(error.status, error.reason))
        if self.by_steps and self.stepper.clock.phase > 0:  # the last state is always kept
            self._keep(self.stepper.row())
        return self._trajectory(watch.seconds)

    def _keep_start(self) -> None:
        s = self.stepper.begins
        if self.by_steps or self.times[0] == s.t:
            self._keep((s.t, s.q, s.v, s.a, s.lam))
            self.stepper.clock.next_output = 0 if self.by_steps else 1

    def _keep(self, row: TimedState) -> None:
        self.rows.append(tuple(np.array([x]) for x in row))

    def _check_step(self) -> None:
        clock = self.stepper.clock
        reason = step_below_rounding(clock.h, clock.t, clock.t_end) if self.stepper.fixed else ""
        if reason:
            raise ChartError(Status.STEP_TOO_SMALL, reason)

    # the run -------------------------------------------------------------------------------------------------------------

    def _carry_out(self) -> None:
        stepper, most = self.stepper, self.stepper.max_steps
        while True:
            t, before = stepper.t, stepper.snapshot() if self.until is not None else None
            code = self._march(min(1 if self.until is not None else self.chunk, most - stepper.counts.steps))
            if self.progress is not None:
                self.progress(stepper.t)
            if self.end is not None:
                return
            if stepper.t != t and self._ends(before):
                self.message = TERMINAL_EVENT
                return
            if code == ARRIVED:
                return
            fault = stepper.clock.fault
            if code == ASKING:
                stepper.assist(fault)
            elif code == FAILED and not stepper.cure(fault):
                self._fail(*self._explained(fault))
                return
            elif stepper.counts.steps >= most:
                self._fail(Status.TOO_MANY_STEPS, too_many_steps(most))
                return

    def _march(self, most: int) -> int:
        """Take at most `most` steps and store their output; the code of the cause for which they end."""
        room = min(most, self.chunk) // self.every + 2 if self.by_steps else len(self.times)
        output = self.spare
        if output is None or len(output.t) < room:
            output = new_output(self.stepper.begins, room, self.times, self.every)
        before, begin = self.stepper.counts.steps, time.perf_counter()
        code = self.stepper.loops.march(self.stepper.run, output, most, signals.flag)
        self.stepper.system.callbacks.check()
        done = self.stepper.counts.steps - before  # fewer after a signal
        if done > 0:
            self.chunk = int(np.clip(done * CHUNK_SECONDS / max(time.perf_counter() - begin, 1e-6), 1, 4 * done))
        self.spare = output if code == ASKING else None  # a stepper may ask at every step
        if output.stored:
            rows = (_stored(x, output.stored) for x in (output.t, output.q, output.v, output.a, output.lam))
            self.rows.append(tuple(x.copy() if code == ASKING else x for x in rows))
        if self.stepper.clock.sudden:
            self._look_for_turns(output.inside)
        return code

    def _look_for_turns(self, start: State) -> None:
        """After a step in which the velocities change suddenly: the run ends if it has turned onto another branch of the motion."""
        clock, (t, q, v, *_) = self.stepper.clock, self.stepper.row()
        clock.sudden, self.turns.rate = 0, clock.usual
        turn = self.turns.examine(Moment(clock.before, start.q.copy(), start.v.copy()), Moment(t, q, v))
        clock.usual = self.turns.rate
        if turn is not None:
            self.status, self.message, self.end = turn.cause.status, failed(turn.cause.reason, turn.since), turn.since
            self.stepper.counts.steps -= turn.steps

    def _ends(self, before: Any) -> bool:
        """Whether the run is to end after this step."""
        until = self.until
        if until is None:
            return False
        if isinstance(until, StepWatch):
            return until.after(self.stepper.step(before))
        return bool(until(*self.stepper.row()[:3]))

    # the end -------------------------------------------------------------------------------------------------------------

    def _explained(self, fault: int) -> Cause:
        """Status and reason of a failure."""
        found = self.stepper.explain(fault)
        cut = "" if self.stepper.fixed else f", though the step has been cut to {self.stepper.clock.h:.3g}"
        return self._with_cause(found.status, found.reason + cut)

    def _with_cause(self, status: Status, reason: str) -> Cause:
        """A failure with its cause, a joint or constraints, if it is known."""
        stepper, clock = self.stepper, self.stepper.clock
        system, (t, q, v, a, _), behind = stepper.system, stepper.row(), None
        if status in VAGUE:
            span = np.copysign(clock.h, clock.t_end - t)
            behind = (jam_ahead(system, t, q, v, a, span) or near_singular(system, stepper.begins, t, q)
                      or singular_ahead(system, stepper.begins, t, q, v, span))
        elif status == Status.NOT_FINITE or (status == Status.SINGULAR and "rank" not in reason):
            behind = near_singular(system, stepper.begins, t, q)
        return Cause(behind.status, f"{behind.reason} ({reason})") if behind else Cause(status, reason)

    def _fail(self, status: Status, reason: str) -> None:
        self.status = status
        self.message = failed(reason, self.stepper.t)

    def _trajectory(self, seconds: float) -> Trajectory:
        counted = {name: getattr(self.stepper.counts, name) for name in COUNTERS}
        for name, more in self.stepper.additional_counts().items():
            counted[name] += more
        empty = tuple(np.zeros((0, *shape)) for shape in self.columns)
        t, q, v, a, lam = (np.concatenate(x) for x in zip(*(self.rows or [empty])))
        statistics = Statistics(**counted, restarts=self.stepper.restarts, seconds=seconds)
        made = Trajectory(t, q, v, a, lam, statistics, self.status, self.message, self.end)
        return made if self.end is None else made.up_to(self.end, self.stepper.begins.t)


def _stored(x: Vector, n: int) -> Vector:
    """The first `n` rows; a copy where most of the memory would be kept for nothing."""
    return x[:n] if 2 * n > len(x) else x[:n].copy()
