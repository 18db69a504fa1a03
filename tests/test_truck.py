"""The truck as bodies and in the coordinates of the book, joined and with springs: equilibrium, equations, routes to the same motion."""

import numpy as np
import pytest

import mbdae
from mbdae.adapters.radau13 import Radau13
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Ida
from mbdae.library import truck
from mbdae.library import truck_classical as classical

from .helpers import central, need

pytestmark = pytest.mark.thorough
ENTRY = truck.ENTRY
NINE = [1, 4, 5, 7, 10, 11, 12, 13, 14]  # the coordinates of the book among those of the bodies
OPTIONS = [(c, p) for c in (True, False) for p in (False, True)]
WEIGHT = 9.81 * (1450 + 3335 + 600 + 1100 + 11515)


def system(**parameters):
    built = ENTRY.build(**ENTRY.checked(parameters))
    return built if isinstance(built, mbdae.System) else mbdae.System(built)


def as_bodies(nine):
    """Rates of the nine coordinates as those of the bodies."""
    x = np.zeros(15)
    x[NINE] = nine
    return x


def random_state(rng):
    """Positions some decimetres off and rates, not consistent with the joint."""
    return np.array(classical.STARTS["equilibrium"]) + 0.1 * rng.normal(size=9), rng.normal(size=9)


def along(f, x, d):
    """Derivative of `f` at `x` along `d`, by the complex step."""
    return np.asarray(f(x + 1e-30j * d)).imag / 1e-30


# --- the equilibrium -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("constrained", "pneumatic"), OPTIONS)
@pytest.mark.parametrize("coordinates", ["cartesian", "classical"])
def test_the_start_is_an_equilibrium(coordinates, constrained, pneumatic):
    s = system(coordinates=coordinates, constrained=constrained, pneumatic=pneumatic)
    x = mbdae.assemble(s)
    out = ENTRY.observe(s, 0.0, x.q, x.v, x.a, x.lam)
    np.testing.assert_array_equal(x.q, s.initial_guess()[0])
    np.testing.assert_array_equal([out[name] for name in truck._STATE.split()], [0.5, 2.0, 0.0, 0.5, 2.9, 0.0, -1.46, 2.9, 0.0])
    assert not x.v.any() and np.abs(x.a).max() < 5e-12  # of forces of 1e5 N on masses of 1e3 kg
    assert out["tyre_rear"] + out["tyre_front"] == pytest.approx(WEIGHT, rel=1e-14)
    assert ("lambda_y" in out) == constrained and s.dof == (7 if constrained else 9)
    if constrained:
        assert out["lambda_y"] == pytest.approx(-68056.208888889, rel=1e-14)
        assert abs(out["lambda_x"]) < 1e-8


def test_the_pin_lies_between_the_springs_that_it_replaces():
    (x, y), (x5, y5) = classical.PIN_2, classical.PIN_5
    p = classical.STARTS["equilibrium"]
    np.testing.assert_allclose([x, p[1] + y], [p[6] + x5, p[7] + y5], rtol=1e-15)
    assert x == pytest.approx(p[6] + 0.5 * (classical.c1d + classical.c2d), rel=1e-15)


def test_the_pneumatic_element_is_the_linear_one_at_rest():
    """Force exactly, stiffness to 1e-4; it grows stiffer when pressed."""
    k, fN = classical.ELEMENTS["23"][4], classical.ELEMENTS["23"][6]
    force = classical.pneumatic_force
    assert force(0.16) == pytest.approx(k * 0.16 + fN, rel=1e-15)
    slope = [along(force, x, 1.0) for x in (0.12, 0.16, 0.2)]
    assert slope[1] == pytest.approx(k, rel=1e-4) and slope[0] > slope[1] > slope[2]


def test_the_road_is_a_smooth_hump():
    t = np.linspace(0.0, 30.0, 3001)
    u, d_u = np.array([classical.road(x, 2.0) for x in t]).T
    assert not u[t <= 2.0].any() and u.max() == pytest.approx(1e-3 * 6.0**6 * np.exp(-6.0), rel=1e-14) and 0.115 < u.max() < 0.117
    np.testing.assert_allclose(d_u[3:-3], (45 * (u[4:-2] - u[2:-4]) - 9 * (u[5:-1] - u[1:-5]) + u[6:] - u[:-6]) / 0.6, atol=1e-10)
    np.testing.assert_allclose([classical.T_FRONT, classical.T_REAR], [2 / 15, 6.5 / 15], rtol=1e-15)


# --- the equations -------------------------------------------------------------------------------------------------------


def test_derivatives_of_the_joint(rng):
    q, v = random_state(rng)
    G = classical.phi_q(0.0, q)
    np.testing.assert_allclose(G, np.array([along(lambda x: classical.phi(0.0, x), q, d) for d in np.eye(9)]).T, atol=1e-15)
    np.testing.assert_allclose(G, central(lambda d: classical.phi(0.0, q + d), 9), atol=1e-9)
    np.testing.assert_allclose(classical.gamma(0.0, q, v), -along(lambda x: classical.phi_q(0.0, x) @ v, q, v), atol=1e-14)
    assert not classical.nu(0.0, q).any()


@pytest.mark.parametrize("constrained", [True, False])
def test_forces_at_rest_are_the_slope_of_the_potential(constrained, rng):
    """On the flat road before the hump."""
    force, energy = classical.laws(7 if constrained else 9, False)
    q, v = random_state(rng)
    expected = [-along(lambda x: energy(0.0, x, 0 * v), q, d) for d in np.eye(9)]
    np.testing.assert_allclose(force(0.0, q, 0 * v), expected, rtol=1e-12, atol=1e-8)
    assert v @ (force(0.0, q, v) - force(0.0, q, 0 * v)) < -100.0  # dampers take energy away
    assert energy(0.0, q, v) - energy(0.0, q, 0 * v) == pytest.approx(0.5 * v @ classical.mass(0.0, q) @ v, rel=1e-9)


