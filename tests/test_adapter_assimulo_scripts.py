"""Assimulo in scripts of users: its own problem and solver classes, and the traps that these functions guard against."""

import numpy as np
import pytest

import mbdae
from mbdae import library
from mbdae.adapters.assimulo import SOLVERS, Assimulo, configure, explicit_problem, implicit_problem, overdetermined_problem
from mbdae.adapters.scipy import SolveIvp
from mbdae.driver.callbacks import SolverCallbacks
from mbdae.driver.support import EXPLICIT

from .assimulo_cases import (
    BEST,
    CELLS,
    MISSING,
    WITH_EVENTS,
    WORKING,
    Mine,
    kinds,
    native,
    solver_for,
    throwing_system,
)
from .helpers import BREAKS_AT, angle, event

solvers = pytest.importorskip("assimulo.solvers", reason=MISSING)

# CVode asks SciPy for a name that is going to vanish; the method object sees to it by itself, as one of the tests shows
pytestmark = pytest.mark.filterwarnings("ignore:Please (use|import) `csc_matrix`:DeprecationWarning")


@pytest.fixture(scope="module")
def throwing():
    return throwing_system()


# --- in scripts --------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "form"), CELLS)
def test_drop_in(system, reference, name, form):
    """As in a script of a user of Assimulo."""
    from assimulo import problem

    p = native(system, form)
    kind = "Overdetermined_Problem" if form == "overdetermined" else "Explicit_Problem" if form in EXPLICIT else "Implicit_Problem"
    assert isinstance(p, getattr(problem, kind))
    assert p.name == "double pendulum"
    t, y = solver_for(name, p, rtol=1e-7, atol=1e-9).simulate(0.3)[:2]
    assert (np.diff(t) > 0).all()
    q, v = p.source.motion(t[-1], y[-1])
    assert t[-1] == pytest.approx(0.3, abs=1e-14)
    np.testing.assert_allclose(q, reference(0.3)[0], atol=2e-5)
    np.testing.assert_allclose(v, reference(0.3)[1], atol=2e-3)


@pytest.mark.parametrize(("name", "form"), [cell for cell in BEST if cell[0] != "GLIMDA"])
def test_drop_in_with_output_times(system, reference, name, form):
    p = native(system, form)
    for arguments, times in (((0.2, 20), np.linspace(0.0, 0.2, 21)), ((0.2, 0, [0.05, 0.1, 0.2]), np.array([0.0, 0.05, 0.1, 0.2]))):
        t, y = solver_for(name, p, rtol=1e-7, atol=1e-9).simulate(*arguments)[:2]
        np.testing.assert_allclose(t, times, atol=1e-14)
        q = np.array([p.source.motion(*row)[0] for row in zip(t, y)])
        np.testing.assert_allclose(q, reference(np.asarray(t))[0], atol=2e-5)


@pytest.mark.parametrize("t0", [0.0, 3.0])
def test_drop_in_begins_where_it_is_told(system, t0):
    state = mbdae.assemble(system, t0, v=np.arange(6.0))
    p = implicit_problem(mbdae.GGL(system), t0, state)
    y0, yd0 = mbdae.GGL(system).pack(state)
    assert p.t0 == t0
    np.testing.assert_array_equal(p.y0, y0)
    np.testing.assert_array_equal(p.yd0, yd0)
    np.testing.assert_array_equal(p.algvar, [1] * 12 + [0] * 8)
    assert solver_for("IDA", p).simulate(t0 + 0.01)[0][0] == t0
    with pytest.raises(ValueError, match="the state belongs to t = "):
        implicit_problem(mbdae.GGL(system), t0 + 1.0, state)


