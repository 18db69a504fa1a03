"""pyradau13: what its functions and the method object promise."""


import numpy as np
import pytest

import mbdae
from mbdae import MassMatrix, Status, library
from mbdae.adapters.radau13 import SUPPORT, Radau13, radau13_arguments
from mbdae.adapters.scipy import SolveIvp
from mbdae.driver.support import FORMS
from mbdae.problems import FORMULATIONS

from .helpers import BREAKS_AT, falls_below, loud, mass_start, with_law

package = pytest.importorskip("pyradau13", reason="pyradau13 is not installed: pip install ./solvers/pyradau13")


@pytest.fixture(autouse=True, params=["library", "wrapper"])
def backend(request, monkeypatch):
    """Through both ways to the code."""
    if request.param == "wrapper":
        monkeypatch.setattr("mbdae.adapters.radau13.called_directly", lambda *arguments: False)
    return request.param


CELLS = [(None, 3), (5, 3), (None, 2), (5, 2), (9, 2), (13, 2), (None, 1), (5, 1), (9, 1), (13, 1)]  # order, level
REFUSED = [form for form in FORMS if isinstance(SUPPORT[form], str)]
TOL = 1e-6


# --- forms -------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("order", "level"), CELLS)
def test_every_level_keeps_its_tolerance(system, reference, order, level):
    s = mbdae.solve(MassMatrix(system, level), Radau13(order), (0.0, 0.5), t_eval=[0.2, 0.5])
    assert s.success, s.message
    np.testing.assert_allclose(s.q, reference(s.t)[0], atol=10 * TOL)
    np.testing.assert_allclose(s.v, reference(s.t)[1], atol=1e3 * TOL)
    np.testing.assert_allclose(s.lam, reference(s.t)[3], atol=1e4 * TOL)


@pytest.mark.parametrize("accelerations", [False, True])
def test_accelerations_may_be_unknowns(system, reference, accelerations):
    s = mbdae.solve(MassMatrix(system, 3, accelerations), Radau13(), (0.0, 0.5), t_eval=[0.5])
    np.testing.assert_allclose(s.q, reference(s.t)[0], atol=10 * TOL)


def test_andrews_mechanism_in_index_3():
    m = library.mechanism("andrews")
    found, expected = (mbdae.solve(target, method, (0.0, 0.03), rtol=r, atol=r * 1e-2, t_eval=[0.03])
                       for target, method, r in ((MassMatrix(mbdae.System(m), 3), Radau13(), 1e-6), (m, SolveIvp(), 1e-11)))
    assert found.success
    assert found.formulation == "mass"
    assert np.abs(found.q - expected.q).max() < 10 * TOL * np.abs(expected.q).max()
    assert found.statistics.residuals < 2000


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "t_end"), [("andrews", 0.03), ("single-pendulum", 2.0), ("closed-loop-bars", 1.0),
                                             ("double-pendulum", 2.0), ("slider-crank", 1.0), ("four-link", 1.0)])
def test_tolerances_hold_between_the_steps_too(name, t_end):
    """The errors of positions and velocities at 41 times, in index 2, which is the default; index 3 is off by thousands."""
    system, times = mbdae.System(library.mechanism(name)), np.linspace(0.0, t_end, 42)[1:]
    exact = mbdae.solve(system, SolveIvp(), (0.0, t_end), rtol=1e-12, atol=1e-13, t_eval=times)
    for tol in (1e-4, 1e-6, 1e-8, 1e-9):
        s = mbdae.solve(system, Radau13(), (0.0, t_end), rtol=tol, atol=tol, t_eval=times)
        assert s.success, s.message
        for found, expected in ((s.q, exact.q), (s.v, exact.v)):
            np.testing.assert_allclose(found, expected, rtol=100 * tol, atol=100 * tol)
        assert s.constraint_residuals.max() < 1e-7 * np.abs(exact.a).max()


@pytest.mark.parametrize("form", REFUSED)
def test_other_forms_are_refused_with_the_reason(system, form):
    with pytest.raises(ValueError, match=f"RADAU cannot take the form '{form}'") as refusal:
        mbdae.solve(system, Radau13(), (0.0, 0.1), formulation=form)
    assert SUPPORT[form] in str(refusal.value)
    with pytest.raises(ValueError, match=f"RADAU cannot take the form '{form}'"):
        radau13_arguments(FORMULATIONS[form](system))


