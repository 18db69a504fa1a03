"""solve-dae: the traps of the package, each of which the adapter guards against."""

import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline

import mbdae
from mbdae import Status, library
from mbdae.adapters import dae
from mbdae.adapters.dae import SolveDae, solve_dae_arguments
from mbdae.driver.callbacks import SolverCallbacks, SolverFailure
from mbdae.problems import FORMULATIONS

from .helpers import BREAKS_AT, thorough_but

package = pytest.importorskip("solve_dae.integrate", reason="solve-dae is not installed: pip install solve-dae")
TOL = 1e-6


@pytest.fixture(scope="module")
def andrews():
    return mbdae.System(library.mechanism("andrews"))


def start_of(system, form):
    problem = FORMULATIONS[form](system)
    return problem, *problem.pack(mbdae.assemble(system))


def test_multipliers_need_a_large_tolerance(system):
    """Trap: there is no index of variables, so multipliers of index 2 and 3 must leave the error test by their tolerance."""
    good, bad = (mbdae.solve(system, SolveDae(), (0.0, 0.1), formulation="index3", atol=atol) for atol in (1e-8, np.full(16, 1e-8)))
    assert good.success
    assert not bad.success


def test_the_first_step_of_the_package_is_too_short(andrews):
    """Trap: it is meant for order one, while in higher index a Newton iteration needs steps that are not too short, see below."""
    problem, y0, yd0 = start_of(andrews, "ggl")
    arguments = solve_dae_arguments(problem)
    fun, first = arguments.pop("fun"), arguments.pop("first_step")
    assert package.RadauDAE(fun, 0.0, y0, yd0, 0.03, **arguments).h_abs < 1e-3 * first


@pytest.mark.parametrize("method", ["Radau3", "Radau5", "BDF"])
def test_short_steps_fail_by_rounding(andrews, method):
    """Trap: when Newton's first correction is at rounding level, the second is not smaller, and the package takes that for divergence.

    It then halves the step, which only makes it worse: at t = 0 down to 5e-323, where numbers overflow and the equations get the blame.
    """
    assert mbdae.solve(andrews, SolveDae(method), (0.0, 0.002), formulation="index3").success
    s = mbdae.solve(andrews, SolveDae(method, first_step=1e-10), (0.0, 0.002), formulation="index3")
    assert s.status == Status.STEP_TOO_SMALL
    assert "the step size is at rounding" in s.message
    assert s.statistics.residuals < 500


@pytest.mark.parametrize("method", ["Radau3", "Radau5", "BDF"])
@pytest.mark.parametrize("left", thorough_but([1e-12], [0.0, 1e-12, 1e-10, 1e-8]))
def test_very_short_last_steps_succeed(system, method, left):
    """Trap: a step that ends just before the end of the time span leaves one that is too short for the package."""
    problem = mbdae.Index3(system)
    steps = mbdae.solve(problem, SolveDae(method), (0.0, 0.5))
    place = CubicHermiteSpline(steps.t, steps.q, steps.v)
    for t in steps.t[12:-1:5]:
        end = float(np.nextafter(t + left, 1.0))
        s = mbdae.solve(problem, SolveDae(method), (0.0, end))
        assert s.success, s.message
        assert s.t[-1] == end
        np.testing.assert_allclose(s.q[-1], place(end), atol=10 * TOL)


@pytest.mark.thorough
def test_increments_of_differences_do_not_grow_without_limit(andrews):
    """Trap: they grow tenfold with every Jacobian where a column is small, until the quotients are wrong."""
    for method in ("Radau3", "BDF"):
        exact, difference = (mbdae.solve(andrews, SolveDae(method, jacobian=j), (0.0, 0.03), formulation="index2")
                             for j in ("exact", "difference"))
        assert difference.success, difference.message
        assert difference.statistics.residuals < 1.2 * exact.statistics.residuals


def test_jacobians_beyond_a_gap_do_not_end_the_run(fragile):
    """Trap: BDF asks for the Jacobian at the end of the step it tries; if there is none, the last one lets it cut the step."""
    s = mbdae.solve(fragile, SolveDae("BDF"), (0.0, 0.2))
    assert s.t[-1] == pytest.approx(BREAKS_AT, abs=1e-6)


def test_errors_of_the_package_are_told_from_those_of_the_user(system):
    """Trap: the factorisation of a singular sparse matrix raises RuntimeError, that of an infinite one ValueError."""

    class Singular:
        t_old, status = None, "running"

        def step(self):
            raise RuntimeError("Factor is exactly singular")

    callbacks = SolverCallbacks(mbdae.GGL(system), keeps=True)
    with pytest.raises(SolverFailure, match="solve-dae: Factor is exactly singular") as failure:
        dae._Stepper(Singular(), callbacks).step()
    assert failure.value.status == Status.SOLVER_FAILED


def test_tiny_tolerances_are_raised_in_silence(system, capfd):
    """Trap: the package warns about relative tolerances below its limit, and raises them."""
    assert mbdae.solve(system, SolveDae(), (0.0, 0.01), rtol=1e-15, atol=1e-12).success
    assert capfd.readouterr() == ("", "")


def test_values_that_were_not_finite_some_time_ago_explain_a_failure(fragile):
    """Trap: the package creeps up to a gap by ever smaller steps, the last of which may all have been good."""
    problem = mbdae.GGL(fragile)
    y, yd = problem.pack(mbdae.assemble(fragile))
    callbacks, out = SolverCallbacks(problem, recent=dae.RECENT), np.empty(problem.n)
    evaluate, failure = callbacks.residual(), SolverFailure(Status.STEP_TOO_SMALL, "too small")
    evaluate(1.0, y, yd, out)
    for _ in range(500):
        evaluate(0.0, y, yd, out)
    assert callbacks.explain(failure).status == Status.NOT_FINITE
    for _ in range(500):
        evaluate(0.0, y, yd, out)
    assert callbacks.explain(failure) is failure
