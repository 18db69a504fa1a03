"""Parts of the projections: the rate of a user's energy, rounding of the constraints, reasons of failures."""

import numpy as np
import pytest

import mbdae
from mbdae import Status, library
from mbdae.compilation.compiled import compiled
from mbdae.integrators.projections.energy import rate
from mbdae.integrators.projections.levels import positions, positions_beside, prepare, rounding, velocities
from mbdae.integrators.projections.project import NO_ENERGY, Projector, project
from mbdae.system import kernels, kkt
from mbdae.system.codes import GOOD, NO_POSITION, NO_VALUE, NOT_CONSERVED, NOT_FINITE, RANK_LOST
from mbdae.system.motion import accelerations, refine, refined_accelerations


def consistent(name="double-spherical-pendulum"):
    """A system, and a state in motion on its constraints, as `project` takes it."""
    s = library.system(name)
    x = mbdae.assemble(s, 0.0, s.start.q, np.linspace(0.5, 1.5, s.nv))
    return s, [np.array(y) for y in (x.q, x.v, x.a, x.lam)]


@pytest.mark.parametrize("loss", [-3.0, -1e-3, 0.0, 1e-4, 0.2, 50.0])
def test_a_rate_of_the_energy_is_noticed_at_once(loss):
    """`H = E + loss t` of a mechanism that conserves `E`."""
    s, state = consistent()
    p = Projector("test", s, "PVAE-0", "mass", lambda t, q, v: s.energy(t, q, v) + loss * t)
    code, _ = project(0.0, *state, s.energy(0.0, *state[:2]) * (1.0 + 1e-7), p.projection, s.model, p.work)
    assert code == (NOT_CONSERVED if loss else GOOD)
    power, difference, span = p.projection.energy.out[:3]
    assert power == pytest.approx(loss, abs=1e-6) and abs(difference) < 1e-6 and 0.0 < span <= 1e-3
    status, reason = p.explain(NOT_CONSERVED, 0.0, state[0])
    assert status == Status.PROJECTION_FAILED and "the energy is not conserved, dH/dt = " in reason and f"= {power:.3g} at t" in reason


@pytest.mark.parametrize(("loss", "code"), [(20.0, GOOD), (1e3, NOT_CONSERVED)])
def test_a_rate_below_the_rounding_of_the_energy_is_not_noticed(loss, code):
    """Of 1e9 J, differences over a microsecond have errors of 0.1 W by rounding, of which a thousandfold is tolerated."""
    s, state = consistent()
    p = Projector("test", s, "PVAE-0", "mass", lambda t, q, v: 1e9 + s.energy(t, q, v) + loss * t)
    target = 1e9 + s.energy(0.0, *state[:2]) + 1e-4
    assert project(0.0, *state, target, p.projection, s.model, p.work)[0] == code
    assert 1e-6 < p.projection.energy.out[2] < 2e-6


def test_the_rate_of_an_energy_is_that_along_the_motion():
    """A function with a rate through each of its arguments, over a time in which nothing changes by more than a small part."""
    s, (q, v, a, _) = consistent()
    c, d = np.linspace(1.0, 2.0, s.nq), np.linspace(-1.0, 3.0, s.nv)
    p = Projector("test", s, "PVAE-0", "mass", lambda t, q, v: 5.0 * np.sin(t) + np.sin(c @ q) + 0.1 * (d @ v) ** 2)
    for scale in (1.0, 1e3):
        power, difference, span = rate(0.3, q, v, scale * a, p.projection.energy)
        exact = 5.0 * np.cos(0.3) + np.cos(c @ q) * (c @ s.qdot(q, v)) + 0.2 * (d @ v) * (d @ a) * scale
        assert power == pytest.approx(exact, abs=1e-7 * scale) and abs(power - exact) < 10.0 * difference + 1e-9 * scale
        quickest = max(np.abs(s.qdot(q, v)).max() / (1.0 + np.abs(q).max()), scale * np.abs(a).max() / (1.0 + np.abs(v).max()))
        assert span == pytest.approx(min(6e-6 / quickest, 1e-3))
    assert rate(0.3, q, 0.0 * v, 0.0 * a, p.projection.energy)[2] == 1e-3


def test_reasons_of_failures():
    s, (q, _, _, _) = consistent()
    p = Projector("test", s, "PVAE-0", "mass")
    for code, status, part in ((NO_ENERGY, Status.PROJECTION_FAILED, "the energy projection has no solution"),
                               (NO_VALUE, Status.NOT_FINITE, "the energy, not the equations, is not finite at t = 0.25")):
        found, reason = p.explain(code, 0.25, q)
        assert found == status and part in reason
    moved = q.copy()
    moved[3:] += [0.5, 0.0, 0.0]
    worst = [s.labels[k] for k in np.argsort(np.abs(s.phi(0.0, moved)))]
    assert worst[-1] in p.explain(NO_POSITION, 0.0, moved)[1]


