"""The Stewart platform: its equations against a derivation in six coordinates, its fall against a quadrature, actuators, bad parameters."""

import math

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

import mbdae
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Ida
from mbdae.library import stewart_platform
from mbdae.model import rotations

from .forms import random_state

ENTRY = stewart_platform.ENTRY
G, STEP = 9.81, 1e-25
BALANCE = 700 * G / (6 * 5 / 8)  # force per leg that carries platform and upper bodies at the start
VARIANTS = ({}, *ENTRY.variants)


def build(given=None):
    return mbdae.System(ENTRY.build(**(given or {})))


def solved(s, method, times, **options):
    x = mbdae.solve(s, method, (0.0, times[-1]), t_eval=times, **options)
    assert x.success, x.message
    return [ENTRY.observe(s, *state) for state in zip(x.t, x.q, x.v, x.a, x.lam)]


# --- a second derivation: place of the platform and three angles; Newton-Euler equations projected on their rates ----------------------


def turned(axis, angle):
    """Rotation about a coordinate axis, for complex angles too; one per entry of `angle`."""
    c, s, i, j = np.cos(angle), np.sin(angle), (axis + 1) % 3, (axis + 2) % 3
    R = np.zeros((*np.shape(angle), 3, 3), dtype=np.asarray(angle).dtype)
    R[..., axis, axis], R[..., i, i], R[..., j, j], R[..., i, j], R[..., j, i] = 1, c, c, -s, s
    return R


BASE_FRAMES = turned(2, np.radians([0, 120, 120, 240, 240, 360]))
HEADS = turned(2, np.radians([60, 60, 180, 180, 300, 300])) @ [2, 0, 0]
FEET = BASE_FRAMES @ [7, 0, 0]


def poses(u):
    """Centres of mass and rotation matrices of platform, lower and upper bodies."""
    A = turned(0, u[3]) @ turned(1, u[4]) @ turned(2, u[5])
    heads = u[:3] + HEADS @ A.T
    d = np.einsum("kji,kj->ki", BASE_FRAMES, heads - FEET)
    s = np.sqrt((d * d).sum(axis=1))
    legs = BASE_FRAMES @ turned(0, np.arctan(-d[:, 1] / d[:, 2])) @ turned(1, np.arcsin(d[:, 0] / s))
    return np.concatenate([[u[:3]], FEET, heads]), np.concatenate([[A], legs, legs]), s


def slope(u, d):
    """Velocities, angular velocities (global) and rates of the legs along `d`."""
    (_, A, _), (r, B, s) = poses(u), poses(u + 1j * STEP * d)
    S = (B.imag / STEP) @ A.swapaxes(-1, -2)
    return r.imag / STEP, np.stack([S[:, 2, 1], S[:, 0, 2], S[:, 1, 0]], axis=1), s.imag / STEP


def biases(u, du, h=5e-4):
    """What the rates alone contribute to accelerations and angular accelerations."""
    near = [slope(u + k * h * du, du) for k in (-2, -1, 1, 2)]
    return [(near[0][c] - near[3][c] + 8 * (near[2][c] - near[1][c])) / (12 * h) for c in (0, 1)]


def accelerations(u, du, stiffness=0.0, damping=0.0, force=0.0):
    """`u''` of the six coordinates."""
    bias, bias_w = biases(u, du)
    _, A, s = poses(u)
    _, w, ds = slope(u, du)
    J, J_w, J_s = (np.stack(x, axis=-1) for x in zip(*(slope(u, e) for e in np.eye(6))))
    inertia = A @ np.diag([100, 100, 200]) @ A.swapaxes(-1, -2)
    spin = np.einsum("kij,kj->ki", inertia, w)
    torque = -np.einsum("kij,kj->ki", inertia, bias_w) - np.cross(w, spin)
    Q = np.einsum("kic,ki->c", J, 100 * ([0, 0, -G] - bias)) + np.einsum("kic,ki->c", J_w, torque)
    Q += (np.asarray(force) - stiffness * (s - 8) - damping * ds) @ J_s
    M = 100 * np.einsum("kic,kid->cd", J, J) + np.einsum("kic,kij,kjd->cd", J_w, inertia, J_w)
    return np.linalg.solve(M, Q)


