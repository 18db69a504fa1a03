"""Events that change the state: restart, output, dense output, records, everything that on_event may give, and ends of runs."""

import numpy as np
import pytest

import mbdae
from mbdae import HalfImplicit, Status
from mbdae.adapters.scipy import SolveIvp
from mbdae.registry import find
from mbdae.results.trajectory import DenseOutput

from .helpers import event
from .impact_cases import G, ball, ball_impacts, two_rods, violation

DOP = SolveIvp("DOP853")
METHODS = {"in-house": mbdae.RosenbrockNystrom(), "explicit": mbdae.DormandPrince(), "Radau IIA": mbdae.RadauIIA(),
           "fixed step": HalfImplicit(h=1e-3), "RATTLE": mbdae.Rattle(h=1e-2), "SPARK": mbdae.Spark(h=1e-2),
           "solver": DOP, "multistep": find("Bdf").make()}
TIGHT = {"rtol": 1e-9, "atol": 1e-11}


def height(t, q, v):
    return q[2]


def bouncing(e, **attributes):
    """The ball's height, with an inelastic reflection of its vertical velocity."""
    return event(height, direction=-1, on_event=lambda t, s: (s.q, s.v * [1.0, 1.0, -e]), **attributes)


def clock(time, change, **attributes):
    return event(lambda t, q, v: t - time, on_event=change, **attributes)


@pytest.mark.parametrize("name", METHODS)
def test_a_bouncing_ball(name):
    s = mbdae.solve(ball(), METHODS[name], (0.0, 2.3), events=bouncing(0.8), dense_output=True, **TIGHT)
    expected = ball_impacts(0.8, 4)
    loose = 0.02 if name == "fixed step" else 1e-9
    np.testing.assert_allclose(s.t_events[0], expected, atol=loose)
    assert s.success and s.message == "the end of the time span was reached" and s.statistics.restarts >= 4
    assert [jump.t for jump in s.jumps] == list(s.t_events[0]) and all(jump.events == (0,) for jump in s.jumps)
    for jump in s.jumps:
        assert jump.after.v[2] == -0.8 * jump.before.v[2] > 0.0 and abs(jump.before.q[2]) < 1e-13
    # both states are stored, the one before first; dense output gives the one before
    twice = np.flatnonzero(np.diff(s.t) == 0.0)
    np.testing.assert_array_equal(s.t[twice], s.t_events[0])
    np.testing.assert_array_equal(s.v[twice], [jump.before.v for jump in s.jumps])
    np.testing.assert_array_equal(s.v[twice + 1], [jump.after.v for jump in s.jumps])
    np.testing.assert_array_equal(s.sol(s.t_events[0])[1], s.v[twice])
    later = s.sol(s.t_events[0] + 1e-9)[1]
    np.testing.assert_allclose(later, [jump.after.v for jump in s.jumps], atol=1e-6)


def test_dense_output_between_jumps_is_that_of_the_motion():
    s = mbdae.solve(ball(), DOP, (0.0, 2.3), events=bouncing(0.8), dense_output=True, **TIGHT)
    times, impacts = np.linspace(0.0, 2.0, 81), ball_impacts(0.8, 4)
    starts = np.array([0.0, *impacts])
    k = np.searchsorted(starts, times, side="right") - 1
    up = np.array([0.0, *(0.8 ** n * np.sqrt(2.0 * G) for n in range(1, 5))])
    expected = np.where(k == 0, 1.0, 0.0) + up[k] * (times - starts[k]) - 0.5 * G * (times - starts[k]) ** 2
    np.testing.assert_allclose(s.sol(times)[0][:, 2], expected, atol=1e-8)
    np.testing.assert_allclose(DenseOutput(s.system, s)(times)[0][:, 2], expected, atol=1e-8)


