"""Projections of a state: nearest, on the constraints, at the energy asked for."""

import re

import numpy as np
import pytest
from scipy.linalg import null_space

import mbdae
from mbdae import Status, library
from mbdae.integrators.projections.project import NO_ENERGY, Projector, project
from mbdae.system.codes import GOOD, NO_POSITION

from .helpers import GROUND

NAMES = ["andrews", "spatial-four-bar", "bricard", "slider-crank-free", "heavy-top", "double-spherical-pendulum"]
NORMS = pytest.mark.parametrize("norm", ["mass", "identity"])
EACH = pytest.mark.parametrize("name", NAMES)


def disturbed(system, size, seed=0):
    """A state near the start, off the constraints."""
    rng, x = np.random.default_rng(seed), system.start
    q = system.retract(x.q, size * rng.normal(size=system.nv))
    return [q, *(np.array(y) + size * rng.normal(size=len(y)) for y in (x.v, x.a)), np.array(x.lam)]


def projected(system, state, levels="PVA", norm="mass", target=0.0, energy=None):
    """Code and energy; `state` is changed."""
    p = Projector("test", system, levels, norm, energy)
    return project(0.0, *state, target, p.projection, system.model, p.work)


def metric(system, norm, q):
    return system.mass(0.0, q) if norm == "mass" else np.eye(system.nv)


def tangential(system, q, force):
    """What of a force the constraints do not take up."""
    return null_space(system.phi_q(0.0, q).toarray(), rcond=1e-8).T @ force


@EACH
@NORMS
def test_the_constraints_hold_on_three_levels(name, norm):
    s = library.system(name)
    state = disturbed(s, 1e-3)
    assert projected(s, state, "PVA", norm)[0] == GOOD
    q, v, a, _ = state
    G = s.phi_q(0.0, q)
    scale = 1.0 + abs(G).max()
    assert np.abs(s.phi(0.0, q)).max() < 2e-15 * scale * (1.0 + np.abs(q).max())
    assert np.abs(G @ v - s.nu(0.0, q)).max() < 1e-14 * scale * (1.0 + np.abs(v).max())
    assert np.abs(G @ a - s.gamma(0.0, q, v)).max() < 1e-14 * scale * (1.0 + np.abs(a).max() + np.abs(s.gamma(0.0, q, v)).max())


@EACH
@NORMS
def test_the_state_moves_along_the_normals(name, norm):
    """So it is the nearest in its metric: what has moved is taken up by the gradients of the constraints."""
    s = library.system(name)
    old = disturbed(s, 1e-3)
    state = [x.copy() for x in old]
    assert projected(s, state, "PVA", norm)[0] == GOOD
    N, q = metric(s, norm, state[0]), state[0]
    moved = s.difference(q, old[0])
    assert np.abs(moved).max() > 1e-5
    # rotations do not commute, which is of second order in the displacement
    assert np.abs(tangential(s, q, N @ moved)).max() < 1e-5 * np.abs(N @ moved).max()
    for new, before in zip(state[1:3], old[1:3]):
        assert np.abs(tangential(s, q, N @ (new - before))).max() < 1e-9 * np.abs(N @ (new - before)).max()


def test_each_level_alone():
    s = library.system("andrews")
    for levels, kept in (("P", (1, 2, 3)), ("V", (0, 2, 3)), ("PV", (2, 3)), ("", (0, 1, 2, 3))):
        old = disturbed(s, 1e-5)
        state = [x.copy() for x in old]
        assert projected(s, state, levels)[0] == GOOD
        assert [k for k in range(4) if np.array_equal(state[k], old[k])] == list(kept), levels


