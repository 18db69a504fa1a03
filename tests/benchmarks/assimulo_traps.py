"""What the installed release of Assimulo does in every trap that `mbdae.adapters.assimulo` guards against.

`python -m tests.benchmarks.assimulo_traps [--only TEXT] [--jobs 2] [--json FILE]` prints a table; `--compare A.json B.json` prints one in
Markdown with a column for each of two releases, and the defaults in which they differ.

The problems are plain ones of Assimulo. Each trial, a trap with one solver, has a process of its own: several hang or crash.
"""

import argparse
import contextlib
import gc
import importlib.metadata
import io
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
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


def _number(x):
    return f"{x:.0e}" if x else "0"


def _told(error):
    """An exception as its type and the beginning of its message, without numbers that differ from run to run."""
    text = re.sub(r"[-+]?\d+\.\d+(e[-+]?\d+)?", "...", " ".join(str(error).strip("'\"").split()), flags=re.IGNORECASE)
    return f"{type(error).__name__}: {text[:90]}" if text else type(error).__name__


def outcome(solver, t_end=2.0, raised=(), solution=exact, **arguments):
    """What comes of a run: an exception, perhaps the one in the list `raised`, or a result with its error."""
    try:
        found = solver.simulate(t_end, **arguments)
    except BaseException as error:
        if not raised:
            return f"raises {_told(error)}"
        if error is raised[0]:
            return "arrives unchanged"
        behind = error.__context__ is raised[0] or error.__cause__ is raised[0]
        return f"replaced by {_told(error)}" + (", with it as context" if behind else "")
    t, y, lost = found[0][-1], np.asarray(found[1])[-1], "lost, " if raised else ""
    if not np.isfinite(y).all():
        return lost + "success with NaN"
    if abs(t - t_end) > 1e-6:
        return f"{lost}success, but ends at t = {t:.2g}"
    error = np.abs(y - solution(t_end)).max()
    return lost + ("success with the right result" if error < 1e-2 else f"success with an error of {_number(error)}")


# --- exceptions, interrupts, NaN ---------------------------------------------------------------------------------------------------------

_KEPT = "kept by the callback, raised when the solver has stopped or through it (assimulo_problems.py: Guarded)"


def _exception(name, make, once=False):
    raised = []

    def rhs(t, y, *switches):
        if t > BREAKS_AT and not (once and raised):
            raised[:] = raised or [make("in the function")]
            raise raised[0]
        return oscillator(t, y)

    return outcome(solver_of(name, rhs), raised=raised)


@trap("own exception in the right-hand side, from t = 0.5 on", _KEPT, ALL)
def exception_own(name):
    return _exception(name, Mine)


@trap("own exception in the right-hand side, once", _KEPT, ALL)
def exception_once(name):
    return _exception(name, Mine, once=True)


@trap("ZeroDivisionError in the right-hand side, from t = 0.5 on", _KEPT, ALL)
def exception_zero_division(name):
    return _exception(name, ZeroDivisionError)


@trap("AssimuloRecoverableError in the right-hand side, from t = 0.5 on", _KEPT, ALL)
def exception_recoverable(name):
    from assimulo.exception import AssimuloRecoverableError

    return _exception(name, AssimuloRecoverableError)


@trap("TerminateSimulation in the right-hand side, from t = 0.5 on", _KEPT, ALL)
def exception_terminate(name):
    from assimulo.exception import TerminateSimulation

    return _exception(name, TerminateSimulation)


@trap("own exception in the Jacobian, from t = 0.5 on", _KEPT, WITH_JACOBIAN)
def exception_jacobian(name):
    raised = []

    def jac(*arguments):
        c, t = arguments[:2] if name in IMPLICIT else (1.0, arguments[0])
        if t > BREAKS_AT:
            raised[:] = raised or [Mine("in the Jacobian")]
            raise raised[0]
        J = np.array([[0.0, 1e3], [-1e3, -2e3]])
        return c * np.eye(2) - J if name in IMPLICIT else J

    def stiff(t, y, *switches):
        return np.array([1e3 * y[1], -1e3 * y[0] - 2e3 * y[1]]) + oscillator(t, y)

    solver = solver_of(name, stiff, jac=jac)
    if "usejac" in solver.options:
        solver.usejac = True
    found = outcome(solver, 100.0, raised, solution=lambda t: np.zeros(2))
    return found if raised else "does not ask for it at t > 0.5"


@trap("own exception in a state event, at t > 0.5", _KEPT, WITH_EVENTS)
def exception_event(name):
    raised = []

    def events(t, y, *others):
        if t > BREAKS_AT:
            raised[:] = raised or [Mine("in an event")]
            raise raised[0]
        return np.array([1.0])

    return outcome(solver_of(name, state_events=events), raised=raised)


@trap("own exception in handle_result with report_continuously, at t > 0.5", _KEPT, ALL)
def exception_result(name):
    raised = []

    class Kind:
        def handle_result(self, solver, t, y, yd=None):
            if t > BREAKS_AT:
                raised[:] = raised or [Mine("in handle_result")]
                raise raised[0]

    solver = solver_of(name, kind=Kind)
    solver.report_continuously = True
    return outcome(solver, raised=raised)


@trap("own exception in handle_event after step_events has asked to stop, at t > 0.5",
      "this is how it stops solvers (assimulo_problems.py: Guarded)", ALL)
