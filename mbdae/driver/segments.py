"""Runs with events that change the state: one segment from each event to the next.

A segment ends with the step in which an event with the attribute `on_event` has a zero. The state there is located on the interpolant of
the method, projected onto the constraints of positions and velocities, and completed by consistent accelerations and multipliers. Then

    on_event(t, state) -> State, or (q, v), or None

gives the new state; `None` leaves it as it is, and only restarts the method. The new state is made consistent in the same way, and the
method starts anew from it: no memory of steps, orders, differences or matrices passes an event. This is the same for all methods.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ..interrupts import signals
from ..results.events import changes, evaluated, name_of, rate_along, terminal
from ..results.jumps import EndOfRun, EventGroup, Jump
from ..results.messages import REACHED_END, ended_by_event, failed, recurs, too_many_steps
from ..results.minimum_norm import minimal_norm
from ..results.statistics import Statistics
from ..results.status import Status
from ..results.steps import Piece, Step, StepwiseOutput, hermite_step, taylor
from ..results.trajectory import Trajectory, joined
from ..results.watch import Found, Side, Watch
from ..system.assembly import AssemblyError, State, completed, polished
from ..system.system import System
from ..system.words import noted
from ..typing import Event, FullState, Matrix, Vector
from .restarts import REST

Run: TypeAlias = Callable[[State, Vector | None, Watch], Trajectory]  # from a state, with times of the output, to the end of the time span

NO_RATE = 1e-9  # rate of an event that is taken for zero
AT_ONCE = 1e-4  # [s], relative for times beyond 1 s: an event that recurs within this time has not been at rest
ZERO = 1e-9  # [s], value of an event relative to its rate that is taken for zero after a change
MAX_CHANGES = 1000  # in a row at the same time
CROWD, CROWDED = 50, 1e-7  # so many changes within this share of the time span are Zeno behaviour below the errors of the method


class Segments:
    """One run.

    Parameters
    ----------
    system : System
    events : sequence of callables
    start : State
    t_end : float
        After the start.
    t_eval : ndarray, optional
    keep : bool
        Store all steps for dense output.
    max_steps : int, optional
        Limit of the steps of all segments together.

    Attributes
    ----------
    jumps : list of Jump
    times, motions : list of list
        Zeros of each event, and `q` and `v` there, stacked, before they have changed.
    """

    def __init__(self, system: System, events: Sequence[Event], start: State, t_end: float, *, t_eval: Vector | None, keep: bool,
                 max_steps: int | None) -> None:
        self.system, self.events, self.start, self.t_end, self.keep = system, tuple(events), start, t_end, keep
        self.by_steps, self.wanted = t_eval is None, np.zeros(0) if t_eval is None else t_eval
        self.max_steps = np.inf if max_steps is None else max_steps
        self.groups: tuple[EventGroup, ...] = tuple(dict.fromkeys(g for e in self.events if (g := getattr(e, "group", None)) is not None))
        self.times: list[list[float]] = [[] for _ in self.events]
        self.motions: list[list[Vector]] = [[] for _ in self.events]
        self.jumps: list[Jump] = []
        self.sides: dict[int, Side] = {}
        self._rates: dict[int, float] = {}  # rates of events before the last change
        self._parts: list[Trajectory] = []
        self._pieces: list[Piece] = []
        self._open: State | None = start  # a state that is not yet in the output, since a segment is to begin there
        self._last: float | None = None  # the end of the run, if it is not that of its last step
        self._cause: EndOfRun | None = None
        self._message: str | None = None  # of a terminal event
        self._segments = 0
        self.steps = 0  # of all segments so far

    @property
    def zeros(self) -> list[Vector]:
        """The zeros of each event, as `Solution.t_events`."""
        return [np.array(t, dtype=float) for t in self.times]

    @property
    def zero_motions(self) -> list[Matrix]:
        """`q` and `v` at these, as `Solution.y_events`."""
        size = self.system.nq + self.system.nv
        return [np.array(y, dtype=float).reshape(-1, size) for y in self.motions]

    def to_end(self, run: Run) -> Trajectory:
        """Integrate by `run`, segment by segment."""
        for group in self.groups:
            group.check(self.start)
        try:
            state: State | None = self._settled(self.start)
            while state is not None and not self._reaches_end(state):
                found = self._segment(run, state)
                state = None if found is None else self._changed(state, found)
        except EndOfRun as end:
            self._cause = end
        if self._open is not None:
            self._store(self._open)
        return self._whole()

    def dense_output(self) -> StepwiseOutput | None:
        """The dense output of all segments; `None` if there are no steps."""
        if not self._pieces:
            return None
        return StepwiseOutput(self.system, self.start, self._pieces, self._last, [jump.before for jump in self.jumps])

    # segments ------------------------------------------------------------------------------------------------------------

    def _segment(self, run: Run, state: State) -> Found | None:
        """The motion up to the next event that ends a segment; `None` at the end of the run."""
        watch = _Counted(self, state)
        part = run(state, None if self.by_steps else self.wanted, watch)
        if watch.recurring is not None and part.status == Status.SUCCESS:
            self._keep_rest(part, watch, state)
            raise EndOfRun(Status.ZENO, recurs(name_of(self.events[watch.recurring])))
        found = watch.found()
        self._open, self._last, self._segments = None, None, self._segments + 1
        self._parts.append(part)
        self.steps += part.statistics.steps or 0
        self._pieces += watch.pieces
        for times, motions, new, there in zip(self.times, self.motions, found.times, found.motions):
            times += new.tolist()
            motions += list(there)
        if part.status == Status.SUCCESS and found.end is None and watch.full:
            raise EndOfRun(Status.TOO_MANY_STEPS, too_many_steps(int(self.max_steps)))
        return found if part.status == Status.SUCCESS and found.end is not None else None

    def _keep_rest(self, part: Trajectory, watch: Watch, state: State) -> None:
        """The part of a segment for which an event that recurs has been at rest, if that is not short."""
        if watch.rest - state.t > AT_ONCE * max(1.0, abs(state.t)):
            self._open, self._last = None, watch.rest
            self._parts.append(part.up_to(watch.rest, state.t))
            self._pieces += watch.pieces

    def _reaches_end(self, state: State) -> bool:
        """Whether what remains of the time span is too short for a start of a method; then a Taylor polynomial leads to its end."""
        rest = self.t_end - state.t
        if rest > REST * (self.t_end - self.start.t):
            return False
        self._store(state)
        for t in [self.t_end] * (rest > 0.0) if self.by_steps else self.wanted.tolist():
            self._parts.append(_of_states(self.system, [self._carried(state, t)]))
        if rest > 0.0 and self.keep:
            end = self._carried(state, self.t_end)
            self._pieces.append(hermite_step(self.system, *((s.t, s.q, s.v, s.a, s.lam) for s in (state, end))).piece())
            self._last = None
        return True

    def _carried(self, state: State, t: float) -> State:
        """The state a short time after another one."""
        q, v = taylor(self.system, (state.t, state.q, state.v, state.a, state.lam), t)
        return completed(self.system, t, polished(self.system, t, q), v)

    def _store(self, state: State) -> None:
        """A state that no segment has put out."""
        self._open = None
        self._parts.append(_of_states(self.system, [state] * int(self.by_steps or state.t in self.wanted)))
        self.wanted = self.wanted[self.wanted > state.t]

    # changes -------------------------------------------------------------------------------------------------------------

    def _changed(self, begin: State, found: Found) -> State | None:
        """The state after the events that have ended a segment, or `None` if one of them has ended the run."""
        assert found.end is not None and found.state is not None
        t, part = found.end, self._parts[-1]
        self._last = t
        self._parts[-1] = part.before(t, begin.t) if self.by_steps else part.up_to(t, begin.t)
        self.wanted = self.wanted[self.wanted > t]
        before = self._before(t, found.state, found.ended)
        for k in found.ended:
            self.motions[k][-1] = np.concatenate([before.q, before.v])
        if self.by_steps:
            self._parts[-1] = self._parts[-1].followed_by(t, (before.q, before.v, before.a, before.lam))
        self._rates = {k: self._rate(k, before) for k in found.ended if getattr(self.events[k], "group", None) is None}
        changing, ends = [k for k in found.ended if changes(self.events[k])], self._is_last(found.ended)
        if len(self.jumps) >= CROWD and t - self.jumps[-CROWD].t <= CROWDED * (self.t_end - self.start.t):
            raise EndOfRun(Status.ZENO, recurs(name_of(self.events[(changing or list(found.ended))[0]])))
        state = self._settled(self._jump(before, changing), changing, ends) if changing else before
        self._message = ended_by_event(t) if ends else None
        return None if ends else state

    def _is_last(self, fired: Sequence[int]) -> bool:
        """Whether one of these events ends the run with this zero."""
        return any(0 < terminal(self.events[k]) <= len(self.times[k]) for k in fired)

    def _before(self, t: float, state: FullState, fired: Sequence[int]) -> State:
        """The state at the end of a segment: on the constraints if an event changes it, otherwise that of the method."""
        q, v, a, lam = state
        if not any(changes(self.events[k]) for k in fired):
            return State(t, q, v, a, minimal_norm(self.system, t, q, lam))
        return self._consistent(t, q, v, "the state before the event", fired)

    def _settled(self, state: State, fired: Sequence[int] = (), last: bool = False) -> State:
        """The state from which the motion goes on: after all changes that are due at once."""
        for _ in range(MAX_CHANGES):
            due = [k for group in self.groups for k in group.due(state)]
            if not due:
                self._prepare(state, fired, last)
                return state
            self._store(state)
            for k in due:
                self.times[k].append(state.t)
                self.motions[k].append(np.concatenate([state.q, state.v]))
            state = self._jump(state, due)
        raise EndOfRun(Status.ZENO, recurs(name_of(self.events[due[0]])))

    def _prepare(self, state: State, fired: Sequence[int], last: bool) -> None:
        """The start of a segment, unless a group of events cannot go on."""
        causes = [cause for group in self.groups if (cause := group.ends(state)) is not None]
        if causes and not last:
            raise EndOfRun(*causes[0])
        alone = [k for k in fired if getattr(self.events[k], "group", None) is None]
        self.sides = {k: _side(self._rate(k, state), self._rates.get(k, 0.0)) for k in alone if self._is_zero(k, state)}
        for group in self.groups:
            self.sides |= group.begin(state)

    def _jump(self, before: State, fired: Sequence[int]) -> State:
        """The state after a change by events: each user's function in turn, and each group once."""
        state, impulses, reactions = before, dict[str, float](), np.zeros(self.system.nc)
        for handler in dict.fromkeys(getattr(self.events[k], "group", None) or k for k in fired):
            if isinstance(handler, EventGroup):
                change = handler.act(state, fired)
                impulses, reactions = impulses | dict(change.impulses), reactions + change.reactions
                state = self._consistent(state.t, change.q, change.v, "the state after the event", fired)
            else:
                state = self._given(state, handler)
        self.jumps.append(Jump(before.t, tuple(fired), before, state, impulses, reactions))
        self._open = state
        return state

    def _given(self, state: State, k: int) -> State:
        """The consistent state after the change by a user's function."""
        event: Any = self.events[k]
        name = name_of(event)
        with noted(f"on_event of the event {name!r}", state.t):
            new = signals.called(event.on_event)(state.t, state.copy())
        return self._consistent(state.t, *_motion(self.system, state, new, name), "the state after the event", [k])

    def _consistent(self, t: float, q: Vector, v: Vector, what: str, fired: Sequence[int]) -> State:
        """The consistent state at positions and velocities that need not satisfy the constraints."""
        try:
            return completed(self.system, t, polished(self.system, t, np.array(q, dtype=float)), np.array(v, dtype=float))
        except (AssemblyError, FloatingPointError) as error:
            if self.system.callbacks.has_raised(error):
                raise
            names = ", ".join(repr(name_of(self.events[k])) for k in fired)
            raise EndOfRun(Status.PROJECTION_FAILED, f"{what} {names} cannot be made consistent: {error}") from error

    def _rate(self, k: int, state: State) -> float:
        """The derivative of an event along the motion."""
        return rate_along(self.system, self.events[k], state.t, state.q, state.v, state.a)

    def _is_zero(self, k: int, state: State) -> bool:
        """Whether the value of an event is still zero after the change; if not, its sign is that of its value."""
        return abs(evaluated(self.events[k], state.t, state.q, state.v)) <= ZERO * (1.0 + abs(self._rate(k, state)))

    # the end -------------------------------------------------------------------------------------------------------------

    def _whole(self) -> Trajectory:
        """The trajectory of all segments."""
        whole = joined(self._parts)
        whole.statistics.restarts = sum(p.statistics.restarts or 0 for p in self._parts) + max(self._segments - 1, 0)
        whole.message = self._message or whole.message
        if self._cause is not None:
            whole.status = self._cause.status
            whole.message = failed(self._cause.reason, self._last if self._last is not None else self._reached(whole))
        return whole

    def _reached(self, whole: Trajectory) -> float:
        return float(whole.t[-1]) if len(whole.t) else self.start.t


