"""scikit-sundae: the drop-in layer as a user's script has it, every linear solver, events, and the traps of the package."""

import contextlib
import io

import numpy as np
import pytest

import mbdae
import mbdae.library
from mbdae import Status
from mbdae.adapters.scipy import SolveIvp, solve_ivp_arguments
from mbdae.adapters.sundae import Cvode, Ida, band_order, cvode_arguments, ida_arguments
from mbdae.driver.callbacks import SolverCallbacks
from mbdae.problems.underlying_ode import _rhs_jacobian

from .helpers import double_pendulum

FORMS = {"ggl": mbdae.GGL, "gear": mbdae.Gear, "index2": mbdae.Index2, "index1": mbdae.Index1, "index3": mbdae.Index3}
LINEAR = ("dense", "band", "sparse", "kkt", "gmres", "bicgstab", "tfqmr")


@pytest.fixture(scope="module")
def chain():
    return mbdae.System(mbdae.library.mechanism("chain", links=6))


@pytest.fixture(scope="module")
def end(chain):
    return mbdae.solve(chain, SolveIvp("DOP853"), (0.0, 0.4), rtol=1e-11, atol=1e-12).q[-1]


@pytest.fixture(scope="module")
def swing():
    return mbdae.System(double_pendulum())


def crossing_zero(t, q, v):
    """The lower body passes below the origin."""
    return q[3]


@pytest.mark.parametrize("linsolver", LINEAR)
@pytest.mark.parametrize("form", FORMS)
def test_every_linear_solver_in_every_form(chain, end, form, linsolver):
    s = mbdae.solve(chain, Ida(linsolver=linsolver), (0.0, 0.4), formulation=form, rtol=1e-7, atol=1e-9)
    assert s.success, s.message
    np.testing.assert_allclose(s.q[-1], end, atol=1e-5)
    assert 0 < s.statistics.jacobians < s.statistics.steps
    if linsolver in ("dense", "band", "sparse", "kkt"):
        assert s.statistics.residuals_jacobian == 0


@pytest.mark.parametrize("linsolver", ["dense", "kkt", "gmres", "bicgstab", "tfqmr"])
@pytest.mark.parametrize("multistep", ["BDF", "Adams"])
def test_every_linear_solver_of_cvode(chain, end, multistep, linsolver):
    s = mbdae.solve(chain, Cvode(linsolver=linsolver, multistep=multistep), (0.0, 0.4), rtol=1e-8, atol=1e-10)
    assert s.success, s.message
    np.testing.assert_allclose(s.q[-1], end, atol=1e-5)


@pytest.mark.parametrize("linsolver", ["dense", "band", "sparse"])
def test_an_exact_jacobian_saves_residuals(chain, linsolver):
    exact, own = (mbdae.solve(chain, Ida(jacobian, linsolver), (0.0, 0.4), formulation="ggl") for jacobian in ("exact", "difference"))
    assert exact.statistics.residuals_jacobian == 0
    assert own.statistics.residuals_jacobian > own.statistics.residuals
    np.testing.assert_allclose(exact.q[-1], own.q[-1], atol=1e-3)


def test_backward_through_a_band(chain, end):
    there = mbdae.solve(chain, Ida(linsolver="band"), (0.0, 0.4), formulation="gear", rtol=1e-9, atol=1e-11)
    back = mbdae.solve(chain, Ida(linsolver="band"), (0.4, 0.0), formulation="gear", rtol=1e-9, atol=1e-11, q0=there.q[-1], v0=there.v[-1])
    np.testing.assert_allclose(back.q[-1], there.q[0], atol=1e-6)


# --- scripts of a user ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_a_script_around_ida(swing, form):
    from sksundae.ida import IDA

    problem = FORMS[form](swing)
    y0, yd0 = problem.pack(mbdae.assemble(swing))
    result = IDA(**ida_arguments(problem, rtol=1e-8, atol=1e-10)).solve([0.0, 0.25, 0.5], y0, yd0)
    expected = mbdae.solve(swing, SolveIvp(), (0.0, 0.5), rtol=1e-10, atol=1e-12).q[-1]
    assert result.success
    np.testing.assert_allclose(result.y[-1][problem.blocks["q"]], expected, atol=1e-5)


def test_scripts_may_take_many_steps_between_two_output_times(swing):
    """Trap: by default SUNDIALS stops after 500."""
    from sksundae.cvode import CVODE
    from sksundae.ida import IDA

    ggl, ode = mbdae.GGL(swing), mbdae.UnderlyingODE(swing)
    state = mbdae.assemble(swing)
    assert IDA(**ida_arguments(ggl), max_step=1e-4).solve([0.0, 0.06], *ggl.pack(state)).success
    assert CVODE(**cvode_arguments(ode), max_step=1e-4).solve([0.0, 0.06], ode.pack(state)[0]).success


