"""Events: zeros of functions of the state, found on the dense output of a finished run."""

import numpy as np
from scipy.optimize import brentq

from .trajectory import DenseOutput


def as_events(events):
    """One event or several as a tuple of callables."""
    events = (events,) if callable(events) else tuple(events) if isinstance(events, (tuple, list)) else (events,)
    for e in events:
        if not callable(e):
            raise ValueError(f"events must be callables event(t, q, v), got {e!r}")
    return events


def evaluated(event, t, q, v):
    """The value of an event; its arrays are copies, so that it cannot change the solution.

    Raises
    ------
    ValueError
        If it is not a finite number: no zero would ever be found.
    """
    value = event(t, np.array(q), np.array(v))
    if not (np.size(value) == 1 and np.isfinite(value).all()):
        name = getattr(event, "__name__", type(event).__name__)
        raise ValueError(f"the event {name!r} must give a finite number, got {value!r} at t = {t:.9g}")
    return float(value)


def of_unknowns(problem, event):
    """`event(t, q, v)` as a function of `(t, y)` or `(t, y, yd)`, with its attributes: for solvers that find zeros themselves."""
    def native(t, y, yd=None):
        return evaluated(event, t, *problem.motion(t, y))

    native.terminal, native.direction = getattr(event, "terminal", False), getattr(event, "direction", 0)
    return native


def find_events(solution, events):
    """Times of the zeros of each event function; a terminal event ends the solution there.

    Parameters
    ----------
    solution : Solution
        With every step stored.
    events : sequence of callables
        `event(t, q, v) -> float`, with the attributes `terminal` (bool) and `direction` (-1, 0, 1) of SciPy.

    Returns
    -------
    list of ndarray
        Times per event, in the direction of integration.
    """
    if len(solution.t) < 2:
        return [np.zeros(0) for _ in events]
    dense = DenseOutput(solution.system, solution)
    found = [_zeros(e, solution, dense) for e in events]
    ends = [times[0] for e, times in zip(events, found) if getattr(e, "terminal", False) and len(times)]
    if ends:
        forward = solution.t[-1] >= solution.t[0]
        end = min(ends) if forward else max(ends)
        _cut(solution, dense, end, forward)
        found = [times[(times <= end) if forward else (times >= end)] for times in found]
    return found


class Watch:
    """Tells a method when it may stop: `watch(t, q, v)` is true once a terminal event has been passed between two of its steps.

    The zero itself is located by `find_events` afterwards.
    """

    def __init__(self, events, t0, q0, v0):
        self._events = [e for e in events if getattr(e, "terminal", False)]
        self._before = [evaluated(e, t0, q0, v0) for e in self._events]

    def __bool__(self):
        return bool(self._events)

    def __call__(self, t, q, v):
        before, self._before = self._before, [evaluated(e, t, q, v) for e in self._events]
        return any(passed(e, *g) for e, *g in zip(self._events, before, self._before))


def passed(event, before, after):
    """Whether there is a zero of the right direction between two values."""
    direction = getattr(event, "direction", 0)
    return (before < 0.0 <= after and direction >= 0) or (before > 0.0 >= after and direction <= 0)


def _zeros(event, solution, dense):
    def value(t):
        q, v, _, _ = dense(t)
        return evaluated(event, t, q, v)

    g = np.array([evaluated(event, t, q, v) for t, q, v in zip(solution.t, solution.q, solution.v)])
    times = []
    for k in range(len(g) - 1):
        if passed(event, g[k], g[k + 1]):
            times.append(solution.t[k + 1] if g[k + 1] == 0.0 else brentq(value, solution.t[k], solution.t[k + 1], xtol=1e-14, rtol=1e-14))
    return np.array(times)


def _cut(solution, dense, end, forward):
    keep = solution.t < end if forward else solution.t > end
    for name, last in zip(["t", "q", "v", "a", "lam"], (end, *dense(end))):
        setattr(solution, name, np.concatenate([getattr(solution, name)[keep], np.asarray(last)[None]]))
    solution.message = f"a terminal event ended the run at t = {end:.9g}"
