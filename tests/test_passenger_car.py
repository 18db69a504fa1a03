"""Passenger car: guided rods, the car at rest, its modes, symmetry and energy, both coordinates, two routes to the motion."""

from functools import cache

import numpy as np
import pytest

import mbdae
from mbdae import System, extend, library
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Ida
from mbdae.library import passenger_car as car
from mbdae.library.bushing import Bushing
from mbdae.library.guided_rod import GuidedRod
from mbdae.library.rigid import place, rates
from mbdae.model.geometry import Geometry
from mbdae.problems import FORMULATIONS
from mbdae.system.assembly import completed, positions, velocities

from .helpers import rigid

pytestmark = pytest.mark.thorough


@cache
def system(coordinates="cartesian", cut=False, **parameters):
    more = {"cut": car.loops()} if cut else {}
    return System(library.mechanism("passenger-car", **parameters), coordinates=coordinates, **more)


def random_state(s, t, rng, size=1e-3):
    """A consistent state near the start; `size` of displacements, and of velocities relative to some m/s."""
    d = velocities(s, t, s.start.q, size * rng.normal(size=s.nv)) - velocities(s, t, s.start.q, np.zeros(s.nv))
    q = positions(s, t, s.retract(s.start.q, d))
    return completed(s, t, q, velocities(s, t, q, s.start.v + 100.0 * size * rng.normal(size=s.nv)))


def outputs(found):
    """Observables of a motion in either coordinates."""
    s = system()
    q, v, a = (found.q, found.v, found.a)
    if found.system.cartesian is not None:
        bodies = found.system.to_cartesian(q, v, a)
        q, v, a = bodies.q, bodies.v, bodies.a
    lam = np.zeros((len(found.t), s.nc))
    lam[:, [s.labels.index(name) for name in found.system.labels]] = found.lam
    return [car.ENTRY.observe(s, *row) for row in zip(found.t, q, v, a, lam)]


# --- guided rods -----------------------------------------------------------------------------------------------------------


def test_kernels_of_the_guided_rod_are_its_derivatives(rng):
    """Between two bodies and from the ground, with a motion of which all derivatives enter."""
    f = mbdae.Harmonic(0.1, 0.2, 3.0, 0.4)
    bodies = [rigid(rng, "a"), rigid(rng, "b")]
    rods = [GuidedRod("one", "a", "b", axis=(0.0, 0.6, 0.8), length=0.9, f=f, s_i=(0.1, 0.2, 0.0), s_j=(0.0, -0.2, 0.1)),
            GuidedRod("two", "ground", "a", axis=(0.6, 0.8, 0.0), length=0.5, f=f, s_j=(0.2, 0.0, 0.0))]
    extend.check(mbdae.Mechanism("rods", bodies, rods))


@pytest.mark.parametrize(("field", "value"), [("length", 0.0), ("axis", (0.0, 0.0, 0.0)), ("s_i", (1.0, 2.0))])
def test_bad_rods_are_refused(field, value):
    with pytest.raises(ValueError, match=field):
        GuidedRod("rod", "a", "b", **{"axis": (1.0, 0.0, 0.0), "length": 1.0, "f": 0.0, field: value})


def test_a_rod_that_is_not_moved_is_a_rod(rng):
    """The car with its rack in the middle, either way: accelerations, and multipliers of the same scale."""
    guided = library.mechanism("passenger-car", amplitude=0.0)
    rods = [mbdae.Rod(j.name, j.i, j.j, j.s_i, j.s_j, j.length) if isinstance(j, GuidedRod) else j for j in guided.joints]
    first, second = System(guided), System(mbdae.Mechanism("rods", guided.bodies, rods, (), guided.forces, gravity=guided.gravity))
    x = random_state(first, 0.0, rng)
    y = completed(second, 0.0, x.q, x.v)
    np.testing.assert_allclose(x.a, y.a, rtol=1e-9, atol=1e-9 * np.abs(y.a).max())
    np.testing.assert_allclose(x.lam, y.lam, rtol=1e-9, atol=1e-9 * np.abs(y.lam).max())