@pytest.mark.parametrize("name", METHODS)
def test_outputs_up_to_the_first_event_are_those_of_the_run_without_it(name):
    times = np.linspace(0.0, 2.0, 41)
    s = mbdae.solve(ball(), METHODS[name], (0.0, 2.0), events=bouncing(0.8), t_eval=times)
    free = mbdae.solve(ball(), METHODS[name], (0.0, 2.0), t_eval=times)
    before = times <= s.t_events[0][0]
    np.testing.assert_array_equal(s.t, times)
    np.testing.assert_array_equal(s.q[before], free.q[before])
    assert (s.q[:, 2] > -1e-9).all() and 0.2 < before.mean() < 0.3


def test_output_at_the_time_of_a_change_is_the_state_before_it():
    stop = clock(0.25, lambda t, s: (s.q, 0.0 * s.v))
    s = mbdae.solve(ball(), DOP, (0.0, 0.5), events=stop, t_eval=[0.0, 0.25, 0.5], dense_output=True)
    assert s.jumps[0].t == 0.25
    np.testing.assert_allclose(s.v[:, 2], [0.0, -0.25 * G, -0.25 * G], atol=1e-12)
    np.testing.assert_allclose(s.sol(0.25)[1], [0.5, 0.0, -0.25 * G], atol=1e-12)


def test_every_counts_from_each_change():
    s = mbdae.solve(ball(), HalfImplicit(h=0.01), (0.0, 0.4), every=10, events=clock(0.155, lambda t, s: None))
    np.testing.assert_allclose(s.t, [0.0, 0.1, 0.155, 0.155, 0.255, 0.355, 0.4], atol=1e-12)


@pytest.mark.parametrize("coordinates", ["cartesian", "joint"])
def test_states_off_the_constraints_are_projected(coordinates):
    system = two_rods(coordinates=coordinates)
    kick = clock(0.3, lambda t, s: (s.q + 1e-3, s.v + 0.1))
    s = mbdae.solve(system, DOP, (0.0, 0.5), events=kick, **TIGHT)
    assert s.success and violation(system, s.jumps) < 1e-12
    after = s.jumps[0].after
    a, lam, _ = mbdae.system.assembly.accelerations(system, after.t, after.q, after.v)
    np.testing.assert_allclose(after.a, a, atol=1e-9)
    np.testing.assert_allclose(after.lam, lam, atol=1e-9)


def test_a_change_may_give_a_state_a_pair_or_nothing():
    kinds = [lambda t, s: s, lambda t, s: (s.q, s.v), lambda t, s: [s.q, s.v], lambda t, s: None]
    runs = [mbdae.solve(two_rods(), DOP, (0.0, 0.5), events=clock(0.2, kind), t_eval=[0.5], **TIGHT) for kind in kinds]
    free = mbdae.solve(two_rods(), DOP, (0.0, 0.5), t_eval=[0.5], **TIGHT)
    for run in runs:
        np.testing.assert_array_equal(run.q, runs[0].q)
        np.testing.assert_allclose(run.q, free.q, atol=1e-9)
        assert run.statistics.restarts == 1


def test_a_change_gets_a_copy():
    def spoil(t, state):
        state.q[:] = state.v[:] = state.a[:] = np.nan

    s = mbdae.solve(ball(), DOP, (0.0, 0.3), events=clock(0.1, spoil))
    assert s.success and np.isfinite(s.q).all()


WRONG = {"a number": (lambda t, s: 1.0, "must give a State, a pair"),
         "the wrong length": (lambda t, s: (s.q, s.v[:2]), r"v of shape \(3,\)"),
         "NaN": (lambda t, s: (s.q * np.nan, s.v), r"q of shape \(3,\) with finite numbers"),
         "another time": (lambda t, s: mbdae.State(t + 1.0, s.q, s.v, s.a, s.lam), "must give a state at t = 0.1")}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_state_is_refused(name):
    change, message = WRONG[name]
    with pytest.raises(ValueError, match=message):
        mbdae.solve(ball(), DOP, (0.0, 0.3), events=clock(0.1, change))


