"""Step control of the structural integrators: errors follow the tolerance, few steps are rejected, little work is wasted."""

from functools import cache

import numpy as np
import pytest

import mbdae

from .helpers import relative
from .state_space_cases import exact, system
from .structural_cases import LEVELS, run

pytestmark = pytest.mark.thorough

TOLERANCES = np.array([1e-3, 1e-4, 1e-5, 1e-6, 1e-7])
SPANS = {"double-pendulum": 0.5, "andrews": 0.01, "double-spherical-pendulum": 0.5, "spatial-four-bar": 0.2, "heavy-top": 0.1,
         "driven pendulum": 0.5, "stiff-double-pendulum": 0.05, "slider-crank-free": 0.5}
METHODS = {"null-space HHT": mbdae.NullSpaceHHT(), "null-space Newmark": mbdae.NullSpaceNewmark(None),
           "null-space generalised-alpha": mbdae.NullSpaceGeneralizedAlpha(None),
           **{f"HHT {level}": mbdae.HHT(level=level) for level in LEVELS}}


def swept(name, method, tolerances=TOLERANCES):
    """Errors of `q` at the end and after fifths of the time, relative to the size of `q`, and the statistics."""
    found, errors, counts = exact(name, SPANS[name]), [], []
    for rtol in tolerances:
        s = run(system(name), METHODS[method], SPANS[name], rtol=rtol, atol=rtol, t_eval=found.t)
        errors.append(np.abs(s.q - found.q).max() / (1.0 + np.abs(found.q).max()))
        counts.append(s.statistics)
    return np.array(errors), counts


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", SPANS)
def test_errors_follow_the_tolerance(name, method):
    """The error of a step is held below `rtol^(3/2)`, so that of the motion, of order two, falls like `rtol`."""
    errors, _ = swept(name, method)
    assert (errors < 15.0 * TOLERANCES).all(), errors
    assert (np.diff(errors) < 0.0).all(), errors
    assert 0.9 < np.polyfit(np.log(TOLERANCES), np.log(errors), 1)[0] < 1.1, errors


@pytest.mark.parametrize("method", ["HHT position", "null-space HHT"])
@pytest.mark.parametrize("rtol", [1e-3, 1e-5, 1e-7])
def test_errors_below_a_hundred_tolerances_where_they_grow(method, rtol):
    """By a factor of 63 on this motion, in positions and velocities."""
    s, t = system("slider-crank-free"), np.linspace(0.0, 2.0, 101)
    known = mbdae.solve(s, mbdae.DormandPrince(), (0.0, 2.0), rtol=1e-12, atol=1e-14, t_eval=t)
    found = run(s, METHODS[method], 2.0, rtol=rtol, atol=1e-2 * rtol, t_eval=t)
    for x, y in ((found.q, known.q), (found.v, known.v)):
        assert np.abs(x - y).max() < 100.0 * rtol * np.abs(y).max()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", SPANS)
def test_few_steps_are_rejected_and_none_in_vain(name, method):
    """Steps go like `rtol^(-1/2)`: 32 times as many for three digits."""
    _, (loose, tight) = swept(name, method, (1e-4, 1e-7))
    assert tight.rejected_newton == 0
    assert tight.rejected_error < 0.15 * tight.steps + 5
    assert 20.0 < tight.steps / loose.steps < 45.0
    assert tight.newton_iterations < 8.5 * (tight.steps + tight.rejected_error)


@pytest.mark.parametrize("name", SPANS)
def test_multipliers_for_positions_do_not_spoil_the_control(name):
    """Traps: accelerations made by oscillating multipliers lead to ten times as many steps; stiff damping that sees velocities across
    the constraints, which the end of the step does not have, to twice as many.
    """
    classical, null = (swept(name, method, (1e-6,)) for method in ("HHT position", "null-space HHT"))
    assert classical[1][0].steps < 1.1 * null[1][0].steps + 3
    assert classical[0][0] < 4.0 * null[0][0]


SPANS_OF_LEVELS = {"slider-crank": 0.5, "four-link": 0.5, "two pendulums": 1.0, **SPANS}


