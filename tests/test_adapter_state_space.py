"""Foreign solvers on state-space form: charts are exchanged without anybody noticing, and one chart serves scripts of users."""

import numpy as np
import pytest

import mbdae
from mbdae import Status, library
from mbdae.adapters.assimulo import Assimulo, configure, explicit_problem
from mbdae.adapters.odes import Odes, dop_arguments
from mbdae.adapters.odes import cvode_arguments as odes_cvode_arguments
from mbdae.adapters.scipy import SolveIvp, solve_ivp_arguments
from mbdae.adapters.sundae import Cvode, Ida, cvode_arguments
from mbdae.driver.restarts import _Watch
from mbdae.driver.support import Settings
from mbdae.problems import FORMULATIONS
from mbdae.registry import find
from mbdae.studies.matrix import solvers

from .helpers import need, thorough_but

STATE_SPACE = ("partition", "tangent")
FOREIGN = {s.name: s for s in solvers(installed=False) if s.family.availability() is not None}
T_END, TIMES = 1.5, np.array([0.3, 0.6, 1.0, 1.5])

# CVode asks SciPy for a name that is going to vanish; the method object sees to it by itself
pytestmark = pytest.mark.filterwarnings("ignore:Please (use|import) `csc_matrix`:DeprecationWarning")


def takes(spec, form):
    return isinstance(made(spec).support[form], Settings)


def made(spec):
    return spec.family.method_class(**({spec.family.sets: spec.variant} if spec.variant else {}))


EXPLICIT = [name for name, spec in FOREIGN.items() if takes(spec, "partition")]
IMPLICIT = [name for name in FOREIGN if name not in EXPLICIT]
QUICK = ("Cvode:BDF", "SolveIvp:RK45", "SolveIvp:Radau", "Odes:cvode", "Assimulo:Dopri5")
CELLS = [pytest.param(name, form, marks=() if name in QUICK else pytest.mark.thorough) for name in EXPLICIT for form in STATE_SPACE]


@pytest.fixture(scope="module")
def system():
    """In a second and a half of this motion every chart wears out several times."""
    return library.system("double-spherical-pendulum")


@pytest.fixture(scope="module")
def exact(system):
    """Dense output of the underlying ODE at small tolerances."""
    return mbdae.solve(system, SolveIvp(max_step=1e-3), (0.0, T_END), rtol=1e-11, atol=1e-12, dense_output=True).sol


def method(name):
    return need(made(FOREIGN[name]))


def height(t, q, v):
    """The lower particle passes this height upward and downward."""
    return q[5] + 1.5


# --- in mbdae.solve ----------------------------------------------------------------------------------------------------------


def test_all_explicit_solvers_are_here():
    assert {name.partition(":")[0] for name in EXPLICIT} == {"Cvode", "SolveIvp", "Odes", "Assimulo"} and len(EXPLICIT) == 17


@pytest.mark.parametrize(("name", "form"), CELLS)
def test_charts_are_exchanged_unnoticed(system, exact, name, form):
    s = mbdae.solve(system, method(name), (0.0, T_END), formulation=form, rtol=1e-7, atol=1e-9, t_eval=TIMES)
    assert s.success, s.message
    assert (s.formulation, s.message) == (form, "the end of the time span was reached")
    np.testing.assert_array_equal(s.t, TIMES)
    assert s.statistics.restarts >= 3
    for found, expected, tolerance in zip((s.q, s.v, s.a, s.lam), exact(TIMES), (1e-4, 1e-3, 1e-2, 1e-2)):
        np.testing.assert_allclose(found, expected, atol=tolerance)  # found: 3e-5 in q
    assert np.abs(s.constraint_residuals).max() < 1e-11  # on all three levels, whatever the tolerance


@pytest.mark.parametrize(("name", "form"), CELLS)
def test_backward_and_every_step(system, exact, name, form):
    q, v, _, _ = exact(T_END)
    s = mbdae.solve(system, method(name), (T_END, 0.0), formulation=form, rtol=1e-7, atol=1e-9, q0=q, v0=v)
    assert s.success, s.message
    assert s.statistics.restarts >= 2
    assert (np.diff(s.t) < 0.0).all() and s.t[0] == T_END and s.t[-1] == 0.0
    assert len(s.t) == s.statistics.steps + 1
    np.testing.assert_allclose(s.q, exact(s.t)[0], atol=1e-4)