def exception_stop(name):
    raised = []
    solver = solver_of(name, kind=_stopping(raised))
    return outcome(solver, raised=raised)


def _stopping(raised):
    class Kind:
        def step_events(self, solver):
            return solver.t > BREAKS_AT

        def handle_event(self, solver, event_info):
            raised.append(Mine("in handle_event"))
            raise raised[-1]

    return Kind


@trap("absolute tolerance of the solver after an exception in the right-hand side, or in handle_result",
      "the solver is stopped after a step (assimulo_problems.py: Guarded)", tuple(n for n in ALL if n != "RungeKutta4"))
def exception_tolerances(name):
    class Kind:
        def handle_result(self, solver, t, y, yd=None):
            if t > BREAKS_AT:
                raise Mine

    def rhs(t, y, *switches):
        if t > BREAKS_AT:
            raise Mine
        return oscillator(t, y)

    found = []
    for solver in (solver_of(name, rhs), solver_of(name, kind=Kind)):
        solver.rtol = solver.atol = 1e-4
        solver.report_continuously = True
        before = np.array(solver.atol)
        with contextlib.suppress(Exception):
            solver.simulate(2.0)
        now = np.array(solver.atol)
        found.append("unchanged" if (now == before).all() else f"{_number(before.flat[0])} has become {_number(now.flat[0])}")
    return found[0] if found[0] == found[1] else "; ".join(found)


@trap("a second run, after reset(), of a solver that an exception has ended", "nothing, each run has a solver of its own", ALL)
def exception_again(name):
    broken = [True]

    def rhs(t, y, *switches):
        if broken and t > BREAKS_AT:
            raise Mine
        return oscillator(t, y)

    solver = solver_of(name, rhs)
    with contextlib.suppress(Exception):
        solver.simulate(2.0)
    broken.clear()
    solver.reset()
    return outcome(solver)


@trap("KeyboardInterrupt raised in the right-hand side, once", _KEPT, ALL)
def interrupt_raised(name):
    return _exception(name, KeyboardInterrupt, once=True)


@trap("Ctrl-C from a timer during an endless run", _KEPT, ALL)
def interrupt_signal(name):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sent = []

    def interrupt():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    def rhs(t, y, *switches):
        if sent and time.monotonic() - sent[0] > 4.0:
            PROGRESS.end("lost, the run goes on")
        return oscillator(t, y)

    solver = solver_of(name, rhs)
    if "maxsteps" in solver.options:
        solver.options["maxsteps"] = 2**31 - 1
    threading.Timer(0.3, interrupt).start()
    try:
        solver.simulate(1e6)
        return "lost, the run ends"
    except KeyboardInterrupt:
        return "arrives" if time.monotonic() - sent[0] < 1.0 else "arrives late"
    except BaseException as error:
        return f"replaced by {_told(error)}"


_FINITE = "refused by the callback or by the listener (assimulo_problems.py: Guarded; assimulo.py: _Listener)"


@trap("NaN from the right-hand side from t = 0.5 on", _FINITE, ALL)
def nan(name):
    return outcome(solver_of(name, lambda t, y, *switches: oscillator(t, y) * (np.nan if t > BREAKS_AT else 1.0)))


@trap("infinity from the right-hand side from t = 0.5 on", _FINITE, ALL)
def infinity(name):
    return outcome(solver_of(name, lambda t, y, *switches: oscillator(t, y) + (np.inf if t > BREAKS_AT else 0.0)))


_VARIANTS = ("IDA", "IDA suppressed", "Radau5DAE", "ODASSL", "ODASSL suppressed", "GLIMDA")


@trap("pendulum with the constraint on positions (index 3), to t = 5; suppressed: with algvar, and suppress_alg of IDA",
      "tolerances made smaller, NaN refused (assimulo_support.py: implicit_support; assimulo_problems.py: Guarded)",
      (*_VARIANTS, "IDA suppressed 1e-4"))
def pendulum_index3(name):
    return _pendulum(name, 3)


@trap("pendulum with the constraint on velocities (index 2), to t = 5", "nothing, it serves for comparison", _VARIANTS)
def pendulum_index2(name):
    return _pendulum(name, 2)


def _pendulum(variant, index):
    import assimulo.solvers

    name, _, kind = variant.partition(" ")
    rtol = 1e-4 if "1e-4" in kind else 1e-6
    solver = getattr(assimulo.solvers, name)(pendulum(index, (0.6, -0.8), **({"algvar": [1, 1, 1, 1, 0]} if kind else {})))
    solver.verbosity, solver.rtol, solver.atol = 49, rtol, np.array([rtol] * 4 + [rtol if name == "IDA" else 1e2])
    if name == "IDA":
        solver.suppress_alg = bool(kind)
    try:
        y = solver.simulate(5.0)[1][-1]
    except Exception as error:
        return f"raises {_told(error)}"
    if not np.isfinite(y).all():
        return "success with NaN"
    length, energy = np.hypot(y[0], y[1]) - 1, (y[2] ** 2 + y[3] ** 2) / 2 + 9.81 * (y[1] + 0.8)
    return f"success, error of length {_number(abs(length))}, of energy {_number(abs(energy))}"


# --- what is printed ---------------------------------------------------------------------------------------------------------------------

_PRINTS = "output taken off descriptor 1 or filtered, verbosity 49 (terminal.py; assimulo_settings.py: SILENT)"


