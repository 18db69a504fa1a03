"""Particles on rods: four particles, double spherical pendulum, simple pendulum, tethered satellites.

Their equations are written a second time here, with the forces as derivatives of a potential, and integrated by SciPy directly.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ellipj, ellipk

import mbdae
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Ida
from mbdae.library import double_spherical_pendulum, four_particles, pendulum_particle, tethered_satellites

from .forms import random_state
from .helpers import thorough_but


def springs(r):
    """Forces on the four particles."""
    F = np.zeros((4, 3))
    for i, j, k in ((0, 2, 50.0), (1, 3, 500.0)):
        d = r[j] - r[i]
        pull = 2.0 * k * (d @ d - 1.0) * d
        F[i] += pull
        F[j] -= pull
    return F


def weight(*forces):
    """Constant forces."""
    return lambda r: np.array(forces)


def gravitation(r):
    """Of the Earth, on masses of 100 kg."""
    return -3.986e16 * r / np.linalg.norm(r, axis=1)[:, None] ** 3


@dataclass(frozen=True)
class Case:
    """A mechanism with its rods as pairs of particles (None is the origin) and its forces.

    `atol` is for explicit methods, `ida` the tolerances and the last time for IDA. Of the bounds, one triple per route, the three numbers
    are for positions, velocities and multipliers, relative to the largest value of the kind.
    """

    entry: object
    given: tuple
    masses: tuple
    rods: tuple
    force: object
    atol: float
    ida: tuple
    bounds: dict


# "dop": DOP853 at rtol 1e-12; "own": the equations below with DOP853 at rtol 1e-13; both at the last time of the references. "ida": GGL
# form at the last time it is given. Found in the order of the bounds, positions, velocities, multipliers:
#                     dop                      own                      ida
#   four particles    3e-13, 2e-11, 3e-10      4e-14, 2e-12, 3e-11      2e-10, 6e-9, 2e-7
#   toolbox           2e-11, 2e-10, 2e-9       2e-12, 2e-11, 2e-10      7e-10, 6e-9, 4e-9
#   metis             1e-10, 5e-11, 3e-11      1e-11, 6e-12, 5e-12      2e-10, 2e-10, 2e-10
#   projected-rk      2e-9, 7e-9, 2e-8         2e-10, 7e-10, 2e-9       2e-10, 2e-10, 7e-10
#   pendulum          2e-9, 2e-9, 7e-10        2e-10, 2e-10, 7e-11      1e-9, 2e-9, 1e-9
#   satellites        2e-12, 1e-11, 1e-9       5e-12, 4e-11, 4e-9       4e-11, 3e-10, 1e-7
FOUR = ((1.0, 3.0, 2.3, 1.7), ((0, 1), (2, 3)), springs, 1e-13, (1e-11, 1e-12, 2.0))
CHAIN, TRIANGLE = ((None, 0), (0, 1)), ((0, 1), (1, 2), (2, 0))
CASES = {
    "four particles": Case(four_particles.ENTRY, (), *FOUR, {
        "dop": (5e-12, 2e-10, 3e-9), "own": (5e-13, 2e-11, 3e-10), "ida": (5e-9, 1e-7, 3e-6)}),
    "four particles, toolbox": Case(four_particles.ENTRY, (("start", "toolbox"),), *FOUR, {
        "dop": (2e-10, 2e-9, 2e-8), "own": (2e-11, 2e-10, 2e-9), "ida": (1e-8, 1e-7, 1e-6)}),
    "metis": Case(
        double_spherical_pendulum.ENTRY, (), (1.0, 1.5), CHAIN, weight((0, 0, -9.81), (0, 0, -14.715)), 1e-13, (1e-11, 1e-12, 2.0), {
            "dop": (1e-9, 1e-9, 1e-9), "own": (1e-10, 1e-10, 1e-10), "ida": (5e-9, 5e-9, 5e-9)}),
    "projected-rk": Case(
        double_spherical_pendulum.ENTRY, (("example", "projected-rk"),), (1.0, 2.0), CHAIN, weight((0, 0, -10), (0, 0, -20)), 1e-13,
        (1e-11, 1e-12, 2.0), {"dop": (2e-8, 5e-8, 2e-7), "own": (2e-9, 5e-9, 2e-8), "ida": (5e-9, 5e-9, 1e-8)}),
    "pendulum": Case(
        pendulum_particle.ENTRY, (), (1.0,), ((None, 0),), weight((0, -10, 0)), 1e-13, (1e-11, 1e-12, 10.0), {
            "dop": (1e-8, 1e-8, 1e-8), "own": (2e-9, 2e-9, 1e-9), "ida": (1e-8, 1e-8, 1e-8)}),
    "satellites": Case(
        tethered_satellites.ENTRY, (), (100.0,) * 3, TRIANGLE, gravitation, 1e-9, (1e-12, 1e-8, 1000.0), {
            "dop": (2e-11, 2e-10, 2e-8), "own": (5e-11, 5e-10, 5e-8), "ida": (5e-10, 5e-9, 1e-6)}),
}


@pytest.fixture(params=thorough_but(("pendulum", "projected-rk", "metis"), CASES))
def case(request):
    return CASES[request.param]


@cache
def built(key):
    return mbdae.System(CASES[key].entry.build(**dict(CASES[key].given)))


def system(case):
    """The system of a case, built once."""
    return built(next(key for key in CASES if CASES[key] is case))


def references(case):
    """Motion and multipliers by time."""
    return {r.t: r.values for r in case.entry.references_for(dict(case.given)) if r.kind == "recomputed"}


def motion(case, q, v):
    """Accelerations and multipliers of `(d^2 - l^2)/2`, from Lagrange's equations of the first kind."""
    n = len(case.masses)
    r, u, M = q.reshape(n, 3), v.reshape(n, 3), np.repeat(case.masses, 3)
    G, gamma = np.zeros((len(case.rods), n, 3)), np.zeros(len(case.rods))
    for k, (i, j) in enumerate(case.rods):
        d, d_d = (x[j] - (0.0 if i is None else x[i]) for x in (r, u))
        gamma[k] = -d_d @ d_d
        G[k, j] += d
        if i is not None:
            G[k, i] -= d
    G, Q = G.reshape(len(case.rods), 3 * n), case.force(r).ravel()
    lam = np.linalg.solve(G / M @ G.T, G @ (Q / M) - gamma)
    return (Q - G.T @ lam) / M, lam


