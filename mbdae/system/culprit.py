"""The user function that is not finite, once a run has failed: forces, laws and motions are evaluated again, one by one, in Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from ..model import motions as mo
from ..model.base import Force
from ..model.forces import RSDA, TSDA, PointForce, PointTorque, UserForce
from ..model.mechanism import Mechanism
from ..typing import Vector
from . import evaluate as ev
from . import words
from .callbacks import interpreted

if TYPE_CHECKING:
    from .system import System

_Look: TypeAlias = "Callable[[System, float, Vector, Vector], str | None]"

SHARE = 1e-2  # of the time span, searched if the length of the last step is unknown
FIRST_TIME, TIMES = 1e-9, 40  # first time of the search, relative to that span, and their number
EVALUATIONS = ("phi", "nu", "phi_q", "mass", "force", "gamma")
FILLED = slice(5, None)  # arguments of a user force that it fills


class _States(Protocol):
    """Rows of a trajectory."""

    @property
    def t(self) -> Vector: ...
    @property
    def q(self) -> Vector: ...
    @property
    def v(self) -> Vector: ...
    @property
    def a(self) -> Vector: ...


class _Notes:
    """The first value that was not finite: what gave it, and when."""

    def __init__(self) -> None:
        self.first: str | None = None

    def watched(self, label: str, function: Callable[..., Any], at: int) -> Callable[..., Any]:
        """The function, observed; `at` is the place of the time among its arguments."""
        def observed(*args: Any) -> Any:
            value = function(*args)
            self.look(label, args[at], *([] if value is None else [value]), *args[FILLED])
            return value

        return observed

    def look(self, label: str, t: float, *values: object) -> None:
        """Note a value that is not finite; numbers of other kinds, such as Taylor series, are passed over."""
        try:
            bad = [x for value in values for x in np.ravel(np.asarray(value, dtype=float)) if not np.isfinite(x)]
        except (TypeError, ValueError):
            return
        if bad and self.first is None:
            self.first = f"{label} is {bad[0]:g} at t = {float(t):.9g}"


def not_finite(system: System, trajectory: _States, t_end: float) -> str | None:
    """A message about the user function that is not finite at the end of a trajectory or shortly after; `None` if there is none.

    Parameters
    ----------
    system : System
    trajectory : Trajectory
        Of a run that has failed.
    t_end : float
        End of the time span.
    """
    if not len(trajectory.t):
        return None
    t, q, v, a = (x[-1] for x in (trajectory.t, trajectory.q, trajectory.v, trajectory.a))
    rest = t_end - t
    last = max(2.0 * abs(t - trajectory.t[-2]) if len(trajectory.t) > 1 else 0.0, SHARE * abs(rest))  # the last steps may have been tiny
    ahead = np.copysign(min(abs(rest), last), rest)
    look = _look(system)
    with np.errstate(all="ignore"):
        for dt in (0.0, *(ahead * np.geomspace(FIRST_TIME, 1.0, TIMES))):
            found = _at(system, look, float(t + dt), q, v, a, dt)
            if found is not None:
                return found
    return None


def not_finite_at(system: System, t: float, q: Vector, v: Vector) -> str | None:
    """The same at one state, if one of its evaluations has given a value that is not finite."""
    if not (np.isfinite(t) and np.isfinite(q).all() and np.isfinite(v).all()):
        return None
    with np.errstate(all="ignore"):
        return _at(system, _look(system), float(t), q, v, np.zeros_like(v), 0.0)


def _look(system: System) -> _Look:
    return _look_at_functions if system.mechanism is None else _look_at_mechanism(system, system.mechanism)


def _at(system: System, look: _Look, t: float, q: Vector, v: Vector, a: Vector, dt: float) -> str | None:
    """What is found at the state extrapolated by `dt`; `None` if it cannot be evaluated."""
    try:
        return look(system, t, system.retract(q, dt * (v + 0.5 * dt * a)), v + dt * a)
    except Exception:  # of user functions: it says nothing about values that are not finite
        system.callbacks.forget()
        return None


def _look_at_functions(system: System, t: float, q: Vector, v: Vector) -> str | None:
    f, lam = system._functions, system.multiplier_guess()
    arguments = {"gamma": (q, v), "force": (q, v, lam)}
    for name in EVALUATIONS:
        value = np.ravel(getattr(f, name)(t, *(x.copy() for x in arguments.get(name, (q,)))))
        if not np.isfinite(value).all():
            k = int(np.argmin(np.isfinite(value)))
            return f"entry {k} of the user function {name!r} is {value[k]:g} at t = {t:.9g}"
    return None


def _look_at_mechanism(system: System, mechanism: Mechanism) -> _Look:
    """A search in a copy of the mechanism whose user functions are observed."""
    notes = _Notes()
    with interpreted():
        copy = system.remade(_observed(mechanism, notes))

    def look(_: System, t: float, q: Vector, v: Vector) -> str | None:
        model, work = copy._model, copy._work  # unchecked: a check of the results would call this function again
        evaluations: tuple[tuple[Callable[..., object], tuple[Vector, ...]], ...] = (
            (ev.phi, ()), (ev.nu, ()), (ev.gamma, (v,)), (ev.force, (v, system.multiplier_guess())))
        for evaluate, arguments in evaluations:
            evaluate(t, q, *arguments, model, work)
            if notes.first is not None:
                break
        copy.callbacks.forget()
        found, notes.first = notes.first, None
        return found

    return look


def _observed(mechanism: Mechanism, notes: _Notes) -> Mechanism:
    return replace(mechanism, forces=tuple(_force(f, notes) for f in mechanism.forces),
                   joints=tuple(_constraint(c, notes) for c in mechanism.joints),
                   drivers=tuple(_constraint(c, notes) for c in mechanism.drivers))


def _force(f: Force, notes: _Notes) -> Force:
    if isinstance(f, UserForce):
        return replace(f, function=notes.watched(words.user_force(f), getattr(f.function, "py_func", f.function), 0))
    if isinstance(f, TSDA | RSDA) and f.law is not None:
        return replace(f, law=notes.watched(words.law(f), getattr(f.law, "py_func", f.law), 2))
    if isinstance(f, PointForce | PointTorque):
        parts = tuple(_motion(m, words.load(f, k), notes) for k, m in enumerate(words.components(f)))
        return replace(f, force=parts) if isinstance(f, PointForce) else replace(f, torque=parts)
    return f


def _constraint(c: Any, notes: _Notes) -> Any:
    return replace(c, f=_motion(c.f, words.motion(c), notes)) if hasattr(c, "f") else c


def _motion(motion: mo.Motion, label: str, notes: _Notes) -> mo.Motion:
    if not isinstance(motion, mo.Function):
        return motion
    return replace(motion, **{k: notes.watched(order + label, getattr(f, "py_func", f), 0) for k, order in words.ORDERS.items()
                              if (f := getattr(motion, k)) is not None})