def _printing(verbosity):
    @trap(f"what a normal run prints at verbosity {verbosity}", _PRINTS, ALL)
    def normal(name):
        solver_of(name, verbosity=verbosity).simulate(2.0)
        return ""

    @trap(f"what a failing run prints at verbosity {verbosity}", _PRINTS, ALL)
    def failing(name):
        solver = solver_of(name, noise, verbosity=verbosity) if name == "IDA" else solver_of(name, blow_up, (1.0,), verbosity=verbosity)
        if "maxsteps" in solver.options:
            solver.maxsteps = 20  # not all solvers notice the pole
        with contextlib.suppress(Exception):
            solver.simulate(2.0)
        return ""

    for which in ("normal", "failing"):
        TRAPS[f"prints-{which}-{verbosity}"] = TRAPS.pop(which)


for _verbosity in (49, 50):
    _printing(_verbosity)


@trap("how a run ends whose solution has a pole", "its exception becomes a status (assimulo.py: _failure)", ALL)
def pole(name):
    return outcome(solver_of(name, blow_up, (1.0,)), solution=lambda t: np.full(1, np.inf))


# --- ODASSL ------------------------------------------------------------------------------------------------------------------------------


@trap("first row of the results of ODASSL", "results are copies (assimulo_problems.py: handle_result)")
def odassl_first_row():
    y = solver_of("ODASSL").simulate(2.0)[1]
    return "the start" if np.allclose(y[0], exact(0.0)) else "the final state" if np.array_equal(y[0], y[-1]) else f"{y[0]}"


@trap("tolerances of ODASSL after a run with algvar", "algvar is taken away (assimulo_settings.py: _prepare)")
def odassl_algvar():
    from assimulo.solvers import ODASSL

    solver = ODASSL(pendulum(1, (0.6, -0.8), algvar=[1, 1, 1, 1, 0]))
    solver.verbosity, solver.rtol, solver.atol = 49, np.full(5, 1e-6), np.full(5, 1e-6)
    solver.simulate(0.1)
    return f"atol of the algebraic unknown {_number(solver.atol[4])}, rtol {_number(np.ravel(solver.rtol)[-1])}, before 1e-06"


@trap("pendulum (index 3) whose positions are zero at the start, ODASSL", "unknowns shifted off zero (assimulo_settings.py: _shift)")
def odassl_zeros():
    from assimulo.solvers import ODASSL

    found = []
    for origin, rtol in itertools.product(((0.6, -0.8), (0.0, 0.0)), (1e-4, 1e-6)):
        solver = ODASSL(pendulum(3, (0.6, -0.8), origin))
        solver.verbosity, solver.rtol, solver.atol = 49, rtol, np.array([rtol / 100] * 4 + [1e2])
        try:
            solver.simulate(0.5)
            found.append("success")
        except Exception as error:
            found.append(_told(error))
    return f"rtol 1e-4: {found[0]}, 1e-6: {found[1]}; counted from elsewhere: {found[2]}, {found[3]}"


@trap("maxord = 3 of ODASSL", "set through its options (assimulo_settings.py: _set_steps)")
def odassl_maxord():
    solver, found = solver_of("ODASSL"), []
    for order in (3, 7):
        try:
            solver.maxord = order
            found.append(f"{order} is taken")
        except Exception as error:
            found.append(f"{order} is refused: {_told(error)}")
    return "; ".join(found)


@trap("beyond the end of the time span", "nothing, it is documented (assimulo.py: Assimulo)", ALL)
def beyond_the_end(name):
    latest = []

    def rhs(t, y, *switches):
        latest.append(t)
        return oscillator(t, y)

    solver_of(name, rhs).simulate(2.0)
    return "evaluates beyond" if max(latest) > 2.0 + 1e-9 else "does not"


# --- times -------------------------------------------------------------------------------------------------------------------------------


@trap("output at ten times backward in time (backward = True)", "the adapter turns the clock (mbdae/boundary.py: Crossing)", ALL)
def backward_output(name):
    return _backward(name, 10)


@trap("steps backward in time (backward = True)", "the adapter turns the clock (mbdae/boundary.py: Crossing)", ALL)
def backward_steps(name):
    return _backward(name, 0)


def _backward(name, ncp):
    solver = solver_of(name, y0=exact(1.0), t0=1.0)
    solver.backward = True
    try:
        found = solver.simulate(0.0, ncp)
    except BaseException as error:
        return f"raises {_told(error)}"
    t, y = np.array(found[0]), np.asarray(found[1])
    if t[-1] != 0.0:
        return f"success, but ends at t = {t[-1]:.2g} with {len(t)} rows"
    wrong = np.abs(y - exact(t).T).max()
    rows = f" with {len(t)} rows instead of {ncp + 1}" if ncp and len(t) != ncp + 1 else ""
    return ("right" if wrong < 1e-2 else f"error of {_number(wrong)} in row {np.abs(y - exact(t).T).max(axis=1).argmax()}") + rows


@trap("time_limit = 0.5 s", "report_continuously is always set (assimulo.py: _solver)", ALL)
def time_limit(name):
    found = []
    for continuously in (True, False):
        begin = time.monotonic()

        def rhs(t, y, *switches, begin=begin, continuously=continuously):
            if time.monotonic() - begin > 3.0:
                sentence = f"with report_continuously={continuously} it is ignored"
                PROGRESS.end("; ".join([*found, sentence]))
            return oscillator(t, y)

        solver = solver_of(name, rhs)
        solver.time_limit, solver.report_continuously = 0.5, continuously
        if "maxsteps" in solver.options:
            solver.options["maxsteps"] = 2**31 - 1
        try:
            solver.simulate(1e6)
            found.append(f"with report_continuously={continuously} the run ends")
        except Exception as error:
            found.append(f"with report_continuously={continuously} {type(error).__name__}")
    return "; ".join(found)