@EACH
def test_multipliers_are_those_of_the_equations_of_motion(name):
    s = library.system(name)
    state = disturbed(s, 1e-3)
    assert projected(s, state)[0] == GOOD
    q, v, _, lam = state
    a = np.linalg.solve(s.mass(0.0, q), s.force(0.0, q, v) - s.phi_q(0.0, q).T @ lam)
    gamma = s.gamma(0.0, q, v)
    np.testing.assert_allclose(s.phi_q(0.0, q) @ a, gamma, rtol=0.0, atol=1e-11 * (1.0 + np.abs(gamma).max() + np.abs(a).max()))


@NORMS
def test_positions_too_far_away_are_not_found(norm):
    s = library.system("closed-loop-bars")
    state = disturbed(s, 30.0)
    code, _ = projected(s, state, "P", norm)
    assert code in (GOOD, NO_POSITION)
    p = Projector("test", s, "P", norm)
    status, reason = p.explain(NO_POSITION, 0.0, disturbed(s, 1.0)[0])
    assert status == Status.PROJECTION_FAILED and "largest residuals" in reason and any(label in reason for label in s.labels)


# --- energy --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["double-spherical-pendulum", "bricard", "heavy-top"])
@NORMS
def test_the_energy_is_reached_within_the_constraints(name, norm):
    s = library.system(name)
    start = s.energy(0.0, s.start.q, s.start.v)
    for seed, part in enumerate((1e-9, 1e-6, 1e-3)):
        state, target = disturbed(s, 1e-4, seed), start * (1.0 + part)
        code, reached = projected(s, state, "PVAE-0", norm, target)
        assert code == GOOD
        q, v, a, _ = state
        assert reached == pytest.approx(target, rel=4e-16) and s.energy(0.0, q, v) == pytest.approx(target, rel=4e-16)
        assert np.abs(s.phi(0.0, q)).max() < 1e-14
        assert np.abs(s.phi_q(0.0, q) @ v - s.nu(0.0, q)).max() < 1e-13
        assert np.abs(s.phi_q(0.0, q) @ a - s.gamma(0.0, q, v)).max() < 1e-11 * (1.0 + np.abs(s.gamma(0.0, q, v)).max())


@NORMS
def test_the_correction_points_along_the_gradient_of_the_energy(norm):
    """Of a consistent state: by the same multiple of the gradient within the constraints for positions and velocities.

    Velocities then go along with the constraints as the forces of these would make them, without a change of their kinetic energy.
    """
    s, x = library.system("double-spherical-pendulum"), library.system("double-spherical-pendulum").start
    state = [np.array(y) for y in (x.q, x.v, x.a, x.lam)]
    state[0] = mbdae.assemble(s, 0.0, x.q + [0.0, 0.1, 0.2, 0.1, 0.0, 0.3]).q
    assert projected(s, state, "PV", norm)[0] == GOOD
    old = [y.copy() for y in state]
    assert projected(s, state, "PVAE-0", norm, s.energy(0.0, *old[:2]) + 1e-7)[0] == GOOD
    N, Z = metric(s, norm, old[0]), null_space(s.phi_q(0.0, old[0]).toarray())
    slope, moved = Z.T @ -s.force(0.0, old[0], 0.0 * old[1]), Z.T @ N @ (state[0] - old[0])
    eta = moved @ slope / (slope @ slope)
    assert eta > 1e-10
    np.testing.assert_allclose(moved, eta * slope, rtol=0.0, atol=1e-5 * eta * np.abs(slope).max())
    dv = Z @ np.linalg.solve(Z.T @ N @ Z, Z.T @ s.mass_times(0.0, old[0], old[1]))
    aim, G = old[1] + eta * dv, s.phi_q(0.0, state[0]).toarray()
    back = np.linalg.solve(s.mass(0.0, state[0]), G.T)
    aim -= back @ np.linalg.solve(G @ back, G @ aim)
    assert np.abs(aim - old[1] - eta * dv).max() > 1e-2 * eta * np.abs(dv).max()
    np.testing.assert_allclose(state[1], aim, rtol=0.0, atol=1e-5 * eta * np.abs(dv).max())


