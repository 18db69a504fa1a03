"""The driver of all in-house methods: chunks of steps, output, events, progress, interrupts, messages, statistics."""

import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

from ...compilation.dispatcher import Function
from ...compilation.structure import kind_of
from ...driver.record import Record
from ...driver.review import Reviewed
from ...interrupts import signals
from ...results.creeping import WINDOW, CreepWatch
from ...results.diagnosis import ChartError, NoInterpolant, jam_ahead, near_singular, singular_ahead
from ...results.memory import Memory, with_motion
from ...results.messages import GIVES_WAY, REACHED_END, TERMINAL_EVENT, failed, too_many_steps
from ...results.rows import Columns, Rows
from ...results.statistics import Statistics
from ...results.status import Cause, Status
from ...results.steps import StepWatch, TimedState
from ...results.trajectory import Trajectory
from ...results.turning import Moment, TurnWatch
from ...stopwatch import Stopwatch
from ...typing import TimeProgress, Until, Vector
from ..resolution import step_below_rounding
from .loop import ARRIVED, ASKING, FAILED, NEEDS_ROOM, PAUSED
from .records import Output, State, new_output
from .stepper import Stepper

CHUNK_SECONDS = 0.2  # between two calls of `progress` and checks for signals
FIRST_CHUNK = 64
ROOM_BYTES = 2**24  # for output at given times, which may be many
MIN_ROOM = 64  # rows
VAGUE = (Status.NEWTON_FAILED, Status.STEP_TOO_SMALL, Status.CHART_LOST)  # failures whose cause may be a singular position