@trap("the start is reported twice", "stored once (assimulo_problems.py: _accept)", ALL)
def start_twice(name):
    found = []
    for continuously in (False, True):
        solver = solver_of(name)
        solver.report_continuously = continuously
        t = np.array(solver.simulate(2.0)[0])
        found.append(int((t == 0.0).sum()))
        if (np.diff(t[t > 0.0]) <= 0.0).any():
            return "later times are reported twice"
    return "once" if found == [1, 1] else f"{found[0]} times, {found[1]} times with report_continuously"


@trap("interpolate() one rounding beyond the last step", "times are clipped (assimulo.py: _within)", WITH_INTERPOLANT)
def interpolate_outside(name):
    found = {"after": set(), "before": set()}

    class Kind:
        before = None

        def handle_result(self, solver, t, y, yd=None):
            if self.before is not None and t > self.before:
                for where, at in (("after", np.nextafter(t, 9.0)), ("before", np.nextafter(self.before, -9.0))):
                    try:
                        value = solver.interpolate(at)
                        found[where].add("right" if np.abs(value - exact(at)).max() < 1e-2 else "wrong")
                    except Exception as error:
                        found[where].add(f"raises {_told(error)}")
            self.before = t

    solver = solver_of(name, kind=Kind)
    solver.report_continuously = True
    try:
        solver.simulate(2.0)
    except Exception as error:
        return f"the run raises {_told(error)}"
    return "; ".join(f"{where}: {' or '.join(sorted(answers))}" for where, answers in found.items())


@trap("interpolate() after simulate() has returned", "interpolants are used during the run (assimulo.py: _Listener)", WITH_INTERPOLANT)
def interpolate_afterwards(name):
    solver = solver_of(name)
    t = solver.simulate(2.0)[0]
    at = 0.5 * (t[-2] + t[-1])
    try:
        value = solver.interpolate(at)
    except Exception as error:
        return f"raises {_told(error)}"
    return "right" if np.abs(value - exact(at)).max() < 1e-2 else "wrong"


@trap("finalize() after simulate() has returned", "nothing, it is not called", ALL)
def finalize_twice(name):
    solver = solver_of(name)
    solver.simulate(2.0)
    solver.finalize()
    return "harmless"


# --- arrays, memory, nested runs ---------------------------------------------------------------------------------------------------------


@trap("the array y in the right-hand side, kept by the user", "what is kept is copied (mbdae/boundary.py)", ALL)
def reused_buffer(name):
    kept, copies = [], []

    def rhs(t, y, *switches):
        kept.append(y)
        copies.append(np.array(y))
        return oscillator(t, y)

    solver_of(name, rhs).simulate(2.0)
    changed = sum(not np.array_equal(a, b) for a, b in zip(kept, copies))
    return f"changes later ({100 * changed / len(kept):.0f} % of them)" if changed else "stays"


def _resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1024


def _descriptors():
    return len(os.listdir("/proc/self/fd"))


def _growth(work, count):
    """Memory [kB] and descriptors that one call of `work` keeps, after as many calls before."""
    for _ in range(count):
        work()
    gc.collect()
    memory, files = _resident(), _descriptors()
    for _ in range(count):
        work()
    gc.collect()
    memory, files = (_resident() - memory) / count, (_descriptors() - files) / count
    size = "less than 0.1 kB" if memory < 0.1 else f"{memory:.1f} kB" if memory < 10 else f"{memory:.0f} kB"
    return size + (f" and {files:.1f} descriptors" if files >= 0.1 else "")


@trap("memory kept by each of 1500 runs", "nothing", ALL)
def memory_run(name):
    return _growth(lambda: solver_of(name).simulate(0.2), 1500)


@trap("memory and file descriptors kept by each of 600 runs with too many steps", "nothing", tuple(n for n in ALL if n != "RungeKutta4"))
def memory_failed(name):
    def fail():
        solver = solver_of(name)
        if "maxsteps" in solver.options:
            solver.options["maxsteps"] = 3
        with contextlib.suppress(Exception):
            solver.simulate(2.0)

    return _growth(fail, 600)


@trap("memory and file descriptors kept by each of 600 runs that an exception in handle_result ends", "nothing", ALL)
def memory_exception(name):
    class Kind:
        def handle_result(self, solver, t, y, yd=None):
            if t > 0.0:
                raise Mine

    def fail():
        solver = solver_of(name, kind=Kind)
        solver.report_continuously = True
        with contextlib.suppress(Exception):
            solver.simulate(0.2)

    return _growth(fail, 600)


@trap("memory and file descriptors kept by each of 600 runs that an exception in handle_event ends", "nothing", WITH_EVENTS)
def memory_stopped(name):
    def fail():
        with contextlib.suppress(Mine):
            solver_of(name, kind=_stopping([])).simulate(2.0)

    return _growth(fail, 600)


