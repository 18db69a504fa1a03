"""Radau IIA methods: coefficients, orders, constraints, errors and tolerances, stiff mechanisms, dense output, failures."""

from collections import namedtuple
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

import mbdae
from mbdae import RadauIIA, Status, library
from mbdae.integrators.radau import arrays
from mbdae.integrators.radau.interpolation import integrals_at
from mbdae.integrators.radau.order import next_level
from mbdae.integrators.radau.stepper import RadauStepper
from mbdae.integrators.radau.tableau import STAGES, radau
from mbdae.system.sparse_lu import new_factors

from .explicit_cases import CASES, driven_pendulum, rubbing_slider, system
from .helpers import relative, thorough_but
from .stiff_cases import clutched

ORDERS = 5, 9, 13
STEPS = {  # numbers of steps in the asymptotic range, above rounding
    ("driven pendulum", 5): (24, 32, 48, 64), ("driven pendulum", 9): (8, 12, 16, 20), ("driven pendulum", 13): (6, 8),
    ("damped pendulum", 5): (24, 32, 48, 64), ("damped pendulum", 9): (8, 12, 16, 20), ("damped pendulum", 13): (8, 10),
    ("double-spherical-pendulum", 5): (32, 48, 64, 96), ("double-spherical-pendulum", 9): (16, 20, 24, 32),
    ("double-spherical-pendulum", 13): (14, 16), ("bricard", 5): (48, 64, 96), ("spatial-four-bar", 5): (48, 64, 96),
    ("rubbing slider", 5): (24, 32, 48, 64), ("rubbing slider", 9): (16, 20, 24, 32), ("rubbing slider", 13): (12, 14),
    ("random-tree", 5): (48, 64, 96), ("random-tree", 9): (16, 20, 24, 32), ("random-tree", 13): (10, 12, 14, 16)}
TOLERANCES = 10.0 ** -np.arange(3.0, 11.0)
SMOOTH = {"double-pendulum": 1.0, "double-spherical-pendulum": 1.0, "slider-crank-free": 0.5, "slider-crank": 0.5, "andrews": 0.03,
          "heavy-top": 0.5, "precessing-top": 0.3, "spatial-four-bar": 1.0, "bricard": 1.0, "stewart-platform": 1.0, "random-tree": 0.5,
          "stiff-double-pendulum": 0.5, "flexible-slider-crank": 0.02, "stiff-pendulum": 1.0}


def run(s, method=None, span=(0.0, 1.0), rtol=1e-6, **options):
    """A run that must succeed."""
    found = mbdae.solve(s, method or RadauIIA(), span, rtol=rtol, **{"atol": rtol / 100} | options)
    assert found.success, found.message
    return found


@cache
def exact(name, t_end, stiff=False):
    """The motion at 20 times by a method of another kind at a tight tolerance."""
    s = system(name) if name in CASES else library.system(name)
    times = np.linspace(0.0, t_end, 21)
    return s, run(s, RadauIIA(13) if stiff else mbdae.DormandPrince(), (0.0, t_end), rtol=1e-12, t_eval=times)


# --- coefficients --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("s", STAGES)
def test_simplifying_assumptions(s):
    """`B(2 s - 1)`, `C(s)`, `D(s - 1)`, and no more; stiffly accurate."""
    f = radau(s)
    A, b, c = f.A, f.A[-1], f.c
    assert c[-1] == 1.0
    for k in range(1, 2 * s):
        assert b @ c ** (k - 1) == pytest.approx(1.0 / k, abs=1e-15)
    assert abs(b @ c ** (2 * s - 1) - 0.5 / s) > 1e-9
    for k in range(1, s + 1):
        np.testing.assert_allclose(A @ c ** (k - 1), c**k / k, atol=1e-15)
    for k in range(1, s):
        np.testing.assert_allclose((b * c ** (k - 1)) @ A, b * (1.0 - c**k) / k, atol=1e-15)


@pytest.mark.parametrize("s", STAGES)
def test_eigenvectors_decouple_the_stages(s):
    f = radau(s)
    np.testing.assert_allclose(f.A @ f.inverse, np.eye(s), atol=1e-12)
    sums = f.real * np.outer(f.right, f.left) + 2.0 * ((f.right_pairs * f.pairs) @ f.left_pairs).real
    np.testing.assert_allclose(sums, f.inverse, atol=1e-10)
    assert len(f.pairs) == (s - 1) // 2 and f.real > 0.0


