"""The pieces of the BDF integrator: formulas, iteration matrix, state machine, failures."""

import numpy as np
import pytest
from scipy.sparse import csc_array

import mbdae
from mbdae import Bdf, Status
from mbdae.driver.callbacks import SolverCallbacks, SolverFailure
from mbdae.integrators import bdf_formulas as formulas
from mbdae.integrators.bdf import FullJacobian
from mbdae.integrators.bdf_stepper import BdfStepper, Tolerance
from mbdae.integrators.iteration_matrix import IterationMatrix, scaling
from mbdae.jacobians.strategy import as_strategy

from .helpers import BREAKS_AT, double_pendulum, torn, with_law

FORMS = {"gear": mbdae.Gear, "ggl": mbdae.GGL, "index2": mbdae.Index2, "index1": mbdae.Index1, "index3": mbdae.Index3}


@pytest.fixture(scope="module")
def swing():
    return mbdae.System(double_pendulum())


# --- formulas ------------------------------------------------------------------------------------------------------------


def history(times, values):
    """Differences and table after steps to the given times with the given values, the order rising with each step."""
    n = values.shape[1]
    phi, table = np.zeros((formulas.DIFFERENCES, n)), np.zeros(formulas.TABLE)
    y, yd, e = np.zeros((3, n))
    phi[0], table[formulas.LAST, 0] = values[0], times[1] - times[0]
    for k, (h, value) in enumerate(zip(np.diff(times), values[1:])):
        formulas.coefficients(h, max(k, 1), table)
        formulas.predict(phi, max(k, 1), table, y, yd, e)
        formulas.accept(phi, max(k, 1), table, value - y)
    return phi, table


@pytest.mark.parametrize("k", range(1, 6))
def test_polynomials_of_the_order_are_predicted_and_interpolated_exactly(rng, k):
    times = np.cumsum(rng.uniform(0.5, 1.5, 8)) - 3.0
    polynomial = np.polynomial.Polynomial(rng.normal(size=k + 1))
    phi, table = history(times[:k + 2], polynomial(times[:k + 2])[:, None])
    y, yd, e = np.zeros((3, 1))
    for s in (-0.3, 0.0, 0.4):
        formulas.interpolate(s, phi, k, table, y, yd)
        np.testing.assert_allclose([y[0], yd[0]], [polynomial(times[k + 1] + s), polynomial.deriv()(times[k + 1] + s)], atol=1e-9)
    h = times[k + 2] - times[k + 1]
    formulas.coefficients(h, k, table)
    formulas.predict(phi, k, table, y, yd, e)
    np.testing.assert_allclose([y[0], yd[0]], [polynomial(times[k + 2]), polynomial.deriv()(times[k + 2])], atol=1e-9)


CLASSICAL = {1: (1, -1), 2: (3 / 2, -2, 1 / 2), 3: (11 / 6, -3, 3 / 2, -1 / 3), 4: (25 / 12, -4, 3, -4 / 3, 1 / 4),
             5: (137 / 60, -5, 5, -10 / 3, 5 / 4, -1 / 5)}


@pytest.mark.parametrize("k", CLASSICAL)
def test_constant_steps_are_the_classical_formulas(rng, k):
    """Whatever the values: `h yd = sum alpha_i y_(n-i)`. And the differences of `equidistant` are those that steps lead to."""
    h, values = 0.1, rng.normal(size=(k + 1, 3))
    phi, table = np.zeros((formulas.DIFFERENCES, 3)), np.zeros(formulas.TABLE)
    formulas.equidistant(values[::-1].copy(), h, phi, table)
    stepped, _ = history(h * np.arange(k + 1), values)
    np.testing.assert_allclose(phi[:k + 1], stepped[:k + 1], atol=1e-12)
    y, yd, e = np.zeros((3, 3))
    c, factor = formulas.coefficients(h, k, table)
    formulas.predict(phi, k, table, y, yd, e)
    new = rng.normal(size=3)
    expected = np.tensordot(CLASSICAL[k], np.vstack([new, values[::-1][:k]]), 1) / h
    np.testing.assert_allclose(yd + c * (new - y), expected, rtol=1e-9)
    assert factor == pytest.approx(1.0 / (k + 1))


# --- the iteration matrix ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_the_condition_of_the_scaled_matrix_does_not_grow_for_small_steps(swing, form):
    problem = FORMS[form](swing)
    rows, columns = scaling(problem)
    numbers = []
    for c in (1e4, 1e7, 1e10):
        J = problem.jacobian(0.0, problem.y0, problem.yd0, c).toarray()
        numbers.append(np.linalg.cond((c ** -rows.astype(float))[:, None] * J * c ** columns.astype(float)))
    assert max(numbers) < 1.5 * min(numbers)


