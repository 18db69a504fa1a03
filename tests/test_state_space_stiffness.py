"""Stiff modes: what a step does to them, L-stability, and the error estimate that must not mind them."""

import numpy as np
import pytest

from mbdae.integrators.state_space.rosenbrock_tableau import ROSENBROCK_NYSTROM_4
from mbdae.integrators.state_space.sdirk_tableau import SDIRK_4_15, SDIRK_4_16, stability_function

from .state_space_cases import EVERY, EVERY_OF_ORDER_FOUR, FORMS, METHODS, TRAPEZOIDAL, exact, run

STIFFNESS = 1e9
OMEGA = np.sqrt(STIFFNESS)


def factor(method, z):
    """`R(z)` of each method."""
    if method in TRAPEZOIDAL:
        return (1.0 + z / 2.0) / (1.0 - z / 2.0)
    return {"SdirkDescriptor": SDIRK_4_16, "SdirkFirstOrder": SDIRK_4_15, "RosenbrockNystrom": ROSENBROCK_NYSTROM_4}[method].stability(z)


def after_one_step(method, h, form="partition", **parameters):
    """Angle and rate of the spring wheel, which starts at rest, by the angle at the start."""
    s = run("spring wheel", METHODS[method](fixed_step=h), h, form, rtol=1e-10, atol=1e-10, **parameters)
    return s.q[-1, 2] / s.q[0, 2], s.v[-1, 2] / s.q[0, 2]


@pytest.mark.parametrize("form", FORMS)
@EVERY
@pytest.mark.parametrize("angle", [0.3, 3.0, 300.0])
def test_a_step_multiplies_an_undamped_mode_by_the_stability_function(method, angle, form):
    """`u = x - i x'/omega` obeys `u' = i omega u`, so that a step makes it `R(i omega h) u`."""
    x, rate = after_one_step(method, angle / OMEGA, form)
    expected = complex(factor(method, 1j * angle))
    assert x - 1j * rate / OMEGA == pytest.approx(expected, abs=2e-6)


@EVERY_OF_ORDER_FOUR
def test_a_stiff_mode_is_gone_after_one_step(method):
    """L-stability: of an amplitude of 1 next to nothing is left, and less the stiffer the spring."""
    left = [abs(complex(*after_one_step(method, angle / OMEGA)).real) for angle in (30.0, 300.0, 3000.0)]
    assert left[2] < 2e-3 and left[2] < 0.2 * left[1] < 0.1 * left[0]


@pytest.mark.parametrize("method", TRAPEZOIDAL)
def test_the_trapezoidal_rule_rings(method):
    """It keeps the amplitude of an undamped mode, and turns the sign of a fast one with every step."""
    s = run("spring wheel", METHODS[method](fixed_step=1e-2), 0.1, rtol=1e-10, atol=1e-10)
    x = s.q[:, 2] / s.q[0, 2]
    np.testing.assert_allclose(np.abs(x - 1j * s.v[:, 2] / s.q[0, 2] / OMEGA), 1.0, atol=1e-5)
    assert (np.abs(x) > 0.99).all() and (np.sign(x) == (-1.0) ** np.arange(len(x))).all()


@pytest.mark.parametrize("form", FORMS)
@EVERY
def test_a_mechanism_forgets_its_stiff_mode_if_the_method_damps_it(method, form):
    """A pendulum on a wheel held by a spring of 1e9 N m that starts off its place: the slow motion is that of a wheel at rest."""
    s = run("stiff wheel", METHODS[method](fixed_step=1e-3), 0.2, form)
    offset = np.abs(s.q[:, 2] / s.q[0, 2])
    if method in TRAPEZOIDAL:
        assert offset[-20:].max() > 0.9
        return
    held = exact("pendulum", 0.2)
    assert offset[1] < 0.25 and offset[4:20].max() < 0.02
    assert abs(s.q[-1, 5] - held.q[-1, 2]) < 1e-4


