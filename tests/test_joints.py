"""Joints and drivers: how many degrees of freedom they take away, which motions they leave, what their multipliers mean."""

import numpy as np
import pytest

import mbdae
from mbdae.model import rotations

from .helpers import GROUND, quaternion, unit

X, Y, Z = np.eye(3)

# joint, number of equations, free motions of body j seen from body i at a joint with s = 0 and axes along z: (x y z, turns about x y z)
SPATIAL = [
    (lambda *e, **k: mbdae.Spherical(*e, **k), 3, "ABC"), (lambda *e, **k: mbdae.Revolute(*e, **k), 5, "C"),
    (lambda *e, **k: mbdae.Cylindrical(*e, **k), 4, "zC"), (lambda *e, **k: mbdae.Translational(*e, **k), 5, "z"),
    (lambda *e, **k: mbdae.Fixed(*e, **k), 6, ""), (lambda *e, **k: mbdae.Universal(*e, a_j=X, **k), 4, "AC"),
    (lambda *e, **k: mbdae.RevoluteCylindrical(*e, a_j=X, **k), 3, "zAC"),
    (lambda *e, **k: mbdae.Rod(*e, s_j=(0, 0, 2), length=2.0, **k), 1, None),
    (lambda *e, **k: mbdae.DP1(*e, X, Y), 1, "xyzAB"), (lambda *e, **k: mbdae.DP2(*e, X), 1, "yzABC"),
    (lambda *e, **k: mbdae.CD(*e, Y), 1, "xzABC"),
    (lambda *e, **k: mbdae.Coincident(*e), 3, "ABC"), (lambda *e, **k: mbdae.D(*e, X, -X, 4.0), 1, None),
    (lambda *e, **k: mbdae.Turn(*e, X, Y, X, 0.0), 1, "xyzAB"), (lambda *e, **k: mbdae.AngleDriver(*e, 0.0, Z, X, X), 1, "xyzAB"),
    (lambda *e, **k: mbdae.DistanceDriver(*e, 2.0, s_j=(0, 0, 2)), 1, None),
    (lambda *e, **k: mbdae.CoordinateDriver(*e, 0.0, Z), 1, "xyABC"),
]
PLANAR = [
    (lambda *e: mbdae.PlanarRevolute(*e), 2, "C"), (lambda *e: mbdae.PlanarTranslational(*e), 2, "x"),
    (lambda *e: mbdae.PlanarCoincident(*e), 2, "C"), (lambda *e: mbdae.PlanarAngle(*e), 1, "xy"),
    (lambda *e: mbdae.PlanarAngleDriver(*e, 0.0), 1, "xy"), (lambda *e: mbdae.Rod(*e, s_j=(2, 0, 0), length=2.0), 1, None),
]