def coordinates(q):
    A = rotations.to_matrix(q[3:7])
    return np.array([*q[:3], math.atan2(-A[1, 2], A[2, 2]), math.asin(A[0, 2]), math.atan2(-A[0, 1], A[0, 0])])


def rates(u, v):
    """Rates of the coordinates from the velocity of the platform."""
    axes = np.array([slope(u, e)[1][0] for e in np.eye(6)[3:]]).T
    return np.concatenate([v[:3], np.linalg.solve(axes, poses(u)[1][0] @ v[3:6])])


def outputs(u, du, given):
    """The outputs of the library that six coordinates and their rates give."""
    _, A, s = poses(u)
    _, w, _ = slope(u, du)
    a = accelerations(u, du, **given)
    values = [*u, *du[:3], *a[:3], *(A[0].T @ w[0]), *s]
    names = [f"{d}platform_{c}" for d in ("d_", "dd_") for c in "xyz"]
    return dict(zip(["platform_x", "platform_y", "platform_z", "alpha", "beta", "gamma", *names, "omega_x", "omega_y", "omega_z",
                     *(f"leg{k}" for k in range(1, 7))], values, strict=True))


# --- equations -------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", VARIANTS)
def test_the_equations_are_those_of_six_coordinates(given, rng):
    """Accelerations of all bodies at random states; found: 2e-13 of the largest at worst."""
    s = build(given)
    for _ in range(5):
        x = random_state(s, rng)
        u = coordinates(x.q)
        du = rates(u, x.v)
        (by, by_w, _), (bias, bias_w) = slope(u, accelerations(u, du, **given)), biases(u, du)
        legs = poses(u)[1]
        bodies = (0, *range(1, 12, 2), *range(2, 13, 2))
        expected = np.array([[*(by + bias)[k], *(legs[k].T @ (by_w + bias_w)[k])] for k in np.argsort(bodies)])
        assert np.abs(x.a.reshape(-1, 6) - expected).max() < 1e-9 * np.abs(x.a).max()


def test_counts():
    m = ENTRY.build()
    assert (len(m.bodies), len(m.labels), m.dof) == (13, 72, 6)
    assert all(math.dist(*(x + [0, 0, z] for x, z in zip(stewart_platform.anchors(k), (0, 5)))) == pytest.approx(8, abs=1e-15)
               for k in range(1, 7))


def test_the_start_is_exact():
    s = build()
    q, v = s.initial_guess()
    assert np.abs(s.phi(0.0, q)).max() < 1e-14 and not v.any() and mbdae.assemble(s).redundant == ()


def test_equal_actuators_balance_the_weight():
    """Nothing moves, the universal joints carry the weight of everything, and half a newton more lifts the platform."""
    s = build({"force": BALANCE})
    x = mbdae.assemble(s)
    assert np.abs(x.a).max() < 1e-13
    feet = [x.lam[s.labels.index(f"base {k}.z")] for k in range(1, 7)]
    assert sum(feet) == pytest.approx(-1300 * G, rel=1e-13) and np.ptp(feet) < 1e-9
    assert mbdae.assemble(build({"force": BALANCE + 0.5})).a[2] > 1e-4


# --- motion ----------------------------------------------------------------------------------------------------------------------------


def by_quadrature(z):
    """Time of the free fall to the height `z`; `5 - z = u^2` removes the singularity of the start."""
    def inertia(z):
        return 700 + 1200 * (3 / (3 + z * z) ** 2 * (1 + 36 / (39 + z * z)) + (6 * z / (39 + z * z)) ** 2 / (3 + z * z))

    return quad(lambda u: 2 * math.sqrt(inertia(5 - u * u) / (1400 * G)), 0, math.sqrt(5 - z), epsabs=1e-13, epsrel=1e-13)[0]


