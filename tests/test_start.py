"""Starts at any time: driven angles on the branch of their drivers, guesses that follow the drivers, runs that go on as from t = 0."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import mbdae
from mbdae import library
from mbdae.adapters.assimulo import Assimulo
from mbdae.adapters.radau13 import Radau13
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Ida
from mbdae.studies.kinematics import kinematic_reference

from .helpers import GROUND, thorough_but

X, Y, Z = np.eye(3)
TURN = 2.0 * np.pi


def crank(f, position=(0.5, 0, 0), joints=(), **more):
    """A bar of one metre that turns about z at the origin; its angle is `f(t)`."""
    bar = mbdae.RigidBody("bar", 1.0, (0.1, 0.1, 0.1), position, **more)
    pin = mbdae.Revolute("pin", GROUND, "bar", s_j=(-0.5, 0, 0))
    return mbdae.Mechanism("crank", [bar], [pin, *joints], [mbdae.AngleDriver("drive", GROUND, "bar", f, Z, X, X)], gravity=(0, -9.81, 0))


def angle(x):
    return math.atan2(x.q[1], x.q[0])


def assert_turned(x, wanted):
    assert abs(math.remainder(angle(x) - wanted, TURN)) < 1e-12


def turning():
    return mbdae.System(crank(mbdae.Polynomial((0.0, TURN))))


# --- driven angles ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("t", [0.0, 0.15, 0.25, 0.3, 0.5, 0.7, 0.75, 1.0, 2.3, -0.4, -0.5, -3.75])
def test_a_crank_starts_where_its_driver_is(t):
    """Its torque is that of the weight: `m g l/2 cos(2 pi t)`, on the bar against gravity."""
    x = mbdae.assemble(turning(), t)
    assert_turned(x, TURN * t)
    assert x.lam[-1] == pytest.approx(-0.5 * 9.81 * math.cos(TURN * t), abs=1e-9)


@pytest.mark.parametrize("span", [(0.3, 0.5), (0.5, 1.0), (0.7, 1.0), (0.5, 0.2)])
@pytest.mark.parametrize("method", [mbdae.HalfImplicit(h=1e-2), SolveIvp(), mbdae.Bdf()], ids=lambda m: m.label)
def test_runs_of_the_crank_begin_and_end_where_the_driver_is(method, span):
    s = mbdae.solve(turning(), method, span)
    assert s.success
    for t, q in zip((s.t[0], s.t[-1]), (s.q[0], s.q[-1])):
        assert abs(math.remainder(math.atan2(q[1], q[0]) - TURN * t, TURN)) < 1e-4


@pytest.mark.parametrize("f", [2.0, np.pi, np.pi / 2, -3.0, mbdae.Polynomial((2.5, 1.0))])
def test_guesses_far_from_the_driver_are_led_to_its_branch(f):
    x = mbdae.assemble(crank(f))
    assert_turned(x, f.coefficients[0] if isinstance(f, mbdae.Polynomial) else f)


@pytest.mark.parametrize("t", [0.3, 0.5, 0.75])
def test_positions_passed_are_led_to_the_branch(t):
    s = turning()
    assert_turned(mbdae.assemble(s, t, q=s.start.q), TURN * t)
    run = mbdae.solve(s, mbdae.HalfImplicit(h=1e-2), (t, t + 0.1), q0=s.start.q)
    assert_turned(mbdae.State(t, run.q[0], run.v[0], run.a[0], run.lam[0]), TURN * t)


def test_a_branch_that_cannot_be_reached_is_named():
    """Its end is held at x = -0.5, so `sin theta = 0` at pi only, but the driver asks for 0."""
    held = mbdae.CD("held", GROUND, "bar", X, f=-0.5)
    m = crank(0.0, (-0.5, 0, 0), [held], orientation=(0, 0, 0, 1))
    with pytest.raises(mbdae.AssemblyError, match=r"crank: driver 'drive' asks for the angle 0 rad at t = 0, but .* opposite branch, at "
                                                  r"-?3\.14159 rad.*turn 'bar'"):
        mbdae.assemble(m)


def test_states_on_the_opposite_branch_are_refused():
    s = turning()
    with pytest.raises(ValueError, match=r"state\.q: .*driver 'drive' asks for the angle 3\.14159 rad at t = 0\.5, .* at 0 rad"):
        mbdae.solve(s, mbdae.HalfImplicit(h=1e-2), (0.5, 1.0), state=replace(s.start, t=0.5))


@pytest.mark.parametrize("factor", [2.0, 0.5, 0.0])
def test_states_with_a_quaternion_that_is_no_rotation_are_refused(factor):
    s = turning()
    q = s.start.q.copy()
    q[3:] *= factor
    with pytest.raises(ValueError, match=rf"state\.q: the quaternion of 'bar' must have length 1, it has {factor:g}"):
        mbdae.solve(s, mbdae.HalfImplicit(h=1e-2), (0.0, 1.0), state=replace(s.start, q=q))
    q = s.start.q * np.array([1, 1, 1, 1.001, 1.001, 1.001, 1.001])  # as solvers leave it
    assert mbdae.solve(s, mbdae.HalfImplicit(h=1e-2), (0.0, 0.1), state=replace(s.start, q=q)).success


def test_a_raw_turn_keeps_the_branch_of_its_guess():
    """The equation alone holds on both branches; only a driver names one."""
    m = crank(0.0)
    turn = mbdae.Turn("turn", GROUND, "bar", X, Y, -X, mbdae.Polynomial((0.0, TURN)))
    assert_turned(mbdae.assemble(replace(m, drivers=[turn])), 0.0)
    assert_turned(mbdae.assemble(replace(m, drivers=[turn]), 0.3), 0.3 * TURN)


# --- guesses that belong to t = 0, and others -----------------------------------------------------------------------------------


def slide(f, x, y=0.7):
    """A particle whose x is driven; y is free."""
    p = mbdae.Particle("p", 1.0, (x, y, 0.0))
    return mbdae.Mechanism("slide", [p], [mbdae.CD("plane", GROUND, "p", Z)], [mbdae.CoordinateDriver("drive", GROUND, "p", f, X)])


@pytest.mark.parametrize("x", [0.0, 0.1, 3.0, 2.9])
def test_what_is_not_driven_stays_at_the_guess(x):
    """Whether it belongs to t = 0 or to t = 3, or is a little off."""
    np.testing.assert_allclose(mbdae.assemble(slide(lambda t: t, x), 3.0).q, [3.0, 0.7, 0.0], atol=1e-12)


def test_bodies_may_be_placed_for_the_start_of_the_run():
    """The driver allows two mirrored positions at t = 2; the bodies say which, and t = 0 has no say in it."""
    def at(y):
        p = mbdae.Particle("p", 1.0, (0.1, y, 0.0))
        drive = mbdae.DistanceDriver("drive", GROUND, "p", lambda t: 1.0 + t, s_i=(0.1, 0, 0))
        m = mbdae.Mechanism("m", [p], [mbdae.CD("plane", GROUND, "p", Z), mbdae.CD("line", GROUND, "p", X, f=0.1)], [drive])
        return mbdae.assemble(m, 2.0).q[1]

    assert at(3.0) == pytest.approx(3.0, rel=1e-12)
    assert at(-3.0) == pytest.approx(-3.0, rel=1e-12)
    assert at(-1.0) == pytest.approx(-3.0, rel=1e-12)


@pytest.mark.parametrize("t", [0.5, 5.0])
def test_what_a_driver_turns_against_stays_near_the_guess(t):
    """However often a wheel has turned: a free frame takes its share of what is left of the last turn, as the mass metric has it."""
    frame, wheel = mbdae.RigidBody("frame", 10.0, (5, 5, 5)), mbdae.RigidBody("wheel", 1.0, (0.1, 0.1, 0.15))
    drive = mbdae.AngleDriver("spin", "frame", "wheel", mbdae.Polynomial((0.0, 27.0)), Z, X, X)
    x = mbdae.assemble(mbdae.Mechanism("m", [frame, wheel], [mbdae.Revolute("axle", "frame", "wheel")], [drive]), t)
    turned, wheel_turned = (math.remainder(2.0 * math.atan2(x.q[k + 6], x.q[k + 3]), TURN) for k in (0, 7))
    assert abs(math.remainder(wheel_turned - turned - 27.0 * t, TURN)) < 1e-12
    assert turned == pytest.approx(-wheel_turned * 0.15 / 5.0, rel=1e-6)


def test_planar_angles_count_their_turns():
    wheel = mbdae.PlanarBody("wheel", 1.0, 1.0)
    drive = mbdae.PlanarAngleDriver("drive", GROUND, "wheel", mbdae.Polynomial((0.0, TURN)))
    x = mbdae.assemble(mbdae.Mechanism("m", [wheel], [mbdae.PlanarRevolute("pin", GROUND, "wheel")], [drive]), 3.0)
    np.testing.assert_allclose(x.q, [0, 0, 3 * TURN], atol=1e-12)


def test_motions_need_no_value_at_zero():
    def f(t):
        return 3.0 + math.log(t)

    assert_turned(mbdae.assemble(crank(f), 0.5), f(0.5))
    with pytest.raises(ValueError, match="in the motion of driver 'drive' between 'ground' and 'bar' at t = 0"):
        mbdae.assemble(crank(f), 0.0)


def test_exceptions_of_a_motion_on_the_way_arrive_unchanged():
    def f(t):
        if 1.0 < t < 1.5:
            raise KeyError("gap")
        return 3.0 * t

    with pytest.raises(KeyError, match="gap"):
        mbdae.assemble(crank(f), 2.0)


def test_drivers_that_cannot_be_followed_are_named():
    """A particle on a rod of one metre is asked to be 0.6 m high at t = 0 and t = 1, but 1.1 m between."""
    p = mbdae.Particle("p", 1.0, (0.8, 0.6, 0.0))
    drive = mbdae.CoordinateDriver("drive", GROUND, "p", lambda t: 0.6 + 0.5 * math.sin(np.pi * t), Y)
    m = mbdae.Mechanism("high", [p], [mbdae.CD("plane", GROUND, "p", Z), mbdae.Rod("rod", GROUND, "p")], [drive])
    with pytest.raises(mbdae.AssemblyError, match=r"high cannot follow its drivers beyond t = 0\.\d*: .*"
                                                  r"followed from t = 0; give positions near those at t = 1"):
        mbdae.assemble(m, 1.0)
    np.testing.assert_allclose(mbdae.assemble(m, 1.0, q=[0.8, 0.6, 0.0]).q, [0.8, 0.6, 0.0], atol=1e-12)


@pytest.mark.parametrize("coordinates", thorough_but(["cartesian"], ["cartesian", "classical"]))
@pytest.mark.parametrize("t", [0.5, -0.7, 3.0])
def test_the_car_axis_starts_at_any_time(coordinates, t):
    """Its wheel is on the road, the axis close to where it was at t = 0."""
    s = library.system("car-axis", coordinates=coordinates)
    x = mbdae.assemble(s, t)
    assert np.abs(s.phi(t, x.q)).max() < 1e-13
    assert np.abs(s.phi_q(t, x.q) @ x.v - s.nu(t, x.q)).max() < 1e-12
    assert library.entry("car-axis").observe(s, t, x.q, x.v, x.a, x.lam)["road"] == pytest.approx(0.1 * np.sin(10 * t), abs=1e-13)
    assert np.abs(s.difference(x.q, s.start.q)).max() < 0.15
    assert mbdae.solve(s, Ida(), (t, t + 0.1)).success


def test_user_functions_that_depend_on_time_are_followed():
    """A crank of user functions, `q = r (cos 2 pi t, sin 2 pi t)` along a line that turns: the branch with r > 0 is kept."""
    def phi(t, q):
        c, s = np.cos(TURN * t), np.sin(TURN * t)
        return np.array([s * q[0] - c * q[1], q @ q - 1.0])

    s = mbdae.System.from_functions(nq=2, nc=2, mass=lambda t, q: np.eye(2), force=lambda t, q, v: np.zeros(2), phi=phi, q0=[1.0, 0.0])
    for t in (0.3, 0.5, 0.8, 2.5):
        np.testing.assert_allclose(mbdae.assemble(s, t).q, [np.cos(TURN * t), np.sin(TURN * t)], atol=1e-10)


def test_mechanisms_are_assembled_as_they_are():
    m = library.mechanism("four-link")
    np.testing.assert_array_equal(mbdae.assemble(m, 0.4).q, mbdae.assemble(mbdae.System(m), 0.4).q)


@pytest.mark.parametrize("target", [None, "four-link", 0.0, mbdae.Particle("p", 1.0), library.entry("four-link"), mbdae.System])
def test_other_targets_are_refused(target):
    with pytest.raises(ValueError, match="assemble: the target must be a Mechanism or System, got"):
        mbdae.assemble(target)


# --- the driven mechanisms of the library ------------------------------------------------------------------------------------------

TIMES = (0.3, 0.5, 0.7, 1.0, 1.23, 1.5, 1.75, 2.6, 3.0, 4.1)
ROUTES = {"index3": Ida(), "ggl": Ida(), "gear": Ida(), "index2": Ida(), "index1": Ida(), "mass": Radau13(),
          "overdetermined": Assimulo("ODASSL"), "ode": SolveIvp()}  # in independent coordinates there is nothing left to integrate
RTOL, ALLOWED = 1e-6, 100.0  # tolerances
LONG = 0.2  # of a run [s]


@cache
def motion(name):
    """System, and the states from t = 0 on at all times that are compared, by kinematics."""
    s = library.system(name)
    times = sorted({0.0, *(round(t + dt, 9) for t in TIMES for dt in (-LONG, 0.0, LONG))})
    x = kinematic_reference(s, times)
    return s, {t: (x.q[k], x.v[k], x.lam[k]) for k, t in enumerate(times)}


def ready(method):
    available = method.availability()
    return available is None or available.installed


def assert_same(s, t, found, wanted, allowed):
    """Positions, orientations and velocities; multipliers follow from them."""
    for x, y in zip(found, wanted):
        assert np.abs(x - y).max() < allowed * (1.0 + np.abs(y).max()), t


@pytest.mark.parametrize("name", ["four-link", "slider-crank"])
@pytest.mark.parametrize("t", TIMES)
def test_starts_of_driven_mechanisms_are_the_states_of_the_run_from_zero(name, t):
    s, known = motion(name)
    x = mbdae.assemble(s, t)
    assert_same(s, t, (x.q, x.v, x.lam), known[t], 1e-9)


def test_the_states_by_kinematics_are_those_of_a_run():
    """The comparison of this file, by a solver."""
    s, known = motion("four-link")
    times = [t for t in sorted(known) if 0 < t <= 1.0]
    x = mbdae.solve(s, SolveIvp(), (0.0, times[-1]), t_eval=times, rtol=1e-8, atol=1e-9)
    for k, t in enumerate(times):
        assert_same(s, t, (x.q[k], x.v[k], x.lam[k]), known[t], 1e-5)


def run_from(name, form, t, dt):
    method = ROUTES[form]
    if not ready(method):
        pytest.skip(f"{method.label} is not installed")
    s, known = motion(name)
    x = mbdae.solve(s, method, (t, t + dt), formulation=form, rtol=RTOL, atol=1e-2 * RTOL, t_eval=[t, t + dt])
    assert x.success, x.message
    for k in (0, 1):
        assert_same(s, x.t[k], (x.q[k], x.v[k]), known[round(t + k * dt, 9)][:2], ALLOWED * RTOL)
        assert_same(s, x.t[k], (x.lam[k],), known[round(t + k * dt, 9)][2:], 100 * ALLOWED * RTOL)


@pytest.mark.parametrize("form", ROUTES)
@pytest.mark.parametrize(("name", "t", "dt"), [("four-link", 1.0, LONG), ("slider-crank", 0.7, -LONG)])
def test_runs_from_other_times_go_on_as_from_zero(name, form, t, dt):
    run_from(name, form, t, dt)


@pytest.mark.slow
@pytest.mark.parametrize("form", ROUTES)
@pytest.mark.parametrize("dt", [LONG, -LONG])
@pytest.mark.parametrize("t", TIMES)
@pytest.mark.parametrize("name", ["four-link", "slider-crank"])
def test_runs_from_ten_times_go_on_as_from_zero(name, t, dt, form):
    run_from(name, form, t, dt)


# states beside the constraints ------------------------------------------------------------------------------------------------------


def beside(system, t, distance):
    """The start, with positions and velocities off the constraints."""
    s, rng = mbdae.assemble(system, t), np.random.default_rng(7)
    q, v = s.q + distance * rng.standard_normal(system.nq), s.v + distance * rng.standard_normal(system.nv)
    return replace(s, q=q, v=v)


@pytest.mark.parametrize("method", [mbdae.DormandPrince(), mbdae.HalfExplicit(), mbdae.Adams(), mbdae.Bdf(),
                                    mbdae.ProjectedGauss(h=None), Ida()],
                         ids=lambda m: type(m).__name__)
@pytest.mark.parametrize(("name", "t"), [("double-pendulum", 0.0), ("bricard", 0.0), ("slider-crank", 0.3)])
def test_a_state_beside_the_constraints_is_moved_onto_them(method, name, t):
    """The error tests would reject every step: what the first one removes of the violation does not fall with its size."""
    if isinstance(method, Ida):
        pytest.importorskip("sksundae")
    system = library.system(name)
    state = beside(system, t, 1e-7)
    run = mbdae.solve(system, method, (t, t + 0.05), state=state, rtol=1e-9, atol=1e-11)
    assert run.success, run.message
    assert np.abs(run.q[0] - state.q).max() < 1e-5
    assert np.abs(system.phi(t, run.q[0])).max() < 1e-12 * (1.0 + np.abs(run.q).max())
    nearest = mbdae.solve(system, mbdae.DormandPrince(order=8), (t, t + 0.05), q0=run.q[0], v0=run.v[0], rtol=1e-12, atol=1e-13)
    assert np.allclose(run.q[-1], nearest.q[-1], rtol=1e-7, atol=1e-7)


def test_a_state_within_the_tolerances_is_kept():
    """To the last bit, and for methods without error control in any case."""
    system = library.system("double-pendulum")
    state = beside(system, 0.0, 1e-9)
    for method, rtol in ((mbdae.DormandPrince(), 1e-6), (mbdae.HalfImplicit(h=1e-3), 1e-12)):
        run = mbdae.solve(system, method, (0.0, 0.01), state=state, rtol=rtol, atol=rtol)
        assert np.array_equal(run.q[0], state.q)
        assert np.array_equal(run.v[0], state.v)


def test_an_assembled_start_is_within_tight_tolerances():
    """Coordinates of a millimetre: assembled to 1e-13 m, asked for 1e-15 m."""
    system = library.system("wheelset")
    q0 = system.start.q * (1.0 + 1e-9 * np.random.default_rng(1).standard_normal(6))
    run = mbdae.solve(system, mbdae.DormandPrince(order=8), (0.0, 0.01), q0=q0, rtol=1e-11, atol=1e-15)
    assert run.success, run.message
