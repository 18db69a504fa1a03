"""Joint coordinates: the same motion as in Cartesian coordinates, and what holds for joint coordinates alone."""

import pickle
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import mbdae
from mbdae import System, library
from mbdae.model import rotations
from mbdae.problems import FORMULATIONS
from mbdae.system import evaluate as ev
from mbdae.system import layout, null_space, sparse
from mbdae.system.assembly import completed, positions, velocities
from mbdae.system.tree.spanning import spanning_tree
from mbdae.system.tree.system import TreeSystem
from tests import linkages
from tests.helpers import GROUND, T0, all_elements, rigid, slider_crank, unit

QUICK = ("double-pendulum", "slider-crank-free", "spatial-four-bar", "closed-loop-bars", "truck")
OF_FUNCTIONS = ("flexible-slider-crank", "wheelset", "rail-carriage")  # which have no joints
ALL = [n for n in library.names() if n not in QUICK + OF_FUNCTIONS]
THIN = ("ring", "tree")  # bars whose spin has 1e-2, and 1e-5, of the inertia of what they carry: so much more rounding in its derivative
SPATIAL = (mbdae.Spherical, mbdae.Revolute, mbdae.Cylindrical, mbdae.Universal, mbdae.RevoluteCylindrical, mbdae.Translational, mbdae.Fixed,
           mbdae.Free)


def states(cartesian, t=0.0, count=3, seed=1):
    """Random consistent states in Cartesian coordinates."""
    rng, start = np.random.default_rng(seed), mbdae.assemble(cartesian, t)
    for _ in range(count):
        d = velocities(cartesian, t, start.q, rng.normal(size=cartesian.nv)) - velocities(cartesian, t, start.q, np.zeros(cartesian.nv))
        size = np.abs(d).max()
        q = positions(cartesian, t, cartesian.retract(start.q, 0.1 * d / size)) if size > 1e-9 else start.q
        yield completed(cartesian, t, q, velocities(cartesian, t, q, start.v + rng.normal(size=cartesian.nv)))


def energy_norm(system, t, q, x):
    """`sqrt(x^T M x / 2)`, in which the rounding of a solve with the mass matrix does not depend on the ratio of its masses."""
    return np.sqrt(max(system.kinetic_energy(t, q, x), 0.0))


def agrees(mechanism, t=0.0, cut=(), prescribed=(), rounding=1e-11):
    """Both systems of a mechanism at random states."""
    system = System(mechanism, coordinates="joint", cut=cut, prescribed=prescribed)
    cartesian = system.cartesian
    rows = [cartesian.labels.index(label) for label in system.labels]
    for state in states(cartesian, t):
        q, v = system.from_cartesian(state.q, state.v, t)
        own = completed(system, t, q, v)
        back = system.to_cartesian(own.q, own.v, own.a, t)
        assert np.abs(cartesian.difference(back.q, state.q)).max() <= 1e-11 * (1.0 + np.abs(state.q).max())
        assert np.abs(back.v - state.v).max() <= 1e-11 * (1.0 + np.abs(state.v).max())
        assert np.abs(back.a - state.a).max() <= rounding * (1.0 + np.abs(state.a).max())
        assert energy_norm(cartesian, t, state.q, back.a - state.a) <= 2e-13 * (1.0 + energy_norm(cartesian, t, state.q, state.a))
        if not len(cartesian.dependent):
            assert np.abs(own.lam - state.lam[rows]).max(initial=0.0) <= 1e-11 * (1.0 + np.abs(state.lam).max())
        kinetic = cartesian.kinetic_energy(t, state.q, state.v)
        assert system.kinetic_energy(t, q, v) == pytest.approx(kinetic, rel=1e-11, abs=1e-11)
        assert system.energy(t, q, v) == pytest.approx(cartesian.energy(t, state.q, state.v), rel=1e-11, abs=1e-11)
    return system


@pytest.mark.parametrize("name", QUICK)
def test_both_systems_agree(name):
    agrees(library.mechanism(name))


@pytest.mark.thorough
@pytest.mark.parametrize("name", ALL)
def test_both_systems_of_all_mechanisms_agree(name):
    agrees(library.mechanism(name), rounding=1e-10 if name in THIN else 1e-11)


# --- joints --------------------------------------------------------------------------------------------------------------