def test_exceptions_arrive_with_a_note():
    def broken(t, state):
        raise KeyError("spring")

    with pytest.raises(KeyError) as caught:
        mbdae.solve(ball(), DOP, (0.0, 0.3), events=clock(0.1, broken))
    assert any("on_event" in note and "0.1" in note for note in caught.value.__notes__)


def test_backward_runs_are_refused():
    with pytest.raises(ValueError, match="the event 'g' changes the state, which is possible in runs forward in time only"):
        mbdae.solve(ball(), DOP, (0.0, -1.0), events=bouncing(0.5))


def test_a_state_that_cannot_be_assembled_ends_the_run_and_keeps_what_was_computed():
    s = mbdae.solve(two_rods(), DOP, (0.0, 0.5), events=clock(0.2, lambda t, s: (s.q + [50.0, 0, 0, 0, 0, 0], np.full(6, 1e300))))
    assert s.status in (Status.PROJECTION_FAILED, Status.NOT_FINITE) and not s.success
    assert s.t[-1] == pytest.approx(0.2) and len(s.jumps) == 0 and "'g'" in s.message and "0.2" in s.message


def test_terminal_events_count_across_changes():
    for terminal, n in ((True, 1), (3, 3)):
        s = mbdae.solve(ball(), DOP, (0.0, 5.0), events=bouncing(0.8, terminal=terminal), dense_output=True, **TIGHT)
        assert s.success and len(s.t_events[0]) == n and s.message == f"a terminal event ended the run at t = {s.t_events[0][-1]:.9g}"
        np.testing.assert_array_equal(s.v[-2:], [s.jumps[-1].before.v, s.jumps[-1].after.v])
        np.testing.assert_array_equal(s.sol(s.t[-1])[1], s.jumps[-1].before.v)
        with pytest.raises(ValueError, match="dense output"):
            s.sol(s.t[-1] + 0.1)
    apex = event(lambda t, q, v: v[2], direction=-1, terminal=2)
    s = mbdae.solve(ball(), DOP, (0.0, 5.0), events=[bouncing(0.8), apex], **TIGHT)
    assert [len(t) for t in s.t_events] == [2, 2] and s.t[-1] == s.t_events[1][-1]


def test_simultaneous_events_change_the_state_one_after_the_other():
    order = []
    events = [clock(0.2, lambda t, s, k=k: order.append((k, s.v[0])) or (s.q, s.v + [1.0, 0, 0])) for k in range(3)]
    s = mbdae.solve(ball(), DOP, (0.0, 0.3), events=events)
    assert [k for k, _ in order] == [0, 1, 2] and [round(v, 9) for _, v in order] == [0.5, 1.5, 2.5]
    assert len(s.jumps) == 1 and s.jumps[0].events == (0, 1, 2) and [list(t) for t in s.t_events] == [[0.2]] * 3


def test_an_event_need_not_be_zero_after_the_change():
    """A counter that is set back: its value jumps away from the zero, and returns."""
    fall = event(lambda t, q, v: q[2] - 0.5, on_event=lambda t, s: (s.q + [0, 0, 0.5], 0.0 * s.v))
    s = mbdae.solve(ball(), DOP, (0.0, 1.0), events=fall, **TIGHT)
    assert s.success
    np.testing.assert_allclose(s.t_events[0], np.sqrt(1.0 / G) * np.arange(1, 4), atol=1e-9)


def test_an_event_passes_through_zero_once():
    s = mbdae.solve(ball(), DOP, (0.0, 0.9), events=event(height, on_event=lambda t, s: None), **TIGHT)
    assert s.success and len(s.t_events[0]) == 1


