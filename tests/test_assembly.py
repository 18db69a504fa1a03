"""Consistent states: nearest in the mass metric, from bad guesses, errors that name the culprit."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.optimize import minimize

import mbdae

from .helpers import GROUND, T0, all_elements, central, chain, double_pendulum, relative, slider_crank

X, Y, Z = np.eye(3)


def spatial_slider_crank():
    """The spatial slider-crank of Haug's book: revolute, spherical, universal-like, and translational joints, driven at 2 pi rad/s."""
    turned = [(0.666663941, 5.25423484e-7, 0.745357596), (-0.333335152, 0.894426107, 0.298141533), (-0.66666755, -0.447214375, 0.596282179)]
    bodies = [
        mbdae.RigidBody("crank", 0.12, (1e-4, 1e-5, 1e-4), (0, 0.1, 0.12), [(1, 0, 0), (0, 0, -1), (0, 1, 0)]),
        mbdae.RigidBody("rod", 0.5, (4e-3, 4e-4, 4e-3), (0.1, 0.05, 0.1), turned),
        mbdae.RigidBody("slider", 2.0, (1e-4,) * 3, (0.2, 0, 0), [(0, 0, 1), (0, 1, 0), (-1, 0, 0)]),
    ]
    joints = [
        mbdae.Revolute("bearing", GROUND, "crank", (0, 0.1, 0.12), a_i=X, a_j=X),
        mbdae.Spherical("ball", "rod", "crank", (-0.15, 0, 0), (0, 0.08, 0)),
        mbdae.DP1("cross", "rod", "slider", Y, Z), mbdae.DP2("rod y", "rod", "slider", Y, (0.15, 0, 0)),
        mbdae.DP2("rod z", "rod", "slider", Z, (0.15, 0, 0)),
        mbdae.D("rod x", "rod", "slider", (0.15, 0, 0), Z, 1.0), mbdae.Translational("guide", GROUND, "slider", (0.2, 0, 0), a_i=X, a_j=Z),
    ]
    drive = mbdae.AngleDriver("drive", GROUND, "crank", mbdae.Polynomial((0, 2 * np.pi)), -X, Z, Y)
    return mbdae.Mechanism("spatial slider-crank", bodies, joints, [drive], gravity=(0, 0, -9.81))


def four_link():
    """A spatial four-link mechanism, driven at pi rad/s."""
    coupler = [(0.750157212, 0.614025856, 0.24543106), (-0.661259471, 0.696721311, 0.278056337), (-2.63269879e-4, -0.37087958, 0.928680929)]
    rocker = [(0, 0.474123134, 0.880458547), (-1, 0, 0), (0, -0.880458546, 0.474123135)]
    bodies = [
        mbdae.RigidBody("rotor", 2.0, (4, 2, 2), (0, 0, 0), [(0, 0, 1), (0, 1, 0), (-1, 0, 0)]),
        mbdae.RigidBody("coupler", 1.0, (12.4, 0.01, 12.4), (-3.74555772, -4.25, 4.26236544), coupler),
        mbdae.RigidBody("rocker", 1.0, (4.54, 0.01, 4.54), (-5.74555772, -8.5, 3.26236544), rocker),
    ]
    joints = [
        mbdae.Revolute("A", GROUND, "rotor", a_i=X, a_j=X), mbdae.Revolute("D", GROUND, "rocker", (-4, -8.5, 0), (0, 3.7, 0), Y, Z),
        mbdae.Spherical("C", "rocker", "coupler", (0, -3.7, 0), (0, -6.1, 0)),
        mbdae.Spherical("B", "rotor", "coupler", (-2, 0, 0), (0, 6.1, 0)),
        mbdae.DP1("cross", "rotor", "coupler", (0, -0.662, 0.75), Z),
    ]
    drive = mbdae.AngleDriver("drive", GROUND, "rotor", mbdae.Polynomial((0, np.pi)), X, Z, -X)
    return mbdae.Mechanism("four-link", bodies, joints, [drive], gravity=(0, 0, -9.81))


MECHANISMS = {
    "all elements": (lambda: all_elements(31), T0), "spatial slider-crank": (spatial_slider_crank, 0.0), "four-link": (four_link, 0.0),
    "slider-crank": (slider_crank, 0.0), "double pendulum": (double_pendulum, 0.0), "chain": (lambda: chain(10), 0.0),
}


