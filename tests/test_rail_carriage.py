"""Rail carriage: each part of its equations by a route of its own, its symmetry, published sizes, and two routes to the motion."""

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.spatial.transform import Rotation

import mbdae
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Ida
from mbdae.jacobians.grouping import column_groups
from mbdae.library import rail_carriage as carriage
from mbdae.library import rail_carriage_equations as e
from mbdae.library import rail_contact, rail_track

pytestmark = pytest.mark.thorough
STEP = 1e-30
LEFT = np.tile([1.0, -1.0, 1.0, -1.0, -1.0, 1.0], 7)[1:]  # left and right exchanged


@pytest.fixture(scope="module")
def system():
    return carriage.build()


def random_state(rng, size=0.01):
    return size * rng.normal(size=e.NQ), 0.3 * rng.normal(size=e.NQ)


# --- track -----------------------------------------------------------------------------------------------------------------------------


def test_the_heading_is_the_integral_of_the_curvature():
    places = np.array([10.0, 25.5, 27.3, 40.0, 58.0, 60.0, 66.1, 80.0, 99.9, 120.0])
    for s in places:
        kappa, rate, _ = rail_track.track(s)
        assert kappa == pytest.approx(rail_track.track(s + 1j * STEP)[2].imag / STEP, abs=1e-15)
        assert rate == pytest.approx(rail_track.track(s + 1j * STEP)[0].imag / STEP, abs=1e-14)
    assert rail_track.track(200.0)[2] == pytest.approx(0.0, abs=1e-14)
    assert rail_track.chord(0.0, 200.0)[1] == pytest.approx(4.32, abs=0.01)


@pytest.mark.parametrize(("s0", "s1"), [(20.0, 31.0), (31.0, 20.0), (26.0, 27.0), (0.0, 150.0), (64.0, 54.5)])
def test_chords_are_integrals_of_the_heading(s0, s1):
    heading, edges = rail_track.track(s0)[2], [x for x in rail_track.EDGES if min(s0, s1) < x < max(s0, s1)]
    wanted = [quad(lambda s, f=f: f(rail_track.track(s)[2] - heading), s0, s1, points=edges or None, epsabs=1e-13, limit=200)[0]
              for f in (np.cos, np.sin)]
    np.testing.assert_allclose(rail_track.chord(s0, s1), wanted, atol=1e-11)
    complex_step = rail_track.chord(s0, s1 + 1j * STEP)
    turn = rail_track.track(s1)[2] - heading
    np.testing.assert_allclose([x.imag / STEP for x in complex_step], [np.cos(turn), np.sin(turn)], atol=1e-12)


# --- contact ---------------------------------------------------------------------------------------------------------------------------


def test_derivatives_of_the_constraints(rng):
    for _ in range(5):
        q, v = random_state(rng, 0.004)
        d = rng.normal(size=e.NQ)
        np.testing.assert_allclose(e.phi_q(0.0, q) @ d, e.phi(0.0, q + 1j * STEP * d).imag / STEP, atol=1e-13)
        wanted = -(e.phi_q(0.0, q + 1j * STEP * v).imag / STEP) @ v
        np.testing.assert_allclose(e.gamma(0.0, q, v), wanted, rtol=1e-10, atol=1e-10)
    assert not e.nu(0.0, q).any()


def test_the_contact_is_near_the_smallest_gap(rng):
    """The mean of the gaps lies below the smallest one by at most `SOFT` times the logarithm of the number of points."""
    n = len(rail_contact.ETA)
    for y in (-0.008, -0.002, 0.0, 0.005, 0.009):
        for side in (1.0, -1.0):
            g = np.empty((5, n))
            rail_contact.gaps(y, 1e-4, 0.01, 2e-3, side, g)
            found = rail_contact.contact(y, 1e-4, 0.01, 2e-3, side)
            least = g[0].min() - rail_contact.GAP0
            assert least - rail_contact.SOFT * np.log(n) <= found[0] <= least
            assert g[0, np.argmin(abs(rail_contact.ETA - found[4]))] <= g[0].min() + 20.0 * rail_contact.SOFT


