"""Fortran codes called in the libraries of their packages: the same runs as through the packages, and the same behaviour at failures.

The tests of the adapters, which are about the codes however they are called, run through both.
"""

import contextlib
import os
import signal
import threading
from dataclasses import replace

import numpy as np
import pytest

import mbdae
from mbdae import MassMatrix, Status
from mbdae.adapters.assimulo import Assimulo
from mbdae.adapters.fortran import library as lib
from mbdae.adapters.fortran.assimulo_run import DIRECT_ASSIMULO
from mbdae.adapters.fortran.library import LibraryError
from mbdae.adapters.odes import Odes
from mbdae.adapters.radau13 import Radau13

from .helpers import BREAKS_AT, chain, double_pendulum, falls_below, torn, with_law

FORMS = ("ggl", "gear", "index2", "index1", "index3")
SMALL = ("double-pendulum", "slider-crank")


def _installed(package, module, name):
    try:
        return bool(lib.routine(package, module, name))
    except ImportError:
        return False


DAEPACK = _installed("scikits-odes-daepack", "scikits_odes_daepack.ddaspk", "ddaspk_")
NO_DAEPACK = pytest.mark.skipif(not DAEPACK, reason="scikits-odes-daepack 3.0.0 is not installed: make setup-all")
NO_RADAU = pytest.mark.skipif(not _installed("pyradau13", "pyradau13", "radau_"), reason="pyradau13 0.5 is not installed")
NO_ASSIMULO = pytest.mark.skipif(not all(_installed(*names[:3]) for names in DIRECT_ASSIMULO.values()),
                                 reason="assimulo-testing 3.9.0b2 is not installed")
OF_ASSIMULO = (("RodasODE", "ode"), ("RodasODE", "partition"), ("Radau5DAE", "ggl"), ("Radau5DAE", "index3"), ("Dopri5", "ode"),
               ("Dopri5", "tangent"), ("ODASSL", "ggl"), ("ODASSL", "index3"))
RUNS = [*(pytest.param(code, form, marks=NO_DAEPACK) for code, form in (("ddaspk", "ggl"), ("lsodi", "index1"))),
        *(pytest.param("radau", level, marks=NO_RADAU) for level in (2, 3)),
        *(pytest.param(code, form, marks=NO_ASSIMULO) for code, form in OF_ASSIMULO)]
KINDS = pytest.mark.parametrize(("code", "form"), RUNS)


def method(code, **options):
    return Radau13(**options) if code == "radau" else (Assimulo if code in DIRECT_ASSIMULO else Odes)(code, **options)


def posed(target, form):
    """A problem in a form, or the one with a mass matrix whose constraints are on a level."""
    system = target if isinstance(target, mbdae.System) else mbdae.problem(target).system
    return MassMatrix(system, form) if isinstance(form, int) else mbdae.problem(system, formulation=form)


def both(target, form, code, span, options=None, **more):
    """The solutions in the library and through the package, each of a new problem: joint friction starts from the last multipliers."""
    return [mbdae.solve(posed(target, form), method(code, backend=b, **options or {}), span, **more) for b in ("library", "wrapper")]


def same(a, b):
    """The same steps but for rounding."""
    assert a.status == b.status, (a.message, b.message)
    assert a.message == b.message
    for name in ("steps", "residuals", "residuals_jacobian", "jacobians", "rejected_error", "rejected_newton", "newton_iterations",
                 "factorisations"):
        x, y = getattr(a.statistics, name), getattr(b.statistics, name)
        counts_number = name == "residuals" and b.method == "Assimulo ODASSL"
        assert y is None or x == y - counts_number, (name, x, y)  # Assimulo evaluates once to count the equations
    np.testing.assert_allclose(a.t, b.t, rtol=1e-9)
    for name in ("q", "v", "lam"):
        x, y = getattr(a, name), getattr(b, name)
        np.testing.assert_allclose(x, y, atol=1e-8 * (1.0 + np.abs(y).max(initial=0.0)), rtol=0.0)


@pytest.fixture(scope="module")
def swing():
    return mbdae.System(double_pendulum())


# --- steps ----------------------------------------------------------------------------------------------------------------


@NO_DAEPACK
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", SMALL)
def test_daspk_takes_the_same_steps(name, form):
    same(*both(name, form, "ddaspk", (0.0, 0.05)))


@NO_DAEPACK
@pytest.mark.thorough
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", sorted(set(mbdae.library.names()) - set(SMALL)))
def test_daspk_takes_the_same_steps_in_the_whole_library(name, form):
    same(*both(name, form, "ddaspk", (0.0, 0.02), {"max_steps": 300}, rtol=1e-5))