def test_drop_in_refuses_problems_of_the_wrong_kind(system):
    from assimulo.problem import Explicit_Problem

    for make, problem in ((implicit_problem, mbdae.UnderlyingODE(system)), (implicit_problem, mbdae.Overdetermined(system)),
                          (explicit_problem, mbdae.GGL(system)), (overdetermined_problem, mbdae.GGL(system))):
        with pytest.raises(ValueError, match=f"{make.__name__} needs"):
            make(problem)
    with pytest.raises(ValueError, match=r"GLIMDA cannot take the form 'gear': .*constant.*; it takes ggl, index2, index3"):
        solver_for("GLIMDA", native(system, "gear"))
    with pytest.raises(ValueError, match="solver must be one of"):
        configure(solvers.ExplicitEuler(native(system, "ode")))
    with pytest.raises(ValueError, match="problem must be given"):
        configure(solvers.Dopri5(Explicit_Problem(lambda t, y: -y, 1.0)))
    with pytest.raises(ValueError, match="atol must be positive"):
        solver_for("Dopri5", native(system, "ode"), atol=0.0)


def test_the_jacobian_is_the_derivative_of_the_residual(system, rng):
    p = native(system, "ggl")
    y, yd = p.y0 + 0.01 * rng.normal(size=20), p.yd0
    d, h = rng.normal(size=20), 1e-6
    slope = (p.res(0.0, y + h * d, yd + 7.0 * h * d) - p.res(0.0, y - h * d, yd - 7.0 * h * d)) / (2 * h)
    np.testing.assert_allclose(p.jac(7.0, 0.0, y, yd) @ d, slope, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("name", "form"), WITH_EVENTS)
def test_drop_in_with_events(swing, name, form):
    """Trap: LSODAR tells which event it has found, but not in which direction."""
    kept = []
    events = [event(lambda t, q, v: kept.append(q) or angle(t, q, v)), event(angle, direction=1), event(angle, direction=-1),
              event(lambda t, q, v: t - 2.75, terminal=True)]
    p = native(swing, form, events=events)
    t, y = solver_for(name, p, rtol=1e-7, atol=1e-9).simulate(4.0, 10)[:2]
    for found, expected in zip(p.t_events, ([0.5, 1.5, 2.5], [1.5], [0.5, 2.5], [2.75])):
        np.testing.assert_allclose(found, expected, atol=1e-3)
    assert t[-1] == pytest.approx(2.75, abs=1e-9)
    assert len(y) == len(t)
    assert len(np.unique([q[0] for q in kept])) > 10  # trap: the array that Assimulo passes is one and the same


@pytest.mark.parametrize("name", ["ODASSL", "GLIMDA"])
def test_solvers_without_events_refuse_them(swing, name):
    """Trap: they ignore events without a word."""
    with pytest.raises(ValueError, match=f"{name} has no state events"):
        solver_for(name, native(swing, "ggl", events=[angle]))


def test_radau5dae_refuses_events_at_negative_times(swing):
    """Trap: its tolerance for the time of an event is negative before zero, and never met."""
    with pytest.raises(ValueError, match="Radau5DAE does not terminate if events occur at negative times"):
        solver_for("Radau5DAE", native(swing, "ggl", t0=-1.0, events=[angle]))
    p = native(swing, "ggl", t0=-1.0, events=[angle])
    solver_for("IDA", p).simulate(0.0)
    np.testing.assert_allclose(p.t_events[0], [-0.5], atol=1e-3)


def test_drop_in_runs_backward_on_a_clock_of_its_own(system, reference):
    """Trap: with `backward` of Assimulo several solvers give wrong results."""
    q, v, _, _ = reference(0.3)
    problem = mbdae.GGL(system)
    callbacks = SolverCallbacks(problem, keeps=True, t0=0.3, direction=-1)
    p = implicit_problem(problem, 0.3, mbdae.assemble(system, 0.3, q, v), callbacks=callbacks)
    t, y, _ = solver_for("Radau5DAE", p).simulate(0.3)
    assert (t[0], t[-1]) == (0.0, 0.3)
    np.testing.assert_allclose(y[-1][:6], reference(0.0)[0], atol=1e-4)