def test_three_stages_are_those_of_radau5():
    """Nodes, and the weights of the error estimate in terms of `Z_i`, of Hairer and Wanner, section IV.8."""
    f, root = radau(3), np.sqrt(6.0)
    np.testing.assert_allclose(f.c, [(4.0 - root) / 10.0, (4.0 + root) / 10.0, 1.0], rtol=1e-15)
    np.testing.assert_allclose(-f.start, [-(13.0 + 7.0 * root) / 3.0, (-13.0 + 7.0 * root) / 3.0, -1.0 / 3.0], rtol=1e-13)


@pytest.mark.parametrize("s", STAGES)
def test_coefficients_of_the_interpolant_integrate_polynomials(s):
    f = radau(s)
    x, out = f.lobatto, np.empty(STAGES[-1] + 3)
    assert x[0] == 0.0 and x[-1] == 1.0 and len(x) == s + 3
    for k in range(len(x)):
        np.testing.assert_allclose(f.rises @ x**k, x ** (k + 1) / (k + 1), atol=1e-15)
        for theta in (0.0, 0.3, 0.77, 1.0):
            integrals_at(theta, f, out)
            assert out[:len(x)] @ x**k == pytest.approx(theta ** (k + 1) / (k + 1), abs=1e-14)


# --- orders --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "order"), [
    pytest.param(*case, marks=() if case[0] in ("driven pendulum", "damped pendulum") else pytest.mark.thorough) for case in STEPS])
def test_observed_orders_of_positions_velocities_and_multipliers(name, order):
    """`2 s - 1` in `q`, `v` and in `lam`, which follows from them; the joints of the tree move fast, and only `q` shows its order there."""
    s, t_end, numbers = system(name), 0.3 if name == "random-tree" else 1.0, STEPS[name, order]
    best = run(s, mbdae.ProjectedGauss(h=t_end / 400, stages=4), (0.0, t_end), t_eval=[t_end])
    found = [run(s, RadauIIA(order, fixed_step=t_end / n), (0.0, t_end), t_eval=[t_end]) for n in numbers]
    rows = [[relative(getattr(x, y), getattr(best, y)) for y in ("q", "v", "lam") if getattr(best, y).size] for x in found]
    slopes = np.polyfit(np.log(1.0 / np.array(numbers)), np.log(np.array(rows)), 1)[0]
    assert slopes[0] > order - {5: 0.2, 9: 1.0, 13: 2.0}[order] and min(slopes) > 0.7 * order, (slopes, rows)


@pytest.mark.parametrize("order", [5, 9])
def test_dense_output_has_the_order_of_the_polynomial(order):
    """An error of order `s + 1` at least, that of the collocation polynomial of degree `s`, and without stiff forces that of the method."""
    s, t_end = system("double-spherical-pendulum"), 1.0
    times = np.linspace(0.0, t_end, 83)[1:-1]
    best = run(s, mbdae.DormandPrince(), (0.0, t_end), rtol=1e-13, t_eval=times)
    numbers, rows = {5: (40, 60, 80), 9: (16, 20, 28)}[order], []
    for n in numbers:
        found = run(s, RadauIIA(order, fixed_step=t_end / n), (0.0, t_end), dense_output=True)
        given = run(s, RadauIIA(order, fixed_step=t_end / n), (0.0, t_end), t_eval=times)
        for x, y in zip(found.sol(times), (given.q, given.v, given.a, given.lam)):
            assert relative(x, y) < 1e-6
        assert np.abs([s.phi(t, q) for t, q in zip(times, given.q)]).max() < 1e-12
        rows.append([relative(given.q, best.q), relative(given.v, best.v)])
    slopes = np.polyfit(np.log(1.0 / np.array(numbers)), np.log(np.array(rows)), 1)[0]
    assert min(slopes) > (order + 1) / 2 + 0.5, (slopes, rows)
    assert min(slopes) > order - 0.5, (slopes, rows)


@pytest.mark.parametrize("order", ["variable", *ORDERS])
@pytest.mark.parametrize(("name", "rtol"), [
    ("double-spherical-pendulum", 1e-8),
    *(pytest.param(*case, marks=pytest.mark.thorough)
      for case in (("double-spherical-pendulum", 1e-6), ("andrews", 1e-8), ("spatial-four-bar", 1e-8)))])
