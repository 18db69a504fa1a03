"""The state-space integrators as a user meets them: output, events, options, failures, friction, systems of one's own, names."""

import re
from dataclasses import replace

import numpy as np
import pytest

import mbdae
from mbdae import Status
from mbdae.registry import find

from .helpers import BREAKS_AT, double_pendulum, slider_crank, thorough_but, torn, with_law
from .state_space_cases import EVERY, FORMS, METHODS, ORDER_FOUR, TRAPEZOIDAL, exact, run, system

TOLERANCE = 1e-6


@pytest.fixture(scope="module")
def swing():
    return mbdae.System(double_pendulum())


def solve(target, method, t_span=(0.0, 0.5), **options):
    return mbdae.solve(target, method, t_span, **({"rtol": TOLERANCE, "atol": TOLERANCE} | options))


# --- output --------------------------------------------------------------------------------------------------------------------


@EVERY
def test_steps_are_stored_by_default(swing, method):
    s = solve(swing, METHODS[method]())
    assert s.success and s.formulation == "partition"
    assert (s.t[0], s.t[-1]) == (0.0, 0.5) and len(s.t) == s.statistics.steps + 1 and (np.diff(s.t) > 0.0).all()
    third = solve(swing, METHODS[method](), every=3)
    np.testing.assert_array_equal(third.t, np.append(s.t[:-1:3], s.t[-1]))


@EVERY
def test_output_times_do_not_change_the_steps(swing, method):
    times = [0.0, 0.013, 0.2, 0.2001, 0.37, 0.5]
    plain, s = solve(swing, METHODS[method]()), solve(swing, METHODS[method](), t_eval=times)
    np.testing.assert_array_equal(s.t, times)
    assert s.statistics.steps == plain.statistics.steps
    np.testing.assert_array_equal(s.q[-1], plain.q[-1])
    accurate = solve(swing, METHODS["SdirkFirstOrder"](), t_eval=times, rtol=1e-10, atol=1e-10)
    assert np.abs(s.q - accurate.q).max() < 300 * TOLERANCE
    for k, t in enumerate(s.t):
        assert np.abs(swing.phi(t, s.q[k])).max() < 1e-13
        residual = swing.mass(t, s.q[k]) @ s.a[k] + swing.phi_q(t, s.q[k]).toarray().T @ s.lam[k] - swing.force(t, s.q[k], s.v[k])
        assert np.abs(residual).max() < 1e-10


@EVERY
def test_backward_and_forward_meet(swing, method):
    there = solve(swing, METHODS[method](), rtol=1e-8, atol=1e-8)
    end = mbdae.State(there.t[-1], there.q[-1], there.v[-1], there.a[-1], there.lam[-1])
    back = solve(swing, METHODS[method](), (0.5, 0.0), state=end, rtol=1e-8, atol=1e-8, t_eval=[0.4, 0.1, 0.0])
    assert back.success, back.message
    np.testing.assert_array_equal(back.t, [0.4, 0.1, 0.0])
    assert np.abs(back.q[-1] - there.q[0]).max() < 1e-5


