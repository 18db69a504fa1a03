"""Force kernels: laws against formulas, potentials, balance of internal forces, frames, friction."""

from dataclasses import replace

import numpy as np
import pytest

import mbdae
from mbdae.model import rotations

from .helpers import GROUND, all_elements, central, chain, double_pendulum, quaternion, relative, rigid, stiffening, unit

X, Y, Z = np.eye(3)


def free(*bodies, forces=(), joints=(), gravity=(0, 0, 0)):
    """A system of bodies and forces."""
    return mbdae.System(mbdae.Mechanism("free", bodies, joints, forces=forces, gravity=gravity))


def global_wrench(system, q, Q):
    """Sum of the generalised forces `Q` as force, and as torque about the origin."""
    force, torque = np.zeros(3), np.zeros(3)
    for body, record in zip(system.mechanism.bodies, system._bodies):
        iq, iv = int(record["q"]), int(record["v"])
        if isinstance(body, mbdae.PlanarBody):
            F, T, r = np.array([*Q[iv:iv + 2], 0.0]), Q[iv + 2] * Z, np.array([*q[iq:iq + 2], 0.0])
        else:
            F, r = Q[iv:iv + 3], q[iq:iq + 3]
            T = rotations.to_matrix(q[iq + 3:iq + 7]) @ Q[iv + 3:iv + 6] if isinstance(body, mbdae.RigidBody) else np.zeros(3)
        force, torque = force + F, torque + np.cross(r, F) + T
    return force, torque


# --- springs and actuators -----------------------------------------------------------------------------------------------


def test_the_tension_of_a_spring_follows_its_law():
    spring = mbdae.TSDA("s", "a", "b", k=3.0, c=0.5, l0=1.5, law=stiffening)
    s = free(mbdae.Particle("a", 1.0, (0, 0, 0)), mbdae.Particle("b", 1.0, (3, 4, 0)), forces=[spring])
    q, v, t = s.initial_guess()[0], np.array([0, 0, 0, 1.0, 2.0, 7.0]), 0.4
    rate = (3 * 1 + 4 * 2) / 5
    tension = 3.0 * (5 - 1.5) + 0.5 * rate + stiffening(5.0, rate, t)
    np.testing.assert_allclose(s.force(t, q, v), tension * np.array([0.6, 0.8, 0, -0.6, -0.8, 0]), rtol=1e-14)


def test_a_torsion_spring_between_planar_bodies_counts_turns():
    spring = mbdae.RSDA("s", "a", "b", k=2.0, c=0.3, theta0=0.5)
    s = free(mbdae.PlanarBody("a", 1, 1, angle=-0.2), mbdae.PlanarBody("b", 1, 1, angle=20.0), forces=[spring])
    torque = 2.0 * (20.2 - 0.5) + 0.3 * (1.5 - 0.4)
    Q = s.force(0.0, s.initial_guess()[0], np.array([0, 0, 0.4, 0, 0, 1.5]))
    np.testing.assert_allclose(Q, [0, 0, torque, 0, 0, -torque], rtol=1e-14)


