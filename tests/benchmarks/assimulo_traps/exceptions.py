"""Exceptions, interrupts, values that are not finite, and pendulums."""

import contextlib
import os
import signal
import threading
import time

import numpy as np

from .base import (
    ALL,
    BREAKS_AT,
    IMPLICIT,
    PROGRESS,
    WITH_EVENTS,
    WITH_JACOBIAN,
    Mine,
    number,
    oscillator,
    outcome,
    pendulum,
    solver_of,
    told,
    trap,
)

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
    solver = solver_of(name, kind=stopping(raised))
    return outcome(solver, raised=raised)


def stopping(raised):
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
        found.append("unchanged" if (now == before).all() else f"{number(before.flat[0])} has become {number(now.flat[0])}")
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
        return f"replaced by {told(error)}"


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
        return f"raises {told(error)}"
    if not np.isfinite(y).all():
        return "success with NaN"
    length, energy = np.hypot(y[0], y[1]) - 1, (y[2] ** 2 + y[3] ** 2) / 2 + 9.81 * (y[1] + 0.8)
    return f"success, error of length {number(abs(length))}, of energy {number(abs(energy))}"
