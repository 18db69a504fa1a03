"""What all in-house methods share: Newton's test, the clock of the time loop, the cubic interpolant; each against its definition."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline

import mbdae
from mbdae.compilation.structure import Structure, address_of
from mbdae.integrators.control.hermite import cubic, hermite
from mbdae.integrators.control.loop import PAUSED, advance, filtered, next_step, reject, shortened, step_from, store
from mbdae.integrators.control.newton import ITERATE, NewtonRule, newton_test
from mbdae.integrators.control.records import COUNTERS, Clock, Counts, State, new_clock, new_output, new_state
from mbdae.integrators.control.step_size import ELEMENTARY, Rule
from mbdae.system.codes import DIVERGED, ERROR_TEST, GOOD, NOT_FINITE

from .helpers import double_pendulum

INF = float("inf")


# --- Newton's test ---------------------------------------------------------------------------------------------------------------


def verdict(rule, k, size, before=INF, eta=INF, noisy=False):
    return newton_test(rule, k, size, before, eta, noisy)


def test_the_first_correction_needs_the_rate_of_the_step_before():
    rule = NewtonRule(1e-3, 5)
    assert verdict(rule, 0, 1e-30).status == ITERATE
    assert verdict(rule, 0, 1.9e-3, eta=0.5) == (GOOD, 0.0, 0.5)
    assert verdict(rule, 0, 2.1e-3, eta=0.5) == (ITERATE, 0.0, 0.5)
    assert verdict(rule, 0, 1e-3, before=1e-4, eta=1.0).rate == 0.0


def test_the_error_that_is_left_follows_from_the_contraction_rate():
    """`eta = theta/(1 - theta)`, at most `10 theta`."""
    for rate, eta in ((0.1, 1 / 9), (0.5, 1.0), (0.8, 4.0), (0.97, 9.7)):
        for tol, status in ((1.01, GOOD), (0.99, ITERATE)):
            found = verdict(NewtonRule(tol * eta * rate * 1e-2, 9, forecast=9), 1, rate * 1e-2, 1e-2, eta=0.0)
            assert found.status == status and found[1:] == pytest.approx((rate, eta), rel=1e-12)


def test_a_lower_bound_on_eta_asks_for_small_corrections():
    for k, before in ((0, INF), (2, 1.0)):
        assert verdict(NewtonRule(1e-3, 9, 1.0, forecast=9), k, 0.9e-3, before, 0.0).status == GOOD
        assert verdict(NewtonRule(1e-3, 9, 1.0, forecast=9), k, 1.1e-3, before, 0.0).status == ITERATE
        assert verdict(NewtonRule(1e-3, 9, 0.5, forecast=9), k, 1.1e-3, before, 0.0).status == GOOD


def test_noise_ends_the_iteration_where_it_does_not_contract():
    rule = NewtonRule(1e-9, 9, forecast=9)
    assert verdict(rule, 1, 0.6, 1.0, noisy=True).status == GOOD
    assert verdict(rule, 1, 0.4, 1.0, noisy=True).status == ITERATE
    assert verdict(rule, 1, 0.6, 1.0).status == ITERATE


def test_divergence_and_values_that_are_not_finite():
    rule = NewtonRule(1e-9, 9, 0.0, 2.0, 9)
    assert [verdict(rule, k, size, 1.0).status for k, size in ((1, 1.99), (1, 2.0), (0, 5.0))] == [ITERATE, DIVERGED, ITERATE]
    assert [verdict(rule, 1, size, 1.0, 0.3) for size in (INF, -INF)] == [(NOT_FINITE, 0.0, 0.3)] * 2
    assert verdict(rule, 1, float("nan"), 1.0).status == NOT_FINITE
    assert verdict(rule, 1, 1.0, 0.0).rate == 0.0


@pytest.mark.parametrize(("k", "left"), [(1, 3), (2, 2), (3, 1)])
def test_an_iteration_that_will_not_do_is_given_up(k, left):
    """At the rate 1/2 the error that is left, `size`, is halved by each of the remaining corrections."""
    for tol, status in ((1.01, ITERATE), (0.99, DIVERGED)):
        assert verdict(NewtonRule(tol * 0.5**left * 1e-2, 5), k, 1e-2, 2e-2).status == status
    hopeless = NewtonRule(1e-9, 5)
    assert verdict(hopeless, k, 1e-2, 2e-2).status == DIVERGED
    assert verdict(hopeless._replace(forecast=k), k, 1e-2, 2e-2).status == DIVERGED
    assert verdict(hopeless._replace(forecast=k + 1), k, 1e-2, 2e-2).status == ITERATE
    assert verdict(hopeless._replace(fast=0.51), k, 1e-2, 2e-2).status == ITERATE
    assert verdict(hopeless._replace(fast=0.49), k, 1e-2, 2e-2).status == DIVERGED


def test_the_last_correction_decides():
    rule = NewtonRule(1e-3, 3, forecast=9)
    assert [verdict(rule, k, 1.0, 2.0).status for k in (1, 2)] == [ITERATE, DIVERGED]
    assert verdict(rule, 2, 1e-3, 1.0).status == GOOD


# --- the clock -------------------------------------------------------------------------------------------------------------------


def test_addresses_of_arrays():
    """Also of views, and of arrays that are empty, read-only, or not contiguous, whose memory has no buffer of its own."""
    whole = np.arange(24.0).reshape(4, 6)
    read_only = np.arange(3.0)
    read_only.flags.writeable = False
    for array in (whole, whole[1], whole[:, 1], whole[::2], read_only, np.zeros(0), np.zeros(2, np.dtype([("a", "i8"), ("b", "f8")]))):
        assert address_of(array) == array.__array_interface__["data"][0]


class Small(Structure):
    """What the clock is kept by."""

    clock: Clock
    counts: Counts
    rule: Rule


def running(t=0.0, t_end=1.0, **fields):
    run = Small(clock=new_clock(t, t_end), counts=Counts(**dict.fromkeys(COUNTERS, 0)), rule=ELEMENTARY.rule(3, 5.0))
    for name, value in fields.items():
        setattr(run.clock, name, value)
    return run


def test_the_next_step_is_as_long_as_allowed_and_ends_at_the_end():
    assert next_step(running(h=0.3, largest=0.2).clock) == (0.2, False, 0.2)
    assert next_step(running(1.0, 0.0, h=0.3).clock) == (-0.3, False, 0.7)
    assert next_step(running(0.0, 1.0, h=0.991).clock) == (1.0, True, 1.0)  # no tiny step is left
    assert next_step(running(0.0, 1.0, h=0.989).clock) == (0.989, False, 0.989)
    assert next_step(running(0.0, 1.0, h=7.0).clock) == (1.0, True, 1.0)
    assert step_from(0.5, 5, running(h=0.3).clock)[:2] == (0.3, False) and step_from(0.9, 3, running(h=0.3).clock).last


def test_fixed_steps_are_multiples_from_the_origin():
    clock = running(0.2, 1.2, h=0.1, fixed=1).clock
    assert step_from(0.5 + 1e-9, 3, clock) == (0.1, False, 0.2 + 4 * 0.1)
    assert step_from(1.1 + 1e-12, 9, clock) == (0.1, True, 1.2)  # the rest is the step up to rounding
    step = step_from(1.1 + 1e-9, 9, clock)
    assert step.last and step.h == pytest.approx(0.1 - 1e-9, abs=1e-15)
    assert [shortened(h, clock) for h in (0.1, -0.1, 0.1 + 1e-12, 0.05, 0.1 - 1e-9)] == [False, False, False, True, True]
    assert not shortened(0.05, running(h=0.1).clock)


def test_rejected_steps():
    run = running(h=0.4)
    assert not reject(ERROR_TEST, 0.5, 0.4, run)
    assert (run.clock.h, run.clock.rejected, run.clock.fault) == (0.2, 1, ERROR_TEST)
    assert (run.counts.rejected_error, run.counts.rejected_newton) == (1, 0)
    assert not reject(DIVERGED, 0.25, -0.2, run)
    assert run.clock.h == 0.05 and (run.counts.rejected_error, run.counts.rejected_newton, run.clock.fault) == (1, 1, DIVERGED)
    assert reject(DIVERGED, 0.0, 0.2, run)
    assert reject(DIVERGED, 0.5, 0.2, running(h=0.2, fixed=1)) and not reject(DIVERGED, 1.0, 0.2, running(h=0.2, fixed=1))


@pytest.mark.parametrize(("span", "t"), [((0.0, 2.0), 0.0), ((1.0, -2.0), 0.0), ((0.0, 1.0), -2.0)])
def test_steps_that_do_not_move_the_time_are_none(span, t):
    """Relative to the larger one of the time and the end, in absolute values."""
    for h, over in ((1.9e-15, True), (2.1e-15, False), (float("nan"), True)):
        run = running(*span, h=2.0 * h)
        run.clock.t = t
        assert reject(ERROR_TEST, 0.5, 2.0 * h, run) == over


def test_accepted_steps():
    run = running(h=0.4, largest=0.3)
    advance(-0.3, -0.3, False, 2.0, 0.7, run)
    clock = run.clock
    assert (clock.t, clock.h, clock.steps, clock.phase, clock.past_error, clock.past_step) == (-0.3, 0.6, 1, 1, 0.7, -0.3)
    assert run.counts.steps == 1
    reject(ERROR_TEST, 0.5, 0.6, run)
    advance(0.3, 0.0, False, filtered(GOOD, 0.1, 0.3, run), 0.7, run)  # no growth after a rejected step, whose error does not count
    assert (clock.h, clock.past_error, clock.rejected, clock.steps, run.counts.steps) == (0.3, 0.0, 0, 2, 2)
    reject(ERROR_TEST, 0.5, 0.3, run)
    advance(0.15, 0.15, False, 0.5, 0.7, run)
    assert clock.h == 0.075
    clock.h = 0.5
    advance(0.01, 1.0, True, 2.0, 0.7, run)  # a last step that was cut
    assert clock.h == 0.5
    advance(0.4, 1.0, True, 2.0, 0.7, run)
    assert clock.h == 0.8
    fixed = running(h=0.1, fixed=1)
    advance(0.1, 0.1, False, 3.0, 0.0, fixed)
    assert fixed.clock.h == 0.1


def test_a_step_grows_by_the_controller_but_not_at_once_after_a_rejected_one():
    run = running(h=0.2)
    assert filtered(GOOD, 0.1, 0.2, run) == pytest.approx(0.9 * 0.1 ** (-1 / 3))
    run.clock.rejected = 1
    assert filtered(GOOD, 0.1, 0.2, run) == 1.0
    assert filtered(GOOD, 0.9, 0.2, run) == pytest.approx(0.9 * 0.9 ** (-1 / 3))
    assert filtered(ERROR_TEST, 8.0, 0.2, run) == pytest.approx(0.45)


def test_rows_are_stored_one_after_another():
    state = new_state(State, SimpleNamespace(q=[1.0, 2.0], v=[3.0], a=[4.0], lam=[5.0, 6.0, 7.0]))
    output = new_output(state, 3)
    for t in (0.5, 0.75):
        store(t, state, output)
        state.q[0] += 10.0
    assert output.stored == 2 and output.t[:2].tolist() == [0.5, 0.75] and output.q[:2].tolist() == [[1.0, 2.0], [11.0, 2.0]]
    for name in ("v", "a", "lam"):
        assert getattr(output, name)[1].tolist() == getattr(state, name).tolist()


@pytest.mark.parametrize(("room", "times", "steps", "rows"), [(3, None, 3, [0.01, 0.02, 0.03]), (9, None, 4, [0.01, 0.02, 0.03, 0.04]),
                                                              (1, [0.015], 4, [0.015]), (2, [0.015, 0.9], 4, [0.015])])
def test_the_loop_pauses_where_the_output_of_steps_is_full(room, times, steps, rows):
    """Output at given times needs room for those only: when all of them are past, the steps go on to the number asked for, here four."""
    s = mbdae.System(double_pendulum())
    stepper = mbdae.HalfImplicit(h=0.01).stepper(mbdae.Index3(s), s.start, 1.0)
    output = new_output(s.start, room, None if times is None else np.array(times))
    assert stepper.loops.march(stepper.run, output, 4, np.zeros(1, dtype=np.uint8)) == PAUSED
    assert stepper.run.clock.steps == steps and output.t[:output.stored].tolist() == rows


# --- the interpolant -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("h", [0.3, -0.7])
@pytest.mark.parametrize("theta", [0.0, 0.2, 0.55, 1.0, 1.3])
def test_cubics_through_both_ends(h, theta, rng):
    """Positions with the velocities as rates, velocities with the accelerations, accelerations as their derivative, linear multipliers."""
    s = mbdae.System(double_pendulum())
    start, end = (new_state(State, SimpleNamespace(q=rng.normal(size=s.nq), v=rng.normal(size=s.nv), a=rng.normal(size=s.nv),
                                                   lam=rng.normal(size=s.nc))) for _ in range(2))
    inside = new_state(State, start)
    assert hermite(2.0 + theta * h, 2.0, h, start, end, s.model, inside) == GOOD
    for name, rate in (("q", "v"), ("v", "a")):
        ends = np.array([[getattr(x, n) for x in (start, end)[::int(np.sign(h))]] for n in (name, rate)])
        spline = CubicHermiteSpline(sorted([0.0, h]), *ends)
        np.testing.assert_allclose(getattr(inside, name), spline(theta * h), rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(inside.a, spline(theta * h, 1), rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(inside.lam, (1.0 - theta) * start.lam + theta * end.lam, rtol=0.0, atol=1e-14)
    x = cubic(theta, h, start.q[0], end.q[0], start.v[0], end.v[0])
    assert x == pytest.approx(inside.q[0], abs=1e-14)


def test_the_interpolant_of_values_that_are_not_finite():
    s = mbdae.System(double_pendulum())
    start = new_state(State, s.start)
    for name in ("q", "v", "a"):
        end = new_state(State, s.start)
        getattr(end, name)[-1] = np.nan
        assert hermite(0.05, 0.0, 0.1, start, end, s.model, new_state(State, start)) == NOT_FINITE
