"""Kinks of forces within steps of the explicit method of order 8: their places, and the work that they cost."""

import numba
import numpy as np
import pytest

import mbdae
from mbdae.integrators.control.bend import LAST, THIS, accept_differences, is_sudden
from mbdae.integrators.explicit.dop853 import DOP853
from mbdae.integrators.explicit.dopri5 import DOPRI5
from mbdae.integrators.explicit.kinks import ACCURACY, EXPLAINED, find

from .helpers import assert_resumes_bit_for_bit

NODES = DOP853.c[:DOP853.stages]
STIFFNESS, WEIGHT, CONTACT = 400.0, 10.0, 0.12  # N/m, N, s


def smooth(rng, c):
    """Polynomials of degree 5 as accelerations of four components, by rows for the stages."""
    return np.polynomial.polynomial.polyvander(c, 5) @ rng.normal(size=(6, 4))


@pytest.mark.parametrize("tau", np.linspace(0.06, 0.84, 14))
@pytest.mark.parametrize("size", [1e-3, 1.0])
def test_a_kink_is_found_where_it_is(tau, size):
    rng = np.random.default_rng(1)
    a = smooth(rng, NODES) + size * np.maximum(NODES - tau, 0.0)[:, np.newaxis] * rng.normal(size=4)
    place = find(a, np.ones(4), DOP853.coefficients.hinges)
    assert abs(place.tau - tau) < ACCURACY and place.explained > EXPLAINED


@pytest.mark.parametrize(("tau", "low", "high"), [(0.02, 0.0, 0.053), (0.95, 0.857, 1.0)])
def test_with_a_single_stage_on_its_other_side_the_place_is_known_to_the_next_stage(tau, low, high):
    a = np.maximum(NODES - tau, 0.0)[:, np.newaxis] * np.ones(4)
    place = find(a, np.ones(4), DOP853.coefficients.hinges)
    assert low < place.tau < high and place.explained > EXPLAINED


def test_weights_decide_which_kink_counts():
    a = np.maximum(NODES[:, np.newaxis] - np.array([0.2, 0.6]), 0.0)
    for weights, tau in (((1.0, 1e-4), 0.2), ((1e-4, 1.0), 0.6)):
        assert abs(find(a, np.array(weights), DOP853.coefficients.hinges).tau - tau) < 0.01


@pytest.mark.parametrize("motion", [np.sin(3.0 * NODES + 0.3), np.sin(8.0 * NODES), np.exp(2.0 * NODES), NODES**7,
                                    np.maximum(NODES - 0.2, 0.0) + np.maximum(NODES - 0.5, 0.0), np.where(NODES > 0.4, 1.0, 0.0)],
                         ids=["sine", "fast sine", "exponential", "power", "two kinks", "jump"])
def test_what_is_no_single_kink_is_not_taken_for_one(motion):
    assert find(motion[:, np.newaxis] * np.ones(3), np.ones(3), DOP853.coefficients.hinges).explained < EXPLAINED


def test_few_stages_do_not_tell():
    a = np.maximum(DOPRI5.c[:6] - 0.5, 0.0)[:, np.newaxis]
    assert find(a, np.ones(1), DOPRI5.coefficients.hinges) == (0.0, 0.0)


# motions ---------------------------------------------------------------------------------------------------------------------


@numba.njit
def floor(t, r, A, v, omega, F, T):
    """Weight, and a floor that carries by a spring."""
    y = r[0, 1]
    F[0, 1] = -WEIGHT - (STIFFNESS * y if y.real < 0.0 else 0.0 * y)


def ball(height):
    body = mbdae.Particle("ball", 1.0, (0.0, height, 0.0), velocity=(0.4, 0.0, 0.0))
    return mbdae.System(mbdae.Mechanism("ball", [body], [mbdae.CD("z", "ground", "ball", c=(0.0, 0.0, 1.0))], [],
                                        [mbdae.UserForce("floor", ("ball",), floor)]))


def fallen(height):
    """Time and velocity at the floor."""
    t = np.sqrt(2.0 * height / WEIGHT)
    return t, WEIGHT * t


def on_the_floor(s, speed):
    """Height and velocity for a time `s` after the ball has met the floor."""
    omega, rest = np.sqrt(STIFFNESS), WEIGHT / STIFFNESS
    return (rest * (np.cos(omega * s) - 1.0) - speed / omega * np.sin(omega * s),
            -rest * omega * np.sin(omega * s) - speed * np.cos(omega * s))


