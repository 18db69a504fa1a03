"""What the trials share: the register of traps, and plain problems of Assimulo."""

import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

EXPLICIT = ("CVode", "Radau5ODE", "RodasODE", "LSODAR", "Dopri5", "RungeKutta34", "RungeKutta4")
IMPLICIT = ("IDA", "Radau5DAE", "ODASSL", "GLIMDA")
ALL = IMPLICIT + EXPLICIT
WITH_EVENTS = ("IDA", "Radau5DAE", "CVode", "Radau5ODE", "RodasODE", "LSODAR", "Dopri5", "RungeKutta34")
WITH_JACOBIAN = ("IDA", "Radau5DAE", "ODASSL", "GLIMDA", "CVode", "Radau5ODE", "RodasODE", "LSODAR")
WITH_INTERPOLANT = ("IDA", "Radau5DAE", "CVode", "Radau5ODE", "RodasODE", "LSODAR", "Dopri5", "RungeKutta34")
SECONDS = 20.0  # for one trial
PATIENCE = 17.0  # after which a trial that still calls its function is given up
BREAKS_AT = 0.5
END_OF_RUN = "<<end of the run>>"  # what is printed after it came out of a buffer
SILENT = "nothing is printed"
RANDOM = np.random.default_rng(0)


@dataclass(frozen=True)
class Trap:
    """One trap: its title, what the adapter does about it, the solvers that it is tried with, and the function that tries it."""

    title: str
    adapter: str
    solvers: tuple
    function: Callable


TRAPS: dict[str, Trap] = {}


def trap(title, adapter, solvers=("",)):
    """Register a function that tries a solver and tells in a sentence what has happened."""
    def register(function):
        TRAPS[function.__name__.replace("_", "-")] = Trap(title, adapter, solvers, function)
        return function

    return register


# --- problems and solvers ----------------------------------------------------------------------------------------------------------------


class Mine(Exception):
    """An exception of a user."""


class Progress:
    """Calls of right-hand sides in this process; a thread gives up a trial that calls without end."""

    calls, t, file = 0, 0.0, None

    def give_up(self):
        time.sleep(PATIENCE)
        calls, t = self.calls, self.t
        time.sleep(1.0)
        if self.calls == calls:
            self.end("hangs, calls nothing")
        self.end("hangs, calls the function again and again " + (f"at t = {t:.2g}" if abs(self.t - t) < 1e-9 else "with growing t"))

    def end(self, sentence):
        """Tell the result and leave the process from wherever it is."""
        with open(self.file, "w") as file:
            file.write(sentence)
        os._exit(0)


PROGRESS = Progress()


def oscillator(t, y, *switches):
    """`y'' = -y` with the solution `cos t`."""
    PROGRESS.calls, PROGRESS.t = PROGRESS.calls + 1, t
    return np.array([y[1], -y[0]])


def exact(t):
    return np.array([np.cos(t), -np.sin(t)])


def blow_up(t, y, *switches):
    """`y' = y^2` with `1 / (1 - t)`: no solver gets beyond t = 1."""
    PROGRESS.calls, PROGRESS.t = PROGRESS.calls + 1, t
    with np.errstate(all="ignore"):
        return np.asarray(y) ** 2


def noise(t, y, *switches):
    """IDA, which goes on for ever at a pole, fails if no step passes the error test."""
    return oscillator(t, y) + (1e3 * RANDOM.normal(size=2) if t > BREAKS_AT else 0.0)


def van_der_pol(t, y, *switches):
    """Stiff."""
    PROGRESS.calls, PROGRESS.t = PROGRESS.calls + 1, t
    return np.array([y[1], 1e3 * ((1 - y[0] ** 2) * y[1] - y[0])])


def problem_of(name, rhs=oscillator, y0=(1.0, 0.0), t0=0.0, kind=None, **attributes):
    """`y' = f(t, y)`, for implicit solvers as a residual; `kind` may be a class with methods of its own."""
    from assimulo import problem as native

    if name in IMPLICIT:
        def res(t, y, yd, *switches):
            return yd - rhs(t, y)

        base = native.Implicit_Problem
        p = (type("Implicit", (kind, base), {}) if kind else base)(res, list(y0), rhs(t0, np.array(y0)), t0)
    else:
        base = native.Explicit_Problem
        p = (type("Explicit", (kind, base), {}) if kind else base)(rhs, list(y0), t0)
    for key, value in attributes.items():
        setattr(p, key, value)
    return p


def solver_of(name, *arguments, verbosity=49, **options):
    import assimulo.solvers

    solver = getattr(assimulo.solvers, name)(problem_of(name, *arguments, **options))
    solver.verbosity = verbosity
    return solver


def pendulum(index, q=(1.0, 0.0), origin=(0.0, 0.0), **attributes):
    """`y = (x, y, vx, vy, lam)` with the constraint of the index; the positions are counted from the origin."""
    from assimulo.problem import Implicit_Problem

    def res(t, y, yd, *switches):
        PROGRESS.calls, PROGRESS.t = PROGRESS.calls + 1, t
        u, w = y[0] + origin[0], y[1] + origin[1]
        c = {3: u**2 + w**2 - 1, 2: u * y[2] + w * y[3], 1: y[2] ** 2 + y[3] ** 2 - y[4] - 9.81 * w}[index]
        return np.array([yd[0] - y[2], yd[1] - y[3], yd[2] + y[4] * u, yd[3] + y[4] * w + 9.81, c])

    lam = -9.81 * q[1]
    p = Implicit_Problem(res, [q[0] - origin[0], q[1] - origin[1], 0.0, 0.0, lam], [0.0, 0.0, -lam * q[0], -lam * q[1] - 9.81, 0.0], 0.0)
    for key, value in attributes.items():
        setattr(p, key, value)
    return p


def number(x):
    return f"{x:.0e}" if x else "0"


def told(error):
    """An exception as its type and the beginning of its message, without numbers that differ from run to run."""
    text = re.sub(r"[-+]?\d+\.\d+(e[-+]?\d+)?", "...", " ".join(str(error).strip("'\"").split()), flags=re.IGNORECASE)
    return f"{type(error).__name__}: {text[:90]}" if text else type(error).__name__


def outcome(solver, t_end=2.0, raised=(), solution=exact, **arguments):
    """What comes of a run: an exception, perhaps the one in the list `raised`, or a result with its error."""
    try:
        found = solver.simulate(t_end, **arguments)
    except BaseException as error:
        if not raised:
            return f"raises {told(error)}"
        if error is raised[0]:
            return "arrives unchanged"
        behind = error.__context__ is raised[0] or error.__cause__ is raised[0]
        return f"replaced by {told(error)}" + (", with it as context" if behind else "")
    t, y, lost = found[0][-1], np.asarray(found[1])[-1], "lost, " if raised else ""
    if not np.isfinite(y).all():
        return lost + "success with NaN"
    if abs(t - t_end) > 1e-6:
        return f"{lost}success, but ends at t = {t:.2g}"
    error = np.abs(y - solution(t_end)).max()
    return lost + ("success with the right result" if error < 1e-2 else f"success with an error of {number(error)}")