def check(case, route, t, out):
    """Outputs against the references, by the bounds of the route."""
    kinds = {}
    for name, value in references(case)[t].items():
        kinds.setdefault(2 if name.startswith("lambda") else 1 if name.startswith("d_") else 0, []).append((out[name] - value, value))
    found = [np.abs(np.array(kinds[k])).max(axis=0) for k in range(3)]
    for (e, size), bound in zip(found, case.bounds[route]):
        assert e < bound * size


def outputs(case, s, x):
    """Outputs of a solution by time."""
    assert x.success, x.message
    return {t: case.entry.observe(s, t, *state) for t, *state in zip(x.t, x.q, x.v, x.a, x.lam)}


# --- the equations -------------------------------------------------------------------------------------------------------


def test_accelerations_and_multipliers_are_those_of_lagranges_equations(case, rng):
    s = system(case)
    x = random_state(s, rng, 1e-4 if case.force is gravitation else 0.05)
    a, lam = motion(case, x.q, x.v)
    out = case.entry.observe(s, 0.0, x.q, x.v, x.a, x.lam)
    np.testing.assert_allclose(x.a, a, rtol=1e-11, atol=1e-12 * np.abs(a).max())
    np.testing.assert_allclose([out[name] for name in out if name.startswith("lambda")], lam, rtol=1e-11, atol=1e-12 * np.abs(lam).max())


def test_starts_are_consistent_as_they_are_given(case):
    s = system(case)
    q, v = s.initial_guess()
    x = mbdae.assemble(s)
    assert x.redundant == ()
    np.testing.assert_array_equal(x.q, q)
    np.testing.assert_allclose(x.v, v, rtol=1e-15, atol=1e-12)


