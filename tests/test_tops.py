"""Heavy top and precessing top: two routes to the motion of the first, the exact solution of the second."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mbdae
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Ida
from mbdae.library import heavy_top, precessing_top
from mbdae.model import rotations

TOPS = (heavy_top, precessing_top)
HEAVY = {r.t: r.values for r in heavy_top.ENTRY.references if r.label == "motion"}
PUBLISHED = next(r.values for r in heavy_top.ENTRY.references if r.kind == "published")


def system(module):
    return mbdae.System(module.build())


def outputs(module, x):
    """Outputs of a solution, one dictionary per time."""
    assert x.success, x.message
    return [module.ENTRY.observe(x.system, *state) for state in zip(x.t, x.q, x.v, x.a, x.lam)]


def worst(found, expected):
    """Largest difference, relative to values above one."""
    return max(abs(found[name] - value) / max(1.0, abs(value)) for name, value in expected.items())


# --- heavy top -----------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_eulers_equations_about_the_fixed_point_lead_to_the_references():
    """Quaternion and body-fixed rates as seven equations; what was found: 5e-14 at 0.2 s, 2e-13 at 1 s."""
    moments = np.array(heavy_top.INERTIA) + heavy_top.MASS * np.array([1.0, 0.0, 1.0])

    def rhs(t, y):
        (e0, *e), omega = y[:4], y[4:]
        down = rotations.to_matrix(y[:4]).T @ [0.0, 0.0, -heavy_top.MASS * heavy_top.GRAVITY]
        torque = np.cross([0.0, 1.0, 0.0], down)
        return np.concatenate([[-0.5 * np.dot(e, omega)], 0.5 * (e0 * omega + np.cross(e, omega)),
                               (torque - np.cross(omega, moments * omega)) / moments])

    start = [1.0, 0.0, 0.0, 0.0, 0.0, heavy_top.SPIN, heavy_top.NUTATION]
    y = solve_ivp(rhs, (0.0, 1.0), start, "DOP853", t_eval=list(HEAVY), rtol=3e-14, atol=1e-14).y.T
    for values, found in zip(HEAVY.values(), y):
        assert np.abs((found - list(values.values())[:7]) / [1, 1, 1, 1, 1, 150, 5]).max() < 1e-11
        np.testing.assert_allclose(rotations.to_matrix(found[:4])[:, 1], list(values.values())[7:], atol=1e-11)


@pytest.mark.parametrize(("method", "form", "rtol", "bounds"), [
    (SolveIvp("DOP853"), "ode", 1e-12, (3e-11, 1e-9)),  # 3e-12, 8e-11
    (Ida(), "ggl", 1e-11, (5e-9, 5e-8)),  # 3e-10, 5e-9
])
def test_the_heavy_top_reaches_its_references(method, form, rtol, bounds):
    x = mbdae.solve(system(heavy_top), method, (0.0, 1.0), formulation=form, t_eval=list(HEAVY), rtol=rtol, atol=0.1 * rtol)
    found = outputs(heavy_top, x)
    for out, values, bound in zip(found, HEAVY.values(), bounds):
        assert worst(out, values) < bound
    assert worst(found[0], PUBLISHED) < 5e-6


def test_the_heavy_top_keeps_energy_spin_and_the_momentum_about_the_vertical():
    x = mbdae.solve(system(heavy_top), SolveIvp("DOP853"), (0.0, 2.0), t_eval=np.linspace(0.0, 2.0, 9), rtol=1e-12, atol=1e-13)
    moments = np.array(heavy_top.INERTIA) + heavy_top.MASS * np.array([1.0, 0.0, 1.0])
    for out, q, v in zip(outputs(heavy_top, x), x.q, x.v):
        assert out["energy"] == pytest.approx(5435.696790865546875, rel=1e-10)  # 4e-12
        assert out["omega_y"] == 150.0  # nothing acts about the axis of symmetry, not even rounding
        vertical = (rotations.to_matrix(q[3:]) @ (moments * v[3:]))[2]
        assert vertical == pytest.approx(15.234375 * heavy_top.NUTATION, rel=1e-10)


# --- precessing top ------------------------------------------------------------------------------------------------------


def test_the_spin_of_the_precessing_top_is_a_round_number():
    assert abs(precessing_top.SPIN - 135.6) < 1e-13


@pytest.mark.parametrize("t", [0.0, 0.123, 0.7])
def test_the_exact_solution_satisfies_the_equations(t):
    """Accelerations and reactions that belong to its positions and rates are its own."""
    exact, h, s = precessing_top.exact, 1e-6, system(precessing_top)

    def state(t):
        e = exact(t)
        return (np.array([e[k] for k in ("x", "y", "z", "e0", "e1", "e2", "e3")]), np.array([e[f"omega_{k}"] for k in "xyz"]))

    (q, omega), (before, omega_before), (after, omega_after) = state(t), state(t - h), state(t + h)
    velocity = (after - before)[:3] / (2 * h)
    np.testing.assert_allclose(s.difference(after, before)[3:] / (2 * h), omega, atol=1e-6)
    x = mbdae.assemble(s, t, q, np.concatenate([velocity, omega]))
    np.testing.assert_allclose(x.q, q, atol=1e-15)
    np.testing.assert_allclose(x.v[3:], omega, atol=1e-8)
    np.testing.assert_allclose(x.a[3:], (omega_after - omega_before) / (2 * h), atol=1e-5)  # of 1200 rad/s^2
    assert worst(precessing_top.ENTRY.observe(s, t, x.q, x.v, x.a, x.lam), exact(t)) < 1e-8


@pytest.mark.parametrize(("method", "form", "rtol", "bound"), [
    (SolveIvp("DOP853"), "ode", 1e-12, 2e-9),  # 2e-10
    (Ida(), "ggl", 1e-11, 1e-6),  # 1e-7
])
def test_the_precessing_top_follows_the_exact_solution(method, form, rtol, bound):
    times = [0.5, 1.0, 2.0]
    x = mbdae.solve(system(precessing_top), method, (0.0, 2.0), formulation=form, t_eval=times, rtol=rtol, atol=0.1 * rtol)
    assert max(worst(out, precessing_top.exact(t)) for t, out in zip(times, outputs(precessing_top, x))) < bound


@pytest.mark.parametrize("module", TOPS)
def test_starts_are_consistent_as_they_are_given(module):
    s = system(module)
    q, v = s.initial_guess()
    x = mbdae.assemble(s)
    assert s.dof == 3 and x.redundant == ()
    np.testing.assert_allclose(x.q, q, atol=1e-16)
    np.testing.assert_array_equal(x.v, v)