def test_pictures_show_the_rod_from_its_guided_end():
    """And a circle at both of its ends."""
    bodies = [mbdae.RigidBody("rack", 1.0, (1.0, 1.0, 1.0)), mbdae.RigidBody("hub", 1.0, (1.0, 1.0, 1.0), (0.0, 0.0, 1.0))]
    rod = GuidedRod("tie", "rack", "hub", axis=(0.0, 1.0, 0.0), length=1.0, f=mbdae.Polynomial((0.0, 0.1)), s_i=(0.2, 0.0, 0.0),
                    s_j=(0.2, 0.0, 0.0))
    geometry = Geometry(mbdae.Mechanism("m", bodies, [rod]))
    q = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    for t in (0.0, 2.0):
        picture = geometry.at(t, q)
        ends = np.array([[0.2, 0.1 * t, 0.0], [0.2, 0.0, 1.0]])
        assert picture.rods[0] == pytest.approx(ends) and picture.joints == pytest.approx(ends) and len(picture.ground) == 0
    assert [len(line) for line in picture.bodies] == [3, 3]  # through the middle of the guide


def test_all_tie_rods_of_the_car_are_drawn():
    picture = system().geometry.at(0.0, system().start.q)
    guided = [j for j in system().mechanism.joints if isinstance(j, GuidedRod)]
    rods = [j for j in system().mechanism.joints if isinstance(j, mbdae.Rod)]
    assert len(guided) == 2 and len(picture.rods) == len(rods) + len(guided)
    for rod, ends in zip(guided, picture.rods[-2:]):
        assert np.linalg.norm(ends[1] - ends[0]) == pytest.approx(rod.length, rel=1e-10)


def test_files_do_not_hold_guided_rods(tmp_path):
    """As all elements with kernels of their own: the format has the types of the package's model only."""
    rods = [GuidedRod("tie", "ground", "a", axis=(0.0, 1.0, 0.0), length=1.0, f=0.0)]
    m = mbdae.Mechanism("m", [mbdae.RigidBody("a", 1.0, (1.0, 1.0, 1.0), (1.0, 0.0, 0.0))], rods)
    with pytest.raises(mbdae.DescriptionError, match=r"joints\[0\]: GuidedRod 'tie' has the type GuidedRod.*add it after loading"):
        mbdae.save(m, tmp_path / "m.yaml")


def test_the_rack_moves_as_told():
    motion = next(j.f for j in library.mechanism("passenger-car").joints if isinstance(j, GuidedRod))
    for t in (0.05, 0.1, 0.3, 0.45, 0.55, 0.9, 2.0):
        x, rate, curvature = motion(t)
        h = 1e-4
        ends = [motion(t + s * h) for s in (1.0, -1.0)]
        assert rate == pytest.approx((ends[0][0] - ends[1][0]) / (2.0 * h), abs=1e-7)
        assert curvature == pytest.approx((ends[0][1] - ends[1][1]) / (2.0 * h), abs=1e-5)
        assert abs(x) <= 0.006 and (t < 0.5 or x == pytest.approx(0.006 * np.sin(np.pi * t), abs=1e-15))


@pytest.mark.parametrize("parameters", [{"amplitude": 0.061}, {"amplitude": -1e-3}, {"speed": 0.5}, {"frequency": 7.0}, {"speed": True},
                                        {"amplitude": float("nan")}])
def test_steering_beyond_its_stops_and_other_nonsense_are_refused(parameters):
    (name,) = parameters
    with pytest.raises(ValueError, match=f"passenger-car: {name} must be a number from"):
        library.mechanism("passenger-car", **parameters)


# --- the car ---------------------------------------------------------------------------------------------------------------


