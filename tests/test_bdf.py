"""The BDF integrator: orders, every mechanism in every form, work against IDA, use, bad input."""


import numpy as np
import pytest

import mbdae
from mbdae import Bdf, library
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Ida
from mbdae.registry import find

from .helpers import double_pendulum

FORMS = {"gear": mbdae.Gear, "ggl": mbdae.GGL, "index2": mbdae.Index2, "index1": mbdae.Index1, "index3": mbdae.Index3}


@pytest.fixture(scope="module")
def swing():
    return mbdae.System(double_pendulum())


@pytest.fixture(scope="module")
def end(swing):
    return mbdae.solve(swing, SolveIvp(), (0.0, 0.5), rtol=1e-12, atol=1e-13, t_eval=np.linspace(0.1, 0.5, 9))


# --- orders --------------------------------------------------------------------------------------------------------------


def slope(errors, ratio=2.0):
    """Observed order of errors at steps that shrink by a ratio."""
    return -np.polyfit(np.arange(len(errors)), np.log(errors), 1)[0] / np.log(ratio)


def curve(t, y, yd):
    """Solved by 1/(1 + t), cos t, sin t; the last unknown is algebraic."""
    return np.array([yd[0] + y[0] ** 2, yd[1] + y[2], y[2] - np.sin(t) * y[0] * (1.0 + t)])


def known(t):
    return np.array([1.0 / (1.0 + t), np.cos(t), np.sin(t)]).T


@pytest.mark.parametrize("k", range(1, 6))
def test_order_on_a_known_solution(k):
    errors = []
    for n in (40, 80, 160):
        s = Bdf(order=k, fixed_step=1.0 / n).solve_residual(curve, (0.0, 2.0), known(0.0), [-1.0, 0.0, 1.0], rtol=1e-13, atol=1e-14)
        assert s.success, s.message
        np.testing.assert_allclose(np.diff(s.t[s.t >= k / n]), 1.0 / n, rtol=1e-9)
        errors.append(np.abs(s.y[-1] - known(2.0)).max())
    assert k - 0.25 < slope(errors) < k + 0.3


@pytest.mark.parametrize("form", ["ggl", "index3"])
@pytest.mark.parametrize("k", range(1, 6))
def test_order_of_positions_velocities_and_multipliers(swing, end, form, k):
    errors = []
    for n in (200, 400, 800):
        s = mbdae.solve(swing, Bdf(order=k, fixed_step=1.0 / n), (0.0, 0.5), formulation=form, rtol=1e-10, atol=1e-11, t_eval=end.t)
        assert s.success, s.message
        errors.append([np.abs(a - b).max() for a, b in ((s.q, end.q), (s.v, end.v), (s.lam, end.lam))])
    assert all(k - 0.3 < slope(e) < k + 0.5 for e in np.transpose(errors)), errors


# --- against IDA -------------------------------------------------------------------------------------------------------


WORK = {"double-pendulum": 1.0, "slider-crank-free": 0.5, "andrews": 0.01, "car-axis": 0.5, "chain": 1.0}


@pytest.mark.thorough
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", WORK)
def test_work_and_errors_are_at_most_those_of_ida(name, form):
    """With IDA's error of a step, over several tolerances, since single runs scatter: fewer steps, as many residuals, errors not larger."""
    s, t, found, methods = library.system(name), WORK[name], [], (Bdf(local_error=1.0), Ida())
    exact = mbdae.solve(s, SolveIvp(), (0.0, t), rtol=1e-11, atol=1e-13, t_eval=[t])
    for rtol in (1e-4, 1e-5, 1e-6, 1e-7):
        runs = [mbdae.solve(s, m, (0.0, t), formulation=form, rtol=rtol, atol=1e-2 * rtol, t_eval=[t]) for m in methods]
        found.append([(x.statistics.steps, x.statistics.residuals, np.abs(x.q[-1] - exact.q[-1]).max()) for x in runs])
    steps, residuals, errors = np.exp(np.diff(-np.log(found), axis=1).mean(axis=0))[0]
    assert steps < 1.05
    assert residuals < 1.3
    assert errors < 3.0


