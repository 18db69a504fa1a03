"""Assimulo when something goes wrong: exceptions, Ctrl-C and NaN, which its solvers swallow, and what they print."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

import mbdae
from mbdae import Status
from mbdae.adapters.assimulo import Assimulo, _failure, configure, implicit_problem
from mbdae.adapters.scipy import SolveIvp
from mbdae.driver.callbacks import SolverCallbacks
from mbdae.interrupts import signals

from .assimulo_cases import CELLS, MISSING, WORKING, Mine, kinds, native, throwing_system
from .helpers import BREAKS_AT, double_pendulum, torn, with_law

pytestmark = pytest.mark.thorough


pytest.importorskip("assimulo.solvers", reason=MISSING)


@pytest.fixture(scope="module")
def throwing():
    return throwing_system()


@pytest.fixture
def python_interrupts():
    """Ctrl-C as Python treats it by itself: a process in the background is started with Ctrl-C ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


# --- failures ----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("jacobian", ["exact", "difference"])
@pytest.mark.parametrize(("name", "form"), CELLS)
def test_exceptions_of_users_arrive_unchanged(throwing, capfd, name, form, jacobian):
    """Trap: CVode and RungeKutta34 swallow all exceptions, Radau5ODE those it takes for recoverable; IDA and the wrappers print them."""
    for kind in kinds():
        throwing.law.error = kind("in the law")
        with pytest.raises(kind) as raised:
            mbdae.solve(throwing, Assimulo(name, jacobian), (0.0, 0.2), formulation=form)
        assert raised.value is throwing.law.error
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_tolerances_whose_squares_vanish_end_dopri5(rate):
    """Trap: the size of its first step becomes NaN, and it repeats this step without an end, whatever is kept to be raised after it."""
    ball = mbdae.System(mbdae.Mechanism("ball", [mbdae.Particle("ball", 1.0, (1, 0, 0), (rate, 0, 0))], gravity=(0, 0, -9.81)))
    begin = time.process_time()
    with pytest.warns(UserWarning, match="below the rounding"):
        s = mbdae.solve(ball, Assimulo("Dopri5"), (0.0, 1.0), rtol=1e-160, atol=1e-160)
    assert s.status in (Status.NOT_FINITE, Status.STEP_TOO_SMALL, Status.SOLVER_FAILED) and len(s.t) == 1
    assert "t = " in s.message and time.process_time() - begin < 10.0


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError, MemoryError])
def test_a_solver_that_does_not_come_to_the_end_of_a_step_is_ended(error):
    """Dopri5 goes on as long as its steps are rejected: the exception is raised through it after some evaluations."""
    calls = [0]

    def law(length, rate, t):
        calls[0] += 1
        if calls[0] == 2000:
            raise error("mine")
        return 1e3 * np.random.default_rng(calls[0]).standard_normal()  # no step is accepted

    s = with_law(law)
    with pytest.raises(error, match="mine"):
        mbdae.solve(s, Assimulo("Dopri5"), (0.0, 1.0), rtol=1e-9)
    assert calls[0] == 2000


@pytest.mark.parametrize("rtol", [1e-4, 1e-6, 1e-8, 1e-10])
def test_runge_kutta_34_repeats_steps(rtol):
    """Trap: Assimulo accepts every step of RungeKutta34, and its error estimate vanishes for forces of time alone."""
    def law(length, rate, t):
        return 0.1 * length + (20.0 if t > 0.0505 else 0.0)

    def solved(method, rtol, t_span=(0.0, 0.2), state=None):
        r = mbdae.solve(system, method, t_span, rtol=rtol, atol=0.01 * rtol, state=state)
        assert r.success, r.message
        return r

    system = with_law(law)
    first = solved(SolveIvp("DOP853"), 1e-12, (0.0, 0.0505))
    right = solved(SolveIvp("DOP853"), 1e-12, (np.nextafter(0.0505, 1.0), 0.2), mbdae.assemble(system, np.nextafter(0.0505, 1.0),
                                                                                              first.q[-1], first.v[-1]))
    s = solved(Assimulo("RungeKutta34"), rtol)
    error = max(np.abs(s.q[-1] - right.q[-1]).max(), np.abs(s.v[-1] - right.v[-1]).max() / (1.0 + np.abs(right.v[-1]).max()))
    assert error < 20.0 * rtol  # 1 to 6; without repeated steps 500 at 1e-4, 7e6 at 1e-10
    assert s.statistics.rejected_error > 3 and s.statistics.residuals == 5 * (s.statistics.steps + s.statistics.rejected_error) + 1