def test_a_displaced_wheelset_rolls_on_different_radii():
    """The radii grow on the side to which it is displaced; the flange is reached after six to seven millimetres."""
    slopes = []
    for y in (0.0, 0.002, 0.004, 0.006, 0.008):
        left, right = (rail_contact.contact(y, 0.0, 0.0, 0.0, side) for side in (1.0, -1.0))
        assert left[5] - right[5] == pytest.approx(0.0, abs=1e-14) if y == 0.0 else left[5] > right[5]
        slopes.append(left[6])
    assert slopes[2] < 0.06 and slopes[4] > 0.9


def test_creep_forces_are_kalkers_for_small_creepages_and_limited_for_large_ones():
    normal = 5e4
    T1, T2 = rail_contact.creep_forces(normal, 0.46, 1e-7, 2e-7, 0.0)
    curvatures = 0.5 / 0.46 + 0.5 / rail_contact.CROWN
    a = (3.0 * normal * 0.75 / (4.0 * rail_contact.SHEAR * curvatures)) ** (1.0 / 3.0)
    np.testing.assert_allclose([T1, T2], [-rail_contact.SHEAR * a**2 * 4.12e-7, -rail_contact.SHEAR * a**2 * 7.34e-7], rtol=1e-3)
    sizes = [np.hypot(*rail_contact.creep_forces(normal, 0.46, x, -0.5 * x, 0.1)) for x in np.geomspace(1e-4, 1.0, 200)]
    assert (np.diff(sizes) >= -1e-9).all() and sizes[-1] == pytest.approx(0.3 * normal, rel=1e-12)
    assert rail_contact.creep_forces(-1.0, 0.46, 0.1, 0.1, 0.0) == (0.0, 0.0)


# --- inertia, suspension ---------------------------------------------------------------------------------------------------------------


def kinetic_energy(t, q, v):
    """From translations and Euler's angles, a body after the other; complex arguments give its derivatives."""
    total, c = 0.0, np.zeros((2, 6), dtype=complex)
    for b, kind in enumerate(e.KINDS):
        e.coordinates(t, q.astype(complex), v.astype(complex), b, c)
        (s, y, _, _, roll, pitch), (ds, dy, dz, dyaw, droll, dpitch) = c
        w = dyaw + rail_track.track(s)[0] * ds
        x = np.array([droll, dpitch + w * np.sin(roll), w * np.cos(roll)])
        omega = np.array([x[0] * np.cos(pitch) - x[2] * np.sin(pitch), x[1], x[0] * np.sin(pitch) + x[2] * np.cos(pitch)])
        total += e.MASSES[kind] / 2.0 * ((ds * (1.0 - rail_track.track(s)[0] * y)) ** 2 + dy**2 + dz**2)
        total += (e.INERTIAS[kind] * omega**2).sum() / 2.0
    return total


def momenta(t, q, v):
    return np.array([kinetic_energy(t, q, v + 1j * STEP * d).imag / STEP for d in np.eye(e.NQ)])


def test_mass_matrix_and_inertia_forces_are_lagranges(rng):
    q, v = random_state(rng)
    t, h = 1.9, 1e-5
    by_velocities = np.array([(momenta(t, q, v + d) - momenta(t, q, v - d)) / 2.0 for d in np.eye(e.NQ)])
    np.testing.assert_allclose(e.mass(t, q), by_velocities, rtol=1e-11, atol=1e-9)
    forces, rows = np.zeros(e.NQ), e.frames(t, q, v)
    for b in range(7):
        e._inertia(t, q, v, b, rows, forces)
    weight = np.zeros(e.NQ)
    for b in range(7):
        weight[e.FIRST[b] + 2] = -e.G * e.MASSES[e.KINDS[b]]
    by_positions = np.array([kinetic_energy(t, q + 1j * STEP * d, v).imag / STEP for d in np.eye(e.NQ)])
    rate = (momenta(t + h, q + h * v, v) - momenta(t - h, q - h * v, v)) / (2.0 * h)
    np.testing.assert_allclose(forces, by_positions - rate + weight, atol=1e-8 * np.abs(forces).max())