@pytest.mark.parametrize("name", ["spatial-four-bar", "double-pendulum"])
def test_the_default_keeps_errors_below_a_hundred_tolerances(name):
    """On motions on which errors of a whole tolerance in each step add up to hundreds; fewer steps with these."""
    system, t = library.system(name), np.linspace(0.0, 1.0, 21)
    exact = mbdae.solve(system, mbdae.DormandPrince(), (0.0, 1.0), rtol=1e-12, atol=1e-14, t_eval=t)
    for rtol in (1e-6, 1e-8, 1e-10):
        runs = [mbdae.solve(system, m, (0.0, 1.0), rtol=rtol, atol=1e-2 * rtol, t_eval=t) for m in (Bdf(), Bdf(local_error=1.0))]
        assert runs[1].statistics.steps < runs[0].statistics.steps < 2.5 * runs[1].statistics.steps
        for found, known in ((runs[0].q, exact.q), (runs[0].v, exact.v)):
            assert np.abs(found - known).max() < 100.0 * rtol * np.abs(known).max()


def test_tolerances_near_rounding_are_not_divided():
    """A fiftieth of the tolerance would be below the rounding of the unknowns."""
    end = Bdf().solve_residual(lambda t, y, yd: yd + y, (0.0, 1.0), [1.0], [-1.0], rtol=3e-14, atol=3e-14)
    assert end.success, end.message
    assert end.y[-1, 0] == pytest.approx(np.exp(-1.0), abs=1e-11)


@pytest.mark.parametrize("name, form, t_end", [("andrews", "ggl", 0.05), ("andrews", "index2", 0.05), ("pendulum-chain", "ggl", 5.0),
                                               ("stiff-pendulum", "index1", 10.0), ("precessing-top", "gear", 2.0),
                                               ("tethered-satellites", "ggl", 1000.0), ("tethered-satellites", "index2", 1000.0),
                                               ("four-link", "gear", 2.0)])
def test_small_unknowns_beside_large_ones_at_a_tight_tolerance(name, form, t_end):
    """The rounding of large velocities is in small ones and in impulses, that of positions in `mu`, whose tolerance is `atol` at rest."""
    system, t = library.system(name), np.linspace(0.0, t_end, 101)
    exact = mbdae.solve(system, mbdae.DormandPrince(), (0.0, t_end), rtol=1e-12, atol=1e-14, t_eval=t)
    s = mbdae.solve(system, Bdf(), (0.0, t_end), formulation=form, rtol=1e-10, atol=1e-12, t_eval=t)
    assert exact.success and s.success, (exact.message, s.message)
    for found, known in ((s.q, exact.q), (s.v, exact.v)):
        assert np.abs(found - known).max() < 100.0 * 1e-10 * (np.abs(known).max() + 0.01)


def test_integrals_of_multipliers_that_begin_at_zero():
    """`w = 0` and `w' = lam = 1e5` at the start: the tolerance of `w` is that of its size after the step."""
    s = mbdae.solve(library.system("truck"), Bdf(), (0.0, 2.0), formulation="gear", rtol=1e-9, atol=1e-11)
    assert s.success, s.message


# --- index ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first_step", [1e-6, 1e-9, 1e-12])
def test_index_three_begins_with_any_step(swing, end, first_step):
    method = Bdf(first_step=first_step, local_error=0.05)  # a step of 1e-6 s is rejected at less
    s = mbdae.solve(swing, method, (0.0, 0.5), formulation="index3", rtol=1e-7, atol=1e-9)
    assert s.success, s.message
    assert s.t[1] == pytest.approx(first_step)
    np.testing.assert_allclose(s.q[-1], end.q[-1], atol=1e-6)


def test_index_three_at_a_tight_tolerance(swing, end):
    s = mbdae.solve(swing, Bdf(), (0.0, 0.5), formulation="index3", rtol=1e-10, atol=1e-12)
    assert s.success, s.message
    np.testing.assert_allclose(s.q[-1], end.q[-1], atol=2e-9)
    np.testing.assert_allclose(s.v[-1], end.v[-1], atol=2e-8)