def one_of_each(seed, reverse):
    """A tree with every spatial joint, behind one another; `reverse` exchanges the ends `i` and `j`."""
    rng = np.random.default_rng(seed)
    bodies, joints, before = [], [], GROUND
    frame = (np.zeros(3), np.eye(3))
    for k, kind in enumerate(SPATIAL):
        body = rigid(rng, f"body {k}")
        own = np.array(body.position), rotations.to_matrix(body.orientation)
        s, a = rng.normal(size=3), unit(rng)
        if kind in (mbdae.Universal, mbdae.RevoluteCylindrical):
            across = np.cross(frame[1] @ a, unit(rng))  # perpendicular to the other axis
            a_own = own[1].T @ across / np.linalg.norm(across)
        else:
            a_own = (-1) ** k * own[1].T @ frame[1] @ a
        x = frame[0] + frame[1] @ s
        if kind in (mbdae.Cylindrical, mbdae.Translational):
            x = x + 0.4 * frame[1] @ a
        elif kind is mbdae.RevoluteCylindrical:
            x = x + 0.4 * (own[1] @ a_own if reverse else frame[1] @ a)
        points = {"s_i": s, "s_j": own[1].T @ (x - own[0])}
        axes = {} if kind in (mbdae.Spherical, mbdae.Fixed, mbdae.Free) else {"a_i": a, "a_j": a_own}
        fields = points | axes
        if reverse:
            fields = {name[:-1] + ("j" if name.endswith("i") else "i"): value for name, value in fields.items()}
        ends = (f"body {k}", before) if reverse else (before, f"body {k}")
        joints.append(kind(f"joint {k}", *ends, **fields))
        bodies.append(body)
        before, frame = f"body {k}", own
    return mbdae.Mechanism("all joints", bodies, joints, gravity=rng.normal(size=3))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("reverse", [False, True])
def test_all_joints_become_coordinates(seed, reverse):
    system = agrees(one_of_each(seed, reverse))
    assert system.nc == 0 and system.tree.cut == ()
    assert system.nv == 3 + 1 + 2 + 2 + 3 + 1 + 0 + 6


def test_planar_joints_become_coordinates_of_angles_without_bounds():
    bodies = [mbdae.PlanarBody("wheel", 1.0, 0.2, (1.0, 0.0), 7.0), mbdae.PlanarBody("block", 2.0, 0.1, (2.0, 0.0), 8.0),
              mbdae.PlanarBody("rider", 0.5, 0.1, (2.0, 1.0), -9.0)]
    joints = [mbdae.PlanarRevolute("hub", GROUND, "wheel", (1.0, 0.0)),
              mbdae.PlanarTranslational("guide", "block", "wheel", s_j=(0.2, 0.1), a_i=(0.6, 0.8)),
              mbdae.PlanarRevolute("pin", "rider", "block", (0.1, -0.3))]
    coil = mbdae.RSDA("coil", GROUND, "rider", k=1.0)  # sees the angle with all its turns
    system = agrees(mbdae.Mechanism("planar", bodies, joints, forces=[coil], gravity=(0.0, -9.81, 0.0)))
    assert (system.nv, system.nc) == (3, 0)


def test_other_bodies_and_joints_stay_constraints():
    system = agrees(all_elements(1, forces=False), T0)
    assert {b.joint for b in system.tree.branches} == {None, "slide", "pin"}  # a particle, a planar body and primitives carry no frame
    assert len(system.tree.cut) == 12


def test_joints_with_friction_stay_constraints():
    """In the first mechanism friction in both joints that could be coordinates."""
    assert agrees(all_elements(1), T0).tree.cut[-2:] == ("slide", "pin")
    assert set(agrees(slider_crank()).tree.cut) == {"guide", "crank pin"}


def test_named_joints_are_cut():
    m = library.mechanism("four-link")
    system = agrees(m, cut=("B",))
    assert "B" in system.tree.cut and (system.nv, system.nc) != (4, 4)
    with pytest.raises(ValueError, match=r"no joint 'Bb' to cut.*did you mean 'B'"):
        System(m, coordinates="joint", cut=("Bb",))
    with pytest.raises(ValueError, match="add coordinates='joint'"):
        System(m, cut=("B",))
    with pytest.raises(ValueError, match="must be 'cartesian' or 'joint', got 'relative'"):
        System(m, coordinates="relative")


def test_the_tree_has_most_equations_and_is_shallow():
    """A ring of revolute joints with a rod to the ground: of the ring one joint is cut, half way round."""
    bodies = [rigid(np.random.default_rng(k), f"b{k}") for k in range(6)]
    ends = [GROUND, *(b.name for b in bodies), GROUND]
    joints = [mbdae.Revolute(f"pin {k}", i, j) for k, (i, j) in enumerate(pairwise(ends))]
    tree = spanning_tree(mbdae.Mechanism("ring", bodies, [mbdae.Spherical("ball", "b0", "b2"), *joints]))
    assert tree.cut == ("ball", "pin 3")
    assert [b.before for b in tree.branches] == [GROUND, "b0", "b1", GROUND, "b5", "b4"]


