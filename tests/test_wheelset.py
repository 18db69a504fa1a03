"""Wheelset: the contact, the published equations term by term, its symmetry, and several routes to the same motion."""

import numpy as np
import pytest

import mbdae
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Cvode, Ida
from mbdae.library import wheelset
from mbdae.library import wheelset_equations as e

from .helpers import central

pytestmark = pytest.mark.thorough

ENTRY = wheelset.ENTRY
SIDES = ((1.0, 0), (-1.0, 1))
MIRROR = np.array([-1.0, 1.0, 1.0, -1.0, -1.0, 1.0])


@pytest.fixture(scope="module")
def system():
    return wheelset.build()


def random_state(rng):
    """Positions and rates of the size of a strong motion, multipliers of the size of the weight."""
    return rng.normal(size=6) * [4e-3, 1e-3, 1e-3, 0.03, 0.01, 1.0], rng.normal(size=6) * [0.3, 0.1, 0.1, 1.0, 0.1, 1.0], [-80.0, -75.0]


def along(f, x, d):
    """Derivative of `f` at `x` along `d`, by the complex step."""
    return np.asarray(f(x + 1e-30j * d)).imag / 1e-30


def trigonometry(q, side):
    """Sine and cosine of theta, phi, psi; xi, R, R'."""
    sin_psi, _, xi, _, _ = e.contact(q, side)
    psi = np.arcsin(sin_psi)
    return (*(f(x) for x in (q[3], q[4], psi) for f in (np.sin, np.cos)), xi, e.RN0 + e.TAN * (e.AR - abs(xi)), -side * e.TAN)


# --- contact and constraints ---------------------------------------------------------------------------------------------


def rail(X):
    """Height and slope of a rail."""
    off = abs(X) - e.AR - e.RS * np.sin(e.DELTA0)
    root = np.sqrt(e.RS**2 - off**2)
    return root - e.RN0 - e.RS * np.cos(e.DELTA0), -np.sign(X) * off / root


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_the_contact_has_parallel_normals(rng, side):
    for _ in range(5):
        q = random_state(rng)[0]
        st, ct, sp, cp, ss, cs, xi, R, dR = trigonometry(q, side)
        height, slope = rail(q[0] + xi * ct * cp + R * (ct * sp * cs - st * ss))
        assert np.sign(xi) == side
        assert slope * (dR * sp + cp * cs) + dR * ct * cp - ct * sp * cs + st * ss == pytest.approx(0.0, abs=1e-15)
        assert dR * st * cp - st * sp * cs - ct * ss == pytest.approx(0.0, abs=1e-16)
        np.testing.assert_allclose(e.contact(q, side), [ss, cs, xi, R, slope], rtol=1e-13)
        k = int(side < 0.0)
        assert q[1] + xi * sp - R * cp * cs - height == pytest.approx(e.phi(0.0, q)[k] + e.GAPS[k], abs=1e-16)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_the_contact_is_where_the_gap_is_stationary(rng, side):
    """The wheel's surface over the rail, as a function of xi and psi, has a stationary point there; so these drop out of Phi_q."""
    q = random_state(rng)[0]
    st, ct, sp, cp = trigonometry(q, side)[:4]
    sin_psi, _, xi, _, _ = e.contact(q, side)

    def gap(place):
        xi, psi = place
        R = e.RN0 + e.TAN * (e.AR - abs(xi))
        X = q[0] + xi * ct * cp + R * (ct * sp * np.cos(psi) - st * np.sin(psi))
        return np.array([q[1] + xi * sp - R * cp * np.cos(psi) - rail(X)[0]])

    place = np.array([xi, np.arcsin(sin_psi)])
    np.testing.assert_allclose(central(lambda d: gap(place + d), 2), 0.0, atol=1e-9)


def test_derivatives_of_the_constraints(rng):
    for _ in range(5):
        q, v, _ = random_state(rng)
        by_steps = np.array([along(lambda x: e.phi(0.0, x), q, d) for d in np.eye(6)]).T
        np.testing.assert_allclose(e.phi_q(0.0, q), by_steps, atol=1e-15)
        np.testing.assert_allclose(e.gamma(0.0, q, v), -along(lambda x, v=v: e.phi_q(0.0, x) @ v, q, v), rtol=1e-12, atol=1e-14)
    assert not e.nu(0.0, q).any()