def test_sizes():
    joint, cut = system("joint"), system("joint", cut=True)
    assert (system().nq, system().nc, system().dof, len(system().mechanism.bodies)) == (266, 110, 118, 38)
    assert (joint.nq, joint.nv, joint.nc, joint.dof) == (152, 124, 6, 118)
    assert (cut.nq, cut.nv, cut.nc, cut.dof) == (194, 166, 48, 118)
    links = {name for name in joint.tree.cut if not name.startswith("free")}
    assert len(links) == 6 and set(cut.tree.cut) == {*car.loops(), *links} and all(b.joint for b in cut.tree.branches[1:])
    assert len(joint.excitation(0.3)) == 2  # displacement and rate, which both rods share


@pytest.mark.parametrize("coordinates", ["cartesian", "joint"])
def test_the_design_position_is_a_static_equilibrium(coordinates):
    s = system(coordinates)
    assert np.abs(s.start.a).max() <= 1e-8  # forces of 6000 N on parts of 1 kg
    loads = [v for k, v in outputs_at_rest().items() if k.startswith("load")]
    assert sum(loads) == pytest.approx(9.81 * sum(b.mass for b in s.mechanism.bodies), rel=1e-12)
    assert loads[0] == pytest.approx(loads[1], rel=1e-10) and loads[2] == pytest.approx(loads[3], rel=1e-10)


def outputs_at_rest():
    x = system().start
    return car.ENTRY.observe(system(), 0.0, x.q, x.v, x.a, x.lam)


def test_modes_are_those_of_a_car():
    p = FORMULATIONS["partition"](system("joint"))
    rates = np.linalg.eigvals(-p.jacobian(0.0, p.y0, p.yd0, 0.0).toarray())
    assert rates.real.max() <= 1e-4  # the car stands anywhere, and wheels turn
    hertz = np.sort(np.abs(rates[rates.imag > np.maximum(1.0, 0.7 * np.abs(rates))])) / (2.0 * np.pi)  # all but the slip of the tyres
    assert np.all((hertz[:3] > 1.0) & (hertz[:3] < 1.6)) and hertz[3] > 5.0  # heave, pitch and roll
    hops = rates[(np.abs(rates) > 2.0 * np.pi * 12.0) & (np.abs(rates) < 2.0 * np.pi * 13.5) & (rates.imag > 0.0)]
    assert len(hops) == 4 and np.all(-hops.real / np.abs(hops) > 0.2)
    assert 700.0 < hertz[-1] < 1000.0 and np.abs(rates).max() < 6000.0


def mirrored(s, q, v):
    """The state on the other side of the car, body by body."""
    names = [b.name for b in s.mechanism.bodies]
    swap = {"left": "right", "right": "left"}
    other = [names.index(" ".join(swap.get(word, word) for word in name.split())) for name in names]
    q, v = q.reshape(-1, 7)[other] * [1, -1, 1, 1, -1, 1, -1], v.reshape(-1, 6)[other] * [1, -1, 1, -1, 1, -1]
    return q.ravel(), v.ravel()


def test_the_car_is_symmetric(rng):
    s = system(amplitude=0.0)
    x = random_state(s, 0.0, rng)
    q, v = mirrored(s, x.q, x.v)
    y = completed(s, 0.0, q, v)
    assert np.abs(s.phi(0.0, q)).max() <= 1e-12
    np.testing.assert_allclose(mirrored(s, q, x.a)[1], y.a, atol=1e-9 * np.abs(x.a).max())


def test_power_of_tyres_dampers_and_rack_changes_the_energy(rng):
    s, t, h = system(), 0.3, 1e-7  # parts move with 5000 rad/s
    x = random_state(s, t, rng)

    def at(dt):
        return s.retract(x.q, dt * x.v + 0.5 * dt * dt * x.a), x.v + dt * x.a

    change = (s.energy(t, *at(h)) - s.energy(t, *at(-h))) / (2.0 * h)
    assert change == pytest.approx(power(s, t, x), rel=1e-6)