def test_forms_that_do_not_fit_are_refused_in_scripts(swing):
    ggl, ode = mbdae.GGL(swing), mbdae.UnderlyingODE(swing)
    for make, problem in ((ida_arguments, ode), (ida_arguments, mbdae.Overdetermined(swing)), (ida_arguments, mbdae.MassMatrix(swing)),
                          (cvode_arguments, ggl), (solve_ivp_arguments, ggl)):
        with pytest.raises(ValueError, match=f"{make.__name__} cannot take the form '{problem.formulation}': it .*; it takes "):
            make(problem)


def test_a_script_with_a_band(chain, end):
    from sksundae.ida import IDA

    problem = mbdae.GGL(chain)
    order = band_order(problem)
    y0, yd0 = problem.pack(mbdae.assemble(chain))
    result = IDA(**ida_arguments(problem, rtol=1e-8, atol=1e-10, linsolver="band")).solve([0.0, 0.4], y0[order], yd0[order])
    y = np.empty(problem.n)
    y[order] = result.y[-1]
    np.testing.assert_allclose(y[problem.blocks["q"]], end, atol=1e-5)


def test_events_of_scripts_are_native_ones(swing):
    from sksundae.cvode import CVODE
    from sksundae.ida import IDA

    falling = lambda t, q, v: crossing_zero(t, q, v)  # noqa: E731 - functions carry their own attributes
    falling.terminal, falling.direction = True, -1
    expected = mbdae.solve(swing, SolveIvp(), (0.0, 2.0), rtol=1e-10, atol=1e-12, events=falling).t_events[0]
    problem, ode = mbdae.Gear(swing), mbdae.UnderlyingODE(swing)
    state = mbdae.assemble(swing)
    for linsolver in ("dense", "band"):
        order = band_order(problem) if linsolver == "band" else slice(None)
        arguments = ida_arguments(problem, 1e-8, 1e-10, linsolver=linsolver, events=[falling, lambda t, q, v: t - 0.125])
        y0, yd0 = (x[order] for x in problem.pack(state))
        result = IDA(**arguments).solve(np.linspace(0.0, 2.0, 50), y0, yd0)
        np.testing.assert_allclose(np.sort(result.t_events), np.sort([0.125, *expected]), atol=1e-6)
    result = CVODE(**cvode_arguments(ode, 1e-8, 1e-10, events=[falling])).solve(np.linspace(0.0, 2.0, 50), ode.pack(state)[0])
    np.testing.assert_allclose(result.t_events, expected, atol=1e-6)


def test_a_script_around_solve_ivp(swing):
    from scipy.integrate import solve_ivp

    problem = mbdae.UnderlyingODE(swing)
    y0, _ = problem.pack(mbdae.assemble(swing))
    falling = lambda t, q, v: crossing_zero(t, q, v)  # noqa: E731
    falling.terminal, falling.direction = True, -1
    ends = []
    for method in ("DOP853", "Radau", "BDF", "LSODA"):
        arguments = solve_ivp_arguments(problem, 1e-9, 1e-11, method, events=[falling])
        assert ("jac" in arguments) == (method != "DOP853")
        result = solve_ivp(t_span=(0.0, 2.0), y0=y0, method=method, **arguments)
        ends.append(result.t_events[0][0])
        assert result.t[-1] == ends[-1]
    np.testing.assert_allclose(ends, ends[0], atol=1e-6)


# --- traps of the package --------------------------------------------------------------------------------------------------


def test_nan_ends_the_run(swing):
    """IDA alone loops without end on a residual that is not a number."""
    problem = mbdae.GGL(swing)
    kernel = problem.kernel

    def breaking(t, y, yd, out, *arguments):
        kernel(t, y, yd, out, *arguments)
        if t > 0.1:
            out[:] = np.nan
        return t <= 0.1

    problem.kernel = breaking
    s = mbdae.solve(problem, Ida(), (0.0, 1.0))
    assert s.status == Status.NOT_FINITE
    assert s.statistics.steps < 1000
    assert 0.02 < s.t[-1] <= 0.1


