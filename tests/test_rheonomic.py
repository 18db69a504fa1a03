"""Rheonomic joints: drivers that move a joint of the tree without an unknown give the same motion as driver constraints."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest

import mbdae
from mbdae import System, library
from mbdae.model import rotations
from mbdae.problems import FORMULATIONS
from mbdae.registry import find
from tests.helpers import GROUND, rigid, thorough_but, unit
from tests.test_tree import agrees

DRIVEN = ("spin", "screw", "rail", "hinge")


def swing(t):
    return 0.4 * math.sin(1.7 * t) + 0.2 * t * t


def machine(reverse=False, loop=True, seed=5):
    """A slide on the ground, on it a driven hinge, an arm that slides and turns as driven, a free ball joint; and another driven branch.

    With `loop` a rod is between the two branches. `reverse` exchanges the ends of all joints and drivers.
    """
    rng = np.random.default_rng(seed)
    bodies = [rigid(rng, name) for name in ("slide", "rotor", "arm", "bob", "wheel", "crank")]
    at = {b.name: (np.array(b.position), rotations.to_matrix(b.orientation)) for b in bodies} | {GROUND: (np.zeros(3), np.eye(3))}
    joints, drivers = [], []

    def joined(kind, name, i, j, axis, aside=None):
        """A joint in the origin of body j, with the axis, fixed in body i; `aside` is another direction for drivers."""
        (r_i, A_i), (r_j, A_j) = at[i], at[j]
        fields = {"s_i": A_i.T @ (r_j - r_i), "s_j": np.zeros(3)}
        if axis is not None:
            fields |= {"a_i": axis, "a_j": A_j.T @ A_i @ axis}
        if reverse:
            i, j = j, i
            fields = {x[:-1] + ("j" if x.endswith("i") else "i"): value for x, value in fields.items()}
        joints.append(kind(name, i, j, **fields))

    def turned(name, i, j, axis, f):
        """A driver of the angle, whose value in the guess is zero."""
        if reverse:
            i, j, axis = j, i, -at[j][1].T @ at[i][1] @ axis
        b = np.cross(axis, unit(rng))
        b /= np.linalg.norm(b)
        drivers.append(mbdae.AngleDriver(name, i, j, f=f, a_i=axis, b_i=b, b_j=at[j][1].T @ at[i][1] @ b))

    axes = {name: unit(rng) for name in ("slide", "rotor", "arm", "wheel", "crank")}
    joined(mbdae.Translational, "guide", GROUND, "slide", axes["slide"])
    joined(mbdae.Revolute, "bearing", "slide", "rotor", axes["rotor"])
    joined(mbdae.Cylindrical, "sleeve", "rotor", "arm", axes["arm"])
    joined(mbdae.Spherical, "ball", "arm", "bob", None)
    joined(mbdae.Cylindrical, "post", GROUND, "wheel", axes["wheel"])
    joined(mbdae.Revolute, "pin", "wheel", "crank", axes["crank"])
    turned("spin", "slide", "rotor", axes["rotor"], mbdae.Polynomial((0.0, 1.5, 0.4)))
    turned("screw", "rotor", "arm", axes["arm"], swing)
    ends = (("slide", GROUND) if reverse else (GROUND, "slide"))
    s = axes["slide"] @ at["slide"][0]
    drivers.append(mbdae.CoordinateDriver("rail", *ends, c=-axes["slide"] if reverse else axes["slide"],
                                          f=mbdae.Harmonic(0.2, 3.0, 0.0, s)))
    turned("hinge", "wheel", "crank", -axes["crank"], mbdae.Harmonic(0.5, 2.0))
    link = np.linalg.norm(at["bob"][0] - at["crank"][0])
    if loop:
        joints.append(mbdae.Rod("link", "bob", "crank", length=link))
    force = mbdae.TSDA("spring", "bob", GROUND, k=30.0, c=2.0, l0=1.0)
    return mbdae.Mechanism("machine", bodies, joints, drivers, [force], gravity=(0.0, -2.0, -9.0))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("t", [0.0, 0.35, -1.2])
@pytest.mark.parametrize("prescribed", [DRIVEN, ("spin",), ("rail", "hinge")])
def test_accelerations_and_multipliers_agree(reverse, t, prescribed):
    system = agrees(machine(reverse), t, prescribed=prescribed)
    assert [d.name for d in system.tree.prescribed] and set(d.name for d in system.tree.prescribed) == set(prescribed)
    assert system.nv == 10 - len(prescribed)
    assert system.nc == 5 - len(prescribed)
    assert system.rheonomic


@pytest.mark.parametrize("name", ["slider-crank", "four-link"])
def test_cranks_of_the_library(name):
    system = agrees(library.mechanism(name), 0.4, prescribed=("drive",))
    assert "drive" not in system.labels


def test_planar_bodies():
    """An angle between bodies, one of a body without a joint, a slide on the ground."""
    rng = np.random.default_rng(3)
    bodies = [mbdae.PlanarBody(name, 1.0 + rng.random(), 0.3 + rng.random(), rng.normal(size=2), rng.normal()) for name in "abcd"]
    at = {b.name: (np.array(b.position), b.angle) for b in bodies}

    def own(name, x):
        r, angle = at[name]
        c, s = math.cos(angle), math.sin(angle)
        return np.array([[c, s], [-s, c]]) @ (x - r)

    u = rng.normal(size=2)
    u /= np.linalg.norm(u)
    joints = [mbdae.PlanarRevolute("ab", "b", "a", own("b", at["a"][0]), np.zeros(2)),
              mbdae.PlanarTranslational("rail", GROUND, "d", at["d"][0], np.zeros(2), a_i=u)]
    drivers = [mbdae.PlanarAngleDriver("fold", "a", "b", f=mbdae.Harmonic(0.7, 2.0, 0.3, at["b"][1] - at["a"][1])),
               mbdae.PlanarAngleDriver("turn", GROUND, "c", f=mbdae.Polynomial((at["c"][1], 2.0, 1.0))),
               mbdae.CoordinateDriver("push", "d", GROUND, c=(-u[0], -u[1], 0.0), f=mbdae.Harmonic(0.3, 1.0, 0.2, u @ at["d"][0]))]
    forces = [mbdae.TSDA("spring", "b", "c", k=20.0, l0=0.5), mbdae.TSDA("other", "c", "d", k=20.0, l0=0.5)]
    system = agrees(mbdae.Mechanism("planar", bodies, joints, drivers, forces, gravity=(0.0, -9.81, 0.0)), 0.6,
                    prescribed=("fold", "turn", "push"))
    assert (system.nv, system.nc) == (5, 0)


def test_the_driving_torque_is_that_of_cartesian_coordinates():
    """The state of the bodies, assembled again."""
    system, t = System(library.mechanism("slider-crank"), coordinates="joint", prescribed=("drive",)), 0.3
    cartesian, state = system.cartesian, mbdae.assemble(system, 0.3)
    bodies = system.to_cartesian(state.q, state.v, state.a, t)
    found, expected = mbdae.assemble(cartesian, t, q=bodies.q, v=bodies.v), mbdae.assemble(cartesian, t)
    at = cartesian.labels.index("drive")
    assert found.lam[at] == pytest.approx(expected.lam[at], rel=1e-9)
    assert np.abs(bodies.a - expected.a).max() <= 1e-10 * np.abs(expected.a).max()


# --- derivatives, forms, integrators, solvers ----------------------------------------------------------------------------


def test_velocity_and_acceleration_equations():
    """`nu = -Phi_t` and `gamma` by differences of `Phi` along the motion."""
    system = System(machine(), coordinates="joint", prescribed=DRIVEN)
    rng, t, h = np.random.default_rng(0), 0.2, 1e-3
    state = mbdae.assemble(system, t)
    q, v, a = state.q, rng.normal(size=system.nv), rng.normal(size=system.nv)

    def along(x):
        """`Phi` at `t + x`; velocities are turned along by `retract`, whose second derivative at zero vanishes."""
        return system.phi(t + x, system.retract(q, x * v + 0.5 * x * x * a))

    values = [along(k * h) for k in range(-3, 4)]
    first = np.array([-1, 9, -45, 0, 45, -9, 1]) @ values / (60 * h)
    second = np.array([2, -27, 270, -490, 270, -27, 2]) @ values / (180 * h * h)
    G = system.phi_q(t, q).toarray()
    assert np.abs(first - (G @ v - system.nu(t, q))).max() <= 1e-9 * (1.0 + np.abs(first).max())
    assert np.abs(second - (G @ a - system.gamma(t, q, v))).max() <= 1e-7 * (1.0 + np.abs(second).max())


@pytest.mark.parametrize("form", [f for f in FORMULATIONS if f not in ("partition", "tangent", "ode")])
def test_exact_jacobians(form):
    """Values and pattern against central differences."""
    problem = FORMULATIONS[form](System(machine(), coordinates="joint", prescribed=("spin", "rail", "hinge")))
    rng, t, c, h = np.random.default_rng(0), 0.1, 3.0, 1e-5
    y, yd = (x + 1e-2 * rng.normal(size=problem.n) for x in (problem.y0, problem.yd0))
    J = problem.jacobian(t, y, yd, c).toarray()

    def residual(x):
        out = np.zeros(len(J))
        problem.residual(t, y + x, yd + c * x, out)
        return out

    expected = np.array([(8 * (residual(h * e) - residual(-h * e)) - residual(2 * h * e) + residual(-2 * h * e)) / (12 * h)
                         for e in np.eye(problem.n)]).T
    assert np.abs(J - expected).max() <= 1e-8 * (1.0 + np.abs(expected).max())


SPAN = (0.25, 0.75)


@pytest.fixture(scope="module")
def motion():
    """The motion of the bodies with driver constraints."""
    found = mbdae.solve(System(machine()), mbdae.RosenbrockNystrom(), SPAN, rtol=1e-10, atol=1e-10)
    assert found.success, found.message
    return found


def deviation(system, found, motion):
    """The largest error of the bodies' positions and velocities at the end."""
    back, c = system.to_cartesian(found.q[-1], found.v[-1], t=found.t[-1]), system.cartesian
    return max(np.abs(c.difference(back.q, motion.q[-1])).max(), np.abs(back.v - motion.v[-1]).max())


