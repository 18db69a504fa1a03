"""Attempts at a step that fail: nothing of them is kept, and the end of a run says what was in the way."""

from functools import cache

import numpy as np
import pytest

import mbdae
from mbdae import Status

from .helpers import GROUND, slider_crank, thorough_but
from .state_space_cases import EVERY, FORMS, METHODS, TRAPEZOIDAL, exact, problem, run

BOTH = pytest.mark.parametrize("form", FORMS)


def beads():
    """Three beads on rods below a winch that pays out and takes in."""
    places = np.array([[0.4, 0.0, -0.3], [0.8, 0.3, -0.35], [0.7, 0.75, -0.8]])
    bodies = [mbdae.Particle(name, mass, tuple(at)) for name, mass, at in zip("abc", (1.0, 0.6, 0.4), places)]
    rods = [mbdae.Rod(f"rod {k}", *"abc"[k:k + 2], length=float(np.linalg.norm(places[k + 1] - places[k]))) for k in range(2)]
    winch = mbdae.DistanceDriver("winch", GROUND, "a", lambda t: 0.5 + 0.1 * np.sin(2.0 * t) ** 2)
    return mbdae.Mechanism("beads", bodies, rods, [winch], gravity=(0.0, 0.0, -9.81))


def taut():
    """A bead between a rod and a winch that pulls until both are in line: at t = 2 their gradients depend on each other."""
    bead, rod = mbdae.Particle("bead", 1.0, (0.25, 0.0, np.sqrt(0.1875))), mbdae.Rod("rod", GROUND, "bead", length=0.5)
    winch = mbdae.DistanceDriver("winch", GROUND, "bead", lambda t: 0.5 + 0.25 * t, s_i=(0.5, 0.0, 0.0))
    return mbdae.Mechanism("taut", [bead], [rod], [winch], gravity=(0.0, 0.0, -9.81))


@cache
def system(make):
    return mbdae.System(make())


# --- nothing is kept -------------------------------------------------------------------------------------------------------------


@BOTH
@EVERY
def test_a_step_after_rejected_ones_is_the_same_as_without_them(method, form):
    """To the last bit: positions are looked for from the start of the step, and Newton's method knows nothing of other attempts."""
    for first, rtol in ((1.0, 1e-2), (0.3, 1e-4), (0.3, 1e-6)):
        def steps(first_step, rtol=rtol):
            return mbdae.solve(mbdae.StateSpace(system(beads), form), METHODS[method](first_step=first_step, max_steps=1), (0.0, 1.0),
                               rtol=rtol, atol=rtol)

        tried = steps(first)
        assert tried.statistics.rejected_error + tried.statistics.rejected_newton > 0
        alone = steps(tried.t[1])
        assert alone.statistics.rejected_error + alone.statistics.rejected_newton == 0
        for name in ("t", "q", "v", "a", "lam"):
            np.testing.assert_array_equal(getattr(tried, name), getattr(alone, name))


@BOTH
@EVERY
def test_loose_tolerances_and_long_first_steps_end_in_failure_or_near_the_motion(method, form):
    """Where steps are rejected often, none of them may lead to other positions of the mechanism."""
    found, rtol = exact("spatial-four-bar", 0.5), 0.03
    for first in (0.0, 0.015, 0.05, 0.15, 0.5):
        s = mbdae.solve(problem("spatial-four-bar", form), METHODS[method](first_step=first), (0.0, 0.5), rtol=rtol, atol=rtol,
                        t_eval=found.t)
        assert s.success, s.message
        assert np.abs(s.q - found.q).max() < 20 * rtol * (1.0 + np.abs(found.q).max())


@EVERY
def test_output_does_not_change_a_single_bit(method):
    """Positions between steps need factors of their own; the step behind them must not begin with those."""
    plain = run("double-spherical-pendulum", METHODS[method](), 0.5, rtol=1e-4)
    dense = run("double-spherical-pendulum", METHODS[method](), 0.5, rtol=1e-4, t_eval=np.linspace(0.0, 0.5, 101))
    np.testing.assert_array_equal(plain.q[-1], dense.q[-1])
    assert plain.statistics.steps == dense.statistics.steps


# --- joint friction --------------------------------------------------------------------------------------------------------------


