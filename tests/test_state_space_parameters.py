"""The parameters of the state-space methods beside the tolerances: each has its effect, and those out of bounds are refused."""

import re

import numpy as np
import pytest

import mbdae
from mbdae import library

from .helpers import thorough_but
from .state_space_cases import EVERY, EVERY_OF_ORDER_FOUR, METHODS, QUICK, exact, problem, run, system

NEWTON = thorough_but(QUICK, [name for name in METHODS if name != "RosenbrockNystrom"])
BAD = {"newton_tol": (0.0, -0.1, np.inf, np.nan, "x", True, [0.1]), "max_iter": (0, -1, 2.5, np.inf, "x", None, True),
       "reuse_rate": (-0.1, 1.0, np.inf, np.nan, "x", None, True), "max_jacobian_age": (-1, 0.5, np.inf, "x", True),
       "local_error": (0.0, -0.1, 1.1, np.inf, np.nan, "x", None, True),
       "max_condition_growth": (0.9, -1.0, np.nan, -np.inf, "x", None, True)}


def work(name, method, t_end, rtol=1e-5, **parameters):
    """Counters of a run."""
    return run(name, METHODS[method](**parameters), t_end, rtol=rtol).statistics


# --- Newton's method ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", NEWTON)
def test_a_small_kappa_costs_iterations_and_lowers_their_error(method):
    """The motion with fixed steps differs from that of fully converged iterations by less with a small `kappa`."""
    runs = {kappa: run("andrews", METHODS[method](fixed_step=1e-4, newton_tol=kappa), 0.005, rtol=1e-4) for kappa in (1.0, 1e-2, 1e-6)}
    off = [np.abs(runs[kappa].q[-1] - runs[1e-6].q[-1]).max() for kappa in (1.0, 1e-2)]
    iterations = [runs[kappa].statistics.newton_iterations for kappa in (1.0, 1e-2, 1e-6)]
    assert iterations[0] < iterations[1] < iterations[2]
    assert off[1] < 0.5 * off[0]


@pytest.mark.parametrize("method", thorough_but(QUICK, ["SdirkFirstOrder", "SdirkDescriptor"]))
def test_errors_of_the_iteration_do_not_add_up_at_small_tolerances(method):
    """At 1e-10 they were 21 to 27 tolerances on both mechanisms: `kappa` is at most `sqrt(rtol)`."""
    for name, t_end in (("double-pendulum", 2.0), ("andrews", 0.03)):
        found = exact(name, t_end)
        s = run(name, METHODS[method](), t_end, rtol=1e-10, atol=1e-12, t_eval=found.t)
        assert np.abs(s.q - found.q).max() < 8.0 * (1e-10 * np.abs(found.q).max() + 1e-12)


@pytest.mark.parametrize("method", NEWTON)
def test_one_iteration_for_a_stage(method):
    """With the limit 1 no stage has a second iteration, and more steps are rejected by Newton's method."""
    few, many = (work("andrews", method, 0.03, rtol=1e-4, max_iter=n) for n in (1, 10))
    stages = 5 if "Sdirk" in method else 1
    assert few.newton_iterations <= stages * (few.steps + few.rejected_error + few.rejected_newton)
    assert few.rejected_newton > 10 * (1 + many.rejected_newton)


# --- reuse of derivatives -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", NEWTON)
def test_derivatives_are_reused_up_to_a_contraction_rate(method):
    jacobians = [s.jacobians / s.steps for s in (work("stiff-double-pendulum", method, 0.5, reuse_rate=rate) for rate in (0.0, 1e-3, 0.3))]
    assert jacobians[0] >= jacobians[1] >= jacobians[2] and jacobians[0] > 1.2 * jacobians[2]


@pytest.mark.parametrize("method", NEWTON)
def test_derivatives_of_the_thesis_are_evaluated_in_every_step(method):
    """And only then: rejected steps keep them."""
    s = work("stiff-double-pendulum", method, 0.5, max_jacobian_age=0, first_step=1e-2)
    assert s.jacobians == s.steps and s.rejected_error + s.rejected_newton > 0


@pytest.mark.parametrize("method", NEWTON)
@pytest.mark.parametrize("age", [1, 4])
def test_the_age_of_derivatives_is_bounded(method, age):
    s = work("stiff-double-pendulum", method, 0.5, reuse_rate=0.9, max_jacobian_age=age)
    free = work("stiff-double-pendulum", method, 0.5, reuse_rate=0.9)
    assert s.jacobians >= s.steps / (age + 1) - 1
    assert s.jacobians / s.steps > free.jacobians / free.steps


def test_the_rosenbrock_method_has_no_iteration():
    for field, value in (("newton_tol", 0.1), ("max_iter", 5), ("reuse_rate", 0.1), ("max_jacobian_age", 0)):
        with pytest.raises(ValueError, match=f"RosenbrockNystrom: there is no Newton iteration, {field} must be left at its default, got"):
            mbdae.RosenbrockNystrom(**{field: value})


# --- charts ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["SdirkDescriptor", "RosenbrockNystrom"])
def test_the_growth_of_the_condition_number_triggers_new_coordinates(method):
    restarts = [work("double-spherical-pendulum", method, 2.0, rtol=1e-6, max_condition_growth=a).restarts for a in (1.0, 1.25, 5.0)]
    assert restarts[0] >= restarts[1] > restarts[2]


@pytest.mark.parametrize("method", ["SdirkDescriptor", "RosenbrockNystrom"])
def test_without_new_coordinates_the_motion_is_the_same_as_long_as_they_serve(method):
    found = exact("double-spherical-pendulum", 0.5)
    s = run("double-spherical-pendulum", METHODS[method](max_condition_growth=np.inf), 0.5, rtol=1e-7, t_eval=found.t)
    assert s.statistics.restarts == 0 and np.abs(s.q - found.q).max() < 1e-5