@trap("memory kept by each of 20000 interpolations", "nothing", WITH_INTERPOLANT)
def memory_interpolate(name):
    found = []

    class Kind:
        def handle_result(self, solver, t, y, yd=None):
            if t > 0.0 and not found:
                found.append("")
                found[0] = _growth(lambda: solver.interpolate(t), 20_000)

    solver = solver_of(name, kind=Kind)
    solver.report_continuously = True
    solver.simulate(2.0)
    return found[0]


@trap("a second run of the solver inside its right-hand side", "refused for ODASSL and LSODAR (terminal.py: alone)", ALL)
def nested(name):
    results = []
    for inner in (False, True):
        done = []

        def rhs(t, y, *switches, inner=inner, done=done):
            if inner and t > BREAKS_AT and not done:
                done.append(True)
                try:
                    end = solver_of(name, lambda t, z, *s: -3.0 * z + np.sin(20 * t), (1.0, 2.0, 3.0)).simulate(3.0)[1][-1]
                except Exception as error:
                    PROGRESS.end(f"the inner run raises {_told(error)}")
                done.append(end)
            return oscillator(t, y)

        try:
            results.append(solver_of(name, rhs).simulate(4.0)[1][-1])
        except Exception as error:
            return f"the outer run raises {_told(error)}"
    error = np.abs(results[1] - results[0]).max()
    return "harmless" if error == 0.0 else f"the outer result is changed by {_number(error)}"


@trap("interpolate() in handle_result, after another run of the solver there", "refused for ODASSL and LSODAR only (terminal.py: alone)",
      WITH_INTERPOLANT)
def nested_interpolate(name):
    found = []

    class Kind:
        before = 0.0

        def handle_result(self, solver, t, y, yd=None):
            if t > BREAKS_AT and not found:
                at = 0.5 * (self.before + t)
                right = np.array(solver.interpolate(at))
                solver_of(name, lambda t, z, *s: -3.0 * z + np.sin(20 * t), (1.0, 2.0, 3.0)).simulate(3.0)
                found.append(right)
                found.append(np.abs(solver.interpolate(at) - right).max())
            self.before = t

    solver = solver_of(name, kind=Kind)
    solver.report_continuously = True
    try:
        solver.simulate(2.0)
    except Exception as error:
        return f"raises {_told(error)}"
    return "harmless" if found[1] == 0.0 else f"the value is changed by {_number(found[1])}"


@trap("runs of the same solver in two threads", "one after the other (terminal.py: FortranOutput)", ALL)
def threads(name):
    found, errors = {}, []

    def work(k, slow):
        def rhs(t, y, *switches):
            time.sleep(slow)
            return oscillator(t, y) * (1.0 + k)

        try:
            found.setdefault(k, []).append(solver_of(name, rhs).simulate(2.0)[1][-1])
        except Exception as error:
            errors.append(_told(error))

    for k in range(2):
        work(k, 0.0)
    for _ in range(5):
        jobs = [threading.Thread(target=work, args=(k, 1e-5)) for k in range(2)]
        [job.start() for job in jobs]
        [job.join() for job in jobs]
    if errors:
        return f"raises {errors[0]}"
    error = max(np.abs(y - rows[0]).max() for rows in found.values() for y in rows)
    return "harmless" if error == 0.0 else f"results are changed by {_number(error)}"


# --- Jacobians, statistics, options ------------------------------------------------------------------------------------------------------


def _stiff(name, wanted=None, jac_of=np.array, **options):
    """A stiff run with a Jacobian: number of its calls, calls of the function, what is printed."""
    calls = []

    def jac(*arguments):
        c, y = (arguments[0], arguments[2]) if name in IMPLICIT else (1.0, arguments[1])
        J = np.array([[0.0, 1.0], [1e3 * (-2 * y[0] * y[1] - 1), 1e3 * (1 - y[0] ** 2)]])
        calls.append(1)
        return jac_of(c * np.eye(2) - J if name in IMPLICIT else J)

    solver = solver_of(name, van_der_pol, (2.0, -0.6), jac=jac, verbosity=30)
    if wanted is not None:
        solver.usejac = wanted
    for key, value in options.items():
        setattr(solver, key, value)
    PROGRESS.calls, out = 0, io.StringIO()
    with contextlib.redirect_stdout(out):
        y = solver.simulate(1.0)[1]
    assert abs(y[-1][0] - VAN_DER_POL) < 1e-2, f"the result is {y[-1][0]}"
    return len(calls), PROGRESS.calls, out.getvalue()


VAN_DER_POL = -1.8881499  # y(1), by SciPy's Radau with rtol = 1e-9


@trap("use of the Jacobian by default and with usejac = True", "usejac is set (assimulo_settings.py: configure)", WITH_JACOBIAN)
def jacobian_used(name):
    found = []
    for wanted in (None, True):
        if wanted is None or "usejac" in solver_of(name).options:
            calls, _, printed = _stiff(name, wanted)
            lines = [line for line in printed.split("\n") if "not currently supported" in line]
            found.append(("used" if calls else "not used") + (f", prints '{lines[0]}'" if lines else ""))
    return found[0] if len(set(found)) == 1 else "; usejac = True: ".join(found)


@trap("Jacobian while warnings are errors", "the warning is ignored during a run (assimulo.py: integrate)",
      ("IDA", "CVode", "Radau5ODE", "RodasODE", "LSODAR"))