@NO_DAEPACK
@pytest.mark.parametrize("jacobian", ["difference", "grouped", "grouped:partitioned", "estimated"])
def test_daspk_with_every_source_of_the_jacobian(swing, jacobian):
    same(*both(swing, "ggl", "ddaspk", (0.0, 0.3), {"jacobian": jacobian}))


@NO_DAEPACK
@pytest.mark.parametrize("options", [{"linsolver": "band"}, {"linsolver": "band", "jacobian": "grouped"}, {"max_order": 2},
                                     {"max_step": 0.01, "first_step": 1e-5}], ids=["band", "grouped band", "order", "steps"])
def test_daspk_with_every_option(options):
    same(*both(mbdae.System(chain(8)), "ggl", "ddaspk", (0.0, 0.1), options))


@NO_DAEPACK
@pytest.mark.parametrize("options", [{}, {"max_order": 2}, {"max_step": 0.01, "first_step": 1e-5}], ids=str)
@pytest.mark.parametrize("name", SMALL)
def test_lsodi_takes_the_same_steps(name, options):
    same(*both(name, "index1", "lsodi", (0.0, 0.05), options))


@NO_DAEPACK
@pytest.mark.thorough
@pytest.mark.parametrize("name", sorted(set(mbdae.library.names()) - set(SMALL)))
def test_lsodi_takes_the_same_steps_in_the_whole_library(name):
    same(*both(name, "index1", "lsodi", (0.0, 0.02), {"max_steps": 300}, rtol=1e-5))


@NO_RADAU
@pytest.mark.parametrize("level", [1, 2, 3])
@pytest.mark.parametrize("name", SMALL)
def test_radau_takes_the_same_steps(name, level):
    same(*both(name, level, "radau", (0.0, 0.05)))


@NO_RADAU
@pytest.mark.thorough
@pytest.mark.parametrize("level", [2, 3])
@pytest.mark.parametrize("name", sorted(set(mbdae.library.names()) - set(SMALL)))
def test_radau_takes_the_same_steps_in_the_whole_library(name, level):
    same(*both(name, level, "radau", (0.0, 0.02), {"max_steps": 300}, rtol=1e-5))


@NO_RADAU
@pytest.mark.parametrize("jacobian", ["difference", "grouped", "grouped:partitioned", "estimated"])
def test_radau_with_every_source_of_the_jacobian(swing, jacobian):
    direct, wrapped = both(swing, 2, "radau", (0.0, 0.3), {"jacobian": jacobian})
    same(direct, wrapped)
    assert direct.statistics.factorisations >= direct.statistics.jacobians > 0
    if jacobian == "difference":
        assert direct.statistics.residuals_jacobian == direct.statistics.jacobians * posed(swing, 2).n


@NO_RADAU
@pytest.mark.parametrize("options", [{"order": 5}, {"order": 9}, {"order": 13}, {"max_step": 0.01, "first_step": 1e-6}], ids=str)
def test_radau_with_every_option(swing, options):
    same(*both(swing, 2, "radau", (0.0, 0.3), options))


@NO_ASSIMULO
@pytest.mark.parametrize(("code", "form"), [*OF_ASSIMULO, ("RodasODE", "tangent"), ("Dopri5", "partition"), ("Radau5DAE", "index2"),
                                            ("Radau5DAE", "index1"), ("Radau5DAE", "gear"), ("ODASSL", "index2"), ("ODASSL", "index1"),
                                            ("ODASSL", "gear"), ("ODASSL", "overdetermined")])
@pytest.mark.parametrize("name", ["double-pendulum", "slider-crank-free"])
def test_codes_of_assimulo_take_the_same_steps(name, code, form):
    same(*both(name, form, code, (0.0, 0.1)))


@NO_ASSIMULO
@pytest.mark.thorough
@pytest.mark.parametrize(("code", "form"), [("RodasODE", "ode"), ("Radau5DAE", "ggl"), ("Dopri5", "ode"), ("ODASSL", "ggl"),
                                            ("ODASSL", "overdetermined")])
@pytest.mark.parametrize("name", sorted(set(mbdae.library.names()) - set(SMALL)))
def test_codes_of_assimulo_take_the_same_steps_in_the_whole_library(name, code, form):
    same(*both(name, form, code, (0.0, 0.02), {"max_steps": 300}, rtol=1e-5))


@NO_ASSIMULO
@pytest.mark.parametrize("jacobian", ["difference", "grouped", "grouped:partitioned", "estimated"])
def test_rodas_with_every_source_of_the_jacobian(swing, jacobian):
    same(*both(swing, "ode", "RodasODE", (0.0, 0.3), {"jacobian": jacobian}))