ORDERS = ((mbdae.HalfImplicit, {}, 1), (mbdae.FullyImplicit, {}, 1), (mbdae.Newmark, {}, 2), (mbdae.NullSpaceNewmark, {}, 2),
          (mbdae.GeneralizedAlpha, {}, 2))


@pytest.mark.parametrize(("method", "more", "order"), ORDERS, ids=lambda x: getattr(x, "__name__", str(x)))
def test_fixed_steps_keep_their_order(method, more, order, motion):
    system = System(machine(), coordinates="joint", prescribed=DRIVEN)
    errors = []
    for h in (2e-3, 1e-3):
        found = mbdae.solve(system, method(h=h, **more), SPAN)
        assert found.success, found.message
        errors.append(deviation(system, found, motion))
    assert math.log2(errors[0] / errors[1]) > order - 0.35
    assert errors[1] <= {1: 3e-2, 2: 1e-4}[order]


@pytest.mark.thorough
def test_gauss_has_its_order_without_constraints():
    """All drivers prescribed and no loop: `2 s`, with a mass matrix that depends on time."""
    system = System(machine(loop=False), coordinates="joint", prescribed=DRIVEN)
    expected = mbdae.solve(System(machine(loop=False)), mbdae.RosenbrockNystrom(), SPAN, rtol=1e-11, atol=1e-11)
    errors = [deviation(system, mbdae.solve(system, mbdae.ProjectedGauss(stages=2, h=h), SPAN), expected) for h in (0.02, 0.01)]
    assert system.nc == 0
    assert math.log2(errors[0] / errors[1]) > 3.8