# --- derivatives, forms, solvers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [f for f in FORMULATIONS if f not in ("partition", "tangent", "ode")])
@pytest.mark.parametrize("make", [lambda: all_elements(2), lambda: one_of_each(4, True), lambda: library.mechanism("closed-loop-bars")])
def test_exact_jacobians(form, make):
    """Values and pattern against central differences."""
    problem = FORMULATIONS[form](System(make(), coordinates="joint"))
    rng, t, c = np.random.default_rng(0), T0 + 0.1, 3.0
    y, yd = (x + 1e-2 * rng.normal(size=problem.n) for x in (problem.y0, problem.yd0))
    J = problem.jacobian(t, y, yd, c).toarray()

    def residual(x):
        out = np.zeros(len(J))
        problem.residual(t, y + x, yd + c * x, out)
        return out

    h = 1e-5
    expected = np.array([(8 * (residual(h * e) - residual(-h * e)) - residual(2 * h * e) + residual(-2 * h * e)) / (12 * h)
                         for e in np.eye(problem.n)]).T
    assert np.abs(J - expected).max() <= 1e-8 * (1.0 + np.abs(expected).max())


METHODS = (mbdae.HalfImplicit(h=2e-4), mbdae.FullyImplicit(h=2e-4), mbdae.Newmark(h=1e-3), mbdae.NullSpaceHHT(),
           mbdae.ProjectedGauss(stages=2, h=1e-2), mbdae.SdirkFirstOrder(), mbdae.RosenbrockNystrom(), mbdae.Bdf(), mbdae.DormandPrince(),
           mbdae.RadauIIA())


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_integrators_follow_the_motion(method):
    system = System(linkages.bennett(), coordinates="joint")
    cartesian, span = system.cartesian, (0.0, 0.3)
    expected = mbdae.solve(cartesian, mbdae.RosenbrockNystrom(), span, rtol=1e-9, atol=1e-9)
    tolerances = {} if getattr(method, "h", None) else {"rtol": 1e-6, "atol": 1e-6}
    found = mbdae.solve(system, method, span, **tolerances)
    assert found.success, found.message
    limit = 5e-3 if "Implicit" in type(method).__name__ else 1e-3
    assert np.abs(cartesian.difference(system.to_cartesian(found.q[-1]).q, expected.q[-1])).max() <= limit


@pytest.mark.parametrize("make", [linkages.door, linkages.bennett, linkages.goldberg, linkages.myard, linkages.sarrus])
def test_redundant_constraints(make):
    """Multipliers of cut joints of minimum norm; the motion of the bodies does not depend on them."""
    system = System(make(), coordinates="joint")
    cartesian, span = system.cartesian, (0.0, 0.4)  # Sarrus' linkage is flat, a singular position, at 0.48 s
    expected = mbdae.solve(cartesian, mbdae.RosenbrockNystrom(), span, rtol=1e-9, atol=1e-9)
    found = mbdae.solve(system, mbdae.RosenbrockNystrom(), span, rtol=1e-9, atol=1e-9)
    assert expected.success, expected.message
    assert found.success, found.message
    assert np.abs(cartesian.difference(system.to_cartesian(found.q[-1]).q, expected.q[-1])).max() <= 1e-6
    for t, q, lam in zip(found.t, found.q, found.lam):
        G = system.phi_q(t, q).toarray()
        null = np.linalg.svd(G.T)[2][np.linalg.matrix_rank(G, 1e-9):]
        assert np.abs(null @ lam).max(initial=0.0) <= 1e-9 * (1.0 + np.abs(lam).max(initial=0.0))


def test_redundant_constraints_whose_rows_vanish():
    """Loops of revolute joints in the plane: the rows out of the plane are zero in joint coordinates, and stay left out."""
    system = System(library.mechanism("spatial-four-bar"), coordinates="joint")
    model, work = system.model, system.workspace()
    state = system.start
    assert (np.abs(system.phi_q(0.0, state.q).toarray()).max(axis=1) < 1e-14).sum() == len(system.dependent) == 3
    ev.factor(0.0, state.q, model, work)
    assert null_space.form(model, work) < 10.0  # the measure by which other rows are chosen
    assert np.isfinite(ev.solve_kkt(0.0, state.q, np.ones(system.nv), np.zeros(system.nc), model, work)[1]).all()


