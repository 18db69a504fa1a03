"""Chain of pendulums: angles against Lagrange and particles on rods, several routes to the references, all solvers without constraints."""

import numpy as np
import pytest
from scipy.linalg import eigh

import mbdae
from mbdae.adapters.assimulo import Assimulo
from mbdae.adapters.dae import SolveDae
from mbdae.adapters.odes import Odes
from mbdae.adapters.radau13 import Radau13
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Cvode, Ida
from mbdae.library import pendulum_chain

from .helpers import need

pytestmark = pytest.mark.thorough

ENTRY = pendulum_chain.ENTRY


def angles(**given):
    return ENTRY.build(coordinates="classical", **given)


def outputs(system, x):
    assert x.success, x.message
    return [ENTRY.observe(system, *state) for state in zip(x.t, x.q, x.v, x.a, x.lam)]


def worst(found, references):
    """Largest error of angles and of rates, relative to the largest angle and rate at the time."""
    result = [0.0, 0.0]
    for out, r in zip(found, references):
        for k, kind in enumerate(("alpha", "d_alpha")):
            names = [name for name in r.values if name.startswith(kind)]
            error, size = (max(abs(x) for x in values) for values in ([out[n] - r.values[n] for n in names], [r.values[n] for n in names]))
            result[k] = max(result[k], error / size)
    return result


# --- the equations -------------------------------------------------------------------------------------------------------


def along(f, x, d):
    """Derivative of `f` at `x` along `d`, by the complex step."""
    return f(x + 1e-30j * d).imag / 1e-30


def test_the_angles_obey_lagranges_equations(rng):
    """`M a = Q` is `d/dt T_v = (T - V)_q`, with the momenta `T_v` as differences, which are exact as `T` is quadratic in `v`."""
    n, omega = 5, 0.1 * np.pi
    s, t, q, v = angles(links=n), 0.7, rng.normal(size=n), rng.normal(size=n)

    def lagrangian(t, q, v):  # the energy is T + V, and V is the energy without the velocities
        T = kinetic(t, q, v)
        return 2.0 * T - pendulum_chain.total_energy(t, q, v, omega)

    def kinetic(t, q, v):
        d_x, d_y = pendulum_chain.velocities(t, q, v, omega)
        return 0.5 * (d_x @ d_x + d_y @ d_y)

    def momenta(t, q):
        return np.array([kinetic(t, q, v + e) - kinetic(t, q, v - e) for e in np.eye(n)]) / 2.0

    def product(d, e):
        return kinetic(t, q, d + e) - kinetic(t, q, d) - kinetic(t, q, e) + kinetic(t, q, 0 * e)

    np.testing.assert_allclose(s.mass(t, q), [[product(d, e) for d in np.eye(n)] for e in np.eye(n)], atol=1e-13)
    Q = np.array([along(lambda x: lagrangian(t, x, v), q, e) for e in np.eye(n)])
    Q -= along(lambda x: momenta(t, x), q, v) + along(lambda x: momenta(x, q), t, 1.0)
    np.testing.assert_allclose(s.force(t, q, v), Q, rtol=1e-12, atol=1e-12)


def test_velocities_are_the_derivatives_of_positions(rng):
    q, v, omega = rng.normal(size=4), rng.normal(size=4), 0.05
    for place, velocity in zip(range(2), pendulum_chain.velocities(0.3, q, v, omega)):
        by_angles = along(lambda x, k=place: pendulum_chain.positions(0.3, x, omega)[k], q, v)
        by_time = along(lambda x, k=place: pendulum_chain.positions(x, q, omega)[k], 0.3, 1.0)
        np.testing.assert_allclose(velocity, by_angles + by_time, atol=1e-15)


@pytest.mark.parametrize("frequency", pendulum_chain.FREQUENCIES)
def test_angles_and_particles_agree_at_any_state(frequency, rng):
    """Angles, rates, tensions, energy as outputs, and the accelerations."""
    n, t, omega = 6, 1.3, pendulum_chain.FREQUENCIES[frequency]
    q, v = rng.normal(size=n), rng.normal(size=n)
    one, other = angles(links=n, frequency=frequency), mbdae.System(ENTRY.build(n, frequency))
    x = mbdae.assemble(one, t, q, v)
    places, rates = (np.column_stack([*f, np.zeros(n + 1)]).ravel() for f in
                     (pendulum_chain.positions(t, q, omega), pendulum_chain.velocities(t, q, v, omega)))
    y = mbdae.assemble(other, t, places, rates)
    np.testing.assert_allclose(y.q, places, atol=1e-13)
    np.testing.assert_allclose(y.v, rates, atol=1e-12)
    found, expected = ENTRY.observe(other, t, y.q, y.v, y.a, y.lam), ENTRY.observe(one, t, x.q, x.v, x.a, x.lam)
    assert found == pytest.approx(expected, rel=1e-11, abs=1e-11)
    d, dd = (np.diff(z.reshape(n + 1, 3)[:, :2], axis=0) for z in (y.q, y.a))
    np.testing.assert_allclose(d[:, 0] * dd[:, 1] - d[:, 1] * dd[:, 0], x.a, rtol=1e-11, atol=1e-11)


def test_natural_frequencies_are_those_of_the_hanging_chain():
    s = angles()
    stiffness = np.diag(9.81 * np.arange(12, 0, -1))
    squares = eigh(stiffness, s.mass(0.0, np.zeros(12)), eigvals_only=True)
    np.testing.assert_allclose(np.sqrt(squares[[0, -1]]), [1.0655, 19.077], atol=1e-3)
    # tension / mass per length = g times the length below: the zeros of the Laguerre polynomial of degree N are squares / g
    np.testing.assert_allclose(squares / 9.81, np.polynomial.laguerre.laggauss(12)[0], rtol=1e-10)