def power(s, t, x):
    """Of all that is neither mass nor spring."""
    names = [b.name for b in s.mechanism.bodies]
    total = -float(x.lam @ s.nu(t, x.q))  # of the rack
    for f in s.mechanism.forces:
        if isinstance(f, Bushing):
            total -= _damped(f, *(names.index(n) for n in (f.i, f.j)), x)
        elif isinstance(f, mbdae.TSDA):
            length, rate = _length(f, *(names.index(n) for n in (f.i, f.j)), x)
            total -= f.law(length, rate, t) * rate
        elif isinstance(f, mbdae.UserForce):
            k = names.index(f.bodies[0])
            (r, A), (u, w) = place(x.q, k), rates(x.v, k)
            F, T = np.zeros((1, 3)), np.zeros((1, 3))
            f.function(t, r.reshape(1, 3).copy(), A.reshape(1, 3, 3).copy(), u.reshape(1, 3).copy(), w.reshape(1, 3).copy(), F, T)
            total += float(F[0] @ u + T[0] @ w)
    return total


def _damped(f, i, j, x):
    """Power that the dampers of a bushing take: of the rate of `d`, and of the relative angular velocity."""
    (_, A), (_, B) = place(x.q, i), place(x.q, j)
    wi, wj = rates(x.v, i)[1], rates(x.v, j)[1]
    d = A.T @ (_point(x, j, f.s_j)[0] - place(x.q, i)[0])
    rate = A.T @ (_point(x, j, f.s_j)[1] - rates(x.v, i)[0]) - np.cross(wi, d)
    turn = A.T @ B @ wj - wi
    return float(np.array(f.c) @ rate**2 + np.array(f.c_r) @ turn**2)


def _point(x, k, s):
    (r, A), (u, w) = place(x.q, k), rates(x.v, k)
    return r + A @ np.asarray(s), u + A @ np.cross(w, s)


def _length(f, i, j, x):
    d, rate = np.subtract(_point(x, j, f.s_j), _point(x, i, f.s_i))
    length = float(np.linalg.norm(d))
    return length, float(d @ rate) / length


def test_forces_of_a_tyre():
    """By hand: the load, braking and driving, a lateral slip, saturation, a wheel in the air."""
    force = car.forces.tyre(0.33)

    def acting(height=0.31, speed=20.0, aside=0.0, spin=None):
        F, T = np.zeros((1, 3)), np.zeros((1, 3))
        spin = speed / height if spin is None else spin
        force(0.0, np.array([[0.0, 0.0, height]]), np.eye(3)[None], np.array([[speed, aside, 0.0]]), np.array([[0.0, spin, 0.0]]), F, T)
        return F[0], T[0]

    load = car.forces.TYRE_STIFFNESS * 0.02
    F, T = acting()
    assert [*F, *T] == pytest.approx([0.0, 0.0, load, 0.0, 0.0, 0.0], abs=1e-9)
    assert acting(spin=60.0)[0][0] < 0.0 < acting(spin=70.0)[0][0]
    F, T = acting(aside=0.2)
    slope = (car.forces.SIDE - car.forces.SIDE_LOSS * load) * load
    assert F[1] == pytest.approx(-slope * 0.01, rel=0.03) and T[0] == pytest.approx(0.31 * F[1]) and T[2] > 0.0
    F, _ = acting(aside=20.0, spin=0.0)
    assert np.hypot(F[0], F[1]) == pytest.approx(car.forces.FRICTION * load, rel=0.01)
    assert not np.any(acting(height=0.34))


def test_stops_and_dampers_of_a_strut():
    law = car.forces.strut(0.5, 2000.0)
    assert law(0.5, 0.0, 0.0) == 0.0 and law(0.5, 1e-6, 0.0) == pytest.approx(2e-3, rel=1e-4)
    assert law(0.5, 2.0, 0.0) > -law(0.5, -2.0, 0.0) > 0.0
    assert law(0.41, 0.0, 0.0) == pytest.approx(-car.forces.STOP_STIFFNESS * 0.03**3) and law(0.59, 0.0, 0.0) == pytest.approx(1080.0)