def test_the_contacts_of_the_start_are_the_published_ones(system):
    x = mbdae.assemble(system)
    np.testing.assert_array_equal(x.q, [*wheelset.START, 0.0])
    out = ENTRY.observe(system, 0.0, x.q, x.v, x.a, x.lam)
    published = {"psi_R": -7.4122380357667139e-6, "xi_R": -0.1521364296121248, "psi_L": 7.5634406395172940e-6, "xi_L": 0.1490635714733819,
                 "lambda1": -8.359184018959e-3, "lambda2": -7.414552840682e-3}
    for name, expected in published.items():
        assert out[name] == pytest.approx(expected, rel=1e-12)


# --- the equations of motion ---------------------------------------------------------------------------------------------


def published_rows(q, v, a, lam):
    """The published equations of motion as they are printed, left less right hand side, shape (6,)."""
    (x, _, z, th, _, _), (xd, yd, zd, thd, phd, beta) = q, v
    w = e.OMEGA + beta
    N, terms = normal_forces(q, lam), np.zeros(6)
    for side, k in SIDES:
        st, ct, sp, cp, ss, cs, xi, R, dR = trigonometry(q, side)
        slope = rail(q[0] + xi * ct * cp + R * (ct * sp * cs - st * ss))[1]
        d = contact_angle(q, side)
        s, c = np.sin(th / np.cos(d)), np.cos(th / np.cos(d))
        w1 = (-w * R * (s * cs + c * sp * ss) + xd - thd * (R * (s * sp * cs + c * ss) + xi * s * cp) - phd * c * (xi * sp - R * cp * cs))
        w2 = w * R * cp * ss + yd + phd * (xi * cp + R * sp * cs)
        w3 = (-w * R * (c * cs - s * sp * ss) + e.V + zd - thd * (xi * c * cp + R * (c * sp * cs - s * ss))
              + phd * s * (xi * sp - R * cp * cs))
        rolling = np.linalg.norm([w1 - 2 * xd, w2 - 2 * yd, w3 - 2 * zd - 2 * e.V]) / 2
        nx = (s * w1 + c * w3) / rolling
        ny = (c * np.cos(d) * w1 + side * np.sin(d) * w2 - s * np.cos(d) * w3) / rolling
        spin = (-side * np.sin(d) * w + np.cos(d) * thd) / rolling
        bend = 1 / e.RS  # -G''/(1 + G'^2)^1.5 of a circle
        size = 1 / (2 * R * np.sqrt(1 + dR**2)) + bend / 2
        ellipse = np.cbrt(3 * abs(N[k]) * (1 - e.SIGMA) * e.E / (2 * e.PI * size * e.GM * np.sqrt(e.GG)))
        T0 = e.MU * N[k]
        TX = -T0 * np.tanh(e.GM * ellipse**2 * e.C11 * nx / T0)
        TY = -T0 * np.tanh((e.GM * ellipse**2 * e.C22 * ny + e.GM * ellipse**3 * e.C23 * spin) / T0)
        both = np.hypot(TX, TY)
        if both > abs(T0):
            TX, TY = TX * abs(T0) / both, TY * abs(T0) / both
        T1, T2, T3 = s * TX + c * np.cos(d) * TY, side * np.sin(d) * TY, c * TX - s * np.cos(d) * TY
        Q4 = slope * (-R * (ct * ss + cs * sp * st) - xi * cp * st)
        Q5 = -R * cs * sp - xi * cp + slope * (R * cp * cs * ct - xi * ct * sp)
        terms += lam[k] * np.array([slope, -1.0, 0.0, Q4, Q5, 0.0]) + [
            T1, T2, T3,
            -(xi * st + R * ss * ct * cp) * T1 - R * ss * sp * T2 + (-xi * ct + R * ss * st * cp) * T3,
            -(xi * ct * sp - R * cs * ct * cp) * T1 + (xi * cp + R * cs * sp) * T2 + (xi * st * sp - R * cs * st * cp) * T3,
            -R * (cs * st + ss * ct * sp) * T1 + R * ss * cp * T2 - R * (cs * ct - ss * st * sp) * T3]
    M_y = -2 * e.XL**2 * e.CZ * th
    right = terms + [
        -2 * e.CX * x, -e.MR * e.G, -2 * e.CZ * z,
        e.LI2 * thd * phd * sp - e.LI1 * w * phd - (e.LI1 - e.LI2) * thd * sp * phd + cp * M_y,
        e.LI1 * w * thd * cp + (e.LI1 - e.LI2) * thd**2 * sp * cp, -e.LI1 * thd * phd * cp + sp * M_y]
    left = [*(e.MR * a[:3]), e.LI2 * cp * a[3], e.LI2 * a[4], e.LI1 * (sp * a[3] + a[5])]
    return left - right


