"""Events: functions of the state whose zeros are found within the steps of a run.

An event is `event(t, q, v) -> float`, a function or an object, with these attributes, all of them optional:

    terminal                 as in SciPy: the run ends with it; a number: with so many of its zeros
    direction                as in SciPy: -1, 1: only zeros where the value falls, or rises; 0: all
    on_event(t, state)       gives the state after the event, see `mbdae.driver.segments`
    rate(t, q, v)            derivative of the value along the motion: two zeros within a step are found where it changes its sign
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from ..model.checks import takes
from ..typing import Event, Motion, Vector

if TYPE_CHECKING:
    from ..system.system import System

NOT_TERMINAL = 0  # number of occurrences of an event that does not end the run
DIFFERENCE = 1e-5  # [s], of difference quotients of events


def as_events(events: object) -> tuple[Event, ...]:
    """One event or several as a tuple of callables."""
    events = (events,) if callable(events) else tuple(events) if isinstance(events, (tuple, list)) else (events,)
    for e in events:
        if not callable(e):
            raise ValueError(f"events must be callables event(t, q, v), got {e!r}")
        takes(e, f"the event {name_of(e)!r}", ("t", "q", "v"))
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
    if value is None:
        raise ValueError(f"the event {name_of(event)!r} must give a finite number, got None at t = {t:.9g}; it has no return")
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


def rate_along(system: System, event: Event, t: float, q: Vector, v: Vector, a: Vector) -> float:
    """The derivative of an event along the motion: its own, or a central difference."""
    own = evaluated_rate(event, t, q, v)
    if np.isfinite(own):
        return own
    ahead, behind = (evaluated(event, t + d, system.retract(q, d * v), v + d * a) for d in (DIFFERENCE, -DIFFERENCE))
    return (ahead - behind) / (2.0 * DIFFERENCE)


def terminal(event: Event) -> int:
    """Number of occurrences after which the event ends the run, `NOT_TERMINAL` if it does not."""
    return int(getattr(event, "terminal", None) or NOT_TERMINAL)


def passed(event: Event, before: float, after: float) -> bool:
    """Whether there is a zero of the right direction between two values."""
    direction = getattr(event, "direction", 0)
    return (before < 0.0 <= after and direction >= 0) or (before > 0.0 >= after and direction <= 0)