@pytest.mark.parametrize("method", thorough_but((mbdae.RosenbrockNystrom(), mbdae.Bdf(), mbdae.DormandPrince()), [
    mbdae.RosenbrockNystrom(), mbdae.SdirkFirstOrder(), mbdae.SdirkDescriptor(), mbdae.Bdf(), mbdae.TrapezoidalStateSpace(),
    mbdae.DormandPrince()]),
    ids=lambda m: type(m).__name__)
def test_step_size_control(method, motion):
    system = System(machine(), coordinates="joint", prescribed=DRIVEN)
    found = mbdae.solve(system, method, SPAN, rtol=1e-7, atol=1e-7)
    assert found.success, found.message
    assert deviation(system, found, motion) <= 1e-4


@pytest.mark.parametrize(("name", "form"), [("SolveIvp:DOP853", "ode"), ("Ida", "ggl"), ("Ida", "index1"), ("Cvode", "ode")])
def test_foreign_solvers(name, form, motion):
    system = System(machine(True), coordinates="joint", prescribed=("spin", "screw", "hinge"))
    found = mbdae.solve(system, find(name).make(), SPAN, formulation=form, rtol=1e-8, atol=1e-8)
    assert found.success, found.message
    expected = mbdae.solve(system.cartesian, mbdae.RosenbrockNystrom(), SPAN, rtol=1e-10, atol=1e-10)
    assert deviation(system, found, expected) <= 1e-4


