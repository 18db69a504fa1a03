"""Impacts and stops: gaps and their gradients, laws of impact, several contacts at once, contacts at rest, stops and friction."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mbdae
from mbdae import Impact, JointStop, SlidingLimit, SpherePlane, SphereSphere, Status, UserGap
from mbdae.adapters.scipy import SolveIvp
from mbdae.contacts.impulses import NoImpulse, complementary
from mbdae.registry import find
from mbdae.results.events import bound
from mbdae.results.watch import Side, Watch

from .helpers import thorough_but
from .impact_cases import (
    G,
    ball,
    ball_impacts,
    collisions,
    floor,
    row_of_balls,
    two_rods,
    violation,
    wall,
)

DOP = SolveIvp("DOP853")
TIGHT = {"rtol": 1e-10, "atol": 1e-12}
COORDINATES = ("cartesian", "joint")


def unit(*x):
    return tuple(np.array(x) / np.linalg.norm(x))


# --- gaps ----------------------------------------------------------------------------------------------------------------


def _spatial():
    rng = np.random.default_rng(5)
    bodies = [mbdae.RigidBody("a", 1.0, (0.2, 0.25, 0.3), (0.5, 0.1, 0), unit(*rng.normal(size=4)), tuple(rng.normal(size=3)),
                              tuple(rng.normal(size=3))),
              mbdae.RigidBody("b", 1.5, (0.2, 0.25, 0.3), (1.5, 0.3, 0.2), unit(*rng.normal(size=4))),
              mbdae.Particle("p", 1.0, (0.3, -1.0, 2.0), (0.1, 0.4, 0.3))]
    joint = mbdae.Cylindrical("joint", "a", "b", (0.3, 0.1, 0.2), (-0.4, 0.1, 0.1), unit(1, 2, 3), unit(2, 1, -1))
    return mbdae.Mechanism("spatial", bodies, [joint])


def _planar(joint):
    bodies = [mbdae.PlanarBody("a", 1.0, 0.1, (0.5, 0.2), 0.3, (0.3, 0.2), 0.7), mbdae.PlanarBody("b", 1.0, 0.1, (1.2, 0.4), 0.9)]
    return mbdae.Mechanism("planar", bodies, [joint])


SPATIAL = _spatial()
SLIDE = _planar(mbdae.PlanarTranslational("joint", "a", "b", (0.1, 0.2), (0.3, 0.1), unit(1, 2)))
PIN = _planar(mbdae.PlanarRevolute("joint", "a", "b", (0.5, 0.2), (-0.3, 0.1)))
GAPS = {
    "sphere above a plane": (SPATIAL, SpherePlane("a", "b", unit(1, 2, 0.5), (0.1, 0.2, 0.3), (0.5, 0.1, 0.2), 0.1)),
    "particle above a plane": (SPATIAL, SpherePlane("p", "a", unit(1, 2, 0.5), s_j=(0.5, 0.1, 0.2))),
    "point above the ground": (SPATIAL, SpherePlane("b", "ground", s_i=(0.1, 0.2, 0.3))),
    "two spheres": (SPATIAL, SphereSphere("a", "b", 0.1, 0.2, (0.1, 0.2, 0.3), (1.0, 2.0, 3.0))),
    "particle and sphere": (SPATIAL, SphereSphere("p", "b", 0.1, 0.2)),
    "sphere in a hollow one": (SPATIAL, SphereSphere("p", "b", 0.1, 0.2, inside=True)),
    "point above a line": (SLIDE, SpherePlane("a", "b", unit(1, 0.4, 0), (0.3, 0.2), (0.1, 0.2))),
    "two circles": (PIN, SphereSphere("a", "b", 0.01, 0.1, (1.0, 2.0))),
}
STOPS = {
    "angle in space": (SPATIAL, JointStop("joint", -3.1, 3.1, "angle")),
    "angle between directions": (SPATIAL, JointStop("joint", -3.1, 3.1, "angle", unit(2, -1, 0), unit(1, -2, 0))),
    "displacement in space": (SPATIAL, JointStop("joint", lower=-9.0, coordinate="displacement")),
    "displacement in the plane": (SLIDE, JointStop("joint", upper=3.0)),
    "angle in the plane": (PIN, JointStop("joint", lower=-3.0)),
}


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("name", [*GAPS, *STOPS])
def test_rates_are_derivatives_along_the_motion(name, coordinates):
    mechanism, gap = (GAPS | STOPS)[name]
    system = mbdae.System(mechanism, coordinates=coordinates)
    state, distance, h = system.start, gap.on(system), 1e-5
    ahead, behind = (distance.value(0.0, system.retract(state.q, d * state.v)) for d in (h, -h))
    assert (ahead - behind) / (2 * h) == pytest.approx(distance.rate(0.0, state.q, state.v), abs=1e-9)
    assert abs(distance.rate(0.0, state.q, state.v)) > 1e-3
    other = mbdae.System(mechanism)
    assert distance.value(0.0, state.q) == pytest.approx(gap.on(other).value(0.0, other.start.q), abs=1e-12)


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("name", GAPS)
def test_gradients_are_derivatives_along_the_velocity_coordinates(name, coordinates):
    mechanism, gap = GAPS[name]
    system = mbdae.System(mechanism, coordinates=coordinates)
    q, given = system.start.q, gap.on(system).measured(0.0, system.start.q).gradient
    by_differences = UserGap(lambda t, x: gap.on(system).value(t, x)).on(system).measured(0.0, q)
    np.testing.assert_allclose(given, by_differences.gradient, atol=1e-9)
    assert by_differences.drift == 0.0


def test_prescribed_motions_enter_the_rate():
    crank = mbdae.RigidBody("crank", 1.0, (0.1, 0.1, 0.1), (0.5, 0.0, 0.0))
    pin = mbdae.Revolute("pin", "ground", "crank", s_j=(-0.5, 0, 0), a_i=(0, 1, 0), a_j=(0, 1, 0))
    weight = mbdae.Particle("weight", 1.0, (0.7, 0.0, 1.0))
    motor = mbdae.AngleDriver("motor", "ground", "crank", lambda t: -0.7 * t, (0, 1, 0), (0, 0, 1), (0, 0, 1))
    mechanism = mbdae.Mechanism("m", [crank, weight], [pin], [motor])
    gap, rates = SpherePlane("weight", "crank"), []
    for system in (mbdae.System(mechanism), mbdae.System(mechanism, coordinates="joint", prescribed=("motor",))):
        state = system.start
        rates.append(gap.on(system).rate(0.0, state.q, state.v))
    assert rates[0] == pytest.approx(rates[1], abs=1e-12) and abs(rates[0]) > 0.4


def test_a_wrong_gradient_is_refused():
    UserGap(lambda t, q: q[2], lambda t, q: [0.0, 0.0, 1.0]).on(ball())
    with pytest.raises(ValueError, match="entry 2 of the gradient is -1, difference quotients of the function give 1"):
        UserGap(lambda t, q: q[2], lambda t, q: [0.0, 0.0, -1.0]).on(ball())
    with pytest.raises(ValueError, match=r"shape \(3,\), got shape \(2,\)"):
        UserGap(lambda t, q: q[2], lambda t, q: [0.0, 1.0]).on(ball())


WRONG = {
    "unknown body": (lambda: SpherePlane("bal", "ground").on(ball()), r"no body 'bal' \(did you mean 'ball'\?\)"),
    "one body": (lambda: SphereSphere("ball", "ball", 1.0).on(ball()), "i and j must be two bodies"),
    "plane of a particle": (lambda: SpherePlane("b0", "b1").on(row_of_balls(2)), "'b1' is a particle and has no plane"),
    "point of a particle": (lambda: SpherePlane("ball", "ground", s_i=(1, 0, 0)).on(ball()), "s_i must be zero"),
    "no radius": (lambda: SphereSphere("a", "b"), "radius_i or radius_j must be positive"),
    "no unit vector": (lambda: SpherePlane("a", "b", (0, 0, 2)), "n_j must be a unit vector"),
    "no gap": (lambda: Impact("x", 1.0, 0.5), "gap must be a SpherePlane"),
    "restitution": (lambda: floor(1.5), r"restitution must lie in \[0, 1\]"),
    "law": (lambda: floor(0.5, law="hertz"), "law must be 'newton' or 'poisson'"),
    "no limit": (lambda: JointStop("pin"), "give lower or upper"),
    "limits": (lambda: JointStop("pin", 1.0, 0.0), "lower must be less than upper"),
    "unknown joint": (lambda: JointStop("elbo", 0.0).on(two_rods()), r"no joint 'elbo' \(did you mean 'elbow'\?\)"),
    "joint without": (lambda: JointStop("joint", 0.0, coordinate="angle").on(mbdae.System(SLIDE)), "has no angle that a stop may limit"),
    "both coordinates": (lambda: JointStop("joint", 0.0).on(mbdae.System(SPATIAL)), "has angle and displacement, give the coordinate"),
    "one limit in space": (lambda: JointStop("joint", 0.0, coordinate="angle").on(mbdae.System(SPATIAL)), "needs both lower and upper"),
    "below at the start": (lambda: mbdae.solve(ball(-0.1), DOP, (0.0, 1.0), events=floor(0.5)), "its gap is -0.1 at the start"),
    "two laws": (lambda: mbdae.solve(row_of_balls(3), DOP, (0.0, 1.0), events=[collisions(3)[0], collisions(3, law="poisson")[1]]),
                 "law and in_sequence must be those of 'c0'"),
    "one name": (lambda: mbdae.solve(ball(), DOP, (0.0, 1.0), events=[floor(0.5), floor(0.4)]), "two impacts have the same name"),
    "no friction": (lambda: mbdae.solve(ball(), DOP, (0.0, 1.0), events=SlidingLimit("brake")), "there is no Friction 'brake'"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named(name):
    make, message = WRONG[name]
    with pytest.raises(ValueError, match=message):
        make()


# --- impulses ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_complementarity(rng, n):
    for rank in (n, max(1, n - 1)):
        for _ in range(20):
            C = rng.normal(size=(rank, n))
            A, b = C.T @ C, C.T @ rng.normal(size=rank)
            p = complementary(A, b)
            w = A @ p + b
            assert p.min() >= 0.0 and w.min() > -1e-9 and abs(w @ p) < 1e-9


def test_impulses_that_do_not_exist_are_refused():
    with pytest.raises(NoImpulse):
        complementary(np.zeros((1, 1)), np.array([-1.0]))


@pytest.mark.parametrize("law", ["newton", "poisson"])
@pytest.mark.parametrize("restitution", [1.0, 0.6, 0.2])
@pytest.mark.parametrize("coordinates", COORDINATES)
def test_the_energy_lost_in_an_impact(coordinates, restitution, law):
    system = two_rods(coordinates=coordinates)
    s = mbdae.solve(system, DOP, (0.0, 1.0), events=wall(restitution, law=law, terminal=2), **TIGHT)
    assert len(s.jumps) == 2 and violation(system, s.jumps) < 1e-12
    for jump in s.jumps:
        before, after, gap = jump.before, jump.after, wall(restitution).gap.on(system).measured(jump.t, jump.before.q)
        u, opened = gap.gradient @ before.v, gap.gradient @ after.v
        assert opened == pytest.approx(-restitution * u, rel=1e-11)
        x = system.solve_kkt(jump.t, before.q, gap.gradient, np.zeros(system.nc)).x
        lost = system.energy(jump.t, before.q, before.v) - system.energy(jump.t, after.q, after.v)
        assert lost == pytest.approx((1.0 - restitution**2) * u**2 / (2.0 * (gap.gradient @ x)), abs=1e-12)
        # balance of impulses, with those of the joints
        p, M, phi_q = jump.impulses["wall"], system.mass(jump.t, before.q), system.phi_q(jump.t, before.q)
        np.testing.assert_allclose(M @ (after.v - before.v) + phi_q.T @ jump.reactions, p * gap.gradient, atol=1e-12)


def test_several_contacts_together():
    """Three equal balls: both laws give the first ball a velocity of -1/3; energy and momentum are conserved."""
    for law in ("newton", "poisson"):
        s = mbdae.solve(row_of_balls(3), DOP, (0.0, 1.0), events=collisions(3, law=law))
        np.testing.assert_allclose(s.v[-1].reshape(3, 3)[:, 0], [-1 / 3, 2 / 3, 2 / 3], atol=1e-12)
        assert s.success and len(s.jumps) == 1 and s.t_events[0][0] == 0.0 and len(s.t_events[1]) == 0
        assert dict(s.jumps[0].impulses) == pytest.approx({"c0": 4 / 3, "c1": 2 / 3})


@pytest.mark.parametrize("gap, options", [(0.0, {"in_sequence": True}), (1e-3, {})])
def test_newtons_cradle(gap, options):
    s = mbdae.solve(row_of_balls(5, gap), DOP, (0.0, 1.0), events=collisions(5, **options))
    np.testing.assert_allclose(s.v[-1].reshape(5, 3)[:, 0], [0, 0, 0, 0, 1], atol=1e-12)
    assert s.success and len(s.jumps) == (4 if gap else 1)


def test_newtons_and_poissons_law_differ_for_several_contacts():
    """A ball is hit from both sides, elastically and plastically: u = (-1, -1), A = ((2, -1), (-1, 2)).

    Newton: u+ = (1, 0), p = (5, 4)/3. Poisson: compression by (1, 1), expansion by (1, 1/2), the second so that the contact does not close.
    """
    expected = {"newton": [-2 / 3, 1 / 3, 1 / 3], "poisson": [-1.0, 0.5, 0.5]}
    bodies = [mbdae.Particle(f"b{k}", 1.0, (0.1 * k, 0, 0), (1.0 - k, 0, 0)) for k in range(3)]
    for law, velocities in expected.items():
        events = [collisions(3, 1.0, law=law)[0], collisions(3, 0.0, law=law)[1]]
        s = mbdae.solve(mbdae.Mechanism("m", bodies), DOP, (0.0, 1e-3), events=events)
        np.testing.assert_allclose(s.v[-1].reshape(3, 3)[:, 0], velocities, atol=1e-12)


def test_a_block_on_two_feet():
    """Both feet reach the ground together, and the block does not turn; with one foot higher they alternate."""
    def dropped(angle):
        block = mbdae.PlanarBody("block", 1.0, 0.1, (0.0, 1.0), angle)
        feet = [Impact(n, SpherePlane("block", "ground", (0, 1), (x, -0.2)), 0.7, terminal=1) for n, x in (("left", -0.3), ("right", 0.3))]
        return mbdae.solve(mbdae.Mechanism("m", [block], gravity=(0, -G, 0)), DOP, (0.0, 1.0), events=feet, **TIGHT)

    s = dropped(0.0)
    np.testing.assert_allclose(s.jumps[0].after.v, [0.0, 0.7 * np.sqrt(2 * G * 0.8), 0.0], atol=1e-9)
    assert s.jumps[0].events == (0, 1) and s.jumps[0].impulses["left"] == pytest.approx(s.jumps[0].impulses["right"], rel=1e-9)
    s = dropped(-0.01)
    assert s.jumps[0].events == (1,) and s.jumps[0].after.v[2] > 1.0 and set(s.jumps[0].impulses) == {"right"}


def test_a_constraint_that_cannot_give_way():
    """The ball is driven into the floor."""
    driver = mbdae.CoordinateDriver("press", "ground", "ball", lambda t: 1.0 - t, (0, 0, 1))
    system = mbdae.System(mbdae.Mechanism("m", [mbdae.Particle("ball", 1.0, (0, 0, 1.0))], drivers=[driver]))
    s = mbdae.solve(system, DOP, (0.0, 2.0), events=floor(0.5), **TIGHT)
    assert s.status == Status.SINGULAR and "no impulses for the impact of 'floor'" in s.message and s.t[-1] == pytest.approx(1.0)


# --- contacts at rest ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["SolveIvp:DOP853", "RosenbrockNystrom", "Bdf"])
def test_a_ball_that_comes_to_rest(name):
    s = mbdae.solve(ball(), find(name).make(), (0.0, 5.0), events=floor(0.5), dense_output=True, **TIGHT)
    end = np.sqrt(2.0 / G) * 1.5 / 0.5
    assert s.status == Status.ZENO and not s.success and f"accumulate at t = {end:.8f}"[:-1] in s.message and "'floor'" in s.message
    np.testing.assert_allclose(s.t_events[0], ball_impacts(0.5, len(s.jumps)), atol=1e-8)
    assert abs(s.t[-1] - end) < 5e-6 and s.jumps[-1].after.v[2] < 1e-5 and s.sol(s.t[-1])[0][2] == pytest.approx(0.0, abs=1e-12)
    slower = mbdae.solve(ball(), DOP, (0.0, 5.0), events=floor(0.5, rest_speed=1e-7), **TIGHT)
    assert abs(slower.t[-1] - end) < 5e-8 and slower.status == Status.ZENO


@pytest.mark.parametrize("name", thorough_but(["Ida"], ["Cvode", "Ida", "Bdf", "SolveIvp:BDF", "SolveIvp:LSODA"]))
def test_bounces_below_the_tolerances(name):
    """Interpolants of low order do not resolve them: they took the start of a step for an impact, thousands of times."""
    s = mbdae.solve(ball(), find(name).make(), (0.0, 5.0), events=floor(0.6), rtol=1e-3, atol=1e-3, dense_output=True)
    assert s.status == Status.ZENO and 10 < len(s.jumps) < 40 and all(jump.before.v[2] < 0.0 < jump.after.v[2] for jump in s.jumps)
    assert s.sol(np.linspace(0.0, s.t[-1], 500))[0][:, 2].min() > -1e-9


def test_a_ball_that_lies_on_the_floor_and_a_plastic_impact():
    s = mbdae.solve(ball(0.0), DOP, (0.0, 1.0), events=floor(0.5))
    assert s.status == Status.ZENO and list(s.t) == [0.0] and len(s.jumps) == 0
    s = mbdae.solve(ball(), DOP, (0.0, 1.0), events=floor(0.0))
    assert s.status == Status.ZENO and len(s.jumps) == 1 and s.t[-1] == s.jumps[0].t and s.jumps[0].after.v[2] == 0.0


def test_contacts_at_the_start():
    up = mbdae.solve(ball(0.0, 2.0), DOP, (0.0, 1.0), events=floor(0.9), **TIGHT)
    np.testing.assert_allclose(up.t_events[0], np.cumsum([4.0 / G, 3.6 / G]), atol=1e-9)
    down = mbdae.solve(ball(0.0, -2.0), DOP, (0.0, 0.2), events=floor(0.5), dense_output=True)
    assert list(down.t_events[0]) == [0.0] and down.v[0, 2] == -2.0 and down.v[1, 2] == 1.0 and down.sol(0.0)[1][2] == -2.0
    given = mbdae.solve(ball(0.0, -2.0), DOP, (0.0, 0.2), events=floor(0.5), t_eval=[0.0, 0.1])
    np.testing.assert_allclose(given.v[:, 2], [-2.0, 1.0 - 0.1 * G], atol=1e-12)


@pytest.mark.parametrize(("rise", "recurs"), [(-1e-16, False), (0.0, False), (-1e-6, True)])
def test_a_first_step_that_moves_less_than_rounding(rise, recurs):
    """The gap after it is zero or below by rounding, but opens: that is no impact. The next one is found."""
    system = ball(0.0, 1.0)
    watch = Watch(system, bound(system, floor(0.5)), system.start, sides={0: Side(1, -1)})
    q, v = system.start.q, system.start.v
    ended = watch(1e-15, q + [0.0, 0.0, rise], v)
    assert ended == recurs and (watch.recurring == 0) == recurs
    if not recurs:
        flights = [(t, q + v * t + [0.0, 0.0, -0.5 * G * t**2], v + [0.0, 0.0, -G * t]) for t in (0.1, 0.15, 0.25)]
        assert [watch(*flight) for flight in flights] == [False, False, True]
        np.testing.assert_allclose(watch.found().end, 2.0 / G, rtol=1e-12)


def test_balls_that_touch_without_pressure_go_on():
    """The last two balls touch and rest until the others arrive."""
    bodies = [mbdae.Particle(f"b{k}", 1.0, (x, 0, 0), (float(k == 0), 0, 0)) for k, x in enumerate((0.0, 0.6, 0.7))]
    s = mbdae.solve(mbdae.Mechanism("m", bodies), DOP, (0.0, 1.0), events=collisions(3, in_sequence=True))
    assert s.success and list(np.round(s.t_events[0], 9)) == [0.5]
    np.testing.assert_allclose(s.v[-1].reshape(3, 3)[:, 0], [0.0, 0.0, 1.0], atol=1e-12)


def test_grazing_contacts():
    """A tip that just misses the wall, and one that just hits it within a step: the zeros are found from the rate of the gap."""
    orbit = mbdae.Particle("p", 1.0, (1.0, 0, 0), (0, 1.0, 0))
    rod = mbdae.Rod("rod", "ground", "p", length=1.0)
    for limit, hits in ((-1.0 - 1e-6, 0), (-1.0 + 1e-6, 1)):
        edge = Impact("edge", SpherePlane("p", "ground", (1.0, 0, 0), s_j=(limit, 0, 0)), 0.5)
        s = mbdae.solve(mbdae.Mechanism("m", [orbit], [rod]), SolveIvp("DOP853", first_step=0.3), (0.0, 4.0), events=edge, **TIGHT)
        assert s.success and len(s.jumps) == hits


# --- stops and friction --------------------------------------------------------------------------------------------------


def _stopped_pendulum(restitution, upper, n):
    """Times at which a physical pendulum of 1 m, released from the horizontal, hits a stop: DOP853 in its angle."""
    def stop(t, y):
        return upper - y[0]

    stop.direction, stop.terminal = -1, True
    y, t, times = np.zeros(2), 0.0, []
    for _ in range(n):
        run = solve_ivp(lambda t, y: [y[1], 1.5 * G * np.cos(y[0])], (t, t + 10), y, "DOP853", rtol=3e-14, atol=1e-14, events=stop)
        t, y = run.t_events[0][0], run.y_events[0][0] * [1.0, -restitution]
        times.append(t)
    return times


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_a_pendulum_against_a_stop(coordinates):
    rod = mbdae.RigidBody("rod", 1.0, (1e-4, 1 / 12, 1 / 12), (0.5, 0, 0))
    pin = mbdae.Revolute("pin", "ground", "rod", s_j=(-0.5, 0, 0), a_i=(0, 1, 0), a_j=(0, 1, 0))
    system = mbdae.System(mbdae.Mechanism("pendulum", [rod], [pin], gravity=(0, 0, -G)), coordinates=coordinates)
    stop = Impact("stop", JointStop("pin", lower=-1.0, upper=2.0), 0.7)
    s = mbdae.solve(system, DOP, (0.0, 3.0), events=stop, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(s.t_events[0][:3], _stopped_pendulum(0.7, 2.0, 3), atol=1e-9)
    assert violation(system, s.jumps) < 1e-12
    # the impulse of the stop about the pin
    p, after = s.jumps[0].impulses["stop"], s.jumps[0].after
    assert p == pytest.approx(1.7 / 0.7 * np.abs(after.v[-2] if coordinates == "cartesian" else after.v[0]) * (1 / 12 + 1 / 4), rel=1e-9)


def test_a_slider_between_two_stops():
    """Without gravity and with e = 1 the block needs the same time from stop to stop."""
    block = mbdae.PlanarBody("block", 1.0, 1.0, (0.25, 0.0), velocity=(1.0, 0.0))
    guide = mbdae.PlanarTranslational("guide", "ground", "block")
    s = mbdae.solve(mbdae.Mechanism("m", [block], [guide]), DOP, (0.0, 4.0), events=Impact("stop", JointStop("guide", -0.5, 0.5), 1.0))
    np.testing.assert_allclose(s.t_events[0], [0.25, 1.25, 2.25, 3.25], atol=1e-12)


def test_a_pin_in_a_bearing_with_clearance():
    """A pendulum in a hollow circle: positions stay inside, the energy never grows."""
    pin = mbdae.PlanarBody("pin", 1.0, 0.1, (0.0, 0.0), velocity=(0.3, 0.0), omega=0.0)
    clearance = Impact("clearance", SphereSphere("pin", "ground", 0.1, 0.11, inside=True), 0.9, terminal=12)
    s = mbdae.solve(mbdae.Mechanism("m", [pin], gravity=(0, -G, 0)), DOP, (0.0, 5.0), events=clearance, **TIGHT)
    assert len(s.jumps) == 12 and (np.hypot(s.q[:, 0], s.q[:, 1]) < 0.01 + 1e-9).all()
    assert (np.diff(s.energy) < 1e-9).all() and s.energy[-1] < s.energy[0]


def _sliding(pull, smooth):
    block = mbdae.PlanarBody("block", 1.0, 1.0, (0.0, 0.0), velocity=(1.0, 0.0))
    guide = mbdae.PlanarTranslational("guide", "ground", "block")
    forces = [mbdae.Friction("brake", "guide", 0.3, v_s=1e-3, smooth=smooth), mbdae.PointForce("pull", "block", (pull, 0.0, 0.0))]
    system = mbdae.System(mbdae.Mechanism("m", [block], [guide], forces=forces, gravity=(0, -10.0, 0)))
    return mbdae.solve(system, DOP, (0.0, 1.0), events=[SlidingLimit("brake", 1), SlidingLimit("brake", -1)], rtol=1e-8, atol=1e-10)


def test_transitions_from_sliding_to_sticking_are_located():
    s = _sliding(0.0, False)
    assert s.success and len(s.t_events[1]) == 0 and s.v[-1, 0] == pytest.approx(1e-3, rel=1e-5)
    np.testing.assert_allclose(s.t_events[0], [0.999 / 3.0], atol=1e-9)
    s = _sliding(1.0, False)  # without friction below the limit the pull drives the block back to it
    assert s.status == Status.ZENO and "the joint 'guide' sticks" in s.message and s.t[-1] == pytest.approx(0.999 / 2.0, abs=1e-9)
    s = _sliding(1.0, True)
    assert s.success and len(s.t_events[0]) == 1 and s.v[-1, 0] == pytest.approx(1e-3 * np.arctanh(1 / 3), rel=1e-5)