def test_errors_within_the_steps_are_those_at_the_steps(name, order, rtol):
    """Without stiff forces they are below three times as large, in `q`, `v`, `a` and `lam`; and no stiff ones are taken for others."""
    s, t_end = library.system(name), SMOOTH[name]
    method, times = RadauIIA(order), t_end * (np.arange(60) + 0.4) / 60
    steps, given = run(s, method, (0.0, t_end), rtol, dense_output=True), run(s, method, (0.0, t_end), rtol, t_eval=times)
    best, there = (run(s, mbdae.DormandPrince(max_step=t_end / 500), (0.0, t_end), 1e-13, t_eval=t) for t in (times, steps.t[1:]))
    for x, y in zip(steps.sol(times), ("q", "v", "a", "lam")):
        error = np.abs(getattr(steps, y)[1:] - getattr(there, y)).max()
        rounding = 1e-11 * np.abs(getattr(best, y)).max()
        assert np.abs(getattr(given, y) - getattr(best, y)).max() < 3.0 * error + rounding
        assert np.abs(x - getattr(best, y)).max() < 3.0 * error + rounding


@pytest.mark.parametrize("order", thorough_but((5,), ORDERS))
def test_stiff_forces_do_not_spoil_the_interpolant(order):
    """The collocation polynomial is kept where accelerations amplify its errors."""
    s, t_end, rtol = library.system("stiff-double-pendulum"), 0.3, 1e-6
    times = t_end * (np.arange(60) + 0.4) / 60
    found, best = (run(s, method, (0.0, t_end), tol, t_eval=times) for method, tol in ((RadauIIA(order), rtol), (RadauIIA(13), 1e-12)))
    assert relative(found.q, best.q) < 10.0 * rtol and relative(found.v, best.v) < 10.0 * rtol


# --- states, errors and tolerances ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", thorough_but(("bricard", "driven pendulum"), CASES))
def test_every_step_ends_on_the_constraints(name):
    s = system(name)
    found = run(s, span=(0.0, 0.5), rtol=1e-4)
    for t, q, v, a, lam in zip(found.t, found.q, found.v, found.a, found.lam):
        G = s.phi_q(t, q)
        assert np.abs(s.phi(t, q)).max(initial=0.0) < 1e-12
        assert np.abs(G @ v - s.nu(t, q)).max(initial=0.0) < 1e-12 * (1.0 + np.abs(v).max())
        force = s.force(t, q, v, lam)
        assert np.abs(s.mass_times(t, q, a) + G.T @ lam - force).max() < 1e-11 * (1.0 + np.abs(force).max() + np.abs(lam).max(initial=0.0))


@pytest.mark.parametrize("name", thorough_but(("double-pendulum", "andrews"), SMOOTH))
def test_errors_follow_the_tolerance(name):
    """Below 100 tolerances; a hundredth of the tolerance has smaller errors, unless they are below ten tolerances anyway."""
    stiff = name in ("stiff-double-pendulum", "flexible-slider-crank", "stiff-pendulum")
    s, best = exact(name, SMOOTH[name], stiff)
    found = []
    for tol in TOLERANCES:
        x = run(s, span=(0.0, SMOOTH[name]), rtol=tol, t_eval=best.t)
        found.append(max(np.abs(a - b).max() / (np.abs(b).max() + 0.01) for a, b in ((x.q, best.q), (x.v, best.v))))
    found = np.array(found)
    assert (found < 100.0 * TOLERANCES).all(), found / TOLERANCES
    assert (found[2:] <= np.maximum(found[:-2], 10.0 * TOLERANCES[2:])).all(), found / TOLERANCES


@pytest.mark.parametrize("order", ["variable", 5])
def test_a_damper_that_lets_go_within_a_step(order):
    """To the matrix at the start of the step the residual of a body that is free at its end is the error of a held one, and tiny."""
    s, times = clutched(), np.linspace(0.0, 1.5, 16)
    best = run(s, mbdae.SdirkFirstOrder(), (0.0, 1.5), 1e-10, t_eval=times)
    for tol in (1e-3, 1e-4, 1e-6, 1e-8):
        x = run(s, RadauIIA(order), (0.0, 1.5), tol, t_eval=times)
        assert np.abs(x.q - best.q).max() < 100.0 * tol, tol