@pytest.mark.parametrize(("name", "form"), CELLS)
def test_events_are_found_in_any_chart(system, exact, name, form):
    found = lambda t, q, v: height(t, q, v)  # noqa: E731 - functions carry their own attributes
    last = lambda t, q, v: t - 1.4  # noqa: E731
    last.terminal = True
    expected = mbdae.solve(system, SolveIvp(max_step=5e-3), (0.0, 1.4), rtol=1e-10, atol=1e-12, events=height).t_events[0]
    s = mbdae.solve(system, method(name), (0.0, 3.0), formulation=form, rtol=1e-8, atol=1e-10, events=[found, last])
    assert s.success and s.statistics.restarts >= 3
    assert len(expected) >= 2 and s.t[-1] == pytest.approx(1.4, abs=1e-12)
    np.testing.assert_allclose(s.t_events[0], expected, atol=1e-3)  # on the Hermite interpolant of its steps
    np.testing.assert_allclose(s.q[-1], exact(1.4)[0], atol=1e-3)


@pytest.mark.parametrize("name", IMPLICIT)
@pytest.mark.parametrize("form", STATE_SPACE)
def test_implicit_solvers_refuse_with_the_reason(system, name, form):
    method = made(FOREIGN[name])
    with pytest.raises(ValueError, match=rf"cannot take the form '{form}'") as refused:
        mbdae.solve(system, method, (0.0, 0.1), formulation=form)
    assert method.support[form] in str(refused.value)


@pytest.mark.parametrize("form", STATE_SPACE)
@pytest.mark.parametrize("jacobian", thorough_but(["difference"], ["difference", "grouped:partitioned", "dense"]))
@pytest.mark.parametrize("make", [Cvode, lambda jacobian: SolveIvp("Radau", jacobian)], ids=["Cvode", "Radau"])
def test_differences_instead_of_the_exact_jacobian(system, exact, make, jacobian, form):
    s = mbdae.solve(system, make(jacobian=jacobian), (0.0, T_END), formulation=form, rtol=1e-7, atol=1e-9)
    assert s.success and s.statistics.restarts >= 3
    assert s.statistics.residuals_jacobian >= 4 * s.statistics.jacobians > 0  # two degrees of freedom for positions are known
    np.testing.assert_allclose(s.q[-1], exact(T_END)[0], atol=1e-4)


@pytest.mark.parametrize("linsolver", ["gmres", "bicgstab", "tfqmr"])
def test_krylov_solvers_of_cvode(system, exact, linsolver):
    s = mbdae.solve(system, Cvode(linsolver=linsolver), (0.0, T_END), formulation="tangent", rtol=1e-7, atol=1e-9)
    assert s.success
    np.testing.assert_allclose(s.q[-1], exact(T_END)[0], atol=1e-4)


# --- where charts end --------------------------------------------------------------------------------------------------------


def test_steps_may_end_far_from_where_the_equations_were_evaluated_last(system):
    """Trap: DOP853 makes steps so long that positions at their end are not found from those of its last stage."""
    s = mbdae.solve(system, SolveIvp("DOP853"), (0.0, 5.0), formulation="partition", t_eval=np.linspace(0.0, 5.0, 11))
    assert s.success, s.message
    assert s.statistics.steps < 100 and s.statistics.restarts > 10


@pytest.mark.parametrize("rtol", thorough_but([1e-4], [1e-4, 1e-5, 1e-6]))
@pytest.mark.parametrize("form", STATE_SPACE)
@pytest.mark.parametrize(("mechanism", "t_end"), [("slider-crank-free", 0.7), ("spatial-four-bar", 2.0)])
def test_long_steps_stay_in_their_chart(mechanism, t_end, form, rtol):
    """Traps: a step across the place where a coordinate turns back comes to other positions that belong to it; outputs between steps are
    far from the end of the step, which must be found again.
    """
    loop, times = library.system(mechanism), np.linspace(0.0, t_end, 29)
    s, exact = (mbdae.solve(loop, SolveIvp("DOP853"), (0.0, t_end), formulation=name, rtol=r, atol=r / 100, t_eval=times)
                for name, r in ((form, rtol), ("ode", 1e-11)))
    assert s.success, s.message
    assert np.abs(s.q - exact.q).max() < 300 * rtol  # found: 110; on the wrong side it would be of order one
    assert s.statistics.steps < 100


@pytest.mark.parametrize("make", [SolveIvp, Cvode, lambda: Odes("dopri5"), lambda: Assimulo("RungeKutta34")],
                         ids=["SciPy", "CVODE", "DOPRI5", "RungeKutta34"])