@NO_ASSIMULO
@pytest.mark.parametrize("options", [{"max_step": 0.01}, {"first_step": 1e-5}], ids=str)
@pytest.mark.parametrize(("code", "form"), OF_ASSIMULO)
def test_codes_of_assimulo_with_every_option(swing, code, form, options):
    same(*both(swing, form, code, (0.0, 0.3), options))


@NO_ASSIMULO
def test_odassl_with_a_limit_of_the_order(swing):
    same(*both(swing, "ggl", "ODASSL", (0.0, 0.3), {"max_order": 2}))


# --- times and output -----------------------------------------------------------------------------------------------------


@KINDS
@pytest.mark.parametrize("span", [(0.3, 0.0), (-0.4, -0.1), (7.0, 7.3), (0.2, -0.2)])
def test_on_its_own_clock(swing, code, form, span):
    same(*both(swing, form, code, span, t_eval=np.linspace(*span, 7)))


@KINDS
@pytest.mark.parametrize("options", [{}, {"linsolver": "band"}], ids=["", "band"])
@pytest.mark.parametrize("span", [(0.0, 0.01), (0.0, 0.3)])
def test_many_times_of_output(swing, code, form, span, options):
    """More than there is room for between two visits of Python."""
    if options and code != "ddaspk":
        return
    direct, wrapped = both(swing, form, code, span, options, t_eval=np.linspace(*span, 5000))
    same(direct, wrapped)
    assert len(direct.t) == 5000


@KINDS
def test_many_times_of_output_in_the_last_step(swing, code, form):
    same(*both(swing, form, code, (0.0, 0.3), t_eval=np.linspace(0.2999, 0.3, 5000)))


@KINDS
@pytest.mark.parametrize("more", [{"dense_output": True}, {"events": lambda t, q, v: q[3]}, {"events": falls_below},
                                  {"progress": lambda t: None}, {"every": 3}], ids=["dense", "events", "terminal", "progress", "every"])
def test_whatever_is_asked_besides(swing, code, form, more):
    direct, wrapped = both(swing, form, code, (0.0, 0.4), **more)
    same(direct, wrapped)
    if "events" in more:
        np.testing.assert_allclose(direct.t_events[0], wrapped.t_events[0], atol=1e-9)


@KINDS
def test_output_does_not_depend_on_what_else_is_asked(swing, code, form):
    times = np.linspace(0.0, 0.4, 7)
    plain, other = (mbdae.solve(posed(swing, form), method(code, backend="library"), (0.0, 0.4), t_eval=times, **more)
                    for more in ({}, {"progress": lambda t: None}))
    np.testing.assert_array_equal(plain.q, other.q)
    np.testing.assert_array_equal(plain.lam, other.lam)


@KINDS
def test_the_limit_of_steps(swing, code, form):
    direct, wrapped = both(swing, form, code, (0.0, 1.0), {"max_steps": 20})
    same(direct, wrapped)
    assert direct.status == Status.TOO_MANY_STEPS and direct.statistics.steps == 20 and len(direct.t) == 21


# --- failures -------------------------------------------------------------------------------------------------------------


def pushed(force):
    m = double_pendulum()
    return mbdae.System(replace(m, forces=[*m.forces, mbdae.UserForce("push", ["upper"], force)]))


@KINDS
def test_forces_without_a_number(code, form):
    def force(t, r, A, v, omega, F, T):
        F[0] = np.nan if t > BREAKS_AT else 0.1

    direct, wrapped = both(pushed(force), form, code, (0.0, 0.2))
    assert direct.status == wrapped.status == Status.NOT_FINITE
    assert "push" in direct.message and "push" in wrapped.message
    assert direct.t[-1] == pytest.approx(wrapped.t[-1], abs=2e-3)


@KINDS
def test_a_law_without_a_number(code, form):
    direct, wrapped = both(with_law(torn), form, code, (0.0, 0.2))
    assert direct.status == wrapped.status == Status.NOT_FINITE
    assert direct.t[-1] == pytest.approx(wrapped.t[-1], abs=2e-3)


class Broken(Exception):
    pass


@KINDS
def test_a_function_that_has_raised_is_not_called_again(code, form):
    calls = []

    def force(t, r, A, v, omega, F, T):
        calls.append(t)
        if t > BREAKS_AT:
            raise Broken("mine")

    with pytest.raises(Broken, match="mine"):
        mbdae.solve(posed(pushed(force), form), method(code, backend="library"), (0.0, 0.2), t_eval=[0.2])
    assert sum(t > BREAKS_AT for t in calls) == 1