def test_runge_kutta_34_takes_about_as_many_steps_as_assimulo():
    """Where the forces are smooth."""
    from assimulo.solvers import RungeKutta34

    s = with_law(lambda length, rate, t: 0.1 * length)
    for tol in (1e-6, 1e-9):
        ours = mbdae.solve(s, Assimulo("RungeKutta34"), (0.0, 0.2), rtol=tol, atol=0.01 * tol).statistics.steps
        solver = configure(RungeKutta34(native(s, "ode")), None, tol, 0.01 * tol)
        solver.simulate(0.2)
        assert solver.statistics["nsteps"] <= ours < 1.3 * solver.statistics["nsteps"] + 5


@pytest.mark.usefixtures("python_interrupts")
@pytest.mark.parametrize("name", WORKING)
def test_interrupts_arrive(system, name):
    """Trap: CVode and RungeKutta34 swallow Ctrl-C, also if it comes in the first instruction of a callback.

    The span is endless: on a busy machine the thread with the timer may wait for seconds.
    """
    for delay in (0.02, 0.03, 0.04):
        timers = []

        def interrupt_soon(t, delay=delay, timers=timers):  # not while code is being compiled
            if not timers:
                timers.append(threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT)))
                timers[0].start()

        with pytest.raises(KeyboardInterrupt):
            mbdae.solve(system, Assimulo(name), (0.0, 1e6), rtol=1e-8, atol=1e-10, t_eval=[], progress=interrupt_soon)
        timers[0].join()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("python_interrupts")
def test_interrupts_end_user_functions_that_hang():
    """While a callback keeps exceptions, Ctrl-C is not held back."""
    armed = []

    def hang(*args):
        if not armed:  # the system is still looked at
            return 0.0
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        return time.sleep(60.0)

    m = double_pendulum()
    system = mbdae.System(replace(m, forces=[mbdae.TSDA("band", "ground", "upper", (0, 1, 0), law=hang)]))
    state = mbdae.State(0.0, *(np.zeros(n) for n in (6, 6, 6, 4)))
    native = implicit_problem(mbdae.GGL(system), state=state)
    armed.append(True)
    before = time.perf_counter()
    with pytest.raises(KeyboardInterrupt), signals.held():
        native.res(0.0, native.y0, native.yd0)
    assert time.perf_counter() - before < 30.0


@pytest.mark.parametrize("jacobian", ["exact", "difference"])
@pytest.mark.parametrize(("name", "form"), CELLS)
def test_values_that_are_not_finite_end_the_run_with_what_was_computed(fragile, capfd, name, form, jacobian):
    """Trap: CVode goes on for ever, RungeKutta34 as if nothing had happened."""
    s = mbdae.solve(fragile, Assimulo(name, jacobian), (0.0, 0.2), formulation=form)
    assert s.status == Status.NOT_FINITE
    assert "not finite" in s.message
    assert "the solution up to there is kept" in s.message
    assert 0.02 < s.t[-1] < BREAKS_AT + 2e-3
    assert s.statistics.steps == len(s.t) - 1
    assert np.isfinite(s.q).all()
    assert capfd.readouterr() == ("", "")
    gc.collect()


def test_messages_of_the_solver_are_those_of_the_solution(fragile):
    """What Fortran prints when it gives up is not lost; Radau5ODE and Dopri5 are ended before they do, the library knows the cause."""
    assert "EXIT OF RODAS" in mbdae.solve(fragile, Assimulo("RodasODE", backend="wrapper"), (0.0, 0.2)).message
    for name in ("Radau5ODE", "Dopri5", "RodasODE"):
        assert "the law of TSDA 'band 2' between 'ground' and 'upper' is nan" in mbdae.solve(fragile, Assimulo(name), (0.0, 0.2)).message
    drive = mbdae.CoordinateDriver("pull", "ground", "p", mbdae.Polynomial((0.6, 1.0)), (1, 0, 0))
    m = mbdae.Mechanism("dead point", [mbdae.Particle("p", 1.0, (0.6, 0.8, 0))],
                        [mbdae.Rod("rod", "ground", "p"), mbdae.CD("plane", "ground", "p", (0, 0, 1))], [drive])
    for name in WORKING:
        s = mbdae.solve(m, Assimulo(name), (0.0, 1.0))
        assert not s.success
        assert 0.3 < s.t[-1] < 0.45  # x = 1 is reached at t = 0.4