def test_the_free_fall_is_that_of_the_energy_integral():
    for r in ENTRY.references_for({}):
        assert by_quadrature(r.values["platform_z"]) == pytest.approx(r.t, abs=2e-13)


# method, form, rtol, bound of all outputs; found at worst in the three variants: 2e-13, 1.3e-8, 2.7e-8 (accelerations; 5e-9 otherwise)
ROUTES = {
    "DOP853": (SolveIvp("DOP853"), "ode", 1e-13, 2e-12),
    "IDA, Gear": (Ida(), "gear", 1e-10, 2e-7),
    "IDA, GGL": (Ida(), "ggl", 1e-10, 2e-7),
}


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("given", VARIANTS)
def test_bodies_reach_the_references(given, route):
    method, form, tolerance, bound = ROUTES[route]
    references = ENTRY.references_for(given)
    found = solved(build(given), method, [r.t for r in references], formulation=form, rtol=tolerance, atol=0.1 * tolerance)
    for r, o in zip(references, found):
        for name, value in r.values.items():
            assert o[name] == pytest.approx(value, rel=bound, abs=bound)


@pytest.mark.thorough
@pytest.mark.parametrize("given", VARIANTS)
def test_six_coordinates_reach_the_references(given):
    """Found: 2e-12 at worst, 2e-10 in accelerations, for which the motion is differentiated numerically."""
    references = ENTRY.references_for(given)
    start = np.array([0.0, 0.0, 5.0, *[0.0] * 9])
    x = solve_ivp(lambda t, y: np.concatenate([y[6:], accelerations(y[:6], y[6:], **given)]), (0.0, references[-1].t), start, "DOP853",
                  t_eval=[r.t for r in references], rtol=1e-12, atol=1e-13)
    for r, y in zip(references, x.y.T):
        found = outputs(y[:6], y[6:], given)
        for name in set(r.values) - {"energy"}:
            bound = 1e-9 if name.startswith("dd_") else 5e-12
            assert found[name] == pytest.approx(r.values[name], rel=bound, abs=bound)


@pytest.mark.parametrize("given", [{}, {"stiffness": 2e4}])
def test_energy_is_conserved_without_dampers(given):
    found = solved(build(given), SolveIvp("DOP853"), [0.0, 0.5, 1.0], rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose([o["energy"] for o in found], 3500 * G, rtol=1e-12)


def test_a_turned_start_gives_a_turned_motion():
    """The mechanism looks the same after a third of a turn."""
    s, turn, found = build(), turned(2, 2 * np.pi / 3), []
    for v in (np.array([0.5, -0.3, 1.0]), turn @ [0.5, -0.3, 1.0]):
        guess = np.zeros(s.nv)
        guess[:3] = v
        start = mbdae.assemble(s, v=guess)
        x = mbdae.solve(s, SolveIvp("DOP853"), (0.0, 1.0), state=start, t_eval=[1.0], rtol=1e-12, atol=1e-13)
        found.append(x.q[0][:3])
    np.testing.assert_allclose(found[1], turn @ found[0], atol=1e-11)
    assert abs(found[0][0]) > 0.05


@pytest.mark.parametrize(("given", "message"), [
    ({"stiffness": -1.0}, "stiffness must be a number that is not negative, got -1.0"),
    ({"damping": math.inf}, "damping must be a number that is not negative, got inf"),
    ({"stiffness": "hard"}, "stiffness must be a number"),
    ({"damping": True}, "damping must be a number"),
    ({"force": (1.0, 2.0)}, "force must be a number, or six of them"),
    ({"force": math.nan}, "force must be a number, or six of them"),
    ({"force": "up"}, "force must be a number, or six of them"),
    ({"force": [[1.0] * 6]}, "force must be a number, or six of them"),
])
def test_bad_parameters_are_refused(given, message):
    with pytest.raises(ValueError, match="stewart-platform: " + message):
        ENTRY.build(**given)
