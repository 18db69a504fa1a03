"""Error control, the constraints, reuse of derivatives, charts: what a run with tolerances must keep to."""

import numpy as np
import pytest

import mbdae
from mbdae import library

from .forms import open_levels
from .helpers import thorough_but
from .state_space_cases import EVERY, EVERY_OF_ORDER_FOUR, FORMS, METHODS, QUICK, TRAPEZOIDAL, exact, run, system

TOLERANCES = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
SPANS = {"double-pendulum": 0.5, "andrews": 0.01, "double-spherical-pendulum": 0.5, "spatial-four-bar": 0.5, "driven pendulum": 0.5,
         "stiff-double-pendulum": 0.05}
PRESCRIBED = ("slider-crank", "four-link")  # nothing left to integrate
LEVELS = {"random-tree": 0.05, "fekete": 0.05, "ring": 0.05, "ladder": 0.05, "iltis": 0.01, "pendulum-chain": 0.1, "andrews": 0.01,
          "truck": 0.1, "flyball-governor": 0.05, "flexible-slider-crank": 1e-3, "heavy-top": 0.05, "precessing-top": 0.02, "tree": 0.1,
          "tethered-satellites": 100.0, "stewart-platform": 0.1, "stiff-double-pendulum": 0.2, "wheelset": 0.1}


def error_in_tolerances(name, method, rtol, form="partition"):
    """Largest error of positions and velocities, relative to `rtol` and the size of what is compared."""
    found = exact(name, SPANS[name])
    s = run(name, METHODS[method](), SPANS[name], form, rtol=rtol, t_eval=found.t)
    return max(np.abs(x - y).max() / (1.0 + np.abs(y).max()) for x, y in ((s.q, found.q), (s.v, found.v))) / rtol


@EVERY
@pytest.mark.parametrize("name", SPANS)
def test_errors_follow_the_tolerance(name, method):
    """The step is chosen by the embedded formula, so errors of methods of order four fall by three quarters of a digit or more each."""
    tolerances = TOLERANCES[:4] if method in TRAPEZOIDAL else TOLERANCES
    errors = np.array([error_in_tolerances(name, method, rtol) for rtol in tolerances])
    assert errors.max() < 300.0 and errors.min() > 1e-5, errors
    slope = np.polyfit(np.log(tolerances), np.log(errors * tolerances), 1)[0]
    assert 0.6 < slope < 1.3, (slope, errors)


@pytest.mark.thorough
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", sorted(set(library.names()) - set(PRESCRIBED)))
def test_constraints_hold_on_three_levels_at_every_step(name, form):
    """Relative to the size of the coordinates and of the terms, and `Phi` as the distance that it is: satellites are 1e7 m away."""
    t_end = LEVELS.get(name, 0.2)
    for method in ("SdirkDescriptor", "RosenbrockNystrom"):
        s = _steps(name, method, t_end, form)
        worst = {}
        for k in range(len(s.t)):
            levels = open_levels(s.system, mbdae.State(s.t[k], s.q[k], s.v[k], s.a[k], s.lam[k]))
            levels["position"] /= max(1.0, np.abs(s.system.phi_q(s.t[k], s.q[k]).toarray()).max())
            worst = {key: max(worst.get(key, 0.0), value) for key, value in levels.items()}
        assert max(worst.values()) < 1e-10, worst


def _steps(name, method, t_end, form):
    problem = mbdae.StateSpace(system(name), form)
    s = mbdae.solve(problem, METHODS[method](max_steps=40, max_step=t_end / 8), (0.0, t_end), rtol=1e-4, atol=1e-4)
    assert s.success or s.status == mbdae.Status.TOO_MANY_STEPS, s.message
    assert len(s.t) > 8
    return s


@pytest.mark.parametrize("form", FORMS)
@EVERY
def test_rejected_steps_keep_their_derivatives(method, form):
    """One evaluation of the Jacobian for each accepted step at most, however often the error test rejects."""
    s = run("andrews", METHODS[method](first_step=1e-3), 0.03, form, rtol=1e-5).statistics
    assert s.rejected_error > 0 and s.rejected_newton == 0
    assert s.jacobians <= s.steps
    if method != "RosenbrockNystrom":
        assert s.factorisations == s.steps + s.rejected_error


@pytest.mark.parametrize("method", thorough_but(QUICK, [m for m in METHODS if m != "RosenbrockNystrom"]))
def test_derivatives_serve_several_steps(method):
    """Newton's method converges fast with old derivatives on the stiff double pendulum, so they are kept."""
    s = run("stiff-double-pendulum", METHODS[method](), 2.0, rtol=1e-5).statistics
    assert s.jacobians < 0.3 * s.steps


@pytest.mark.parametrize("form", FORMS)
@EVERY_OF_ORDER_FOUR
def test_a_long_motion_needs_several_charts_and_nobody_notices(method, form):
    """Charts are exchanged between steps, and errors stay those of the tolerance."""
    found = exact("double-spherical-pendulum", 2.0)
    s = run("double-spherical-pendulum", METHODS[method](), 2.0, form, rtol=1e-8, t_eval=found.t)
    assert s.statistics.restarts >= 3
    assert np.abs(s.q - found.q).max() < 1e-5


@EVERY
def test_energy_is_kept_within_the_tolerance(method):
    s = run("double-spherical-pendulum", METHODS[method](), 1.0, rtol=1e-5)
    energy = np.array([s.system.energy(t, q, v) for t, q, v in zip(s.t, s.q, s.v)])
    assert np.ptp(energy) < 2e-3 * (1.0 + np.abs(energy).max())


@EVERY
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["heavy-top", "spatial-four-bar", "flyball-governor"])
def test_output_between_the_steps_of_bodies_in_space_changes_no_step(name, form, method):
    """Positions within a step are found from a guess by cubics, whose quaternions are not of length one; the iteration keeps norms."""
    s, t_end = library.system(name), 0.05
    go = lambda **output: mbdae.solve(s, METHODS[method](), (0.0, t_end), formulation=form, rtol=1e-3, atol=1e-5, **output)  # noqa: E731
    steps, times = go(), np.linspace(0.0, t_end, 23)
    dense, given = go(dense_output=True), go(t_eval=times)
    for found in (steps, dense, given):
        assert found.success, found.message
    np.testing.assert_array_equal(dense.t, steps.t)
    assert given.statistics.steps == steps.statistics.steps
    for x, q, v in zip(times, given.q, given.v):
        state = dense.sol(x)  # to a tenth of the tolerance
        assert np.abs(state[0] - q).max() < 1e-6 and np.abs(state[1] - v).max() < 1e-4 * (1.0 + np.abs(v).max())