def full_pattern(n):
    return csc_array(np.ones((n, n)))


def test_a_changed_coefficient_relaxes_derivatives_and_keeps_constraints(rng, swing):
    c, J = 100.0, rng.normal(size=(3, 3))
    plain = IterationMatrix(full_pattern(3), "dense")
    plain.factorise(J.ravel(order="F"), c)
    plain.adapt(1.5 * c)
    r = rng.normal(size=3)
    np.testing.assert_allclose(plain.column * plain.solve(r), 2.0 / (1.0 + 1.5) * np.linalg.solve(J, r), rtol=1e-9)
    for form in ("ggl", "index3"):
        problem = FORMS[form](swing)
        values = problem.jacobian_values(0.0, problem.y0, problem.yd0, c)
        matrix = IterationMatrix(problem.pattern, "dense", *scaling(problem))
        matrix.factorise(values, c)
        matrix.adapt(1.5 * c)
        r = rng.normal(size=problem.n)
        x, rows = matrix.column * matrix.solve(r), problem.equations["position"]
        np.testing.assert_allclose((problem._csc(values) @ x)[rows], r[rows], atol=1e-9)


# --- the state machine ---------------------------------------------------------------------------------------------------


def curve(t, y, yd):
    """Solved by 1/(1 + t), cos t, sin t; the last unknown is algebraic."""
    return np.array([yd[0] + y[0] ** 2, yd[1] + y[2], y[2] - np.sin(t) * y[0] * (1.0 + t)])


def known(t):
    return np.array([1.0 / (1.0 + t), np.cos(t), np.sin(t)]).T


class Wrong:
    """Leaves entries out until it is asked to suspect itself, as a pattern that has been estimated may."""

    def __init__(self, problem, cure):
        self.share, self.cure, self.asked, self._right = 0.3, cure, 0, as_strategy("exact").bind(problem)

    def evaluate(self, t, y, yd, c, residual):
        return self.share * self._right.evaluate(t, y, yd, c, residual)

    def update(self, t, y, yd, c):
        return None

    def suspect(self):
        self.asked += 1
        cured, self.share = self.cure and self.share < 1.0, 1.0 if self.cure else self.share
        return cured


def stepper(problem, jacobian, t_end, rtol=1e-6):
    atol = problem.tolerances(rtol, 1e-2 * rtol)
    matrix, tolerance = IterationMatrix(problem.pattern, "dense", *scaling(problem)), Tolerance(rtol, atol, 0.05)
    return BdfStepper(SolverCallbacks(problem).residual(), 0.0, problem.y0, problem.yd0, t_end, jacobian, matrix, tolerance)


def run(s):
    while s.t < s.t_end:
        s.step()
    return s


def test_cheap_updates_take_the_place_of_evaluations(swing):
    problem = mbdae.GGL(swing)
    full, cheap = (run(stepper(problem, as_strategy(name).bind(problem), 0.5)) for name in ("exact", "exact:partitioned"))
    assert full.updates == 0
    assert cheap.updates > 0
    assert cheap.jacobians < 0.7 * full.jacobians
    assert cheap.matrix.factorisations == cheap.jacobians + cheap.updates
    assert cheap.rejected_newton <= full.rejected_newton + 1
    q = problem.blocks["q"]
    np.testing.assert_allclose(cheap.at(0.5)[0][q], full.at(0.5)[0][q], atol=1e-4)


def test_a_jacobian_that_distrusts_itself_is_evaluated_again_before_the_step_is_cut(swing):
    problem = mbdae.GGL(swing)
    cured, ill = (stepper(problem, Wrong(problem, cure), 0.5) for cure in (True, False))
    run(cured)
    assert (cured.jacobian.asked, cured.rejected_newton) == (1, 0)
    with pytest.raises(SolverFailure, match="Newton's method does not converge, 10 times in one step"):
        run(ill)
    assert ill.rejected_newton >= 10


def test_interpolation_within_the_last_step_and_the_end():
    residual = lambda t, y, yd, out: out.__setitem__(slice(None), curve(t, y, yd)) or 0  # noqa: E731
    matrix, tolerance = IterationMatrix(full_pattern(3), "dense"), Tolerance(1e-9, np.full(3, 1e-11), 0.05)
    s = BdfStepper(residual, 0.0, known(0.0), np.array([-1.0, 0.0, 1.0]), 2.0, FullJacobian(residual, 3, None), matrix, tolerance)
    while s.t < 2.0:
        before = s.t
        s.step()
        t = before + 0.3 * (s.t - before)
        y, yd = s.at(t)
        np.testing.assert_allclose(y, known(t), atol=1e-6)
        np.testing.assert_allclose(yd, [-1.0 / (1.0 + t) ** 2, -np.sin(t), np.cos(t)], atol=1e-4)
    assert s.t == 2.0
    np.testing.assert_allclose(s.at(2.0)[0], s._y, rtol=1e-14)