@BOTH
@EVERY
def test_newtons_method_sees_the_friction_forces_of_the_state_it_is_at(method, form):
    """With a tight tolerance of Newton's method fixed steps go through, and errors are those of the formula."""
    times = np.linspace(0.0, 0.2, 5)
    target = mbdae.StateSpace(system(slider_crank), form)
    accurate = mbdae.solve(target.system, mbdae.SdirkFirstOrder(), (0.0, 0.2), rtol=1e-11, atol=1e-11, t_eval=times)
    errors = []
    for h in (1e-2, 5e-3):
        s = mbdae.solve(target, METHODS[method](fixed_step=h), (0.0, 0.2), rtol=1e-12, atol=1e-12, t_eval=times)
        assert s.success and s.statistics.rejected_newton == 0, s.message
        errors.append(np.abs(s.q - accurate.q).max())
    assert errors[1] < (1e-4 if method in TRAPEZOIDAL else 1e-7) and errors[0] > (3 if method in TRAPEZOIDAL else 8) * errors[1], errors


@BOTH
def test_forms_of_the_same_formulas_take_the_same_steps_with_friction(form):
    """The unknowns differ, the formulas do not, or hardly, so neither do steps and failures of Newton's method."""
    def solved(method):
        return mbdae.solve(mbdae.StateSpace(system(slider_crank), form), METHODS[method](), (0.0, 0.5), rtol=1e-6, atol=1e-6).statistics

    one, other, sdirk, descriptor = (solved(name) for name in ("TrapezoidalStateSpace", "TrapezoidalDescriptor", "SdirkFirstOrder",
                                                               "SdirkDescriptor"))
    assert abs(one.steps - other.steps) <= 0.01 * one.steps and abs(sdirk.steps - descriptor.steps) < 0.2 * sdirk.steps
    assert one.rejected_newton == other.rejected_newton == sdirk.rejected_newton == descriptor.rejected_newton == 0


# --- what a run says ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rtol", thorough_but([1e-3], [1e-3, 1e-4, 1e-6]))
@BOTH
@EVERY
def test_constraints_that_lose_rank_are_named(method, form, rtol):
    """They are named whether the positions, Newton's method or the error test has had enough."""
    if rtol < 1e-4 and method in TRAPEZOIDAL:
        rtol = 1e-5  # a motion with so many steps says nothing new
    s = mbdae.solve(mbdae.StateSpace(system(taut), form), METHODS[method](), (0.0, 5.0), v0=[0.0, 0.3, 0.0], rtol=rtol, atol=rtol)
    assert s.status == Status.SINGULAR and s.t[-1] == pytest.approx(2.0, abs=1e-3)
    assert "the constraints are about to lose rank, in " in s.message and ("rod" in s.message or "winch" in s.message)
    assert "the solution up to there is kept" in s.message


@EVERY
def test_a_failure_elsewhere_is_not_blamed_on_the_constraints(method):
    """The same mechanism long before they depend on each other, with a force that is torn."""
    m = taut()
    broken = mbdae.PointForce("gust", "bead", (0.0, lambda t: np.nan if t > 0.7 else 0.0, 0.0))
    m = mbdae.Mechanism(m.name, m.bodies, m.joints, m.drivers, forces=[broken], gravity=m.gravity)
    s = mbdae.solve(m, METHODS[method](), (0.0, 5.0), v0=[0.0, 0.3, 0.0], rtol=1e-4, atol=1e-4)
    assert s.status == Status.NOT_FINITE and "rank" not in s.message and s.t[-1] == pytest.approx(0.7, abs=1e-2)


@BOTH
@EVERY
def test_fixed_steps_go_on_in_another_chart(method, form):
    """Near the end of a chart Newton's method fails with a step that would do in a better one, and the step may not be shortened."""
    accurate = mbdae.solve(system(beads), mbdae.SdirkFirstOrder(), (0.0, 0.5), rtol=1e-9, atol=1e-9, t_eval=[0.5])
    for h in (0.02, 0.01) if method in TRAPEZOIDAL else (0.025, 0.02):
        s = mbdae.solve(mbdae.StateSpace(system(beads), form), METHODS[method](fixed_step=h), (0.0, 0.5), rtol=1e-12, atol=1e-12)
        assert s.success, s.message
        np.testing.assert_allclose(np.diff(s.t), h, atol=1e-12)
        assert np.abs(s.q[-1] - accurate.q[0]).max() < 1e-2


@EVERY
def test_fixed_steps_that_are_too_long_are_not_said_to_have_been_cut(method):
    s = mbdae.solve(system(beads), METHODS[method](fixed_step=0.2), (0.0, 2.0), rtol=1e-12, atol=1e-12)
    assert not s.success and "the step size is fixed at 0.2, and the step also fails in a new chart" in s.message
    assert "cut" not in s.message and s.statistics.restarts >= 1 and s.t[-1] == pytest.approx(0.2 * (len(s.t) - 1))
