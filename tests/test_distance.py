"""Compiled distances of a given state from the equations, against the evaluations of the system."""

import numpy as np
import pytest

import mbdae
from mbdae import library
from mbdae.system import distance

NAMES = ("slider-crank", "slider-crank-free", "random-tree", "andrews", "ladder", "wheelset", "car-axis")


def off(system, size):
    """The state at the start, moved off the constraints."""
    state, rng = system.start, np.random.default_rng(3)
    q = system.retract(state.q, size * rng.standard_normal(system.nv))
    v, a = (x + size * rng.standard_normal(system.nv) for x in (state.v, state.a))
    return q, v, a, state.lam + size * rng.standard_normal(system.nc)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("t", (0.0, 0.3))
def test_residuals_are_those_of_the_evaluations(name, t):
    system = library.system(name)
    q, v, a, lam = off(system, 1e-2)
    levels, terms = distance.residuals(t, q, v, a, lam, True, system.model, system.workspace())
    G = system.phi_q(t, q).toarray()
    np.testing.assert_allclose(levels[0], system.phi(t, q), atol=1e-12)
    np.testing.assert_allclose(levels[1], G @ v - system.nu(t, q), atol=1e-11 * (1.0 + np.abs(v).max()))
    np.testing.assert_allclose(levels[2], np.linalg.norm(G, axis=1), rtol=1e-12)
    for found, wanted in zip(terms, (system.force(t, q, v, lam), system.mass(t, q) @ a, G.T @ lam, system.mass(t, q) @ np.ones(system.nv))):
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10 * (1.0 + np.abs(wanted).max()))
    assert not distance.residuals(t, q, v, a, lam, False, system.model, system.workspace())[1].any()


@pytest.mark.parametrize("name", NAMES)
def test_the_state_next_to_a_given_one_is_on_the_constraints(name):
    system, t = library.system(name), 0.0
    q, v, _, _ = off(system, 1e-4)
    near, u = np.empty(system.nq), np.empty(system.nv)
    assert distance.onto_constraints(t, q, v, 5, system.model, system.workspace(), near, u)
    assert np.abs(system.phi(t, near)).max() < 1e-11 * (1.0 + np.abs(near).max())
    assert np.abs(system.phi_q(t, near) @ u - system.nu(t, near)).max() < 1e-10 * (1.0 + np.abs(u).max())
    # the velocities are the nearest ones in the mass metric: M (u - v) is a constraint force
    G, defect = system.phi_q(t, near).toarray(), system.mass(t, near) @ (u - v)
    lam, *_ = np.linalg.lstsq(G.T, defect, rcond=None)
    assert np.abs(G.T @ lam - defect).max() < 1e-8 * np.abs(defect).max()


def test_what_exceeds_a_tolerance():
    given = np.array([1.0, -100.0, 0.0])
    assert not distance.exceeds(given + np.array([1e-3, 0.1, 5e-4]), given, 1e-3, 1e-3, 0.0)
    for k, change in enumerate((2.1e-3, 0.102, 1.1e-3)):
        x = given.copy()
        x[k] += change
        assert distance.exceeds(x, given, 1e-3, 1e-3, 0.0)
        assert not distance.exceeds(x, given, 1e-3, 1e-3, 1e-2)


def test_states_without_finite_residuals_name_the_function():
    def constraint(t, q):
        return np.array([np.nan if t > 0.5 else q[0]])

    system = mbdae.System.from_functions(mass=lambda t, q: np.eye(1), force=lambda t, q, v: np.zeros(1), phi=constraint,
                                         phi_q=lambda t, q: np.eye(1), gamma=lambda t, q, v: np.zeros(1), nq=1, nc=1)
    state = mbdae.State(1.0, *(np.zeros(1) for _ in range(4)))
    with pytest.raises(FloatingPointError, match="Phi is not finite"):
        mbdae.solve(system, mbdae.DormandPrince(), (1.0, 2.0), state=state)
