"""The explicit Runge-Kutta methods: orders, constraints, errors and tolerances, dense output, work, what they refuse and how they fail."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import mbdae
from mbdae import DormandPrince, HalfExplicit, Status, library
from mbdae.adapters.scipy import SolveIvp

from .explicit_cases import CASES, driven_pendulum, orders, rubbing_slider, system
from .helpers import relative, thorough_but
from .state_space_cases import spring_wheel

ORDERS = (8, 5)
EVERY_ORDER = pytest.mark.parametrize("order", ORDERS)
EVERY_FORMULA = pytest.mark.parametrize("formula", ["PHEM56", "HEM5"])


def run(s, method=None, span=(0.0, 1.0), rtol=1e-6, **options):
    """A run that must succeed."""
    found = mbdae.solve(s, method or DormandPrince(), span, rtol=rtol, **{"atol": rtol / 100} | options)
    assert found.success, found.message
    return found


def violations(s, solution):
    """Largest residuals of the constraints on three levels and of the equations of motion, relative to what they consist of."""
    out = np.zeros(4)
    for t, q, v, a, lam in zip(solution.t, solution.q, solution.v, solution.a, solution.lam):
        G = s.phi_q(t, q)
        force = s.force(t, q, v, lam)
        pairs = ((s.phi(t, q), q), (G @ v - s.nu(t, q), v), (G @ a - s.gamma(t, q, v), a),
                 (s.mass_times(t, q, a) + G.T @ lam - force, np.r_[force, lam]))
        out = np.maximum(out, [np.abs(x).max(initial=0.0) / (1.0 + np.abs(y).max()) for x, y in pairs])
    return out


# --- orders --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", thorough_but(("driven pendulum", "random-tree"), CASES))
@EVERY_ORDER
def test_observed_orders_of_positions_velocities_and_multipliers(name, order):
    """Found within 0.25 for order 8 and 0.32 for order 5, and within 0.1 where rounding leaves a longer range."""
    slopes, rows = orders(name, order)
    found = np.array(slopes)[np.isfinite(slopes)]
    assert np.abs(found - order).max() < 0.35, (slopes, rows)
    assert np.nanmax(rows[-1, 1:]) < 1e-4


@pytest.mark.parametrize("name", thorough_but(("driven pendulum", "bricard"), [name for name in CASES if name != "rubbing slider"]))
def test_observed_orders_of_the_half_explicit_method(name):
    """Found within 0.25: 4.8 on the four-bar mechanism and with redundant constraints, which leave out a row of the linear equations."""
    slopes, rows = orders(name, 5, HalfExplicit)
    found = np.array(slopes)[np.isfinite(slopes)]
    assert np.abs(found - 5.0).max() < 0.3, (slopes, rows)
    assert np.nanmax(rows[-1, 1:]) < 1e-5


@pytest.mark.parametrize("name", thorough_but(("driven pendulum", "bricard"), [name for name in CASES if name != "rubbing slider"]))
def test_observed_orders_of_hem5(name):
    slopes, rows = orders(name, 5, partial(HalfExplicit, "HEM5"))
    found = np.array(slopes)[np.isfinite(slopes)]
    assert np.abs(found - 5.0).max() < 0.3, (slopes, rows)
    assert np.nanmax(rows[-1, 1:]) < 1e-5


@pytest.mark.parametrize(("order", "expected", "numbers"), [(8, 7, (20, 25, 30, 40)), (5, 4, (40, 60, 80, 120))])
def test_dense_output_has_order_seven_or_four(order, expected, numbers):
    s, t_end = system("double-spherical-pendulum"), 1.5
    times = np.linspace(0.0, t_end, 141)[1:-1]
    exact = run(s, DormandPrince(fixed_step=t_end / 400), (0.0, t_end), t_eval=times)
    found = []
    for n in numbers:
        q, v, _, lam = run(s, DormandPrince(order, fixed_step=t_end / n), (0.0, t_end), dense_output=True).sol(times)
        found.append([np.sqrt(np.mean((x - y) ** 2)) for x, y in ((q, exact.q), (v, exact.v), (lam, exact.lam))])
    slopes = np.polyfit(np.log(t_end / np.array(numbers)), np.log(np.array(found)), 1)[0]
    assert min(slopes) > expected + 0.5 and max(slopes) < expected + 2.0, (slopes, found)  # one more where the error of the step prevails


@EVERY_FORMULA
def test_dense_output_of_the_half_explicit_method_has_order_four(formula):
    s, t_end = system("double-spherical-pendulum"), 1.5
    times = np.linspace(0.0, t_end, 141)[1:-1]
    exact = run(s, DormandPrince(fixed_step=t_end / 400), (0.0, t_end), t_eval=times)
    found = []
    for n in (40, 60, 80, 120):
        x = run(s, HalfExplicit(formula, fixed_step=t_end / n), (0.0, t_end), t_eval=times)
        found.append([np.sqrt(np.mean((x.q - exact.q) ** 2)), np.sqrt(np.mean((x.v - exact.v) ** 2))])
    slopes = np.polyfit(np.log(t_end / np.array((40, 60, 80, 120))), np.log(np.array(found)), 1)[0]
    assert min(slopes) > 4.5 and max(slopes) < 6.0, (slopes, found)


# --- states --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", thorough_but(("bricard", "driven pendulum", "random-tree"), CASES))
@EVERY_ORDER
def test_every_step_ends_on_the_constraints_with_the_equations_of_motion_satisfied(name, order):
    s = system(name)
    found = run(s, DormandPrince(order), (0.0, 0.5), rtol=1e-4)
    assert found.statistics.steps > 3
    assert violations(s, found).max() < 5e-14, violations(s, found)


@EVERY_FORMULA
def test_half_explicit_steps_end_on_the_constraints_too(formula):
    for name in ("bricard", "driven pendulum"):
        found = run(system(name), HalfExplicit(formula), (0.0, 0.5), rtol=1e-4)
        assert found.formulation == "index2" and found.statistics.steps > 3
        assert violations(system(name), found).max() < 5e-14


@EVERY_ORDER
def test_states_within_the_steps_are_on_the_constraints_and_those_of_dense_output(order):
    s, times = library.system("spatial-four-bar"), np.linspace(0.0, 0.7, 23)
    method = DormandPrince(order, controller=mbdae.ELEMENTARY, local_error={8: 1.0, 5: 0.5}[order])  # with long steps
    given = run(s, method, (0.0, 0.7), rtol=1e-5, t_eval=times)
    steps = run(s, method, (0.0, 0.7), rtol=1e-5, dense_output=True)
    assert steps.statistics.steps < 30
    assert violations(s, given).max() < 5e-14
    for x, y in zip((given.q, given.v, given.a, given.lam), steps.sol(times)):
        assert relative(x, y) < 1e-10
    for k in range(len(steps.t)):
        assert relative(steps.sol(steps.t[k])[0], steps.q[k]) < 1e-14


def test_multipliers_of_redundant_constraints_have_minimum_norm():
    s = library.system("bricard")
    found = run(s, span=(0.0, 1.0))
    for t, q, lam in zip(found.t, found.q, found.lam):
        U, sigma, _ = np.linalg.svd(s.phi_q(t, q).toarray())
        null = U[:, len(sigma[sigma > 1e-9]):]
        assert null.shape[1] >= 1 and np.abs(null.T @ lam).max() < 1e-12 * np.abs(lam).max()


def test_a_free_body_without_constraints_keeps_the_length_of_its_quaternion():
    body = mbdae.RigidBody("brick", 1.0, (1.0, 2.0, 2.7), velocity=(1.0, 0.0, 2.0), omega=(0.1, 5.0, 0.2))
    s = mbdae.System(mbdae.Mechanism("brick", [body], gravity=(0.0, 0.0, -9.81)))
    assert s.nc == 0
    found = run(s, span=(0.0, 5.0), rtol=1e-9)
    assert np.abs(np.linalg.norm(found.q[:, 3:], axis=1) - 1.0).max() < 1e-15
    np.testing.assert_allclose(found.q[-1, :3], [5.0, 0.0, 10.0 - 0.5 * 9.81 * 25.0], atol=1e-10)
    assert np.ptp(found.energy - found.energy[0]) < 1e-7


# --- errors and tolerances -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", thorough_but(("andrews", "heavy-top"), ("andrews", "heavy-top", "double-pendulum", "spatial-four-bar",
                                                                         "bricard", "random-tree", "slider-crank-free")))
@EVERY_ORDER
def test_errors_follow_the_tolerance(name, order):
    """Found: at most 24 tolerances with order 8, 55 with order 5; the peer 39 and 830."""
    s, t_end = library.system(name), {"andrews": 0.03, "random-tree": 0.5}.get(name, 1.0)
    exact = run(s, DormandPrince(), (0.0, t_end), rtol=1e-13, t_eval=np.linspace(0.0, t_end, 21))
    other = run(s, SolveIvp("DOP853"), (0.0, t_end), rtol=1e-13, t_eval=exact.t)
    assert relative(exact.q, other.q) < 1e-10
    found = []
    for k in range(3, 11):
        x = run(s, DormandPrince(order), (0.0, t_end), rtol=10.0**-k, t_eval=exact.t)
        sizes = (np.abs(exact.q).max(), np.abs(exact.v).max())
        found.append(max(np.abs(a - b).max() / (size + 0.01) for a, b, size in zip((x.q, x.v), (exact.q, exact.v), sizes)))
    assert max(np.array(found) * 10.0 ** np.arange(3, 11)) < 100.0, found
    assert (np.diff(found) < 0.0).all(), found


def test_the_projection_takes_errors_off_a_spinning_top():
    """At the same tolerance and number of steps 30 to 60 times smaller errors than without it."""
    s, method = library.system("heavy-top"), {"projected": DormandPrince(controller=mbdae.ELEMENTARY), "not": SolveIvp("DOP853")}
    exact = run(s, DormandPrince(fixed_step=1e-4), (0.0, 1.0), t_eval=[1.0])
    off = {k: run(s, m, (0.0, 1.0), rtol=1e-8, t_eval=[1.0]) for k, m in method.items()}
    steps = [x.statistics.steps for x in off.values()]
    assert abs(steps[0] - steps[1]) <= 2
    d = {k: relative(x.q, exact.q) for k, x in off.items()}
    assert d["projected"] < 0.1 * d["not"] and d["projected"] < 1e-7


@EVERY_ORDER
def test_a_run_there_and_back(order):
    s = library.system("double-spherical-pendulum")
    there = run(s, DormandPrince(order), (0.5, 1.5), rtol=1e-10)
    back = run(s, DormandPrince(order), (1.5, 0.5), rtol=1e-10, state=there.state())
    assert relative(back.q[-1], there.q[0]) < 1e-8 and relative(back.v[-1], there.v[0]) < 1e-8
    assert back.statistics.steps > 5


def test_an_absolute_tolerance_for_each_component():
    s = system("double-spherical-pendulum")
    tight, loose = np.full(s.nq + s.nv, 1e-9), np.full(s.nq + s.nv, 1e-9)
    loose[s.nq:] = 1e3
    few = [mbdae.solve(s, DormandPrince(), (0.0, 1.0), rtol=1e-12, atol=x).statistics.steps for x in (tight, loose)]
    assert few[1] < few[0]
    with pytest.raises(ValueError, match="atol must be a number or have shape"):
        mbdae.solve(s, DormandPrince(), (0.0, 1.0), atol=np.ones(3))


# --- forces and systems of all kinds -------------------------------------------------------------------------------------


def forced(law):
    m = library.mechanism("double-pendulum")
    wind = mbdae.UserForce("wind", (m.bodies[1].name,), law)
    return mbdae.System(mbdae.Mechanism("forced", m.bodies, m.joints, forces=[*m.forces, wind], gravity=m.gravity))


def blow(t, r, A, v, omega, F, T):
    F[0, 0] = 3.0 * np.sin(5.0 * t) - 0.2 * v[0, 0]


@pytest.mark.parametrize("make", [driven_pendulum, rubbing_slider, lambda: library.system("slider-crank", mu=0.2),
                                  lambda: forced(blow)], ids=("rheonomic", "smooth friction", "driven, friction", "Python force"))
def test_the_motion_is_that_of_another_method(make):
    s, t_end = make(), 0.3
    found, other = (run(s, m, (0.0, t_end), rtol=1e-9, t_eval=[0.2, t_end]) for m in (DormandPrince(), SolveIvp("Radau")))
    for name, bound in (("q", 1e-7), ("v", 1e-6), ("a", 1e-5), ("lam", 1e-5)):
        assert relative(getattr(found, name), getattr(other, name)) < bound, name


def test_systems_of_functions_have_the_same_motion():
    s = mbdae.System.from_functions(nq=2, nc=1, mass=lambda t, q: 2.0 * np.eye(2), force=lambda t, q, v: np.array([0.0, -2.0 * 9.81]),
                                    phi=lambda t, q: np.array([q @ q - 1.0]), q0=[1.0, 0.0], name="user pendulum")
    found, exact = run(s, span=(0.0, 2.0), rtol=1e-10), run(s, SolveIvp("DOP853"), (0.0, 2.0), rtol=1e-12)
    assert relative(found.q[-1], exact.q[-1]) < 1e-8 and np.abs(found.q[:, 0] ** 2 + found.q[:, 1] ** 2 - 1.0).max() < 1e-15


def test_a_start_with_accelerations_that_are_not_exact_is_evaluated_anew():
    s = library.system("double-pendulum")
    x = s.start
    rough = mbdae.State(x.t, x.q, x.v, x.a + 1e-10, x.lam)
    one, other = (run(s, span=(0.0, 0.2), state=given, t_eval=[0.1, 0.2]) for given in (x, rough))
    np.testing.assert_array_equal(one.q, other.q)


# --- work ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("order", "each", "rejected"), [(8, 12, 11), (5, 6, 6)])
def test_work_of_a_step(order, each, rejected):
    """One evaluation a stage; the first one is that of the end of the step before, and two are needed for the first step size."""
    method = DormandPrince(order, controller=mbdae.ELEMENTARY, local_error={8: 1.0, 5: 0.5}[order])
    found = run(library.system("andrews"), method, (0.0, 0.02), rtol=1e-5)
    c = found.statistics
    assert c.rejected_error > 0 == c.rejected_newton == c.jacobians == c.newton_iterations == c.residuals_jacobian
    assert c.residuals == 2 + each * c.steps + rejected * c.rejected_error
    # one factorisation at the end of a step, for its projection and its accelerations; seldom a second one
    assert c.residuals <= c.factorisations <= c.residuals + 0.1 * c.steps
    assert c.steps <= run(library.system("andrews"), SolveIvp({8: "DOP853", 5: "RK45"}[order]), (0.0, 0.02), rtol=1e-5).statistics.steps + 8


@pytest.mark.parametrize("method", [DormandPrince(8), DormandPrince(5), HalfExplicit(), HalfExplicit("HEM5")],
                         ids=["8", "5", "half-explicit", "HEM5"])
def test_a_local_error_is_a_share_of_the_tolerances(method):
    """The same bits as with tolerances that are as much smaller; with steps of fixed length it does not count."""
    s, usual = library.system("double-pendulum"), method.usual_local_error
    one, shared = (run(s, replace(method, local_error=x), (0.0, 0.5), rtol=r, atol=r / 100) for x, r in ((1.0, 2.0**-16), (0.25, 2.0**-14)))
    assert (one.t == shared.t).all() and (one.q == shared.q).all()
    given, default = (run(s, m, (0.0, 0.5), rtol=1e-5) for m in (replace(method, local_error=usual), method))
    assert (given.t == default.t).all() and (given.q == default.q).all()
    fixed = [run(s, replace(method, local_error=x, fixed_step=1e-2), (0.0, 0.1), rtol=1e-6) for x in (1.0, 0.01)]
    assert (fixed[0].q == fixed[1].q).all()


@pytest.mark.parametrize("value", [0.0, -1.0, 1.5, np.nan, "small", True])
def test_a_local_error_out_of_bounds_is_named(value):
    for method in (DormandPrince, HalfExplicit):
        with pytest.raises(ValueError, match=f"{method.__name__}: local_error must be above 0 and at most 1"):
            method(local_error=value)


@pytest.mark.parametrize("method", [DormandPrince(8), DormandPrince(5), HalfExplicit()], ids=["8", "5", "half-explicit"])
def test_a_cautious_controller_rejects_fewer_steps_and_costs_hardly_more(method):
    """Beside the usual safety factor, in the mean of mechanisms and tolerances."""
    means = {}
    for controller in (method.controller, mbdae.ELEMENTARY):
        found = []
        for name, t_end in (("andrews", 0.05), ("double-spherical-pendulum", 2.0), ("spatial-four-bar", 1.0), ("slider-crank-free", 1.0)):
            s, t = library.system(name), np.linspace(0.0, t_end, 41)
            exact = run(s, DormandPrince(), (0.0, t_end), rtol=1e-12, t_eval=t)
            for rtol in np.geomspace(1e-3, 1e-8, 11):
                x = run(s, replace(method, controller=controller), (0.0, t_end), rtol=rtol, atol=0.01 * rtol, t_eval=t)
                found.append([x.statistics.rejected_error, np.log(x.nfev), np.log(relative(x.q, exact.q))])
        means[controller] = np.mean(found, axis=0)
    rejected, evaluations, error = zip(means[method.controller], means[mbdae.ELEMENTARY])
    assert rejected[0] < 0.5 * rejected[1] and evaluations[0] < evaluations[1] + 0.1 and error[0] < error[1] - 0.3


@pytest.mark.parametrize("name", ["andrews", "spatial-four-bar", "bricard", "slider-crank", "stewart-platform"])
@pytest.mark.parametrize("rtol", [1e-2, 1e-5])
def test_projections_by_factors_of_the_last_stage_reach_rounding(name, rtol):
    """Long steps, whose last stage is far from their end, too."""
    found = run(library.system(name), DormandPrince(5), (0.0, 0.05), rtol=rtol, atol=rtol)
    scale = 1.0 + np.array([np.abs(x).max() for x in (found.q, found.v, found.a)])
    assert (found.constraint_residuals[1:].max(axis=0) < 1e-14 * scale).all()


def test_dense_output_costs_three_stages_a_step():
    s = library.system("double-pendulum")
    plain, dense = (run(s, span=(0.0, 0.5), dense_output=x).statistics for x in (False, True))
    assert dense.residuals == plain.residuals + 3 * plain.steps
    plain, dense = (run(s, DormandPrince(5), (0.0, 0.5), dense_output=x).statistics for x in (False, True))
    assert dense.residuals == plain.residuals


@pytest.mark.parametrize("name", thorough_but(("double-pendulum",), ("double-pendulum", "andrews", "heavy-top", "bricard", "random-tree")))
@EVERY_FORMULA
def test_errors_of_the_half_explicit_method_follow_the_tolerance(name, formula):
    """Found: at most 83 tolerances."""
    s, t_end = library.system(name), {"andrews": 0.03, "random-tree": 0.5}.get(name, 1.0)
    exact = run(s, DormandPrince(), (0.0, t_end), rtol=1e-13, t_eval=np.linspace(0.0, t_end, 21))
    found = []
    for k in range(3, 11):
        x = run(s, HalfExplicit(formula), (0.0, t_end), rtol=10.0**-k, t_eval=exact.t)
        found.append(max(np.abs(a - b).max() / (np.abs(b).max() + 0.01) for a, b in ((x.q, exact.q), (x.v, exact.v))))
    assert max(np.array(found) * 10.0 ** np.arange(3, 11)) < 100.0, found
    assert (np.diff(found) < 0.0).all(), found


@EVERY_FORMULA
def test_half_explicit_errors_at_loose_tolerances(formula):
    """Its estimate is too small where steps are long: with errors of steps of a whole tolerance they were up to 850 tolerances."""
    s, t = library.system("slider-crank-free"), np.linspace(0.0, 1.0, 101)
    exact = mbdae.solve(s, DormandPrince(), (0.0, 1.0), rtol=1e-12, atol=1e-14, t_eval=t)
    for rtol in np.geomspace(8e-6, 1.25e-3, 30):
        found = mbdae.solve(s, HalfExplicit(formula), (0.0, 1.0), rtol=rtol, atol=1e-2 * rtol, t_eval=t)
        assert np.abs(found.v - exact.v).max() < 100.0 * rtol * np.abs(exact.v).max(), rtol


def test_work_of_a_half_explicit_step():
    """As many evaluations as DOPRI5; five stages factorise for two positions."""
    c = run(library.system("andrews"), HalfExplicit(), (0.0, 0.02), rtol=1e-5).statistics
    attempts = c.steps + c.rejected_error
    assert c.rejected_error > 0 == c.rejected_newton == c.jacobians and c.residuals == 2 + 6 * attempts
    assert 2 + 10 * attempts < c.factorisations <= 2 + 13 * attempts


def test_work_of_a_step_of_hem5():
    """The stage at the start has no evaluation of its own; eight stages factorise for two positions."""
    c = run(library.system("andrews"), HalfExplicit("HEM5"), (0.0, 0.02), rtol=1e-5).statistics
    attempts = c.steps + c.rejected_error
    assert c.rejected_error > 0 == c.rejected_newton == c.jacobians and c.residuals == 2 + 8 * attempts + c.steps


def test_a_formula_that_is_none():
    with pytest.raises(ValueError, match="HalfExplicit: formula must be one of PHEM56, HEM5, got 'HEM4'"):
        HalfExplicit("HEM4")
    assert HalfExplicit("HEM5").label == "HalfExplicit(HEM5)" and HalfExplicit(fixed_step=0.01).label == "HalfExplicit(fixed_step=0.01)"


def test_the_half_explicit_method_refuses_friction():
    with pytest.raises(ValueError, match="HalfExplicit: forces of rubbing slider depend on the multipliers"):
        mbdae.solve(rubbing_slider(), HalfExplicit(), (0.0, 0.1))
    with pytest.raises(ValueError, match="cannot take the form 'ode': it discretises the index-2 equations"):
        mbdae.solve(library.system("double-pendulum"), HalfExplicit(), (0.0, 0.1), formulation="ode")


# --- parameters and failures ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("given", "message"), [
    ({"order": 7}, "DormandPrince: order must be 8 or 5, got 7"), ({"order": 8.0}, "order must be 8 or 5, got 8.0"),
    ({"order": True}, "order must be 8 or 5"), ({"order": "8"}, "order must be 8 or 5, got '8'"), ({"first_step": -1.0}, "first_step"),
    ({"fixed_step": np.nan}, "fixed_step"), ({"max_step": 0.0}, "max_step"), ({"max_steps": 0}, "max_steps"),
    ({"controller": "PI"}, "controller must be a StepSizeController"),
    ({"fixed_step": 0.1, "controller": mbdae.PI}, "steps of fixed size need no controller")])
def test_bad_parameters_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        DormandPrince(**given)


@pytest.mark.parametrize("more", [{"alpha": 5.0}, {"beta": 5.0}, {"project": False}])
def test_problems_that_are_stabilised_in_another_way_are_refused(more):
    with pytest.raises(ValueError, match="the problem must be UnderlyingODE\\(system\\)"):
        mbdae.solve(mbdae.UnderlyingODE(library.system("double-pendulum"), **more), DormandPrince(), (0.0, 0.1))


def test_other_forms_are_refused():
    with pytest.raises(ValueError, match="cannot take the form 'index3': it integrates the underlying ODE and projects"):
        mbdae.solve(library.system("double-pendulum"), DormandPrince(), (0.0, 0.1), formulation="index3")


def test_options_have_their_effect():
    s = library.system("double-pendulum")
    assert np.diff(run(s, DormandPrince(max_step=0.01), (0.0, 0.2)).t).max() <= 0.01 * 1.011
    assert run(s, DormandPrince(first_step=1e-4), (0.0, 0.2)).t[1] == 1e-4
    fixed = run(s, DormandPrince(fixed_step=0.03), (0.0, 0.2))
    np.testing.assert_allclose(fixed.t, [0.03 * k for k in range(7)] + [0.2])
    assert DormandPrince(fixed_step=0.03).step_size == 0.03 and DormandPrince().step_size is None
    smooth = run(s, DormandPrince(controller=mbdae.PI), (0.0, 1.0))
    assert smooth.statistics.steps > 0 and DormandPrince(5, fixed_step=0.1).label == "DormandPrince(5, fixed_step=0.1)"


@EVERY_ORDER
def test_stiffness_is_named_where_a_run_ends_for_it(order):
    stiff, soft = spring_wheel(1e8, damping=1e4), library.mechanism("double-pendulum")
    found = mbdae.solve(stiff, DormandPrince(order, max_steps=500), (0.0, 1.0), rtol=1e-4, atol=1e-4)
    assert found.status == Status.TOO_MANY_STEPS and "the equations seem to be stiff" in found.message, found.message
    found = mbdae.solve(soft, DormandPrince(order, max_steps=60, max_step=1e-3), (0.0, 1.0), rtol=1e-4, atol=1e-4)
    assert found.status == Status.TOO_MANY_STEPS and "stiff" not in found.message


def test_a_singular_position_ends_the_run():
    s = library.system("n-four-bar")
    found = mbdae.solve(s, DormandPrince(), (0.0, 2.0), rtol=1e-10, atol=1e-12)
    assert found.status == Status.SINGULAR and "singular position" in found.message, found.message


def test_forces_that_are_not_finite_end_the_run_at_their_time():
    def law(t, r, A, v, omega, F, T):
        F[0, 0] = np.nan if t > 0.123 else 0.0

    found = mbdae.solve(forced(law), DormandPrince(), (0.0, 1.0))
    assert found.status == Status.NOT_FINITE and 0.12 < found.t[-1] <= 0.123 and "wind" in found.message