@pytest.mark.parametrize("rest", [0.0, 1e-16, 1e-14, 1e-12])
def test_nobody_starts_anew_for_a_rest_of_the_time_span(system, monkeypatch, make, rest):
    """Trap: some solvers refuse a time span that is hardly longer than rounding."""
    left, leave = [], _Watch.__call__

    def watched(self, t, q, v):
        told = leave(self, t, q, v)
        if self.left is not None:
            left.append(t)
        return told

    monkeypatch.setattr(_Watch, "__call__", watched)
    method = need(make())
    assert mbdae.solve(system, method, (0.0, T_END), formulation="partition").success
    t_end = np.nextafter(left[0] * (1.0 + rest), 2.0)
    s = mbdae.solve(system, method, (0.0, t_end), formulation="partition")
    assert s.success, s.message
    assert s.t[-1] == t_end


@pytest.mark.parametrize("make", [SolveIvp, Cvode, lambda **options: Odes("dop853", **options),
                                  lambda **options: Assimulo("Dopri5", **options)], ids=["SciPy", "CVODE", "DOP853", "Dopri5"])
def test_the_limit_of_steps_holds_for_all_charts_together(system, make):
    s = mbdae.solve(system, need(make(max_steps=200)), (0.0, 20.0), formulation="tangent", rtol=1e-7, atol=1e-9)
    assert s.status == Status.TOO_MANY_STEPS
    assert s.message.startswith("200 steps were not enough")
    assert s.statistics.steps == len(s.t) - 1 == 200
    assert s.statistics.restarts >= 1


def parallelogram(angle):
    """Two cranks and a coupler of length one; where all lie in line the motion may branch."""
    c, s, particle, rod = np.cos(angle), np.sin(angle), mbdae.Particle, mbdae.Rod
    bodies = [particle("a", 1.0, (c, s, 0.0)), particle("b", 1.0, (c + 1.0, s, 0.0))]
    joints = [rod("left", "ground", "a", length=1.0), rod("coupler", "a", "b", length=1.0),
              rod("right", "ground", "b", s_i=(1.0, 0.0, 0.0), length=1.0),
              *(mbdae.CD(f"plane {b.name}", "ground", b.name, c=(0.0, 0.0, 1.0)) for b in bodies)]
    return mbdae.System(mbdae.Mechanism("parallelogram", bodies, joints, gravity=(0.0, -9.81, 0.0)))


@pytest.mark.parametrize("form", STATE_SPACE)
@pytest.mark.parametrize("make", [SolveIvp, Cvode, lambda: Assimulo("Dopri5")], ids=["SciPy", "CVODE", "Dopri5"])
def test_a_singular_start_is_a_failure_with_a_reason(form, make):
    system, at_rest = parallelogram(0.0), np.zeros(6)
    s = mbdae.solve(system, need(make()), (0.0, 0.2), formulation=form)
    assert s.status == Status.SINGULAR and list(s.t) == [0.0]
    assert "the constraints lose rank" in s.message
    elsewhere = np.array([np.cos(1.0), np.sin(1.0), 0.0, np.cos(1.0) + 1.0, np.sin(1.0), 0.0])
    assert mbdae.solve(system, need(make()), (0.0, 0.2), formulation=form, q0=elsewhere, v0=at_rest).success


@pytest.mark.parametrize("form", STATE_SPACE)
def test_a_jacobian_beyond_the_chart_does_not_end_the_run(form):
    """Trap: CVODE asks for the Jacobian where it has got no values; with the last one it fails, and cuts its step."""
    system = parallelogram(1.0)
    s, exact = (mbdae.solve(system, method, (0.0, 0.6), formulation=name, rtol=1e-8, atol=1e-10, t_eval=[0.0, 0.5, 0.6])
                for method, name in ((Cvode(), form), (SolveIvp(), "ode")))
    assert s.success, s.message
    np.testing.assert_allclose(s.q[1], exact.q[1], atol=1e-5)
    np.testing.assert_allclose(s.q[2], exact.q[2], atol=1e-4)  # the singular position at 0.561 s costs digits


# --- scripts of users: one chart, as far as it reaches --------------------------------------------------------------------------


def stretched():
    """A particle on a rod of length `sqrt(1 + t/2)`: the constraint depends on time."""
    line = mbdae.D("line", mbdae.GROUND, "mass", (0, 0, 0), (0, 0, 0), mbdae.Polynomial((1.0, 0.5)))
    mass = mbdae.Particle("mass", 1.0, (0.6, 0.0, -0.8), (None, 1.0, None))
    return mbdae.Mechanism("stretched", [mass], [line], gravity=(0.0, 0.0, -9.81))


def longer(t, q, v):
    """The square of the length passes 1.1, at t = 0.2."""
    return q @ q - 1.1