def _side(after: float, before: float) -> Side:
    """The signs of the rates of an event after and before a change; a small one before counts where the change has made it smaller."""
    small = abs(before) <= NO_RATE and abs(before) <= abs(after)
    return Side(0 if abs(after) <= NO_RATE else int(np.sign(after)), 0 if small else int(np.sign(before)))


class _Counted(Watch):
    """The watch of a segment, which ends it at the limit of the steps, too."""

    def __init__(self, run: Segments, state: State) -> None:
        super().__init__(run.system, run.events, state, run.keep, sides=run.sides, counts=[len(t) for t in run.times])
        self._rest, self._t_end = run.max_steps - run.steps, run.t_end
        self.full = False

    def after(self, step: Step) -> bool:
        """See `Watch`."""
        self._rest -= 1
        self.full = self._rest <= 0 and step.t != self._t_end
        return super().after(step) or self.full


def _motion(system: System, state: State, new: object, name: str) -> tuple[Vector, Vector]:
    """Positions and velocities that a user's function has returned."""
    if new is None:
        return state.q, state.v
    if isinstance(new, State):
        if new.t != state.t:
            raise ValueError(f"on_event of {name!r} must give a state at t = {state.t!r}, got one at t = {new.t!r}")
        new = new.q, new.v
    if not (isinstance(new, tuple | list) and len(new) == 2):
        raise ValueError(f"on_event of {name!r} must give a State, a pair (q, v) or None, got {new!r}")
    pair = []
    for x, n, what in zip(new, (system.nq, system.nv), "qv"):
        y = np.array(x, dtype=float)
        if y.shape != (n,) or not np.isfinite(y).all():
            raise ValueError(f"on_event of {name!r} must give {what} of shape ({n},) with finite numbers, got {x!r}")
        pair.append(y)
    return pair[0], pair[1]


def _of_states(system: System, states: Sequence[State]) -> Trajectory:
    """A trajectory of some states, without any work."""
    counted = Statistics(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.0)
    sizes = {"t": (), "q": (system.nq,), "v": (system.nv,), "a": (system.nv,), "lam": (system.nc,)}
    t, q, v, a, lam = (np.array([getattr(s, name) for s in states]).reshape(len(states), *size) for name, size in sizes.items())
    return Trajectory(t, q, v, a, lam, counted, Status.SUCCESS, REACHED_END)