def test_rounding_of_constraints_grows_with_positions_and_gradients():
    s = mbdae.System(mbdae.Mechanism("free", [mbdae.Particle("mass", 2.0)]))
    work = s.workspace()
    for q, G, factor in (([-9.0, 1.0, 0.0], [4.0, -20.0], 200.0), ([0.0, 0.0, 0.0], [0.1], 1.0), ([3.0, 0.0, 0.0], [0.5, 0.1], 4.0)):
        assert rounding(np.array(q), np.array(G), s.model, work) == pytest.approx(2.3e-16 * factor, rel=1e-9, abs=0.0)


@pytest.mark.parametrize(("factor", "code"), [(1.2, GOOD), (30.0, NO_ENERGY)])
def test_velocities_are_not_corrected_by_more_than_their_size(factor, code):
    """A particle on a rod without gravity: the gradient of its energy has no component in the positions."""
    bodies = [mbdae.Particle("mass", 2.0, (0.0, 0.0, -1.0), (3.0, 0.0, 0.0))]
    s = mbdae.System(mbdae.Mechanism("free", bodies, [mbdae.Rod("rod", "ground", "mass", length=1.0)]))
    state = [np.array(y) for y in (s.start.q, s.start.v, s.start.a, s.start.lam)]
    p = Projector("test", s, "PVAE-0", "mass")
    assert project(0.0, *state, 9.0 * factor, p.projection, s.model, p.work)[0] == code
    if code == GOOD:
        np.testing.assert_allclose(state[1], [3.0 * factor**0.5, 0.0, 0.0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("factor", [1.1, 2.0])
def test_the_unit_of_the_energy_does_not_matter(factor):
    """Bodies 2^60 times as heavy move the same: iterations for the energy, more than three of them, are as many."""
    found = []
    for mass in (1.0, 2.0**60):
        bodies = [mbdae.Particle(name, mass, (x, 0.0, 0.0), (0.0, 3.0, w)) for name, x, w in (("a", 1.0, 0.0), ("b", 2.0, 0.5))]
        rods = [mbdae.Rod("r", "ground", "a", length=1.0), mbdae.Rod("s", "a", "b", length=1.0)]
        s = mbdae.System(mbdae.Mechanism("two rods", bodies, rods, gravity=(0.0, 0.0, -10.0)))
        state = [np.array(y) for y in (s.start.q, s.start.v, s.start.a, s.start.lam)]
        p, target = Projector("test", s, "PVAE-0", "mass"), factor * s.energy(0.0, *state[:2])
        code, reached = project(0.0, *state, target, p.projection, s.model, p.work)
        assert code == GOOD and reached == pytest.approx(target, rel=1e-15)
        found.append([p.solves, *state[0], *state[1]])
    np.testing.assert_allclose(found[0], found[1], rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("name", ["double-spherical-pendulum", "spatial-four-bar", "heavy-top"])
def test_velocities_and_accelerations_far_away_come_back_to_rounding(name):
    """One correction leaves the rounding errors of 1e8, a second one those of the result."""
    s, (q, v, a, lam) = consistent(name)
    away = np.linalg.solve(s.mass(0.0, q), s.phi_q(0.0, q).toarray().T @ np.linspace(1.0, 2.0, s.nc))
    away *= 1e8 / np.abs(away).max()
    state, p = [q.copy(), v + away, a + away, lam.copy()], Projector("test", s, "PVA", "mass")
    assert project(0.0, *state, 0.0, p.projection, s.model, p.work)[0] == GOOD
    G, nu, gamma = s.phi_q(0.0, state[0]), s.nu(0.0, state[0]), s.gamma(0.0, state[0], state[1])
    scale = 1e-14 * (1.0 + abs(G).max())
    assert np.abs(G @ state[1] - nu).max() < scale * (1.0 + np.abs(v).max())
    assert np.abs(G @ state[2] - gamma).max() < scale * (1.0 + np.abs(a).max() + np.abs(gamma).max())


@pytest.mark.parametrize(("share", "corrections"), [(0.0, 1), (0.4, 4), (0.49, 4), (0.51, 1), (0.8, 1)])
def test_corrections_are_repeated_as_long_as_they_halve_the_residual(share, corrections):
    """Four times at most. With the matrix of other positions of a rod, turned by an angle, `1 - cos(angle)` of the residual is left."""
    bodies = [mbdae.Particle("mass", 2.0, (1.0, 0.0, 0.0), (0.0, 0.0, 0.0))]
    s = mbdae.System(mbdae.Mechanism("rod", bodies, [mbdae.Rod("rod", "ground", "mass", length=1.0)]))
    p, radial = Projector("test", s, "PV", "mass"), np.array([1.0 - share, np.sqrt(share * (2.0 - share)), 0.0])
    assert prepare(0.0, s.start.q, False, p.work, s.model, p.work) == GOOD
    v = 3.0 * radial
    velocities(0.0, radial, v, p.work, p.projection, s.model, p.work)
    assert p.solves == corrections and radial @ v == pytest.approx(3.0 * share**corrections, abs=1e-14)


# --- factors of other positions, and refinement ----------------------------------------------------------------------------------


@compiled
def solved(model, work, b, c):
    """`x` of `M x + Phi_q^T y = b`, `Phi_q x = c` with the factors at hand."""
    x, y = np.zeros_like(b), np.zeros_like(c)
    kkt.solve(model, work, b, c, x, y)
    return x


@compiled
def in_one(q, v, a, lam, model, work):
    kernels.place_velocity(v, model, work)
    return refined_accelerations(0.0, q, v, a, lam, model, work)


@compiled
def in_two(q, v, a, lam, model, work):
    kernels.place_velocity(v, model, work)
    status = accelerations(0.0, q, v, a, lam, model, work)
    refine(0.0, q, v, a, lam, model, work)
    return status


def beside(name, away, off):
    """A system with factors at positions `away` from those of its start, and positions `off` its constraints; both relative."""
    s, (q, *_) = consistent(name)
    rng = np.random.default_rng(1)
    p = Projector("test", s, "PV", "mass")
    there, given = (s.retract(q, size * rng.normal(size=s.nv)) for size in (away, off))
    assert prepare(0.0, there, False, p.work, p.model, p.work) == GOOD
    return s, p, q, given


@pytest.mark.parametrize("name", ["double-spherical-pendulum", "andrews", "bricard", "spatial-four-bar"])
@pytest.mark.parametrize(("away", "off"), [(0.0, 0.0), (1e-6, 1e-9), (1e-4, 1e-5), (1e-3, 1e-2), (0.1, 1e-3), (0.3, 1e-2)])
def test_positions_by_factors_of_positions_beside(name, away, off):
    """On the constraints, near the nearest ones, and with factors of their own, also where those at hand are of no use."""
    s, p, q, given = beside(name, away, off)
    found, nearest = given.copy(), given.copy()
    assert positions_beside(0.0, found, p.projection, p.model, p.work) == GOOD
    b, c = np.linspace(1.0, 2.0, s.nv), s.phi_q(0.0, found) @ np.ones(s.nv)
    x, exact = solved(p.model, p.work, b, c), s.solve_kkt(0.0, found, b, c).x
    np.testing.assert_allclose(x, exact, rtol=0.0, atol=1e-8 * np.abs(exact).max())
    assert np.abs(s.phi(0.0, found)).max() <= 10.0 * rounding(found, np.array([np.abs(s.phi_q(0.0, found).data).max()]), p.model, p.work)
    assert positions(0.0, nearest, p.projection, p.model, p.work) == GOOD
    distances = [np.sqrt(d @ s.mass_times(0.0, q, d)) for d in (s.difference(x, given) for x in (found, nearest))]
    assert distances[0] <= 1.1 * distances[1] + 1e-12


@pytest.mark.parametrize("off", [1.0, 3.0, 10.0])
@pytest.mark.parametrize("name", ["andrews", "bricard", "spatial-four-bar"])
def test_positions_that_are_far_off_are_found_or_refused(name, off):
    s, p, _, q = beside(name, 1e-3, off)
    code = positions_beside(0.0, q, p.projection, p.model, p.work)
    assert code in (NO_POSITION, RANK_LOST, NOT_FINITE) or (code == GOOD and np.abs(s.phi(0.0, q)).max() < 1e-10)


def test_positions_that_are_not_finite_are_refused():
    _, p, _, q = beside("andrews", 1e-3, 1e-3)
    q[3] = np.inf
    assert positions_beside(0.0, q, p.projection, p.model, p.work) == NOT_FINITE


@pytest.mark.parametrize("name", ["andrews", "bricard", "hmmwv", "double-pendulum"])
def test_refined_accelerations_are_those_that_are_refined_afterwards(name):
    s, (q, v, *_) = consistent(name)
    p = Projector("test", s, "PV", "mass")
    found = []
    for solve in (in_one, in_two):
        assert prepare(0.0, q, False, p.work, p.model, p.work) == GOOD
        a, lam = np.zeros(s.nv), np.zeros(s.nc)
        assert solve(q, v, a, lam, p.model, p.work) == GOOD
        found.append((a, lam))
    for x, y in zip(*found):
        np.testing.assert_allclose(x, y, rtol=0.0, atol=1e-12 * (1.0 + np.abs(y).max()))