# --- times -------------------------------------------------------------------------------------------------------------------------------


def test_backward_in_time(system, reference):
    """Trap: the package refuses times that decrease."""
    q, v, _, _ = reference(0.3)
    s = mbdae.solve(system, Radau13(), (0.3, 0.0), q0=q, v0=v, t_eval=[0.3, 0.15, 0.0])
    np.testing.assert_array_equal(s.t, [0.3, 0.15, 0.0])
    np.testing.assert_allclose(s.q, reference(s.t)[0], atol=30 * TOL)


@pytest.mark.parametrize("t0", [-0.4, -0.1, 7.0, 1e5])
def test_other_starts(system, reference, t0):
    """The mechanism does not know the time."""
    s = mbdae.solve(system, Radau13(), (t0, t0 + 0.3), t_eval=[t0 + 0.3])
    assert s.success, s.message
    np.testing.assert_allclose(s.q[-1], reference(0.3)[0], atol=10 * TOL)


@pytest.mark.thorough
def test_output_times_are_hit(system, reference):
    """Trap: the dense output of the package refuses times that lie outside of its step by rounding."""
    assert mbdae.solve(system, Radau13(), (0.0, 0.1), t_eval=[]).q.shape == (0, 6)
    assert mbdae.solve(system, Radau13(), (0.0, 0.1), t_eval=[0.1]).q.shape == (1, 6)
    for start, end in ((0.0, 0.3), (-0.1, 0.2)):
        times = np.linspace(start, end, 2000)
        s = mbdae.solve(system, Radau13(), (start, end), t_eval=times)
        np.testing.assert_array_equal(s.t, times)
        np.testing.assert_allclose(s.q, reference(times - start)[0], atol=10 * TOL)


def test_output_times_just_beyond_a_step_are_hit(system):
    """The same trap: such a time counts as one of the step."""
    steps = mbdae.solve(system, Radau13(), (0.0, 0.3))
    times = np.nextafter(steps.t[5:-1], 1.0)
    s = mbdae.solve(system, Radau13(), (0.0, 0.3), t_eval=times)
    np.testing.assert_array_equal(s.t, times)
    np.testing.assert_allclose(s.q, steps.q[5:-1], atol=1e-12)


@pytest.mark.thorough
def test_every_end_is_met(system):
    """Trap: the time of RADAU's last step is a sum, and misses the end by rounding."""
    for end in np.linspace(0.01, 0.02, 50):
        s = mbdae.solve(system, Radau13(), (0.005, float(end)))
        assert s.success, s.message
        assert s.t[-1] == end
        assert len(s.t) == s.statistics.steps + 1
        assert (np.diff(s.t) > 1e-9).all()


def test_steps_and_dense_output(system, reference):
    s = mbdae.solve(system, Radau13(max_step=0.02), (0.0, 0.3), dense_output=True)
    assert (np.diff(s.t) <= 0.02 + 1e-14).all()
    np.testing.assert_allclose(s.sol(0.123)[0], reference(0.123)[0], atol=10 * TOL)


def test_first_step(system):
    assert mbdae.solve(system, Radau13(), (0.0, 0.1)).t[1] == pytest.approx(1e-5)
    assert mbdae.solve(system, Radau13(first_step=1e-6), (0.0, 0.1)).t[1] == pytest.approx(1e-6)
    assert mbdae.solve(system, Radau13(), (0.0, 1e-7)).t[-1] == 1e-7


# --- events, progress, limits ------------------------------------------------------------------------------------------------------------


def test_terminal_events_end_the_run(system, reference):
    s = mbdae.solve(system, Radau13(max_step=0.02), (0.0, 0.5), events=falls_below)
    assert s.success
    assert s.t[-1] == s.t_events[0][0] < 0.45
    assert "a terminal event" in s.message
    assert reference(s.t[-1])[0][4] == pytest.approx(-0.6, abs=1e-5)


def test_progress_and_step_limit(system):
    seen = []
    s = mbdae.solve(system, Radau13(max_steps=7), (0.0, 0.5), progress=seen.append)
    assert s.status == Status.TOO_MANY_STEPS
    assert s.statistics.steps == len(seen) == 7
    np.testing.assert_array_equal(seen, s.t[1:])


