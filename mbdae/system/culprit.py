"""Which user function has no finite value, once a run has failed: forces, laws and motions are asked again, one by one, from Python."""

from contextlib import suppress
from dataclasses import replace

import numpy as np

from ..model import motions as mo
from ..model.forces import RSDA, TSDA, PointForce, PointTorque, UserForce
from .callbacks import interpreted
from .system import System

SHARE = 1e-2  # of the time span in which is looked if the length of the last step is not known
NEAREST, LOOKS = 1e-9, 40  # first distance, relative to that span, and number of times
EVALUATIONS = ("phi", "nu", "phi_q", "mass", "force", "gamma")


class _Notes:
    """The first value that was not finite: what gave it, and when."""

    def __init__(self):
        self.first = None

    def watched(self, label, function, at):
        """The function, observed; `at` is the place of the time among its arguments."""
        def observed(*args):
            value = function(*args)
            self.look(label, args[at], *([] if value is None else [value]), *args[5:])  # a user force fills its last two arguments
            return value

        return observed

    def look(self, label, t, *values):
        """Note a value that is not finite; numbers of other kinds, such as Taylor series, are passed over."""
        try:
            bad = [x for value in values for x in np.ravel(np.asarray(value, dtype=float)) if not np.isfinite(x)]
        except (TypeError, ValueError):
            return
        if bad and self.first is None:
            self.first = f"{label} is {bad[0]:g} at t = {float(t):.9g}"


def not_finite(system, trajectory, t_end):
    """The user function that is not finite at the end of a trajectory or a little ahead, in words; `None` if there is none.

    Parameters
    ----------
    system : System
    trajectory : Trajectory
        Of a run that has failed.
    t_end : float
        Where it was to end.
    """
    if not len(trajectory.t):
        return None
    t, q, v, a = (x[-1] for x in (trajectory.t, trajectory.q, trajectory.v, trajectory.a))
    rest = t_end - t
    last = max(2.0 * abs(t - trajectory.t[-2]) if len(trajectory.t) > 1 else 0.0, SHARE * abs(rest))  # steps may have been cut to nothing
    ahead = np.copysign(min(abs(rest), last), rest)
    look = _look_at_functions if system.mechanism is None else _look_at_mechanism(system)
    with np.errstate(all="ignore"):
        for dt in (0.0, *(ahead * np.geomspace(NEAREST, 1.0, LOOKS))):
            found = _at(system, look, float(t + dt), q, v, a, dt)
            if found is not None:
                return found
    return None


def _at(system, look, t, q, v, a, dt):
    """What is found at a state that is carried on by `dt`; nothing if it cannot be."""
    try:
        return look(system, t, system.retract(q, dt * (v + 0.5 * dt * a)), v + dt * a)
    except Exception:  # whatever user functions raise: a run has met it before, or never will
        system.callbacks.forget()
        return None


def _look_at_functions(system, t, q, v):
    f, lam = system._functions, system.multiplier_guess()
    arguments = {"gamma": (q, v), "force": (q, v, lam)}
    for name in EVALUATIONS:
        value = np.ravel(getattr(f, name)(t, *(x.copy() for x in arguments.get(name, (q,)))))
        if not np.isfinite(value).all():
            k = int(np.argmin(np.isfinite(value)))
            return f"entry {k} of the user function {name!r} is {value[k]:g} at t = {t:.9g}"
    return None


def _look_at_mechanism(system):
    """The same mechanism, whose user functions are observed."""
    notes = _Notes()
    with interpreted():
        copy = System(_observed(system.mechanism, notes), "natural")

    def look(_, t, q, v):
        for evaluate in (lambda: copy.phi(t, q), lambda: copy.nu(t, q), lambda: copy.gamma(t, q, v), lambda: copy.force(t, q, v)):
            with suppress(FloatingPointError):
                evaluate()
            if notes.first is not None:
                return notes.first
        return None

    return look


def _observed(mechanism, notes):
    return replace(mechanism, forces=tuple(_force(f, notes) for f in mechanism.forces),
                   drivers=tuple(replace(d, f=_motion(d.f, f"the motion of driver {d.name!r} between {d.i!r} and {d.j!r}", notes))
                                 for d in mechanism.drivers))


def _force(f, notes):
    if isinstance(f, UserForce):
        label = f"the user force {f.name!r} on {', '.join(map(repr, f.bodies))}"
        return replace(f, function=notes.watched(label, getattr(f.function, "py_func", f.function), 0))
    if isinstance(f, TSDA | RSDA) and f.law is not None:
        label = f"the law of {type(f).__name__} {f.name!r} between {f.i!r} and {f.j!r}"
        return replace(f, law=notes.watched(label, getattr(f.law, "py_func", f.law), 2))
    if isinstance(f, PointForce | PointTorque):
        field = "force" if isinstance(f, PointForce) else "torque"
        parts = tuple(_motion(m, f"component {k} of {type(f).__name__} {f.name!r} on {f.body!r}", notes)
                      for k, m in enumerate(getattr(f, field)))
        return replace(f, **{field: parts})
    return f


def _motion(motion, label, notes):
    if not isinstance(motion, mo.Function):
        return motion
    names = {"f": label, "df": f"the rate of {label}", "d2f": f"the second derivative of {label}"}
    return replace(motion, **{k: notes.watched(words, getattr(f, "py_func", f), 0) for k, words in names.items()
                              if (f := getattr(motion, k)) is not None})