def test_multipliers_do_not_grow_by_extrapolation():
    """Left out of Newton's convergence test they reach 1e27 and end the run; IDA lets them reach 1e4, DASPK 1e10."""
    problem, largest = mbdae.Index1(library.system("slider-crank-free")), []
    complete = problem.interpolated
    problem.interpolated = lambda t, y: largest.append(np.abs(y[problem.blocks["lam"]]).max()) or complete(t, y)
    s = mbdae.solve(problem, Bdf(), (0.0, 1.0), rtol=1e-8, atol=1e-10, dense_output=True)
    assert s.success, s.message
    assert 0.5 * np.abs(s.lam).max() < max(largest) < 2.0 * np.abs(s.lam).max()


def test_scaled_multipliers_in_the_error_test(swing, end):
    for form in ("ggl", "index2", "index3"):
        s = mbdae.solve(swing, Bdf(algebraic="scale"), (0.0, 0.5), formulation=form, rtol=1e-6, atol=1e-8)
        assert s.success, s.message
        np.testing.assert_allclose(s.q[-1], end.q[-1], atol=1e-4)
    tested = mbdae.solve(swing, Bdf(algebraic="test"), (0.0, 0.5), formulation="index1", rtol=1e-6, atol=1e-8)
    left_out = mbdae.solve(swing, Bdf(), (0.0, 0.5), formulation="index1", rtol=1e-6, atol=1e-8)
    assert tested.success
    assert tested.statistics.steps > left_out.statistics.steps


# --- use -----------------------------------------------------------------------------------------------------------------


def test_it_is_used_like_any_method(swing, end):
    t = np.linspace(0.0, 1.0, 21)
    falling = lambda t, q, v: q[3]  # noqa: E731 - functions carry their own attributes
    falling.terminal, falling.direction = True, -1
    options = {"formulation": "ggl", "rtol": 1e-8, "atol": 1e-10}
    expected = mbdae.solve(swing, SolveIvp(), (0.0, 2.0), rtol=1e-10, atol=1e-12, events=falling)
    s = mbdae.solve(swing, Bdf(), (0.0, 2.0), events=falling, dense_output=True, **options)
    np.testing.assert_allclose(s.t_events[0], expected.t_events[0], atol=1e-6)
    np.testing.assert_allclose(s.sol(0.5)[0], end.q[-1], atol=1e-6)
    plain = mbdae.solve(swing, Bdf(), (0.0, 1.0), t_eval=t, **options)
    np.testing.assert_array_equal(plain.t, t)
    np.testing.assert_allclose(plain.q[10], end.q[-1], atol=1e-6)
    assert plain.statistics.residuals_jacobian == 0
    assert find("bdf:ggl").make(max_order=3) == Bdf(max_order=3)
    assert find("Bdf:ggl").label == "Bdf GGL"


@pytest.mark.parametrize("form", FORMS)
def test_backward_in_time_from_any_time(swing, form):
    options = {"formulation": form, "rtol": 1e-9, "atol": 1e-11}
    there = mbdae.solve(swing, Bdf(), (3.0, 3.4), **options)
    back = mbdae.solve(swing, Bdf(), (3.4, 3.0), q0=there.q[-1], v0=there.v[-1], t_eval=[3.2, 3.0], **options)
    assert back.t[-1] == 3.0
    np.testing.assert_allclose(back.q[-1], there.q[0], atol=1e-6)


def test_sparse_and_dense_factors_give_the_same(swing):
    problem = mbdae.GGL(library.system("chain", links=20))
    ends = [mbdae.solve(problem, Bdf(linsolver=kind), (0.0, 0.2), rtol=1e-7, atol=1e-9) for kind in ("sparse", "dense", "auto")]
    assert ends[1].statistics.steps == pytest.approx(ends[0].statistics.steps, rel=0.1)
    np.testing.assert_allclose(ends[1].q[-1], ends[0].q[-1], atol=1e-6)
    np.testing.assert_array_equal(ends[2].q[-1], ends[0].q[-1])