@pytest.mark.parametrize("coordinates", ["cartesian", "classical"])
def test_the_start_moves_along_with_the_suspension(coordinates):
    built = ENTRY.build(coordinates=coordinates)
    s = built if coordinates == "classical" else mbdae.System(built)
    q, v = s.initial_guess()
    x = mbdae.assemble(s)
    np.testing.assert_array_equal(x.q, q)
    np.testing.assert_array_equal(x.v, v)
    out = ENTRY.observe(s, 0.0, x.q, x.v, x.a, x.lam)
    assert not any(value for name, value in out.items() if "alpha" in name)
    assert [out[f"tension{k + 1}"] for k in range(12)] == pytest.approx([9.81 * (12 - k) for k in range(12)], rel=1e-12)
    assert x.redundant == () and s.dof == 12


# --- the motion ----------------------------------------------------------------------------------------------------------


# bounds of the errors of angles and rates relative to the largest ones, which are 7e-4 and 8e-4 (0.05 Hz) or 4e-5 and 5e-6 (0.05 rad/s)
@pytest.mark.parametrize(("given", "bounds"), [
    ({}, (2e-8, 2e-7)),  # 2e-9, 1e-8
    ({"frequency": "0.05 rad/s"}, (2e-7, 2e-5)),  # 2e-8, 2e-6
    ({"links": 16}, (3e-8, 4e-7)),  # 3e-9, 4e-8
    ({"links": 16, "frequency": "0.05 rad/s"}, (1e-7, 4e-5)),  # 1e-8, 4e-6
])
def test_every_set_of_references_is_reached(given, bounds):
    s, wanted = angles(**given), ENTRY.references_for(given)
    assert [r.t for r in wanted] == [10.0, 50.0, 100.0, 200.0]
    x = mbdae.solve(s, Cvode(multistep="Adams"), (0.0, 200.0), t_eval=[r.t for r in wanted], rtol=1e-11, atol=1e-15)
    assert all(e < bound for e, bound in zip(worst(outputs(s, x), wanted), bounds))


# coordinates, method, form, rtol, atol, bounds as above up to 50 s. DOP853 at rtol 1e-12, atol 1e-16 has errors of 3e-11, 2e-9 at 200 s.
ROUTES = {
    "angles, DOP853": ("classical", SolveIvp("DOP853"), "ode", 1e-11, 1e-15, (3e-9, 1e-7)),  # 3e-10, 1e-8
    "angles, IDA": ("classical", Ida(), "index1", 1e-10, 1e-13, (1e-6, 6e-6)),  # 1e-7, 6e-7
    "particles, DOP853": ("cartesian", SolveIvp("DOP853"), "ode", 1e-12, 1e-15, (8e-8, 3e-6)),  # 8e-9, 3e-7
    "particles, IDA, GGL": ("cartesian", Ida(), "ggl", 1e-11, 1e-12, (1e-4, 5e-4)),  # 8e-6, 5e-5
}


@pytest.mark.parametrize("route", ROUTES)
def test_every_route_leads_to_the_references(route):
    coordinates, method, form, rtol, atol, bounds = ROUTES[route]
    built = ENTRY.build(coordinates=coordinates)
    s = built if coordinates == "classical" else mbdae.System(built)
    wanted = [r for r in ENTRY.references_for({}) if r.t <= 50.0]
    x = mbdae.solve(s, method, (0.0, 50.0), formulation=form, t_eval=[r.t for r in wanted], rtol=rtol, atol=atol)
    assert all(e < bound for e, bound in zip(worst(outputs(s, x), wanted), bounds))


# --- no constraints at all -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def free():
    """Three rods far from the vertical, and where they are after 1 s."""
    s, start = angles(links=3), mbdae.assemble(angles(links=3), 0.0, [0.5, -0.4, 0.9], [0.1, 0.2, -0.3])
    x = mbdae.solve(s, SolveIvp("DOP853"), (0.0, 1.0), state=start, t_eval=[1.0], rtol=1e-12, atol=1e-14)
    return s, start, x.q[0], x.v[0]


@pytest.mark.parametrize(("method", "form", "bound"), [
    (mbdae.HalfImplicit(h=1e-4), None, 3e-2), (mbdae.FullyImplicit(h=1e-4), None, 3e-2),  # 3e-3, 7e-3
    *((method, form, 3e-4) for method in (Ida(), Assimulo(), SolveDae(), Odes()) for form in ("ggl", "index1", "index3")),  # 2e-5
    (Cvode(), "ode", 3e-4), (SolveIvp("Radau"), "ode", 3e-4), (Radau13(), "mass", 3e-4),  # 4e-5, 6e-8, 2e-5
], ids=lambda x: type(x).__name__ if isinstance(x, mbdae.Method) else str(x))
def test_every_solver_takes_equations_without_constraints(free, method, form, bound):
    s, start, q, v = free
    need(method)
    x = mbdae.solve(s, method, (0.0, 1.0), formulation=form, state=start, t_eval=[1.0])
    assert x.success, x.message
    assert x.lam.shape == (1, 0)
    assert max(np.abs(x.q[0] - q).max(), np.abs(x.v[0] - v).max()) < bound


@pytest.mark.parametrize(("parameters", "message"), [
    ({"links": 0}, "pendulum-chain: links must be an integer from 1 to 1024"),
    ({"links": 2.0}, "pendulum-chain: links must be an integer from 1 to 1024"),
    ({"frequency": 0.05}, "pendulum-chain: frequency must be '0.05 Hz' or '0.05 rad/s', got 0.05"),
    ({"coordinates": "polar"}, "pendulum-chain: coordinates must be 'cartesian' or 'classical'"),
])
def test_bad_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        ENTRY.build(**parameters)