# --- traps in scripts --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("configured", [True, False])
@pytest.mark.parametrize(("name", "form"), BEST)
def test_exceptions_arrive_in_scripts(throwing, name, form, configured):
    """Trap: as in `test_exceptions_of_users_arrive_unchanged`; and Radau5 leaves tolerances scaled if one is raised through."""
    for kind in kinds():
        if kind.__name__ == "TerminateSimulation":
            continue  # is how users of Assimulo end a simulation
        throwing.law.error = kind("in the law")
        solver = getattr(solvers, name)(native(throwing, form))
        solver.verbosity = 49
        if configured:
            configure(solver)
        before = np.array(solver.atol)
        with pytest.raises(kind) as raised:
            solver.simulate(0.2)
        assert raised.value is throwing.law.error
        np.testing.assert_allclose(solver.atol, before, rtol=1e-12)


def test_scripts_with_not_finite_values_end(fragile):
    """Trap: CVode hangs; RungeKutta34, even if it has not been configured, gives wrong numbers."""
    for solver in (solver_for("CVode", native(fragile, "ode")), solvers.RungeKutta34(native(fragile, "ode"))):
        solver.verbosity = 49
        with pytest.raises(Exception, match="not finite"):
            solver.simulate(0.2)


def test_a_script_can_go_on_after_an_exception(throwing):
    throwing.law.error = Mine()
    solver = solver_for("Radau5ODE", native(throwing, "ode"))
    with pytest.raises(Mine):
        solver.simulate(0.1)
    end = solver.t
    assert 0.02 < end < BREAKS_AT  # not where the solver went with harmless values
    solver.re_init(0.0, solver.y0)
    assert solver.simulate(0.04)[0][-1] == 0.04


def test_odassl_keeps_the_start_and_its_tolerances(system):
    """Traps: ODASSL overwrites the first row of the results by the last, and the tolerances of algebraic unknowns by 1e7."""
    p = native(system, "ggl")
    y0 = p.y0.copy()
    solver = solver_for("ODASSL", p)
    before = solver.atol.copy()
    t, y, _ = solver.simulate(0.1, 5)
    np.testing.assert_allclose(t, np.linspace(0.0, 0.1, 6), atol=1e-14)
    np.testing.assert_allclose(y[0], y0, atol=1e-15)
    assert np.abs(y[-1] - y[0]).max() > 1e-3
    np.testing.assert_array_equal(solver.atol, before)
    np.testing.assert_array_equal(p.y0, y0)
    plain = solvers.ODASSL(native(system, "ggl"))  # not configured
    plain.verbosity = 49
    np.testing.assert_array_equal(plain.simulate(0.001)[1][0], y0)


@pytest.mark.parametrize("form", ["ggl", "gear"])
def test_odassl_with_unknowns_that_are_zero(form):
    """Trap: its difference quotients are noise where unknown and tolerance are small: Newton's method fails in the first steps."""
    s = mbdae.solve(library.mechanism("double-pendulum"), Assimulo("ODASSL"), (0.0, 0.05), formulation=form, rtol=1e-8, atol=1e-10)
    assert s.success


def test_the_shift_of_odassl_is_not_seen(system):
    p = native(system, "index2")
    configure(solvers.ODASSL(p), rtol=1e-3, atol=1e-9)  # another solver of the same problem is shifted otherwise
    solver, y0 = solver_for("ODASSL", p), p.y0.copy()
    assert (np.abs(solver.y - y0) > 1e-3).all()
    configure(solver)  # a second time: the shift is not doubled
    np.testing.assert_allclose(np.abs(solver.y - y0), np.minimum(solver.atol / solver.rtol, 1.0))
    np.testing.assert_allclose(p.res(0.0, y0, solver.yd), 0.0, atol=1e-12)
    solver.simulate(0.1)
    np.testing.assert_allclose(p.offset, solver.y0 - y0)
    middle = solver.y.copy() - p.offset
    _, y, _ = solver.simulate(0.2)
    np.testing.assert_allclose(y[0], middle, atol=1e-15)