@pytest.mark.parametrize("cut", [False, True])
def test_exact_derivatives_are_those_of_the_equations(cut, rng):
    """Along random directions, in a state of the motion."""
    s = system("joint", cut=cut)
    x = random_state(s, 0.3, rng)
    p = mbdae.GGL(s, "explicit")
    y = np.concatenate([x.q, x.v, x.lam, np.zeros(s.nc)])
    yd = rng.normal(size=p.n)
    J = p.jacobian(0.3, y, yd, 100.0)
    for _ in range(3):
        d, h = rng.normal(size=p.n), 1e-6
        ends = [np.empty(p.n), np.empty(p.n)]
        for out, step in zip(ends, (h, -h)):
            p.residual(0.3, y + step * d, yd + 100.0 * step * d, out)
        expected = (ends[0] - ends[1]) / (2.0 * h)
        assert np.abs(J @ d - expected).max() <= 1e-5 * np.abs(expected).max()


def test_all_bushings_but_few_act_along_coordinates():
    """With the joints of `loops` cut, derivatives of the forces of links and wishbones stay what they are when the car leans and steers."""
    saved = {}
    for cut in (False, True):
        ida = Ida(jacobian="dense:partitioned")
        found = mbdae.solve(system("joint", cut=cut), ida, (0.0, 0.8), formulation="ggl", rtol=1e-4, atol=1e-5)
        assert found.success
        saved[cut] = found.statistics.jacobians
    assert saved[True] <= 0.75 * saved[False]


@pytest.mark.parametrize(("coordinates", "method", "form", "tol"), [("cartesian", SolveIvp("DOP853"), "ode", 5e-12),
                                                                    ("joint", Ida(), "index2", 1e-10)])
def test_two_routes_lead_to_the_references(coordinates, method, form, tol):
    references = car.ENTRY.references
    s, times = system(coordinates, cut=coordinates == "joint"), sorted({r.t for r in references})
    found = mbdae.solve(s, method, (0.0, 5.0), formulation=form, t_eval=times, rtol=tol, atol=0.1 * tol)
    at = dict(zip(times, outputs(found)))
    for r in references:
        for name, value in r.values.items():
            largest = max(abs(other.values[name]) for other in references if name in other.values)
            assert at[r.t][name] == pytest.approx(value, abs=1e-6 * largest), (r.t, name)


def test_it_steers_to_the_side_of_its_rack_and_back():
    found = outputs(mbdae.solve(system("joint"), Ida(), (0.0, 2.5), t_eval=np.linspace(0.0, 2.5, 26), rtol=1e-6, atol=1e-6))
    yaw, rack, across = (np.array([o[name] for o in found]) for name in ("yaw_rate", "rack", "lateral_acceleration"))
    assert np.corrcoef(yaw[5:], rack[5:])[0, 1] < -0.8  # a rack to the left turns the wheels to the right, about an axis behind the axle
    assert 3.0 < np.abs(across).max() < 6.0 and np.abs(across - 20.0 * yaw).max() < 1.5
    assert all(min(o[k] for k in o if k.startswith("load")) > 500.0 for o in found)
    assert all(abs(o["d_x"] ** 2 + o["d_y"] ** 2 - 400.0) < 20.0 for o in found)  # it rolls on


@pytest.mark.parametrize("coordinates", ["cartesian", "joint"])
def test_the_jacobian_depends_on_the_steering(coordinates):
    """`F_y` at another time, the state kept."""
    s = system(coordinates)
    p = mbdae.GGL(s, "explicit")
    J0, J1 = (p.jacobian(t, p.y0, p.yd0, 0.0).toarray() for t in (0.4, 0.45))
    assert np.abs(J1 - J0).max() > 0.0 and not np.allclose(s.excitation(0.4), s.excitation(0.45))


def test_extended_updates_lead_to_the_same_motion():
    ends = [mbdae.solve(system("joint", cut=True), Ida(jacobian=j), (0.0, 1.0), formulation="ggl", rtol=1e-5, atol=1e-5)
            for j in ("dense:extended", "dense")]
    assert all(s.success for s in ends) and np.abs(ends[0].q[-1] - ends[1].q[-1]).max() < 5e-3