class Driver:
    """One integration.

    Parameters
    ----------
    stepper : Stepper
    t_eval, every, progress, until, record
        As for `integrate`, see `mbdae.driver.method`; `until` may be a `Reviewed`.
    """

    def __init__(self, stepper: Stepper, *, t_eval: Vector | None, every: int, progress: TimeProgress | None,
                 until: Until | None, record: Record | None = None) -> None:
        self.review = until if isinstance(until, Reviewed) else None
        self.rejected = 0  # steps, at the last review
        self.stepper, self.every, self.progress, self.record = stepper, every, progress, record
        self.until = until if self.review is None else self.review.until
        s, self.by_steps = stepper.begins, t_eval is None
        never = np.copysign(np.inf, stepper.t_end - s.t)  # an empty `t_eval` requests no output, unlike `None`
        self.times = np.zeros(0) if t_eval is None else np.array(t_eval if len(t_eval) else [never], dtype=float)
        sizes = [len(x) for x in (s.q, s.v, s.a, s.lam)]
        self.rows = Rows(sizes) if record is None else record.rows
        self.room = max(MIN_ROOM, ROOM_BYTES // (8 * (1 + sum(sizes))))  # for output at given times, at most
        self.spare: Output | None = None  # storage for the next part of the output
        self.chunk, self.status, self.message = FIRST_CHUNK, Status.SUCCESS, REACHED_END
        self.watch = Stopwatch()
        self.turns, self.creeping = TurnWatch(stepper.system, s), CreepWatch(stepper.system, s)
        self.creeping.active &= not stepper.fixed
        self.march: Callable[..., int] | None = None  # see `_enter`
        self.lost = False  # whether a row of output could not be had
        self.end: float | None = None  # of the valid part of a run, where steps after it are not
        if not self.turns.active:
            stepper.clock.usual = np.inf

    def to_end(self) -> Trajectory:
        """Integrate."""
        try:
            self._begin()
            self._march(0)  # compiles before the clock starts
            self.watch = Stopwatch()
            self._carry_out()
            self._check_stability()
        except ChartError as error:
            self._flush()
            self._fail(*self._with_cause(error.status, error.reason))
        self._forget_what_has_ended()
        if self.by_steps and self.stepper.clock.phase > 0 and not self.lost:  # the last state is always kept
            self._keep(self.stepper.row())
        return self._trajectory()

    def _check_stability(self) -> None:
        """A run that has reached its end has failed if it was unstable."""
        cause = self.stepper.unstable() if self.status == Status.SUCCESS else None
        if cause is not None:
            self._fail(*cause)

    def _begin(self) -> None:
        """The first step, or the one after that from which the run goes on."""
        record = self.record
        if record is None or record.resumed is None:
            self._keep_start()
            self.stepper.begin()
            self._check_step()
        else:
            self.stepper.resume(record.resumed.contents)
            self.turns.resume(record.resumed.contents)
        self.stepper.clock.hold = int(record is not None)
        if record is not None:
            self.stepper.find_memory()

    def _keep_start(self) -> None:
        s = self.stepper.begins
        if self.by_steps or self.times[0] == s.t:
            self.rows.append(Columns(*(np.array([x]) for x in (s.t, s.q, s.v, s.a, s.lam))))
            self.stepper.clock.next_output = 0 if self.by_steps else 1

    def _keep(self, row: TimedState) -> None:
        self._append(Columns(*(np.array([x]) for x in row)))

    def _append(self, rows: Columns) -> None:
        """Rows of output, up to the first one that cannot be had."""
        rows, lost = self.stepper.completed(rows)
        self.rows.append(rows)
        if lost is not None:
            self.lost = True
            self._fail(*self._with_cause(*lost))

    def _check_step(self) -> None:
        clock = self.stepper.clock
        reason = step_below_rounding(clock.h, clock.t, clock.t_end) if self.stepper.fixed else ""
        if reason:
            raise ChartError(Status.STEP_TOO_SMALL, reason)

    # the run -------------------------------------------------------------------------------------------------------------

    def _carry_out(self) -> None:
        stepper, goes_on = self.stepper, True
        while goes_on:
            t, before = stepper.t, stepper.snapshot() if self.until is not None else None
            rest = stepper.max_steps - stepper.counts.steps
            code = self._march(min(1 if self.until is not None else self.chunk, rest, self._steps_of_window, self._steps_of_review))
            interrupted = signals.waiting
            with signals.postponed() if self._stores else nullcontext():  # a checkpoint is written first
                goes_on = self._goes_on(code, before, t)
                if goes_on and self.record is not None:
                    self._remember(self.record)
            if interrupted or not self._stores:
                signals.check()
            goes_on &= self.status == Status.SUCCESS

    def _goes_on(self, code: int, before: Any, since: float) -> bool:
        """Whether a run that has paused may take further steps, the last ones from `since`; what the next one needs is supplied."""
        stepper, fault, has_moved = self.stepper, self.stepper.clock.fault, self.stepper.t != since
        if self.progress is not None and has_moved:
            self.progress(stepper.t)
        if self.end is not None or self.lost or (has_moved and self._ends(before, since)):
            return False
        if code == ARRIVED or self._creeps() or (has_moved and self._gives_way()):
            return False
        if code == ASKING and fault != NEEDS_ROOM:
            stepper.assist(fault)
        elif code == FAILED and not stepper.cure(fault):
            self._fail(*self._explained(fault))
            return False
        elif code != ASKING and stepper.counts.steps >= stepper.max_steps:
            self._fail(Status.TOO_MANY_STEPS, "; ".join(filter(None, (too_many_steps(stepper.max_steps), stepper.remark()))))
        return True

    def _march(self, most: int) -> int:
        """Take at most `most` steps and store their output; the code of the cause for which they end."""
        room = min(most or self.chunk, self.chunk) // self.every + 2 if self.by_steps else min(len(self.times), self.room)
        output = self.spare
        if output is None:
            output = self.spare = new_output(self.stepper.begins, room, self.times, self.every)
        begin = time.perf_counter()
        code, done = self._steps(output, most)
        if done > 0:
            self.chunk = min(max(int(done * CHUNK_SECONDS / max(time.perf_counter() - begin, 1e-6)), 1), 4 * max(done, self.chunk))
        if code == ASKING and self.stepper.clock.fault == NEEDS_ROOM and not output.stored:  # for the output of a single step
            self.room, self.spare = 2 * self.room, None
        elif self._is_to_flush(code, output):
            self._flush()
        return code

    def _steps(self, output: Output, most: int) -> tuple[int, int]:
        """The code with which at most `most` steps end, and their number.

        In between sudden changes of the velocities are looked at, and the memory is kept before the end of the run limits the steps.
        """
        stepper, clock, march, done = self.stepper, self.stepper.clock, self._enter(output), 0
        before = stepper.counts.steps
        while True:
            holding = clock.hold
            code = march(stepper.run, output, most - done, signals.flag)
            done = stepper.counts.steps - before  # fewer after a signal
            stepper.system.callbacks.raise_pending()
            if clock.sudden:
                self._look_for_turns(output.inside)
            elif holding and not clock.hold and self.record is not None:
                self.record.memory = self._memory()
            else:
                return code, done
            if code != PAUSED or done >= most or self.end is not None or signals.flag[0]:
                return code, done

    def _is_to_flush(self, code: int, output: Output) -> bool:
        """Whether stored rows are to be passed on; a stepper may ask at every step, and they are then left for later."""
        full = output.stored == len(output.t) or (code == ASKING and self.stepper.clock.fault == NEEDS_ROOM)
        return code != ASKING or full or self.until is not None

    def _flush(self) -> None:
        """Pass the stored rows of output on: with the storage, or a copy if most of it would be kept for nothing."""
        output = self.spare
        if output is None or not output.stored:
            return
        n, output.stored = output.stored, 0
        rows = [x[:n] for x in (output.t, output.q, output.v, output.a, output.lam)]
        if 2 * n > len(output.t):
            self.spare = None
        else:
            rows = [x.copy() for x in rows]
        self._append(Columns(*rows))

    def _enter(self, output: Output) -> Callable[..., int]:
        """The time loop, for a run and output of types that do not change."""
        march = self.stepper.loops.march
        if self.march is None and isinstance(march, Function):
            self.march = march.entry(tuple(map(kind_of, (self.stepper.run, output, 1, signals.flag))))
        return self.march or march

    @property
    def _stores(self) -> bool:
        """Whether checkpoints are written."""
        return self.record is not None and self.record.write is not None

    # continuation ----------------------------------------------------------------------------------------------------------

    def _memory(self) -> Memory:
        """The memory after the last accepted step."""
        record, stepper = self.record, self.stepper
        assert record is not None
        t, q, v, *_ = stepper.row()
        watched = self.until.contents() if isinstance(self.until, StepWatch) else {}
        contents = with_motion(q, v, stepper.contents() | self.turns.contents()) | watched
        rows = self.rows.count + (0 if self.spare is None else self.spare.stored)
        return Memory(t, record.before + rows, self._seconds, contents)

    def _remember(self, record: Record) -> None:
        """Keep the memory of a run that has taken all of its steps, and write checkpoints: from time to time, and at Ctrl-C."""
        if self.status == Status.TOO_MANY_STEPS and self.stepper.clock.hold:
            record.memory = self._memory()
        if (record.due or (self._stores and signals.waiting)) and not self.stepper.clock.pending:
            record.checkpoint(self._trajectory(), self._memory())

    def _forget_what_has_ended(self) -> None:
        """A run that has failed or has been ended by an event is not continued."""
        going = self.message == REACHED_END or self.status == Status.TOO_MANY_STEPS
        if self.record is not None and not (going and self.end is None):
            self.record.memory = None

    @property
    def _seconds(self) -> float:
        """Wall time of the run."""
        return self.watch.seconds + (0.0 if self.record is None else self.record.seconds)

    # turns -----------------------------------------------------------------------------------------------------------------

    def _look_for_turns(self, start: State) -> None:
        """After a step in which the velocities change suddenly: the run ends if it has turned onto another branch of the motion."""
        clock, (t, q, v, *_) = self.stepper.clock, self.stepper.row()
        clock.sudden, self.turns.rate = 0, clock.usual
        turn = self.turns.examine(Moment(clock.before, start.q.copy(), start.v.copy()), Moment(t, q, v))
        clock.usual = self.turns.rate
        if turn is not None:
            self._cut(*turn)

    @property
    def _steps_of_window(self) -> int:
        """Steps up to the end of the window after which `_creeps` looks, without a limit where there is nothing to look for."""
        steps = self.stepper.counts.steps
        return WINDOW - steps % WINDOW if self.creeping.active else self.stepper.max_steps

    def _creeps(self) -> bool:
        """Whether the run ends since its step sizes tend to zero at a singular position."""
        steps = self.stepper.counts.steps
        if not self.creeping.active or steps % WINDOW:
            return False
        found = self.creeping.after(steps, *self.stepper.row()[:2])
        if found is not None:
            self._fail(*found)
        return found is not None

    @property
    def _steps_of_review(self) -> int:
        """Steps up to the next review, without a limit where there is none."""
        return self.stepper.max_steps if self.review is None else self.review.every - self.stepper.counts.steps % self.review.every

    def _gives_way(self) -> bool:
        """Whether the run ends with a review, so that another method goes on."""
        review, stepper = self.review, self.stepper
        if review is None or stepper.counts.steps % review.every:
            return False
        rejected, self.rejected = stepper.counts.rejected_error - self.rejected, stepper.counts.rejected_error
        if not review.decide(stepper.row(), stepper.remark(), rejected):
            return False
        self.message = GIVES_WAY
        return True

    def _ends(self, before: Any, since: float) -> bool:
        """Whether the run ends with this step from the time `since`: by an event, or as the method cannot interpolate within the step."""
        until = self.until
        if until is None:
            return False
        try:
            ends = until.after(self.stepper.step(before)) if isinstance(until, StepWatch) else bool(until(*self.stepper.row()[:3]))
        except NoInterpolant as error:
            self._cut(self._with_cause(error.status, error.reason), since, 1)
            return True
        if ends:
            self.message = TERMINAL_EVENT
        return ends

    # the end -------------------------------------------------------------------------------------------------------------

    def _explained(self, fault: int) -> Cause:
        """Status and reason of a failure."""
        found = self.stepper.explain(fault)
        cut = "" if self.stepper.fixed else f", though the step has been cut to {self.stepper.clock.h:.3g}"
        return self._with_cause(found.status, found.reason + cut)

    def _with_cause(self, status: Status, reason: str) -> Cause:
        """A failure with its cause, a joint or constraints, if it is known."""
        stepper, clock = self.stepper, self.stepper.clock
        system, (t, q, v, a, _) = stepper.system, stepper.row()
        behind = stepper.unstable() if status in (Status.NEWTON_FAILED, Status.NOT_FINITE) else None
        if behind is not None:
            return Cause(behind.status, f"{behind.reason} ({reason})")
        if status in VAGUE:
            span = np.copysign(stepper.ahead * clock.h, clock.t_end - t)
            behind = (jam_ahead(system, t, q, v, a, span) or near_singular(system, stepper.begins, t, q)
                      or singular_ahead(system, stepper.begins, t, q, v, span))
        elif status == Status.NOT_FINITE or (status == Status.SINGULAR and "rank" not in reason):
            behind = near_singular(system, stepper.begins, t, q)
        return Cause(behind.status, f"{behind.reason} ({reason})") if behind else Cause(status, reason)

    def _fail(self, status: Status, reason: str) -> None:
        self.status = status
        self.message = failed(reason, self.stepper.t)

    def _cut(self, cause: Cause, since: float, steps: int) -> None:
        """The run has failed after the time `since`; the last `steps` do not count."""
        self.status, self.message, self.end = cause.status, failed(cause.reason, since), since
        self.stepper.counts.steps -= steps

    def _trajectory(self) -> Trajectory:
        """The rows of output so far."""
        self._flush()
        statistics = Statistics(**self.stepper.counted(), seconds=self._seconds,
                                cpu_seconds=None if self.record is not None and self.record.resumed else self.watch.cpu_seconds)
        made = Trajectory(*self.rows.columns(), statistics, self.status, self.message, self.end)
        return made if self.end is None else made.up_to(self.end, self.stepper.begins.t)