def error_in_tolerances(found, height, rtol, sign=1.0):
    """The error at the end of a motion onto the floor, relative to the largest values times `rtol`."""
    speed = fallen(height)[1]
    y, v = on_the_floor(CONTACT, speed)
    return max(abs(found.q[-1, 1] - y) / (rtol * height), abs(found.v[-1, 1] - sign * v) / (rtol * speed))


def errors_and_work(rtol, sign=1.0):
    """Errors in tolerances of the motion onto the floor from 40 heights, and evaluations on average."""
    errors, work = [], 0
    for height in np.linspace(0.2, 0.7, 40):
        t_end = sign * (fallen(height)[0] + CONTACT)
        found = mbdae.solve(ball(height), mbdae.DormandPrince(), (0.0, t_end), rtol=rtol, atol=rtol / 100.0)
        assert found.success
        errors.append(error_in_tolerances(found, height, rtol, sign))
        work += found.statistics.residuals
    return np.array(errors), work / 40


@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["forward", "backward"])
@pytest.mark.parametrize(("rtol", "before"), [(1e-5, 195), (1e-7, 277), (1e-9, 381)])
def test_a_kink_costs_few_evaluations_and_no_accuracy(rtol, before, sign):
    """Evaluations `before` are those with steps that shrink by the order of the method and with the error estimate of DOP853, which had
    errors of up to 3.6, 10 and 51 tolerances."""
    errors, work = errors_and_work(rtol, sign)
    assert errors.max() < 10.0 and np.quantile(errors, 0.9) < 1.0
    assert work < 0.85 * before


@pytest.mark.parametrize("rtol", [1e-5, 1e-6, 1e-8, 1e-10])
@pytest.mark.parametrize("method", [mbdae.DormandPrince(order=5), mbdae.HalfExplicit(), mbdae.HalfExplicit("HEM5")], ids=str)
def test_methods_of_order_five_see_kinks_wherever_they_lie(method, rtol):
    """Their estimate is a twentieth of the error in the median; errors were up to 32, 37, 66 and 168, and 14, 16, 37 and 76 tolerances."""
    errors = []
    for height in np.linspace(0.2, 0.7, 100):
        t_end = fallen(height)[0] + CONTACT
        found = mbdae.solve(ball(height), method, (0.0, t_end), formulation=method.formulations[0], rtol=rtol, atol=rtol / 100.0)
        assert found.success
        errors.append(error_in_tolerances(found, height, rtol))
    assert max(errors) < 4.0


@pytest.mark.parametrize("rtol", [1e-5, 1e-7, 1e-9])
@pytest.mark.parametrize("method", [*(mbdae.ProjectedGauss(h=None, stages=s) for s in (2, 3, 4)), mbdae.Spark(h=None),
                                    mbdae.Spark(h=None, pair="lobatto", order=4)], ids=str)
def test_symmetric_methods_see_kinks_wherever_they_lie(method, rtol):
    """Their estimates may be zero by chance; errors were up to 8.7, 19, 47 tolerances at 1e-7, and up to 450 at 1e-9."""
    errors = []
    for height in np.linspace(0.2, 0.7, 60):
        t_end = fallen(height)[0] + CONTACT
        found = mbdae.solve(ball(height), method, (0.0, t_end), rtol=rtol, atol=rtol / 100.0)
        assert found.success
        errors.append(error_in_tolerances(found, height, rtol))
    assert max(errors) < 5.0


@pytest.mark.parametrize(("usual", "ratio", "sudden"), [(2.0, 9.9, False), (2.0, 10.1, True), (0.0, 1e6, False)])
@pytest.mark.parametrize("power", [0.25, -0.125])
def test_a_difference_is_sudden_far_above_that_of_the_last_step(usual, ratio, sudden, power):
    """Relative to the powers of the step sizes, and with the weights of this step; without a last step nothing is."""
    kept = np.array([[0.0, usual], [9.0, 9.0]])
    found = np.array([7.0, 0.0, ratio * max(usual, 1.0) * power])
    weights = np.array([1e9, 1e-9, 3.0])
    assert is_sudden(found, weights, 1, power, 10.0, kept) == sudden
    assert kept[THIS] == pytest.approx([0.0, ratio * max(usual, 1.0)]) and kept[LAST].tolist() == [0.0, usual]
    accept_differences(kept)
    assert kept[LAST].tolist() == kept[THIS].tolist()


def test_the_second_difference_is_zero_for_no_place_of_a_kink():
    weights, b = DOPRI5.differences[0], DOPRI5.b
    for place in np.linspace(0.001, 0.999, 999):
        k = np.maximum(DOPRI5.c - place, 0.0)
        error = abs(b @ k[:DOPRI5.stages] - 0.5 * (1.0 - place)**2)
        assert error < 3.1 * abs(weights @ k)