def test_events_in_the_first_step_and_at_the_end():
    for time in (1e-9, 0.3 - 1e-11, 0.3):
        s = mbdae.solve(ball(), DOP, (0.0, 0.3), events=clock(time, lambda t, s: (s.q, s.v + [1.0, 0.0, 0.0])), dense_output=True)
        assert s.success and len(s.jumps) == 1 and s.t[-1] == 0.3
        np.testing.assert_allclose(s.v[-1, 0], 1.5, atol=1e-12)
        np.testing.assert_allclose(s.q[-1], [0.3 + 0.5 * 0.3 + (0.3 - time), 0.0, 1.0 - 0.5 * G * 0.09], atol=1e-9)
        given = mbdae.solve(ball(), DOP, (0.0, 0.3), events=clock(time, lambda t, s: (s.q, s.v + [1.0, 0.0, 0.0])), t_eval=[0.1, 0.3])
        np.testing.assert_array_equal(given.t, [0.1, 0.3])
        np.testing.assert_allclose(given.q[-1], s.q[-1], atol=1e-9)


def test_two_zeros_in_one_step_are_found_with_a_rate():
    def dips(t, q, v):
        return (t - 0.2) ** 2 - 1e-6

    long = SolveIvp("DOP853", first_step=0.1)
    found = mbdae.solve(ball(), long, (0.0, 0.4), events=[event(dips, rate=lambda t, q, v: 2.0 * (t - 0.2)), event(dips)])
    np.testing.assert_allclose(found.t_events[0], [0.199, 0.201], atol=1e-12)
    assert len(found.t_events[1]) == 0


def test_the_limit_of_steps_is_that_of_the_whole_run():
    free = mbdae.solve(ball(), DOP, (0.0, 2.0), events=bouncing(0.8))
    s = mbdae.solve(ball(), SolveIvp("DOP853", max_steps=10), (0.0, 2.0), events=bouncing(0.8))
    assert free.statistics.steps > 10 and s.status == Status.TOO_MANY_STEPS and s.statistics.steps == 10 and len(s.jumps) >= 1
    n = len(s.t)
    np.testing.assert_array_equal(s.t, free.t[:n])


@pytest.mark.parametrize("name", ["solver", "in-house", "multistep"])
def test_zeno_behaviour_of_a_users_event_ends_the_run(name):
    s = mbdae.solve(ball(), METHODS[name], (0.0, 5.0), events=bouncing(0.5), **TIGHT)
    end = np.sqrt(2.0 / G) * 1.5 / 0.5
    assert s.status == Status.ZENO and "the event 'g' recurs at once" in s.message and abs(s.t[-1] - end) < 1e-7
    assert len(s.jumps) > 20 and np.isfinite(s.q).all()


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["solver", "fixed step"])
def test_bounces_below_the_errors_of_the_method_end_the_run(name):
    """Their speeds are noise, and do not tend to zero any more."""
    s = mbdae.solve(ball(), METHODS[name], (0.0, 15.0), events=bouncing(0.8), rtol=1e-6, atol=1e-6)
    end = np.sqrt(2.0 / G) * 1.8 / 0.2
    assert s.status == Status.ZENO and abs(s.t[-1] - end) < (0.3 if name == "fixed step" else 1e-3) and s.q[:, 2].min() > -1e-3


def test_an_event_that_is_held_at_zero_remains_there():
    """A ball that a user's force carries from the time on at which it has reached the ground, until the force is switched off."""
    force = [0.0]

    def carry(t, r, A, v, omega, F, T):
        F[0, 2] = force[0]

    def land(t, state):
        force[0] = 2.0 * G
        return state.q, 0.0 * state.v

    system = mbdae.System(mbdae.Mechanism("ball", ball().mechanism.bodies, forces=[mbdae.UserForce("hand", ("ball",), carry)],
                                          gravity=(0, 0, -G)))
    held = event(height, direction=-1, on_event=land)
    s = mbdae.solve(system, DOP, (0.0, 2.0), events=held, **TIGHT)
    assert s.success and len(s.jumps) == 1 and np.abs(s.q[-1, 2]) < 1e-12 and s.t[-1] == 2.0


def test_a_plastic_impact_of_a_users_event_ends_the_run():
    s = mbdae.solve(ball(), DOP, (0.0, 2.0), events=bouncing(0.0), **TIGHT)
    assert s.status == Status.ZENO and len(s.jumps) == 1 and s.t[-1] == s.t_events[0][0]