def jacobian_strict(name):
    wanted = True if "usejac" in solver_of(name).options else None
    usual = _stiff(name, wanted)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        strict = _stiff(name, wanted)
    return "as ever" if strict[:2] == usual[:2] else f"{usual[0]} Jacobians and {usual[1]} calls become {strict[0]} and {strict[1]}"


@trap("warnings during a run with a Jacobian", "the warning is ignored during a run (assimulo.py: integrate)",
      ("IDA", "CVode", "Radau5ODE", "RodasODE", "LSODAR"))
def jacobian_warns(name):
    wanted = True if "usejac" in solver_of(name).options else None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _stiff(name, wanted)
    return _told(caught[0].message) if caught else "none"


@trap("sparse direct linear solver", "nothing, Jacobians are dense (storage.py)", ("CVode", "Radau5ODE", "IDA"))
def sparse(name):
    from scipy.sparse import csc_matrix

    if "linear_solver" not in solver_of(name).options:
        return "no such option"
    usual = solver_of(name, jac=lambda *a: csc_matrix(np.array([[0.0, 1.0], [-1.0, 0.0]])), jac_nnz=2)
    usual.usejac = True
    try:
        usual.linear_solver = "SPARSE"
    except Exception as error:
        return f"refused: {_told(error)}"
    return outcome(usual)


@trap("item access to the statistics of what is not counted", "the raw table is read (assimulo.py: _statistics)", ALL)
def statistics_items(name):
    solver = solver_of(name)
    solver.simulate(2.0)
    missing = [key for key, n in solver.statistics.statistics.items() if n < 0 and key in ("nerrfails", "nlus", "nniters", "nnfails")]
    told = [key for key in missing if solver.statistics[key] == 0]
    return f"0 for {', '.join(told)}" if told else "all of nerrfails, nlus, nniters, nnfails are counted" if not missing else "raises"


@trap("evaluations that the statistics count, nfcns + nfcnjacs, of a stiff run", "the adapter counts calls (assimulo.py: _evaluations)",
      tuple(n for n in ALL if n not in ("RungeKutta4", "RungeKutta34", "Dopri5")))
def statistics_counts(name):
    solver = solver_of(name, van_der_pol, (2.0, -0.6))
    PROGRESS.calls = 0
    solver.simulate(1.0)
    counts = {key: n for key, n in solver.statistics.statistics.items() if n >= 0}
    told = counts.get("nfcns", 0) + counts.get("nfcnjacs", 0)
    share = told / PROGRESS.calls
    return "all" if abs(told - PROGRESS.calls) <= 2 else f"{100 * share:.0f} %" + ("" if "nfcnjacs" in counts else ", nfcnjacs is missing")


@trap("maxsteps = 3", "the adapter counts steps itself, maxsteps = 2^31 - 1 (assimulo_settings.py: PLENTY)", ALL)
def maxsteps_exceeded(name):
    solver = solver_of(name)
    if "maxsteps" not in solver.options:
        return "no such option"
    solver.maxsteps = 3
    return outcome(solver)


def _huge(name, number):
    solver = solver_of(name)
    if "maxsteps" not in solver.options:
        return "no such option"
    try:
        solver.maxsteps = number
    except Exception as error:
        return f"refused: {_told(error)}"
    return outcome(solver)


@trap("maxsteps = 2^31 - 1", "used for no limit (assimulo_settings.py: PLENTY)", ALL)
def maxsteps_32bit(name):
    return _huge(name, 2**31 - 1)


@trap("maxsteps = 2^31", "2^31 - 1 is used for no limit (assimulo_settings.py: PLENTY)", ALL)
def maxsteps_huge(name):
    return _huge(name, 2**31)


# --- events ------------------------------------------------------------------------------------------------------------------------------


def _events(name, t0, t_end):
    found, signs = [], []

    class Kind:
        def handle_event(self, solver, event_info):
            found.append(solver.t)
            signs.extend(np.sign(event_info[0]))

    y0 = exact(t0)
    solver = solver_of(name, y0=y0, t0=t0, kind=Kind, state_events=lambda t, y, *others: np.array([y[0]]))
    solver.simulate(t_end)
    return found, signs


@trap("zeros of cos t between 0 and 9 as state events", "refused for ODASSL and GLIMDA, LSODAR: the flow decides on the direction "
      "(assimulo_settings.py: _check_events; assimulo_problems.py: _has_direction)", ALL)
def events(name):
    try:
        found, signs = _events(name, 0.0, 9.0)
    except Exception as error:
        return f"raises {_told(error)}"
    expected = np.pi * np.array([0.5, 1.5, 2.5])
    if len(found) != 3:
        return f"{len(found)} of 3 found, no error"
    late = np.abs(np.array(found) - expected).max()
    direction = "with" if list(signs) == [-1, 1, -1] else "without"
    return f"found {direction} their direction" + (f", {_number(late)} late" if late > 1e-3 else "")


@trap("a state event at a negative time", "refused for Radau5DAE (assimulo_settings.py: _check_events)", WITH_EVENTS)
def events_negative(name):
    found, _ = _events(name, -3.0, -1.0)
    return "found" if len(found) == 1 and abs(found[0] + np.pi / 2) < 1e-3 else f"{len(found)} of 1 found"


# --- GLIMDA, DASP3, Radar5, import -------------------------------------------------------------------------------------------------------


@trap("errors of GLIMDA: no solution, singular equations, NaN, index 3", "KeyError becomes a sentence (assimulo.py: _failure)",
      ("no solution", "singular", "NaN at the start", "index 3"))
