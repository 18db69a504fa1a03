"""Steps of the one-step methods solve their equations, with and without joint friction, in a few iterations."""

import numpy as np
import pytest

import mbdae
from mbdae import FullyImplicit, HalfImplicit
from mbdae.integrators.control.records import new_output

from .friction_cases import light_slider, wedge
from .helpers import chain, double_pendulum, slider_crank

STEP = 5e-3
CASES = {"double pendulum": lambda: mbdae.System(double_pendulum()), "chain": lambda: mbdae.System(chain(2)),
         "friction": lambda: mbdae.System(slider_crank()), "wedge": lambda: wedge(4.0, mbdae.Polynomial((0.0, 0.1, 1.0))),
         "strong friction": lambda: light_slider(mu=0.5)}
EVERY = pytest.mark.parametrize("name", CASES)


def open_equations(s, t, q, v, a, lam):
    """What the accelerations and multipliers leave of the equations of motion, relative to the forces."""
    force = s.force(t, q, v, lam)
    return np.abs(s.mass(t, q) @ a + s.phi_q(t, q).toarray().T @ lam - force).max() / (1.0 + np.abs(force).max() + np.abs(lam).max())


def run(name, method, **more):
    x = mbdae.solve(CASES[name](), method(h=STEP, **more), (0.0, 5 * STEP))
    assert x.success and len(x.t) == 6
    return x, x.system


@EVERY
def test_half_implicit_steps(name):
    """`v1 = v + h a`, `q1 = q (+) h v1` with forces at the start of the step and `Phi = 0` at its end [Fang, eqs. (3)-(5)]."""
    x, s = run(name, HalfImplicit)
    for k in range(1, 5):
        assert open_equations(s, x.t[k], x.q[k], x.v[k], x.a[k], x.lam[k]) < 1e-7
        np.testing.assert_allclose(x.v[k + 1], x.v[k] + STEP * x.a[k], rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(x.q[k + 1], s.retract(x.q[k], STEP * x.v[k + 1]), rtol=0.0, atol=1e-13)
        assert np.abs(s.phi(x.t[k + 1], x.q[k + 1])).max() < 1e-10


@EVERY
def test_fully_implicit_steps(name):
    """`v1 = v + h a1`, `q1 = q (+) h v1` with the equations of motion at the end of the step and `Phi = 0` [Fang, eqs. (13)-(14)]."""
    x, s = run(name, FullyImplicit, tol=1e-7)
    for k in range(5):
        assert open_equations(s, x.t[k + 1], x.q[k + 1], x.v[k + 1], x.a[k + 1], x.lam[k + 1]) < 1e-6
        np.testing.assert_allclose(x.v[k + 1], x.v[k] + STEP * x.a[k + 1], rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(x.q[k + 1], s.retract(x.q[k], STEP * x.v[k + 1]), rtol=0.0, atol=1e-13)
        assert np.abs(s.phi(x.t[k + 1], x.q[k + 1])).max() < 1e-10


@pytest.mark.parametrize("guess", [-30.0, 0.0, 1.0, 30.0, 1e3])
def test_half_implicit_steps_do_not_depend_on_the_guess_of_multipliers_with_friction(guess):
    """Where the iteration fails, or leads to the other solution, it begins anew at the multipliers of the equations of motion."""
    s = light_slider()
    ends = []
    for lam in (s.start.lam, np.full(s.nc, guess)):
        stepper = HalfImplicit(h=STEP).stepper(mbdae.Index3(s), mbdae.State(0.0, s.start.q, s.start.v, s.start.a, lam), 1.0)
        stepper.loops.march(stepper.run, new_output(s.start, 3), 1, np.zeros(1, dtype=np.uint8))
        assert stepper.run.clock.steps == 1
        ends.append(stepper.run.start)
    for name in ("q", "v", "a", "lam"):
        np.testing.assert_allclose(getattr(ends[1], name), getattr(ends[0], name), rtol=0.0, atol=1e-7)


@pytest.mark.parametrize("max_iter", [20, 16, 12])
def test_half_of_the_iterations_are_left_for_the_exact_matrix(max_iter):
    """In a long step of a pendulum: the matrix of its start takes more than twenty, and the exact one, formed in each of them, few."""
    body = mbdae.Particle("mass", 1.0, (1.0, 0.0, 0.0), (0.0, -3.0, 0.0))
    s = mbdae.System(mbdae.Mechanism("pendulum", [body], [mbdae.Rod("rod", "ground", "mass", length=1.0)], gravity=(0.0, -9.81, 0.0)))
    patient, x = (mbdae.solve(s, HalfImplicit(h=0.15, max_iter=n), (0.0, 0.15)) for n in (100, max_iter))
    slow, c = patient.statistics, x.statistics
    # for the step, and for the accelerations at its end
    assert patient.success and slow.factorisations == 2 and slow.newton_iterations > 40
    exact = c.factorisations - 2
    assert x.success and c.newton_iterations - exact == 2 * (max_iter // 2) and exact <= 12
    np.testing.assert_allclose(x.q[-1], patient.q[-1], rtol=0.0, atol=1e-9)


@pytest.mark.parametrize(("method", "matrices", "most"), [(HalfImplicit, 6, (17, 28, 36, 14, 28)),
                                                          (FullyImplicit, 5, (17, 32, 30, 12, 21))])
def test_steps_take_few_iterations(method, matrices, most):
    """With one matrix in each step; half-implicit methods have another one, for the accelerations at the end."""
    for name, bound in zip(CASES, most):
        c = run(name, method)[0].statistics
        assert c.newton_iterations == c.solves == c.residuals <= bound, name
        assert c.factorisations == c.jacobians == matrices, name
