"""Runs in several charts: nobody notices that the independent coordinates are exchanged on the way, and failures say what is wrong."""

from dataclasses import replace

import numpy as np
import pytest

import mbdae
from mbdae import Status, library
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Cvode
from mbdae.driver.restarts import integrate_in_charts
from mbdae.results.diagnosis import ChartError

from .helpers import BREAKS_AT, GROUND, relative, torn

pytestmark = pytest.mark.thorough

FORMS = ("partition", "tangent")
FOREIGN = {"DOP853": SolveIvp(), "Radau": SolveIvp("Radau"), "LSODA": SolveIvp("LSODA"), "CVODE": Cvode()}
OWN = {"SDIRK": mbdae.SdirkDescriptor(), "Rosenbrock": mbdae.RosenbrockNystrom()}
METHODS = FOREIGN | OWN
every_method = pytest.mark.parametrize("name", METHODS)
few_methods = pytest.mark.parametrize("name", ["DOP853", "CVODE", "Rosenbrock"])
foreign = pytest.mark.parametrize("name", FOREIGN)
both = pytest.mark.parametrize("form", FORMS)


def turning(law=None):
    """A bead that runs round a circle in the plane: no coordinate of it serves for a whole turn."""
    forces = () if law is None else [mbdae.TSDA("law", GROUND, "bead", (0, 5, 0), law=law)]
    return mbdae.System(mbdae.Mechanism("bead", [mbdae.Particle("bead", 1.0, (0.0, -1.0, 0.0), (7.0, 0.0, 0.0))],
                                        [mbdae.Rod("rod", GROUND, "bead"), mbdae.CD("plane", GROUND, "bead", (0, 0, 1))], forces=forces,
                                        gravity=(0.0, -9.81, 0.0)))


@pytest.fixture(scope="module")
def bead():
    return turning()


@pytest.fixture(scope="module")
def reference():
    """The same by its angle, which serves for ever: `q(t)`."""
    s = mbdae.System(mbdae.Mechanism("angle", [mbdae.PlanarBody("b", 1.0, 1e-9, (0.0, -1.0), -np.pi / 2, (7.0, 0.0), 7.0)],
                                     [mbdae.PlanarRevolute("pin", GROUND, "b", s_j=(-1.0, 0.0))], gravity=(0.0, -9.81, 0.0)))
    sol = mbdae.solve(s, SolveIvp(max_step=2e-3), (0.0, 2.0), rtol=1e-11, atol=1e-12, dense_output=True).sol
    return lambda t: np.array([np.cos(sol(t)[0][..., 2]), np.sin(sol(t)[0][..., 2]), 0.0 * np.asarray(t)]).T


def solved(bead, name, form, t_end=2.0, **options):
    return mbdae.solve(bead, METHODS[name], (0.0, t_end), formulation=form, **{"rtol": 1e-8, "atol": 1e-10} | options)


# --- the motion ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mechanism", "t_end", "tolerance"), [
    ("double-pendulum", 1.0, 1e-8), ("double-spherical-pendulum", 2.0, 1e-8), ("heavy-top", 0.2, 1e-6), ("car-axis", 0.5, 1e-8),
    ("bricard", 0.5, 1e-8), ("spatial-four-bar", 1.0, 1e-7), ("andrews", 0.01, 1e-8), ("wheelset", 0.2, 1e-8)])
def test_all_explicit_forms_move_alike(mechanism, t_end, tolerance):
    s = library.system(mechanism)
    runs = {form: mbdae.solve(s, SolveIvp(), (0.0, t_end), formulation=form, rtol=1e-9, atol=1e-10) for form in ("ode", *FORMS)}
    expected = runs.pop("ode")
    for found in runs.values():
        assert found.success
        assert relative(found.q[-1], expected.q[-1]) < tolerance and relative(found.v[-1], expected.v[-1]) < tolerance
        assert found.constraint_residuals[:, 0].max() < 1e-12 * (1.0 + np.abs(found.q).max())


@both
@every_method
def test_several_turns_in_several_charts(bead, reference, name, form):
    s = solved(bead, name, form)
    assert s.success and s.message == "the end of the time span was reached"
    assert s.statistics.restarts > 4
    assert s.t[0] == 0.0 and s.t[-1] == 2.0 and (np.diff(s.t) > 0.0).all()
    assert len(s.t) == s.statistics.steps + 1
    np.testing.assert_allclose(s.q, reference(s.t), atol=2e-5)
    assert s.constraint_residuals.max() < 1e-10
    np.testing.assert_allclose(s.energy, s.energy[0], atol=1e-4)