def test_extended_updates_follow_the_motion():
    """The excitation has the prescribed angle, its sine and cosine, and derivatives."""
    system = System(machine(), coordinates="joint", prescribed=("spin",))
    f = mbdae.Polynomial((0.0, 1.5, 0.4))
    assert np.allclose([x for x in system.excitation(0.7) if x in (math.cos(f(0.7)[0]), *f(0.7))],
                       [math.cos(f(0.7)[0]), *f(0.7)])


# --- times, failures -----------------------------------------------------------------------------------------------------


def test_the_time_is_needed():
    system = System(machine(), coordinates="joint", prescribed=("spin",))
    start = system.start
    with pytest.raises(ValueError, match="machine: t is needed, since 'spin' moves a joint as a function of time"):
        system.to_cartesian(start.q)
    with pytest.raises(ValueError, match="t is needed"):
        system.from_cartesian(system.cartesian.start.q)
    with pytest.raises(ValueError, match="t must be a number, or have as many entries as q has rows, 2, got shape"):
        system.to_cartesian(np.array([start.q, start.q]), t=[0.0, 1.0, 2.0])
    with pytest.raises(ValueError, match="violate the joint"):
        system.from_cartesian(system.cartesian.start.q, t=0.3)
    rest = system.from_cartesian(system.cartesian.start.q, t=0.0)  # the bodies are not at rest
    assert np.abs(rest.q - start.q).max() <= 1e-12
    assert not rest.v.any()
    later = mbdae.assemble(system, 0.3)
    both = system.to_cartesian(np.array([start.q, later.q]), t=[0.0, 0.3])
    for row, state in zip(both.q, (start, later)):
        assert np.abs(system.cartesian.phi(state.t, row)).max() <= 1e-10
    assert system.geometry.at(0.3, later.q) is not None


def test_all_coordinates_of_a_joint_are_known():
    """Bodies without an unknown between bodies with unknowns."""
    system = System(machine(), coordinates="joint", prescribed=("rail", "spin"))
    assert system.coordinates("slide") == (slice(0, 0), slice(0, 0))
    assert system.coordinates("arm").v == slice(0, 2)
    assert system.turning_bodies == ("bob",)
    again = pickle.loads(pickle.dumps(system))
    assert [d.name for d in again.tree.prescribed] == [d.name for d in system.tree.prescribed]
    assert np.array_equal(again.force(0.2, system.start.q, system.start.v), system.force(0.2, system.start.q, system.start.v))