def test_the_order_of_odassl_can_be_limited(system):
    """Trap: its property `maxord` refuses 1 to 5."""
    assert solver_for("ODASSL", native(system, "ggl"), max_order=2).options["maxord"] == 2


def test_glimda_with_a_mass_matrix_that_is_not_constant():
    """Trap: Assimulo tells GLIMDA that the matrix before `yd` is constant; its steps then shrink to nothing."""
    spiral = mbdae.System.from_functions(
        name="spiral", nq=2, nc=1, labels=["wire"], phi=lambda t, q: np.array([q[0] - 1 - 0.5 * np.sin(2 * q[1])]),
        mass=lambda t, q: np.diag([1.0 + 0 * q[0], q[0] ** 2]),
        force=lambda t, q, v: np.array([q[0] * v[1] ** 2 - 9.81 * np.sin(q[1]), -2 * q[0] * v[0] * v[1] - 9.81 * q[0] * np.cos(q[1])]),
        q0=[1.0, 0.0], v0=[0.0, 0.0])
    found, exact = (mbdae.solve(spiral, m, (0.0, 0.6), t_eval=[0.6], **tight)
                    for m, tight in ((Assimulo("GLIMDA"), {}), (SolveIvp(), {"rtol": 1e-10, "atol": 1e-12})))
    assert found.success
    np.testing.assert_allclose(found.q, exact.q, atol=1e-5)
    for form in ("index2", "index3"):
        with pytest.raises(ValueError, match=f"GLIMDA cannot take the form '{form}' of 'spiral': .* depends on the positions; use 'ggl'"):
            mbdae.solve(spiral, Assimulo("GLIMDA"), (0.0, 0.6), formulation=form)


@pytest.mark.parametrize("verbosity", [30, 49])
def test_solvers_are_silent_unless_asked(system, capfd, verbosity):
    """Trap: at verbosity 50, the silent one, GLIMDA reports its errors; Radau5DAE complains about a Jacobian at 30."""
    for name in WORKING:
        solver_for(name, native(system, SOLVERS[name].formulations[0]), verbosity=verbosity).simulate(0.01)
        out = capfd.readouterr().out
        assert (out == "") == (verbosity == 49)
        assert "Jacobians are not currently supported" not in out


def test_glimda_fails_silently(fragile, capfd):
    solver = solver_for("GLIMDA", native(fragile, "ggl"))
    with pytest.raises(Exception):  # noqa: B017
        solver.simulate(0.2)
    assert capfd.readouterr().out == ""


def test_success_with_nan_is_a_failure(system):
    """Trap: IDA has returned NaN as a success."""
    p = native(system, "index3")
    solver = solver_for("IDA", p)
    p.initialize(solver)
    p.handle_result(solver, 0.1, np.full(16, np.nan), np.zeros(16))
    assert p.step_events(solver)
    with pytest.raises(Exception, match=r"the solver returned values that are not finite at t = 0\.1"):
        p.handle_event(solver, [[], False])


def test_multipliers_are_taken_out_for_odassl(system):
    """Trap: with multipliers among the unknowns of an overdetermined problem the matrix of ODASSL is singular."""
    p = overdetermined_problem(mbdae.Overdetermined(system))
    assert p.neq == 12 + 8
    assert p.y0.shape == (12,)
    assert p.res(0.0, p.y0, p.yd0).shape == (20,)
    np.testing.assert_allclose(p.res(0.0, p.y0, p.yd0), 0.0, atol=1e-12)
    s = mbdae.solve(system, Assimulo("ODASSL"), (0.0, 0.3), formulation="overdetermined")
    assert s.constraint_residuals[:, :2].max() < 1e-5
