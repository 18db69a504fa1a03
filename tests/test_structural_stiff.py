"""Structural integrators on stiff damping: Newton's method takes few iterations, and the stiff part of a start is not carried on."""

from functools import cache

import numpy as np
import pytest

import mbdae

from .state_space_cases import spring_wheel
from .structural_cases import run

STEP = 5e-3  # thousands to millions of times what the damper needs to come to rest
SPAN = 0.1
TRAPEZOIDAL = mbdae.NullSpaceNewmark(STEP)
METHODS = {"null-space HHT": mbdae.NullSpaceHHT(STEP),
           **{f"null-space generalised-alpha {rho}": mbdae.NullSpaceGeneralizedAlpha(STEP, rho) for rho in (0.0, 0.5, 0.8)},
           "generalised-alpha position": mbdae.GeneralizedAlpha(STEP),
           "HHT stabilised": mbdae.HHT(STEP, level="stabilised")}


@cache
def damped_elbow(stiffness, damping, rate):
    """A double pendulum that turns at 3 rad/s as one body but for a small rate in its elbow, which a stiff damper holds."""
    upper = mbdae.PlanarBody("upper", 2.0, 0.1, (0.5, 0.0), 0.0, velocity=(0.0, 1.5), omega=3.0)
    lower = mbdae.PlanarBody("lower", 1.0, 0.05, (1.4, 0.0), 0.0, velocity=(0.0, 4.2 + 0.4 * rate), omega=3.0 + rate)
    joints = [mbdae.PlanarRevolute("top", "ground", "upper", (0.0, 0.0), (-0.5, 0.0)),
              mbdae.PlanarRevolute("elbow", "upper", "lower", (0.5, 0.0), (-0.4, 0.0))]
    spring = mbdae.RSDA("spring", "upper", "lower", k=stiffness, c=damping)
    return mbdae.System(mbdae.Mechanism("damped elbow", [upper, lower], joints, forces=[spring], gravity=(0.0, -9.81, 0.0)))


@cache
def reference(*parameters):
    """`q` and `v` at the end, by an L-stable method with small steps."""
    s = run(damped_elbow(*parameters), mbdae.RosenbrockNystrom(), SPAN, rtol=1e-9, atol=1e-10)
    return s.q[-1], s.v[-1]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("rate", [0.0, 0.01, 0.1, 1.0])
@pytest.mark.parametrize(("stiffness", "damping"), [(1e6, 1e4), (1e8, 1e4), (1e8, 1e6)])
def test_stiff_damping(stiffness, damping, rate, method):
    """The motion is that of the slow part, to the order of the step, and iterations are few."""
    s = run(damped_elbow(stiffness, damping, rate), METHODS[method], SPAN)
    q, v = reference(stiffness, damping, rate)
    assert np.abs(s.q[-1] - q).max() < 1e-4 and np.abs(s.v[-1] - v).max() < 1e-3 + 0.05 * rate
    assert s.statistics.newton_iterations < 10 * s.statistics.steps


@pytest.mark.parametrize("rate", [0.0, 0.01, 0.1, 1.0])
@pytest.mark.parametrize(("stiffness", "damping"), [(1e6, 1e4), (1e8, 1e4)])
def test_the_trapezoidal_rule_carries_the_rate_on(stiffness, damping, rate):
    """It has no damping of its own, but the iteration converges as fast."""
    s = run(damped_elbow(stiffness, damping, rate), TRAPEZOIDAL, SPAN)
    q, v = reference(stiffness, damping, rate)
    assert np.abs(s.q[-1] - q).max() < 1e-4 + STEP * rate and np.abs(s.v[-1] - v).max() < 1e-3 + 2.0 * rate
    assert s.statistics.newton_iterations < 12 * s.statistics.steps


@pytest.mark.parametrize("method", METHODS)
def test_a_start_that_dies_away_within_the_step_is_not_carried_on(method):
    """A wheel that a damper stops within a millionth of the step: the formula must not take its first accelerations for those of it all."""
    s = run(spring_wheel(stiffness=1.0, damping=1e9, start=0.0), METHODS[method], 20 * STEP, v0=np.array([0.0, 0.0, 1.0]))
    assert np.abs(s.q[1:, 2]).max() < STEP and np.abs(s.v[2:, 2]).max() < 0.1


def test_stiffness_alone_leaves_the_start_as_it_is():
    """Without damping, and with alpha = 0, a method keeps the energy of a vibration however long the step."""
    s = run(spring_wheel(stiffness=1e6, start=1e-3), mbdae.NullSpaceHHT(STEP, 0.0), 20 * STEP)
    assert s.energy == pytest.approx(np.full(21, s.energy[0]), rel=1e-8)
