"""What crosses the boundary to foreign solvers: counted, guarded, on the solver's own clock; and what a run makes of it."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import mbdae
import mbdae.adapters.sundae
import mbdae.library
from mbdae import State, Status
from mbdae.adapters import storage
from mbdae.driver.callbacks import FATAL, GOOD, HUGE, RECOVERABLE, TOLERATED, TOLERATED_IN_A_ROW, SolverCallbacks, SolverFailure
from mbdae.driver.run import STALLED, Finished, Run
from mbdae.driver.support import EXPLICIT, FORMS, Settings, explicit_support, implicit_support, supported, tightened
from mbdae.results.steps import Step
from mbdae.results.watch import Watch

from .helpers import double_pendulum, relative


@pytest.fixture(scope="module")
def system():
    return mbdae.System(double_pendulum())


@pytest.fixture(scope="module")
def problem(system):
    return mbdae.GGL(system)


@pytest.fixture
def start(problem):
    return problem.pack(mbdae.assemble(problem.system))


def with_law(law):
    m = double_pendulum()
    return mbdae.System(replace(m, forces=[*m.forces, mbdae.TSDA("spring", "ground", "upper", (0, 1, 0), law=law)]))


# --- the clock -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("t0", "direction"), [(0.0, 1), (0.7, 1), (-2.0, 1), (0.7, -1), (0.0, -1)])
def test_the_solver_sees_its_own_clock(problem, rng, t0, direction):
    y, yd, c, s = rng.normal(size=problem.n), rng.normal(size=problem.n), 3.0, 0.4
    callbacks = SolverCallbacks(problem, t0=t0, direction=direction)
    out = np.empty(problem.n)
    assert callbacks.residual()(s, y, yd, out) == GOOD
    assert relative(out, problem.residual(t0 + direction * s, y, direction * yd)) < 1e-14
    J = np.empty((problem.n, problem.n))
    assert callbacks.jacobian(storage.dense(problem))(s, y, yd, c, J) == GOOD
    step = 1e-6
    difference = np.empty_like(J)
    for k, d in enumerate(np.eye(problem.n)):
        ends = [np.empty(problem.n) for _ in range(2)]
        for sign, end in zip((1, -1), ends):
            callbacks.residual()(s, y + sign * step * d, yd + sign * step * c * d, end)
        difference[:, k] = (ends[0] - ends[1]) / (2 * step)
    assert relative(J, difference) < 1e-7
    assert callbacks.clock(callbacks.time(s)) == pytest.approx(s)
    assert (callbacks.calls, callbacks.jacobians) == (1 + 2 * problem.n, 1)


@pytest.mark.parametrize("direction", [1, -1])
def test_an_explicit_problem_on_its_own_clock(system, rng, direction):
    p = mbdae.UnderlyingODE(system)
    y, _ = p.pack(mbdae.assemble(system))
    callbacks, out = SolverCallbacks(p, t0=0.5, direction=direction), np.empty(p.n)
    assert callbacks.rhs()(0.1, y, out) == GOOD
    np.testing.assert_allclose(out, direction * p.rhs(0.5 + direction * 0.1, y), rtol=1e-14)
    np.testing.assert_allclose(callbacks.rhs_jacobian()(0.1, y), direction * p.rhs_jacobian(0.5 + direction * 0.1, y), rtol=1e-14)


# --- failures ------------------------------------------------------------------------------------------------------------


class Oops(Exception):
    pass


def raising(length, rate, t):
    raise Oops("from the user")


def test_exceptions_go_through_or_are_kept(start):
    law = [lambda length, rate, t: 0.0]
    p = mbdae.GGL(with_law(lambda *x: law[0](*x)))
    y, yd = p.pack(mbdae.assemble(p.system))
    law[0], out = raising, np.empty(p.n)
    with pytest.raises(Oops, match="from the user"):
        SolverCallbacks(p).residual()(0.0, y, yd, out)
    callbacks = SolverCallbacks(p, keeps=True)
    residual = callbacks.residual()
    assert residual(0.0, y, yd, out) == FATAL
    law[0] = lambda length, rate, t: 0.0
    assert residual(0.0, y, yd, out) == FATAL  # whatever the solver tries afterwards
    assert callbacks.calls == 1
    with pytest.raises(Oops, match="from the user"):
        callbacks.raise_kept()
    assert residual(0.0, y, yd, out) == GOOD


def test_interrupts_are_kept_too():
    law = [lambda length, rate, t: 0.0]
    p = mbdae.UnderlyingODE(with_law(lambda *x: law[0](*x)))
    y, _ = p.pack(mbdae.assemble(p.system))

    def interrupted(length, rate, t):
        raise KeyboardInterrupt

    law[0] = interrupted
    callbacks = SolverCallbacks(p, keeps=True)
    assert callbacks.rhs()(0.0, y, np.empty(p.n)) == FATAL
    assert not callbacks.rhs_jacobian()(0.0, y).any()
    with pytest.raises(KeyboardInterrupt):
        callbacks.raise_kept()


def test_other_callbacks_are_guarded(problem):
    callbacks = SolverCallbacks(problem, keeps=True)

    def call(x):
        if x < 0:
            raise Oops
        return x

    guarded = callbacks.guarded(call, otherwise=-7)
    assert [guarded(1), guarded(-1), guarded(1)] == [1, -7, -7]
    with pytest.raises(Oops):
        callbacks.raise_kept()


def test_values_that_are_not_finite_become_huge_and_end_the_run_in_the_end(problem, start):
    y, yd = start
    callbacks, out = SolverCallbacks(problem), np.empty(problem.n)
    residual = callbacks.residual()
    bad = y.copy()
    bad[0] = np.nan
    for _ in range(TOLERATED // TOLERATED_IN_A_ROW - 1):
        for _ in range(TOLERATED_IN_A_ROW):
            assert residual(0.0, bad, yd, out) == RECOVERABLE
            assert (out == HUGE).any() and np.isfinite(out).all()
        assert residual(0.0, y, yd, out) == GOOD  # a good value in between starts the count in a row anew
    with pytest.raises(SolverFailure, match=r"not finite near t = 0\.25"):
        for _ in range(TOLERATED_IN_A_ROW + 1):
            residual(0.25, bad, yd, out)
    assert callbacks.explain(SolverFailure(Status.STEP_TOO_SMALL, "small")).status == Status.NOT_FINITE
    residual(0.0, y, yd, out)
    assert callbacks.explain(SolverFailure(Status.STEP_TOO_SMALL, "small")).status == Status.STEP_TOO_SMALL


def test_a_jacobian_that_is_not_finite_ends_the_run(problem, start):
    y, yd = start
    bad = y.copy()
    bad[0] = np.nan
    with pytest.raises(SolverFailure, match=r"the Jacobian is not finite near t = 0\.5"):
        SolverCallbacks(problem).jacobian(storage.dense(problem))(0.5, bad, yd, 1.0, np.empty((problem.n, problem.n)))


# --- storage -------------------------------------------------------------------------------------------------------------


def test_dense_and_csc_storage(problem, start):
    values = problem.jacobian_values(0.0, *start, 2.0)
    J = np.full((problem.n, problem.n), 7.0)
    storage.dense(problem)(values, J)
    np.testing.assert_array_equal(J, problem.jacobian(0.0, *start, 2.0).toarray())
    data = np.empty(len(values))
    storage.csc(values, data)
    np.testing.assert_array_equal(data, values)


def test_band_storage(problem, start):
    band = storage.Band(problem.pattern)
    J = problem.jacobian(0.0, *start, 2.0).toarray()[np.ix_(band.order, band.order)]
    full = np.full_like(J, 7.0)
    band.full(problem.jacobian_values(0.0, *start, 2.0), full)
    np.testing.assert_array_equal(full, J)
    B = np.full((band.lower + band.upper + 1, problem.n), 7.0)
    band.store(band.upper)(problem.jacobian_values(0.0, *start, 2.0), B)
    for i in range(problem.n):
        for j in range(problem.n):
            inside = -band.upper <= i - j <= band.lower
            assert J[i, j] == (B[band.upper + i - j, j] if inside else 0.0)
    np.testing.assert_array_equal(band.order[band.place], np.arange(problem.n))


def test_bands_of_chains_do_not_grow():
    widths = [storage.Band(mbdae.GGL(mbdae.System(mbdae.library.mechanism("chain", links=n))).pattern) for n in (8, 32)]
    assert widths[0].lower + widths[0].upper >= widths[1].lower + widths[1].upper - 4
    assert widths[1].lower < 60


# --- support -------------------------------------------------------------------------------------------------------------


def test_support_names_every_form():
    refused = dict.fromkeys(("index3", "index2", "index1"), "no")
    explicit, implicit = explicit_support(), implicit_support(gear=Settings(), ggl=Settings(mask=True), **refused)
    for table in (explicit, implicit):
        assert set(table) == set(FORMS)
        assert all(isinstance(how, (Settings, str)) and how for how in table.values())
    assert supported(explicit) == EXPLICIT == ("ode", "partition", "tangent")
    assert supported(implicit) == ("gear", "ggl")


def test_tightened_tolerances(system):
    table = implicit_support(index3=Settings(tighten=0.01), ggl=Settings())
    own = np.ones(4)
    assert tightened(table, mbdae.Index3(system), 1e-4, 1e-6) == pytest.approx((1e-6, 1e-8))
    assert tightened(table, mbdae.GGL(system), 1e-4, 1e-6) == (1e-4, 1e-6)
    assert tightened(table, mbdae.Index3(system), 1e-4, own)[1] is own


# --- runs ----------------------------------------------------------------------------------------------------------------


def run_of(problem, start, t_end=1.0, **options):
    return Run(SolverCallbacks(problem), 0.0, t_end, start, **options)


def line(t):
    """A motion that is linear in time."""
    return np.full(3, t), np.ones(3)


class Stepper:
    """Steps of a tenth."""

    def __init__(self, h=0.1):
        self.t, self.h = 0.0, h

    def step(self):
        self.t = round(self.t + self.h, 10)
        return self.t, *line(self.t)

    def at(self, t):
        return line(t)


def test_runs_store_what_was_asked_for(problem, start):
    run = run_of(problem, start, every=4)
    run.carry_out(lambda: run.pull(Stepper()))
    assert (run.status, run.steps) == (Status.SUCCESS, 10)
    np.testing.assert_allclose([row[0] for row in run.rows], [0.0, 0.4, 0.8, 1.0])
    run = run_of(problem, start, t_eval=np.array([0.0, 0.25, 0.3, 1.0]))
    run.carry_out(lambda: run.pull(Stepper()))
    np.testing.assert_allclose([row[0] for row in run.rows], [0.0, 0.25, 0.3, 1.0])
    assert run.rows[1][1][0] == 0.25


@pytest.mark.parametrize(("options", "status", "words"), [
    ({"max_steps": 5}, Status.TOO_MANY_STEPS, "5 steps were not enough"),
    ({"t_end": 1.05}, Status.SUCCESS, "the end of the time span was reached"),
    ({"until": lambda t, q, v: t > 0.45}, Status.SUCCESS, "a terminal event has been passed")])
def test_how_runs_end(problem, start, options, status, words):
    run = run_of(problem, start, **options)
    run.problem = type("P", (), {"motion": staticmethod(lambda t, y: (y, y)), "stored": staticmethod(lambda *row: row),
                                 "system": type("S", (), {"nc": 0})})
    run.carry_out(lambda: run.pull(Stepper()))
    assert run.status == status
    assert words in run.message
    assert run.t == pytest.approx({"max_steps": 0.5, "t_end": 1.1, "until": 0.5}[next(iter(options))])


def test_a_run_that_stalls_or_stops_early_is_a_failure(problem, start):
    run = run_of(problem, start)
    run.carry_out(lambda: run.pull(Stepper(h=0.0)))
    assert run.status == Status.STEP_TOO_SMALL
    assert run.steps == 0 and STALLED > 100
    run = run_of(problem, start)
    run.carry_out(lambda: run.accept(0.5, *line(0.5), line))
    assert (run.status, run.steps) == (Status.SOLVER_FAILED, 1)
    assert "stopped before the end (last step ended at t = 0.5); the solution up to there is kept" in run.message


def test_the_users_exception_wins_over_its_echo_in_the_solver(problem, start):
    callbacks = SolverCallbacks(problem, keeps=True)
    run = Run(callbacks, 0.0, 1.0, start)

    def integrate():
        callbacks.error = Oops("the cause")
        raise RuntimeError("the solver gave up")

    with pytest.raises(Oops, match="the cause"):
        run.carry_out(integrate)
    with pytest.raises(RuntimeError, match="a fault"):
        run.carry_out(lambda: (_ for _ in ()).throw(RuntimeError("a fault")))


def test_finished_is_no_failure(problem, start):
    run = run_of(problem, start)

    def integrate():
        raise Finished("enough")

    run.carry_out(lambda: (run.accept(0.5, *line(0.5), line), integrate()))
    assert (run.status, run.message) == (Status.SUCCESS, "enough")


# --- terminal events -----------------------------------------------------------------------------------------------------


def steps(heights):
    """Steps of length one, at whose ends `q[0]` is as given; within them it is linear."""
    for k, (x0, x1) in enumerate(pairwise(heights)):
        yield Step(k, k + 1, lambda x1=x1: (np.array([x1]), np.zeros(1)), np.array([x1]),
                   lambda times, k=k, x0=x0, x1=x1: (x0 + (times - k) * (x1 - x0))[:, None], lambda t, x: (x, 0 * x, 0 * x, 0 * x), 1)


@pytest.mark.parametrize("terminal, told, end", [(False, [False] * 6, None), (True, [False, False, False, True], 3.25),
                                                 (2, [False, False, False, False, False, True], 5.5)])
def test_watch_sees_terminal_events_of_the_right_direction(terminal, told, end):
    def height(t, q, v):
        return q[0]

    height.terminal, height.direction = terminal, 1
    zero = np.zeros(1)
    watch, answers = Watch(None, [height], State(0.0, np.ones(1), zero, zero, zero)), []
    for step in steps([1.0, 0.5, -0.5, -0.1, 0.3, -0.5, 0.5]):
        answers.append(watch.after(step))
        if answers[-1]:
            break
    assert answers == told
    assert watch.found().end == (None if end is None else pytest.approx(end, abs=1e-14))
    np.testing.assert_allclose(watch.found().times[0], [3.25, 5.5][:1 if terminal is True else 2], atol=1e-14)


def test_terminal_events_end_the_run_itself():
    """Behind the event the equations break down; a method that went on would fail."""
    def law(length, rate, t):
        if t > 0.5:
            raise Oops("too far")
        return 0.0

    def event(t, q, v):
        return t - 0.3

    event.terminal = True
    s = mbdae.solve(with_law(law), mbdae.adapters.sundae.Ida(max_step=0.05), (0.0, 1.0), events=event)
    assert s.success
    assert s.t[-1] == pytest.approx(0.3, abs=1e-12)
    s = mbdae.solve(with_law(law), mbdae.HalfImplicit(h=1e-3), (0.0, 0.45), events=event)
    assert s.t[-1] == pytest.approx(0.3, abs=1e-12)
