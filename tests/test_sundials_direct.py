"""IDA and CVODE called in their C library: the same runs as through the wrapper, and the same behaviour where something fails."""

import gc
import os
import signal
import threading
from dataclasses import replace

import numpy as np
import pytest

import mbdae
from mbdae import Status
from mbdae.adapters.sundae import Cvode, Ida
from mbdae.adapters.sundials import library as lib
from mbdae.adapters.sundials.library import LibraryError, library

from .helpers import double_pendulum, thorough_but

FORMS = ("ggl", "gear", "index2", "index1", "ode")
SMALL = ("double-pendulum", "spatial-four-bar")


def _missing(origin):
    try:
        library(origin)
    except LibraryError as error:
        return str(error)
    return ""


pytestmark = pytest.mark.skipif(bool(_missing("wheel")), reason=_missing("wheel"))
SYSTEM = pytest.mark.skipif(bool(_missing("system")), reason=_missing("system"))


def method(form, **options):
    return (Cvode if form == "ode" else Ida)(**options)


def same(a, b, reached=1e-2, counts=0.05):
    """The same steps but for rounding, which the same kernel compiled for another caller may change; runs that end early about as far."""
    assert a.status == b.status
    for name in ("steps", "residuals", "jacobians"):
        x, y = getattr(a.statistics, name), getattr(b.statistics, name)
        assert abs(x - y) <= max(2, counts * y), (name, x, y)
    assert a.t[-1] == pytest.approx(b.t[-1], rel=reached)
    if a.success:
        np.testing.assert_allclose(a.q[-1], b.q[-1], atol=1e-4)
        np.testing.assert_allclose(a.v[-1], b.v[-1], atol=1e-4 * (1.0 + np.abs(b.v).max()))


@pytest.fixture(scope="module")
def swing():
    return mbdae.System(double_pendulum())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", SMALL)
def test_the_steps_are_those_of_the_wrapper(name, form):
    problem, options = mbdae.problem(name, formulation=form), {"linsolver": "dense"} if form == "ode" else {}
    direct, wrapped = (mbdae.solve(problem, method(form, backend=b, max_steps=400, **options), (0.0, 0.02), rtol=1e-5)
                       for b in ("wheel", "wrapper"))
    same(direct, wrapped)
    assert direct.statistics.factorisations >= direct.statistics.jacobians > 0


@pytest.mark.thorough
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", sorted(set(mbdae.library.names()) - set(SMALL)))
def test_the_steps_are_those_of_the_wrapper_in_the_whole_library(name, form):
    test_the_steps_are_those_of_the_wrapper(name, form)


@pytest.mark.thorough
@SYSTEM
@pytest.mark.parametrize("linsolver", ["dense", "sparse"])
@pytest.mark.parametrize("form", ["ggl", "index2"])
def test_the_library_of_the_system_finds_the_same(form, linsolver):
    problem = mbdae.problem("chain", links=6, formulation=form)
    wheel, system = (mbdae.solve(problem, Ida(linsolver=linsolver, backend=b), (0.0, 0.2), rtol=1e-8) for b in ("wheel", "system"))
    assert system.success, system.message
    np.testing.assert_allclose(system.q[-1], wheel.q[-1], atol=1e-6)


@pytest.mark.parametrize("jacobian", ["difference", "grouped", "grouped:partitioned", "estimated"])
def test_every_source_of_the_jacobian(swing, jacobian):
    direct, wrapped = (mbdae.solve(swing, Ida(jacobian, backend=b), (0.0, 0.3), formulation="ggl") for b in ("wheel", "wrapper"))
    same(direct, wrapped)
    assert direct.statistics.residuals_jacobian == wrapped.statistics.residuals_jacobian


def test_sparse_factors_of_a_strategy():
    problem = mbdae.problem("chain", links=6, formulation="gear")
    direct, wrapped = (mbdae.solve(problem, Ida("grouped", "sparse", backend=b), (0.0, 0.2)) for b in ("wheel", "wrapper"))
    same(direct, wrapped)


@pytest.mark.parametrize("multistep", ["BDF", "Adams"])
def test_both_families_of_formulas(swing, multistep):
    direct, wrapped = (mbdae.solve(swing, Cvode(multistep=multistep, backend=b), (0.0, 0.5)) for b in ("wheel", "wrapper"))
    same(direct, wrapped)


# --- output ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", thorough_but(["gear"], ["gear", "ode"]))
def test_many_times_of_output_within_a_step(swing, form):
    """More than there is room for between two visits of Python."""
    times = np.linspace(0.0, 0.01, 5000)
    runs = (mbdae.solve(swing, method(form, backend=b), (0.0, 0.01), formulation=form, t_eval=times) for b in ("wheel", "wrapper"))
    direct, wrapped = runs
    assert len(direct.t) == 5000
    np.testing.assert_allclose(direct.q, wrapped.q, atol=1e-14)


@pytest.mark.parametrize("form", thorough_but(["gear"], ["gear", "ode"]))
def test_many_times_of_output_in_the_last_step(swing, form):
    """No row is lost where the end of the run is reached before there is room for all."""
    times = np.linspace(0.4995, 0.5, 5000)
    runs = (mbdae.solve(swing, method(form, backend=b), (0.0, 0.5), formulation=form, t_eval=times) for b in ("wheel", "wrapper"))
    direct, wrapped = runs
    assert direct.success and len(direct.t) == len(wrapped.t) == 5000
    np.testing.assert_allclose(direct.q, wrapped.q, atol=1e-12)


@pytest.mark.parametrize("options", [{"dense_output": True}, {"events": lambda t, q, v: q[3]}, {"progress": lambda t: None}],
                         ids=["dense", "events", "progress"])