@pytest.mark.parametrize("make", [0, pytest.param(1, marks=pytest.mark.thorough), pytest.param(2, marks=pytest.mark.thorough), 3])
def test_the_motion_is_that_of_another_method(make):
    """Constraints that depend on time, smooth friction, friction of a driven mechanism, a force in Python."""
    s = (driven_pendulum, rubbing_slider, lambda: library.system("slider-crank", mu=0.2), lambda: forced(blow))[make]()
    found = run(s, span=(0.0, 0.3), rtol=1e-9, t_eval=[0.2, 0.3])
    other = run(s, mbdae.DormandPrince(), (0.0, 0.3), rtol=1e-11, t_eval=[0.2, 0.3])
    for name, bound in (("q", 1e-7), ("v", 1e-6), ("a", 1e-5), ("lam", 1e-5)):
        assert relative(getattr(found, name), getattr(other, name)) < bound, name


def test_a_run_there_and_back():
    s = library.system("double-spherical-pendulum")
    there = run(s, span=(0.5, 1.5), rtol=1e-10)
    back = run(s, span=(1.5, 0.5), rtol=1e-10, state=there.state())
    assert relative(back.q[-1], there.q[0]) < 1e-7 and relative(back.v[-1], there.v[0]) < 1e-7


def test_multipliers_of_redundant_constraints_have_minimum_norm():
    s = library.system("bricard")
    found = run(s, span=(0.0, 0.5))
    for t, q, lam in zip(found.t, found.q, found.lam):
        U, sigma, _ = np.linalg.svd(s.phi_q(t, q).toarray())
        null = U[:, len(sigma[sigma > 1e-9]):]
        assert null.shape[1] >= 1 and np.abs(null.T @ lam).max() < 1e-12 * np.abs(lam).max()


def test_systems_of_functions_have_the_same_motion():
    s = mbdae.System.from_functions(nq=2, nc=1, mass=lambda t, q: 2.0 * np.eye(2), force=lambda t, q, v: np.array([0.0, -2.0 * 9.81]),
                                    phi=lambda t, q: np.array([q @ q - 1.0]), q0=[1.0, 0.0], name="user pendulum")
    found, best = run(s, rtol=1e-8), run(s, mbdae.DormandPrince(), rtol=1e-12)
    assert relative(found.q[-1], best.q[-1]) < 1e-6 and np.abs((found.q**2).sum(axis=1) - 1.0).max() < 1e-14


# --- stiffness, order and work -------------------------------------------------------------------------------------------


def test_stiff_forces_do_not_limit_the_step():
    """An eigenvalue of -1e5 1/s: an explicit method needs 30 000 steps."""
    s = library.system("stiff-double-pendulum")
    found = run(s, span=(0.0, 1.0), rtol=1e-6)
    assert found.statistics.steps < 80 and found.statistics.newton_iterations < 600
    theta = library.entry("stiff-double-pendulum").observe(s, found.t[-1], *(x[-1] for x in (found.q, found.v, found.a, found.lam)))
    assert theta["theta1"] == pytest.approx(5.055276117600376, abs=3e-5) or abs(theta["theta1"] % (2 * np.pi) - 5.055276) < 3e-5


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "t_end"), [("iltis", 0.3), ("hmmwv", 0.1)])
def test_vehicles(name, t_end):
    s = library.system(name)
    found, other = run(s, span=(0.0, t_end), rtol=1e-6), run(s, mbdae.RosenbrockNystrom(), (0.0, t_end), rtol=1e-8)
    assert relative(found.q[-1], other.q[-1]) < 1e-5


def test_the_order_rises_at_tight_tolerances_and_saves_steps():
    s = library.system("double-pendulum")
    steps = {order: run(s, RadauIIA(order), (0.0, 1.0), rtol=1e-9).statistics.steps for order in ("variable", *ORDERS)}
    assert steps["variable"] < 0.5 * steps[5] and steps[13] < steps[9] < steps[5]


@pytest.mark.parametrize("rtol", [1e-2, 1e-3, 2e-4])
def test_the_order_rises_to_nine_only_at_crude_tolerances(rtol):
    assert RadauIIA().levels(rtol) == (0, 1) and RadauIIA().levels(0.9e-4) == (0, 2) and RadauIIA(13).levels(rtol) == (2, 2)