@pytest.mark.parametrize("t0", [1.0, 3.0])
def test_starts_at_other_times(t0):
    """Driven angles are on the branch of their drivers."""
    system = System(library.mechanism("four-link"), coordinates="joint")
    state, expected = mbdae.assemble(system, t0), mbdae.assemble(system.cartesian, t0)
    assert np.abs(system.cartesian.difference(system.to_cartesian(state.q).q, expected.q)).max() <= 1e-10


def test_given_velocities():
    system = System(library.mechanism("double-pendulum"), coordinates="joint")
    v = np.full(system.nv, np.nan)
    v[system.coordinates("upper").v] = 0.7
    state = mbdae.assemble(system, 0.0, v=v)
    assert state.v[system.coordinates("upper").v] == pytest.approx(0.7, rel=1e-12)
    assert np.abs(system.phi_q(0.0, state.q) @ state.v).max() <= 1e-13


# --- coordinates, pictures ----------------------------------------------------------------------------------------------


def test_states_that_violate_a_joint_of_the_tree_are_refused():
    system = System(library.mechanism("double-pendulum"), coordinates="joint")
    state = system.cartesian.start
    q = state.q.copy()
    q[system.cartesian.coordinates("lower").q.start] += 0.1
    with pytest.raises(ValueError, match="the positions of 'lower' violate the joint 'elbow' of the tree"):
        system.from_cartesian(q, state.v)
    v = state.v.copy()
    v[system.cartesian.coordinates("upper").v.start + 1] += 1.0
    with pytest.raises(ValueError, match=r"the velocities of '(upper|lower)' violate the joint"):
        system.from_cartesian(state.q, v)


def test_axes_that_assembly_turns_over_are_named_with_the_remedy():
    """A rough guess of the crank, which the constraints of the loop turn to the far one of the two directions of its axis."""
    m = library.mechanism("slider-crank-free")
    rough = tuple(replace(b, orientation=(11 / 18, 3 / 18, -5 / 18, -13 / 18)) if b.name == "crank" else b for b in m.bodies)
    system = System(replace(m, bodies=rough), coordinates="joint")
    found = system.cartesian.start  # assembled all the same
    with pytest.raises(ValueError, match=r"axes of the joint 'A' point the other way than in the initial guess.*; if assembly has turned "
                                         r"them over, give 'crank' an orientation in its guess that is nearer"):
        _ = system.start
    crank = system.cartesian.coordinates("crank").q
    remedied = tuple(replace(b, orientation=tuple(found.q[crank][3:])) if b.name == "crank" else b for b in rough)
    agrees(replace(m, bodies=remedied))


def test_trajectories_in_cartesian_coordinates():
    system = System(one_of_each(1, False), coordinates="joint")
    found = mbdae.solve(system, mbdae.RosenbrockNystrom(), (0.0, 0.2))
    bodies = system.to_cartesian(found.q, found.v, found.a)
    assert bodies.q.shape == (len(found.t), system.cartesian.nq) and bodies.a.shape == (len(found.t), system.cartesian.nv)
    for k in (0, len(found.t) - 1):
        assert all(np.array_equal(x[k], y) for x, y in zip(bodies, system.to_cartesian(found.q[k], found.v[k], found.a[k])))
        expected = completed(system.cartesian, found.t[k], bodies.q[k], bodies.v[k])
        assert np.abs(bodies.a[k] - expected.a).max() <= 1e-9 * (1.0 + np.abs(expected.a).max())
    with pytest.raises(ValueError, match=r"v must have shape \(18,\), or that of as many rows as q, got \(1, 3\)"):
        system.to_cartesian(found.q[0], np.zeros(3))


def test_names():
    system = System(library.mechanism("double-pendulum"), coordinates="joint")
    assert isinstance(system, TreeSystem) and isinstance(system, System)
    assert repr(system).splitlines()[0] == "TreeSystem 'double-pendulum': nq=5, nv=4, nc=2"
    copy = pickle.loads(pickle.dumps(system))
    assert np.array_equal(copy.start.q, system.start.q) and copy.tree.cut == system.tree.cut
    with pytest.raises(ValueError, match=r"there is no body 'uper'.*did you mean 'upper'"):
        system.coordinates("uper")
    with pytest.raises(ValueError, match="there is no joint, driver or constraint equation 'elbow'"):
        system.rows("elbow")