def glimda_flags(case):
    from assimulo.problem import Implicit_Problem
    from assimulo.solvers import GLIMDA

    def res(t, y, yd):
        PROGRESS.calls += 1
        return {"no solution": y**2 + 1.0, "singular": 0.0 * yd + 1.0, "NaN at the start": np.nan * y}[case]

    solver = GLIMDA(pendulum(3) if case == "index 3" else Implicit_Problem(res, [1.0, 0.0], [0.0, 0.0], 0.0))
    solver.verbosity, solver.maxsteps = 49, 2000
    return outcome(solver, solution=lambda t: np.nan)


@trap("GLIMDA with a matrix before yd that turns", "refused, or the mass matrix is divided out (assimulo.py: _suited)")
def glimda_constant():
    from assimulo.problem import Implicit_Problem
    from assimulo.solvers import GLIMDA

    found = []
    for rate in (0.0, 3.0):
        def res(t, y, yd, rate=rate):
            PROGRESS.calls += 1
            c, s = np.cos(rate * t), np.sin(rate * t)
            return np.array([[c, -s], [s, c]]) @ (yd - oscillator(t, y))

        solver = GLIMDA(Implicit_Problem(res, [1.0, 0.0], [0.0, -1.0], 0.0))
        solver.verbosity = 49
        found.append(outcome(solver) + f" in {solver.statistics.statistics['nsteps']} steps")
    return f"{found[1]}; the same equations with a constant one: {found[0]}"


@trap("DASP3ODE with fast unknowns", "all forms refused (assimulo_support.py: _DASP3)", ("1", "2", "5"))
def dasp3(fast):
    from assimulo.problem import SingPerturbed_Problem
    from assimulo.solvers import DASP3ODE

    m = int(fast)
    problem = SingPerturbed_Problem(lambda t, y, z: -y, lambda t, y, z: np.arange(1, m + 1) * y[0] - z, yy0=[1.0],
                                    zz0=np.arange(1.0, m + 1), eps=np.full(m, 1e-3))
    solver = DASP3ODE(problem)
    solver.verbosity, solver.rtol, solver.atol = 49, 1e-5, 1e-5
    return outcome(solver, 1.0, solution=lambda t: np.exp(-t) * np.array([1.0, *np.arange(1, m + 1)]))


@trap("Radar5ODE: y' = -y + y(t - 1)", "left out")
def radar5():
    from assimulo.problem import Delay_Explicit_Problem
    from assimulo.solvers import Radar5ODE

    class Delayed(Delay_Explicit_Problem):
        def __init__(self):
            super().__init__()
            self.lagcompmap, self.y0 = [[0]], 0.0

        def time_lags(self, t, y):
            return [t - 1.0]

        def rhs(self, t, y, delayed):
            return -y + delayed[0][0]

        def phi(self, i, t):
            return np.sin(np.pi * t)

    try:
        solver = Radar5ODE(Delayed())
    except Exception as error:
        return f"cannot be made: {_told(error)}"
    solver.verbosity = 49

    def solution(t):
        w = np.pi
        return np.array([-(np.sin(w * t) - w * np.cos(w * t) + w * np.exp(-t)) / (1 + w * w)])

    return outcome(solver, 1.0, solution=solution)


@trap("import of assimulo.solvers", "nothing")
def import_solvers():
    import assimulo.solvers

    missing = [name for name in (*ALL, "DASP3ODE", "Radar5ODE", "KINSOL") if not hasattr(assimulo.solvers, name)]
    extra = [name for name in ("matplotlib", "pylab") if sys.modules.get(name)]
    return f"missing: {', '.join(missing) or 'none'}" + (f"; imports {', '.join(extra)}" if extra else "")


@trap("import of assimulo.solvers without Matplotlib", "nothing")
def import_without_matplotlib():
    sys.modules["matplotlib"] = sys.modules["pylab"] = None
    return import_solvers()


# --- processes ---------------------------------------------------------------------------------------------------------------------------


def worker(trial, file):
    """Try one trap in this process; the sentence goes to the file."""
    PROGRESS.file = file
    threading.Thread(target=PROGRESS.give_up, daemon=True).start()
    name, _, solver = trial.partition(":")
    t = TRAPS[name]
    np.seterr(all="ignore")  # what is printed shall be the solver's
    try:
        sentence = t.function(*([solver] if solver else []))
    except BaseException as error:
        sentence = f"the trial raises {_told(error)}"
    with open(file, "w") as out:
        out.write(sentence)
    sys.stdout.flush()
    os.write(1, END_OF_RUN.encode())