def hanging():
    rod = mbdae.Rod("rod", GROUND, "mass", length=1.0)
    return mbdae.Mechanism("hanging", [mbdae.Particle("mass", 1.0, (0.0, 0.0, -1.0), (0.0, 0.0, 0.0))], [rod], gravity=(0.0, 0.0, -10.0))


def test_there_is_nothing_below_the_lowest_energy():
    """The gradient within the constraints vanishes for a pendulum at rest."""
    s = mbdae.System(hanging())
    state = [np.array(y) for y in (s.start.q, s.start.v, s.start.a, s.start.lam)]
    assert projected(s, [x.copy() for x in state], "PVAE-0", target=-10.0)[0] == GOOD
    assert projected(s, [x.copy() for x in state], "PVAE-0", target=-10.001)[0] == NO_ENERGY
    state[1][0] = 1e-3  # there is a gradient now, but it does not lead as far
    assert projected(s, state, "PVAE-0", target=-10.001)[0] == NO_ENERGY


def test_a_function_of_the_user_takes_the_place_of_the_energy():
    s = library.system("double-spherical-pendulum")
    target = s.energy(0.0, s.start.q, s.start.v) * (1.0 + 1e-6)
    states = [disturbed(s, 1e-5) for _ in range(2)]
    assert projected(s, states[0], "PVAE-0", target=target)[0] == GOOD
    assert projected(s, states[1], "PVAE-0", target=target, energy=s.energy)[0] == GOOD
    for a, b in zip(*states):
        np.testing.assert_allclose(a, b, rtol=0.0, atol=1e-11 * (1.0 + np.abs(a).max()))


@pytest.mark.parametrize("value, message", [(np.nan, "a finite number, got nan at the start, t = 0"), (None, "a number, got None at t = 0"),
                                            (np.ones(2), r"a number, got array\(\[1., 1.\]\)"), ("1.0", "a number, got '1.0'")])
def test_an_energy_that_is_no_number(value, message):
    s = library.system("double-spherical-pendulum")
    for method in (mbdae.ProjectedGauss(project="PVAE-0", energy=lambda t, q, v: value),
                   mbdae.Projected(mbdae.HalfImplicit(), "PVAE-0", energy=lambda t, q, v: value)):
        with pytest.raises(ValueError, match=f"{type(method).__name__}: energy must return {message}"):
            mbdae.solve(s, method, (0.0, 0.1))


def test_an_energy_that_is_no_number_later():
    """Then the energy is to blame, not the equations."""
    s = library.system("double-spherical-pendulum")
    for wrong, name in ((np.nan, "gauss"), (np.inf, "projected")):
        def energy(t, q, v, wrong=wrong):
            return s.energy(t, q, v) if t < 0.045 else wrong

        method = mbdae.ProjectedGauss(h=0.01, project="PVAE-0", energy=energy)
        method = method if name == "gauss" else mbdae.Projected(mbdae.HalfImplicit(h=0.01), "PVAE-0", energy=energy)
        x = mbdae.solve(s, method, (0.0, 0.1))
        assert x.status == Status.NOT_FINITE and x.t[-1] == pytest.approx(0.04)
        assert x.message.startswith("the energy, not the equations, is not finite at t = 0.05")


def test_an_exception_in_the_energy_reaches_the_user():
    s = library.system("double-spherical-pendulum")
    calls = []

    def energy(t, q, v):
        calls.append(t)
        if len(calls) > 200:
            raise RuntimeError("no more energy")
        return s.energy(t, q, v)

    for method in (mbdae.ProjectedGauss(h=1e-2, project="PVAE-0", energy=energy),
                   mbdae.Projected(mbdae.HalfImplicit(h=1e-2), "PVAE-n", energy=energy)):
        calls.clear()
        with pytest.raises(RuntimeError, match="no more energy"):
            mbdae.solve(s, method, (0.0, 5.0))