def test_evaluations_for_differences_are_counted(swing):
    """`nfev` of the package leaves out the evaluations of SUNDIALS' own difference quotients."""
    calls = [0]
    problem = mbdae.GGL(swing)
    kernel = problem.kernel

    def counting(*arguments):
        calls[0] += 1
        return kernel(*arguments)

    problem.kernel = counting
    start = problem.pack(mbdae.assemble(swing))
    problem.compile(0.0, *start)
    calls[0] = 0
    s = mbdae.solve(problem, Ida("difference"), (0.0, 0.5))
    assert s.statistics.residuals + s.statistics.residuals_jacobian == calls[0] - 1  # one call compiles
    assert s.statistics.residuals_jacobian > s.statistics.residuals


def test_patterns_have_short_indices(chain):
    """A pattern with 64-bit indices makes the sparse solver abort the interpreter."""
    pattern = ida_arguments(mbdae.GGL(chain), linsolver="sparse")["sparsity"]
    assert pattern.indices.dtype == pattern.indptr.dtype == np.int32


def test_arrays_of_the_package_are_read_only(swing):
    """Compiled functions with one signature refuse arrays that cannot be written to; no second version may be compiled for them."""
    problem = mbdae.GGL(swing)
    y, yd = problem.pack(mbdae.assemble(swing))
    expected = problem.residual(0.0, y, yd)
    problem.jacobian_values(0.0, y, yd, 1.0)
    ode = mbdae.UnderlyingODE(swing)
    ode.compile(0.0, y[:ode.n].copy(), None)
    compiled = problem.kernel, problem.derivative, ode.kernel, _rhs_jacobian
    versions = [len(function.signatures) for function in compiled if hasattr(function, "signatures")]
    y.flags.writeable = yd.flags.writeable = False
    out = np.empty(problem.n)
    ida_arguments(problem)["resfn"](0.0, y, yd, out)
    np.testing.assert_allclose(out, expected, atol=1e-12)
    for linsolver in ("dense", "sparse"):
        J = np.empty(problem.pattern.nnz) if linsolver == "sparse" else np.empty((problem.n, problem.n))
        ida_arguments(problem, linsolver=linsolver)["jacfn"](0.0, y, yd, None, 2.0, J)
    ida_arguments(problem, linsolver="gmres")["precond"].setupfn(0.0, y, yd, None, 1e3)
    cvode = cvode_arguments(ode)
    cvode["rhsfn"](0.0, y[:ode.n], np.empty(ode.n))
    cvode["jacfn"](0.0, y[:ode.n], None, np.empty((ode.n, ode.n)))
    assert [len(function.signatures) for function in compiled if hasattr(function, "signatures")] == versions


def test_krylov_success_is_checked_by_its_result(chain, end):
    """With the huge tolerances of multipliers, GMRES without a preconditioner has reported success with errors of order one."""
    s = mbdae.solve(chain, Ida(linsolver="gmres"), (0.0, 0.4), formulation="ggl", rtol=1e-6, atol=1e-8)
    assert np.abs(s.q[-1] - end).max() < 1e-4


def test_a_singular_preconditioner_is_a_failure_with_a_reason():
    rod = mbdae.Rod("rod", "ground", "mass", length=1.0)
    problem = mbdae.GGL(mbdae.System(mbdae.Mechanism("pendulum", [mbdae.Particle("mass", 1.0, (1, 0, 0))], [rod])))
    y, yd = problem.y0, problem.yd0
    y[:3] = 0.0  # the rod has no direction
    setup = ida_arguments(problem, linsolver="gmres", callbacks=SolverCallbacks(problem))["precond"].setupfn
    with pytest.raises(Exception, match="singular"):
        setup(0.0, y, yd, None, 1e3)


def test_nothing_is_printed_but_what_the_user_prints(swing):
    """The package prints its error reports."""
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        s = mbdae.solve(swing, Ida(max_steps=50), (0.0, 5.0), progress=lambda t: print("step"), rtol=1e-12, atol=1e-16)
    assert not s.success
    assert set(told.getvalue().split()) <= {"step"}


@pytest.mark.parametrize("span", [(0.0, -0.2), (0.4, 0.2)])
@pytest.mark.parametrize("form", ["index3", "ggl", "ode"])
def test_runs_backward_may_have_a_first_step(swing, form, span):
    """The form in index 3 asks for one itself."""
    method = Cvode(first_step=1e-5) if form == "ode" else Ida(first_step=0.0 if form == "index3" else 1e-5)
    x, y = (mbdae.solve(swing, m, span, formulation=f, rtol=r, atol=0.01 * r, t_eval=[span[0] - 0.1, span[1]])
            for m, f, r in ((method, form, 1e-7), (SolveIvp(), "ode", 1e-10)))
    assert x.success, x.message
    assert x.t[-1] == span[1]
    np.testing.assert_allclose(x.q, y.q, atol=1e-5)
    np.testing.assert_allclose(x.v, y.v, atol=1e-4)