def test_a_residual_of_a_users_own():
    """An index-2 pair: y1' = -y1 + z with y1 = sin t given, so z = sin t + cos t, and a free oscillator beside it."""
    def F(t, y, yd):
        assert 0.0 <= t <= 2.0  # nothing is evaluated beyond the end
        return [yd[0] + y[0] - y[1], y[0] - np.sin(t), yd[2] - y[3], yd[3] + 4.0 * y[2]]

    def jac(t, y, yd, c):
        return [[c + 1.0, -1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, c, -1.0], [0.0, 0.0, 4.0, c]]

    start, t = ([0.0, 1.0, 1.0, 0.0], [1.0, 1.0, 0.0, -4.0]), np.linspace(0.0, 2.0, 9)
    for options, spent in (({"jac": jac}, 0), ({}, 1)):
        s = Bdf().solve_residual(F, (0.0, 2.0), *start, rtol=1e-8, atol=1e-10, excluded=[False, True, False, False], t_eval=t, **options)
        assert s.success
        exact = np.array([np.sin(t), np.sin(t) + np.cos(t), np.cos(2 * t), -2.0 * np.sin(2 * t)]).T
        np.testing.assert_allclose(s.y[:, [0, 2, 3]], exact[:, [0, 2, 3]], atol=1e-6)
        np.testing.assert_allclose(s.y[:, 1], exact[:, 1], atol=1e-4)
        np.testing.assert_allclose(s.yd[:, 2], exact[:, 3], atol=1e-5)
        assert (s.statistics.residuals_jacobian > 0) == spent


@pytest.mark.parametrize("fields", [{"jacobian": "guess"}, {"linsolver": "band"}, {"algebraic": "all"}, {"max_order": 6}, {"max_order": 0},
                                    {"order": 6, "fixed_step": 0.1}, {"order": 2}, {"fixed_step": 0.1}, {"first_step": -1.0},
                                    {"max_step": np.inf}, {"newton": 0.0}, {"newton": 1.0}, {"max_steps": 0},
                                    {"local_error": 0.0}, {"local_error": 1.5}, {"local_error": np.nan}])
def test_fields_that_make_no_sense(fields):
    with pytest.raises(ValueError, match=f"^Bdf: .*{next(iter(fields))}"):
        Bdf(**fields)


@pytest.mark.parametrize("wrong, culprit",
                         [({"t_span": (0.0, 0.0)}, "t_span"), ({"yd0": [1.0, 2.0]}, "yd0"), ({"atol": [1.0, 2.0]}, "atol"),
                          ({"excluded": [True, False]}, "excluded"), ({"rtol": 0.0}, "rtol"), ({"atol": -1.0}, "atol"),
                          ({"t_eval": [0.5, 0.2]}, "t_eval"), ({"t_eval": [2.0]}, "t_eval")])
def test_arguments_of_a_residual_that_make_no_sense(wrong, culprit):
    arguments = {"t_span": (0.0, 1.0), "y0": [1.0], "yd0": [-1.0]} | wrong
    with pytest.raises(ValueError, match=f"^solve_residual: .*{culprit}"):
        Bdf().solve_residual(lambda t, y, yd: yd + y, **arguments)


@pytest.mark.parametrize("form", ["mass", "overdetermined", "ode"])
def test_forms_that_are_refused(swing, form):
    with pytest.raises(ValueError, match=f"Bdf cannot take the form '{form}': it "):
        mbdae.solve(swing, Bdf(), (0.0, 1.0), formulation=form)


@pytest.mark.thorough
def test_the_order_does_not_rise_and_fall_forever():
    """Where the zero of a velocity leads back to order 1, the first step of order 2 has an estimate for which the order would fall again.

    In 8 of these 40 runs the steps were then 1000 times too small for thousands of steps, which added up to 300 tolerances.
    """
    system = library.system("double-pendulum")
    for rtol in 1e-10 * 10 ** np.linspace(-0.5, 0.475, 40):
        found = mbdae.solve(system, mbdae.Bdf(local_error=0.2), (0.0, 2.0), formulation="ggl", rtol=rtol, atol=1e-2 * rtol)
        assert found.success and found.statistics.rejected_error < 100 and found.statistics.steps < 2500, (rtol, found.statistics)
