"""Initial velocities of which some are given and the others are free."""

import numpy as np
import pytest
from scipy.linalg import null_space

import mbdae
from mbdae import library
from mbdae.system import given

from .helpers import GROUND, all_elements, chain

X, Y, Z = np.eye(3)
NAN = np.nan


def rod(pins=1, **velocities):
    """A rod of one metre along x that turns about y at the origin."""
    body = mbdae.RigidBody("rod", 1.0, (1e-3, 0.1, 0.1), (0.5, 0, 0), **velocities)
    return mbdae.Mechanism("rod", [body], [mbdae.Revolute(f"pin {k}", GROUND, "rod", s_j=(-0.5, 0, 0), a_i=Y, a_j=Y) for k in range(pins)])


@pytest.mark.parametrize("pins", [1, 2])
@pytest.mark.parametrize("velocities", [
    {"omega": (0, 2, 0)}, {"velocity": (0, 0, -1)}, {"velocity": (0, 0, -1), "omega": (0, 2, 0)}, {"velocity": (None, None, -1)},
    {"omega": (None, 2, None)}, {"velocity": (None, 0, -1), "omega": (0, None, 0)}, {"velocity": (0, 0, -1 + 1e-6), "omega": (0, 2, 0)},
], ids=str)
def test_what_is_given_is_kept_and_the_rest_follows(velocities, pins):
    """Also with redundant constraints, and with a velocity that is printed with six digits."""
    np.testing.assert_allclose(mbdae.assemble(rod(pins, **velocities)).v, [0, 0, -1, 0, 2, 0], atol=2e-6)


def test_planar_bodies_and_particles_have_free_velocities_too():
    arm = mbdae.PlanarBody("arm", 1.0, 0.1, (0.5, 0.0), omega=3.0)
    tip = mbdae.Particle("tip", 2.0, (1.0, 0.0, 0.0), (None, None, 0.5))
    joints = [mbdae.PlanarRevolute("pin", GROUND, "arm", s_j=(-0.5, 0)), mbdae.PlanarRevolute("tip", "arm", "tip", (0.5, 0))]
    np.testing.assert_allclose(mbdae.assemble(mbdae.Mechanism("arm", [arm, tip], joints)).v, [0, 1.5, 3.0, 0, 3.0, 0.5], atol=1e-14)


def test_nothing_given_is_rest():
    np.testing.assert_array_equal(mbdae.assemble(rod()).v, np.zeros(6))


@pytest.mark.parametrize("make", [lambda: mbdae.System(chain(6)), lambda: mbdae.System(all_elements(5)),
                                  lambda: library.system("spatial-four-bar"), lambda: library.system("bricard")],
                         ids=["chain", "all elements", "spatial-four-bar", "bricard"])
def test_the_rest_has_the_least_kinetic_energy(make, rng):
    """By a dense solution in a basis of all velocities; redundant constraints, full tensors of inertia and motions included."""
    s = make()
    t = 0.35 if s.name == "all elements" else 0.0
    q = mbdae.assemble(s, t).q
    G, M = s.phi_q(t, q).toarray(), s.mass(t, q)
    particular, N = np.linalg.lstsq(G, s.nu(t, q), rcond=1e-10)[0], null_space(G, rcond=1e-9)
    wanted = particular + N @ rng.normal(size=N.shape[1])
    k = rng.choice(s.nv, size=s.nv // 3, replace=False)
    guess = np.full(s.nv, NAN)
    guess[k] = wanted[k]
    _, sizes, modes = np.linalg.svd(N[k])
    left = N @ modes[(sizes > 1e-9).sum():].T
    expected = wanted - left @ np.linalg.solve(left.T @ M @ left, left.T @ M @ wanted) if left.shape[1] else wanted
    v = mbdae.assemble(s, t, q, guess).v
    np.testing.assert_allclose(v, expected, atol=1e-8 * (1 + np.abs(expected).max()))
    np.testing.assert_allclose(v[k], wanted[k], atol=1e-8 * (1 + np.abs(wanted).max()))


def test_many_given_velocities_need_no_matrix(monkeypatch, rng):
    s = mbdae.System(chain(8))
    x = mbdae.assemble(s, v=rng.normal(size=s.nv))
    guess = np.where(rng.random(s.nv) < 0.4, x.v, NAN)
    found = mbdae.assemble(s, v=guess).v
    monkeypatch.setattr(given, "MAX_DENSE", 0)
    np.testing.assert_allclose(mbdae.assemble(s, v=guess).v, found, atol=1e-7 * np.abs(found).max())


def test_unconstrained_bodies_keep_what_they_have():
    bodies = [mbdae.Particle("a", 1.0, velocity=(1, None, 3)), mbdae.Particle("b", 1.0)]
    np.testing.assert_array_equal(mbdae.assemble(mbdae.Mechanism("free", bodies)).v, [1, 0, 3, 0, 0, 0])


# --- contradictions ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("velocities", "row", "rate"), [
    ({"omega": (0, 2, 1)}, r"pin 0\.[bc]", r"-?1"), ({"velocity": (0, 1, -1), "omega": (0, 2, None)}, r"pin 0\.y", "1"),
    ({"velocity": (1, None, None)}, r"pin 0\.x", "1"), ({"velocity": (0, 0, 0), "omega": (None, 2, None)}, r"pin 0\.z", "1"),
    ({"velocity": (None, None, -1e-6), "omega": (0, 3e-6, 0)}, r"pin 0\.z", "5e-07"),
    ({"velocity": (0, 0, 0), "omega": (0, 2, 0)}, r"pin 0\.z", "1"),
])
def test_contradictions_with_a_joint_are_named(velocities, row, rate):
    message = rf"rod: the velocities given with 'rod' contradict the constraint '{row}' at t = 0, .* at the rate {rate}; correct them"
    with pytest.raises(mbdae.AssemblyError, match=message):
        mbdae.assemble(rod(**velocities))