@pytest.mark.parametrize("theta", [-3.0, -0.4, 0.0, 1.0, 3.1, 3.9])
def test_a_torsion_spring_between_spatial_bodies_acts_about_its_axis(theta, rng):
    """Its angle is taken in `theta0 + (-pi, pi]`, whatever the common orientation of the bodies."""
    theta0, A = 0.5, rotations.to_matrix(quaternion(rng))
    turn = np.array([[np.cos(theta), -np.sin(theta), 0], [np.sin(theta), np.cos(theta), 0], [0, 0, 1]])
    spring = mbdae.RSDA("s", "a", "b", k=2.0, c=0.3, theta0=theta0, law=stiffening, a_i=Z, b_i=X, b_j=X)
    s = free(mbdae.RigidBody("a", 1, (1, 1, 1), orientation=A), mbdae.RigidBody("b", 1, (1, 1, 1), orientation=A @ turn), forces=[spring])
    v = np.array([0, 0, 0, 0, 0, 0.4, 0, 0, 0, 0, 0, 1.5])
    seen = theta0 + (theta - theta0 + np.pi) % (2 * np.pi) - np.pi
    torque = 2.0 * (seen - theta0) + 0.3 * 1.1 + stiffening(seen, 1.1, 0.7)
    Q = s.force(0.7, s.initial_guess()[0], v)
    np.testing.assert_allclose(Q, torque * np.array([0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, -1.0]), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(("beta", "turn"), [(0.7, 0.4), (-1.1, 0.3), (2.0, -0.5)])
def test_a_torsion_spring_has_a_direction_of_its_own_in_each_body(beta, turn, rng):
    """`b_j` is turned by `beta` in its body, which is turned by `turn`."""
    A, Rz = rotations.to_matrix(quaternion(rng)), lambda x: np.array([[np.cos(x), -np.sin(x), 0], [np.sin(x), np.cos(x), 0], [0, 0, 1]])
    spring = mbdae.RSDA("s", "a", "b", k=2.0, theta0=0.2, a_i=Z, b_i=Rz(0.3) @ X, b_j=Rz(beta) @ X)
    s = free(*(mbdae.RigidBody(b, 1, (1, 1, 1), orientation=B) for b, B in (("a", A), ("b", A @ Rz(turn)))), forces=[spring])
    q, torque = s.initial_guess()[0], 2.0 * (turn + beta - 0.3 - 0.2)
    expected = torque * np.array([0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, -1.0])
    np.testing.assert_allclose(s.force(0.0, q, np.zeros(12)), expected, rtol=1e-12, atol=1e-13)
    assert s.energy(0.0, q, np.zeros(12)) == pytest.approx(torque**2 / 4.0)


def test_forces_of_springs_are_the_gradient_of_their_potential(rng):
    s = mbdae.System(double_pendulum())
    q = s.retract(s.initial_guess()[0], 0.4 * rng.normal(size=s.nv))
    zero = np.zeros(s.nv)
    gradient = central(lambda d: np.array([s.energy(0.0, s.retract(q, d), zero)]), s.nv)[0]
    assert np.abs(gradient).max() > 1.0
    assert relative(-gradient, s.force(0.0, q, zero)) < 1e-8


def test_forces_of_spatial_springs_are_the_gradient_of_their_potential(rng):
    """The axis of the torsion spring is common to both bodies at the position looked at."""
    a = rigid(rng, "a")
    b = replace(rigid(rng, "b"), orientation=rotations.to_matrix(a.orientation) @ [[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    forces = [mbdae.TSDA("s", "a", "b", rng.normal(size=3), rng.normal(size=3), k=2.0, l0=0.3), mbdae.TSDA("g", GROUND, "b", s_j=X, k=1.0),
              mbdae.RSDA("r", "a", "b", k=3.0, theta0=0.4, a_i=Z, b_i=X, b_j=X)]
    s = free(a, b, mbdae.Particle("p", 2.0, (1, 2, 3)), forces=forces, gravity=(1, -2, 3))
    q, zero = s.initial_guess()[0], np.zeros(s.nv)
    gradient = central(lambda d: np.array([s.energy(0.0, s.retract(q, d), zero)]), s.nv)[0]
    assert relative(-gradient, s.force(0.0, q, zero)) < 1e-8


@pytest.mark.parametrize("mechanism", [
    double_pendulum(),
    replace(chain(4), forces=[mbdae.TSDA("s", "2", "4", X, X, k=5.0, l0=1.0), mbdae.TSDA("g", GROUND, "3", 2 * Y, k=3.0)]),
], ids=["planar", "spatial"])
def test_conservative_systems_keep_their_energy(mechanism, rng):
    """`dE/dt = 0` along the accelerations of a random consistent state; one of the tensors of inertia is full."""
    full = mbdae.RigidBody("x", 1.0, ((2, 0.1, 0.2), (0.1, 3, 0.3), (0.2, 0.3, 4)), omega=(1, 2, 3))
    s = mbdae.System(replace(mechanism, bodies=(*mechanism.bodies, full)))
    x = mbdae.assemble(s, q=s.retract(s.initial_guess()[0], 0.2 * rng.normal(size=s.nv)), v=rng.normal(size=s.nv))
    h = 1e-4
    ends = [s.energy(0.0, s.retract(x.q, e * x.v), x.v + e * x.a) for e in (-2 * h, -h, h, 2 * h)]
    rate = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * h)
    power = np.abs(x.v * s.force(0.0, x.q, x.v)).sum()  # the terms that must cancel
    assert power > 1.0
    assert abs(rate) < 1e-9 * power


# --- gravity, gyroscopic torques, loads ----------------------------------------------------------------------------------


def test_gravity_pulls_every_body_in_its_direction():
    s = free(mbdae.Particle("p", 2.0), mbdae.PlanarBody("d", 3.0, 1.0), mbdae.RigidBody("b", 4.0, (1, 2, 2)), gravity=(1, 2, 3))
    expected = [2, 4, 6, 3, 6, 0, 4, 8, 12, 0, 0, 0]
    np.testing.assert_array_equal(s.force(0.0, s.initial_guess()[0], np.zeros(s.nv)), expected)
    q = np.array([1, 0, 0, 0, 1, 9, 0, 0, 1, 1, 0, 0, 0.0])
    assert s.energy(0.0, q, np.zeros(s.nv)) == -(2 * 1 + 3 * 2 + 4 * 3)


def test_a_free_body_keeps_its_angular_momentum(rng):
    s = free(rigid(rng, "b"))
    q, v, J = s.initial_guess()[0], rng.normal(size=6), np.reshape(s.mechanism.bodies[0].inertia, (3, 3))
    a, _, _ = s.solve_kkt(0.0, q, s.force(0.0, q, v), np.zeros(0))
    np.testing.assert_allclose(J @ a[3:] + np.cross(v[3:], J @ v[3:]), 0.0, atol=1e-13)
    assert np.abs(a[3:]).max() > 0.1


def test_loads_act_in_the_frame_they_are_given_in(rng):
    body, s, t = rigid(rng, "b"), rng.normal(size=3), 0.7
    A = rotations.to_matrix(body.orientation)
    F, T = np.array([1.0, np.sin(t), 2 * t]), np.array([t * t, 3.0, -t])
    given = (1.0, lambda t: np.sin(t), mbdae.Polynomial((0, 2.0)))
    expected = {
        mbdae.PointForce("f", "b", given, s): (F, np.cross(s, A.T @ F)),
        mbdae.PointForce("f", "b", given, s, "body"): (A @ F, np.cross(s, F)),
        mbdae.PointTorque("f", "b", lambda t: (t * t, 3.0, -t)): (0 * F, T),
        mbdae.PointTorque("f", "b", lambda t: (t * t, 3.0, -t), "global"): (0 * F, A.T @ T),
    }
    for load, (force, torque) in expected.items():
        system = free(body, forces=[load])
        Q = system.force(t, system.initial_guess()[0], np.zeros(6))
        np.testing.assert_allclose(Q, [*force, *torque], rtol=1e-13, atol=1e-14, err_msg=repr(load))


def test_loads_on_a_planar_body():
    body, A = mbdae.PlanarBody("b", 1.0, 1.0, (1, 2), 0.5), np.array([[np.cos(0.5), -np.sin(0.5)], [np.sin(0.5), np.cos(0.5)]])
    s = free(body, forces=[mbdae.PointForce("f", "b", (3, 4, 5), (1, 0, 0), "body"), mbdae.PointTorque("t", "b", (1, 2, 0.25))])
    np.testing.assert_allclose(s.force(0.0, s.initial_guess()[0], np.zeros(3)), [*(A @ [3, 4]), 4.25], rtol=1e-14)


# --- balance -------------------------------------------------------------------------------------------------------------


def test_internal_forces_and_reactions_balance(rng):
    """Springs, laws, friction, user forces in pairs and constraint reactions between bodies: no resultant, no moment."""
    def pull(t, r, A, v, omega, F, T):
        F[0] = (1 + t - 0.1 * (v[0] - v[1]) @ (r[1] - r[0])) * (r[1] - r[0])
        F[1] = -F[0]

    def between(elements):
        return [e for e in elements if GROUND not in (getattr(e, "i", None), getattr(e, "j", None))]

    m = all_elements(21)
    rigid_only = [b for b in m.bodies if isinstance(b, mbdae.RigidBody)]
    names = {b.name for b in rigid_only}
    joints = [j for j in between(m.joints) if {j.i, j.j} <= names] + [mbdae.Revolute("pin", "h", "k", X, Y, unit(rng), unit(rng))]
    forces = [mbdae.TSDA("s", "a", "c", X, Y, k=2.0, c=1.0, l0=0.1, law=stiffening), mbdae.UserForce("u", ("a", "b"), pull),
              mbdae.RSDA("r", "b", "h", k=2.0, c=1.0, law=stiffening, a_i=Z, b_i=X, b_j=Y),
              mbdae.Friction("f", "slide", 0.3), mbdae.Friction("g", "pin", 0.3, radius=0.1)]
    s = free(*rigid_only, joints=joints, forces=forces)
    q, v, lam = mbdae.assemble(s, 0.2).q, rng.normal(size=s.nv), rng.normal(size=s.nc)
    gyroscopic = free(*rigid_only).force(0.2, q, v)
    for Q in (s.force(0.2, q, v, lam) - gyroscopic, s.phi_q(0.2, q).T @ lam):
        force, torque = global_wrench(s, q, Q)
        assert np.abs(Q).max() > 0.5
        assert max(np.abs(force).max(), np.abs(torque).max()) < 1e-12


def test_planar_internal_forces_balance(rng):
    joints = [mbdae.PlanarTranslational("slide", "a", "b", (0.3, 0.1), (0.2, 0.5), (0.6, 0.8)),
              mbdae.PlanarRevolute("pin", "b", "c", (1, 0))]
    forces = [mbdae.RSDA("r", "a", "c", k=2.0, c=1.0), mbdae.TSDA("s", "a", "c", X, Y, k=1.0, c=1.0),
              mbdae.Friction("f", "slide", 0.3), mbdae.Friction("g", "pin", 0.2, radius=0.3)]
    s = free(*[mbdae.PlanarBody(n, 1, 1, rng.normal(size=2), rng.normal()) for n in "abc"], joints=joints, forces=forces)
    q, v, lam = mbdae.assemble(s).q, rng.normal(size=9), rng.normal(size=4)
    for Q in (s.force(0.0, q, v, lam), s.phi_q(0.0, q).T @ lam):
        force, torque = global_wrench(s, q, Q)
        assert np.abs(Q).max() > 0.1
        assert max(np.abs(force).max(), np.abs(torque).max()) < 1e-13


# --- friction ------------------------------------------------------------------------------------------------------------


def guide(**friction):
    """A block on the global x-axis with friction; its multipliers are the normal forces along y and z."""
    joint = mbdae.Translational("guide", GROUND, "block", a_i=X, a_j=X, b_i=Y)
    s = free(mbdae.RigidBody("block", 1.0, (1, 1, 1)), joints=[joint], forces=[mbdae.Friction("f", "guide", 0.3, **friction)])
    return s, s.initial_guess()[0]


def lam_of(s, **values):
    lam = np.zeros(s.nc)
    for name, value in values.items():
        lam[s.labels.index(name)] = value
    return lam


@pytest.mark.parametrize("speed", [-2.0, 2.0])
def test_friction_opposes_sliding_with_mu_times_the_normal_force(speed):
    s, q = guide()
    lam = lam_of(s, **{"guide.db": 3.0, "guide.dc": -4.0, "guide.b": 100.0, "guide.turn": 100.0})
    np.testing.assert_allclose(s.force(0, q, np.array([speed, 0, 0, 0, 0, 0]), lam), [-0.3 * 5.0 * np.sign(speed), 0, 0, 0, 0, 0],
                               atol=1e-14)


def test_the_normal_force_can_be_that_of_one_row():
    s, q = guide(normal="guide.dc")
    lam = lam_of(s, **{"guide.db": 3.0, "guide.dc": -4.0})
    assert s.force(0, q, np.array([1.0, 0, 0, 0, 0, 0]), lam)[0] == pytest.approx(-0.3 * 4.0, rel=1e-14)


@pytest.mark.parametrize(("speed", "expected"), [(0.9e-3, 0.0), (-0.9e-3, 0.0), (1.1e-3, -0.9), (-1.1e-3, 0.9)])
def test_below_the_transition_velocity_there_is_no_friction(speed, expected):
    s, q = guide(v_s=1e-3)
    assert s.force(0, q, np.array([speed, 0, 0, 0, 0, 0]), lam_of(s, **{"guide.db": 3.0}))[0] == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("speed", [0.0, 1e-4, 1e-3, 0.02, 5.0, -5.0])
def test_smooth_friction_is_a_hyperbolic_tangent(speed):
    s, q = guide(v_s=1e-3, smooth=True)
    force = s.force(0, q, np.array([speed, 0, 0, 0, 0, 0]), lam_of(s, **{"guide.db": 3.0}))[0]
    assert force == pytest.approx(-0.9 * np.tanh(speed / 1e-3), rel=1e-14)


@pytest.mark.parametrize("ratio", [0.0, 0.3, 3.0, 30.0, 1e3, 1e6])
def test_the_slope_of_smooth_friction_is_finite_at_every_speed(ratio):
    """Far above the transition velocity the complex hyperbolic tangent of NumPy overflows."""
    s, q = guide(v_s=1e-3, smooth=True)
    p = mbdae.Index3(s)
    y = np.concatenate([q, [ratio * 1e-3, 0, 0, 0, 0, 0], lam_of(s, **{"guide.db": 3.0})])
    J = p.jacobian(0.0, y, np.zeros(p.n), 0.0).toarray()
    slope = 0.9 / 1e-3 / np.cosh(min(ratio, 300.0)) ** 2
    assert J[p.equations["dynamics"].start, p.blocks["v"].start] == pytest.approx(slope, rel=1e-12, abs=1e-100)


def test_friction_in_a_pin_is_a_torque_from_the_radial_reaction(rng):
    body, axis = rigid(rng, "b"), unit(rng)
    A = rotations.to_matrix(body.orientation)
    pin = mbdae.Revolute("pin", GROUND, "b", body.position, (0, 0, 0), axis, A.T @ axis)
    s = free(body, joints=[pin], forces=[mbdae.Friction("f", "pin", 0.2, radius=0.5)])
    q, reaction = s.initial_guess()[0], np.array([1.0, -2.0, 3.0])
    radial = reaction - (reaction @ axis) * axis
    v = np.array([0, 0, 0, *(2.0 * A.T @ axis)])
    Q = s.force(0.0, q, v, np.array([*reaction, 50.0, 60.0])) - free(body).force(0.0, q, v)
    np.testing.assert_allclose(Q, [0, 0, 0, *(-0.2 * 0.5 * np.linalg.norm(radial) * A.T @ axis)], atol=1e-14)


def test_friction_takes_power_out(rng):
    s = mbdae.System(replace(all_elements(22), forces=[f for f in all_elements(22).forces if isinstance(f, mbdae.Friction)]))
    without = mbdae.System(replace(s.mechanism, forces=()))
    q = s.initial_guess()[0]
    for _ in range(10):
        v, lam = rng.normal(size=s.nv), rng.normal(size=s.nc)
        assert v @ (s.force(0.3, q, v, lam) - without.force(0.3, q, v)) < 0.0