@pytest.fixture(scope="module", params=MECHANISMS)
def start(request):
    """A system, its time, and the state assembled from its own guess."""
    make, t = MECHANISMS[request.param]
    s = mbdae.System(make())
    return s, t, mbdae.assemble(s, t)


def assert_consistent(s, x):
    G = s.phi_q(x.t, x.q)
    assert np.abs(s.phi(x.t, x.q)).max() < 1e-12 * (1 + np.abs(x.q).max())
    assert relative(G @ x.v, s.nu(x.t, x.q)) < 1e-11 * (1 + np.abs(x.v).max())
    assert relative(G @ x.a, s.gamma(x.t, x.q, x.v)) < 1e-9
    assert relative(s.mass(x.t, x.q) @ x.a + G.T @ x.lam, s.force(x.t, x.q, x.v, x.lam)) < 1e-9


def test_states_are_consistent_on_all_levels(start):
    s, t, x = start
    assert x.t == t
    assert_consistent(s, x)


@pytest.mark.parametrize("seed", range(8))
def test_guesses_off_by_five_percent_are_put_right(start, seed):
    """Every coordinate is wrong by up to five percent, and by up to 0.05 where it is small."""
    s, t, x = start
    rng = np.random.default_rng(seed)
    guess = x.q + 0.05 * rng.uniform(-1, 1, size=s.nq) * np.maximum(1.0, np.abs(x.q)) * (1.0 if s.name != "slider-crank" else 0.2)
    assert np.abs(s.phi(t, guess)).max() > 1e-3
    y = mbdae.assemble(s, t, guess, rng.normal(size=s.nv))
    assert_consistent(s, y)
    assert np.abs(s.difference(y.q, x.q)).max() < 1.0


def test_a_consistent_state_is_left_alone(start):
    s, t, x = start
    y = mbdae.assemble(s, t, x.q, x.v)
    for name in "qva":
        assert relative(getattr(y, name), getattr(x, name)) < 1e-10


def test_positions_move_as_little_as_possible_in_the_mass_metric(start, rng):
    """Stationarity: the gradient of the distance is a combination of the constraint gradients."""
    s, t, x = start
    guess = s.retract(x.q, 0.02 * rng.normal(size=s.nv))
    q = mbdae.assemble(s, t, guess).q
    M = s.mass(t, q)

    def half_square(d):
        e = s.difference(s.retract(q, d), guess)
        return np.array([0.5 * e @ M @ e])

    gradient = central(half_square, s.nv)[0]
    free = null_space(s.phi_q(t, q).toarray(), rcond=1e-9)
    assert np.abs(gradient).max() > 1e-4
    assert np.abs(free.T @ gradient).max(initial=0.0) < 1e-8 * (1 + np.abs(M).max())


def test_the_nearest_position_is_the_one_that_slsqp_finds(rng):
    s = mbdae.System(double_pendulum())
    guess = s.initial_guess()[0] + 0.15 * rng.normal(size=6)
    m = np.diag(s.mass(0.0, guess))
    found = minimize(lambda q: 0.5 * ((q - guess) * m) @ (q - guess), guess, jac=lambda q: m * (q - guess), method="SLSQP",
                     constraints={"type": "eq", "fun": lambda q: s.phi(0.0, q), "jac": lambda q: s.phi_q(0.0, q).toarray()},
                     options={"ftol": 1e-15, "maxiter": 200})
    assert found.success
    np.testing.assert_allclose(mbdae.assemble(s, 0.0, guess).q, found.x, atol=1e-6)


def test_velocities_change_as_little_as_possible_in_the_mass_metric(start, rng):
    s, t, x = start
    guess = rng.normal(size=s.nv)
    v = mbdae.assemble(s, t, x.q, guess).v
    free = null_space(s.phi_q(t, x.q).toarray(), rcond=1e-9)
    assert np.abs(free.T @ s.mass(t, x.q) @ (v - guess)).max(initial=0.0) < 1e-9 * (1 + np.abs(s.mass(t, x.q)).max())
    assert relative(s.phi_q(t, x.q) @ v, s.nu(t, x.q)) < 1e-12


def test_driven_mechanisms_assemble_at_any_time():
    s = mbdae.System(spatial_slider_crank())
    q = None
    for t in np.linspace(0.0, 1.0, 21):
        q = mbdae.assemble(s, t, q).q
        assert np.abs(s.phi(t, q)).max() < 1e-12
    np.testing.assert_allclose(q[:3], s.initial_guess()[0][:3], atol=1e-12)  # the crank is back


