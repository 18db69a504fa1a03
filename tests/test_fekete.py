"""Fekete points: the published equations, laws of the motion, positions of rest, and three routes to the same motion."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import minimize

import mbdae
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Ida
from mbdae.library import fekete

pytestmark = pytest.mark.thorough
ENTRY = fekete.ENTRY
N = 20


@pytest.fixture(scope="module")
def system():
    return mbdae.System(ENTRY.build())


def repulsion(p):
    """`sum_j (p_i - p_j)/|p_i - p_j|^2`, shape of `p`."""
    d = p[:, None] - p[None]
    s = (d**2).sum(axis=2)
    np.fill_diagonal(s, 1.0)
    return (d / s[..., None]).sum(axis=1)


def on_sphere(a, b):
    return math.cos(a) * math.cos(b), math.sin(a) * math.cos(b), math.sin(b)


# --- start and equations -------------------------------------------------------------------------------------------------


def test_the_start_is_that_of_the_test_set(system):
    q, v = system.initial_guess()
    p, pi = q.reshape(-1, 3), math.pi
    for i, a, b in [(1, 2 * pi / 3 + pi / 13, 3 * pi / 8), (3, 2 * pi + pi / 13, 3 * pi / 8), (4, 2 * pi / 7 + pi / 29, pi / 8),
                    (10, 2 * pi + pi / 29, pi / 8), (11, pi / 3 + pi / 7, -2 * pi / 15), (16, 2 * pi + pi / 7, -2 * pi / 15),
                    (17, pi / 17, -3 * pi / 10), (20, 3 * pi / 2 + pi / 17, -3 * pi / 10)]:
        np.testing.assert_allclose(p[i - 1], on_sphere(a, b), atol=1e-15)
    assert not v.any()
    assert np.abs(system.phi(0.0, q)).max() < 5e-16
    x = mbdae.assemble(system)
    np.testing.assert_array_equal(x.q, q)
    np.testing.assert_allclose(-x.lam, -(N - 1) / 4, rtol=1e-14)


def test_ggl_is_the_published_form(system, rng):
    """The 8 N published equations at a random point, with `lambda = -lam` and `mu = -mu`."""
    problem = mbdae.GGL(system)
    y, yd = rng.normal(size=problem.n), rng.normal(size=problem.n)
    assert problem.n == 8 * N
    p, v, lam, mu = (y[problem.blocks[name]].reshape(N, -1) for name in ("q", "v", "lam", "mu"))
    d_p, d_v = (yd[problem.blocks[name]].reshape(N, 3) for name in ("q", "v"))
    published = {
        "kinematics": d_p - (v - 2 * mu * p),
        "dynamics": d_v - (-0.5 * v - 2 * lam * p + repulsion(p)),
        "velocity": 2 * (p * v).sum(axis=1),
        "position": (p * p).sum(axis=1) - 1.0,
    }
    found = problem.residual(0.0, y, yd)
    for name, rows in problem.equations.items():
        np.testing.assert_allclose(found[rows], published[name].ravel(), rtol=1e-12, atol=1e-12 * np.abs(repulsion(p)).max())


@pytest.mark.parametrize("points", [1, 401, 20.0, "20", True, None])
def test_other_numbers_are_refused(points):
    with pytest.raises(ValueError, match="fekete: points must be an integer from 2 to 400"):
        ENTRY.build(points)


@pytest.mark.parametrize("points", [2, 7, np.int64(400)])
def test_spirals_are_consistent(points):
    s = mbdae.System(ENTRY.build(points))
    x = mbdae.assemble(s)
    np.testing.assert_allclose(np.linalg.norm(x.q.reshape(-1, 3), axis=1), 1.0, rtol=1e-15)
    np.testing.assert_allclose(x.lam, (points - 1) / 4, rtol=1e-13)


# --- laws of the motion --------------------------------------------------------------------------------------------------


def test_energy_momentum_and_multipliers(system, rng):
    """`E' = -alpha |v|^2`, `L = L(0) exp(-alpha t)`, `lambda_i = -(N - 1)/4 - |v_i|^2/2` from a start with velocities."""
    start = mbdae.assemble(system, 0.0, None, rng.normal(size=3 * N))
    t = np.linspace(0.0, 2.0, 129)
    x = mbdae.solve(system, SolveIvp("DOP853"), (0.0, 2.0), state=start, t_eval=t, rtol=1e-11, atol=1e-13)
    out = [ENTRY.observe(system, *state) for state in zip(x.t, x.q, x.v, x.a, x.lam)]
    energy, kinetic = (np.array([o[name] for o in out]) for name in ("energy", "kinetic"))
    weights = np.full(129, 2.0)
    weights[1::2], weights[[0, -1]] = 4.0, 1.0
    assert energy[0] - energy[-1] == pytest.approx(2 * fekete.ALPHA * (weights @ kinetic) * (t[1] / 3), rel=1e-6)
    momentum = np.cross(x.q.reshape(-1, N, 3), x.v.reshape(-1, N, 3)).sum(axis=1)
    np.testing.assert_allclose(momentum, momentum[0] * np.exp(-fekete.ALPHA * t)[:, None], atol=1e-10)
    speed2 = (x.v.reshape(-1, N, 3) ** 2).sum(axis=2)
    found = np.array([[o[f"lambda{k + 1}"] for k in range(N)] for o in out])
    np.testing.assert_allclose(found, -(N - 1) / 4 - speed2 / 2, rtol=1e-10)


def test_the_published_start_has_no_angular_momentum_ever(system):
    x = mbdae.solve(system, SolveIvp("DOP853"), (0.0, 5.0), rtol=1e-11, atol=1e-13)
    momentum = np.cross(x.q.reshape(-1, N, 3), x.v.reshape(-1, N, 3)).sum(axis=1)
    assert np.abs(x.v).max() > 0.1 and np.abs(momentum).max() < 1e-11


# --- references ----------------------------------------------------------------------------------------------------------

EARLY = [r for r in ENTRY.references if r.t <= 10.0]

# bounds of the absolute errors at 1 s and 10 s, and what was found: DOP853 1.5e-12 (a multiplier at 1 s), IDA 4e-10
ROUTES = {"DOP853": (SolveIvp("DOP853"), "ode", 1e-12, 1e-14, 1e-11), "IDA, GGL": (Ida(), "ggl", 1e-10, 1e-12, 5e-9)}


@pytest.mark.parametrize("route", ROUTES)
def test_every_route_leads_to_the_reference(system, route):
    method, form, rtol, atol, bound = ROUTES[route]
    x = mbdae.solve(system, method, (0.0, 10.0), formulation=form, t_eval=[1.0, 10.0], rtol=rtol, atol=atol)
    assert x.success, x.message
    found = {t: ENTRY.observe(system, t, *state) for t, *state in zip(x.t, x.q, x.v, x.a, x.lam)}
    assert sum(len(r.values) for r in EARLY) == 66
    for r in EARLY:
        assert max(abs(found[r.t][name] - value) for name, value in r.values.items()) < bound


def test_plain_numpy_with_known_multipliers_leads_to_the_reference(system):
    """`p'' = repulsion - alpha p' - ((N - 1)/2 + |p'|^2) p`; found: 4e-14 in the positions at 10 s."""

    def f(t, y):
        p, v = y.reshape(2, N, 3)
        a = repulsion(p) - 0.5 * v - (0.5 * (N - 1) + (v * v).sum(axis=1))[:, None] * p
        return np.concatenate([v.ravel(), a.ravel()])

    x = solve_ivp(f, (0.0, 10.0), np.concatenate(system.initial_guess()), "DOP853", rtol=1e-12, atol=1e-14)
    expected = next(r.values for r in EARLY if "p1x" in r.values)
    np.testing.assert_allclose(x.y[:3 * N, -1], list(expected.values()), atol=1e-12)


def test_twenty_points_come_to_rest_at_a_minimum(system):
    """The same value by SciPy's minimisation in angles, without a mechanism."""

    def potential(angles):
        return fekete._potential(np.array([on_sphere(a, b) for a, b in angles.reshape(-1, 2)]))

    rest = next(r.values for r in ENTRY.references if r.label == "at rest")
    x = mbdae.solve(system, SolveIvp("DOP853"), (0.0, 100.0), rtol=1e-9, atol=1e-12)
    out = ENTRY.observe(system, 100.0, x.q[-1], x.v[-1], x.a[-1], x.lam[-1])
    for name, value in rest.items():
        assert out[name] == pytest.approx(value, rel=1e-14)
    p = x.q[np.searchsorted(x.t, 60.0)].reshape(-1, 3)
    found = minimize(potential, np.column_stack([np.arctan2(p[:, 1], p[:, 0]), np.arcsin(p[:, 2])]).ravel(), tol=1e-7)
    assert found.fun == pytest.approx(rest["potential"], rel=1e-12)


@pytest.mark.parametrize(("points", "distances"), [
    (2, [(1, 2.0)]), (3, [(3, math.sqrt(3))]), (4, [(6, math.sqrt(8 / 3))]), (6, [(12, math.sqrt(2)), (3, 2.0)]),
    (12, [(30, 1 / math.sin(0.4 * math.pi)), (30, 0.5 * (1 + math.sqrt(5)) / math.sin(0.4 * math.pi)), (6, 2.0)])])
def test_few_points_come_to_rest_as_regular_polyhedra(points, distances):
    s = mbdae.System(ENTRY.build(points))
    x = mbdae.solve(s, SolveIvp("DOP853"), (0.0, 100.0), rtol=1e-8, atol=1e-12)
    out = ENTRY.observe(s, 100.0, x.q[-1], x.v[-1], x.a[-1], x.lam[-1])
    exact = -math.fsum(n * math.log(d) for n, d in distances)
    assert out["potential"] == pytest.approx(exact, rel=1e-13)
    for r in ENTRY.references_for({"points": points}):
        assert out["lambda1"] == pytest.approx(r.values["lambda1"], rel=1e-13)
        assert exact == pytest.approx(r.values["potential"], rel=1e-15)
