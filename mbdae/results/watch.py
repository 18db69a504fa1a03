"""Zeros of events, located within the steps of a run on the interpolant of the method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.optimize import brentq

from ..system.assembly import AssemblyError, accelerations, polished, velocities
from ..typing import Event, FullState, Matrix, Motion, Vector
from .diagnosis import ChartError, NoInterpolant
from .events import NOT_TERMINAL, changes, evaluated, evaluated_rate, passed, rate_along, terminal
from .steps import Piece, StepWatch, TimedState, hermite_step, taylor_piece
from .turning import Moment

if TYPE_CHECKING:
    from ..system.assembly import State
    from ..system.system import System
    from .steps import Step

SIMULTANEOUS = 1e-12  # [s], relative for times beyond 1 s: zeros of events that end a segment of the run together
AT_REST = 1e-9  # value of an event that is zero after a change, up to which it remains so with a zero rate, or while its rate leads away
MAX_DOUBLINGS = 12  # of the length of the first step, on a Taylor polynomial
MAX_HALVINGS = 50  # of the first step after an event, in which its value leaves zero


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
    motions : list of ndarray
        `q` and `v` at these times, stacked, one row each.
    end : float or None
        Time of the event that ended the run: a terminal one, or one that changes the state.
    state : tuple or None
        `(q, v, a, lam)` there.
    ended : tuple of int
        The events that ended the run, all that have a zero within `SIMULTANEOUS` of the first one.
    """

    times: list[Vector]
    motions: list[Matrix]
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
        `event(t, q, v) -> float`, with the attributes in `mbdae.results.events`.
    start : State
    keep : bool
        Store all steps, not only those with an event.
    sides : dict of int to Side
        Events whose value is zero at the start.
    counts : sequence of int
        Number of the zeros of each event before the start.
    seen : sequence of ndarray
        For each event the times at which it was found before the run went on from a later state.
    at : Moment, optional
        This state.
    seen_motions : sequence of ndarray
        `q` and `v` at these times; NaN where they are not given.

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
                 at: Moment | None = None, seen_motions: Sequence[Matrix] = ()) -> None:
        self._system, self._events, self._start, self._keep = system, tuple(events), start, keep
        self._sides, begins = dict(sides or {}), at or Moment(start.t, start.q, start.v)
        self._seen = [np.asarray(t, dtype=float) for t in seen] or [np.zeros(0) for _ in self._events]
        size = len(start.q) + len(start.v)
        self._seen_motions = list(seen_motions) or [np.full((len(t), size), np.nan) for t in self._seen]
        self._counts = [len(t) for t in self._seen] if counts is None else list(counts)
        self._changing = [changes(event) for event in self._events]
        self._values = [0.0 if k in self._sides else x for k, x in enumerate(self._evaluated(*begins))]
        self._rates = self._all_rates(*begins)
        self._left = [terminal(event) - n if terminal(event) else np.inf for event, n in zip(self._events, self._counts)]
        self._crossings: list[Crossing] = []
        self._first: TimedState = (start.t, start.q, start.v, start.a, start.lam)
        self._last = self._first
        self._motion: tuple[float, Vector, Vector] = begins
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
        begin, self._motion = self._motion, (step.t, *step.motion())
        motion = self._motion[1:]
        before, self._values = self._values, self._evaluated(step.t, *motion)
        rates, self._rates = self._rates, self._all_rates(step.t, *motion)
        ends = False
        for k, pair in enumerate(zip(before, self._values)):
            for crossing in self._intervals(k, kept, pair, (rates[k], self._rates[k])):
                if passed(self._events[k], crossing.before.value, crossing.after.value):
                    self._crossings.append(self._trusted(crossing, begin))
                    self._left[k] -= 1
                    ends |= self._changing[k]
        self._sides = {k: side for k, side in self._sides.items() if self._values[k] == 0.0}
        return ends or self.recurring is not None or min(self._left) <= 0

    def contents(self) -> dict[str, Vector]:
        """The number of zeros of each event up to the last step, and the motion at its end, from which their next signs are compared."""
        if not self._events:
            return {}
        found = np.bincount([c.event for c in self._crossings], minlength=len(self._events)) + [len(t) for t in self._seen]
        return {"events.found": found, "state.q": self._motion[1], "state.v": self._motion[2]}

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
            return Found(times, self._motions(times, zeros))
        _, end, piece = min(ends, key=lambda zero: abs(zero[1] - self._start.t))
        ended = tuple(k for k, t, _ in ends if abs(t - end) <= SIMULTANEOUS * max(1.0, abs(end)))
        times = [self._up_to(end, t, k in ended) for k, t in enumerate(times)]
        return Found(times, self._motions(times, zeros, {end: piece}), end, piece(end), ended)

    def _motions(self, times: list[Vector], zeros: list[list[tuple[float, Piece]]], more: Mapping[float, Piece] = MappingProxyType({})
                 ) -> list[Matrix]:
        """`q` and `v` at the zeros of each event, on the interpolants of their steps."""
        made = []
        for seen, all_times, row in zip(self._seen_motions, times, zeros):
            pieces = dict(row) | dict(more)
            new = [np.concatenate(pieces[t](t)[:2]) for t in all_times[len(seen):].tolist()]
            made.append(np.concatenate([seen[:len(all_times)], np.array(new).reshape(-1, seen.shape[1])]))
        return made

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

    def _intervals(self, k: int, kept: _Kept, values: tuple[float, float], rates: tuple[float, float]) -> list[Crossing]:
        """The parts of a step in each of which an event has one zero or none."""
        step = kept.step
        start, end = Value(step.t0, values[0]), Value(step.t, values[1])
        if k in self._sides:
            return self._first_interval(k, kept, end)
        if values[0] * values[1] <= 0.0 or not rates[0] * rates[1] < 0.0 or not values[0] * rates[0] < 0.0:
            return [Crossing(k, kept.piece, start, end)] if values[0] * values[1] <= 0.0 else []
        turn = self._turning_point(k, kept.piece, rates)
        return [Crossing(k, kept.piece, *ends) for ends in pairwise((start, turn, end))]

    def _trusted(self, crossing: Crossing, begin: tuple[float, Vector, Vector]) -> Crossing:
        """The zero of an event that changes the state; where the value passes it in the other direction, on another interpolant.

        At loose tolerances an interpolant of low order does not even meet the start of its step closely enough for small bounces, and the
        ends of the step may contradict each other: positions that do not follow from the velocities. The other interpolants are Hermite's
        between the ends, and a Taylor polynomial from the start.
        """
        if not self._changing[crossing.event] or self._is_directed(crossing):
            return crossing
        k, (first, last) = crossing.event, ((t, q, v, *accelerations(self._system, t, q, v)[:2]) for t, q, v in (begin, self._motion))
        between = Crossing(k, hermite_step(self._system, first, last).piece(), crossing.before, crossing.after)
        found = between if self._is_directed(between) else self._after_flight(k, first, last[0], int(np.sign(crossing.before.value)))
        found = found or between
        self.pieces[-1:] = [found.piece] if self._keep else []
        return found

    def _is_directed(self, crossing: Crossing) -> bool:
        """Whether the rate of an event at its zero has the sign of the change of its value."""
        t, piece = self._zero(crossing), crossing.piece
        rate = rate_along(self._system, self._events[crossing.event], t, *piece(t)[:3])
        return rate * (crossing.after.value - crossing.before.value) >= 0.0

    def _first_interval(self, k: int, kept: _Kept, end: Value) -> list[Crossing]:
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
        found = self._returns(k, kept.piece, end, after) or self._after_flight(k, self._first, end.t, after)
        if found is None and self._is_leaving(k, end, after):
            self._values[k] = 0.0
            return []
        self.recurring = k if found is None else None
        if found is not None and self._keep:
            self.pieces[-1] = found.piece
        return [] if found is None else [found]

    def _is_leaving(self, k: int, end: Value, side: int) -> bool:
        """Whether an event still leaves zero to a side, and its value is beyond zero only by an error of the positions.

        First steps at tolerances near rounding are so short that they move a body by less than that.
        """
        q, v = self._motion[1:]
        rate = rate_along(self._system, self._events[k], end.t, q, v, accelerations(self._system, end.t, q, v)[0])
        return abs(end.value) <= AT_REST and rate * side > 0.0

    def _after_flight(self, k: int, begin: TimedState, end: float, side: int) -> Crossing | None:
        """Where an event returns to zero on a Taylor polynomial from the start of a step.

        Interpolants of low order do not resolve what happens within the first step where the tolerances admit a longer one.
        """
        for doubling in range(MAX_DOUBLINGS):
            piece = taylor_piece(self._system, begin, begin[0] + 2.0**doubling * (end - begin[0]))
            last = Value(piece.t, self._at(k, piece, piece.t))
            found = self._returns(k, piece, last, side) if last.value * side < 0.0 else None
            if found is not None:
                return found
        return None

    def _returns(self, k: int, piece: Piece, end: Value, side: int) -> Crossing | None:
        """Where an event that has left zero to a side returns to it, `None` if it has not left it, or does not return."""
        left = self._left_zero(k, piece, side)
        if left is None:
            return None
        crossing = Crossing(k, piece, left, end)
        return crossing if self._is_directed(crossing) else None

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
            try:
                self._pieces.append(self.step.piece())
            except ChartError as error:
                raise NoInterpolant(error.status, error.reason) from error
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