def test_systems_without_constraints_keep_the_guess(rng):
    s = mbdae.System(mbdae.Mechanism("free", [mbdae.Particle("p", 1.0, (1, 2, 3), (4, 5, 6))], gravity=(0, 0, -9.81)))
    x = mbdae.assemble(s)
    np.testing.assert_array_equal(x.q, [1, 2, 3])
    np.testing.assert_array_equal(x.v, [4, 5, 6])
    np.testing.assert_allclose(x.a, [0, 0, -9.81], rtol=1e-15)


def test_friction_enters_the_multipliers_of_the_start():
    """A block on an incline: `a = g (sin - mu cos)`, `N = m g cos`."""
    angle, mu = 0.7, 0.3
    joint = mbdae.Translational("guide", GROUND, "block", a_i=X, a_j=X, b_i=Y)
    block = mbdae.RigidBody("block", 2.0, (1, 1, 1), velocity=(0.5, 0, 0), omega=(0, 0, 0))
    gravity = 9.81 * np.array([np.sin(angle), 0, -np.cos(angle)])
    x = mbdae.assemble(mbdae.System(mbdae.Mechanism("incline", [block], [joint], forces=[mbdae.Friction("f", "guide", mu)],
                                                    gravity=gravity)))
    assert x.a[0] == pytest.approx(9.81 * (np.sin(angle) - mu * np.cos(angle)), rel=1e-12)
    assert np.abs(x.lam).max() == pytest.approx(2.0 * 9.81 * np.cos(angle), rel=1e-12)


# --- what cannot be met --------------------------------------------------------------------------------------------------


def rope(length):
    """Two rods of one metre from anchors two metres apart to one particle; a third rod of the given length."""
    p = mbdae.Particle("p", 1.0, (0.1, 0.2, 0.9))
    ends = {"left": (-1, 0, 0), "right": (1, 0, 0), "top": (0, 0, 3)}
    return mbdae.Mechanism("rope", [p], [mbdae.Rod(n, GROUND, "p", s, length=length if n == "top" else 1.2) for n, s in ends.items()])


def test_mechanisms_that_do_not_close_are_refused_by_name():
    mbdae.assemble(mbdae.System(rope(2.8)))  # this one closes
    with pytest.raises(mbdae.AssemblyError,
                       match=r"rope cannot be assembled at t = 0: the violated constraints are .*top \(") as caught:
        mbdae.assemble(mbdae.System(rope(1.0)))
    assert isinstance(caught.value, ValueError)


def test_contradicting_constraints_are_refused_by_name():
    joints = [mbdae.CD("here", GROUND, "p", X, f=1.0), mbdae.CD("there", GROUND, "p", X, f=2.0)]
    with pytest.raises(mbdae.AssemblyError, match=r"m cannot be assembled.*(here|there)"):
        mbdae.assemble(mbdae.System(mbdae.Mechanism("m", [mbdae.Particle("p", 1.0)], joints)))


def test_constraints_whose_rates_contradict_are_refused_by_name():
    joints = [mbdae.CD("slow", GROUND, "p", X, f=lambda t: t), mbdae.CD("fast", GROUND, "p", X, f=lambda t: 2 * t)]
    with pytest.raises(mbdae.AssemblyError, match=r"no velocity satisfies the constraints at t = 0; .*(slow|fast)"):
        mbdae.assemble(mbdae.System(mbdae.Mechanism("m", [mbdae.Particle("p", 1.0)], joints)))


def driven(omega=None, velocity=(0, 0), rate=2.0):
    wheel = mbdae.PlanarBody("wheel", 1.0, 1.0, velocity=velocity, omega=omega)
    drive = mbdae.PlanarAngleDriver("motor", GROUND, "wheel", mbdae.Polynomial((0.0, rate)))
    return mbdae.System(mbdae.Mechanism("m", [wheel], [mbdae.PlanarRevolute("pin", GROUND, "wheel")], [drive]))


def test_velocities_that_are_left_out_follow_the_driver():
    assert mbdae.assemble(driven()).v[2] == pytest.approx(2.0, rel=1e-14)