def place(t, q, b):
    """Centre and axes of a body in the axes of the ground, by integrals of the heading."""
    c = np.zeros((2, 6))
    e.coordinates(t, q, 0.0 * q, b, c)
    (s, y, z, yaw, roll, pitch), kind = c[0], e.KINDS[b]
    track = solve_ivp(lambda x, _: [np.cos(rail_track.track(x)[2]), np.sin(rail_track.track(x)[2])], (0.0, s), [0.0, 0.0], method="DOP853",
                      rtol=1e-13, atol=1e-13, max_step=0.5).y[:, -1]
    heading = rail_track.track(s)[2]
    r = np.array([track[0] - y * np.sin(heading), track[1] + y * np.cos(heading), z + e.HEIGHTS[kind]])
    return r, Rotation.from_euler("ZXY", [heading + yaw, roll, 0.0 if kind == 2 else pitch]).as_matrix()


def potential(t, q):
    """Of springs, bump stops and anti-roll bars."""
    bodies, total = [place(t, q, b) for b in range(7)], 0.0
    for (A, B), d in zip(e.PAIRS, e.SPRINGS):
        (ra, Ra), (rb, Rb) = bodies[A], bodies[B]
        off = Rb.T @ (ra + Ra @ d[:3] - rb - Rb @ d[3:6])
        total += 0.5 * (d[6:9] * off**2).sum() - d[12] * off[2]
        if d[13]:
            total += quad(e.bump_stop, 0.0, off[1], points=[x for x in e.BUMP_PLACES if x < abs(off[1])] or None, limit=200)[0]
    for b in e.BOGIES:
        total += 0.5 * e.ROLL * (q[3] - q[e.FIRST[b] + 4]) ** 2 + 0.5 * e.PITCH * (q[4] - q[e.FIRST[b] + 5]) ** 2
    return total


@pytest.mark.parametrize("t", [0.0, 1.9, 4.5])
def test_suspension_forces_are_those_of_a_potential(rng, monkeypatch, t):
    """On straight track, on a ramp, and in the arc; without the dampers, which move with the track."""
    q, v = random_state(rng)
    rows = e.frames(t, q, v)
    springs = e.SPRINGS.copy()
    springs[:, 9:12] = 0.0
    monkeypatch.setattr(e, "SPRINGS", springs)
    forces, h = np.zeros(e.NQ), 1e-5
    for k in range(len(e.PAIRS)):
        e.spring.py_func(k, rows, forces)
    for b in e.BOGIES:
        roll, pitch = e.ROLL * (q[3] - q[e.FIRST[b] + 4]), e.PITCH * (q[4] - q[e.FIRST[b] + 5])
        forces[[3, e.FIRST[b] + 4, 4, e.FIRST[b] + 5]] += [-roll, roll, -pitch, pitch]
    wanted = np.array([-(potential(t, q + h * d) - potential(t, q - h * d)) / (2.0 * h) for d in np.eye(e.NQ)])
    np.testing.assert_allclose(forces, wanted, atol=1e-6 * np.abs(wanted).max())


def test_dampers_take_power(rng):
    """What dampers do to a motion: its power is minus the sum of `c u^2` over their rates."""
    for _ in range(3):
        q, v = random_state(rng)
        with_them, without = e.force(0.0, q, v), e.force(0.0, q, -v)  # on straight track springs and inertia have even parts
        odd = 0.5 * (with_them - without)
        assert odd @ v < 0.0