@pytest.mark.parametrize(("constrained", "pneumatic"), OPTIONS)
def test_both_coordinates_have_the_same_forces(constrained, pneumatic, rng):
    """With the road and the dampers, at a state that need not be consistent."""
    bodies = system(constrained=constrained, pneumatic=pneumatic)
    book = system(coordinates="classical", constrained=constrained, pneumatic=pneumatic)
    for t in (0.1, 0.4, 5.0):
        q, v = random_state(rng)
        q15, v15 = classical.poses(q)[1:].ravel(), as_bodies(v)
        expected = book.force(t, q, v)
        np.testing.assert_allclose(bodies.force(t, q15, v15)[NINE], expected, rtol=1e-11, atol=1e-8)
        assert bodies.energy(t, q15, v15) == pytest.approx(book.energy(t, q, v), rel=1e-13)


def test_both_coordinates_have_the_same_accelerations_and_multipliers(rng):
    bodies, book = system(), system(coordinates="classical")
    x = mbdae.assemble(book, 3.0, *random_state(rng))
    y = mbdae.assemble(bodies, 3.0, classical.poses(x.q)[1:].ravel(), as_bodies(x.v))
    np.testing.assert_allclose(y.q[NINE], x.q, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(y.a[NINE], x.a, rtol=1e-11, atol=1e-11 * np.abs(x.a).max())
    np.testing.assert_allclose(y.lam[:2], x.lam, rtol=1e-11)


def test_the_tyres_carry_weight_and_inertia(rng):
    """Principle of linear momentum for the whole truck."""
    s = system()
    x = mbdae.assemble(s, 2.0, classical.poses(random_state(rng)[0])[1:].ravel(), rng.normal(size=15))
    out = ENTRY.observe(s, 2.0, x.q, x.v, x.a, x.lam)
    assert np.dot(classical.MASSES, x.a[1::3]) == pytest.approx(out["tyre_rear"] + out["tyre_front"] - WEIGHT, rel=1e-9)


@pytest.mark.parametrize(("parameters", "message"), [
    ({"start": "hump"}, "start must be 'equilibrium' or 'course', got 'hump'"),
    ({"start": "course"}, "start='course' opens the joint by 0.36 m; it needs constrained=False"),
    ({"constrained": 1}, "constrained must be True or False, got 1"),
    ({"pneumatic": "yes"}, "pneumatic must be True or False, got 'yes'"),
    ({"coordinates": "nine"}, "coordinates must be 'cartesian' or 'classical', got 'nine'"),
])
def test_bad_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=f"truck: {message}"):
        ENTRY.build(**parameters)


def test_the_start_of_the_course_opens_the_joint():
    assert np.linalg.norm(classical.phi(0.0, np.array(classical.STARTS["course"]))) == pytest.approx(0.36, abs=5e-3)


# --- the motion ----------------------------------------------------------------------------------------------------------

# method, form, rtol, atol; bounds of the absolute errors of positions, rates, reactions. Found at worst over all starts and both
# coordinates: DOP853 2e-13, 1e-12, 4e-9 to 1.8e-7 (rounding, by the processor); RADAU 1.4e-9, 6e-8, 2e-5; IDA 1.2e-9, 6e-9, 6e-6.
ROUTES = {
    "DOP853": (SolveIvp("DOP853"), "ode", 1e-12, 1e-14, (2e-12, 1e-11, 2e-6)),
    "RADAU": (Radau13(), "mass", 1e-10, 1e-12, (1e-8, 5e-7, 2e-4)),
    "IDA, GGL": (Ida(), "ggl", 1e-10, 1e-12, (1e-8, 5e-8, 1e-4)),
}
CASES = [(route, {**given, "coordinates": "cartesian"}) for route in ROUTES
         for given in ({}, {"pneumatic": True}, {"constrained": False}, {"constrained": False, "start": "course"})]
CASES += [("IDA, GGL", {"coordinates": "classical", **given}) for given in ({}, {"pneumatic": True}, {"constrained": False})]


@pytest.mark.rounding
@pytest.mark.parametrize(("route", "parameters"), CASES)
def test_every_route_leads_to_the_reference(route, parameters):
    method, form, rtol, atol, bounds = ROUTES[route]
    s = system(**parameters)
    wanted = ENTRY.references_for(parameters)
    assert len(wanted) == (4 if parameters.get("pneumatic") else 11)
    need(method)
    x = mbdae.solve(s, method, (0.0, wanted[-1].t), formulation=form, t_eval=[r.t for r in wanted], rtol=rtol, atol=atol)
    assert x.success, x.message
    for r, *state in zip(wanted, x.q, x.v, x.a, x.lam):
        out = ENTRY.observe(s, r.t, *state)
        error = np.array([abs(out[name] - value) for name, value in r.values.items()])
        for part, bound in zip(np.split(error, [9, 18]), bounds):
            assert part.max(initial=0.0) < bound


def test_explicit_integration_in_the_coordinates_of_the_book():
    """The second route of highest accuracy, to 4 s; found 2e-14, 3e-14, 3e-9."""
    s = system(coordinates="classical")
    x = mbdae.solve(s, SolveIvp("DOP853"), (0.0, 4.0), t_eval=[4.0], rtol=1e-12, atol=1e-14)
    expected = next(list(r.values.values()) for r in ENTRY.references_for({}) if r.t == 4.0)
    np.testing.assert_allclose(np.concatenate([x.q[0], x.v[0]]), expected[:18], rtol=0, atol=1e-12)
    np.testing.assert_allclose(x.lam[0], expected[18:], rtol=0, atol=5e-8)
