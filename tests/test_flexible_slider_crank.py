"""Flexible slider-crank: its equations against Lagrange's, its energy, and several routes to the same motion."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import eigvalsh

import mbdae
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Ida
from mbdae.library import flexible_slider_crank as crank
from mbdae.library import flexible_slider_crank_equations as e

pytestmark = pytest.mark.thorough
ENTRY = crank.ENTRY
SMOOTH, UNDEFORMED, DAMPED, STIFFENED = {}, {"start": "undeformed"}, {"damping": True}, {"stiffening": True}
FLAGS = [(False, False), (True, False), (False, True), (True, True)]


def recomputed(given):
    """Times and values, shape (n, 17): positions, rates, multipliers."""
    rows = sorted((r for r in ENTRY.references_for(given) if r.kind == "recomputed"), key=lambda r: r.t)
    return [r.t for r in rows], np.array([list(r.values.values()) for r in rows])


def along(f, x, d):
    """Derivative of `f` at `x` along `d`, by the complex step."""
    return np.asarray(f(x + 1e-30j * d)).imag / 1e-30


def gradient(f, x):
    return np.array([along(f, x, d) for d in np.eye(len(x))])


@pytest.fixture
def state(rng):
    """Random positions, with deformations of some centimetres, and rates."""
    return rng.normal(size=7) * [1, 1, 1, 0.05, 0.05, 0.05, 0.05], rng.normal(size=7)


# --- the equations -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cubic", [False, True])
def test_forces_are_those_of_lagrange(state, cubic):
    """`Q = T_q - M' v - V_q`, with the published mass matrix."""
    q, v = state
    kinetic = gradient(lambda x: e.energy(0.0, x, v) - e.strain_energy(x), q)
    expected = kinetic - along(lambda x: e.mass(0.0, x), q, v) @ v - gradient(lambda x: e.strain_energy(x, cubic), q)
    found = e.FORCE[False, cubic](0.0, q, v)
    np.testing.assert_allclose(found[:3], expected[:3], rtol=1e-13, atol=1e-14)  # the rod's forces are a million times larger
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)


def test_the_damping_is_a_force_on_the_deformation_only(state):
    q, v = state
    for cubic in (False, True):
        difference = e.FORCE[True, cubic](0.0, q, v) - e.FORCE[False, cubic](0.0, q, v)
        np.testing.assert_allclose(difference[3:], -e.DQ @ v[3:], atol=1e-8)
        assert not difference[:3].any()
    assert eigvalsh(e.DQ)[0] > 0.0


def test_derivatives_of_the_constraints(state):
    q, v = state
    np.testing.assert_allclose(e.phi_q(0.0, q), gradient(lambda x: e.phi(0.0, x), q).T, atol=1e-15)
    np.testing.assert_allclose(e.gamma(0.0, q, v), -along(lambda x: e.phi_q(0.0, x) @ v, q, v), atol=1e-15)
    np.testing.assert_allclose(e.nu(0.0, q), -(e.phi(1.0, q) - e.phi(0.0, q)), atol=1e-12)  # linear in time


def test_the_elastic_modes_have_the_frequencies_told():
    np.testing.assert_allclose(np.sqrt(eigvalsh(e.KQ, e.MQ)), [1277, 5107, 6841, 24613], atol=0.5)
    assert all(f"{f}" in ENTRY.hardness for f in (1277, 5107, 6841, 24613))


@pytest.mark.parametrize("flags", FLAGS)
def test_the_drive_pays_for_energy_and_damping(state, flags):
    """At a random consistent state: rate of the energy = power of the drive - power of the damping."""
    s = crank.build("smooth", *flags)
    t = 0.013
    x = mbdae.assemble(s, t, state[0] * [0, 0, 0, 1, 1, 1, 1] + [e.OMEGA * t, -0.4, 0.3, 0, 0, 0, 0], state[1])
    assert np.abs(s.phi(t, x.q)).max() < 1e-13

    def energy(y):
        return e.energy(t, y[:7], y[7:], flags[1])

    rate = along(energy, np.concatenate([x.q, x.v]), np.concatenate([x.v, x.a]))
    torque = ENTRY.observe(s, t, x.q, x.v, x.a, x.lam)["driving_torque"]
    loss = x.v[3:] @ e.DQ @ x.v[3:] if flags[0] else 0.0
    assert rate == pytest.approx(torque * e.OMEGA - loss, abs=1e-11 * np.abs(x.lam).max() * e.OMEGA)
    assert s.energy(t, x.q, x.v) == pytest.approx(energy(np.concatenate([x.q, x.v])), rel=1e-15)


# --- the start -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [SMOOTH, UNDEFORMED])
def test_the_start_is_consistent_as_it_is_given(given):
    s = crank.build(**given)
    q, v = s.initial_guess()
    x = mbdae.assemble(s)
    np.testing.assert_array_equal(x.q, q)
    np.testing.assert_allclose(x.v, v, rtol=0, atol=1e-13)
    assert np.abs(s.phi(0.0, q)).max() < 1e-16
    out = ENTRY.observe(s, 0.0, x.q, x.v, x.a, x.lam)
    for r in ENTRY.references_for(given):
        if r.t == 0.0:
            for name, expected in r.values.items():
                assert out[name] == pytest.approx(expected, rel=10.0**-r.digits, abs=1e-15)


def test_the_smooth_start_is_the_published_one_to_its_digits():
    q, v = crank.build().initial_guess()
    np.testing.assert_allclose(q, [0, 0, 0.450016933, 0, 0, 1.03339863e-5, 1.69327969e-5], atol=2e-10)
    np.testing.assert_allclose(v, [150, -74.9957670, -2.68938672e-6, 0.444896105, 4.63434311e-3, -1.78591076e-6, -2.68938672e-6], atol=5e-8)


# --- the motion ----------------------------------------------------------------------------------------------------------


def whole(t, u, ud):
    """All positions and rates for a given deformation and its rates; `v = J ud + b`, `a = J udd + c`."""
    phi1, length = e.OMEGA * t, e.L2 + u[3]
    phi2 = -np.arcsin(e.L1 * np.sin(phi1) / length)
    s1, c1, s2, c2 = np.sin(phi1), np.cos(phi1), np.sin(phi2), np.cos(phi2)
    J, b, c = np.zeros((7, 4)), np.zeros(7), np.zeros(7)
    J[3:], J[1, 3], J[2, 3] = np.eye(4), -s2 / (length * c2), 1 / c2
    b[0], b[1] = e.OMEGA, -e.L1 * c1 * e.OMEGA / (length * c2)
    b[2] = -e.L1 * s1 * e.OMEGA - length * s2 * b[1]
    v = J @ ud + b
    c[1] = (e.L1 * s1 * e.OMEGA**2 + length * s2 * v[1] ** 2 - 2 * c2 * v[1] * ud[3]) / (length * c2)
    c[2] = -e.L1 * c1 * e.OMEGA**2 - length * (c2 * v[1] ** 2 + s2 * c[1]) - 2 * s2 * v[1] * ud[3]
    return np.array([phi1, phi2, e.L1 * c1 + length * c2, *u]), v, J, c


def by_deformation(given, times, rtol):
    """The motion with `q1 ... q4` as only unknowns: an ordinary differential equation."""
    force = e.FORCE[given.get("damping", False), given.get("stiffening", False)]

    def rhs(t, y):
        q, v, J, c = whole(t, y[:4], y[4:])
        M = e.mass(t, q)
        return np.concatenate([y[4:], np.linalg.solve(J.T @ M @ J, J.T @ (force(t, q, v) - M @ c))])

    s = crank.build(**given)
    q, v = s.initial_guess()
    y = solve_ivp(rhs, (0.0, times[-1]), np.concatenate([q[3:], v[3:]]), "DOP853", times, rtol=rtol, atol=1e-16).y.T
    states = [whole(t, row[:4], row[4:])[:2] for t, row in zip(times, y)]
    return np.array([np.concatenate([q, v, mbdae.assemble(s, t, q, v).lam]) for t, (q, v) in zip(times, states)])


def by(method, form=None, atol=1e-16):
    def route(given, times, rtol):
        x = mbdae.solve(crank.build(**given), method, (0.0, times[-1]), formulation=form, t_eval=times, rtol=rtol, atol=atol)
        assert x.success, x.message
        return np.hstack([x.q, x.v, x.lam])

    return route


# route, data, last time, rtol; bounds of the errors of positions, rates, multipliers, each relative to the largest value of the same
# quantity in the table; beside them what was found
ROUTES = {
    "smooth, DOP853": (by(SolveIvp("DOP853")), SMOOTH, 0.1, 1e-11, (2e-10, 1e-8, 4e-10)),  # 4e-11, 2e-9, 7e-11
    "smooth, deformation only": (by_deformation, SMOOTH, 0.05, 1e-12, (3e-11, 1e-9, 6e-11)),  # 6e-12, 3e-10, 1e-11
    "smooth, IDA, index 2": (by(Ida(), "index2", 1e-14), SMOOTH, 0.01, 1e-10, (5e-8, 5e-7, 1e-7)),  # 6e-9, 8e-8, 1e-8
    "undeformed, DOP853": (by(SolveIvp("DOP853")), UNDEFORMED, 0.05, 1e-11, (4e-9, 3e-9, 1e-8)),  # 8e-10, 5e-10, 2e-9
    "undeformed, deformation only": (by_deformation, UNDEFORMED, 0.1, 1e-12, (5e-10, 1e-9, 1e-9)),  # 9e-11, 2e-10, 2e-10
    "undeformed, IDA, GGL": (by(Ida(), "ggl", 1e-13), UNDEFORMED, 0.01, 1e-10, (2e-6, 1e-6, 3e-6)),  # 2e-7, 1e-7, 4e-7
    "damped, DOP853": (by(SolveIvp("DOP853")), DAMPED, 0.1, 1e-11, (4e-11, 1e-9, 4e-11)),  # 7e-12, 2e-10, 8e-12
    "damped, deformation only": (by_deformation, DAMPED, 0.05, 1e-12, (1e-11, 2e-11, 2e-12)),  # 2e-12, 4e-12, 4e-13
    "stiffened, DOP853": (by(SolveIvp("DOP853")), STIFFENED, 0.05, 1e-11, (3e-11, 3e-8, 2e-10)),  # 6e-12, 6e-9, 4e-11
    "stiffened, deformation only": (by_deformation, STIFFENED, 0.05, 1e-12, (1e-11, 3e-9, 3e-11)),  # 3e-12, 6e-10, 6e-12
}


@pytest.mark.parametrize("key", ROUTES)
def test_every_route_leads_to_the_references(key):
    route, given, end, rtol, bounds = ROUTES[key]
    times, expected = recomputed(given)
    n = sum(t <= end for t in times)
    error = np.abs(route(given, times[:n], rtol) - expected[:n]) / np.abs(expected).max(axis=0)
    for found, bound in zip(np.split(error, [7, 14], axis=1), bounds):
        assert found.max() < bound


def test_the_published_solution_is_right_to_the_digits_told():
    s = crank.build()
    x = mbdae.solve(s, SolveIvp("DOP853"), (0.0, 0.1), t_eval=[0.1], rtol=1e-11, atol=1e-15)
    out = ENTRY.observe(s, 0.1, x.q[0], x.v[0], x.a[0], x.lam[0])
    published = [r for r in ENTRY.references_for(SMOOTH) if r.kind == "published" and r.t == 0.1]
    assert sum(len(r.values) for r in published) == 23
    for r in published:
        for name, expected in r.values.items():
            assert out[name] == pytest.approx(expected, rel=10.0**-r.digits, abs=1e-9 if expected == 0.0 else 0.0), name


# --- the rest ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("given", "message"), [
    ({"start": 1}, "start must be 'smooth' or 'undeformed', got 1"),
    ({"start": ["smooth"]}, "start must be 'smooth' or 'undeformed'"),
    ({"damping": 0.5}, "damping must be True or False, got 0.5"),
    ({"stiffening": "cubic"}, "stiffening must be True or False, got 'cubic'"),
])
def test_bad_parameters(given, message):
    with pytest.raises(ValueError, match=f"flexible-slider-crank: {message}".replace("[", r"\[")):
        crank.build(**given)


def test_the_picture_shows_the_deflection_magnified():
    s = crank.build()
    t, q = 0.004, np.array([0.6, -0.3, 0.4, 2e-3, 0.0, 0.0, 0.0])
    x = mbdae.assemble(s, t, q, s.initial_guess()[1])
    picture = s.geometry.at(t, x.q)
    rod, slider = picture.bodies[1], np.array([x.q[2], 0.0, 0.0])
    np.testing.assert_allclose(rod[[0, -1]], picture.joints, atol=1e-14)
    np.testing.assert_allclose(picture.joints[1], slider, atol=1e-15)
    chord = rod[-1] - rod[0]
    assert np.linalg.norm(chord) == pytest.approx(e.L2 + x.q[6], abs=1e-14)
    assert np.cross(chord, rod[12] - rod[0])[2] / np.linalg.norm(chord) == pytest.approx(10.0 * x.q[3], rel=1e-12)