def test_bump_stops_have_the_forces_of_the_table():
    np.testing.assert_allclose([e.bump_stop(x) for x in e.BUMP_PLACES], e.BUMP_FORCES)
    fine = np.linspace(-0.08, 0.08, 4001)
    values = np.array([e.bump_stop(x) for x in fine])
    assert (np.diff(values) >= 0.0).all() and not values[np.abs(fine) < 0.025].any()
    np.testing.assert_allclose(values, -values[::-1], atol=1e-6)
    for x in (0.027, -0.041, 0.0601, 0.08):
        assert e.bump_stop(x + 1j * STEP).imag / STEP == pytest.approx((e.bump_stop(x + 1e-7) - e.bump_stop(x - 1e-7)) / 2e-7, rel=1e-5)


# --- the whole vehicle -----------------------------------------------------------------------------------------------------------------


def test_left_and_right_are_equal(rng):
    """On straight track, a mirrored state has mirrored forces and gaps."""
    q, v = random_state(rng, 0.003)
    lam = -e.WHEEL_LOAD * (1.0 + 0.1 * rng.normal(size=8))
    swapped = lam.reshape(4, 2)[:, ::-1].ravel()
    np.testing.assert_allclose(e.phi(0.0, LEFT * q).reshape(4, 2)[:, ::-1].ravel(), e.phi(0.0, q), atol=1e-15)
    for f, given in ((e.force, ()), (e.friction, (lam,))):
        mirrored = f(0.0, LEFT * q, LEFT * v, *((swapped,) if given else ()))
        np.testing.assert_allclose(LEFT * mirrored, f(0.0, q, v, *given), atol=1e-6)


def test_it_starts_in_equilibrium(system):
    x = mbdae.assemble(system)
    assert np.abs(x.a).max() < 1e-9 and not x.q.any()
    rows = e.frames(0.0, x.q, x.v)
    wheels = [e.wheel_forces(0.0, x.q, x.v, x.lam, k, rows) for k in range(8)]
    assert sum(N * cosine + T2 * sine for N, _, T2, _, sine, cosine in wheels) == pytest.approx(44482.0 * e.G, rel=1e-12)


def test_sizes_are_the_published_ones(system):
    """41 coordinates, 8 constraints; 98 unknowns; body by body the Jacobian has the published blocks, in at most 46 groups."""
    problem = mbdae.GGL(system)
    assert (system.nv, system.nc, problem.n) == (41, 8, 98)
    motion = mbdae.solve(system, Ida(), (0.0, 5.0), t_eval=np.linspace(0.0, 5.0, 21), rtol=1e-6, atol=1e-6)
    seen = np.zeros((98, 98), dtype=bool)
    for k, t in enumerate(motion.t):
        y, yd = problem.pack(mbdae.State(t=t, q=motion.q[k], v=motion.v[k], a=motion.a[k], lam=motion.lam[k]))
        seen |= problem.jacobian(t, y, yd, 100.0).toarray() != 0.0
    bodies = {b: np.arange(max(0, e.FIRST[b]), e.FIRST[b] + 6) for b in range(7)}
    joined = {(A, B) for A, B in e.PAIRS} | {(B, A) for A, B in e.PAIRS} | {(b, b) for b in range(7)}
    for (a, rows), (b, columns) in ((x, y) for x in bodies.items() for y in bodies.items()):
        for shift in (0, 41):
            assert seen[np.ix_(41 + rows, columns + shift)].any() == ((a, b) in joined)
    assert 1300 <= seen.sum() <= 1620
    assert column_groups(seen).count <= 46


def outputs(system, motion):
    return [carriage.ENTRY.observe(system, *row) for row in zip(motion.t, motion.q, motion.v, motion.a, motion.lam)]