def contact_angle(q, side):
    st, ct, sp, cp, ss, cs, _, _, dR = trigonometry(q, side)
    return np.arctan(((dR * cp - sp * cs) * ct + ss * st) / (-side * (dR * sp + cs * cp)))


def normal_forces(q, lam):
    """The published decomposition of the constraint forces."""
    dL, dR = contact_angle(q, 1.0), contact_angle(q, -1.0)
    w1 = e.contact(q, 1.0)[4] * lam[0] + e.contact(q, -1.0)[4] * lam[1]
    w2 = -lam[0] - lam[1]
    D = -np.sin(dL) * np.cos(dR) - np.sin(dR) * np.cos(dL)
    return (np.cos(dR) * w1 - np.sin(dR) * w2) / D, (-np.cos(dL) * w1 - np.sin(dL) * w2) / D


def test_normal_forces_are_the_published_ones(rng):
    """Each depends on its own multiplier only."""
    q, _, lam = random_state(rng)
    np.testing.assert_allclose([e.normal_force(q, lam[k], side) for side, k in SIDES], normal_forces(q, lam), rtol=1e-11)


@pytest.mark.parametrize("slow", [1.0, 1e-3])
def test_the_published_equations_hold(system, rng, slow):
    """At random states, on both branches of the creep law: a symmetric mass matrix, and friction that depends on the multipliers."""
    for _ in range(5):
        q, v, _ = random_state(rng)
        x = mbdae.assemble(system, 0.0, q * slow, v * slow)
        out = ENTRY.observe(system, 0.0, x.q, x.v, x.a, x.lam)
        assert (out["saturation_L"] > 1 - 1e-12) == (slow == 1.0)
        np.testing.assert_allclose(published_rows(x.q, x.v, x.a, x.lam), 0.0, atol=1e-10 * max(1.0, np.abs(x.lam).max()))


@pytest.mark.parametrize("theta", [0.0, 0.02])
def test_the_creepages_are_those_of_a_rolling_body(rng, theta):
    """The velocity of the wheel's material at the contact, from the motion of a rigid body; published is theta/cos(d) for theta."""
    q, v, _ = random_state(rng)
    q[3] = theta
    st, ct = np.sin(theta), np.cos(theta)
    for side, _ in SIDES:
        r = wheelset.contact_point(q, side) - q[:3]
        axle = np.array([ct * np.cos(q[4]), np.sin(q[4]), -st * np.cos(q[4])])
        omega = v[3] * np.array([0, 1, 0]) + v[4] * np.array([st, 0, ct]) + (e.OMEGA + v[5]) * axle
        u = v[:3] + [0, 0, e.V] + np.cross(omega, r)
        rolling = np.linalg.norm(np.cross(omega, r) - v[:3] - [0, 0, e.V]) / 2
        d = contact_angle(q, side)
        nx = (st * u[0] + ct * u[2]) / rolling
        ny = (ct * np.cos(d) * u[0] + side * np.sin(d) * u[1] - st * np.cos(d) * u[2]) / rolling
        found = e.creepages(q, v, side)
        if theta == 0.0:
            np.testing.assert_allclose(found[:2], [nx, ny], rtol=1e-12)
        else:
            np.testing.assert_allclose(found[:2], [nx, ny], atol=2 * theta * (1 / np.cos(d) - 1))
        assert found[2] == pytest.approx((v[3] * np.cos(d) - side * np.sin(d) * (e.OMEGA + v[5])) / rolling, rel=1e-4)