# --- failures ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_values_that_are_not_finite_end_the_run(form):
    s = mbdae.solve(with_law(torn), Bdf(), (0.0, 0.2), formulation=form)
    assert s.status == Status.NOT_FINITE
    assert "not finite" in s.message
    assert 0.02 < s.t[-1] <= BREAKS_AT  # where the law still has a value
    assert s.statistics.steps == len(s.t) - 1


def test_exceptions_arrive_unchanged():
    class Fault(Exception):
        pass

    def law(length, rate, t):
        if t > 0.05:
            raise Fault("law")
        return 0.0

    def F(t, y, yd):
        if t > 0.5:
            raise Fault("residual")
        return yd + y

    with pytest.raises(Fault, match="law"):
        mbdae.solve(with_law(law), Bdf(), (0.0, 0.2))
    with pytest.raises(Fault, match="residual"):
        Bdf().solve_residual(F, (0.0, 1.0), [1.0], [-1.0])


def test_a_gap_in_a_residual_of_a_users_own():
    with np.errstate(invalid="ignore"):
        s = Bdf().solve_residual(lambda t, y, yd: yd + np.sqrt(0.5 - t), (0.0, 1.0), [1.0], [-np.sqrt(0.5)])
    assert s.status == Status.NOT_FINITE
    assert s.t[-1] == pytest.approx(0.5, abs=1e-3)
    assert "the solution up to there is kept" in s.message


def test_a_singular_matrix():
    s = Bdf().solve_residual(lambda t, y, yd: [yd[0] - y[1], 2.0 * yd[0] - 2.0 * y[1]], (0.0, 1.0), [1.0, 0.0], [0.0, 0.0],
                             jac=lambda t, y, yd, c: [[c, -1.0], [2.0 * c, -2.0]])
    assert s.status == Status.NEWTON_FAILED
    assert "the iteration matrix is singular, 10 times in one step" in s.message
    assert len(s.t) == 1
    s = Bdf(linsolver="sparse").solve_residual(lambda t, y, yd: [yd[0], yd[0]], (0.0, 1.0), [1.0, 0.0], [0.0, 0.0],
                                               jac=lambda t, y, yd, c: [[c, 0.0], [c, 0.0]])
    assert "the iteration matrix is singular" in s.message
    s = Bdf().solve_residual(lambda t, y, yd: yd + y, (0.0, 1.0), [1.0], [-1.0], jac=lambda t, y, yd, c: [[np.nan]])
    assert s.status == Status.NOT_FINITE


def test_too_many_steps_and_impossible_tolerances(swing):
    s = mbdae.solve(swing, Bdf(max_steps=7), (0.0, 1.0))
    assert (s.status, s.statistics.steps, len(s.t)) == (Status.TOO_MANY_STEPS, 7, 8)
    s = mbdae.solve(swing, Bdf(), (0.0, 1.0), rtol=1e-15, atol=1e-20)
    assert s.status == Status.SOLVER_FAILED
    assert "the tolerances are below rounding, they must be larger by a factor of" in s.message
    assert s.statistics.steps == 0
    s = Bdf().solve_residual(lambda t, y, yd: yd - t, (0.0, 1.0), [0.0], [0.0], atol=0.0)
    assert "an unknown and its absolute tolerance are both zero" in s.message
    s = mbdae.solve(swing, Bdf(order=1, fixed_step=0.4), (0.0, 8.0), rtol=1e-9, atol=1e-11)
    assert s.status == Status.NEWTON_FAILED
    assert "in a step of the fixed size 0.4" in s.message
    with pytest.raises(SolverFailure, match="requested the end of the run"):
        BdfStepper(lambda t, y, yd, out: -1, 0.0, np.ones(1), np.ones(1), 1.0, None, None, Tolerance(1e-6, np.ones(1), 0.05)).step()


def test_a_discontinuity_is_passed_at_order_one():
    """The right-hand side jumps by a thousand: steps are cut until the jump is met, and the order begins anew."""
    s = Bdf().solve_residual(lambda t, y, yd: yd - (1e3 if t > 0.3 else 1.0), (0.0, 1.0), [0.0], [1.0], rtol=1e-6, atol=1e-8)
    assert s.success
    assert s.statistics.rejected_error > 2
    assert s.y[-1, 0] == pytest.approx(0.3 + 700.0, rel=1e-5)
