"""Ctrl-C: it arrives from wherever a run is, once, and nothing else about signals changes."""

import os
import signal
import threading
import time
import warnings

import numpy as np
import pytest

import mbdae
from mbdae import FullyImplicit, HalfImplicit, RosenbrockNystrom, Status
from mbdae.adapters.assimulo import Assimulo
from mbdae.adapters.odes import Odes
from mbdae.adapters.radau13 import Radau13
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Cvode, Ida
from mbdae.interrupts import signals
from mbdae.registry import find
from mbdae.system.assembly import AssemblyError

from .benchmarks import interrupts
from .helpers import double_pendulum, need, with_law

with warnings.catch_warnings():  # of its source code, where that is not compiled yet
    warnings.simplefilter("ignore")
    Assimulo().availability()
INTERRUPTED = ["HalfImplicit", "GeneralizedAlpha:stabilised", "NullSpaceHHT", "RosenbrockNystrom", "ProjectedGauss:2", "Bdf", "Ida",
               "DormandPrince", "RadauIIA", "SolveIvp:DOP853", "Odes:ida", "Assimulo:Dopri5", "Assimulo:CVode", "Radau13",
               "Projected:HalfImplicit"]


@pytest.fixture(autouse=True)
def python_interrupts():
    """Ctrl-C as Python treats it by itself: a process in the background is started with Ctrl-C ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert not signals.active and not signals.waiting and not signals.inside
    signal.signal(signal.SIGINT, before)


def made(name):
    """A method of the benchmark, if it is installed."""
    family = find(name.removeprefix("Projected:")).family
    if family.availability() is not None:
        need(family)
    return interrupts.method(name)


def interrupting(at):
    """A force that is interrupted while it is evaluated for the first time after `at`: the handler runs within the function."""
    def law(x, xd, t):
        if t > at and not law.sent:
            law.sent = True
            os.kill(os.getpid(), signal.SIGINT)
        return 0.1 * x

    law.sent = False
    return law


@pytest.mark.parametrize("name", INTERRUPTED)
def test_an_interrupt_within_a_user_function_arrives(name):
    law = interrupting(0.01)
    system, method = with_law(law), made(name)
    with pytest.raises(KeyboardInterrupt):
        mbdae.solve(system, method, (0.0, 0.05))
    assert law.sent
    assert mbdae.solve(system, method, (0.0, 0.05)).success


@pytest.mark.parametrize("name", INTERRUPTED)
def test_an_interrupt_anywhere_else_waits_until_it_can_arrive(monkeypatch, name):
    """Trap: in the first instruction of a callback what the handler raises is lost. Here it comes as if it were there."""
    guarded, sent = signals.guarded, []

    def first_instruction(function, *args):
        if not sent and signals.active:
            sent.append(True)
            os.kill(os.getpid(), signal.SIGINT)
        return guarded(function, *args)

    system, method = with_law(lambda x, xd, t: 0.1 * x), made(name)
    expected = mbdae.solve(system, method, (0.0, 0.05))
    monkeypatch.setattr(signals, "guarded", first_instruction)
    with pytest.raises(KeyboardInterrupt):
        mbdae.solve(system, method, (0.0, 0.05))
    assert sent
    np.testing.assert_array_equal(mbdae.solve(system, method, (0.0, 0.05)).q, expected.q)


@pytest.mark.parametrize("name", ["HalfImplicit", "FullyImplicit", "HHT", "NullSpaceNewmark:trapezoidal", "TrapezoidalStateSpace",
                                  "RosenbrockNystrom", "ProjectedGauss:1", "Rattle:2", "Spark:4", "DormandPrince:5"])
def test_compiled_loops_look_at_the_flag(monkeypatch, name):
    """Set for good, as if signals came without end: the loop returns after each step, and the run still ends where it should."""
    system, method = mbdae.System(double_pendulum()), made(name)
    expected, calls = mbdae.solve(system, method, (0.0, 0.05)), []
    flag = np.ones(1, dtype=np.uint8)
    check = signals.check
    monkeypatch.setattr(signals, "check", lambda: (calls.append(True), check(), flag.fill(1)))
    monkeypatch.setattr(signals, "flag", flag)
    with signals.held():  # the outer one would take the flag that belongs to the process
        monkeypatch.setattr(signals, "flag", flag)
        s = mbdae.solve(system, method, (0.0, 0.05))
    assert len(calls) > s.statistics.steps / 2
    np.testing.assert_allclose(s.q[-1], expected.q[-1], rtol=0, atol=1e-13)
    assert s.statistics.steps == expected.statistics.steps


def test_a_signal_sets_the_flag_before_python_knows():
    with signals.held():
        assert signals.flag[0] == 0
        signals.inside = False
        os.kill(os.getpid(), signal.SIGINT)
        assert signals.waiting and signals.flag[0] != 0
        with pytest.raises(KeyboardInterrupt):
            signals.check()
        with pytest.raises(KeyboardInterrupt):  # until it has left the run
            signals.check()
        signals._raised, signals.waiting = None, False
        signals.check()
        assert signals.flag[0] == 0


def test_what_is_swallowed_is_raised_at_the_end():
    with pytest.raises(KeyboardInterrupt), signals.held():
        result, error = signals.guarded(os.kill, os.getpid(), signal.SIGINT)
        assert result is None and isinstance(error, KeyboardInterrupt)


def test_functions_that_hang_are_interrupted():
    def hang(x, xd, t):
        if t > 0.01:
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
            time.sleep(60.0)
        return 0.0

    def wait(t):
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
        time.sleep(60.0)

    before = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        mbdae.solve(with_law(hang), HalfImplicit(1e-3), (0.0, 0.1))
    with pytest.raises(KeyboardInterrupt):
        mbdae.solve(double_pendulum(), HalfImplicit(1e-3), (0.0, 0.1), progress=wait)
    assert time.perf_counter() - before < 30.0


@pytest.mark.parametrize("method", [HalfImplicit(1e-3), RosenbrockNystrom(), Ida()], ids=lambda m: m.label)
def test_handlers_of_users_are_called_once_and_stay(method):
    """One that does not raise lets the run go on."""
    got = []

    def handler(number, frame):
        got.append(number)

    before = signal.signal(signal.SIGINT, handler)
    law = interrupting(0.01)
    s = mbdae.solve(with_law(law), method, (0.0, 0.05))
    assert s.success and got == [signal.SIGINT] and signal.getsignal(signal.SIGINT) is handler
    law.sent = True
    np.testing.assert_array_equal(s.q, mbdae.solve(with_law(law), method, (0.0, 0.05)).q)
    signal.signal(signal.SIGINT, before)


def test_who_waits_for_signals_on_a_file_is_told_of_them():
    read, write = os.pipe()
    os.set_blocking(write, False)
    before = signal.set_wakeup_fd(write)
    try:
        with pytest.raises(KeyboardInterrupt):
            mbdae.solve(with_law(interrupting(0.01)), HalfImplicit(1e-3), (0.0, 0.05))
        assert signal.set_wakeup_fd(before) == write
        assert os.read(read, 100) == bytes([signal.SIGINT])
    finally:
        os.close(read)
        os.close(write)


def test_other_threads_are_left_alone():
    """A run in a thread neither takes the signal nor hears of it."""
    found, law = [], interrupting(0.01)
    law.sent = True
    thread = threading.Thread(target=lambda: found.append(mbdae.solve(with_law(law), HalfImplicit(1e-4), (0.0, 0.5))))
    with pytest.raises(KeyboardInterrupt), signals.held():
        thread.start()
        os.kill(os.getpid(), signal.SIGINT)
        thread.join()
    assert found[0].success


def test_a_run_within_a_run_may_be_interrupted_alone():
    inner, caught = interrupting(0.01), []

    def progress(t):
        try:
            mbdae.solve(with_law(inner), HalfImplicit(1e-3), (0.0, 0.05))
        except KeyboardInterrupt:
            caught.append(t)

    s = mbdae.solve(double_pendulum(), HalfImplicit(1e-3), (0.0, 0.1), progress=progress)
    assert s.success and len(caught) == 1


# --- runs that must not be nested --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "name"), [(Assimulo("ODASSL"), "Assimulo ODASSL"), (Assimulo("LSODAR"), "Assimulo LSODAR"),
                                              (SolveIvp("LSODA"), "SciPy's LSODA"), (Radau13(), "RADAU"), (Odes("ddaspk"), "DASPK")],
                         ids=lambda x: x if isinstance(x, str) else "")
def test_solvers_with_static_memory_do_one_run_at_a_time(system, method, name):
    """Trap: ODASSL and LSODAR spoil the outer run without a word, LSODA waits for its own end."""
    need(method)

    def nested(t):
        return mbdae.solve(system, method, (0.0, 0.02))

    with pytest.raises(RuntimeError, match=f"{name} can do one run at a time"):
        mbdae.solve(system, method, (0.0, 0.1), progress=nested)
    with pytest.raises(RuntimeError, match=f"{name} can do one run at a time"):
        mbdae.solve(with_law(lambda x, xd, t: 0.0 if t < 0.02 else nested(t)), method, (0.0, 0.1))
    assert mbdae.solve(system, method, (0.0, 0.1)).success


# --- runs that could not end -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tolerance", [1e-160, 1e-20])
@pytest.mark.parametrize("method", ["TrapezoidalStateSpace", "TrapezoidalDescriptor", "SdirkDescriptor", "SdirkFirstOrder",
                                    "RosenbrockNystrom", "HHT", "NullSpaceHHT", "DormandPrince", "RadauIIA"])
def test_tolerances_below_rounding_end_the_run(system, method, tolerance):
    with pytest.warns(UserWarning, match="below the rounding of double precision"):
        s = mbdae.solve(system, getattr(mbdae, method)(), (0.0, 1.0), rtol=tolerance,
                        atol=tolerance)
    assert s.status == Status.STEP_TOO_SMALL and "tolerances are below rounding" in s.message
    np.testing.assert_array_equal(s.t, [0.0])


@pytest.mark.parametrize("method", [mbdae.NullSpaceNewmark(h=1e-300), mbdae.GeneralizedAlpha(h=1e-300, level="stabilised"),
                                    HalfImplicit(h=1e-18), FullyImplicit(h=1e-300), mbdae.ProjectedGauss(h=1e-300),
                                    RosenbrockNystrom(fixed_step=1e-300), mbdae.DormandPrince(fixed_step=1e-300),
                                    mbdae.RadauIIA(5, fixed_step=1e-300)],
                         ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("t_span", [(0.0, 1.0), (1.0, 2.0), (1.0, 0.0)])
def test_steps_that_do_not_move_the_time_end_the_run(system, method, t_span):
    s = mbdae.solve(system, method, t_span)
    assert s.status == Status.STEP_TOO_SMALL and "do not move the time" in s.message
    np.testing.assert_array_equal(s.t, t_span[:1])


def test_steps_limited_below_rounding_end_the_run(system):
    s = mbdae.solve(system, RosenbrockNystrom(max_step=1e-300), (1.0, 2.0))
    assert s.status == Status.STEP_TOO_SMALL and "does not move the time" in s.message


@pytest.mark.parametrize("adaptive", [True, False])
def test_the_shortest_span_is_refused(system, adaptive):
    with pytest.raises(ValueError, match="t_span is too short"):
        mbdae.solve(system, mbdae.HHT(None if adaptive else 1e-3), (0.0, 5e-324))


# --- failures ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [Ida(), Ida(linsolver="kkt"), Cvode(), Cvode(linsolver="dense"), Odes("ida"), Odes("cvode"),
                                    Assimulo("CVode"), Assimulo("IDA")], ids=lambda m: f"{m.label} {getattr(m, 'linsolver', '')}")
def test_few_evaluations_where_nothing_is_finite_any_more(fragile, method):
    """With a thousand runs took seconds on a busy machine."""
    s = mbdae.solve(fragile, need(method), (0.0, 0.2))
    assert s.status == Status.NOT_FINITE and 0.05 < s.t[-1] <= 0.0505
    assert s.statistics.residuals is None or s.statistics.residuals < 400


@pytest.mark.thorough
@pytest.mark.parametrize("method", [Ida(), Ida(linsolver="kkt"), Cvode()], ids=lambda m: f"{m.label} {m.linsolver}")
def test_failed_runs_hold_no_file(fragile, method):
    folder = "/proc/self/fd"
    if not os.path.isdir(folder):
        pytest.skip("this system does not list open files")
    import gc

    mbdae.solve(fragile, method, (0.0, 0.2))
    gc.collect()
    gc.disable()
    try:
        before = len(os.listdir(folder))
        assert all(not mbdae.solve(fragile, method, (0.0, 0.2)).success for _ in range(3))
        assert len(os.listdir(folder)) == before
    finally:
        gc.enable()


def test_errors_of_users_that_look_like_those_of_the_assembly_arrive_unchanged(system):
    def law(x, xd, t):
        if t > 0.02:
            raise law.error
        return 0.1 * x

    def progress(t):
        if t > 0.02:
            raise law.error

    for target, options in ((with_law(law), {}), (system, {"progress": progress})):
        for method in (mbdae.Projected(HalfImplicit(1e-3)), mbdae.Projected(RosenbrockNystrom())):
            law.error = AssemblyError("mine")
            with pytest.raises(AssemblyError, match="mine") as raised:
                mbdae.solve(target, method, (0.0, 0.1), **options)
            assert raised.value is law.error


# --- at random instants --------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "force"), [("HalfImplicit", "python"), ("RosenbrockNystrom", "none")])
def test_interrupts_at_random_instants_arrive(name, force):
    """All methods: `python -m tests.benchmarks.interrupts`."""
    found = interrupts.run(name, force, 4)
    assert set(found["outcomes"]) <= {"raised", "late"} and found["healthy"], found


@pytest.mark.slow
@pytest.mark.parametrize("force", ["none", "python"])
@pytest.mark.parametrize("name", interrupts.names())
def test_interrupts_at_random_instants_arrive_in_every_method(name, force):
    made(name)
    found = interrupts.run(name, force, int(os.environ.get("MBDAE_INTERRUPTS", "20")))
    assert set(found["outcomes"]) <= {"raised", "late"} and found["longest"] < 4.0 * interrupts.PROMPT and found["healthy"], found