def test_bad_options_are_refused(system):
    for options, message in (({"order": 7}, "order must be one of None, 5, 9, 13, got 7"),
                             ({"jacobian": "sparse"}, "jacobian must be 'exact', .*got 'sparse'"),
                             ({"max_step": 0.0}, "max_step must be positive"), ({"max_step": float("nan")}, "max_step must be positive"),
                             ({"first_step": -1.0}, "first_step must be finite and not negative"),
                             ({"max_steps": 0}, "max_steps must be at least 1")):
        with pytest.raises(ValueError, match=f"^Radau13: {message}"):
            Radau13(**options)
    s = mbdae.solve(system, Radau13(), (0.0, 0.1), atol=0.0)
    assert not s.success
    assert "TOLERANCES" in s.message


def test_it_says_what_it_is():
    assert Radau13().label == "RADAU"
    assert Radau13(13, jacobian="difference").label == "RADAU of order 13, difference Jacobian"
    assert Radau13.availability().installed
    assert "pip install" in Radau13.availability().remedy


# --- failures ----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [RuntimeError("of the user"), KeyboardInterrupt()], ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("t", [0.0, BREAKS_AT])
def test_exceptions_of_the_user_arrive_unchanged(error, t):
    """Trap: RADAU goes on after an exception, and Python then makes a SystemError of the next call that succeeds."""
    raised = []

    def law(length, rate, time):
        if time > t and not raised:
            raised.append(time)
            raise error
        return 0.1 * length

    broken = with_law(law)
    with pytest.raises(type(error)) as caught:
        mbdae.solve(broken, Radau13(), (0.0, 0.2))
    assert caught.value is error
    problem, y0 = mass_start(broken)
    raised.clear()
    with pytest.raises(type(error)) as caught:
        package.radau13(**radau13_arguments(problem, events=[falls_below]), y0=y0, t=0.2)
    assert caught.value is error


def test_exceptions_of_other_functions_arrive_unchanged(system):
    """Trap: one raised by the `dense_callback` does not stop RADAU, either."""
    error, raised = ValueError("of the user"), []

    def stop(t, q=None, v=None):
        if t > 0.1 and not raised:
            raised.append(t)
            raise error
        return 1.0

    with pytest.raises(ValueError) as caught:
        mbdae.solve(system, Radau13(), (0.0, 0.2), progress=stop)
    assert caught.value is error
    problem, y0 = mass_start(system)
    raised.clear()
    with pytest.raises(ValueError) as caught:
        package.radau13(**radau13_arguments(problem, events=[stop]), y0=y0, t=0.2)
    assert caught.value is error


@pytest.mark.parametrize("level", [3, 2, 1])
def test_values_that_are_not_finite_end_the_run(fragile, level):
    """Trap: RADAU crashes or succeeds on NaN."""
    s = mbdae.solve(MassMatrix(fragile, level), Radau13(), (0.0, 0.2))
    assert s.status == Status.NOT_FINITE
    assert "not finite" in s.message
    assert "the solution up to there is kept" in s.message
    assert 0.04 < s.t[-1] < BREAKS_AT + 1e-9
    assert np.isfinite(s.q).all()
    assert s.statistics.steps == len(s.t) - 1


def test_values_that_are_never_finite_keep_the_start():
    s = mbdae.solve(with_law(lambda length, rate, t: float("nan") if t > 0.0 else 0.0), Radau13(), (0.0, 0.1))
    assert s.status == Status.NOT_FINITE
    np.testing.assert_array_equal(s.t, [0.0])
    assert s.statistics.residuals < 100


def test_nothing_not_finite_gets_into_scripts(fragile):
    """Trap: NaN at the start of a step crashes the interpreter."""
    problem, y0 = mass_start(fragile)
    with pytest.raises((RuntimeError, mbdae.driver.callbacks.SolverFailure)):
        package.radau13(**radau13_arguments(problem), y0=y0, t=0.2)


def test_a_singular_position_is_reported():
    joints = [mbdae.Rod("rod", "ground", "p"), mbdae.CD("plane", "ground", "p", (0, 0, 1))]
    drive = mbdae.CoordinateDriver("pull", "ground", "p", mbdae.Polynomial((0.6, 1.0)), (1, 0, 0))
    m = mbdae.Mechanism("dead point", [mbdae.Particle("p", 1.0, (0.6, 0.8, 0))], joints, [drive])
    s = mbdae.solve(m, Radau13(), (0.0, 1.0))
    assert s.status == Status.SINGULAR
    assert s.message.startswith("the constraints lose rank near t = 0.4, in rod, pull: a singular position"), s.message
    assert s.t[-1] == pytest.approx(0.4, abs=1e-2)