Known = namedtuple("Known", "memory lowest highest")


@pytest.mark.parametrize(("level", "rejections", "then"), [(2, 0, 2), (2, 1, 2), (2, 2, 1), (2, 3, 1), (1, 2, 1), (0, 2, 0)])
def test_the_order_falls_to_nine_after_two_rejected_attempts(level, rejections, then):
    memory = SimpleNamespace(level=level, rate=0.1, falls=0, wait=0, rejections=rejections)
    assert next_level.py_func(1.0, Known(memory, 0, 2)) == then
    assert (memory.wait > 0) == (then < level)


def test_sparse_and_dense_matrices_give_the_same_steps():
    s = library.system("spatial-four-bar")
    a, b = (run(s, RadauIIA(linsolver=x), (0.0, 0.5), rtol=1e-7) for x in ("dense", "sparse"))
    assert abs(a.statistics.steps - b.statistics.steps) <= 2 and relative(a.q[-1], b.q[-1]) < 1e-7


def test_large_sparse_matrices_are_factorised_by_superlu(monkeypatch):
    monkeypatch.setattr("mbdae.integrators.radau.stepper.COMPILED_LIMIT", 10)
    monkeypatch.setattr("mbdae.integrators.radau.stepper.COMPILED_FILL", 0)
    s = library.system("spatial-four-bar")
    a, b = (run(s, RadauIIA(linsolver=x), (0.0, 0.3), rtol=1e-7) for x in ("dense", "sparse"))
    assert relative(a.q[-1], b.q[-1]) < 1e-7


def test_a_jacobian_by_differences():
    s = library.system("double-pendulum")
    found, best = run(s, RadauIIA(jacobian="grouped"), rtol=1e-8), run(s, mbdae.DormandPrince(), rtol=1e-12)
    assert relative(found.q[-1], best.q[-1]) < 1e-6 and found.statistics.residuals_jacobian > 0


@pytest.mark.parametrize(("order", "least"), [("variable", 50.0), (5, 50.0), (9, 20.0), (13, 9.0)])
def test_the_second_step_is_as_long_as_the_error_allows(order, least):
    """The first one is estimated from the initial values: 2e-9 s here, where 1e-6 s resolves the fastest component."""
    s = library.system("stiff-double-pendulum")
    steps = np.diff(run(s, RadauIIA(order), (0.0, 2.0)).t)
    assert steps[1] > least * steps[0] and (steps[2:] < 8.01 * steps[1:-1]).all()
    for grow, first in ((3.0, 0.0), (3.0, 1e-8), (12.0, 1e-8)):  # what is given holds
        limited = np.diff(run(s, RadauIIA(order, first_step=first, controller=mbdae.StepSizeController(grow=grow)), (0.0, 2.0)).t)
        assert (limited[1:] < 1.003 * grow * limited[:-1]).all()
        assert first == 0.0 or limited[1] > 0.7 * grow * limited[0]


@pytest.mark.parametrize("order", ["variable", *ORDERS])
def test_estimates_are_at_most_twenty_tolerances(order):
    """Errors of stiff components are of the order of the estimate, and those of kinks that look like a smooth motion."""
    assert [RadauIIA(order).share(rtol) for rtol in (1e-3, 1e-6, 1e-8, 1e-12)] == pytest.approx([1.0, 10.0, 20.0, 20.0])


def test_errors_of_the_truck_at_tight_tolerances():
    """At rest until the hump. Errors of its velocities were up to 430 tolerances at 21 tolerances next to 1e-10."""
    s, times = library.system("truck"), np.linspace(0.0, 2.0, 101)
    reference = run(s, RadauIIA(13), (0.0, 2.0), rtol=1e-13, t_eval=times)
    for rtol in np.logspace(-9.5, -10.5, 11):
        found = run(s, span=(0.0, 2.0), rtol=rtol, t_eval=times)
        assert np.abs(found.v - reference.v).max() < 100.0 * rtol * np.abs(reference.v).max()