@pytest.mark.thorough
def test_the_picture_is_that_of_the_bodies():
    system = System(library.mechanism("iltis"), coordinates="joint")
    own, expected = system.geometry.at(0.0, system.start.q), system.cartesian.geometry.at(0.0, system.cartesian.start.q)
    assert np.abs(own.centres - expected.centres).max() <= 1e-12


def test_memory_grows_linearly():
    sizes = [System(library.mechanism("chain", links=n), coordinates="joint") for n in (32, 64)]
    small, large = (len(s.model) + s.workspace().nbytes for s in sizes)
    assert large < 2.1 * small


def test_failures_name_the_culprit():
    """A force that is not finite."""
    m = library.mechanism("double-pendulum")
    bad = mbdae.PointTorque("motor", "upper", (0.0, lambda t: np.nan if t > 0.1 else 0.0, 0.0))
    system = System(mbdae.Mechanism("bad", m.bodies, m.joints, m.drivers, [*m.forces, bad], m.gravity), coordinates="joint")
    found = mbdae.solve(system, mbdae.RosenbrockNystrom(), (0.0, 1.0))
    assert not found.success and "'motor'" in found.message and 0.05 < found.t[-1] <= 0.1


@pytest.mark.parametrize("is_unit", [False, True])
def test_products_with_the_mass_matrix_take_complex_vectors(is_unit):
    system = System(library.mechanism("truck"), coordinates="joint")
    work, model, rng = system.workspace(), system.model, np.random.default_rng(3)
    M = np.eye(system.nv) if is_unit else system.mass(0.0, system.start.q)
    ev.factor(0.0, system.start.q, model, work)
    if is_unit:
        ev.unit_mass(model, work)
    entries, factors = (layout.part(model, work, at) for at in (layout.W_MASS, layout.W_MINV))
    x = rng.normal(size=system.nv) + 1j * rng.normal(size=system.nv)
    product, solution = np.empty_like(x), np.empty_like(x)
    sparse.mass_times(entries, x, model, product)
    sparse.mass_solve(factors, product, model, solution)
    assert np.abs(product - M @ x).max() <= 1e-12 * np.abs(product).max()
    assert np.abs(solution - x).max() <= 1e-10 * np.abs(x).max()


@pytest.mark.parametrize("far", [0.0, 7e6])
@pytest.mark.parametrize("kind", ["particles", "bodies"])
def test_small_entries_of_phi_q_are_kept_wherever_the_mechanism_is(kind, far):
    """Free bodies have the same velocities in both coordinates: so do their rods, also where these are almost normal to an axis."""
    rng, places, s = np.random.default_rng(2), far + np.array([(0, 0, 0), (0, 577.0, 0), (0, 289.0, 500.0)]), (0.1, 0.05, 0.0)
    bodies = [mbdae.Particle(f"b{k}", 1.0, tuple(r)) if kind == "particles" else mbdae.RigidBody(f"b{k}", 1.0, (1, 1, 1.5), tuple(r))
              for k, r in enumerate(places)]
    ends = {} if kind == "particles" else {"s_i": s, "s_j": s}
    rods = [mbdae.Rod(f"{i}{j}", f"b{i}", f"b{j}", length=float(np.linalg.norm(places[i] - places[j])), **ends)
            for i, j in ((0, 1), (1, 2), (2, 0))]
    mechanism = mbdae.Mechanism("triangle", bodies, rods)
    joint, cartesian = System(mechanism, coordinates="joint"), System(mechanism)
    for size in (1e-9, 1e-6, 1e-3):
        q = cartesian.retract(cartesian.start.q, size * rng.normal(size=cartesian.nv))
        x = joint.from_cartesian(q)
        found, expected = (system.phi_q(0.0, at).toarray() for system, at in ((joint, x.q), (cartesian, joint.to_cartesian(x.q).q)))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14 * np.abs(expected).max())


@pytest.mark.thorough
def test_satellites_move_alike_in_both_coordinates():
    """Coordinates of 7000 km, tethers of 1 km: rounding alone is 1e-8 m after 1000 s."""
    mechanism, ends = library.mechanism("tethered-satellites"), []
    for system in (System(mechanism), System(mechanism, coordinates="joint")):
        found = mbdae.solve(system, mbdae.SolveIvp("DOP853"), (0.0, 1000.0), formulation="ode", rtol=1e-12, atol=1e-12)
        ends.append(system.to_cartesian(found.q[-1]).q if isinstance(system, TreeSystem) else found.q[-1])
    assert np.abs(ends[1] - ends[0]).max() < 1e-6