def test_drivers_that_prescribe_no_coordinate_are_refused():
    m = machine()
    arm = mbdae.AngleDriver("lift", "rotor", "arm", f=0.0, a_i=(1.0, 0.0, 0.0), b_i=(0.0, 1.0, 0.0), b_j=(0.0, 1.0, 0.0))
    tip = mbdae.AngleDriver("tip", "arm", "bob", f=0.0, a_i=(1.0, 0.0, 0.0), b_i=(0.0, 1.0, 0.0), b_j=(0.0, 1.0, 0.0))
    far = mbdae.AngleDriver("far", "slide", "bob", f=0.0, a_i=(1.0, 0.0, 0.0), b_i=(0.0, 1.0, 0.0), b_j=(0.0, 1.0, 0.0))
    way = mbdae.DistanceDriver("way", GROUND, "wheel", f=2.0)
    up = mbdae.CoordinateDriver("up", "rotor", "arm", c=(0.0, 0.0, 1.0), f=0.1)
    again = mbdae.AngleDriver("again", "slide", "rotor", f=m.drivers[0].f, a_i=m.drivers[0].a_i, b_i=m.drivers[0].b_i, b_j=m.drivers[0].b_j)
    more = mbdae.Mechanism("machine", m.bodies, m.joints, [*m.drivers, arm, tip, far, way, up, again], m.forces)
    cases = {("lift",): "driver 'lift' cannot move joint 'sleeve' without an unknown: its axis is another one; leave it a constraint",
             ("tip",): "joint 'ball' without an unknown: it does not turn about one axis alone",
             ("far",): "no joint of the tree is between 'slide' and 'bob'", ("way",): "a DistanceDriver prescribes no length or angle",
             ("up",): "its direction is fixed in space, not in a body",
             ("spin", "again"): "driver 'spin' prescribes the same coordinate of joint 'bearing'",
             ("spin", "spin"): "driver 'spin' is named twice", ("Spin",): "there is no driver 'Spin'.*did you mean 'spin'"}
    for names, message in cases.items():
        with pytest.raises(ValueError, match=message):
            System(more, coordinates="joint", prescribed=names)
    wheel = [j for j in m.joints if j.name in ("guide",)]
    alone = mbdae.Mechanism("alone", [m.bodies[0]], wheel, [d for d in m.drivers if d.name == "rail"])
    with pytest.raises(ValueError, match="alone: its drivers prescribe all coordinates, no equation of motion is left"):
        System(alone, coordinates="joint", prescribed=("rail",))
    with pytest.raises(ValueError, match="joints are prescribed in joint coordinates; add coordinates='joint'"):
        System(m, prescribed=("spin",))


def spun(f):
    """The machine with another function of its first driver, prescribed."""
    m = machine()
    drivers = [replace(d, f=mbdae.Function(f)) if d.name == "spin" else d for d in m.drivers]
    return System(replace(m, drivers=drivers), coordinates="joint", prescribed=("spin",))


def test_a_motion_that_is_not_finite_is_named():
    system = spun(lambda t: 0.1 * t if t < 0.1 else math.nan)
    for method in (mbdae.HalfImplicit(h=1e-2), mbdae.RosenbrockNystrom()):
        found = mbdae.solve(system, method, (0.0, 1.0))
        assert not found.success
        assert found.t[-1] == pytest.approx(0.1, abs=0.02)
        assert "the motion of driver 'spin' between 'slide' and 'rotor'" in found.message


def test_a_motion_that_raises_is_named():
    def broken(t):
        if t > 0.1:
            raise RuntimeError("no more road")
        return 0.1 * t

    system = spun(broken)
    with pytest.raises(RuntimeError, match="no more road") as raised:
        mbdae.solve(system, mbdae.HalfImplicit(h=1e-2), (0.0, 1.0))
    assert "the motion of driver 'spin' between 'slide' and 'rotor'" in "".join(raised.value.__notes__)