OFTEN = "test failures occurred too many times during one internal time step or minimum step size was reached.'"


@pytest.mark.parametrize(("text", "status"), [
    (f"'Convergence {OFTEN}", "NEWTON_FAILED"), (f"'Error {OFTEN}", "STEP_TOO_SMALL"), ("ODASSL failed with flag IDID -7", "NEWTON_FAILED"),
    ("'The matrix is repeatedly singular. At time 0.1.'", "SOLVER_FAILED"), ("LSODAR failed with flag -5", "NEWTON_FAILED"),
    ("GLIMDA failed with flag -4. Stepsize too small, decrease minh", "STEP_TOO_SMALL")])
def test_failures_have_a_status(system, text, status):
    p = native(system, "ggl", t0=0.3, callbacks=SolverCallbacks(mbdae.GGL(system), t0=0.3))
    failure = _failure("X", Exception(text), "printed", p.callbacks)
    assert failure.status.name == status
    assert failure.reason == f"Assimulo X, whose time starts at zero: {text.strip(chr(39))} (printed)"


def test_the_causes_of_exceptions_are_kept(throwing):
    cause, context = Mine("cause"), Mine("context")
    throwing.law.error = Mine("in the law")
    throwing.law.error.__cause__, throwing.law.error.__context__ = cause, context
    for name in WORKING:
        with pytest.raises(Mine) as raised:
            mbdae.solve(throwing, Assimulo(name), (0.0, 0.2))
        assert raised.value.__cause__ is cause
        assert raised.value.__context__ is context


def test_nothing_is_printed_but_by_the_user(capfd):
    def loud(length, rate, t):
        print("law")
        os.write(2, b"")
        return torn(length, rate, t)

    noisy = with_law(loud)
    capfd.readouterr()
    for name in WORKING:
        mbdae.solve(noisy, Assimulo(name), (0.0, 0.06))
        out, err = capfd.readouterr()
        assert set(out.split("\n")) == {"law", ""}
        assert err == ""


SCRIPT = """
import mbdae, sys
from mbdae.adapters.assimulo import Assimulo

def law(length, rate, t):
    print("law", flush=True)
    print("warned", file=sys.stderr)
    return float("nan") if t > 0.01 else 0.0

ball = mbdae.Mechanism("ball", [mbdae.Particle("ball", 1.0, (1, 0, 0))], forces=[mbdae.TSDA("band", "ground", "ball", law=law)])
for name in ("Radau5ODE", "Dopri5", "LSODAR", "CVode"):
    print("begin")
    assert not mbdae.solve(ball, Assimulo(name), (0.0, 0.1)).success
print("end")
"""


def test_prints_of_users_reach_a_pipe():
    """There, `sys.stdout` is the descriptor that is taken away from Fortran, whose buffer would come to light at the end."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    runs, end = done.stdout.removeprefix("begin\n").split("end")
    assert end == "\n"
    assert [set(run.split()) for run in runs.split("begin")] == [{"law"}] * 4
    assert set(done.stderr.split("\n")) == {"warned", ""}
    assert done.stderr.count("warned") == done.stdout.count("law")


def test_the_standard_output_is_given_back(fragile, capfd):
    for name in WORKING:
        mbdae.solve(fragile, Assimulo(name), (0.0, 0.2))
    os.write(1, b"to descriptor 1")
    os.write(2, b"to descriptor 2")
    assert capfd.readouterr() == ("to descriptor 1", "to descriptor 2")


@pytest.mark.parametrize(("options", "culprit"), [
    ({"solver": "KINSOL"}, "solver must be one of IDA, .*got 'KINSOL'"), ({"jacobian": "sparse"}, "jacobian must be .*'sparse'"),
    ({"max_order": 6}, "max_order of IDA must be one of 1 to 5, got 6"), ({"solver": "Dopri5", "max_order": 3}, "Dopri5 has no max_order"),
    ({"solver": "GLIMDA", "max_order": 0}, "1 to 3, got 0"), ({"first_step": -1.0}, "first_step must be finite and not negative"),
    ({"max_step": -1.0}, "max_step must be finite and not negative"),
    ({"solver": "LSODAR", "first_step": 1e-3}, "LSODAR chooses its first step"),
    ({"solver": "RungeKutta34", "max_step": 1e-3}, "RungeKutta34 has no max_step"), ({"max_steps": 0}, "max_steps must be at least 1")])
def test_bad_options_are_refused(options, culprit):
    with pytest.raises(ValueError, match=culprit):
        Assimulo(**options)