def attempt(trial):
    """One trial in a process of its own: what has happened, as a sentence."""
    command = [sys.executable, "-m", "tests.benchmarks.assimulo_traps", "--worker", trial]
    with tempfile.NamedTemporaryFile("r") as file:
        process = subprocess.Popen([*command, file.name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                                   start_new_session=True, env=os.environ | {"OPENBLAS_NUM_THREADS": "1"})
        try:
            out, err = process.communicate(timeout=SECONDS)
            ended = ""
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            ended = "hangs in compiled code"
        sentence = file.read()
    if process.returncode and not ended:
        name = signal.Signals(-process.returncode).name if process.returncode < 0 else process.returncode
        ended = f"crashes ({name})" + (", after all: " + sentence if sentence else "")
    return "; ".join(x for x in (ended or sentence, _printed(trial, out, err)) if x)


def _printed(trial, out, err):
    """What has been printed, as the first line of each stream; for the traps about prints, also that nothing has."""
    before, _, after = out.partition(END_OF_RUN)
    lines = [("prints a traceback" if "Traceback" in err else f"prints '{_first(err)}' on stderr") if err.strip() else "",
             f"prints {_lines(before)}" if before.strip() else "", f"prints {_lines(after)} when Python ends" if after.strip() else ""]
    told = " and ".join(line for line in lines if line)
    return told or (SILENT if trial.startswith("prints") else "")


def _first(text):
    line = " ".join(next(line for line in text.split("\n") if line.strip()).split())
    line = re.sub(r"^\S+\.py:\d+: ", "", line)
    return re.sub(r"[-+]?\d+\.\d+(e[-+]?\d+)?", "...", line, flags=re.IGNORECASE)[:70]


def _lines(text):
    n = text.strip().count("\n") + 1
    return f"'{_first(text)}'" + (f" and {'more' if n < 9 else 'many'} lines" if n > 1 else "")


# --- tables ------------------------------------------------------------------------------------------------------------------------------


def versions():
    """The release of Assimulo, and what it runs on."""
    for name in ("assimulo-testing", "Assimulo"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            return {"Assimulo": importlib.metadata.version(name), "distribution": name, "NumPy": np.__version__,
                    "SciPy": importlib.metadata.version("scipy"), "Python": sys.version.split()[0]}
    raise SystemExit("Assimulo is not installed")


def defaults():
    """Options of each solver, and what it says to support."""
    found = {}
    for name in ALL:
        solver = solver_of(name)
        found[name] = {key: _plain(value) for key, value in sorted(solver.options.items())}
        found[name] |= {f"supports {key}": str(value) for key, value in sorted(solver.supports.items())}
    return found


def _plain(value):
    return str(np.ravel(value)[0] if isinstance(value, np.ndarray) and len(set(np.ravel(value))) == 1 else value)


def together(results):
    """The sentences of one trap, each with the solvers that it holds for."""
    sentences = {}
    for solver, sentence in results.items():
        sentences.setdefault(sentence, []).append(solver)
    if list(results) == [""]:
        return results[""]
    if len(sentences) == 1:
        return f"all: {next(iter(sentences))}"
    return " / ".join(f"{', '.join(names)}: {sentence}" for sentence, names in sentences.items())


def compare(files):
    """Markdown: a column for each release, then the defaults in which they differ."""
    runs = []
    for name in files:
        with open(name) as file:
            runs.append(json.load(file))
    heads = [f"Assimulo {run['versions']['Assimulo']}, NumPy {run['versions']['NumPy']}, SciPy {run['versions']['SciPy']}" for run in runs]
    print("| trap | " + " | ".join(heads) + " | what the adapter does |\n|" + "---|" * (len(runs) + 2))
    for name, t in TRAPS.items():
        if all(name in run["results"] for run in runs):
            cells = [together(run["results"][name]).replace("|", "\\|").replace(" / ", "<br>") for run in runs]
            cells[1:] = [cell if cell != cells[0] else "the same" for cell in cells[1:]]
            print(f"| {t.title} | " + " | ".join(cells) + f" | {t.adapter} |")
    print("\n| solver | default of | " + " | ".join(heads) + " |\n|" + "---|" * (len(runs) + 2))
    for solver in ALL:
        tables = [run["defaults"][solver] for run in runs]
        for key in sorted(set().union(*tables)):
            values = [table.get(key, "-") for table in tables]
            if len(set(values)) > 1:
                print(f"| {solver} | {key} | " + " | ".join(values) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[], help="beginnings of names of traps, e.g. nan, or of a trial, nan:IDA")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", metavar="FILE", help="store the results; with --only, put them into those stored before")
    parser.add_argument("--compare", nargs="+", metavar="FILE")
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return worker(*options.worker)
    if options.compare:
        return compare(options.compare)
    trials = [f"{name}:{solver}".rstrip(":") for name, t in TRAPS.items() for solver in t.solvers]
    trials = [trial for trial in trials if not options.only or trial.startswith(tuple(options.only))]
    results = {}
    print("Assimulo " + ", ".join(f"{key} {value}" for key, value in versions().items()).removeprefix("Assimulo "))
    with ThreadPoolExecutor(options.jobs) as pool:
        for trial, sentence in zip(trials, pool.map(attempt, trials)):
            name, _, solver = trial.partition(":")
            results.setdefault(name, {})[solver] = sentence
            print(f"{trial:36s} {sentence}", file=sys.stderr, flush=True)
    for name, found in results.items():
        print(f"\n{TRAPS[name].title}\n    {together(found)}\n    adapter: {TRAPS[name].adapter}")
    if options.json:
        store(options.json, results, bool(options.only))
    return 0


def store(name, results, update):
    """Write the results; those of some traps only are put into the file that there is."""
    kept = {}
    if update:
        with contextlib.suppress(FileNotFoundError), open(name) as file:
            kept = json.load(file)["results"]
    for key, found in results.items():
        both = kept.get(key, {}) | found
        kept[key] = {solver: both[solver] for solver in TRAPS[key].solvers if solver in both}
    with open(name, "w") as file:
        json.dump({"versions": versions(), "results": kept, "defaults": defaults()}, file, indent=1)


if __name__ == "__main__":
    sys.exit(main())
