"""Assimulo in `mbdae.solve`: forms, runs and counters, and the traps of the package that the adapter guards against."""

import gc
import resource
import subprocess
import sys
import threading
import time
import warnings
from dataclasses import replace

import numpy as np
import pytest

import mbdae
from mbdae import Status
from mbdae.adapters.assimulo import SOLVERS, Assimulo
from mbdae.adapters.assimulo_support import facts_of
from mbdae.adapters.scipy import SolveIvp
from mbdae.driver.support import FORMS, Settings
from mbdae.problems import FORMULATIONS

from .assimulo_cases import CELLS, MISSING, REFUSED, TOL, WITH_JACOBIAN, WORKING, native, solver_for
from .helpers import chain, double_pendulum, thorough_but, with_law

pytest.importorskip("assimulo.solvers", reason=MISSING)


# --- forms -------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "form"), CELLS)
def test_every_form_gives_the_same_motion(system, reference, name, form):
    s = mbdae.solve(system, Assimulo(name), (0.0, 0.3), formulation=form, rtol=TOL, atol=TOL / 100, t_eval=[0.1, 0.3])
    assert s.success
    assert s.formulation == form
    np.testing.assert_allclose(s.q, reference(np.array([0.1, 0.3]))[0], atol=50 * TOL)
    np.testing.assert_allclose(s.lam, reference(np.array([0.1, 0.3]))[3], rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("name", WORKING)
def test_the_best_form_is_the_default(system, name):
    s = mbdae.solve(system, Assimulo(name), (0.0, 0.01))
    assert s.formulation == Assimulo(name).formulations[0]
    assert s.method == f"Assimulo {name}"


@pytest.mark.parametrize(("name", "form"), REFUSED)
def test_forms_that_do_not_work_are_refused_with_the_reason(system, name, form):
    reason = Assimulo(name).support[form]
    assert isinstance(reason, str)
    if name != "DASP3ODE":  # it takes nothing: see the next test
        with pytest.raises(ValueError, match=rf"Assimulo {name} cannot take the form '{form}'") as refused:
            mbdae.solve(system, Assimulo(name), (0.0, 0.1), formulation=form)
        assert reason in str(refused.value)


@pytest.mark.parametrize("form", [None, "index1", "index3"])
def test_dasp3_takes_no_form(system, form):
    """Trap: Assimulo hands DASP3 work arrays of shape (m, m) where it wants m^2 numbers: it works for one fast unknown only."""
    with pytest.raises(ValueError, match=r"Assimulo DASP3ODE .* one fast unknown"):
        mbdae.solve(system, Assimulo("DASP3ODE"), (0.0, 0.1), formulation=form)


def test_support_names_every_form():
    for facts in SOLVERS.values():
        assert set(facts.support) == set(FORMS)
        assert all(isinstance(how, (str, Settings)) for how in facts.support.values())


@pytest.mark.thorough
def test_the_adapter_can_be_imported_without_the_package():
    script = ("import sys; sys.modules['assimulo'] = None; from mbdae.adapters.assimulo import Assimulo, availability; "
              "print(Assimulo('IDA').formulations, availability().installed)")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "('gear', 'ggl', 'index2', 'index1', 'index3') False\n"


def test_the_index_three_form_is_solved_with_smaller_tolerances(system):
    """Trap: no error test of index 3 sees the velocities."""
    for name in ("IDA", "Radau5DAE", "ODASSL", "GLIMDA"):
        factor = SOLVERS[name].support["index3"].tighten
        assert factor < 1.0
        assert np.max(solver_for(name, native(system, "index3"), rtol=1e-5).rtol) == pytest.approx(1e-5 * factor)


# --- runs --------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WORKING)
def test_runs_go_backward_in_time(system, reference, name):
    """Trap: Assimulo is wrong backward in time; the adapter turns the clock."""
    q, v, _, _ = reference(0.3)
    times = [0.3, 0.2, 0.0]
    s = mbdae.solve(system, Assimulo(name), (0.3, 0.0), q0=q, v0=v, t_eval=times)
    np.testing.assert_array_equal(s.t, times)
    np.testing.assert_allclose(s.q, reference(np.array(times))[0], atol=200 * TOL)
    assert (np.diff(mbdae.solve(system, Assimulo(name), (0.3, 0.25), q0=q, v0=v).t) < 0).all()


@pytest.fixture(scope="module")
def pushed():
    """The double pendulum with a force that depends on time."""
    m = double_pendulum()
    return mbdae.System(replace(m, forces=[*m.forces, mbdae.PointForce("push", "lower", (mbdae.Harmonic(20.0, 9.0), 0.0, 0.0))]))


@pytest.fixture(scope="module")
def pushed_ends(pushed):
    def end(t0, t1):
        return mbdae.solve(pushed, SolveIvp(), (t0, t1), rtol=1e-10, atol=1e-12, t_eval=[t1]).q[0]

    return {span: end(*span) for span in ((-0.7, -0.5), (-0.1, 0.1), (5.0, 5.2), (5.2, 5.0))}


@pytest.mark.parametrize("name", WORKING)
def test_runs_may_begin_at_any_time(pushed, pushed_ends, name):
    for span, q in pushed_ends.items():
        s = mbdae.solve(pushed, Assimulo(name), span)
        assert s.success
        assert (s.t[0], s.t[-1]) == span
        np.testing.assert_allclose(s.q[-1], q, atol=100 * TOL)


@pytest.mark.thorough
@pytest.mark.parametrize("name", WORKING)
def test_rounding_does_not_keep_runs_from_ending(system, name):
    spans = [(-sign * k / 7000, sign * 0.03) for k in range(1, 100) for sign in (1, -1)]
    spans = [(t0, t1) for t0, t1 in spans if abs(t0 + (t1 - t0)) < abs(t1)][:12]
    assert len(spans) == 12
    for t0, t1 in spans:
        s = mbdae.solve(system, Assimulo(name), (t0, t1), rtol=1e-3, atol=1e-5, t_eval=[t1])
        assert s.success
        np.testing.assert_array_equal(s.t, [t1])


@pytest.mark.thorough
def test_solvers_do_not_limit_the_number_of_steps(system):
    """Trap: each of them has a limit of its own, ten thousand for RodasODE."""
    s = mbdae.solve(system, Assimulo("RodasODE", max_step=1e-5), (0.0, 0.101), t_eval=[])
    assert s.success
    assert s.statistics.steps > 10_000


@pytest.mark.parametrize("name", thorough_but(("IDA", "Radau5DAE", "CVode"), WORKING))
def test_output_times_are_hit_exactly(system, reference, name):
    times = np.linspace(0.0, 0.2, 2000)
    s = mbdae.solve(system, Assimulo(name), (0.0, 0.2), t_eval=times)
    np.testing.assert_array_equal(s.t, times)
    np.testing.assert_allclose(s.q, reference(times)[0], atol=200 * TOL)
    one = mbdae.solve(system, Assimulo(name), (0.0, 0.2), t_eval=0.15)
    np.testing.assert_allclose(one.q, reference(np.array([0.15]))[0], atol=200 * TOL)
    none = mbdae.solve(system, Assimulo(name), (0.0, 0.2), t_eval=[])
    assert none.success
    assert none.q.shape == (0, 6)
    assert none.statistics.steps == s.statistics.steps


@pytest.mark.parametrize("name", WORKING)
def test_every_step_is_stored_once(system, name):
    """Trap: Dopri5, RodasODE and Radau5ODE report the start twice."""
    s = mbdae.solve(system, Assimulo(name), (0.0, 0.3))
    assert (np.diff(s.t) > 0).all()
    assert len(s.t) == s.statistics.steps + 1
    assert (s.t[0], s.t[-1]) == (0.0, 0.3)


@pytest.mark.parametrize("name", WORKING)
def test_dense_output_and_terminal_events(system, reference, name):
    def lower(t, q, v):
        return q[4] + 0.9

    lower.terminal = True
    end = mbdae.solve(system, SolveIvp(), (0.0, 0.5), rtol=1e-10, atol=1e-12, events=lower).t[-1]
    s = mbdae.solve(system, Assimulo(name), (0.0, 0.5), rtol=1e-7, atol=1e-9, events=lower, dense_output=True)
    assert s.success
    assert s.message == f"a terminal event ended the run at t = {s.t[-1]:.9g}"
    assert s.t[-1] == pytest.approx(end, abs=1e-4)
    np.testing.assert_allclose(s.sol(0.1)[0], reference(0.1)[0], atol=1e-4)
    assert s.statistics.residuals is not None or not SOLVERS[name].stops  # the others have no way to stop and tell


@pytest.mark.parametrize("name", WORKING)
def test_progress_and_step_limit(system, name):
    seen = []
    mbdae.solve(system, Assimulo(name), (0.0, 0.1), progress=seen.append)
    assert (np.diff(seen) > 0).all()
    assert seen[-1] == 0.1
    s = mbdae.solve(system, Assimulo(name, max_steps=7), (0.0, 1.0))
    assert s.status == Status.TOO_MANY_STEPS
    assert "7 steps were not enough" in s.message
    assert s.statistics.steps == len(s.t) - 1 == 7


@pytest.mark.parametrize("name", WORKING)
def test_options_reach_the_solver(system, name):
    facts = SOLVERS[name]
    if facts.max_step:
        s = mbdae.solve(system, Assimulo(name, max_step=2e-3), (0.0, 0.2))
        assert np.diff(s.t).max() <= 2e-3 * (1 + 1e-9)
    if facts.highest_order:
        s = mbdae.solve(system, Assimulo(name, max_order=1), (0.0, 0.02), rtol=1e-4)
        assert s.success
        assert s.statistics.steps > 1.5 * mbdae.solve(system, Assimulo(name), (0.0, 0.02), rtol=1e-4).statistics.steps
    if facts.first_step is not None:
        s = mbdae.solve(system, Assimulo(name, first_step=3e-7), (0.0, 0.2))
        assert s.t[1] == pytest.approx(3e-7, rel=1e-6)


# --- work --------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "form"), [(n, f) for n, f in CELLS if n in WITH_JACOBIAN and n != "LSODAR"])
def test_the_exact_jacobian_is_used(system, name, form):
    exact, differences = (mbdae.solve(system, Assimulo(name, j), (0.0, 0.3), formulation=form).statistics for j in ("exact", "difference"))
    assert exact.jacobians > 0
    assert differences.jacobians > 0
    assert exact.residuals_jacobian == (exact.jacobians if name == "RodasODE" else 0)  # which differentiates by time
    n = FORMULATIONS[form](system).n
    assert differences.residuals_jacobian >= 0.3 * n * differences.jacobians
    assert exact.residuals + exact.residuals_jacobian < differences.residuals + differences.residuals_jacobian


def test_lsodar_uses_the_exact_jacobian_of_stiff_equations():
    """Trap: LSODAR ignores the Jacobian unless `usejac` is set."""
    m = double_pendulum()
    stiff = mbdae.System(replace(m, forces=[*m.forces, mbdae.RSDA("brake", "ground", "upper", c=1e5)]))
    exact, differences = (mbdae.solve(stiff, Assimulo("LSODAR", j), (0.0, 1.0)).statistics for j in ("exact", "difference"))
    assert exact.jacobians > 0
    assert exact.residuals_jacobian == 0
    assert differences.residuals_jacobian == 12 * differences.jacobians > 0


def test_cvode_uses_its_jacobian_when_warnings_are_errors(system):
    """Trap: CVode asks SciPy for a name that warns; made an error, the warning is lost in a C callback, and the Jacobian with it."""
    usual = mbdae.solve(system, Assimulo("CVode"), (0.0, 0.3)).statistics
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        strict = mbdae.solve(system, Assimulo("CVode"), (0.0, 0.3)).statistics
    assert strict.residuals == usual.residuals


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "form"), CELLS)
def test_counters(system, name, form):
    """Trap: item access to Assimulo's statistics tells zero for what a solver does not count; Radau5DAE counts half of its differences."""
    runs = [mbdae.solve(system, Assimulo(name), (0.0, 0.2), formulation=form).statistics.as_dict() for _ in range(2)]
    assert runs[0] | {"seconds": 0, "cpu_seconds": 0} == runs[1] | {"seconds": 0, "cpu_seconds": 0}
    c = runs[0]
    assert c["steps"] <= c["residuals"] < 60 * c["steps"] + 60
    if name == "Radau5DAE":
        assert c["residuals_jacobian"] == 2 * FORMULATIONS[form](system).n * c["jacobians"]
    if name in ("Radau5DAE", "Radau5ODE", "RodasODE", "Dopri5", "LSODAR"):
        assert c["rejected_newton"] is None
        assert c["newton_iterations"] is None
    if name in ("IDA", "CVode"):
        assert c["newton_iterations"] >= c["steps"]
    if name == "RungeKutta34":
        assert c["residuals"] == 5 * (c["steps"] + c["rejected_error"]) + 1
        assert c["jacobians"] == 0