# --- who has none --------------------------------------------------------------------------------------------------------------


def spring(**more):
    return mbdae.TSDA("strut", GROUND, "mass", s_i=(0.0, 0.0, 2.0), k=10.0, l0=1.0, **more)


FORCES = {
    "damper": (spring(c=0.1), "TSDA 'strut' has damping"),
    "law": (spring(law=lambda l, ld, t: l**3), "TSDA 'strut' has a law of its own"),
    "user force": (mbdae.UserForce("wind", "mass", lambda t, r, A, v, omega, F, T: None), "UserForce 'wind' has no known potential"),
    "point force": (mbdae.PointForce("push", "mass", (1.0, 0.0, 0.0)), "PointForce 'push' has no known potential"),
}


@pytest.mark.parametrize("case", FORCES)
@pytest.mark.parametrize("make", [lambda e: mbdae.ProjectedGauss(project=e), lambda e: mbdae.Projected(mbdae.HalfImplicit(), e)],
                         ids=["gauss", "projected"])
def test_forces_without_a_potential_are_refused_by_name(case, make):
    force, message = FORCES[case]
    rod = mbdae.Rod("rod", GROUND, "mass", length=1.0)
    m = mbdae.Mechanism("m", [mbdae.Particle("mass", 1.0, (1.0, 0.0, 0.0))], [rod], forces=[force], gravity=(0.0, 0.0, -10.0))
    for energy in ("PVAE-n", "PVAE-0"):
        with pytest.raises(ValueError, match=rf"{message}.*'PVA', or give the conserved quantity as energy="):
            mbdae.solve(m, make(energy), (0.0, 0.01))
    assert mbdae.solve(m, make("PVA"), (0.0, 0.01)).success


def test_springs_without_damping_are_taken():
    rod = mbdae.Rod("rod", GROUND, "mass", length=1.0)
    m = mbdae.Mechanism("m", [mbdae.Particle("mass", 1.0, (1.0, 0.0, 0.0))], [rod], forces=[spring()], gravity=(0.0, 0.0, -10.0))
    x = mbdae.solve(m, mbdae.ProjectedGauss(h=1e-2, project="PVAE-0"), (0.0, 2.0))
    assert x.success and np.ptp(x.energy) < 3e-14


def test_drivers_and_friction_are_refused_by_name():
    with pytest.raises(ValueError, match="'crank' may do work, so the energy of driven"):
        body = mbdae.PlanarBody("body", 1.0, 1.0)
        driver = mbdae.PlanarAngleDriver("crank", GROUND, "body", lambda t: 0.1 * t)
        m = mbdae.Mechanism("driven", [body], drivers=[driver], gravity=(0.0, -10.0, 0.0))
        mbdae.solve(m, mbdae.ProjectedGauss(project="PVAE-0"), (0.0, 0.1))
    with pytest.raises(ValueError, match=r"Friction .* has no known potential"):
        mbdae.solve(library.system("slider-crank", mu=0.2), mbdae.ProjectedGauss(project="PVAE-0"), (0.0, 0.1))


def test_functions_without_an_energy_are_refused():
    s = mbdae.System.from_functions(nq=1, nc=0, mass=lambda t, q: np.eye(1), force=lambda t, q, v: -q, phi=lambda t, q: q[:0], name="plain")
    with pytest.raises(ValueError, match="plain has no energy function; give one"):
        mbdae.solve(s, mbdae.ProjectedGauss(project="PVAE-n"), (0.0, 0.1))
    with pytest.raises(ValueError, match="energy must be a function of"):
        mbdae.solve(s, mbdae.ProjectedGauss(project="PVAE-n", energy=3.0), (0.0, 0.1))


@pytest.mark.parametrize("make", [mbdae.ProjectedGauss, lambda **more: mbdae.Projected(mbdae.HalfImplicit(), **more)],
                         ids=["gauss", "projected"])