def test_more_room_for_factors_belongs_to_the_memory(monkeypatch, tmp_path):
    """Arrays of sparse factors that are replaced during a run: it goes on with the same bits."""
    doubled, make_room = [], RadauStepper._make_room

    def counted(stepper):
        doubled.append(len(stepper.run.sparse.factors.L.rows))
        make_room(stepper)

    monkeypatch.setattr(RadauStepper, "_make_room", counted)
    monkeypatch.setattr(arrays, "new_factors", lambda order, entries, dtype: new_factors(order, entries // 20, dtype))
    s, method = library.system("chain", links=8), RadauIIA(linsolver="sparse")
    whole, part = mbdae.solve(s, method, (0.0, 0.2)), mbdae.solve(s, method, (0.0, 0.1))
    assert doubled
    part.save(tmp_path / "part.npz")
    on = mbdae.solve(s, method, (0.0, 0.2), resume=tmp_path / "part.npz")
    assert (on.t == whole.t).all() and (on.q == whole.q).all() and (on.lam == whole.lam).all()


# --- refusals and failures -----------------------------------------------------------------------------------------------


def forced(law):
    m = library.mechanism("double-pendulum")
    wind = mbdae.UserForce("wind", (m.bodies[1].name,), law)
    return mbdae.System(mbdae.Mechanism("forced", m.bodies, m.joints, forces=[*m.forces, wind], gravity=m.gravity))


def blow(t, r, A, v, omega, F, T):
    F[0, 0] = 3.0 * np.sin(5.0 * t) - 0.2 * v[0, 0]


@pytest.mark.parametrize(("given", "text"), [
    ({"order": 7}, "RadauIIA: order must be 'variable', 5, 9 or 13, got 7"), ({"order": 5.0}, "order must be"),
    ({"linsolver": "band"}, "linsolver must be one of auto, dense, sparse"), ({"fixed_step": 1e-3}, "fixed_step needs a fixed order"),
    ({"order": 5, "fixed_step": 1e-3, "controller": mbdae.PI}, "steps of fixed size need no controller"),
    ({"jacobian": "difference"}, "no difference quotients of its own"), ({"first_step": -1.0}, "first_step")])
def test_parameters_are_validated(given, text):
    with pytest.raises(ValueError, match=text):
        RadauIIA(**given)


def test_other_forms_are_refused_with_the_one_that_is_meant():
    with pytest.raises(ValueError, match="'ggl' is that form"):
        mbdae.solve(library.system("double-pendulum"), RadauIIA(), (0.0, 0.1), formulation="index1")


def test_an_exception_of_a_user_force_arrives_unchanged():
    def law(t, r, A, v, omega, F, T):
        if t > 0.05:
            raise KeyError("broken")

    with pytest.raises(KeyError, match="broken"):
        mbdae.solve(forced(law), RadauIIA(), (0.0, 1.0))


def test_a_force_that_is_not_a_number_ends_the_run_with_a_message():
    def law(t, r, A, v, omega, F, T):
        F[0, 0] = np.nan if t > 0.05 else 0.0

    found = mbdae.solve(forced(law), RadauIIA(), (0.0, 1.0))
    assert found.status == Status.NOT_FINITE and 0.0 < found.t[-1] <= 0.05, found.message


# --- forces that jump ----------------------------------------------------------------------------------------------------


def _pushed(jump):
    """A particle with `x'' = H(t - jump) - cos t`, and `(x, v)` at 1 s."""
    body = mbdae.Particle("body", 1.0, (1.0, 0, 0), (1.0, 0, 0))
    push = mbdae.PointForce("push", "body", (lambda t: float(t >= jump) - np.cos(t), 0.0, 0.0))
    rest = 1.0 - jump
    return mbdae.System(mbdae.Mechanism("pushed", [body], forces=[push])), (np.cos(1.0) + 1.0 + 0.5 * rest**2, 1.0 - np.sin(1.0) + rest)


@pytest.mark.parametrize("rtol", thorough_but((1e-8,), (1e-6, 1e-8, 1e-10)))
def test_jumps_of_forces_are_met_to_the_tolerance(rtol):
    """Error and estimate are of the same order there: an estimate of `0.1 rtol^(2/3)` would leave a thousand tolerances at 1e-10."""
    errors = []
    for jump in np.linspace(0.4, 0.6, 31):
        s, (x, v) = _pushed(jump)
        found = run(s, rtol=rtol)
        errors.append(max(abs(found.q[-1, 0] - x), abs(found.v[-1, 0] - v)) / rtol)
    assert np.median(errors) < 10.0 and max(errors) < 50.0