@pytest.mark.parametrize(("method", "tol", "digits"), [(SolveIvp("DOP853"), 1e-9, 5e-7), (Ida(), 1e-8, 2e-5)])
def test_two_routes_lead_to_the_references(system, method, tol, digits):
    wanted = [r for r in carriage.ENTRY.references if r.t <= 6.0]
    motion = mbdae.solve(system, method, (0.0, 6.0), t_eval=[r.t for r in wanted], rtol=tol, atol=tol)
    largest = {name: max(abs(r.values[name]) for r in carriage.ENTRY.references) for name in wanted[0].values}
    for r, found in zip(wanted, outputs(system, motion)):
        for name, value in r.values.items():
            assert found[name] == pytest.approx(value, abs=digits * largest[name]), (r.t, name)


@pytest.mark.parametrize("form", ["residual", "explicit"])
def test_jacobians_are_differences_of_small_increments(system, rng, form):
    """In the arc, along random directions, with increments far below the 50 micrometres of the contact."""
    problem = mbdae.GGL(system, form)
    motion = mbdae.solve(system, Ida(), (0.0, 3.0), t_eval=[3.0], rtol=1e-6, atol=1e-6)
    y, yd = problem.pack(mbdae.State(t=3.0, q=motion.q[0], v=motion.v[0], a=motion.a[0], lam=motion.lam[0]))
    J = problem.jacobian(3.0, y, yd, 0.0).toarray()
    for _ in range(5):
        d = rng.normal(size=problem.n) * np.concatenate([np.full(82, 1e-3), np.full(8, 1e3), np.full(8, 1e-3)])
        near, far = ((problem.residual(3.0, y + h * d, yd) - problem.residual(3.0, y - h * d, yd)) / (2.0 * h) for h in (1e-4, 2e-4))
        for rows in (slice(0, 41), slice(41, 82), slice(82, 98)):
            wanted = ((4.0 * near - far) / 3.0)[rows]
            assert np.abs((J @ d)[rows] - wanted).max() <= 1e-5 * np.abs(wanted).max()


def test_the_outer_wheels_are_loaded_and_the_leading_ones_guided_by_their_flanges(system):
    motion = mbdae.solve(system, Ida(), (0.0, 4.0), t_eval=[4.0], rtol=1e-5, atol=1e-5)
    (out,) = outputs(system, motion)  # in the arc to the left
    assert out["y_1"] < -6e-3 and out["y_3"] < -6e-3 and out["y_2"] > 0.0
    assert out["normal_force_1R"] > out["normal_force_1L"]
    assert sum(out[f"normal_force_{axle}R"] - out[f"normal_force_{axle}L"] for axle in "1234") > 0.0


@pytest.mark.parametrize(("at", "rate"), [(3, 1.5), (e.FIRST[2] + 1, 2.0)])
def test_a_run_ends_where_a_wheel_lifts_off(system, at, rate):
    """A blow: to the car body's roll, and to a wheelset from the side. What follows is cut off, and the status tells it."""
    v, name = np.zeros(e.NQ), "a wheel lifts off its rail"
    v[at] = rate
    motion = mbdae.solve(system, Ida(), (0.0, 3.0), v0=v, rtol=1e-5, atol=1e-5)
    assert motion.status == mbdae.Status.OUT_OF_LIMITS and not motion.success and motion.t[-1] < 3.0
    assert motion.message.startswith(f"{name} at t = {motion.t[-1]:.9g}")
    values = np.array([carriage.LIMITS[name](*row) for row in zip(motion.t, motion.q, motion.v, motion.lam)])
    assert (values[:-1] >= 0.0).all() and values[-1] < 0.0


def test_the_flange_ends_far_off_the_middle():
    for y, is_off in ((0.008, False), (-0.009, False), (0.02, True), (-0.02, True)):
        q = np.zeros(e.NQ)
        q[e.FIRST[3] + 1] = y
        assert (carriage.LIMITS["a wheel climbs its flange"](0.0, q, q, q) < 0.0) == is_off
