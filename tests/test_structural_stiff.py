"""Structural integrators on stiff damping: Newton's method takes few iterations, and the stiff part of a start is not carried on."""

from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

import mbdae
from mbdae.integrators.control.records import new_state
from mbdae.integrators.structural.arrays import Coefficients, StructuralState
from mbdae.integrators.structural.formula import Formula, generalized_alpha, hht
from mbdae.integrators.structural.matrix import forecast, form, matrix_for, smoothed

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


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("stiffness", "damping"), [(1e6, 0.0), (1e6, 1e4), (1.0, 1e6)])
def test_linear_forces_take_two_iterations(stiffness, damping, method):
    """Newton's matrix is exact: the first correction is the solution, the second one says so; some more before it is requested."""
    c = run(spring_wheel(stiffness, damping, 1e-3), METHODS[method], 20 * STEP).statistics
    assert c.newton_iterations == c.factorisations <= 2 * c.steps + 5 and c.jacobians <= 8


@pytest.mark.parametrize("formula", [hht(-0.1), hht(-0.3), generalized_alpha(0.5), Formula(0.3, 0.7, 0.2, 0.4)])
def test_the_guess_for_stiff_forces_is_exact_for_linear_ones(formula, rng):
    """Of `a' = J1 z' + J2 z''`: what the formula and the linear equations make of the accelerations at the end."""
    h, n, (v, w, a, zero) = 0.3, 3, rng.normal(size=(4, 3))
    b, g, m, f = formula.beta, formula.gamma, formula.alpha_m, formula.alpha_f
    matrix = matrix_for(n, n)
    matrix.PT[:], matrix.N[:] = np.eye(n), np.eye(n)
    matrix.J1[:], matrix.J2[:] = rng.normal(size=(2, n, n))
    coefficients, share = Coefficients(b, g, m, f), (1.0 - f) / (1.0 - m)
    form(share * b * h * h, share * g * h, matrix)
    found = a.copy()
    forecast(h, coefficients, new_state(StructuralState, SimpleNamespace(q=zero, v=v, a=a, lam=zero, w=w)), matrix, found)

    def rest(a1):
        w1 = ((1.0 - f) * a1 + f * a - m * w) / (1.0 - m)
        dz, dzd = h * v + h * h * ((0.5 - b) * w + b * w1), h * ((1.0 - g) * w + g * w1)
        return a1 - a - matrix.J1 @ dz - matrix.J2 @ dzd

    assert np.abs(rest(found)).max() < 1e-13 * (1.0 + np.abs(found).max()) and np.abs(found - a).max() > 0.01


@pytest.mark.thorough
def test_stiff_damping_smooths_the_first_auxiliary_accelerations(rng):
    """`w = a + N ((I - c J2)^-1 - I) P T a`, where `c J2` is large."""
    a, matrix, w = rng.normal(size=3), matrix_for(2, 3), np.zeros(3)
    matrix.PT[:], matrix.N[:], matrix.J2[:] = *rng.normal(size=(2, 2, 3)), -100.0 * np.array([[2.0, 0.5], [0.3, 1.0]])
    smoothed(0.7, a, matrix, w)
    x = matrix.PT @ a
    np.testing.assert_allclose(w, a + matrix.N.T @ (np.linalg.solve(np.eye(2) - 0.7 * matrix.J2, x) - x), rtol=1e-12)
    smoothed(1e-6, a, matrix, w)
    np.testing.assert_array_equal(w, a)