@pytest.mark.parametrize("n", [2, 3])
def test_differences_are_zero_for_polynomials_of_lower_degrees_and_do_not_use_the_stage_of_order_two(n):
    weights = DOPRI5.differences[n - 2]
    assert np.abs(weights @ np.polynomial.polynomial.polyvander(DOPRI5.c, n - 1)).max() < 1e-14
    assert abs(weights @ DOPRI5.c**n) > 0.02 and weights[1] == 0.0


@pytest.mark.parametrize("rtol", [1e-5, 1e-6, 1e-8, 1e-10])
@pytest.mark.parametrize(("method", "most", "usual"), [
    (mbdae.DormandPrince(order=5), 70.0, 4.0), (mbdae.HalfExplicit(), 35.0, 7.0), (mbdae.RadauIIA(order=5), 90.0, 3.0)],
    ids=["DormandPrince", "HalfExplicit", "RadauIIA"])
def test_the_ball_leaves_the_floor(method, most, usual, rtol):
    """At height zero, where the tolerance of that is tiny. Errors were up to 84, 35 and 369 tolerances; nine of ten were up to 34, 15 and
    15. Where a kink lies in the last hundredth behind the start of a step, both differences may be those of the smooth motion."""
    errors, after = [], 0.1
    for height in np.linspace(0.2, 0.7, 100):
        t, speed = fallen(height)
        omega = np.sqrt(STIFFNESS)
        left = t + 2.0 * (np.pi - np.arctan(speed * omega / WEIGHT)) / omega
        found = mbdae.solve(ball(height), method, (0.0, left + after), formulation=method.formulations[0], rtol=rtol, atol=rtol / 100.0)
        y, v = speed * after - 0.5 * WEIGHT * after**2, speed - WEIGHT * after
        errors.append(max(abs(found.q[-1, 1] - y) / (rtol * height), abs(found.v[-1, 1] - v) / (rtol * speed)))
    assert max(errors) < most and np.quantile(errors, 0.9) < usual


@pytest.mark.parametrize("options", [{"controller": mbdae.PI}, {"max_step": 0.02}, {"first_step": 1e-4}], ids=str)
def test_parameters_of_the_step_size_keep_their_meaning(options):
    found = mbdae.solve(ball(0.5), mbdae.DormandPrince(**options), (0.0, fallen(0.5)[0] + CONTACT), rtol=1e-7, atol=1e-9)
    assert found.success and error_in_tolerances(found, 0.5, 1e-7) < 5.0
    steps = np.diff(found.t)
    assert steps.max() <= options.get("max_step", np.inf) * 1.0101 and steps[0] <= options.get("first_step", np.inf) * 1.0101


def test_a_run_that_is_resumed_between_the_steps_at_a_kink_goes_on_bit_for_bit(tmp_path):
    whole = mbdae.solve(ball(0.5), mbdae.DormandPrince(), (0.0, 1.0), rtol=1e-8, atol=1e-10)
    steps = np.diff(whole.t)
    across = 1 + int(np.argmax(steps[:-1] / steps[1:]))  # the shortest one beside the step before it
    for k in (across, across + 1):
        part = mbdae.solve(ball(0.5), mbdae.DormandPrince(max_steps=k), (0.0, 1.0), rtol=1e-8, atol=1e-10)
        assert len(part.t) == k + 1
        part.save(tmp_path / "part.npz")
        found = mbdae.solve(ball(0.5), mbdae.DormandPrince(), (0.0, 1.0), rtol=1e-8, atol=1e-10, resume=tmp_path / "part.npz")
        np.testing.assert_array_equal(found.t, whole.t)
        np.testing.assert_array_equal(found.q, whole.q)


@pytest.mark.parametrize(("method", "name", "rtol"), [
    (mbdae.DormandPrince, "closed-loop-bars", 1e-7), (mbdae.HalfExplicit, "double-pendulum", 1e-6),
    (mbdae.RadauIIA, "double-pendulum", 2.7e-6)])
def test_what_is_known_of_the_last_step_is_saved(method, name, rtol, tmp_path):
    """Differences of a step decide whether the next one is taken for one with a kink, as it is here in smooth motions."""
    system, t_end = mbdae.System(mbdae.library.mechanism(name)), 1.0

    def run(resume=None, **options):
        made = method(**options) if method is mbdae.HalfExplicit else method(order=5, **options)
        return mbdae.solve(system, made, (0.0, t_end), formulation=made.formulations[0], rtol=rtol, atol=rtol / 100.0, resume=resume)

    assert_resumes_bit_for_bit(run, tmp_path / "part.npz")