@pytest.mark.parametrize(("build", "parameters", "message"), [
    (four_particles.build, {"start": "rest"}, "four-particles: start must be 'paper' or 'toolbox', got 'rest'"),
    (double_spherical_pendulum.build, {"example": ["metis"]}, "double-spherical-pendulum: example must be 'metis' or 'projected-rk'"),
])
def test_bad_parameters_are_refused(build, parameters, message):
    with pytest.raises(ValueError, match=message):
        build(**parameters)


# --- the motion ----------------------------------------------------------------------------------------------------------


def test_dop853_reaches_the_references_and_keeps_what_is_conserved(case):
    s, times = system(case), [0.0, *references(case)]
    x = mbdae.solve(s, SolveIvp("DOP853"), (0.0, times[-1]), t_eval=times, rtol=1e-12, atol=case.atol)
    found = outputs(case, s, x)
    check(case, "dop", times[-1], found[times[-1]])
    for kind in ("energy", "momentum", "angular_momentum"):
        values = np.array([[out[name] for name in out if name.startswith(kind)] for out in found.values()])
        assert np.abs(values - values[0]).max(initial=0.0) <= 1e-9 * np.abs(values[0]).max(initial=0.0)


@pytest.mark.thorough
def test_the_equations_written_anew_reach_the_references(case):
    s, t_end = system(case), list(references(case))[-1]
    n = s.nq
    x = solve_ivp(lambda t, y: np.concatenate([y[n:], motion(case, y[:n], y[n:])[0]]), (0.0, t_end), np.concatenate(s.initial_guess()),
                  "DOP853", rtol=1e-13, atol=0.1 * case.atol)
    state = mbdae.assemble(s, t_end, x.y[:n, -1], x.y[n:, -1])
    check(case, "own", t_end, case.entry.observe(s, t_end, state.q, state.v, state.a, state.lam))


def test_ida_reaches_the_references(case):
    rtol, atol, t_end = case.ida
    s = system(case)
    x = mbdae.solve(s, Ida(), (0.0, t_end), formulation="ggl", t_eval=[t_end], rtol=rtol, atol=atol)
    check(case, "ida", t_end, outputs(case, s, x)[t_end])


def test_the_pendulum_is_an_elliptic_function():
    """`sin(theta/2) = k cd(w t)`; found: 7e-14 up to 30 s."""
    k, w = np.sqrt(0.2), np.sqrt(10.0)  # theta(0) = arccos 0.6
    for t, values in references(CASES["pendulum"]).items():
        sn, cn, dn, _ = ellipj(w * t + ellipk(k * k), k * k)
        s, d_s = k * sn, k * w * cn * dn
        c = np.sqrt(1.0 - s * s)
        x, y, rate = 2 * s * c, 2 * s * s - 1.0, 2 * d_s / c
        exact = {"x": x, "y": y, "d_x": -y * rate, "d_y": x * rate, "lambda": -30.0 * y - 12.0}
        assert exact == pytest.approx(values, abs=1e-12)


@pytest.mark.parametrize(("start", "energy"), [("paper", 20 / 17), ("toolbox", 65 / 17)])
def test_the_four_particles_have_the_published_energy(start, energy):
    case = CASES["four particles" if start == "paper" else "four particles, toolbox"]
    x = mbdae.assemble(system(case))
    assert case.entry.observe(system(case), 0.0, x.q, x.v, x.a, x.lam)["energy"] == pytest.approx(energy, rel=1e-15)


@pytest.mark.thorough
def test_the_satellites_begin_as_a_spinning_triangle_in_a_circular_orbit():
    s, case = system(CASES["satellites"]), CASES["satellites"]
    x = mbdae.assemble(s)
    r, v = x.q.reshape(3, 3), x.v.reshape(3, 3)
    centre, speed = r.mean(axis=0), v.mean(axis=0)
    np.testing.assert_allclose(centre, [7e6, 0.0, 0.0], atol=1e-9)
    assert speed @ speed / 7e6 == pytest.approx(3.986e14 / 7e6**2, rel=1e-14)
    np.testing.assert_allclose(v - speed, np.cross([0.01, 0.0, 0.0], r - centre), atol=1e-12)
    tensions = [case.entry.observe(s, 0.0, x.q, x.v, x.a, x.lam)[f"tension{k}"] for k in (1, 2, 3)]
    np.testing.assert_allclose(tensions, 3.29, atol=5e-3)