@cache
def fast_driver():
    """A slow pendulum beside a body that is driven 20 times as fast: the step must follow what is prescribed where that is left open."""
    bodies = [mbdae.PlanarBody("slow", 1.0, 0.1, (0.0, -1.0), 0.0, velocity=(0.3, 0.0), omega=0.3),
              mbdae.PlanarBody("fast", 1.0, 0.1, (5.0, 0.0), 0.0, omega=20.0)]
    joints = [mbdae.PlanarRevolute("left", "ground", "slow", (0.0, 0.0), (0.0, 1.0)),
              mbdae.PlanarRevolute("right", "ground", "fast", (5.0, 0.0))]
    motor = mbdae.PlanarAngleDriver("motor", "ground", "fast", mbdae.Harmonic(0.5, 40.0))
    return mbdae.System(mbdae.Mechanism("two pendulums", bodies, joints, [motor], gravity=(0.0, -0.5, 0.0)))


@cache
def reference(name):
    """The system, and its state at the end by a method of order six that keeps all constraints; if it is stiff by Radau's of order 13."""
    s, t_end = fast_driver() if name == "two pendulums" else system(name), SPANS_OF_LEVELS[name]
    if name.startswith("stiff"):
        return s, run(s, mbdae.RadauIIA(), t_end, rtol=1e-12, atol=1e-14)
    return s, run(s, mbdae.ProjectedGauss(t_end / 2000, stages=3), t_end)


@pytest.mark.parametrize("method", [name for name in METHODS if "Newmark" not in name] + ["generalised-alpha position"])
@pytest.mark.parametrize("name", SPANS_OF_LEVELS)
def test_velocities_accelerations_and_multipliers_follow_the_tolerance_too(name, method):
    """On every level, and where constraints say everything."""
    s, exact_end = reference(name)
    made = METHODS.get(method) or mbdae.GeneralizedAlpha(None)
    for rtol in (1e-5, 1e-8):
        end = run(s, made, SPANS_OF_LEVELS[name], rtol=rtol, atol=rtol)
        errors = np.array([relative(getattr(end, x)[-1], getattr(exact_end, x)[-1]) for x in ("q", "v", "a", "lam")])
        assert (errors < np.array([15.0, 25.0, 300.0, 60.0]) * rtol).all(), errors


@pytest.mark.parametrize("name", ["slider-crank", "two pendulums", "heavy-top"])
def test_constraints_on_three_levels_with_multipliers_for_positions(name):
    s, _ = reference(name)
    end = run(s, mbdae.HHT(), SPANS_OF_LEVELS[name], rtol=1e-4, atol=1e-4)
    assert (end.constraint_residuals.max(axis=0)[1:] < 1e-10 * (1.0 + np.array([np.abs(end.v).max(), np.abs(end.a).max()]))).all()


@pytest.mark.parametrize("method", ["HHT position", "null-space HHT"])
@pytest.mark.parametrize("name", ["andrews", "stiff-double-pendulum"])
@pytest.mark.parametrize("h", [1e-9, 1e-7, 1e-2])
def test_the_first_step_does_not_matter(name, method, h):
    """Trap: in tiny steps the rounding of positions, divided by `h^2`, is all that is left of the corrections on position level."""
    found, made = exact(name, SPANS[name]), METHODS[method]
    s = mbdae.solve(system(name), type(made)(first_step=h), (0.0, SPANS[name]), rtol=1e-5, atol=1e-5, t_eval=found.t)
    assert s.success, s.message
    assert np.abs(s.q - found.q).max() < 3e-3


@pytest.mark.parametrize("method", METHODS)
def test_backward_with_control(method):
    found = exact("double-pendulum", 0.5)
    s = mbdae.solve(system("double-pendulum"), METHODS[method], (0.5, 0.0), rtol=1e-6, atol=1e-6, q0=found.q[-1], v0=found.v[-1])
    assert s.success and s.t[-1] == 0.0
    assert np.abs(s.q[-1] - found.q[0]).max() < 3e-3


@pytest.mark.parametrize("method", METHODS)
def test_output_does_not_change_the_steps(method):
    s, dense = (run(system("driven pendulum"), METHODS[method], 0.5, rtol=1e-5, atol=1e-5, **more) for more in ({}, {"dense_output": True}))
    np.testing.assert_array_equal(s.q, dense.q)
    assert (np.diff(s.t) > 0.0).all() and s.t[-1] == 0.5
    assert len(s.t) == s.statistics.steps + 1


def test_the_last_step_is_not_tiny():
    """It may be longer by a hundredth instead."""
    s = run(system("double-pendulum"), mbdae.NullSpaceHHT(), 0.5, rtol=1e-5, atol=1e-5)
    t = s.t[-3]
    end = run(system("double-pendulum"), mbdae.NullSpaceHHT(), float(s.t[-2] + 1e-9 * (s.t[-2] - t)), rtol=1e-5, atol=1e-5)
    assert end.statistics.steps == s.statistics.steps - 1