@EVERY
def test_steps_follow_the_slow_motion(method):
    """The stiff double pendulum: an eigenvalue near -1e5 1/s, and steps of hundredths of a second."""
    by = METHODS[method](local_error=0.5) if method in TRAPEZOIDAL else METHODS[method]()
    s = run("stiff-double-pendulum", by, 0.5, rtol=1e-4)
    found = exact("stiff-double-pendulum", 0.05)
    start = run("stiff-double-pendulum", by, 0.05, rtol=1e-4, t_eval=found.t)
    assert np.diff(s.t).max() > (1e-3 if method in TRAPEZOIDAL else 1e-2)
    assert np.abs(start.q - found.q).max() < 1e-3


def stiff(method, tol, times=None, form="partition"):
    """The stiff double pendulum after 0.05 s; of steps and times only these."""
    s = run("stiff-double-pendulum", METHODS[method](), 0.5, form, rtol=tol, atol=tol, t_eval=times)
    keep = s.t > 0.05
    return s.t[keep], s.a[keep], s.lam[keep]


@EVERY
def test_stiff_forces_between_the_steps_are_those_of_the_motion(method):
    """Cubics through the ends of steps are off the slow manifold by little, of which a stiffness of 3e5 makes half of the reactions."""
    times = np.linspace(0.06, 0.5, 45)
    for found, expected, share in zip(stiff(method, 1e-3, times)[1:], stiff("SdirkFirstOrder", 1e-8, times)[1:], (1e-2, 5e-3)):
        assert np.abs(found - expected).max() < share * np.abs(expected).max()


@pytest.mark.parametrize("method", [*TRAPEZOIDAL, "RosenbrockNystrom"])
def test_they_are_as_good_as_at_the_steps_where_stiff_directions_turn(method):
    """Tangent planes turn with the bodies, which costs accuracy at the steps already; between them it was a hundred times worse."""
    times = np.linspace(0.06, 0.5, 45)
    at_steps, between = stiff(method, 1e-3, form="tangent"), stiff(method, 1e-3, times, "tangent")
    errors = [np.abs(s[2] - stiff("SdirkFirstOrder", 1e-8, s[0])[2]).max() for s in (at_steps, between)]
    assert errors[1] < 1.5 * errors[0]


@pytest.mark.parametrize("form", FORMS)
def test_without_the_filter_an_excited_stiff_mode_costs_three_times_the_steps(form):
    """[Negrut, eq. (5.6)] An undamped stiff spring that starts off its place: the unfiltered estimate follows what the method forgets."""
    methods = [METHODS["RosenbrockNystrom"](filter=damped, local_error=1.0) for damped in (True, False)]
    runs = [run("stiff wheel", method, 1.0, form, rtol=1e-4) for method in methods]
    assert all(s.statistics.restarts == 0 for s in runs)  # another chart would be another reason
    assert 3 * runs[0].statistics.steps < runs[1].statistics.steps
    for s in runs:
        assert abs(s.q[-1, 5] - exact("pendulum", 1.0).q[-1, 2]) < 5e-3


@pytest.mark.parametrize("form", FORMS)
def test_on_a_slow_stiff_motion_the_filter_changes_little(form):
    """The double pendulum of the thesis stays on its slow manifold, where the estimate is small with and without."""
    steps = [run("stiff-double-pendulum", METHODS["RosenbrockNystrom"](filter=damped), 2.0, form, rtol=1e-4).statistics.steps
             for damped in (True, False)]
    assert 0.9 < steps[0] / steps[1] < 1.1


def test_the_estimate_of_the_rosenbrock_method_stays_bounded():
    """Why: between method and embedded formula lies `R - R_hat`, which tends to 0.367, not to the `gamma h lambda` of eq. (5.5)."""
    z = -np.logspace(2, 8, 7)
    difference = ROSENBROCK_NYSTROM_4.stability(z) - stability_function(z, ROSENBROCK_NYSTROM_4.A + ROSENBROCK_NYSTROM_4.E,
                                                                        ROSENBROCK_NYSTROM_4.b_hat)
    assert np.abs(difference).max() == pytest.approx(0.367, abs=2e-3)
