"""solve-dae: what its functions and method objects promise."""


import numpy as np
import pytest

import mbdae
from mbdae import Status
from mbdae.adapters import dae
from mbdae.adapters.dae import SUPPORT, SolveDae, solve_dae_arguments
from mbdae.adapters.scipy import SolveIvp
from mbdae.driver.support import FORMS, supported
from mbdae.problems import FORMULATIONS

from .helpers import BREAKS_AT, chain, falls_below, loud, with_law

package = pytest.importorskip("solve_dae.integrate", reason="solve-dae is not installed: pip install solve-dae")

METHODS = tuple(SUPPORT)
CELLS = [(method, form) for method in METHODS for form in supported(SUPPORT[method])]
REFUSED = [(method, form) for method in METHODS for form in FORMS if isinstance(SUPPORT[method][form], str)]
TOL = 1e-6


# --- forms -------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "form"), CELLS)
def test_every_supported_form_keeps_its_tolerance(system, reference, method, form):
    s = mbdae.solve(system, SolveDae(method), (0.0, 0.5), formulation=form, t_eval=[0.2, 0.5])
    assert s.success, s.message
    np.testing.assert_allclose(s.q, reference(s.t)[0], atol=10 * TOL)
    np.testing.assert_allclose(s.v, reference(s.t)[1], atol=1e3 * TOL)
    np.testing.assert_allclose(s.lam, reference(s.t)[3], atol=1e4 * TOL)


def test_gear_is_the_first_choice(system):
    assert mbdae.solve(system, SolveDae(), (0.0, 0.01)).formulation == "gear"
    assert mbdae.solve(system, SolveDae(), (0.0, 0.01), formulation="hiller-anantharaman").success


@pytest.mark.parametrize(("method", "form"), REFUSED)
def test_other_forms_are_refused_with_the_reason(system, method, form):
    reason = SUPPORT[method][form]
    with pytest.raises(ValueError, match=f"solve-dae {method} cannot take the form '{form}'") as refusal:
        mbdae.solve(system, SolveDae(method), (0.0, 0.1), formulation=form)
    assert reason in str(refusal.value)
    with pytest.raises(ValueError, match=f"{method} cannot take the form '{form}'"):
        solve_dae_arguments(FORMULATIONS[form](system), method=method)


# --- times -------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_backward_in_time(system, reference, method):
    q, v, _, _ = reference(0.3)
    s = mbdae.solve(system, SolveDae(method), (0.3, 0.0), q0=q, v0=v, t_eval=[0.3, 0.15, 0.0])
    np.testing.assert_array_equal(s.t, [0.3, 0.15, 0.0])
    np.testing.assert_allclose(s.q, reference(s.t)[0], atol=20 * TOL)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("t0", [-0.4, -0.1, 7.0, 1e5])
def test_other_starts(system, reference, method, t0):
    """The mechanism does not know the time."""
    s = mbdae.solve(system, SolveDae(method), (t0, t0 + 0.3), t_eval=[t0 + 0.3])
    assert s.success, s.message
    np.testing.assert_allclose(s.q[-1], reference(0.3)[0], atol=20 * TOL)


@pytest.mark.parametrize("method", METHODS)
def test_output_times_are_hit(system, reference, method):
    assert mbdae.solve(system, SolveDae(method), (0.0, 0.1), t_eval=[]).q.shape == (0, 6)
    assert mbdae.solve(system, SolveDae(method), (0.0, 0.1), t_eval=[0.1]).q.shape == (1, 6)
    times = np.linspace(0.0, 0.3, 2000)
    s = mbdae.solve(system, SolveDae(method), (0.0, 0.3), t_eval=times)
    np.testing.assert_array_equal(s.t, times)
    np.testing.assert_allclose(s.q, reference(times)[0], atol=10 * TOL)


@pytest.mark.parametrize("method", METHODS)
def test_steps_and_dense_output(system, reference, method):
    s = mbdae.solve(system, SolveDae(method, max_step=0.02), (0.0, 0.3), dense_output=True)
    assert len(s.t) == s.statistics.steps + 1
    assert (np.diff(s.t) <= 0.02 + 1e-15).all()
    assert s.t[-1] == 0.3
    np.testing.assert_allclose(s.sol(0.123)[0], reference(0.123)[0], atol=10 * TOL)


@pytest.mark.parametrize("method", METHODS)
def test_spans_shorter_than_the_first_step(system, method):
    s = mbdae.solve(system, SolveDae(method), (0.0, 1e-7))
    assert s.success
    assert s.t[-1] == 1e-7


