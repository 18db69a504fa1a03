"""Events: zeros of functions of the state, found within the steps of a run on the interpolant of the method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from scipy.optimize import brentq

from ..system.assembly import accelerations
from ..typing import Event, FullState, Motion, Vector
from .steps import Piece, StepWatch, hermite_step

if TYPE_CHECKING:
    from ..system.assembly import State
    from ..system.system import System
    from .steps import Step

NOT_TERMINAL = 0  # number of occurrences of an event that does not end the run


def as_events(events: object) -> tuple[Event, ...]:
    """One event or several as a tuple of callables."""
    events = (events,) if callable(events) else tuple(events) if isinstance(events, (tuple, list)) else (events,)
    for e in events:
        if not callable(e):
            raise ValueError(f"events must be callables event(t, q, v), got {e!r}")
    return events


def evaluated(event: Event, t: float, q: Vector, v: Vector) -> float:
    """The value of an event; its arrays are copies, so that it cannot change the solution.

    Raises
    ------
    ValueError
        If it is not a finite number, which would hide its zeros.
    """
    value = event(t, np.array(q), np.array(v))
    if not (np.size(value) == 1 and np.isfinite(value).all()):
        name = getattr(event, "__name__", type(event).__name__)
        raise ValueError(f"the event {name!r} must give a finite number, got {value!r} at t = {t:.9g}")
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


@dataclass(frozen=True)
class Crossing:
    """A step in which event number `event` changes sign, with its values at both ends."""

    event: int
    piece: Piece
    before: float
    after: float


@dataclass(frozen=True)
class Found:
    """The zeros of events.

    Attributes
    ----------
    times : list of ndarray
        Per event, in the direction of integration, up to the end.
    end : float or None
        Time of the terminal event that ended the run.
    state : tuple or None
        `(q, v, a, lam)` there.
    """

    times: list[Vector]
    end: float | None = None
    state: FullState | None = None


class Watch(StepWatch):
    """Detects events in the accepted steps of a run, stores the steps for dense output, and ends the run after a terminal event.

    Events are evaluated at the ends of the steps. Where one changes sign, its time is the zero on the interpolant of that step.

    Parameters
    ----------
    system : System
    events : sequence of callables
        `event(t, q, v) -> float`, with the attributes `terminal` (bool, or the number of occurrences after which the run ends) and
        `direction` (-1, 0, 1) of SciPy.
    start : State
    keep : bool
        Store all steps, not only those with an event.
    seen : sequence of ndarray
        For each event the times at which it was found before the run went on from a later state.
    at : (float, ndarray, ndarray), optional
        `t`, `q`, `v` of this state.

    Attributes
    ----------
    pieces : list of Piece
        The steps, if they are stored.
    """

    def __init__(self, system: System, events: Sequence[Event], start: State, keep: bool = False, seen: Sequence[Vector] = (),
                 at: tuple[float, Vector, Vector] | None = None) -> None:
        self._system, self._events, self._start, self._keep = system, tuple(events), start, keep
        self._seen = [np.asarray(t, dtype=float) for t in seen] or [np.zeros(0) for _ in self._events]
        self._before = self._values(*(at or (start.t, start.q, start.v)))
        self._left = [(terminal(event) or np.inf) - len(t) for event, t in zip(self._events, self._seen)]
        self._crossings: list[Crossing] = []
        self._last = start.t, start.q, start.v, start.a, start.lam
        self.pieces: list[Piece] = []

    def after(self, step: Step) -> bool:
        """See `StepWatch`."""
        piece = step.piece() if self._keep else None
        if piece is not None:
            self.pieces.append(piece)
        if not self._events:
            return False
        before, self._before = self._before, self._values(step.t, *step.motion())
        for k, values in enumerate(zip(before, self._before)):
            if passed(self._events[k], *values):
                piece = step.piece() if piece is None else piece
                self._crossings.append(Crossing(k, piece, *values))
                self._left[k] -= 1
        return min(self._left) <= 0

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
        left = [terminal(event) - len(seen) for event, seen in zip(self._events, self._seen)]
        ends = [row[n - 1] for n, event, row in zip(left, self._events, zeros) if terminal(event) != NOT_TERMINAL and len(row) >= n]
        times = [np.concatenate([seen, np.array([t for t, _ in row], dtype=float)]) for seen, row in zip(self._seen, zeros)]
        if not ends:
            return Found(times)
        end, piece = min(ends, key=lambda zero: abs(zero[0] - self._start.t))
        return Found([t[np.abs(t - self._start.t) <= abs(end - self._start.t)] for t in times], end, piece(end))

    def _zero(self, crossing: Crossing) -> float:
        if crossing.after == 0.0:
            return crossing.piece.t
        piece, event = crossing.piece, self._events[crossing.event]
        ends = {piece.t0: crossing.before, piece.t: crossing.after}  # the values whose signs were compared

        def value(t: float) -> float:
            return ends[t] if t in ends else evaluated(event, t, *piece(t)[:2])

        zero: float = brentq(value, piece.t0, piece.t, xtol=1e-14, rtol=1e-14)
        return zero

    def _values(self, t: float, q: Vector, v: Vector) -> list[float]:
        return [evaluated(event, t, q, v) for event in self._events]


def terminal(event: Event) -> int:
    """Number of occurrences after which the event ends the run, `NOT_TERMINAL` if it does not."""
    return int(getattr(event, "terminal", None) or NOT_TERMINAL)


def passed(event: Event, before: float, after: float) -> bool:
    """Whether there is a zero of the right direction between two values."""
    direction = getattr(event, "direction", 0)
    return (before < 0.0 <= after and direction >= 0) or (before > 0.0 >= after and direction <= 0)