@pytest.mark.parametrize("form", FORMS)
def test_a_run_in_one_chart_has_no_restarts(form):
    s = mbdae.solve(library.system("car-axis"), SolveIvp(), (0.0, 0.1), formulation=form)
    assert s.success and s.statistics.restarts == 0


# --- what is stored ------------------------------------------------------------------------------------------------------


@both
@few_methods
def test_output_times_are_met_in_every_chart(bead, reference, name, form):
    times = np.linspace(0.0, 2.0, 41)
    s = solved(bead, name, form, t_eval=times)
    np.testing.assert_array_equal(s.t, times)
    np.testing.assert_allclose(s.q, reference(times), atol=2e-5)
    late = solved(bead, name, form, t_eval=[1.7])
    np.testing.assert_array_equal(late.t, [1.7])
    np.testing.assert_allclose(late.q[0], s.q[34], atol=1e-9)
    assert solved(bead, name, form, t_eval=[]).q.shape == (0, 3)


@both
@few_methods
def test_output_times_that_are_steps_come_once(bead, name, form):
    """Steps at which a chart ends are the start of the next one."""
    steps = solved(bead, name, form).t
    s = solved(bead, name, form, t_eval=steps)
    np.testing.assert_array_equal(s.t, steps)


@both
@few_methods
@pytest.mark.parametrize("every", [2, 7, 10**6])
def test_steps_are_counted_across_charts(bead, name, form, every):
    full, thin = (solved(bead, name, form, every=n) for n in (1, every))
    n = full.statistics.steps
    keep = sorted({*range(0, n + 1, every), n})
    np.testing.assert_array_equal(thin.t, full.t[keep])
    np.testing.assert_array_equal(thin.q, full.q[keep])


@both
@foreign
def test_runs_go_backward_in_time(bead, reference, name, form):
    there = solved(bead, name, form)
    back = mbdae.solve(bead, METHODS[name], (2.0, 0.0), formulation=form, rtol=1e-8, atol=1e-10, q0=there.q[-1], v0=there.v[-1])
    assert back.success and back.statistics.restarts > 4
    assert (np.diff(back.t) < 0.0).all() and back.t[-1] == 0.0
    np.testing.assert_allclose(back.q, reference(back.t), atol=5e-5)
    times = [2.0, 1.0, 0.5, 0.0]
    some = mbdae.solve(bead, METHODS[name], (2.0, 0.0), formulation=form, rtol=1e-8, atol=1e-10, t_eval=times, q0=there.q[-1],
                       v0=there.v[-1])
    np.testing.assert_array_equal(some.t, times)
    np.testing.assert_allclose(some.q, reference(np.array(times)), atol=5e-5)


@both
@few_methods
def test_dense_output_spans_all_charts(bead, reference, name, form):
    s = solved(bead, name, form, dense_output=True, t_eval=[0.5, 1.5])
    np.testing.assert_array_equal(s.t, [0.5, 1.5])
    times = np.linspace(0.0, 2.0, 101)
    np.testing.assert_allclose(s.sol(times)[0], reference(times), atol=3e-4)


# --- events and progress -------------------------------------------------------------------------------------------------


def top(t, q, v):
    return q[0]


@both
@few_methods
def test_events_are_found_in_every_chart(bead, reference, name, form):
    """The bead passes above and below the centre."""
    s = solved(bead, name, form, events=top)
    fine = np.linspace(1e-3, 2.0, 20001)
    x = reference(fine)[:, 0]
    expected = fine[:-1][x[:-1] * x[1:] < 0.0]
    assert len(expected) == 3
    np.testing.assert_allclose([t for t in s.t_events[0] if t > 0.0], expected, atol=3e-4)


@both
@few_methods
def test_terminal_events_end_the_run_in_a_later_chart(bead, name, form):
    calls = []

    def late(t, q, v):
        calls.append(t)
        return t - 1.3

    late.terminal = True
    s = solved(bead, name, form, events=late)
    assert s.success and s.statistics.restarts > 2
    assert s.t[-1] == pytest.approx(1.3, abs=1e-12) and "a terminal event ended the run at t = 1.3" in s.message
    assert max(calls) < 1.6


