"""One step of the Gauss methods: the stages satisfy their equations, the end follows from them [Wei, eqs. (7)-(10)]."""

import numpy as np
import pytest
from scipy.interpolate import BarycentricInterpolator

import mbdae
from mbdae import ProjectedGauss
from mbdae.integrators.control.records import new_output
from mbdae.integrators.gauss.stages import guess
from mbdae.integrators.gauss.tableau import LEVELS

from .helpers import double_pendulum, slider_crank
from .test_projected_gauss import driven, free_body

H, T0 = 0.02, 0.5


def of_functions():
    """Functions of a user with a kinematic map of their own, `q' = (1 + q_2^2) v`."""
    return mbdae.System.from_functions(nq=2, nv=2, nc=0, mass=lambda t, q: np.diag([1.0, 2.0]), phi=lambda t, q: q[:0],
                                       force=lambda t, q, v: np.array([np.sin(3.0 * t) - q[0], 0.2 * v[0] - q[1]]),
                                       kinematics=lambda t, q, v: (1.0 + q[1] ** 2) * v, q0=[1.0, 0.5], v0=[0.5, -1.0])


CASES = {"double pendulum": lambda: mbdae.System(double_pendulum()), "friction": lambda: mbdae.System(slider_crank()), "driven": driven,
         "free body": free_body, "user": of_functions, "rods": lambda: mbdae.library.system("double-spherical-pendulum")}


def stepped(name, stages, hold="velocity", h=H):
    """A system, its initial state, and the arrays of a run after one step."""
    s = CASES[name]()
    state = mbdae.assemble(s, T0)
    method = ProjectedGauss(h=h, stages=stages, project="", tol=1e-14, stages_hold=hold)
    stepper = method.stepper(mbdae.Index3(s), state, 1.0, 1e-6, np.full(s.nq + s.nv, 1e-8))
    stepper.begin()
    stepper.loops.march(stepper.run, new_output(stepper.begins, 2), 1, np.zeros(1, dtype=np.uint8))
    assert stepper.run.clock.steps == 1
    return s, state, stepper.run


@pytest.mark.parametrize("hold", LEVELS)
@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("name", CASES)
def test_a_step_solves_the_equations_of_its_stages(name, stages, hold):
    s, state, run = stepped(name, stages, hold)
    g, times = run.tableau, T0 + H * run.tableau.c
    Q, V, W, L = (getattr(run.stages, n) for n in "QVWL")
    u, mu = (np.repeat(x, stages // len(x), axis=0) for x in (run.stages.u, run.stages.mu))
    rates = np.array([s.qdot(q, v + x, t) for t, q, v, x in zip(times, Q, V, u)])
    np.testing.assert_allclose(V, state.v + H * g.A @ W, rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(Q, state.q + H * g.A @ rates, rtol=0.0, atol=1e-13)
    for t, q, v, w, lam in zip(times, Q, V, W, L):
        force, reaction = s.force(t, q, v, lam), s.phi_q(t, q).T @ lam
        assert np.abs(s.mass(t, q) @ w + reaction - force).max() < 1e-9 * (1.0 + np.abs(force).max() + np.abs(reaction).max())
        assert hold == "velocity" or np.abs(s.phi(t, q)).max(initial=0.0) < 1e-13
    end, q1 = run.end, state.q + H * g.b @ rates
    if name in ("free body", "driven"):
        q1[3:] /= np.linalg.norm(q1[3:])
    for found, expected in ((end.v, state.v + H * g.b @ W), (end.q, q1), (end.a, g.r * state.a + g.d @ W),
                            (end.lam, g.r * state.lam + g.d @ L)):
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-12 * (1.0 + np.abs(expected).max(initial=0.0)))
    if hold == "position":
        assert not u.any() and not mu.any()
        return
    # constraints on velocities and the equations for u, in each stage
    g1 = np.array([s.phi_q(t, q) @ v - s.nu(t, q) for t, q, v in zip(times, Q, V)])
    balance = np.array([s.mass(t, q) @ x + s.phi_q(t, q).T @ y for t, q, x, y in zip(times, Q, u, mu)])
    if hold == "ggl":
        assert np.abs(g1).max(initial=0.0) < 1e-13 and np.abs(balance).max() < 1e-12
        assert not s.nc or np.abs(u).max() > 1e-7
        return
    # their moments, and both levels of constraints at the end
    end_time = T0 + H
    assert np.abs(g.moments @ g1).max(initial=0.0) < 1e-13 and np.abs(g.b @ balance).max() < 1e-12
    assert np.abs(s.phi(end_time, end.q)).max(initial=0.0) < 1e-14
    assert np.abs(s.phi_q(end_time, end.q) @ end.v - s.nu(end_time, end.q)).max(initial=0.0) < 1e-13
    assert stages == 1 or not s.nc or np.abs(g1).max() > 1e-10  # not in every stage


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_the_correction_of_positions_is_of_order_2s_at_least(stages):
    """It vanishes where the constraints are quadratic and there is more than one stage: the formula conserves them."""
    h = {1: 0.02, 2: 0.1, 3: 0.2}[stages]
    _, _, long = stepped("driven", stages, h=h)
    _, _, short = stepped("driven", stages, h=0.5 * h)
    order = np.log2(np.abs(long.stages.u).max() / np.abs(short.stages.u).max())
    assert order > 2.0 * stages - 0.3
    rods = stepped("rods", stages)[2].stages.u
    assert (np.abs(rods).max() < 1e-13) == (stages > 1)


@pytest.mark.parametrize("stages", [2, 4])
def test_the_next_stages_are_guessed_by_extrapolation(stages):
    """Of the polynomials through those of the step, for a step of another length; without one, by the values of the start."""
    _, _, run = stepped("double pendulum", stages)
    for ratio in (1.0, 0.4):
        guess(ratio * H, run)
        for found, rows in ((run.scratch.W, run.stages.W), (run.scratch.L, run.stages.L)):
            exact = BarycentricInterpolator(run.tableau.c, rows)(1.0 + ratio * run.tableau.c)
            np.testing.assert_allclose(found, exact, rtol=1e-10, atol=1e-10 * np.abs(exact).max())
    run.memory.back_step = 0.0
    guess(H, run)
    np.testing.assert_array_equal(run.scratch.W, np.tile(run.start.a, (stages, 1)))
    np.testing.assert_array_equal(run.scratch.L, np.tile(run.start.lam, (stages, 1)))
