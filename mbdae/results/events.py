"""Events: zeros of functions of the state, found within the steps of a run on the interpolant of the method.

An event is `event(t, q, v) -> float`, a function or an object, with these attributes, all of them optional:

    terminal                 as in SciPy: the run ends with it; a number: with so many of its zeros
    direction                as in SciPy: -1, 1: only zeros where the value falls, or rises; 0: all
    on_event(t, state)       gives the state after the event, see `mbdae.driver.segments`
    rate(t, q, v)            derivative of the value along the motion: two zeros within a step are found where it changes its sign
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

import numpy as np
from scipy.optimize import brentq

from ..system.assembly import AssemblyError, accelerations, polished, velocities
from ..typing import Event, FullState, Motion, Vector
from .steps import Piece, StepWatch, hermite_step

if TYPE_CHECKING:
    from ..system.assembly import State
    from ..system.system import System
    from .steps import Step

NOT_TERMINAL = 0  # number of occurrences of an event that does not end the run
SIMULTANEOUS = 1e-12  # [s], relative for times beyond 1 s: zeros of events that end a segment of the run together
AT_REST = 1e-9  # value of an event that is zero with a zero rate after a change, up to which it remains so
MAX_HALVINGS = 50  # of the first step after an event, in which its value leaves zero


def as_events(events: object) -> tuple[Event, ...]:
    """One event or several as a tuple of callables."""
    events = (events,) if callable(events) else tuple(events) if isinstance(events, (tuple, list)) else (events,)
    for e in events:
        if not callable(e):
            raise ValueError(f"events must be callables event(t, q, v), got {e!r}")
    return events


class _Bindable(Protocol):
    """An event that is an object of the model, such as an impact."""

    @classmethod
    def bind(cls, system: System, own: Mapping[int, Any]) -> Mapping[int, Event]: ...


def bound(system: System, events: object) -> tuple[Event, ...]:
    """One event or several as functions of the coordinates of a system; those that are objects of the model all of a class together."""
    listed = tuple(events) if isinstance(events, (tuple, list)) else (events,)
    made: dict[int, Any] = dict(enumerate(listed))
    for kind in dict.fromkeys(type(e) for e in listed if callable(getattr(type(e), "bind", None))):
        made |= cast(_Bindable, kind).bind(system, {k: e for k, e in enumerate(listed) if type(e) is kind})
    return as_events(tuple(made[k] for k in range(len(listed))))


def evaluated(event: Event, t: float, q: Vector, v: Vector) -> float:
    """The value of an event; its arrays are copies, so that it cannot change the solution.

    Raises
    ------
    ValueError
        If it is not a finite number, which would hide its zeros.
    """
    value = event(t, np.array(q), np.array(v))
    if not (np.size(value) == 1 and np.isfinite(value).all()):
        raise ValueError(f"the event {name_of(event)!r} must give a finite number, got {value!r} at t = {t:.9g}")
    return float(value)


class _WithMotion(Protocol):
    """A problem, as far as it matters here."""

    def motion(self, t: float, y: Vector) -> Motion: ...


def of_unknowns(problem: _WithMotion, event: Event) -> Callable[..., float]:
    """`event(t, q, v)` as a function of `(t, y)` or `(t, y, yd)`, with its attributes, for solvers with root finding of their own."""
    def native(t: float, y: Vector, yd: Vector | None = None) -> float:
        return evaluated(event, t, *problem.motion(t, y))

    vars(native).update(terminal=getattr(event, "terminal", False), direction=getattr(event, "direction", 0))
    return native


class Value(NamedTuple):
    """The value of an event at a time."""

    t: float
    value: float


@dataclass(frozen=True)
class Crossing:
    """Two times of a step between which event number `event` changes sign, with its values."""

    event: int
    piece: Piece
    before: Value
    after: Value


@dataclass(frozen=True)
class Found:
    """The zeros of events.

    Attributes
    ----------
    times : list of ndarray
        Per event, in the direction of integration, up to the end.
    end : float or None
        Time of the event that ended the run: a terminal one, or one that changes the state.
    state : tuple or None
        `(q, v, a, lam)` there.
    ended : tuple of int
        The events that ended the run, all that have a zero within `SIMULTANEOUS` of the first one.
    """

    times: list[Vector]
    end: float | None = None
    state: FullState | None = None
    ended: tuple[int, ...] = ()


class Side(NamedTuple):
    """Signs of the rate of an event that is zero at the start: right after it, 0 if the rate is zero there, and before the change."""

    after: int
    before: int = 0


class Watch(StepWatch):
    """Detects events in the accepted steps of a run, stores the steps for dense output, and ends the run after an event that ends it.

    Events are evaluated at the ends of the steps. Where one changes sign, its time is the zero on the interpolant of that step; for events
    that change the state, on the interpolant projected onto the constraints.

    Parameters
    ----------
    system : System
    events : sequence of callables
        `event(t, q, v) -> float`, with the attributes at the top of this module.
    start : State
    keep : bool
        Store all steps, not only those with an event.
    sides : dict of int to Side
        Events whose value is zero at the start.
    counts : sequence of int
        Number of the zeros of each event before the start.
    seen : sequence of ndarray
        For each event the times at which it was found before the run went on from a later state.
    at : (float, ndarray, ndarray), optional
        `t`, `q`, `v` of this state.

    Attributes
    ----------
    pieces : list of Piece
        The steps, if they are stored.
    recurring : int or None
        An event of `sides` whose value returns to zero so soon that no time is resolved in between, or goes on in the direction that the
        change should have ended; the run has ended with it.
    rest : float
        The end of the time for which its value has been zero.
    """

    def __init__(self, system: System, events: Sequence[Event], start: State, keep: bool = False, *,
                 sides: Mapping[int, Side] | None = None, counts: Sequence[int] | None = None, seen: Sequence[Vector] = (),
                 at: tuple[float, Vector, Vector] | None = None) -> None:
        self._system, self._events, self._start, self._keep = system, tuple(events), start, keep
        self._sides, at = dict(sides or {}), at or (start.t, start.q, start.v)
        self._seen = [np.asarray(t, dtype=float) for t in seen] or [np.zeros(0) for _ in self._events]
        self._counts = [len(t) for t in self._seen] if counts is None else list(counts)
        self._changing = [changes(event) for event in self._events]
        self._values = [0.0 if k in self._sides else x for k, x in enumerate(self._evaluated(*at))]
        self._rates = self._all_rates(*at)
        self._left = [terminal(event) - n if terminal(event) else np.inf for event, n in zip(self._events, self._counts)]
        self._crossings: list[Crossing] = []
        self._last = start.t, start.q, start.v, start.a, start.lam
        self.pieces: list[Piece] = []
        self.recurring: int | None = None
        self.rest = start.t

    def after(self, step: Step) -> bool:
        """See `StepWatch`."""
        kept = _Kept(step)
        if self._keep:
            self.pieces.append(kept.piece)
        if not self._events:
            return False
        motion = step.motion()
        before, self._values = self._values, self._evaluated(step.t, *motion)
        rates, self._rates = self._rates, self._all_rates(step.t, *motion)
        ends = False
        for k, pair in enumerate(zip(before, self._values)):
            for values in self._intervals(k, kept, pair, (rates[k], self._rates[k])):
                if passed(self._events[k], values[0].value, values[1].value):
                    self._crossings.append(Crossing(k, kept.piece, *values))
                    self._left[k] -= 1
                    ends |= self._changing[k]
        self._sides = {k: side for k, side in self._sides.items() if side.after == 0 and self._values[k] == 0.0}
        return ends or self.recurring is not None or min(self._left) <= 0

    def __call__(self, t: float, q: Vector, v: Vector) -> bool:
        """As `after`, for methods without an interpolant: cubic Hermite interpolation between the states."""
        if t == self._last[0]:
            return False
        before, self._last = self._last, (t, q, v, *accelerations(self._system, t, q, v)[:2])
        return self.after(hermite_step(self._system, before, self._last))

    def found(self) -> Found:
        """`Found`: the zeros that were located."""
        zeros: list[list[tuple[float, Piece]]] = [[] for _ in self._events]
        for crossing in self._crossings:
            zeros[crossing.event].append((self._zero(crossing), crossing.piece))
        ends = [end for k, row in enumerate(zeros) for end in self._ending(k, row)]
        times = [np.concatenate([seen, np.array([t for t, _ in row], dtype=float)]) for seen, row in zip(self._seen, zeros)]
        if not ends:
            return Found(times)
        _, end, piece = min(ends, key=lambda zero: abs(zero[1] - self._start.t))
        ended = tuple(k for k, t, _ in ends if abs(t - end) <= SIMULTANEOUS * max(1.0, abs(end)))
        times = [self._up_to(end, t, k in ended) for k, t in enumerate(times)]
        return Found(times, end, piece(end), ended)

    def _up_to(self, end: float, times: Vector, ended: bool) -> Vector:
        """The zeros of an event up to the end of the run; that of an event that ended it is the end."""
        kept = times[np.abs(times - self._start.t) <= abs(end - self._start.t)]
        return np.append(kept, end) if ended and (not len(kept) or kept[-1] != end) else kept

    def _ending(self, k: int, zeros: list[tuple[float, Piece]]) -> list[tuple[int, float, Piece]]:
        """The zeros of an event with which the run may end."""
        if self._changing[k]:
            return [(k, *x) for x in zeros[:1]]
        n = terminal(self._events[k]) - self._counts[k]
        return [(k, *zeros[n - 1])] if terminal(self._events[k]) != NOT_TERMINAL and len(zeros) >= n else []

    # values --------------------------------------------------------------------------------------------------------------

    def _intervals(self, k: int, kept: _Kept, values: tuple[float, float], rates: tuple[float, float]) -> list[tuple[Value, Value]]:
        """The parts of a step in each of which an event has one zero or none."""
        step = kept.step
        start, end = Value(step.t0, values[0]), Value(step.t, values[1])
        if k in self._sides:
            return self._first_interval(k, kept, end)
        if values[0] * values[1] <= 0.0 or not rates[0] * rates[1] < 0.0 or not values[0] * rates[0] < 0.0:
            return [(start, end)]
        turn = self._turning_point(k, kept.piece, rates)
        return list(pairwise((start, turn, end)))

    def _first_interval(self, k: int, kept: _Kept, end: Value) -> list[tuple[Value, Value]]:
        """The same for an event that is zero at the start of the step."""
        after, before = self._sides[k]
        if after == 0:
            if abs(end.value) <= AT_REST:
                self._values[k] = 0.0
            elif before * end.value > 0.0:
                self.recurring, self.rest = k, kept.step.t0
            return []
        if not passed(self._events[k], after, end.value):
            return []
        left = self._left_zero(k, kept.piece, after)
        if left is None:
            self.recurring = k
            return []
        return [(left, end)]

    def _left_zero(self, k: int, piece: Piece, side: int) -> Value | None:
        """A time after the start of a step at which the value has left zero to its side; `None` if none is resolved."""
        share = 1.0
        for _ in range(MAX_HALVINGS):
            share *= 0.5
            t = piece.t0 + share * (piece.t - piece.t0)
            value = self._at(k, piece, t) if t != piece.t0 else 0.0
            if value * side > 0.0:
                return Value(t, value)
        return None

    def _turning_point(self, k: int, piece: Piece, rates: tuple[float, float]) -> Value:
        """Where the rate of an event is zero within a step."""
        ends = dict(zip((piece.t0, piece.t), rates))

        def rate(t: float) -> float:
            return ends[t] if t in ends else evaluated_rate(self._events[k], t, *piece(t)[:2])

        turn: float = brentq(rate, piece.t0, piece.t, xtol=1e-14, rtol=1e-14)
        return Value(turn, self._at(k, piece, turn))

    def _zero(self, crossing: Crossing) -> float:
        if crossing.after.value == 0.0:
            return crossing.after.t
        k, piece, ends = crossing.event, crossing.piece, dict((crossing.before, crossing.after))  # whose signs were compared
        if self._changing[k]:
            ends = self._on_constraints(k, piece, ends)

        def value(t: float) -> float:
            return ends[t] if t in ends else self._at(k, piece, t)

        zero: float = brentq(value, *ends, xtol=1e-14, rtol=1e-14)
        return zero

    def _on_constraints(self, k: int, piece: Piece, ends: dict[float, float]) -> dict[float, float]:
        """The values at both ends on the projected interpolant, if their signs differ there, too."""
        projected = {t: self._at(k, piece, t) for t in ends}
        first, last = projected.values()
        return projected if first * last < 0.0 else ends

    def _at(self, k: int, piece: Piece, t: float) -> float:
        """The value of an event within a step."""
        q, v = piece(t)[:2]
        if self._changing[k]:
            q, v = nearest(self._system, t, q, v)
        return evaluated(self._events[k], t, q, v)

    def _evaluated(self, t: float, q: Vector, v: Vector) -> list[float]:
        return [evaluated(event, t, q, v) for event in self._events]

    def _all_rates(self, t: float, q: Vector, v: Vector) -> list[float]:
        return [evaluated_rate(event, t, q, v) for event in self._events]


@dataclass(frozen=True)
class _Kept:
    """A step, and its polynomial once it is needed."""

    step: Step
    _pieces: list[Piece] = field(default_factory=list)

    @property
    def piece(self) -> Piece:
        if not self._pieces:
            self._pieces.append(self.step.piece())
        return self._pieces[0]


def nearest(system: System, t: float, q: Vector, v: Vector) -> Motion:
    """Positions and velocities projected onto the constraints; as they are where that fails."""
    try:
        q_on = polished(system, t, np.array(q))
        return q_on, velocities(system, t, q_on, v)
    except (AssemblyError, FloatingPointError) as error:
        if system.callbacks.has_raised(error):
            raise
        return q, v


def name_of(event: Event) -> str:
    """The name of an event in messages."""
    return str(getattr(event, "name", None) or getattr(event, "__name__", None) or type(event).__name__)


def changes(event: Event) -> bool:
    """Whether an event changes the state."""
    return callable(getattr(event, "on_event", None))


def evaluated_rate(event: Event, t: float, q: Vector, v: Vector) -> float:
    """The derivative of an event along the motion; NaN if it does not give it."""
    rate = getattr(event, "rate", None)
    return float(rate(t, np.array(q), np.array(v))) if callable(rate) else np.nan


def terminal(event: Event) -> int:
    """Number of occurrences after which the event ends the run, `NOT_TERMINAL` if it does not."""
    return int(getattr(event, "terminal", None) or NOT_TERMINAL)


def passed(event: Event, before: float, after: float) -> bool:
    """Whether there is a zero of the right direction between two values."""
    direction = getattr(event, "direction", 0)
    return (before < 0.0 <= after and direction >= 0) or (before > 0.0 >= after and direction <= 0)