@both
@few_methods
def test_progress_goes_on_across_charts(bead, name, form):
    seen = []
    solved(bead, name, form, progress=seen.append)
    assert len(seen) >= 1 and (np.diff(seen) >= 0.0).all() and seen[-1] == pytest.approx(2.0)


@both
@few_methods
def test_interrupts_arrive(bead, name, form):
    def stop(t):
        if t > 1.0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solved(bead, name, form, progress=stop)


# --- work ----------------------------------------------------------------------------------------------------------------


@both
@every_method
def test_steps_are_limited_over_all_charts(bead, name, form):
    full = solved(bead, name, form)
    few = full.statistics.steps * 3 // 4
    s = mbdae.solve(bead, replace(METHODS[name], max_steps=few), (0.0, 2.0), formulation=form, rtol=1e-8, atol=1e-10)
    assert s.status == Status.TOO_MANY_STEPS and f"{few} steps were not enough" in s.message
    assert s.statistics.steps == few and len(s.t) == few + 1 and s.statistics.restarts > 2
    np.testing.assert_array_equal(s.t, full.t[:few + 1])
    enough = mbdae.solve(bead, replace(METHODS[name], max_steps=full.statistics.steps), (0.0, 2.0), formulation=form, rtol=1e-8, atol=1e-10)
    assert enough.success


@both
@foreign
def test_work_is_summed_over_the_charts(bead, name, form):
    """What the solver is asked for in each chart, against what `solve` reports."""
    parts, method = [], METHODS[name]

    class Spy(mbdae.Method):
        label, support, max_steps = "spy", method.support, method.max_steps

        def integrate(self, *given, **options):
            piece = method.integrate(*given, **options)
            parts.append(piece.statistics)
            return piece

    p = mbdae.problems.FORMULATIONS[form](bead)
    total = integrate_in_charts(Spy(), p, p.start, 2.0, rtol=1e-8, atol=1e-10, t_eval=None, every=1, progress=None, until=None).statistics
    assert total.restarts == len(parts) - 1 > 4
    for what in ("steps", "residuals", "jacobians"):
        assert getattr(total, what) == sum(getattr(c, what) for c in parts)
    assert total.steps > 0 and (total.jacobians > 0) == (name in ("Radau", "CVODE"))
    assert total.newton_iterations is None or all(c.newton_iterations is not None for c in parts)


@both
@few_methods
def test_runs_do_not_depend_on_earlier_ones(bead, name, form):
    p = mbdae.problems.FORMULATIONS[form](bead)
    first, again = (mbdae.solve(p, METHODS[name], (0.0, 1.0), rtol=1e-8, atol=1e-10) for _ in range(2))
    np.testing.assert_array_equal(first.q, again.q)
    assert first.statistics.as_dict() | {"seconds": 0, "cpu_seconds": 0} == again.statistics.as_dict() | {"seconds": 0, "cpu_seconds": 0}


# --- failures ------------------------------------------------------------------------------------------------------------


class Trouble(Exception):
    """What a user's function raises."""


@both
@every_method
def test_exceptions_of_users_arrive_unchanged(name, form):
    def law(length, rate, t):
        if t > 1.0:
            raise Trouble("the spring is gone")
        return 0.0

    with pytest.raises(Trouble) as caught:
        solved(turning(law), name, form)
    assert str(caught.value) == "the spring is gone"
    note, = caught.value.__notes__
    assert note.startswith("in the law of TSDA 'law' between 'ground' and 'bead' at t = 1.0")


@both
@every_method
def test_forces_that_are_not_finite_end_the_run(name, form):
    s = mbdae.solve(turning(torn), METHODS[name], (0.0, 0.2), formulation=form)
    assert s.status in ((Status.NOT_FINITE, Status.STEP_TOO_SMALL) if name == "LSODA" else (Status.NOT_FINITE,))
    assert "not finite" in s.message or name == "LSODA"
    assert "the solution up to there is kept" in s.message
    assert 0.02 < s.t[-1] < BREAKS_AT + 1e-3 and np.isfinite(s.q).all() and np.isfinite(s.lam[:-1]).all()


@both
@every_method
def test_forces_that_are_never_finite_keep_the_start(name, form):
    s = mbdae.solve(turning(lambda length, rate, t: np.nan if t > 0.0 else 0.0), METHODS[name], (0.0, 0.2), formulation=form)
    assert not s.success and s.t[0] == 0.0 and s.t[-1] < 2e-3