def test_nothing_is_printed_but_by_the_user(capfd):
    noisy = with_law(loud)
    capfd.readouterr()
    mbdae.solve(noisy, Radau13(), (0.0, 0.06))
    captured = capfd.readouterr()
    assert set(captured.out.split("\n")) == {"law", ""}
    assert captured.err == ""


# --- the Jacobian ------------------------------------------------------------------------------------------------------------------------


def test_the_exact_jacobian_is_used_and_saves_evaluations(system, backend):
    exact, difference = (mbdae.solve(system, Radau13(jacobian=j), (0.0, 0.3)) for j in ("exact", "difference"))
    assert exact.statistics.jacobians > 0
    assert exact.statistics.residuals_jacobian == 0
    if backend == "wrapper":  # the package does not tell which evaluations were for differences
        assert difference.statistics.residuals is None
    else:
        assert difference.statistics.residuals_jacobian > exact.statistics.residuals_jacobian
    np.testing.assert_allclose(exact.q[-1], difference.q[-1], atol=TOL)
    problem, y0 = mass_start(system)
    calls = {}
    for jacobian in ("exact", "difference"):
        callbacks = mbdae.driver.callbacks.SolverCallbacks(problem)
        package.radau13(**radau13_arguments(problem, jacobian=jacobian, callbacks=callbacks), y0=y0, t=0.3)
        calls[jacobian] = callbacks.calls
        assert (callbacks.jacobians > 0) == (jacobian == "exact")
    assert calls["exact"] < 0.7 * calls["difference"]


def test_jacobian_and_mass_matrix_are_those_of_the_equations():
    """The mass matrix of this mechanism is not diagonal, its Jacobian not symmetric; RADAU wants both by columns."""
    problem, y0 = mass_start(mbdae.System(library.mechanism("andrews")))
    arguments = radau13_arguments(problem)
    rhs, J = arguments["rhs_fn"], arguments["jacobian_fn"](0.0, y0).copy()
    np.testing.assert_allclose(rhs(0.0, y0), problem.rhs(0.0, y0), atol=1e-12)
    difference = np.array([(rhs(0.0, y0 + 1e-6 * e).copy() - rhs(0.0, y0 - 1e-6 * e)) / 2e-6 for e in np.eye(problem.n)]).T
    np.testing.assert_allclose(J, difference, rtol=1e-5, atol=1e-4 * np.abs(J).max())
    np.testing.assert_array_equal(arguments["mass_matrix"], problem.mass.toarray())


# --- scripts of users of the package -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("order", "level"), [(None, 3), (13, 2)])
def test_problems_drop_into_radau13(system, reference, order, level):
    problem, y0 = mass_start(system, level)
    times = [0.1, 0.2, 0.3]
    rows = package.radau13(**radau13_arguments(problem, 1e-8, 1e-10, order=order), y0=y0, t=times)
    assert rows.shape == (3, problem.n)
    for t, row in zip(times, rows):
        np.testing.assert_allclose(problem.motion(t, row)[0], reference(t)[0], atol=1e-6)
        np.testing.assert_allclose(row[problem.blocks["lam"]], reference(t)[3], atol=1e-3)


def test_events_drop_into_radau13(system):
    def clock(t, q, v):
        return t - 0.123

    problem, y0 = mass_start(system)
    arguments = radau13_arguments(problem, events=[falls_below, clock])
    last, log = package.radau13(**arguments, y0=y0, t=0.5), arguments["dense_callback"]
    assert [len(times) for times in log.times] == [1, 1]
    assert log.times[0][0] < 0.45
    assert log.times[1][0] == pytest.approx(0.123, abs=1e-12)
    assert problem.motion(log.times[0][0], log.states[0][0])[0][4] == pytest.approx(-0.6, abs=1e-9)
    assert -0.8 < problem.motion(0.5, last)[0][4] < -0.6  # the end of the step in which the event happened
    expected = mbdae.solve(system, SolveIvp(max_step=0.01), (0.0, 0.5), rtol=1e-8, atol=1e-10, events=falls_below)
    np.testing.assert_allclose(log.times[0], expected.t_events[0], atol=1e-5)