def in_scipy(problem, y0, times, method="DOP853"):
    from scipy.integrate import solve_ivp

    arguments = solve_ivp_arguments(problem, 1e-8, 1e-10, method, events=[longer])
    found = solve_ivp(t_span=(0.0, times[-1]), y0=y0, t_eval=times, method=method, **arguments)
    return found.y.T, found.t_events[0]


def in_sundae(problem, y0, times, method="BDF"):
    from sksundae.cvode import CVODE

    found = CVODE(**cvode_arguments(problem, 1e-8, 1e-10, events=[longer]), method=method).solve(times, y0)
    return np.array([found.y[np.argmin(np.abs(found.t - t))] for t in times]), np.ravel(found.t_events)


def in_odes(problem, y0, times, solver="cvode"):
    from scikits_odes import ode

    seen = []
    events = {"events": [lambda t, q, v: seen.append(abs(q @ q - 1.0 - 0.5 * t)) or longer(t, q, v)]} if solver == "cvode" else {}
    arguments = (odes_cvode_arguments if solver == "cvode" else dop_arguments)(problem, 1e-8, 1e-10, **events)
    y = ode(solver, **arguments).solve(times, y0).values.y
    assert max(seen, default=0.0) < 1e-12  # events get positions of their own time
    return y, [0.2]


def in_assimulo(problem, y0, times, solver="Dopri5"):
    import assimulo.solvers

    native = explicit_problem(problem, events=[longer])
    np.testing.assert_array_equal(native.y0, y0)
    t, y = configure(getattr(assimulo.solvers, solver)(native), rtol=1e-8, atol=1e-10).simulate(times[-1], 0, list(times))[:2]
    return np.array([y[np.argmin(np.abs(np.asarray(t) - time))] for time in times]), native.t_events[0]


SCRIPTS = {
    **{f"SolveIvp {m}": (SolveIvp(m), in_scipy, m) for m in ("DOP853", "RK45", "RK23", "Radau", "BDF", "LSODA")},
    **{f"Cvode {m}": (Cvode(), in_sundae, m) for m in ("BDF", "Adams")},
    **{f"Odes {s}": (Odes(s), in_odes, s) for s in ("cvode", "dop853", "dopri5")},
    **{f"Assimulo {s}": (Assimulo(s), in_assimulo, s) for s in ("CVode", "Radau5ODE", "RodasODE", "LSODAR", "Dopri5", "RungeKutta34")},
}


@pytest.mark.parametrize("form", STATE_SPACE)
@pytest.mark.parametrize("name", SCRIPTS)
def test_problems_drop_into_scripts(name, form):
    """Positions, multipliers and events of a mechanism whose constraint depends on time."""
    method, script, variant = SCRIPTS[name]
    need(method)
    system, times = mbdae.System(stretched()), np.array([0.0, 0.1, 0.25])
    exact = mbdae.solve(system, SolveIvp(), (0.0, 0.25), rtol=1e-11, atol=1e-12, t_eval=times)
    problem = FORMULATIONS[form](system)
    y, events = script(problem, problem.pack(mbdae.assemble(system))[0], times, variant)
    np.testing.assert_allclose(events, [0.2], atol=1e-6)
    for t, row, q, v, lam in zip(times, y, exact.q, exact.v, exact.lam):
        found = problem.state(t, np.ascontiguousarray(row))
        np.testing.assert_allclose(found[0], q, atol=1e-6)
        np.testing.assert_allclose(found[1], v, atol=1e-5)
        np.testing.assert_allclose(found[3], lam, atol=1e-4)
        assert abs(found[0] @ found[0] - 1.0 - 0.5 * t) < 1e-13


def test_scripts_are_told_what_does_not_fit(system):
    for make, problem in ((cvode_arguments, mbdae.GGL(system)), (explicit_problem, mbdae.GGL(system))):
        with pytest.raises(ValueError, match=r"cannot take the form 'ggl'|needs an UnderlyingODE or a StateSpace"):
            make(problem)


def test_names_lead_to_multistep_references(system, exact):
    """Explicit and implicit solvers on one and the same form."""
    for name in ("Cvode:Adams:partition", "SolveIvp:LSODA:tangent", "Assimulo:LSODAR:partition"):
        spec = find(name)
        s = mbdae.solve(system, need(spec.make()), (0.0, 0.3), formulation=spec.formulation, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(s.q[-1], exact(0.3)[0], atol=1e-6)
    with pytest.raises(ValueError, match="cannot take the form 'tangent'"):
        mbdae.solve(system, Ida(), (0.0, 0.3), formulation="tangent")