def as_published(Q, roll):
    """Generalised forces with the row of theta as published: `(Q_theta - sin(phi) Q_chi)/cos(phi)`, plus `sin(phi) Q_chi` for symmetry."""
    return np.array([*Q[:3], (Q[3] - np.sin(roll) * Q[5]) / np.cos(roll) + np.sin(roll) * Q[5], *Q[4:]])


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_creep_forces_do_their_virtual_work_at_the_contacts(rng, side):
    q, v, _ = random_state(rng)
    k = int(side < 0.0)
    lam = np.where(np.arange(2) == k, -80.0, -1e-12)
    T = np.array(e.creep(q, v, lam[k], side))
    st, ct, sp, cp = np.sin(q[3]), np.cos(q[3]), np.sin(q[4]), np.cos(q[4])
    moment = np.cross(wheelset.contact_point(q, side) - q[:3], T)
    expected = [*T, moment[1], moment @ [st, 0, ct], moment @ [ct * cp, sp, -st * cp]]
    np.testing.assert_allclose(e.friction(0.0, q, v, lam), as_published(expected, q[4]), atol=1e-9)


def test_all_other_forces_are_those_of_lagrange(rng):
    """`T_q - M' v` of the kinetic energy of an axle that spins, springs and weight; the yaw moment acts on the spin, too."""
    q, v, _ = random_state(rng)

    def true_mass(q):
        M = e.mass(0.0, q)
        M[3, 3] = e.LI2 * np.cos(q[4]) ** 2 + e.LI1 * np.sin(q[4]) ** 2
        return M

    w, moment = v + np.array([0, 0, 0, 0, 0, e.OMEGA]), -2 * e.XL**2 * e.CZ * q[3]
    Q = np.array([along(lambda x: 0.5 * w @ true_mass(x) @ w, q, d) for d in np.eye(6)]) - along(true_mass, q, v) @ w
    Q += [-2 * e.CX * q[0], -e.MR * e.G, -2 * e.CZ * q[2], moment, 0, np.sin(q[4]) * moment]
    np.testing.assert_allclose(e.force(0.0, q, v), as_published(Q, q[4]), rtol=1e-12, atol=1e-12)


# --- symmetry and equilibrium --------------------------------------------------------------------------------------------


def test_left_and_right_are_mirror_images(rng):
    q, v, lam = random_state(rng)
    np.testing.assert_allclose(e.force(0.0, MIRROR * q, MIRROR * v), MIRROR * e.force(0.0, q, v), atol=1e-12)
    np.testing.assert_allclose(e.friction(0.0, MIRROR * q, MIRROR * v, np.array(lam[::-1])),
                               MIRROR * e.friction(0.0, q, v, np.array(lam)), atol=1e-12)
    np.testing.assert_allclose(e.phi_q(0.0, MIRROR * q), (e.phi_q(0.0, q) * MIRROR)[::-1], atol=1e-16)


def test_the_centred_wheelset_rolls_without_slip_and_carries_its_weight(system):
    q, v = np.zeros(6), np.zeros(6)
    for side, _ in SIDES:
        assert e.contact(q, side)[2:4] == pytest.approx((side * e.AR, e.RN0), rel=1e-14)
        assert e.creepages(q, v, side)[:2] == pytest.approx((0.0, 0.0), abs=1e-14)
    x = mbdae.assemble(system, 0.0, q, v)
    np.testing.assert_allclose(x.a, 0.0, atol=1e-5)  # the gaps of half a nanometre remain
    up = sum(e.normal_force(x.q, x.lam[k], side) * np.cos(e.DELTA0) + e.creep(x.q, x.v, x.lam[k], side)[1] for side, k in SIDES)
    assert up == pytest.approx(e.MR * e.G, rel=1e-8)