def test_output_does_not_depend_on_what_else_is_asked(swing, options):
    times = np.linspace(0.0, 0.4, 7)
    plain, other = (mbdae.solve(swing, Ida(), (0.0, 0.4), t_eval=times, **more) for more in ({}, options))
    np.testing.assert_array_equal(plain.q, other.q)
    np.testing.assert_array_equal(plain.lam, other.lam)


@pytest.mark.parametrize("form", FORMS)
def test_backward_and_from_other_times(swing, form):
    there = mbdae.solve(swing, method(form), (2.0, 2.3), formulation=form, rtol=1e-9, atol=1e-11)
    back = mbdae.solve(swing, method(form), (2.3, 2.0), formulation=form, rtol=1e-9, atol=1e-11, q0=there.q[-1], v0=there.v[-1])
    assert back.success and back.t[-1] == 2.0
    np.testing.assert_allclose(back.q[-1], there.q[0], atol=2e-6)


def test_every_third_step(swing):
    direct, wrapped = (mbdae.solve(swing, Ida(backend=b), (0.0, 0.1), every=3) for b in ("wheel", "wrapper"))
    same(direct, wrapped)
    assert len(direct.t) == len(wrapped.t) == direct.statistics.steps // 3 + 1 + (direct.statistics.steps % 3 > 0)


def test_the_limit_of_steps(swing):
    s = mbdae.solve(swing, Ida(max_steps=20), (0.0, 1.0))
    assert s.status == Status.TOO_MANY_STEPS and s.statistics.steps == 20 and len(s.t) == 21


# --- failures -------------------------------------------------------------------------------------------------------------


FAILING = [(form, {"linsolver": linsolver}) for form in ("ggl", "ode") for linsolver in ("dense", "kkt")]


class Broken(Exception):
    pass


def pushed(force):
    m = double_pendulum()
    return mbdae.System(replace(m, forces=[*m.forces, mbdae.UserForce("push", ["upper"], force)]))


@pytest.mark.parametrize(("form", "options"), FAILING)
def test_an_exception_of_a_user_function_arrives_unchanged(form, options):
    def force(t, r, A, v, omega, F, T):
        if t > 0.05:
            raise Broken("mine")

    with pytest.raises(Broken, match="mine"):
        mbdae.solve(pushed(force), method(form, backend="wheel", **options), (0.0, 0.2), formulation=form)


@pytest.mark.parametrize(("form", "options"), FAILING)
def test_a_function_that_has_raised_is_not_called_again(form, options):
    """It ends the run at once: the function is not called again."""
    calls = []

    def force(t, r, A, v, omega, F, T):
        calls.append(t)
        if t > 0.05:
            raise Broken("mine")

    with pytest.raises(Broken):
        mbdae.solve(pushed(force), method(form, backend="wheel", **options), (0.0, 0.2), formulation=form, t_eval=[0.2])
    assert sum(t > 0.05 for t in calls) == 1


@pytest.mark.parametrize(("form", "options"), FAILING)
def test_ctrl_c(swing, form, options):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background ignores it
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        mbdae.solve(swing, method(form, backend="wheel", max_step=1e-6, max_steps=10**9, **options), (0.0, 100.0), formulation=form,
                    t_eval=[100.0])
    timer.join()
    signal.signal(signal.SIGINT, before)
    assert mbdae.solve(swing, method(form, **options), (0.0, 0.1), formulation=form).success


@pytest.mark.thorough
def test_failed_runs_hold_neither_files_nor_memory(swing):
    def force(t, r, A, v, omega, F, T):
        F[:] = np.nan if t > 0.01 else 0.0

    torn = pushed(force)

    def files():
        return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0

    kept, before = [], files()
    for _ in range(5):
        for linsolver in ("dense", "sparse", "kkt"):
            kept.append(mbdae.solve(torn, Ida(linsolver=linsolver, backend="wheel"), (0.0, 0.1), formulation="ggl"))
            assert kept[-1].status == Status.NOT_FINITE and "push" in kept[-1].message
    gc.collect()
    assert files() <= before


@pytest.mark.thorough
@pytest.mark.parametrize("linsolver", ["dense", "kkt"])
@pytest.mark.parametrize("form", ["ggl", "ode"])
def test_runs_leave_no_memory(swing, form, linsolver):
    resource = pytest.importorskip("resource")
    problem, chosen = mbdae.problem(swing, formulation=form), method(form, linsolver=linsolver, backend="wheel")

    def peak_after(runs):
        for _ in range(runs):
            mbdae.solve(problem, chosen, (0.0, 1e-3))
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    first = peak_after(50)
    assert peak_after(300) - first < 4000  # kilobytes


# --- which library --------------------------------------------------------------------------------------------------------


def test_an_interface_that_was_not_tested_is_refused_by_name(swing, monkeypatch):
    monkeypatch.setattr(lib, "TESTED", {"wheel": (9, 1), "system": (9, 1)})
    library.cache_clear()
    try:
        with pytest.raises(LibraryError, match=r"SUNDIALS 7\.\d+\.\d+ of the wheel: its interface was not tested, that of 9\.1 was"):
            mbdae.solve(swing, Ida(backend="wheel"), (0.0, 0.01))
        assert mbdae.solve(swing, Ida(), (0.0, 0.01)).success  # by the wrapper
    finally:
        library.cache_clear()


def test_bad_choices_are_named(swing):
    with pytest.raises(ValueError, match="Ida: backend must be one of auto, wheel, system, wrapper, got 'debian'"):
        Ida(backend="debian")
    with pytest.raises(ValueError, match=r"Ida: backend='wheel' takes the linear solvers dense, sparse and kkt, .* got linsolver='band'"):
        mbdae.solve(swing, Ida(linsolver="band", backend="wheel"), (0.0, 0.01))