def test_a_method_of_order_four_goes_on_from_where_it_stopped(swing):
    """A start at some time other than zero."""
    first = solve(swing, mbdae.RosenbrockNystrom(), (0.0, 0.3), rtol=1e-9, atol=1e-9)
    at = mbdae.State(first.t[-1], first.q[-1], first.v[-1], first.a[-1], first.lam[-1])
    second = solve(swing, mbdae.RosenbrockNystrom(), (0.3, 0.5), rtol=1e-9, atol=1e-9, state=at)
    whole = solve(swing, mbdae.RosenbrockNystrom(), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(second.q[-1], whole.q[-1], atol=1e-7)


@EVERY
def test_terminal_events_end_the_run(swing, method):
    def upright(t, q, v):
        return q[2] + 0.6

    upright.terminal = True
    s = solve(swing, METHODS[method](), (0.0, 5.0), events=upright)
    assert s.success and s.t[-1] < 1.0 and len(s.t_events[0]) == 1
    assert s.q[-1, 2] == pytest.approx(-0.6, abs=1e-4)
    reference = solve(swing, mbdae.SdirkFirstOrder(), (0.0, 5.0), events=upright, rtol=1e-9, atol=1e-9)
    assert s.t[-1] == pytest.approx(reference.t[-1], abs=2e-4)


@EVERY
def test_dense_output_and_progress(swing, method):
    told = []
    s = solve(swing, METHODS[method](), dense_output=True, progress=told.append)
    q, v, _, _ = s.sol(0.2345)
    accurate = solve(swing, mbdae.SdirkFirstOrder(), t_eval=[0.2345], rtol=1e-10, atol=1e-10)
    assert np.abs(q - accurate.q[0]).max() < 1e-4 and np.abs(v - accurate.v[0]).max() < 1e-3
    assert told and told == sorted(told) and told[-1] == pytest.approx(0.5)


# --- steps ---------------------------------------------------------------------------------------------------------------------


@EVERY
def test_steps_given_by_the_user(swing, method):
    make = METHODS[method]
    fixed = solve(swing, make(fixed_step=0.02))
    np.testing.assert_allclose(np.diff(fixed.t), 0.02, atol=1e-12)
    assert fixed.statistics.rejected_error == 0
    first = solve(swing, make(first_step=1e-4))
    assert first.t[1] == pytest.approx(1e-4)
    short = solve(swing, make(max_step=5e-3), rtol=1e-3, atol=1e-3)
    assert np.diff(short.t).max() < 5e-3 * 1.02 and short.statistics.steps >= 98


@EVERY
def test_a_rejected_first_step_is_tried_again(swing, method):
    s = solve(swing, METHODS[method](first_step=0.5), rtol=1e-7, atol=1e-7)
    assert s.success and s.statistics.rejected_error + s.statistics.rejected_newton >= 1
    assert s.t[1] < 0.2


@EVERY
def test_too_many_steps(swing, method):
    s = solve(swing, METHODS[method](max_steps=7))
    assert not s.success and s.status == Status.TOO_MANY_STEPS and len(s.t) == 8
    assert "7 steps were not enough" in s.message and "the solution up to there is kept" in s.message


@pytest.mark.thorough
def test_fixed_steps_stay_fixed_though_newton_gives_up():
    """A spinning top and a step far too large: either the steps are those asked for, or the run says that it cannot."""
    for method in METHODS:
        s = mbdae.solve(system("heavy-top"), METHODS[method](fixed_step=5e-3, max_steps=1000), (0.0, 0.2), rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(np.diff(s.t), 5e-3, atol=1e-12)
        assert s.success or s.status in (Status.NEWTON_FAILED, Status.SINGULAR, Status.CHART_LOST)


BAD = {"first_step": (-1.0, np.inf, np.nan, "x", None, True, [0.1]), "fixed_step": (-1.0, np.inf, np.nan, "x", None, 1j),
       "max_step": (0.0, -1.0, np.nan, -np.inf, "x", None, True, [0.1]), "max_steps": (0, -3, 2.5, np.nan, np.inf, "x", None, True),
       "jacobian": ("analytic", None, [], 1), "filter": ("no", None, 2, [])}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("field", BAD)
def test_bad_options_are_named(method, field):
    for value in BAD[field]:
        with pytest.raises(ValueError, match=f"{method}: {field} must be.*{re.escape(repr(value))}"):
            METHODS[method](**{field: value})


@EVERY
def test_numbers_of_numpy_are_options_too(swing, method):
    options = {"first_step": np.float32(0.01), "max_step": np.int64(1), "max_steps": np.int64(5), "filter": np.True_}
    assert solve(swing, METHODS[method](**options)).statistics.steps == 5
    assert METHODS[method](max_step=np.float64(np.inf), fixed_step=1) == METHODS[method](fixed_step=1.0)


@pytest.mark.parametrize("method", METHODS)
def test_other_forms_are_refused(swing, method):
    with pytest.raises(ValueError, match="partition"):
        solve(swing, METHODS[method](), formulation="ggl")


@pytest.mark.parametrize("method", METHODS)
def test_a_prescribed_motion_is_refused(method):
    with pytest.raises(ValueError, match="no degree of freedom"):
        solve(system("slider-crank"), METHODS[method]())


# --- failures ------------------------------------------------------------------------------------------------------------------


@EVERY
def test_forces_that_are_not_finite_end_the_run(method):
    s = solve(with_law(torn), METHODS[method]())
    assert not s.success and s.status == Status.NOT_FINITE
    assert "not finite" in s.message and 0.02 < s.t[-1] <= BREAKS_AT
    assert all(np.isfinite(x).all() for x in (s.q, s.v, s.a, s.lam))


class Rupture(Exception):
    """What a user's function raises."""


@EVERY
@pytest.mark.parametrize("jacobian", thorough_but(["exact"], ["exact", "difference"]))
def test_an_exception_of_the_user_arrives_unchanged(method, jacobian):
    def law(length, rate, t):
        if t > BREAKS_AT:
            raise Rupture("at last")
        return 0.1 * length

    with pytest.raises(Rupture, match="at last"):
        solve(with_law(law), METHODS[method](jacobian=jacobian))


# --- friction, systems of one's own ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
@EVERY
def test_joint_friction(method, form):
    """Forces that depend on the multipliers, in Newton's method of the state-space form too."""
    problem = mbdae.StateSpace(mbdae.System(slider_crank()), form)
    times = np.linspace(0.0, 0.2, 5)
    accurate = mbdae.solve(problem.system, mbdae.adapters.scipy.SolveIvp("DOP853"), (0.0, 0.2), formulation="ode", rtol=1e-10, atol=1e-11,
                           t_eval=times)
    s = mbdae.solve(problem, METHODS[method](), (0.0, 0.2), rtol=1e-5, atol=1e-5, t_eval=times)
    assert s.success and np.abs(s.q - accurate.q).max() < 50 * 1e-5
    without = mbdae.solve(mbdae.System(slider_crank(friction=False)), METHODS[method](), (0.0, 0.2), rtol=1e-5, atol=1e-5, t_eval=times)
    assert np.abs(without.q[-1] - s.q[-1]).max() > 100 * np.abs(s.q[-1] - accurate.q[-1]).max()


@pytest.mark.thorough
@pytest.mark.parametrize("method", ORDER_FOUR)
def test_the_wheelset(method):
    """Creep forces on multipliers, equations from functions."""
    found = exact("wheelset", 0.2)
    s = run("wheelset", METHODS[method](), 0.2, rtol=1e-6, t_eval=found.t)
    assert np.abs(s.q - found.q).max() < 1e-4


def plain_pendulum():
    """A point mass on a circle whose radius changes with time, in NumPy."""
    return mbdae.System.from_functions(
        nq=2, nc=1, mass=lambda t, q: 2.0 * np.eye(2), force=lambda t, q, v: np.array([-0.1 * v[0], -19.62 - 0.1 * v[1]]),
        phi=lambda t, q: np.array([q[0] ** 2 + q[1] ** 2 - (1.0 + 0.1 * np.sin(3.0 * t)) ** 2]), q0=[1.0, 0.0], name="swing")


@pytest.mark.parametrize("form", FORMS)
@EVERY
def test_systems_from_plain_functions(method, form):
    system = plain_pendulum()
    times = np.linspace(0.0, 0.8, 5)
    rtol = 1e-4 if method in TRAPEZOIDAL else 1e-6
    s = mbdae.solve(mbdae.StateSpace(system, form), METHODS[method](), (0.0, 0.8), rtol=rtol, atol=rtol, t_eval=times)
    assert s.success, s.message
    accurate = mbdae.solve(system, mbdae.adapters.scipy.SolveIvp("DOP853"), (0.0, 0.8), formulation="ode", rtol=1e-10, atol=1e-11,
                           t_eval=times)
    assert np.abs(s.q - accurate.q).max() < 300 * rtol


# --- statistics, names -----------------------------------------------------------------------------------------------------------


@EVERY
def test_statistics_count_what_happened(swing, method):
    s = solve(swing, METHODS[method]()).statistics
    assert s.factorisations == s.steps + s.rejected_error + s.rejected_newton
    assert s.seconds > 0.0 and s.restarts >= 0 and s.residuals_jacobian == 0
    if method == "RosenbrockNystrom":
        # two evaluations of the stages an attempt, one at the end of the step; four solves and one of the filter
        attempts = s.steps + s.rejected_error
        assert s.newton_iterations == 0 and s.residuals == 2 * attempts + s.steps and s.solves == 5 * attempts
        assert s.jacobians == s.steps
    else:
        stages = 1 if method in TRAPEZOIDAL else 5
        assert s.residuals == s.newton_iterations + s.steps
        assert s.newton_iterations >= stages * (s.steps + s.rejected_error)
        estimates = 1 if method in TRAPEZOIDAL else 2
        assert s.solves == s.newton_iterations + estimates * (s.steps + s.rejected_error)


@EVERY
def test_time_counts_as_an_evaluation_where_it_is_explicit(method):
    """Rosenbrock methods need `f_t`, two evaluations a step; the others do not."""
    s = run("driven pendulum", METHODS[method](), 0.5).statistics
    assert s.residuals_jacobian == (2 * s.jacobians if method == "RosenbrockNystrom" else 0)


def test_labels_and_names():
    assert mbdae.SdirkFirstOrder().label == "SdirkFirstOrder"
    assert mbdae.TrapezoidalDescriptor(fixed_step=0.01).label == "TrapezoidalDescriptor(fixed_step=0.01)"
    assert mbdae.RosenbrockNystrom(filter=False, jacobian="difference").label == "RosenbrockNystrom, not filtered, difference Jacobian"
    for name, make in METHODS.items():
        method = make()
        assert repr(method).startswith(f"{name}(jacobian='exact'") and method == make() and hash(method) == hash(make())
        assert eval(repr(method), {name: make, "inf": np.inf, "StepSizeController": mbdae.StepSizeController}) == method
        assert replace(method, max_steps=3).max_steps == 3
        assert find(f"{name}:tangent").make() == method
        assert method.formulations == FORMS