def test_fields_that_make_no_sense(make):
    with pytest.raises(ValueError, match=r"project must be one of '', 'P', .*got 'VP'"):
        make(project="VP")
    with pytest.raises(ValueError, match="norm must be 'mass' or 'identity', got 'euclid'"):
        make(norm="euclid")


# --- energies that are not conserved -------------------------------------------------------------------------------------------


def swing(damping, energy):
    """A pendulum from functions, let go at rest."""
    return mbdae.System.from_functions(
        nq=2, nc=1, mass=lambda t, q: np.eye(2), force=lambda t, q, v: np.array([0.0, -9.81]) - damping * v,
        phi=lambda t, q: np.array([q @ q - 1.0]), q0=[1.0, 0.0], energy=energy)


AROUND = {"gauss": lambda p, h=1e-2, **more: mbdae.ProjectedGauss(h=h, project=p, **more),
          "half-implicit": lambda p, h=1e-2, **more: mbdae.Projected(mbdae.HalfImplicit(h=h), p, **more),
          "Rosenbrock": lambda p, h=1e-2, **more: mbdae.Projected(mbdae.RosenbrockNystrom(), p, **more)}
METHODS = pytest.mark.parametrize("make", AROUND.values(), ids=AROUND)
WHOSE = pytest.mark.parametrize("project", ["PVAE-0", "PVAE-n"])


@METHODS
@WHOSE
def test_losses_are_noticed_though_the_function_hides_them(make, project):
    """The rate told is the power of the damping."""
    s = swing(2.0, lambda t, q, v: 0.5 * v @ v + 9.81 * q[1])
    x = mbdae.solve(s, make(project), (0.0, 2.0))
    assert x.status == Status.PROJECTION_FAILED and x.t[-1] < 0.05
    pattern = r"energy is not conserved, dH/dt = (\S+) at t = (\S+) \(project with 'PVA', or give the conserved quantity\)"
    told = re.search(pattern, x.message)
    rate, t = float(told.group(1)), float(told.group(2))
    assert rate == pytest.approx(-2.0 * (9.81 * t) ** 2, rel=0.05) and t > x.t[-1]


@METHODS
def test_a_damper_is_noticed_though_an_energy_is_given(make):
    """A weak one, before it has taken a ten-thousandth."""
    rod = mbdae.Rod("rod", GROUND, "mass", length=1.0)
    m = mbdae.Mechanism("m", [mbdae.Particle("mass", 1.0, (1.0, 0.0, 0.0))], [rod], forces=[spring(c=1e-3)], gravity=(0.0, 0.0, -10.0))
    s = mbdae.System(m)
    x = mbdae.solve(s, make("PVAE-0", energy=s.energy), (0.0, 2.0))
    assert x.status == Status.PROJECTION_FAILED and "the energy is not conserved, dH/dt = -" in x.message
    free = mbdae.solve(s, mbdae.ProjectedGauss(h=1e-2), (0.0, max(x.t[-1], 1e-2)))
    assert abs(free.energy[-1] - free.energy[0]) < 1e-3


def trap(k, speed):
    """A spring whose end moves: what is conserved is the energy in its frame, which depends on time."""
    return mbdae.System.from_functions(
        nq=1, nc=0, mass=lambda t, q: np.eye(1), force=lambda t, q, v: -k * (q - speed * t), phi=lambda t, q: q[:0], q0=[0.3], v0=[0.0],
        energy=lambda t, q, v: 0.5 * (v[0] - speed) ** 2 + 0.5 * k * (q[0] - speed * t) ** 2)


def shaken(rate):
    """A quick force on a particle; what is conserved depends on time alone but for the velocity."""
    return mbdae.System.from_functions(
        nq=1, nc=0, mass=lambda t, q: np.eye(1), force=lambda t, q, v: np.array([np.cos(rate * t)]), phi=lambda t, q: q[:0],
        q0=[0.3], v0=[0.5], energy=lambda t, q, v: 0.5 * (v[0] - np.sin(rate * t) / rate) ** 2)