@KINDS
def test_ctrl_c(swing, code, form):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background ignores it
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    problem = posed(swing, form)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            run = mbdae.solve(problem, method(code, backend="library", max_step=1e-6, max_steps=10**9), (0.0, 100.0), t_eval=[100.0])
            pytest.fail(f"the run has ended by itself: {run.message}")
    finally:
        with contextlib.suppress(KeyboardInterrupt):  # of a run that has ended before
            timer.join()
        signal.signal(signal.SIGINT, before)
    assert mbdae.solve(problem, method(code), (0.0, 0.1)).success


@KINDS
def test_one_run_at_a_time(swing, code, form):
    problem, chosen = posed(swing, form), method(code, backend="library")

    def force(t, r, A, v, omega, F, T):
        mbdae.solve(problem, chosen, (0.0, 0.1))

    with pytest.raises(RuntimeError, match="can do one run at a time"):
        mbdae.solve(posed(pushed(force), form), chosen, (0.0, 0.1))
    assert mbdae.solve(problem, chosen, (0.0, 0.1)).success


@pytest.mark.thorough
@KINDS
def test_runs_leave_no_memory(swing, code, form):
    resource = pytest.importorskip("resource")
    problem, chosen = posed(swing, form), method(code, backend="library")

    def peak_after(runs):
        for _ in range(runs):
            mbdae.solve(problem, chosen, (0.0, 1e-3))
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    peak_after(20)
    assert peak_after(200) - peak_after(1) < 2000  # kB


def breaks_after(begin):
    def law(length, rate, t):
        return np.nan if t >= begin else 0.1 * length

    return with_law(law)


@pytest.mark.parametrize("begin", [1e-13, 1e-9, 1e-6, 1e-4])
@pytest.mark.parametrize(("code", "form"), [pytest.param(*case, marks=NO_ASSIMULO) for case in OF_ASSIMULO])
def test_equations_that_end_at_the_start(code, form, begin):
    """Trap: with NaN in its first or second evaluation DOPRI5 chooses NaN as its first step, which it repeats without an end."""
    start = posed(breaks_after(1.0), form).start
    run = method(code, backend="library").integrate(posed(breaks_after(begin), form), start, 0.2, rtol=1e-6, atol=1e-8)
    assert run.status == Status.NOT_FINITE and run.t[-1] <= begin


@pytest.mark.parametrize(("code", "form"), [pytest.param(*case, marks=NO_ASSIMULO) for case in OF_ASSIMULO])
def test_tolerances_that_are_too_small_go_through_the_package(swing, code, form):
    """Trap: their squares vanish, and the first step of DOPRI5 is NaN."""
    with pytest.raises(ValueError, match="needs absolute tolerances of at least 1e-30"):
        mbdae.solve(posed(swing, form), method(code, backend="library"), (0.0, 0.1), atol=1e-160)
    with pytest.raises(ValueError, match="goes through the package"):
        Assimulo("LSODAR", backend="library")


# --- the library ----------------------------------------------------------------------------------------------------------


@KINDS
def test_a_version_that_was_not_tested_is_refused(swing, monkeypatch, code, form):
    monkeypatch.setattr(lib, "TESTED", dict.fromkeys(lib.TESTED, ("0.0",)))
    lib.routine.cache_clear()
    try:
        with pytest.raises(LibraryError, match=r"its routines were not tested, those of 0\.0 were; backend='wrapper'"):
            mbdae.solve(posed(swing, form), method(code, backend="library"), (0.0, 0.01))
        assert mbdae.solve(posed(swing, form), method(code), (0.0, 0.01)).success
    finally:
        lib.routine.cache_clear()


@KINDS
def test_equations_in_python_go_through_the_package(swing, code, form):
    problem = posed(swing, form)
    kernel, calls = problem.kernel, []
    problem.kernel = lambda *arguments: calls.append(arguments[0]) or kernel(*arguments)
    assert mbdae.solve(problem, method(code), (0.0, 0.01)).success and calls
    with pytest.raises(ValueError, match="backend='library' needs compiled equations"):
        mbdae.solve(problem, method(code, backend="library"), (0.0, 0.01))


def test_a_library_without_the_symbol_is_refused():
    if not DAEPACK:
        pytest.skip("scikits-odes-daepack is not installed")
    with pytest.raises(LibraryError, match="does not export nothing_"):
        lib.routine("scikits-odes-daepack", "scikits_odes_daepack.ddaspk", "nothing_")
    with pytest.raises(LibraryError, match="is not installed"):
        lib.routine("no-such-package", "no_such_package", "nothing_")