def test_contradictions_between_bodies_name_both():
    """The free coupler cannot join a crank at rest with a rocker that moves."""
    def bar(name, start, end, **more):
        d = np.subtract(end, start)
        return mbdae.PlanarBody(name, 1.0, 0.1, tuple(np.add(start, end) / 2), np.arctan2(d[1], d[0]), **more), 0.5 * np.hypot(*d)

    (crank, a), (coupler, b), (rocker, c) = (bar("crank", (0, 0), (0, 1), omega=0.0), bar("coupler", (0, 1), (2, 2)),
                                             bar("rocker", (2, 0), (2, 2), omega=1.0))
    joints = [mbdae.PlanarRevolute("A", GROUND, "crank", s_j=(-a, 0)), mbdae.PlanarRevolute("B", "crank", "coupler", (a, 0), (-b, 0)),
              mbdae.PlanarRevolute("C", "coupler", "rocker", (b, 0), (c, 0)), mbdae.PlanarRevolute("D", GROUND, "rocker", (2, 0), (-c, 0))]
    with pytest.raises(mbdae.AssemblyError, match=r"four-bar: the velocities given with '(crank|rocker)' contradict the constraint '[A-D]"):
        mbdae.assemble(mbdae.Mechanism("four-bar", [crank, coupler, rocker], joints))


@pytest.mark.parametrize("more", [{}, {"velocity": (0, None)}, {"velocity": (0, 0)}])
def test_contradictions_with_a_driver_are_named(more):
    wheel = mbdae.PlanarBody("wheel", 1.0, 1.0, omega=1.5, **more)
    drive = mbdae.PlanarAngleDriver("motor", GROUND, "wheel", mbdae.Polynomial((0.0, 2.0)))
    m = mbdae.Mechanism("m", [wheel], [mbdae.PlanarRevolute("pin", GROUND, "wheel")], [drive])
    with pytest.raises(mbdae.AssemblyError, match=r"driver 'motor' asks for the rate 2 at t = 0, .* with 'wheel' make it 1\.5"):
        mbdae.assemble(m)


def test_a_guess_beside_free_components_must_not_contradict():
    s = mbdae.System(rod())
    with pytest.raises(mbdae.AssemblyError, match=r"'rod' contradict the constraint 'pin 0\.z'"):
        mbdae.assemble(s, v=[0, 0, 0, NAN, 2, NAN])
    np.testing.assert_allclose(mbdae.assemble(s, v=[0, 0, 0, 0, 2, 0]).v, [0, 0, -2 / 7, 0, 4 / 7, 0], atol=1e-14)  # a guess of all


def test_solve_takes_free_components():
    s = mbdae.solve(rod(), mbdae.HalfImplicit(h=1e-2), (0.0, 0.1), v0=[NAN, NAN, NAN, NAN, 2, NAN])
    np.testing.assert_allclose(s.v[0], [0, 0, -1, 0, 2, 0], atol=1e-14)


def test_systems_of_functions_have_free_components_too():
    s = mbdae.System.from_functions(nq=2, nc=1, mass=lambda t, q: np.eye(2), force=lambda t, q, v: np.zeros(2),
                                    phi=lambda t, q: np.array([q[0] - 2.0 * q[1]]), q0=[0.0, 0.0])
    np.testing.assert_allclose(mbdae.assemble(s, v=[NAN, 1.0]).v, [2.0, 1.0], rtol=1e-12)
    with pytest.raises(ValueError, match="v must be finite, or NaN where it is free"):
        mbdae.assemble(s, v=[np.inf, 1.0])


def test_velocities_at_another_time_are_a_guess():
    """Those of the bodies belong to t = 0; what the driver asks for at t = 1 is no contradiction."""
    wheel = mbdae.PlanarBody("wheel", 1.0, 1.0, velocity=(0, 0), omega=2.0)
    drive = mbdae.PlanarAngleDriver("motor", GROUND, "wheel", mbdae.Polynomial((0.0, 2.0, 1.0)))
    m = mbdae.Mechanism("m", [wheel], [mbdae.PlanarRevolute("pin", GROUND, "wheel")], [drive])
    np.testing.assert_allclose(mbdae.assemble(m, 1.0).v, [0, 0, 4.0], atol=1e-13)