# --- tolerances by coordinates --------------------------------------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("form", ["partition", "tangent"])
def test_equal_tolerances_are_one_tolerance(method, form):
    s = system("andrews")
    for atol in (np.full(s.nq + s.nv, 1e-5), [1e-5] * (s.nq + s.nv)):
        one, each = (run("andrews", METHODS[method](), 0.01, form, rtol=1e-5, atol=a) for a in (1e-5, atol))
        assert (one.t == each.t).all() and (one.q == each.q).all() and (one.lam == each.lam).all()


@EVERY_OF_ORDER_FOUR
def test_one_tight_tolerance_governs_the_steps(method):
    """On an angle or on a velocity; loose ones elsewhere allow longer steps than tight ones everywhere."""
    s = system("andrews")
    steps = {}
    for name, tight in (("none", []), ("q", [2]), ("v", [s.nq]), ("all", slice(None))):
        atol = np.full(s.nq + s.nv, 1e-2)
        atol[tight] = 1e-8
        steps[name] = run("andrews", METHODS[method](), 0.01, rtol=1e-12, atol=atol).statistics.steps
    assert 2 * steps["none"] < steps["q"] < steps["all"] and 2 * steps["none"] < steps["v"] < steps["all"]


@pytest.mark.parametrize("method", METHODS)
def test_bad_tolerances(method):
    s = problem("andrews")
    n = s.system.nq + s.system.nv
    for atol in (0.0, np.full(n - 1, 1e-5), np.full((n, 1), 1e-5), np.append(np.full(n - 1, 1e-5), 0.0)):
        with pytest.raises(ValueError, match=f"{method}: atol must be one positive number, or {n} of them, for positions and velocities"):
            mbdae.solve(s, METHODS[method](), (0.0, 0.01), atol=atol)


def test_tight_tolerances_below_rounding_are_refused():
    s = system("andrews")
    with pytest.warns(UserWarning, match="below the rounding"):
        found = mbdae.solve(problem("andrews"), mbdae.SdirkFirstOrder(), (0.0, 0.01), rtol=1e-17, atol=np.full(s.nq + s.nv, 1e-18))
    assert found.status == mbdae.Status.STEP_TOO_SMALL and "tolerances are below rounding" in found.message


# --- local error ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", thorough_but(QUICK, [*METHODS, "SdirkSparse"]))
@pytest.mark.parametrize("rtol", [1e-3, 1e-4, 1e-6])
def test_errors_of_the_heavy_top_are_below_a_hundred_tolerances(method, rtol):
    """Its velocities are 150 times its positions; errors of steps of a whole tolerance add up to 170 to 3900 tolerances."""
    if method.startswith("Trapezoidal") and rtol < 1e-4:
        rtol = 1e-5  # 60 000 steps
    s, times = library.system("heavy-top"), np.linspace(0.0, 1.0, 101)
    exact = mbdae.solve(s, mbdae.DormandPrince(), (0.0, 1.0), rtol=1e-11, atol=1e-13, t_eval=times)
    found = mbdae.solve(s, getattr(mbdae, method)(), (0.0, 1.0), rtol=rtol, atol=rtol / 100, t_eval=times)
    for x, y in ((found.q, exact.q), (found.v, exact.v)):
        assert (np.abs(x - y) < 100.0 * (rtol * np.abs(y).max() + rtol / 100)).all()


@EVERY
def test_a_local_error_is_a_share_of_the_tolerances(method):
    """The same bits as with tolerances that are as much smaller; with steps of fixed length it does not count."""
    options = {"newton_tol": 1e-3} if method != "RosenbrockNystrom" else {}  # by default that depends on `rtol`, too
    one, share = (run("double-pendulum", METHODS[method](local_error=x, **options), 0.5, rtol=r, atol=r / 100)
                  for x, r in ((1.0, 2.0**-16), (0.25, 2.0**-14)))
    assert (one.t == share.t).all() and (one.q == share.q).all()
    fixed = [run("double-pendulum", METHODS[method](local_error=x, fixed_step=1e-2), 0.1, rtol=1e-6) for x in (1.0, 0.01)]
    assert (fixed[0].q == fixed[1].q).all()


def test_at_tight_tolerances_the_share_of_a_step_is_larger():
    """Rounding of the iteration would add up."""
    for method, limit in ((mbdae.SdirkFirstOrder, 2e-12), (mbdae.SdirkDescriptor, 2e-12), (mbdae.SdirkSparse, 7e-13)):
        runs = [mbdae.solve(library.system("double-pendulum"), method(local_error=x), (0.0, 0.05), rtol=2.0 * limit, atol=0.02 * limit)
                for x in (0.5, 0.01)]
        assert (runs[0].t == runs[1].t).all()


# --- validation -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("field", BAD)
def test_parameters_out_of_bounds_are_named(method, field):
    for value in BAD[field]:
        with pytest.raises(ValueError, match=f"{method}: {field} must be.*{re.escape(repr(value))}"):
            METHODS[method](**{field: value})


def test_parameters_at_their_bounds():
    mbdae.SdirkFirstOrder(newton_tol=1e-9, max_iter=1, reuse_rate=0.0, max_jacobian_age=0, max_condition_growth=1.0)
    mbdae.SdirkFirstOrder(newton_tol=np.float32(0.1), max_iter=np.int64(7), max_jacobian_age=np.int64(3), max_condition_growth=np.inf)
    assert mbdae.SdirkFirstOrder(newton_tol=None, max_iter=10) == mbdae.SdirkFirstOrder()