def moves(bodies, joint, ground=False):
    """System of bodies "i" and "j" with one joint, the number of its rows, their rank, and their columns for body j."""
    driver = isinstance(joint, (mbdae.AngleDriver, mbdae.DistanceDriver, mbdae.CoordinateDriver, mbdae.PlanarAngleDriver))
    s = mbdae.System(mbdae.Mechanism("m", bodies, () if driver else (joint,), (joint,) if driver else ()))
    q, _ = s.initial_guess()
    assert np.abs(s.phi(0.0, q)).max() < 1e-14
    G = s.phi_q(0.0, q).toarray()
    return s, np.linalg.matrix_rank(G, tol=1e-10), G[:, -s.nv // (1 if ground else 2):]


@pytest.mark.parametrize("ground", [True, False])
@pytest.mark.parametrize("k", range(len(SPATIAL)))
def test_joints_of_rigid_bodies_leave_the_right_motions(k, ground):
    make, rows, free = SPATIAL[k]
    bodies = [mbdae.RigidBody(n, 1.0, (1, 1, 1)) for n in ("j" if ground else "ij")]
    s, rank, G = moves(bodies, make("joint", GROUND if ground else "i", "j"), ground)
    assert s.nc == rank == rows
    if free is not None:
        assert "".join(n for n, column in zip("xyzABC", G.T) if not column.any()) == free


@pytest.mark.parametrize("ground", [True, False])
@pytest.mark.parametrize("k", range(len(PLANAR)))
def test_joints_of_planar_bodies_leave_the_right_motions(k, ground):
    make, rows, free = PLANAR[k]
    bodies = [mbdae.PlanarBody(n, 1.0, 1.0) for n in ("j" if ground else "ij")]
    s, rank, G = moves(bodies, make("joint", GROUND if ground else "i", "j"), ground)
    assert s.nc == rank == rows
    if free is not None:
        assert "".join(n for n, column in zip("xyC", G.T) if not column.any()) == free


@pytest.mark.parametrize("k", range(8))
def test_joints_hold_in_any_pose(k, rng):
    """Both bodies turned together: the rank stays, and the joint still closes."""
    A, r = rotations.to_matrix(quaternion(rng)), rng.normal(size=3)
    make, rows, _ = SPATIAL[k]
    bodies = [mbdae.RigidBody(n, 1.0, (1, 1, 1), r, A) for n in "ij"]
    s, rank, _ = moves(bodies, make("joint", "i", "j"))
    assert s.nc == rank == rows


@pytest.mark.parametrize("joint", [mbdae.Fixed, mbdae.Translational])
def test_relative_orientations_are_those_of_the_initial_position(joint, rng):
    A, B = rotations.to_matrix(quaternion(rng)), rotations.to_matrix(quaternion(rng))
    axis = unit(rng)
    more = {} if joint is mbdae.Fixed else {"a_i": A.T @ axis, "a_j": B.T @ axis}
    bodies = [mbdae.RigidBody("i", 1.0, (1, 1, 1), orientation=A), mbdae.RigidBody("j", 1.0, (1, 1, 1), orientation=B)]
    s = mbdae.System(mbdae.Mechanism("m", bodies, [joint("joint", "i", "j", **more)]))
    q, _ = s.initial_guess()
    assert np.abs(s.phi(0.0, q)).max() < 1e-14
    turned = s.retract(q, np.array([0] * 9 + [*(0.3 * B.T @ axis)]))
    assert np.abs(s.phi(0.0, turned)).max() > 0.1


def test_planar_joints_keep_the_initial_angle():
    bodies = [mbdae.PlanarBody("i", 1.0, 1.0, angle=0.4), mbdae.PlanarBody("j", 1.0, 1.0, angle=1.9)]
    s = mbdae.System(mbdae.Mechanism("m", bodies, [mbdae.PlanarTranslational("slide", "i", "j")]))
    np.testing.assert_allclose(s.phi(0.0, s.initial_guess()[0]), 0.0, atol=1e-15)


def test_translational_joints_refuse_perpendicular_axes_without_help():
    joint = mbdae.Translational("slide", GROUND, "j", a_i=Z, a_j=X)
    with pytest.raises(ValueError, match="Translational 'slide': the axes a_i and a_j are perpendicular"):
        mbdae.Mechanism("m", [mbdae.RigidBody("j", 1.0, (1, 1, 1), orientation=[[0, 0, 1], [1, 0, 0], [0, 1, 0]])],
                        [mbdae.Translational("slide", GROUND, "j", a_i=Z, a_j=X)])
    assert joint.b_j is None


def test_sliding_along_a_skew_axis_keeps_the_constraints(rng):
    axis, B = unit(rng), rotations.to_matrix(quaternion(rng))
    bodies = [mbdae.RigidBody("j", 1.0, (1, 1, 1), (1, 2, 3), B)]
    for kind, turns in ((mbdae.Translational, False), (mbdae.Cylindrical, True)):
        s = mbdae.System(mbdae.Mechanism("m", bodies, [kind("joint", GROUND, "j", (1, 2, 3), a_i=axis, a_j=B.T @ axis)]))
        q = s.retract(s.initial_guess()[0], np.concatenate([0.7 * axis, 2.2 * turns * B.T @ axis]))
        assert np.abs(s.phi(0.0, q)).max() < 1e-14


# --- drivers -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("t", [0.0, 0.3, 1.0, 2.5, 7.9])
def test_angle_drivers_turn_body_j_from_b_i_towards_the_right_hand(t):
    """At every angle and any number of turns; the driven angle is reached with a positive sign."""
    wheel = mbdae.RigidBody("j", 1.0, (1, 1, 1))
    drive = mbdae.AngleDriver("drive", GROUND, "j", mbdae.Polynomial((0, 3.0)), Z, X, X)
    s = mbdae.System(mbdae.Mechanism("m", [wheel], [mbdae.Revolute("pin", GROUND, "j")], [drive]))
    q = s.retract(s.initial_guess()[0], np.array([0, 0, 0, 0, 0, 3.0 * t]))
    assert np.abs(s.phi(t, q)).max() < 1e-13
    state = mbdae.assemble(s, t, q)
    np.testing.assert_allclose(state.v, [0, 0, 0, 0, 0, 3.0], atol=1e-12)
    ahead = s.retract(q, np.array([0, 0, 0, 0, 0, 1e-3]))
    assert s.phi(t, ahead)[5] == pytest.approx(np.sin(1e-3), rel=1e-9)


def test_multipliers_of_angle_drivers_are_torques():
    """Inertia 2, angular acceleration 3: the drive turns body j with 6, so the constraint acts with -6 on body i."""
    wheel = mbdae.RigidBody("j", 1.0, (1, 1, 2.0))
    drive = mbdae.AngleDriver("drive", GROUND, "j", mbdae.Polynomial((0.3, 0, 1.5)), Z, X, X)
    s = mbdae.System(mbdae.Mechanism("m", [wheel], [mbdae.Revolute("pin", GROUND, "j")], [drive]))
    assert mbdae.assemble(s).lam[5] == pytest.approx(-6.0, rel=1e-13)


def test_multipliers_of_rods_measure_their_tension():
    """A hanging weight of 20 N on a rod of 0.5 m: half the tension divided by the length."""
    s = mbdae.System(mbdae.Mechanism("m", [mbdae.Particle("p", 2.0, (0, 0, -0.5))], [mbdae.Rod("rod", GROUND, "p", length=0.5)],
                                     gravity=(0, 0, -10)))
    assert mbdae.assemble(s).lam[0] == pytest.approx(20.0, rel=1e-14)
    standing = mbdae.System(mbdae.Mechanism("m", [mbdae.Particle("p", 2.0, (0, 0, 0.5))], [mbdae.Rod("rod", GROUND, "p", length=0.5)],
                                            gravity=(0, 0, -10)))
    assert mbdae.assemble(standing).lam[0] == pytest.approx(-20.0, rel=1e-14)


def test_multipliers_of_a_spherical_joint_are_the_force_on_body_i():
    s = mbdae.System(mbdae.Mechanism("m", [mbdae.RigidBody("j", 2.0, (1, 1, 1))], [mbdae.Spherical("ball", GROUND, "j")],
                                     gravity=(1, 2, 3)))
    np.testing.assert_allclose(mbdae.assemble(s).lam, [2, 4, 6], rtol=1e-14)


@pytest.mark.parametrize("t", [0.0, 0.7])
def test_distance_and_coordinate_drivers_follow_their_function(t):
    f = mbdae.Function(lambda t: 2.0 + 0.5 * np.sin(t))
    p = mbdae.Particle("p", 1.0, (2, 0, 0))
    held = [mbdae.CD("y", GROUND, "p", Y), mbdae.CD("z", GROUND, "p", Z)]
    for drive in (mbdae.DistanceDriver("drive", GROUND, "p", f), mbdae.CoordinateDriver("drive", GROUND, "p", f, X)):
        x = mbdae.assemble(mbdae.System(mbdae.Mechanism("m", [p], held, [drive])), t)
        np.testing.assert_allclose((x.q[0], x.v[0], x.a[0]), f(t), rtol=1e-12, atol=1e-13)


def test_locked_drivers_take_numbers():
    s = mbdae.System(mbdae.Mechanism("m", [mbdae.PlanarBody("b", 1.0, 1.0)], drivers=[mbdae.PlanarAngleDriver("lock", GROUND, "b", 0.7)]))
    assert mbdae.assemble(s).q[2] == pytest.approx(0.7, rel=1e-14)


def test_labels_name_every_equation():
    bodies = [mbdae.RigidBody("b", 1.0, (1, 1, 1)), mbdae.PlanarBody("c", 1.0, 1.0)]
    joints = [mbdae.Revolute("R", GROUND, "b"), mbdae.Translational("T", GROUND, "b"), mbdae.Fixed("F", GROUND, "b"),
              mbdae.PlanarTranslational("P", GROUND, "c"), mbdae.Universal("U", GROUND, "b", a_j=X), mbdae.Rod("L", GROUND, "b", s_j=X)]
    labels = mbdae.Mechanism("m", bodies, joints).labels
    assert labels == ("R.x", "R.y", "R.z", "R.b", "R.c", "T.b", "T.c", "T.db", "T.dc", "T.turn", "F.x", "F.y", "F.z", "F.xy", "F.yz",
                      "F.zx", "P.normal", "P.angle", "U.x", "U.y", "U.z", "U.cross", "L")