def test_velocities_that_contradict_a_driver_are_refused_by_name():
    message = r"driver 'motor' asks for the rate 2 at t = 0, but the velocities given with 'wheel' make it 1\.5"
    with pytest.raises(mbdae.AssemblyError, match=message):
        mbdae.assemble(driven(1.5))
    with pytest.raises(mbdae.AssemblyError, match=message):
        mbdae.solve(driven(1.5), mbdae.HalfImplicit(h=1e-2), (0.0, 1.0))


@pytest.mark.parametrize("omega", [2.0, 2.001])
def test_velocities_given_to_a_few_digits_are_accepted(omega):
    assert mbdae.assemble(driven(omega)).v[2] == pytest.approx(2.0, rel=1e-14)


def test_a_guess_passed_to_assemble_may_contradict_the_driver():
    assert mbdae.assemble(driven(1.5), v=[0.0, 0.0, 1.5]).v[2] == pytest.approx(2.0, rel=1e-14)


@pytest.mark.parametrize("drive", [
    mbdae.AngleDriver("motor", GROUND, "b", mbdae.Polynomial((0, 1.0)), Z, X, X),
    mbdae.DistanceDriver("motor", GROUND, "b", lambda t: 1 + t, (1, 0, 0)),
    mbdae.CoordinateDriver("motor", GROUND, "b", lambda t: t, X), mbdae.CD("motor", GROUND, "b", X, f=lambda t: t),
    mbdae.Turn("motor", GROUND, "b", X, Y, X, lambda t: t),
], ids=lambda d: type(d).__name__)
def test_every_driver_is_compared_with_the_velocities_given(drive):
    body = mbdae.RigidBody("b", 1.0, (1, 1, 1), velocity=(0, 0, 0), omega=(0, 0, 0))
    with pytest.raises(mbdae.AssemblyError, match=r"driver 'motor' asks for the rate -?[12] at t = 0, .* 'b' make it 0"):
        mbdae.assemble(mbdae.System(mbdae.Mechanism("m", [body], drivers=[drive])))
    free = replace(body, velocity=None, omega=None)
    assert_consistent(s := mbdae.System(mbdae.Mechanism("m", [free], drivers=[drive])), mbdae.assemble(s))


def test_a_primitive_of_three_equations_may_drive():
    """Every one of its equations is compared."""
    body = mbdae.RigidBody("b", 1.0, (1, 1, 1), velocity=(0, 0, 3.0), omega=(0, 0, 0))
    with pytest.raises(mbdae.AssemblyError, match=r"driver 'hold' .* 'b' make it 3"):
        mbdae.assemble(mbdae.System(mbdae.Mechanism("m", [body], drivers=[mbdae.Coincident("hold", GROUND, "b")])))


def test_jammed_friction_is_reported():
    """A block is pushed along its guide at an angle: more friction, more push, more normal force without end."""
    block = mbdae.PlanarBody("b", 1.0, 1.0)
    joints = [mbdae.PlanarTranslational("guide", GROUND, "b"), mbdae.CD("push", GROUND, "b", (1, -0.1, 0), f=lambda t: t)]
    friction = [mbdae.Friction("f", "guide", mu) for mu in (7.0, 11.0)]
    works, jams = (mbdae.System(mbdae.Mechanism("m", [block], joints, forces=[f], gravity=(0, -9.81, 0))) for f in friction)
    assert mbdae.assemble(works).lam[0] == pytest.approx(-9.81 / (1 - 0.7), rel=1e-9)
    with pytest.raises(mbdae.AssemblyError, match="m: joint 'guide' jams at t = 0:"):
        mbdae.assemble(jams)


@pytest.mark.parametrize(("options", "name"), [
    ({"q": np.zeros(3)}, "q"), ({"v": np.zeros(3)}, "v"), ({"q": np.full(6, np.nan)}, "q"), ({"v": np.full(6, np.inf)}, "v"),
    ({"t": np.nan}, "t"),
])
def test_guesses_of_wrong_shape_or_not_finite_are_refused_by_name(options, name):
    with pytest.raises(ValueError, match=rf"(^|\W){name} must"):
        mbdae.assemble(mbdae.System(double_pendulum()), **options)


def test_orientation_guesses_need_not_be_unit():
    s = mbdae.System(chain(2))
    x = mbdae.assemble(s)
    q = x.q.copy()
    q[3:7] *= 1.05
    y = mbdae.assemble(s, q=q, v=x.v)
    assert relative(y.a, x.a) < 1e-9
