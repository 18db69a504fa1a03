"""The state-space form as a problem: equations, Jacobians, states, and what it refuses; for solvers that know nothing of charts."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mbdae
from mbdae import JacobianStrategy, StateSpace, Status, library
from mbdae.adapters.scipy import SolveIvp
from mbdae.problems import FORMULATIONS, TangentStateSpace
from mbdae.results.diagnosis import ChartError

from .chart_cases import PARAMETRISATIONS, ROUGH, case, every_case, fourth_order
from .forms import open_levels
from .helpers import GROUND, relative, with_law
from .test_from_functions import top

both = pytest.mark.parametrize("parametrisation", PARAMETRISATIONS)
FEW = ("double pendulum", "chain", "rheonomic", "friction")
few_cases = pytest.mark.parametrize("name", FEW)


def packed(name, parametrisation):
    """A problem with its unknowns at the state of a case, and the state."""
    s, x = case(name)
    p = StateSpace(s, parametrisation)
    return p, *p.pack(x), x


def moved(p, y, share=0.02):
    """Other unknowns in the same chart."""
    rng = np.random.default_rng(7)
    return y + share * rng.uniform(-1.0, 1.0, p.n) * np.where(np.arange(p.n) < p.dof, min(1.0, np.abs(p._memory.q).max()), 1.0)


# --- the equations -------------------------------------------------------------------------------------------------------


@both
@every_case
def test_the_unknowns_are_independent_coordinates_and_their_rates(name, parametrisation):
    p, y, yd, x = packed(name, parametrisation)
    s = p.system
    assert (p.n, p.m, p.dof) == (2 * s.freedom, 2 * s.freedom, s.freedom)
    assert relative(y, np.concatenate([p.chart.P @ x.q, p.chart.P @ s.qdot(x.q, x.v, x.t)])) == 0.0
    np.testing.assert_array_equal(yd[:p.dof], y[p.dof:])
    assert np.abs(p.residual(x.t, y, yd)).max() <= 1e-12 * (1.0 + np.abs(yd).max())
    np.testing.assert_allclose(p.residual(x.t, y, yd + 1.0), 1.0, atol=1e-12 * (1.0 + np.abs(yd).max()))


@both
@every_case
def test_the_right_hand_side_is_the_acceleration_in_the_chart(name, parametrisation):
    p, _, yd, x = packed(name, parametrisation)
    s = p.system

    def rate(h):
        return p.chart.P @ s.qdot(s.retract(x.q, h * x.v), x.v + h * x.a, x.t + h)

    assert relative(yd[p.dof:], fourth_order(rate, 1e-3 / (1.0 + np.abs(x.v).max()))) < 1e-8


def test_the_start_is_that_of_the_system():
    s = library.system("andrews")
    for p in (StateSpace(s), TangentStateSpace(s)):
        for found, expected in zip(p.state(0.0, p.y0), (s.start.q, s.start.v, s.start.a, s.start.lam)):
            assert relative(found, expected) < 1e-10
        np.testing.assert_allclose(p.yd0, p.rhs(0.0, p.y0), rtol=1e-13)


@pytest.mark.thorough
def test_what_solvers_are_told():
    p = StateSpace(library.system("truck"))
    assert not p.implicit and (p.index == 1).all() and not p.algebraic.any()
    np.testing.assert_array_equal(p.tolerances(1e-6, 1e-8), np.full(p.n, 1e-8))
    assert {name: b.stop - b.start for name, b in p.blocks.items()} == {"z": 7, "zd": 7}
    assert repr(p).startswith("StateSpace of 'truck': 14 unknowns, 14 equations\n")


def test_both_parametrisations_have_their_names():
    s = library.system("andrews")
    assert (StateSpace(s).formulation, StateSpace(s).parametrisation) == ("partition", "partition")
    for p in (StateSpace(s, "tangent"), TangentStateSpace(s)):
        assert (p.formulation, p.parametrisation, p.title) == ("tangent", "tangent", TangentStateSpace.title)
    assert FORMULATIONS["partition"] is StateSpace and FORMULATIONS["tangent"] is TangentStateSpace


# --- Jacobians -----------------------------------------------------------------------------------------------------------


@both
@every_case
def test_jacobians_of_the_right_hand_side_agree_with_differences(name, parametrisation):
    p, y, _, x = packed(name, parametrisation)
    y = moved(p, y)
    G, n = p.rhs_jacobian(x.t, y), p.dof
    np.testing.assert_array_equal(G[:n], np.hstack([np.zeros((n, n)), np.eye(n)]))
    step = np.where(np.arange(p.n) < n, 1e-4 * min(1.0, np.abs(x.q).max()), 1e-3 * (1.0 + np.abs(y).max()))
    columns = [fourth_order(lambda h, e=e: p.rhs(x.t, y + h * e), 1.0) for e in np.diag(step)]
    assert relative(G, np.array(columns).T / step) < (1e-7 if name not in ROUGH else 1e-5)


@both
@few_cases
def test_jacobians_of_the_residual_fit_together(name, parametrisation):
    p, y, yd, x = packed(name, parametrisation)
    G = p.rhs_jacobian(x.t, y)
    assert p.pattern.toarray().all() and p.pattern.shape == (p.n, p.n)
    assert relative(p.jacobian(x.t, y, yd, 7.0).toarray(), 7.0 * np.eye(p.n) - G) < 1e-13
    assert relative(p.jacobian_values(x.t, y, yd, 7.0), (7.0 * np.eye(p.n) - G).ravel(order="F")) < 1e-13
    F_y, F_yd = p.jacobian_parts(x.t, y, yd)
    assert relative(F_y.toarray(), -G) < 1e-13
    np.testing.assert_array_equal(F_yd.toarray(), np.eye(p.n))


@both
@few_cases
def test_known_entries_are_right(name, parametrisation):
    p, y, yd, x = packed(name, parametrisation)
    f_y, f_yd = p.known.evaluate(x.t, y, yd)
    mask, exact = p.known.mask, p.jacobian_values(x.t, y, yd, 0.0)
    np.testing.assert_allclose(f_y[mask], exact[mask], atol=1e-14 * (1.0 + np.abs(exact).max()))
    assert not f_y[~mask].any()
    np.testing.assert_array_equal(f_yd, np.eye(p.n).ravel())


@both
@few_cases
@pytest.mark.parametrize("source", ["exact", "dense", "grouped", "estimated"])
def test_every_source_of_jacobians_gives_the_same(source, name, parametrisation):
    p, y, yd, x = packed(name, parametrisation)
    y, exact = moved(p, y), p.jacobian_values(x.t, moved(p, y), yd, 5.0)
    for scheme, tolerance in (("forward", 1e-4), ("central", 1e-7)):
        found = JacobianStrategy(source, scheme=scheme).bind(p).evaluate(x.t, y, yd, 5.0)
        assert relative(found, exact) < tolerance
    f_y, f_yd = JacobianStrategy(source).bind(p).parts(x.t, y, yd)
    assert relative(f_y + 5.0 * f_yd, exact) < 1e-4


@pytest.mark.parametrize("source", ["exact", "dense", "grouped:partitioned", "estimated"])
def test_implicit_solvers_take_every_source(source):
    s = library.system("double-spherical-pendulum")
    runs = [mbdae.solve(s, SolveIvp("Radau", jacobian=j), (0.0, 0.3), formulation="partition") for j in ("exact", source)]
    assert runs[1].success
    assert relative(runs[1].q[-1], runs[0].q[-1]) < 1e-5


# --- states --------------------------------------------------------------------------------------------------------------


@pytest.mark.rounding
@both
@every_case
def test_states_return_from_their_unknowns(name, parametrisation):
    p, y, _, x = packed(name, parametrisation)
    q, v, a, lam = p.state(x.t, y)
    assert relative(q, x.q) < 1e-12 and relative(v, x.v) < 1e-11 and relative(a, x.a) < 1e-9
    G = p.system.phi_q(x.t, q)
    assert relative(G.T @ lam, G.T @ x.lam) < 1e-8
    for found, expected in zip(p.motion(x.t, y), (q, v)):
        assert relative(found, expected) < 2e-13  # found 1.7e-14


@both
@every_case
def test_states_elsewhere_lie_on_the_constraints(name, parametrisation):
    p, y, _, x = packed(name, parametrisation)
    z = moved(p, y)
    q, v, a, lam = p.state(x.t, z)
    assert max(open_levels(p.system, mbdae.State(x.t, q, v, a, lam)).values()) < 1e-12
    assert relative(np.concatenate(p.chart.coordinates(x.t, q, v)), z) < 1e-12


@both
@few_cases
def test_motions_do_not_depend_on_what_was_asked_before(name, parametrisation):
    """To the last bit: solvers that locate zeros of events ask for the same state twice, and must see the same sign."""
    p, y, _, x = packed(name, parametrisation)
    z = moved(p, y)
    first = p.motion(x.t, z)
    p.rhs(x.t, moved(p, y, 0.05))
    p.motion(x.t, y)
    for found, expected in zip(p.motion(x.t, z), first):
        np.testing.assert_array_equal(found, expected)


@both
def test_coordinates_of_users_keep_their_norms_without_a_retraction_of_theirs(parametrisation):
    """By default a retraction is the implicit midpoint rule; moving along tangents would lengthen quaternions at every evaluation."""
    s = top(None)
    p = StateSpace(s, parametrisation)
    y = p.y0
    for k in range(50):
        q = p.state(0.01 * k, y + 0.2 * np.sin(k))[0]
        assert q @ q == pytest.approx(1.0, abs=1e-13)
    runs = [mbdae.solve(s, SolveIvp(), (0.0, 0.5), formulation=form, rtol=1e-9, atol=1e-10) for form in ("ode", parametrisation)]
    assert relative(runs[1].q[-1], runs[0].q[-1]) < 1e-8
    assert runs[1].statistics.steps < 3 * runs[0].statistics.steps


def test_what_is_stored_survives_the_exchange_of_the_chart():
    p, y, yd, x = packed("particles", "partition")
    stored, other = p.stored(x.t, y, yd), library.system("double-spherical-pendulum").start
    p.pack(other)
    for found, expected in zip(p.state(*stored), (x.q, x.v, x.a, x.lam)):
        assert relative(found, expected) < 1e-9


def test_unpacking_without_the_time_says_what_to_ask():
    p = StateSpace(library.system("andrews"))
    with pytest.raises(TypeError, match=r"StateSpace: the motion that belongs to y depends on the time, too; call state\(t, y\)"):
        p.unpack(p.y0, p.yd0)


@pytest.mark.thorough
@pytest.mark.parametrize("method", [mbdae.SdirkFirstOrder(), mbdae.RosenbrockNystrom(), SolveIvp("Radau")], ids=lambda m: m.label)
def test_the_motion_does_not_depend_on_the_pivots(method):
    """In-house and external solvers take the chart of the problem and keep its rule when they switch it."""
    s = library.system("stiff-double-pendulum")
    problems = {pivots: StateSpace(s, pivots=pivots) for pivots in ("angles", "unscaled")}
    runs = {k: mbdae.solve(p, method, (0.0, 0.5), rtol=1e-7, atol=1e-7, t_eval=[0.5]) for k, p in problems.items()}
    assert all(r.success for r in runs.values())
    np.testing.assert_allclose(runs["unscaled"].q, runs["angles"].q, atol=1e-5)
    chart = problems["unscaled"].chart
    assert (problems["unscaled"].pivots, chart.pivots) == ("unscaled", "unscaled")
    assert [2, 5] == list(np.argmax(problems["angles"].chart.P, axis=1)) != list(np.argmax(chart.P, axis=1))


def test_packing_chooses_the_chart_anew():
    s = library.system("double-spherical-pendulum")
    p, x = StateSpace(s), case("particles")[1]
    p.pack(s.start)
    y, _ = p.pack(x)
    np.testing.assert_array_equal(y[:p.dof], p.chart.P @ x.q)
    assert p.chart.first < 1.01 * StateSpace(s).chart.first * 10.0 and not p.leave(x.t, x.q)


# --- what is refused -----------------------------------------------------------------------------------------------------


def test_bad_calls_are_refused():
    s = library.system("andrews")
    with pytest.raises(ValueError, match="parametrisation must be one of partition, tangent, got 'polar'"):
        StateSpace(s, "polar")
    with pytest.raises(ValueError, match="pivots must be one of angles, unscaled, got 'largest'"):
        StateSpace(s, pivots="largest")
    with pytest.raises(ValueError, match="pivots='unscaled' selects coordinates and has no meaning for 'tangent'"):
        StateSpace(s, "tangent", "unscaled")
    with pytest.raises(ValueError, match="StateSpace: a System is needed, got Mechanism"):
        StateSpace(library.mechanism("andrews"))
    for name in ("slider-crank", "four-link"):
        for make in (StateSpace, TangentStateSpace):
            with pytest.raises(ValueError, match=f"{name} has no degree of freedom: its motion is prescribed"):
                make(library.system(name))


def quarter():
    """A pendulum below, in the coordinate x."""
    s = mbdae.System(mbdae.Mechanism("bead", [mbdae.Particle("b", 1.0, (0.0, -1.0, 0.0))],
                                     [mbdae.Rod("rod", GROUND, "b"), mbdae.CD("plane", GROUND, "b", (0, 0, 1))], gravity=(0, -9.81, 0)))
    return StateSpace(s)


def test_beyond_the_chart_there_are_no_numbers_and_a_reason():
    p = quarter()
    y = p.y0
    assert np.isfinite(p.rhs(0.0, y)).all() and p.fault(0.0) is None
    beyond = np.array([1.2, 0.0])
    assert np.isnan(p.rhs(0.0, beyond)).all()
    status, reason = p.fault(0.0)
    assert status == Status.SINGULAR
    assert "no positions satisfy the constraints for these independent coordinates; the largest residuals are those of rod (" in reason
    assert abs(float(reason.split("rod (")[1].split(")")[0])) > 1e-3
    assert np.isnan(p.rhs_jacobian(0.0, beyond)[1]).all()
    with pytest.raises(ChartError, match="no positions satisfy"):
        p.state(0.0, beyond)
    assert np.isfinite(p.rhs(0.0, y)).all() and p.fault(0.0) is None


def test_evaluations_after_a_failure_are_those_before():
    p = quarter()
    y = p.y0 + np.array([0.1, 0.3])
    before = p.rhs(0.0, y)
    p.rhs(0.0, np.array([5.0, 1.0]))
    np.testing.assert_allclose(p.rhs(0.0, y), before, rtol=1e-13)


def test_the_reason_belongs_to_the_time_of_the_failure():
    """The rod is drawn out in time: its residual at the time of the failure is told, not that at the start."""
    s = mbdae.System(mbdae.Mechanism("bead", [mbdae.Particle("b", 1.0, (0.0, -1.0, 0.0))], [mbdae.CD("plane", GROUND, "b", (0, 0, 1))],
                                     [mbdae.DistanceDriver("rod", GROUND, "b", mbdae.Polynomial((1.0, -0.5)))]))
    p = StateSpace(s)
    assert np.isnan(p.rhs(1.0, np.array([0.9, 0.0]))).all()
    q = p._memory.q
    open_rod = s.phi(1.0, q)[s.rows("rod")[0]]
    assert f"rod ({open_rod:.3g})" in p.fault(1.0)[1]


def test_values_that_are_not_finite_are_no_fault_of_the_chart():
    p = StateSpace(with_law(lambda length, rate, t: np.nan if t > 0.5 else 0.0))
    assert np.isnan(p.rhs(1.0, p.y0)).any() and p.fault(1.0) is None
    assert np.isfinite(p.rhs(0.0, p.y0)).all()


def test_a_problem_needs_no_consistent_start_of_its_own():
    """Its mechanism may be drawn in a singular position, as long as the run starts elsewhere."""
    s = library.system("n-four-bar", windows=1)
    flat = mbdae.System.from_functions(nq=3, nc=2, mass=lambda t, q: np.eye(3), force=lambda t, q, v: np.array([0.0, -9.81, 0.0]),
                                       phi=lambda t, q: np.array([(q @ q - 1.0) / 2.0, q[2]]), q0=[0.0, 0.0, 0.0])
    with pytest.raises(ValueError):
        flat.start  # noqa: B018
    p = StateSpace(flat)
    x = mbdae.assemble(flat, 0.0, np.array([0.6, -0.8, 0.0]))
    y, yd = p.pack(x)
    assert np.isfinite(yd).all() and relative(p.state(0.0, y)[0], x.q) < 1e-13
    assert StateSpace(s).dof == 1


# --- as it is, for foreign solvers ---------------------------------------------------------------------------------------


@both
def test_a_drop_in_for_scipy(parametrisation):
    """A pendulum that swings little stays in one chart: `solve_ivp` needs the right-hand side and nothing else."""
    s = mbdae.System(mbdae.Mechanism("bead", [mbdae.Particle("b", 1.0, (0.1, -np.sqrt(0.99), 0.0))],
                                     [mbdae.Rod("rod", GROUND, "b"), mbdae.CD("plane", GROUND, "b", (0, 0, 1))], gravity=(0, -9.81, 0)))
    p = StateSpace(s, parametrisation)
    y0 = p.y0
    found = solve_ivp(p.rhs, (0.0, 2.0), y0, method="Radau", jac=p.rhs_jacobian, rtol=1e-9, atol=1e-11)
    angle = solve_ivp(lambda t, x: [x[1], -9.81 * np.sin(x[0])], (0.0, 2.0), [np.arcsin(0.1), 0.0], rtol=1e-11, atol=1e-12)
    assert found.success
    q = p.state(2.0, found.y[:, -1])[0]
    np.testing.assert_allclose(q, [np.sin(angle.y[0, -1]), -np.cos(angle.y[0, -1]), 0.0], atol=1e-7)