def test_the_centred_run_is_unstable(system):
    """Hunting at 38.8 rad/s that grows with 2.1 1/s; so the motion ends in a limit cycle."""

    def rate(y):
        x = mbdae.assemble(system, 0.0, np.array([y[0], 0, y[1], y[2], 0, 0]), np.array([y[3], 0, y[4], y[5], 0, y[6]]))
        return np.concatenate([x.v[[0, 2, 3]], x.a[[0, 2, 3, 5]]])

    modes = np.linalg.eigvals(central(rate, 7, 1e-7))
    assert modes[modes.real.argmax()].real == pytest.approx(2.113, abs=1e-3)
    assert abs(modes[modes.real.argmax()].imag) == pytest.approx(38.85, abs=1e-2)
    assert modes.real.min() == pytest.approx(-677.1, abs=0.1)


# --- the motion ----------------------------------------------------------------------------------------------------------

# method, form, rtol, atol, last time; bound of the error relative to the largest value of the same quantity; beside it what was found
ROUTES = {
    "DOP853": (SolveIvp("DOP853"), "ode", 1e-11, 1e-15, 2.0, 4e-8),  # 4e-9
    "IDA, index 2": (Ida(), "index2", 1e-9, 1e-13, 2.0, 3e-7),  # 3e-8
    "IDA, GGL": (Ida(), "ggl", 1e-8, 1e-11, 1.0, 5e-6),  # 5e-7
    "CVODE": (Cvode(), "ode", 1e-9, 1e-12, 1.0, 1e-6),  # 9e-8
}


@pytest.mark.parametrize("key", ROUTES)
def test_every_route_leads_to_the_references(system, key):
    method, form, rtol, atol, end, bound = ROUTES[key]
    wanted = [r for r in ENTRY.references if r.label == "motion"]
    rows = np.array([list(r.values.values()) for r in wanted])
    times = [r.t for r in wanted if r.t <= end]
    x = mbdae.solve(system, method, (0.0, end), formulation=form, t_eval=times, rtol=rtol, atol=atol)
    assert x.success, x.message
    found = np.hstack([x.q[:, :5], x.v, x.lam / 1e4])
    error = np.abs(found - rows[:len(times)]) / np.abs(rows).max(axis=0)
    assert error.max() < bound


def test_the_published_solution_is_right_to_the_digits_told(system):
    x = mbdae.solve(system, Ida(), (0.0, 10.0), formulation="ggl", t_eval=[1.0, 10.0], rtol=3e-9, atol=3e-12)
    assert x.success, x.message
    outputs = {t: ENTRY.observe(system, t, *state) for t, *state in zip(x.t, x.q, x.v, x.a, x.lam)}
    for r in ENTRY.references:
        if r.label != "motion":
            error = {name: abs(outputs[r.t][name] / expected - 1.0) for name, expected in r.values.items()}
            assert max(error.values()) < 10.0**-r.digits, error


def test_the_picture_shows_where_wheels_and_rails_touch(system, rng):
    """At gaps of half a nanometre the points lie on the circles of the rails' heads, and on the cones."""
    x = mbdae.assemble(system, 0.0, random_state(rng)[0], np.zeros(6))
    picture = system.geometry.at(0.0, x.q)
    for (side, _), point, rail in zip(SIDES, picture.joints, picture.rods):
        centre = np.array([side * e.CENTRE, -e.DEPTH])
        np.testing.assert_allclose(np.linalg.norm(rail[:25, :2] - centre, axis=1), e.RS, rtol=1e-14)  # the head of the rail
        assert np.linalg.norm(point[:2] - centre) == pytest.approx(e.RS, abs=1e-9)
        axle = np.subtract(*picture.bodies[0][[2, 0]])
        along = (point - x.q[:3]) @ axle / np.linalg.norm(axle)
        radius = np.linalg.norm(np.cross(point - x.q[:3], axle)) / np.linalg.norm(axle)
        assert radius == pytest.approx(e.RN0 + e.TAN * (e.AR - abs(along)), abs=1e-15)