def test_runs_in_threads_do_not_mix():
    """Trap: the Fortran solvers keep their state in COMMON blocks."""
    def law(length, rate, t):
        time.sleep(0)  # the other thread may run
        return -3.0 * length

    small = mbdae.Mechanism("ball", [mbdae.Particle("ball", 1.0, (1, 0, 0))], forces=[mbdae.TSDA("band", "ground", "ball", law=law)])
    jobs = [with_law(law), mbdae.System(small)]
    found = [None, None]

    def work(k):
        found[k] = mbdae.solve(jobs[k], Assimulo("LSODAR"), (0.0, 0.3)).q

    work(0), work(1)
    expected = list(found)
    threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    for k in range(2):
        np.testing.assert_array_equal(found[k], expected[k])


@pytest.mark.parametrize("name", thorough_but(("IDA", "ODASSL"), WORKING))
def test_a_run_within_a_run_spoils_nothing(system, name):
    """Trap: the interpolants of the Fortran solvers lie in COMMON blocks, the steps of ODASSL and LSODAR, too. Such runs are refused."""
    def lower(t, q, v):
        return q[4] + 0.9

    def solve(progress=None):
        return mbdae.solve(system, Assimulo(name), (0.0, 0.5), events=lower, dense_output=True, progress=progress)

    lower.terminal = True
    expected = solve()
    if facts_of(name).alone:
        with pytest.raises(RuntimeError, match=f"Assimulo {name} can do one run at a time"):
            solve(lambda t: mbdae.solve(system, Assimulo(name), (0.0, 0.05), rtol=1e-3))
        found = solve()
    else:
        found = solve(lambda t: mbdae.solve(system, Assimulo(name), (0.0, 0.05), rtol=1e-3))
    assert found.t[-1] == expected.t[-1]
    np.testing.assert_array_equal(found.sol(0.1)[0], expected.sol(0.1)[0])


@pytest.mark.thorough
def test_runs_that_are_ended_free_their_memory():
    """Trap: Radau5ODE of 3.9 allocates its own, and frees it at the end of a run only: 400 kB stayed after each that had an event."""
    def late(t, q, v):
        return t - 1e-3

    late.terminal = True
    system = mbdae.System(chain(8))

    def megabytes_after(runs):
        for _ in range(runs):
            assert "terminal event" in mbdae.solve(system, Assimulo("Radau5ODE"), (0.0, 1.0), rtol=1e-3, atol=1e-3, events=late).message
        gc.collect()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    before = megabytes_after(30)
    assert megabytes_after(60) - before < 8.0  # of 26