def dead_point():
    """A bar is driven through its dead point by a motion that the constraints do not allow; a pendulum swings beside it."""
    bodies = [mbdae.Particle("p", 1.0, (0.6, 0.8, 0.0)), mbdae.Particle("bob", 1.0, (3.0, -1.0, 0.0))]
    joints = [mbdae.Rod("rod", GROUND, "p"), mbdae.CD("plane", GROUND, "p", (0, 0, 1)),
              mbdae.Rod("string", GROUND, "bob", s_i=(3, 0, 0)), mbdae.CD("plane of the bob", GROUND, "bob", (0, 0, 1))]
    drive = mbdae.CoordinateDriver("pull", GROUND, "p", mbdae.Polynomial((0.6, 1.0)), (1, 0, 0))
    return mbdae.System(mbdae.Mechanism("dead point", bodies, joints, [drive], gravity=(1.0, -9.81, 0.0)))


@both
@every_method
def test_a_singular_position_on_the_way_is_told(name, form, capfd):
    s = mbdae.solve(dead_point(), METHODS[name], (0.0, 1.0), formulation=form)
    assert s.status == Status.SINGULAR
    assert "rod" in s.message and "the solution up to there is kept" in s.message
    assert float(s.message.split("t = ")[-1].split(")")[0]) == pytest.approx(0.4, abs=1e-6)
    assert s.t[0] == 0.0 and s.t[-1] == pytest.approx(0.4, abs=1e-6)  # x = 1 is reached then
    assert np.isfinite(s.q).all() and s.constraint_residuals[:, 0].max() < 1e-9
    assert capfd.readouterr() == ("", "")


@both
@foreign
@pytest.mark.parametrize("rtol", (1e-2, 1e-3, 1e-4, 1e-8))
def test_a_singular_position_is_told_at_any_tolerance(name, form, rtol):
    """Rates have no bound there, which is no motion by drivers that a solver has stepped over."""
    s = mbdae.solve(dead_point(), METHODS[name], (0.0, 1.0), formulation=form, rtol=rtol, atol=0.01 * rtol)
    assert s.status == Status.SINGULAR and s.t[-1] == pytest.approx(0.4, abs=1e-6)


def lying():
    """A parallelogram, and a state of it in which all bars lie on one line."""
    s = library.system("n-four-bar", windows=1)
    q = np.array([0.5, 0.0, 0.0, 1.5, 0.0, 0.0, 1.5, 0.0, 0.0])
    return s, mbdae.State(0.0, q, np.zeros(9), np.zeros(9), np.zeros(8))


@both
@foreign
def test_a_start_in_a_singular_position_is_told(name, form):
    s, state = lying()
    found = mbdae.solve(s, METHODS[name], (0.0, 1.0), formulation=form, state=state)
    assert found.status == Status.SINGULAR
    assert "the constraints lose rank" in found.message and "(last step ended at t = 0)" in found.message
    np.testing.assert_array_equal(found.q, [state.q])
    assert mbdae.solve(s, METHODS[name], (0.0, 1.0), formulation=form, state=state, t_eval=[0.5]).q.shape == (0, 9)


class Lost(mbdae.StateSpace):
    """No chart can be had any more after some time."""

    where = "leave"

    def _meet(self, t, what):
        if t > 1.0 and what == self.where:
            raise ChartError(Status.CHART_LOST, "the independent coordinates are no longer independent")

    def leave(self, t, q):
        self._meet(t, "leave")
        return super().leave(t, q)

    def full_state(self, t, q, v):
        self._meet(t, "full_state")
        return super().full_state(t, q, v)

    def pack(self, state):
        self._meet(state.t, "pack")
        return super().pack(state)


@pytest.mark.parametrize("where", ["leave", "full_state", "pack"])
@foreign
def test_a_chart_that_cannot_be_kept_ends_the_run(bead, reference, name, where):
    p = Lost(bead)
    p.where = where
    s = mbdae.solve(p, METHODS[name], (0.0, 2.0), rtol=1e-8, atol=1e-10)
    assert s.status == Status.CHART_LOST
    assert s.message.startswith("the independent coordinates are no longer independent (last step ended at t = 1.")
    assert 0.9 < s.t[-1] < 1.5 and s.statistics.restarts > 2
    assert (np.diff(s.t) > 0.0).all()
    np.testing.assert_allclose(s.q, reference(s.t), atol=2e-5)
