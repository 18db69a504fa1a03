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
from mbdae import Status
from mbdae.adapters.assimulo import Assimulo
from mbdae.adapters.fortran import library as lib
from mbdae.adapters.fortran.library import LibraryError

from .fortran_codes import DAEPACK, KINDS, NO_ASSIMULO, OF_ASSIMULO, both, method, posed, same
from .helpers import BREAKS_AT, double_pendulum, falls_below, torn, with_law


@pytest.fixture(scope="module")
def swing():
    return mbdae.System(double_pendulum())


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


@NO_ASSIMULO
@pytest.mark.parametrize("more", [{}, {"events": falls_below}], ids=["to the end", "terminal event"])
def test_counts_of_glimda(swing, more):
    """Trap: GLIMDA ends a run only after attempts that fail, in which nothing is evaluated."""
    problem = posed(swing, "index2")
    run = mbdae.solve(problem, method("GLIMDA", backend="library"), (0.0, 0.4), **more)
    s = run.statistics
    assert run.success and s.rejected_newton == 0 and (run.t[-1] < 0.4) == bool(more)
    assert s.residuals_jacobian == (s.jacobians + 1) * problem.n  # once for the matrix before the derivatives


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

    if code == "GLIMDA":  # has no static memory
        inside = mbdae.solve(posed(pushed(force), form), chosen, (0.0, 1e-3))
        np.testing.assert_array_equal(inside.q, mbdae.solve(problem, chosen, (0.0, 1e-3)).q)
        return
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
        Assimulo("CVode", backend="library")


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
