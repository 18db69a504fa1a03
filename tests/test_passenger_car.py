"""Passenger car: the guided rod, the rack, both coordinates, two routes to the motion, the strategies of table 3."""

from functools import cache

import numpy as np
import pytest

import mbdae
from mbdae import System, extend, library
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Ida
from mbdae.library import iltis
from mbdae.library import passenger_car as car
from mbdae.library.guided_rod import GuidedRod
from mbdae.model.geometry import Geometry

from .helpers import rigid


@cache
def system(coordinates="cartesian"):
    return System(library.mechanism("passenger-car"), coordinates=coordinates)


def outputs(found):
    """Observables of a motion in either coordinates."""
    s = system()
    q, v, a = (found.q, found.v, found.a) if found.system.cartesian is None else found.system.to_cartesian(found.q, found.v, found.a)
    lam = np.zeros((len(found.t), s.nc))
    lam[:, [s.labels.index(name) for name in found.system.labels]] = found.lam
    return [car.ENTRY.observe(s, *row) for row in zip(found.t, q, v, a, lam)]


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


def test_a_rod_that_is_not_moved_is_a_rod():
    """The Iltis on a flat road with its rack in the middle, either way."""
    still = library.mechanism("passenger-car", amplitude=0.0)
    joints = iltis._vehicle(iltis.EQUILIBRIUM, 10.0, False)[1]
    with_rods = mbdae.Mechanism("rods", still.bodies, joints, (), still.forces, gravity=still.gravity)
    found = [mbdae.solve(System(m), SolveIvp("DOP853"), (0.0, 0.3), t_eval=[0.3], rtol=1e-10, atol=1e-10) for m in (still, with_rods)]
    for name in ("q", "v", "a", "lam"):
        a, b = (getattr(s, name)[-1] for s in found)
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-7 * np.abs(b).max())


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
        assert rate == pytest.approx((ends[0][0] - ends[1][0]) / (2.0 * h), abs=2e-7)
        assert curvature == pytest.approx((ends[0][1] - ends[1][1]) / (2.0 * h), abs=2e-5)
        assert abs(x) <= 0.012 and (t < 0.5 or x == pytest.approx(0.012 * np.sin(0.8 * np.pi * t), abs=1e-15))


@pytest.mark.parametrize("parameters", [{"amplitude": 0.03}, {"amplitude": -1e-3}, {"speed": 0.5}, {"frequency": 7.0}, {"speed": True},
                                        {"amplitude": float("nan")}])
def test_steering_beyond_its_stops_and_other_nonsense_are_refused(parameters):
    (name,) = parameters
    with pytest.raises(ValueError, match=f"passenger-car: {name} must be a number from"):
        library.mechanism("passenger-car", **parameters)


def test_sizes():
    joint = system("joint")
    assert (system().nq, system().nc, system().dof) == (91, 64, 14)
    assert (joint.nq, joint.nv, joint.nc, joint.dof) == (31, 26, 12, 14)
    assert len(joint.excitation(0.3)) == 2  # displacement and rate, which both rods share


@pytest.mark.thorough
@pytest.mark.parametrize(("coordinates", "method", "tol"), [("cartesian", SolveIvp("DOP853"), 1e-12), ("joint", Ida(), 1e-10)])
def test_two_routes_lead_to_the_references(coordinates, method, tol):
    references = car.ENTRY.references
    found = mbdae.solve(system(coordinates), method, (0.0, 5.0), t_eval=[r.t for r in references], rtol=tol, atol=tol)
    largest = {name: max(abs(r.values[name]) for r in references) for name in references[0].values}
    for r, values in zip(references, outputs(found)):
        for name, value in r.values.items():
            assert values[name] == pytest.approx(value, abs=3e-7 * largest[name]), (r.t, name)


def test_it_steers_to_the_side_of_its_rack_and_back():
    found = outputs(mbdae.solve(system("joint"), Ida(), (0.0, 2.5), t_eval=np.linspace(0.0, 2.5, 26), rtol=1e-6, atol=1e-6))
    yaw, rack = (np.array([o[name] for o in found]) for name in ("yaw_rate", "rack"))
    assert np.abs(yaw).max() > 0.2
    assert np.corrcoef(yaw, rack)[0, 1] < -0.85  # a rack to the left turns the wheels to the right
    assert all(min(o[k] for k in o if k.startswith("load")) > 500.0 for o in found)


@pytest.mark.parametrize("coordinates", ["cartesian", "joint"])
def test_extended_updates_know_how_the_jacobian_depends_on_the_steering(coordinates):
    """`F_y` at another time, the state kept: the update along the excitation takes most of the change away."""
    s = system(coordinates)
    problem = mbdae.GGL(s, "explicit")
    y, yd = problem.y0, problem.yd0
    t0, t1 = 0.4, 0.45
    J0, J1 = (problem.jacobian(t, y, yd, 0.0).toarray() for t in (t0, t1))
    assert np.abs(J1 - J0).max() > 0.0
    u0, u1 = (np.array(s.excitation(t)) for t in (t0, t1))
    assert not np.allclose(u0, u1)
    found = mbdae.solve(s, Ida(jacobian="estimated:extended"), (0.0, 1.0), formulation="ggl", rtol=1e-5, atol=1e-5)
    plain = mbdae.solve(s, Ida(jacobian="estimated"), (0.0, 1.0), formulation="ggl", rtol=1e-5, atol=1e-5)
    assert found.success and np.abs(found.q[-1] - plain.q[-1]).max() < 5e-3
