"""The linear solver of mbdae in IDA and CVODE: exact solutions, the runs of other linear solvers, and their behaviour after failures."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.linalg import lu_factor, lu_solve

import mbdae
from mbdae import Status
from mbdae.adapters.sundae import Cvode, Ida
from mbdae.adapters.sundials import library as lib
from mbdae.adapters.sundials.library import LibraryError, library
from mbdae.integrators.iteration_matrix import scaling
from mbdae.problems.elimination import pivots, refusal
from mbdae.system.build import joint_of_rows
from mbdae.system.codes import GOOD
from mbdae.system.elimination import bodies_of_joints, elimination
from mbdae.system.static_lu import factorise, solve, static_factors

from .helpers import all_elements, double_pendulum, slider_crank, thorough_but
from .test_sundials_direct import SYSTEM, _missing, same

pytestmark = pytest.mark.skipif(bool(_missing("wheel")), reason=_missing("wheel"))

FORMS = {"ggl": mbdae.GGL, "explicit": lambda s: mbdae.GGL(s, form="explicit"), "gear": mbdae.Gear, "index2": mbdae.Index2,
         "index1": lambda s: mbdae.Index1(s, alpha=5.0, beta=5.0), "index3": mbdae.Index3}
OF_FUNCTIONS = ("flexible-slider-crank", "rail-carriage", "wheelset")
NAMES = sorted(set(mbdae.library.names()) - set(OF_FUNCTIONS))
SMALL = ("double-pendulum", "spatial-four-bar", "flyball-governor", "tree")
# with dense factors CVODE takes 190 to 214 and 98 to 175 steps if the tolerance changes by 1e-9 of itself
SENSITIVE = ("andrews", "flyball-governor")
KKT = Ida(linsolver="kkt", backend="wheel")


@pytest.fixture(scope="module")
def swing():
    return mbdae.System(double_pendulum())


# solutions ------------------------------------------------------------------------------------------------------------------


def reference(J, b, rows, columns):
    """The solution by dense factors of the scaled matrix, refined in extended precision; in the scaled unknowns."""
    A = rows[:, None] * J * columns
    factors, exact, x = lu_factor(A), A.astype(np.longdouble), np.zeros(len(b), dtype=np.longdouble)
    for _ in range(5):
        x += lu_solve(factors, (rows * b - exact @ x).astype(float))
    return x.astype(float)


@pytest.mark.parametrize("form", thorough_but([f for f in FORMS if f != "explicit"], FORMS))
@pytest.mark.parametrize("name", thorough_but(SMALL, NAMES))
def test_solutions_with_the_exact_jacobian(name, form):
    """Of states near the constraints; unknowns and errors are measured in the scale of the powers of `c` of the form."""
    rng, problem = np.random.default_rng(7), FORMS[form](mbdae.library.system(name))
    lu, (rows, columns), x = static_factors(problem.pattern, *pivots(problem)), scaling(problem), np.empty(problem.n)
    for c in (1e2, 1e3, 1e5):
        y, yd = problem.y0 + 1e-3 * rng.normal(size=problem.n), problem.yd0 + 1e-2 * rng.normal(size=problem.n)
        values, J = problem.jacobian_values(0.0, y, yd, c), problem.jacobian(0.0, y, yd, c).toarray()
        assert factorise(values, lu) == GOOD
        row, column = c ** -rows.astype(float), c ** columns.astype(float)
        b = J @ (column * rng.normal(size=problem.n))
        expected = reference(J, b, row, column)
        solve(lu, b, x)
        condition = np.linalg.cond(row[:, None] * J * column, 1)
        assert np.abs(x / column - expected).max() <= max(1e-9, 1e-16 * condition) * np.abs(expected).max(), (c, lu.refine)


@pytest.mark.parametrize("form", thorough_but(["ggl", "index3"], [f for f in FORMS if f != "explicit"]))
@pytest.mark.parametrize("seed", thorough_but([0], range(6)))
def test_backward_errors_with_all_kinds_of_elements_far_from_the_constraints(seed, form):
    rng, problem = np.random.default_rng(seed), FORMS[form](mbdae.System(all_elements(seed)))
    lu, x = static_factors(problem.pattern, *pivots(problem)), np.empty(problem.n)
    for c in (1e2, 1e4):
        y, yd, b = rng.normal(size=(3, problem.n))
        assert factorise(problem.jacobian_values(0.3, y, yd, c), lu) == GOOD
        solve(lu, b, x)
        J = problem.jacobian(0.3, y, yd, c).toarray()
        assert (np.abs(J @ x - b) / (np.abs(J) @ np.abs(x) + np.abs(b))).max() < 1e-11


# the order -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", thorough_but(SMALL, NAMES))
def test_every_body_and_every_joint_has_one_place(name):
    system = mbdae.library.system(name)
    order, ends = elimination(system).order, bodies_of_joints(system, joint_of_rows(system.mechanism))
    assert sorted(node.number for node in order if node.is_body) == list(range(len(system._bodies)))
    assert sorted(node.number for node in order if not node.is_body) == [k for k, bodies in enumerate(ends) if bodies]
    place = {node: k for k, node in enumerate(order)}
    for node in order:
        if not node.is_body:  # after a body that it constrains
            assert min(place[node._replace(is_body=True, number=b)] for b in ends[node.number]) < place[node]


@pytest.mark.parametrize("name", thorough_but(SMALL, NAMES))
def test_every_pivot_is_taken_once(name):
    problem = mbdae.GGL(mbdae.library.system(name))
    for places in pivots(problem):
        np.testing.assert_array_equal(np.sort(places), np.arange(problem.n))


@pytest.mark.parametrize("name", ["chain", "tree"])
def test_factors_of_chains_and_trees_grow_with_the_number_of_bodies(name):
    def entries(size):
        options = {"links": size} if name == "chain" else {"levels": size}
        problem = mbdae.problem(name, formulation="ggl", **options)
        lu = static_factors(problem.pattern, *pivots(problem))
        return len(problem.system.mechanism.bodies), len(lu.L.columns) + len(lu.U.columns)

    (a, x), (b, y), (c, z) = (entries(size) for size in ((10, 20, 40) if name == "chain" else (2, 3, 4)))
    assert (z - y) / (c - b) == pytest.approx((y - x) / (b - a), rel=0.05)


@pytest.mark.parametrize("name", thorough_but(["chain", "wheelset"], mbdae.library.names()))
def test_mechanisms_have_it_and_systems_of_functions_do_not(name):
    assert bool(refusal(mbdae.library.system(name))) == (name in OF_FUNCTIONS)


# runs ----------------------------------------------------------------------------------------------------------------------


def typical(name, problem, method):
    """A run; where a change of the tolerance by 1e-9 of itself changes the steps, the medians of nine such runs."""
    runs = [mbdae.solve(problem, method, (0.0, 0.02), rtol=1e-5 * (1.0 + k * 1e-9)) for k in (range(-4, 5) if name in SENSITIVE else (0,))]
    assert len({r.status for r in runs}) == 1
    counts = {x: np.median([getattr(r.statistics, x) for r in runs]) for x in ("steps", "residuals", "jacobians")}
    ends = {x: np.median([getattr(r, x)[-1] for r in runs], axis=0)[np.newaxis] for x in ("t", "q", "v")}
    return SimpleNamespace(status=runs[0].status, success=runs[0].success, statistics=SimpleNamespace(**counts), **ends)


@pytest.mark.parametrize("form", ["ggl", "gear", "index2", "index1", "index3"])
@pytest.mark.parametrize("name", thorough_but(SMALL[:2], NAMES))
def test_the_steps_are_those_of_dense_factors(name, form):
    problem = mbdae.problem(name, formulation=form)
    own, dense = (typical(name, problem, Ida(linsolver=s, backend="wheel", max_steps=200)) for s in ("kkt", "dense"))
    same(own, dense, reached=0.1)


@pytest.mark.parametrize("form", thorough_but(["index3"], ["ggl", "index3"]))
@SYSTEM
def test_the_library_of_the_system_finds_the_same(form):
    problem = mbdae.problem("chain", links=6, formulation=form)
    wheel, system = (mbdae.solve(problem, Ida(linsolver="kkt", backend=b), (0.0, 0.2), rtol=1e-7) for b in ("wheel", "system"))
    same(system, wheel)


@pytest.mark.parametrize("jacobian", ["grouped", "grouped:partitioned", "estimated"])
def test_every_source_of_the_jacobian(swing, jacobian):
    own, dense = (mbdae.solve(swing, Ida(jacobian, s, backend="wheel"), (0.0, 0.3), formulation="ggl") for s in ("kkt", "dense"))
    same(own, dense)
    assert own.statistics.residuals_jacobian == dense.statistics.residuals_jacobian


def door():
    """A door on two ball joints: the equation along its hinge is there twice."""
    panel = mbdae.RigidBody("panel", 12.0, (0.9, 0.3, 1.2), position=(0.4, 0.0, 0.0), omega=(0.0, 0.0, 1.0))
    joints = [mbdae.Spherical(name, "ground", "panel", (0.0, 0.0, z), (-0.4, 0.0, z)) for name, z in (("low", -0.5), ("high", 0.5))]
    return mbdae.Mechanism("door", [panel], joints=joints, gravity=(0.0, -1.0, -9.81))


@pytest.mark.parametrize("form", thorough_but(["ggl", "index1"], FORMS))
@pytest.mark.parametrize("mechanism", [door, lambda: mbdae.library.mechanism("bricard")], ids=["door", "bricard"])
def test_redundant_constraints(mechanism, form):
    system = mbdae.System(mechanism())
    assert len(system.redundancy.candidates) > 0
    own, dense = (mbdae.solve(FORMS[form](system), Ida(linsolver=s), (0.0, 0.2), rtol=1e-7) for s in ("kkt", "dense"))
    same(own, dense)
    np.testing.assert_allclose(own.lam[-1], dense.lam[-1], atol=1e-3 * np.abs(dense.lam).max())


def test_a_body_without_constraints():
    free = mbdae.library.mechanism("single-pendulum")
    system = mbdae.System(free.without(*free.labels))
    own, dense = (mbdae.solve(system, Ida(linsolver=s), (0.0, 0.1), formulation="ggl") for s in ("kkt", "dense"))
    same(own, dense)


def test_large_mechanisms_have_it_by_themselves():
    """Their runs are those with sparse factors."""
    problem = mbdae.problem("chain", links=20, formulation="ggl")
    found = {s: mbdae.solve(problem, Ida(linsolver=s), (0.0, 0.05)) for s in ("auto", "kkt", "sparse")}
    np.testing.assert_array_equal(found["auto"].q, found["kkt"].q)
    same(found["kkt"], found["sparse"])


@pytest.mark.parametrize("options", [{"dense_output": True}, {"events": lambda t, q, v: q[3]}, {"progress": lambda t: None}],
                         ids=["dense", "events", "progress"])
def test_output_does_not_depend_on_what_else_is_asked(swing, options):
    times = np.linspace(0.0, 0.4, 7)
    plain, other = (mbdae.solve(swing, KKT, (0.0, 0.4), t_eval=times, **more) for more in ({}, options))
    np.testing.assert_array_equal(plain.q, other.q)


def test_backward_and_from_other_times(swing):
    there = mbdae.solve(swing, KKT, (2.0, 2.3), formulation="ggl", rtol=1e-9, atol=1e-11)
    back = mbdae.solve(swing, KKT, (2.3, 2.0), formulation="ggl", rtol=1e-9, atol=1e-11, q0=there.q[-1], v0=there.v[-1])
    assert back.success and back.t[-1] == 2.0
    np.testing.assert_allclose(back.q[-1], there.q[0], atol=2e-6)


# the underlying ODE ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", thorough_but(["double-pendulum", "flyball-governor", "tree"], NAMES))
def test_newton_matrices_of_the_ode_are_those_of_the_index_1_equations(name):
    """`(F_y + c F_yd) (x, dlam) = c F_yd b` for `(I - f_y / c) x = b`, for velocities that satisfy the constraints."""
    system = mbdae.library.system(name)
    problem, form, c = mbdae.UnderlyingODE(system), mbdae.Index1(system), 1e3
    y, b = problem.y0, np.random.default_rng(5).normal(size=problem.n)
    if len(system.redundancy.candidates):  # then exact along motions only
        b = problem.rhs(0.0, y)
    f = problem.rhs(0.0, y)
    z, zd = np.concatenate([y, problem.parameters[1]]), np.concatenate([f, np.zeros(system.nc)])
    F_y, F_yd = (form.jacobian_values(0.0, z, zd, *factors) for factors in ((0.0, 1.0), (1.0, 0.0)))
    lu, x = static_factors(form.pattern, *pivots(form)), np.empty(form.n)
    assert factorise(F_y + c * F_yd, lu) == GOOD
    solve(lu, c * (form._csc(F_yd)[:, :problem.n] @ b), x)
    expected = np.linalg.solve(np.eye(problem.n) - problem.rhs_jacobian(0.0, y) / c, b)
    np.testing.assert_allclose(x[:problem.n], expected, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize("multistep", thorough_but(["BDF"], ["BDF", "Adams"]))
@pytest.mark.parametrize("name", thorough_but(SMALL[:2], NAMES))
def test_the_steps_of_cvode_are_those_of_dense_factors(name, multistep):
    problem = mbdae.problem(name, formulation="ode")
    own, dense = (typical(name, problem, Cvode(linsolver=s, multistep=multistep, backend="wheel")) for s in ("kkt", "dense"))
    same(own, dense, counts=1.0 if name in SENSITIVE else 0.05)


@SYSTEM
def test_cvode_in_the_library_of_the_system():
    problem = mbdae.problem("chain", links=6, formulation="ode")
    wheel, system = (mbdae.solve(problem, Cvode(linsolver="kkt", backend=b), (0.0, 0.2), rtol=1e-7) for b in ("wheel", "system"))
    same(system, wheel)


@pytest.mark.parametrize("mechanism", ["pushed", "friction", "bricard"])
def test_cvode_with_forces_of_users_friction_and_redundant_constraints(mechanism):
    made = {"pushed": pushed, "friction": slider_crank, "bricard": lambda: mbdae.library.mechanism("bricard")}[mechanism]
    problem = mbdae.UnderlyingODE(mbdae.System(made()), alpha=2.0, beta=3.0)
    own, dense = (mbdae.solve(problem, Cvode(linsolver=s), (0.0, 0.1)) for s in ("kkt", "dense"))
    assert own.success
    same(own, dense)


def test_the_underlying_ode_has_it_by_itself():
    problem = mbdae.problem("chain", links=3, formulation="ode")
    auto, own = (mbdae.solve(problem, Cvode(linsolver=s), (0.0, 0.05)) for s in ("auto", "kkt"))
    np.testing.assert_array_equal(auto.q, own.q)


def test_events_and_backward_runs_of_cvode(swing):
    there = mbdae.solve(swing, Cvode(), (2.0, 2.3), rtol=1e-9, atol=1e-11, events=lambda t, q, v: q[3], dense_output=True)
    back = mbdae.solve(swing, Cvode(), (2.3, 2.0), rtol=1e-9, atol=1e-11, q0=there.q[-1], v0=there.v[-1])
    np.testing.assert_allclose(back.q[-1], there.q[0], atol=2e-6)


# failures: those of user functions, NaN and Ctrl-C are in `test_sundials_direct` -------------------------------------------


class Singular:
    """The exact Jacobian, but zeros at some of its evaluations."""

    label = "singular"

    def __init__(self, at):
        self.at = at

    def bind(self, problem):
        found, count, zeros = mbdae.JacobianStrategy("exact").bind(problem), [0], np.zeros(problem.pattern.nnz)
        values = found.values

        def some(*arguments):
            count[0] += 1
            return zeros if self.at(count[0]) else values(*arguments)

        found.values = some
        return found


@pytest.mark.parametrize("at", [lambda k: k >= 5, lambda k: True], ids=["for good", "from the start"])
def test_a_matrix_that_stays_singular_ends_the_run_as_with_dense_factors(swing, at):
    own, dense = (mbdae.solve(swing, Ida(Singular(at), s, backend="wheel"), (0.0, 0.3), formulation="ggl") for s in ("kkt", "dense"))
    assert own.status == dense.status == Status.NEWTON_FAILED
    assert own.message == dense.message
    assert own.statistics.steps == dense.statistics.steps


def test_a_singular_matrix_cuts_the_step(swing):
    own, dense = (mbdae.solve(swing, Ida(Singular(lambda k: k == 5), s, backend="wheel"), (0.0, 0.3), formulation="ggl")
                  for s in ("kkt", "dense"))
    same(own, dense)
    assert own.success and own.statistics.rejected_newton == dense.statistics.rejected_newton


def pushed():
    """A double pendulum with a force in Python."""
    def force(t, r, A, v, omega, F, T):
        F[:] = -0.5 * v

    m = double_pendulum()
    return replace(m, forces=[*m.forces, mbdae.UserForce("push", ["upper"], force)])


@pytest.mark.parametrize("form", thorough_but(["ggl"], ["ggl", "gear", "index1"]))
@pytest.mark.parametrize("mechanism", [pushed, slider_crank], ids=["user force", "friction"])
def test_forces_of_users_and_friction(mechanism, form):
    system = mbdae.System(mechanism())
    own, dense = (mbdae.solve(system, Ida(linsolver=s), (0.0, 0.1), formulation=form) for s in ("kkt", "dense"))
    assert own.success
    same(own, dense)


# refusals ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("make", "options", "message"), [
    (lambda: mbdae.System(mbdae.library.mechanism("chain", links=2), coordinates="joint"), {},
     "Ida: linsolver='kkt' eliminates bodies and joints of a mechanism in Cartesian coordinates, but for 'chain' in joint coordinates the"),
    (lambda: mbdae.library.system("wheelset"), {}, "for 'wheelset' a system of functions has no bodies and joints; linsolver='auto'"),
    (lambda: mbdae.library.system("chain", links=2), {"backend": "wrapper"}, "linsolver='kkt' needs the C library .*linsolver='sparse'"),
    (lambda: mbdae.library.system("chain", links=2), {"jacobian": "difference"}, "linsolver='kkt' needs a Jacobian, which jacobian="),
], ids=["joint coordinates", "functions", "wrapper", "differences"])
def test_what_cannot_have_it_is_refused(make, options, message):
    with pytest.raises(ValueError, match=message):
        mbdae.solve(make(), Ida(linsolver="kkt", **options), (0.0, 0.01), formulation="ggl")


@pytest.mark.parametrize(("options", "form", "message"), [
    ({}, "tangent", "Cvode: linsolver='kkt' eliminates bodies and joints, which are not among the unknowns of the form 'tangent'"),
    ({"jacobian": "grouped"}, "ode", "Cvode: linsolver='kkt' forms the Jacobian of the underlying ODE itself"),
    ({"backend": "wrapper"}, "ode", "Cvode: linsolver='kkt' needs the C library .*linsolver='dense'")], ids=["form", "strategy", "wrapper"])
def test_what_cannot_have_it_is_refused_by_cvode(swing, options, form, message):
    with pytest.raises(ValueError, match=message):
        mbdae.solve(swing, Cvode(linsolver="kkt", **options), (0.0, 0.01), formulation=form)


def test_an_unknown_layout_is_refused_by_name(swing, monkeypatch):
    monkeypatch.setattr(lib, "OPERATIONS_WORDS", 2)
    library.cache_clear()
    try:
        with pytest.raises(LibraryError, match=r"SUNDIALS 7\.\d+\.\d+ of the wheel: the layout of its linear solvers is not known"):
            mbdae.solve(swing, KKT, (0.0, 0.01), formulation="ggl")
    finally:
        library.cache_clear()


@pytest.mark.parametrize("origin", ["wheel", pytest.param("system", marks=SYSTEM)])
def test_the_layout_of_linear_solvers(origin):
    """As in the headers of the versions: 7.9 has a word for Python in a solver and one more function in the table."""
    later = origin == "wheel"
    assert library(origin).linear_solvers == (1 + later, {"gettype": 0, "setup": 7 + later, "solve": 8 + later})