def test_first_step(system):
    assert mbdae.solve(system, SolveDae(), (0.0, 0.1)).t[1] == 1e-5
    assert mbdae.solve(system, SolveDae(first_step=1e-4), (0.0, 0.1)).t[1] == 1e-4


# --- events, progress, limits ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_terminal_events_end_the_run(system, reference, method):
    s = mbdae.solve(system, SolveDae(method, max_step=0.02), (0.0, 0.5), events=falls_below)
    assert s.success
    assert s.t[-1] == s.t_events[0][0] < 0.45
    assert "a terminal event" in s.message
    assert reference(s.t[-1])[0][4] == pytest.approx(-0.6, abs=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_progress_and_step_limit(system, method):
    seen = []
    s = mbdae.solve(system, SolveDae(method, max_steps=7), (0.0, 0.5), progress=seen.append)
    assert s.status == Status.TOO_MANY_STEPS
    assert s.statistics.steps == len(seen) == 7
    assert len(s.t) == 8
    np.testing.assert_array_equal(seen, s.t[1:])


def test_bad_options_are_refused():
    for options, message in (({"method": "Radau"}, "method must be one of Radau3, Radau5, Radau7, BDF, got 'Radau'"),
                             ({"jacobian": "sparse"}, "jacobian must be 'exact', .*got 'sparse'"),
                             ({"max_step": 0.0}, "max_step must be positive"), ({"max_step": float("nan")}, "max_step must be positive"),
                             ({"first_step": -1.0}, "first_step must be positive"), ({"first_step": np.inf}, "first_step must be positive"),
                             ({"max_steps": 0}, "max_steps must be at least 1")):
        with pytest.raises(ValueError, match=f"^SolveDae: {message}"):
            SolveDae(**options)


def test_it_says_what_it_is():
    assert SolveDae("BDF").label == "solve-dae BDF"
    assert SolveDae(jacobian="difference").label == "solve-dae Radau3, difference Jacobian"
    assert SolveDae.package == "solve-dae"
    assert SolveDae.availability().installed
    assert "pip install" in SolveDae.availability().remedy


# --- failures ----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [RuntimeError("of the user"), ValueError("of the user"), KeyboardInterrupt()],
                         ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("method", METHODS)
def test_exceptions_of_the_user_arrive_unchanged(method, error):
    """Also those of the types that the package itself raises, see below."""

    def law(length, rate, t):
        if t > BREAKS_AT:
            raise error
        return 0.1 * length

    with pytest.raises(type(error)) as caught:
        mbdae.solve(with_law(law), SolveDae(method), (0.0, 0.2))
    assert caught.value is error


def test_interrupts_of_the_progress_function_arrive(system):
    def stop(t):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mbdae.solve(system, SolveDae(), (0.0, 0.2), progress=stop)


@pytest.mark.parametrize("jacobian", ["exact", "difference"])
@pytest.mark.parametrize("method", METHODS)
def test_values_that_are_not_finite_end_the_run(fragile, method, jacobian):
    """Trap: the package creeps up to the gap, and its last steps may all have been good, so it blames the step size."""
    s = mbdae.solve(fragile, SolveDae(method, jacobian=jacobian), (0.0, 0.2))
    assert s.status == Status.NOT_FINITE
    assert "not finite" in s.message
    assert "the solution up to there is kept" in s.message
    assert 0.04 < s.t[-1] < BREAKS_AT + 1e-9
    assert np.isfinite(s.q).all()
    assert s.statistics.steps == len(s.t) - 1


@pytest.mark.parametrize("method", METHODS)
def test_values_that_are_never_finite_keep_the_start(method):
    s = mbdae.solve(with_law(lambda length, rate, t: float("nan") if t > 0.0 else 0.0), SolveDae(method), (0.0, 0.1))
    assert s.status == Status.NOT_FINITE
    np.testing.assert_array_equal(s.t, [0.0])
    assert s.statistics.residuals < 100


def test_a_singular_position_is_reported():
    joints = [mbdae.Rod("rod", "ground", "p"), mbdae.CD("plane", "ground", "p", (0, 0, 1))]
    drive = mbdae.CoordinateDriver("pull", "ground", "p", mbdae.Polynomial((0.6, 1.0)), (1, 0, 0))
    m = mbdae.Mechanism("dead point", [mbdae.Particle("p", 1.0, (0.6, 0.8, 0))], joints, [drive])
    for method in METHODS:
        s = mbdae.solve(m, SolveDae(method), (0.0, 1.0))
        assert s.status == Status.SINGULAR and "the constraints are about to lose rank, in rod, pull" in s.message
        assert s.t[-1] == pytest.approx(0.4, abs=1e-3)


def test_nothing_is_printed_but_by_the_user(capfd):
    noisy = with_law(loud)
    capfd.readouterr()
    for method in METHODS:
        mbdae.solve(noisy, SolveDae(method), (0.0, 0.06))
    captured = capfd.readouterr()
    assert set(captured.out.split("\n")) == {"law", ""}
    assert captured.err == ""


# --- the Jacobian ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_the_exact_jacobian_is_used_and_saves_evaluations(system, method):
    exact, difference = (mbdae.solve(system, SolveDae(method, jacobian=j), (0.0, 0.3)).statistics for j in ("exact", "difference"))
    assert exact.jacobians > 0
    assert exact.residuals_jacobian == 0
    assert difference.residuals_jacobian > 20 * difference.jacobians > 0
    assert abs(exact.residuals - difference.residuals) < 0.2 * exact.residuals
    assert exact.factorisations > 0
    assert exact.solves > exact.steps
    assert exact.newton_iterations is None and exact.rejected_error is None  # not reported


@pytest.mark.parametrize("links", [2, 8], ids=["dense", "sparse"])
@pytest.mark.parametrize("jacobian", ["exact", "difference"])
def test_both_storages_hold_the_jacobian(links, jacobian):
    """Trap: for difference quotients the package hands over columns of a matrix and keeps a result while it asks for the next."""
    problem = mbdae.GGL(mbdae.System(chain(links)))
    assert (problem.n > dae.DENSE_LIMIT) == (links == 8)
    y0, yd0 = problem.pack(mbdae.assemble(problem.system))
    arguments = solve_dae_arguments(problem, jacobian=jacobian)
    solver = package.BDFDAE(arguments.pop("fun"), 0.0, y0, yd0, 1.0, **arguments)
    for stored, expected in zip((solver.Jy, solver.Jyp), problem.jacobian_parts(0.0, y0, yd0)):
        stored = stored.toarray() if links == 8 else stored
        np.testing.assert_allclose(stored, expected.toarray(), rtol=1e-5, atol=1e-4)


def test_large_systems_run_sparse():
    m = chain(8)
    dense = mbdae.solve(m, SolveIvp(), (0.0, 0.1), rtol=1e-10, atol=1e-11, t_eval=[0.1])
    for method in ("Radau3", "BDF"):
        s = mbdae.solve(m, SolveDae(method), (0.0, 0.1), t_eval=[0.1], formulation="index2")
        assert s.success, s.message
        np.testing.assert_allclose(s.q, dense.q, atol=20 * TOL)


# --- scripts of users of the package -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "stages"), [("Radau", 3), ("Radau", 5), ("BDF", None)])
def test_problems_drop_into_solve_dae(system, reference, method, stages):
    problem = mbdae.Gear(system)
    y0, yd0 = problem.pack(mbdae.assemble(system))
    options = {} if stages is None else {"stages": stages}
    found = package.solve_dae(**solve_dae_arguments(problem, 1e-8, 1e-10), t_span=(0.0, 0.3), y0=y0, yp0=yd0, method=method, **options)
    assert found.success
    q, v, a, lam = problem.unpack(found.y[:, -1], found.yp[:, -1])
    for x, expected, tol in zip((q, v, a, lam), reference(0.3), (1e-6, 1e-5, 1e-3, 1e-3)):
        np.testing.assert_allclose(x, expected, atol=tol)


def test_events_drop_into_solve_dae(system):
    def clock(t, q, v):
        return t - 0.123

    problem = mbdae.GGL(system)
    y0, yd0 = problem.pack(mbdae.assemble(system))
    found = package.solve_dae(**solve_dae_arguments(problem, events=[falls_below, clock]), t_span=(0.0, 0.5), y0=y0, yp0=yd0)
    assert found.status == 1
    assert found.t[-1] == found.t_events[0][0] < 0.45
    assert found.y[4, -1] == pytest.approx(-0.6, abs=1e-9)
    expected = mbdae.solve(system, SolveDae(max_step=0.01), (0.0, 0.5), formulation="ggl", events=falls_below)
    np.testing.assert_allclose(found.t_events[0], expected.t_events[0], atol=1e-5)
    np.testing.assert_allclose(found.t_events[1], [0.123], atol=1e-12)


def test_exceptions_pass_through_scripts_too(system):
    error = RuntimeError("of the user")

    def law(length, rate, t):
        raise error

    problem = mbdae.GGL(with_law(law))
    y0, yd0 = problem.pack(mbdae.assemble(system))
    with pytest.raises(RuntimeError) as caught:
        package.solve_dae(**solve_dae_arguments(problem), t_span=(0.0, 0.5), y0=y0, yp0=yd0)
    assert caught.value is error