def hoop(turn):
    """A bead on a hoop that is turned about its vertical diameter: Jacobi's integral is conserved, the energy is not."""
    return mbdae.System.from_functions(
        nq=3, nc=2, mass=lambda t, q: np.eye(3), force=lambda t, q, v: np.array([0.0, 0.0, -9.81]), q0=[1.0, 0.0, 0.0], v0=[0.0, turn, 0.3],
        phi=lambda t, q: np.array([q @ q - 1.0, np.cos(turn * t) * q[1] - np.sin(turn * t) * q[0]]),
        energy=lambda t, q, v: 0.5 * v @ v + 9.81 * q[2] - turn * (q[0] * v[1] - q[1] * v[0]))


CONSERVED = {"trap": lambda: trap(10.0, 1.0), "shaken": lambda: shaken(200.0), "hoop": lambda: hoop(3.0),
             "at rest": lambda: swing_at_rest(0.0), "high above": lambda: swing_at_rest(1e6),
             "rigid body": lambda: with_function("heavy-top"), "redundant": lambda: with_function("bricard"),
             "spatial": lambda: with_function("spatial-four-bar")}


def swing_at_rest(level):
    return mbdae.System.from_functions(
        nq=2, nc=1, mass=lambda t, q: np.eye(2), force=lambda t, q, v: np.array([0.0, -9.81]), phi=lambda t, q: np.array([q @ q - 1.0]),
        q0=[0.0, -1.0], v0=[0.0 if level == 0.0 else 1e-4, 0.0], energy=lambda t, q, v: level + 0.5 * v @ v + 9.81 * q[1])


def with_function(name):
    """A mechanism whose energy comes from Python."""
    s = library.system(name)
    return s, lambda t, q, v: s.energy(t, q, v)


@pytest.mark.thorough
@pytest.mark.parametrize("case", CONSERVED)
@WHOSE
def test_energies_that_are_conserved_are_taken(case, project):
    """At rest, beside a large constant, with a time that enters, with rotations and redundant constraints."""
    made = CONSERVED[case]()
    s, function = made if isinstance(made, tuple) else (made, None)
    for make in AROUND.values():
        x = mbdae.solve(s, make(project, h=2e-3, energy=function), (0.0, 0.5))
        assert x.success and np.ptp([s.energy(*row) for row in zip(x.t, x.q, x.v)]) < 1e-12 * (1.0 + np.abs(x.energy[0])), x.message


def test_another_energy_for_the_hoop_is_refused():
    s = hoop(3.0)
    x = mbdae.solve(s, mbdae.ProjectedGauss(h=2e-3, project="PVAE-0", energy=lambda t, q, v: 0.5 * v @ v + 9.81 * q[2]), (0.0, 0.5))
    assert x.status == Status.PROJECTION_FAILED and "the energy is not conserved" in x.message


# --- the metric ------------------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("name, h, t_end", [("spatial-four-bar", 2e-3, 1.0), ("slider-crank-free", 1e-2, 5.0), ("heavy-top", 1e-2, 2.0),
                                            ("precessing-top", 1e-2, 1.0)])
@WHOSE
@pytest.mark.parametrize("stages", [2, 3])
def test_the_energy_can_be_kept_in_the_identity_metric(name, h, t_end, project, stages):
    x, y = (mbdae.solve(library.system(name), mbdae.ProjectedGauss(h=h, stages=stages, project=project, norm=n), (0.0, t_end))
            for n in ("identity", "mass"))
    assert x.success and np.ptp(x.energy) < 1e-11 * (1.0 + np.abs(x.energy[0])) and x.constraint_residuals[:, :2].max() < 1e-10, x.message
    assert y.success and np.abs(x.q - y.q).max() > 0.0
