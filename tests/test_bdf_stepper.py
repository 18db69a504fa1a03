"""The pieces of the BDF integrator: formulas, iteration matrix, state machine, failures."""

import numpy as np
import pytest
from scipy.sparse import csc_array

import mbdae
from mbdae import Bdf, Status, library
from mbdae.integrators import bdf_formulas as formulas
from mbdae.integrators.bdf_functions import FullJacobian, FunctionEquations, full_pattern
from mbdae.integrators.bdf_stepper import BdfStepper, Parts, ProblemEquations, norms_for
from mbdae.integrators.control.driver import Driver
from mbdae.integrators.iteration_matrix import USUAL_FILL, IterationMatrix, adapt, scaling, solve
from mbdae.integrators.resolution import impulse_of_rounding
from mbdae.jacobians.strategy import as_strategy
from mbdae.system.codes import BAD_DERIVATIVES, GOOD, SINGULAR_MATRIX

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


@pytest.mark.parametrize("k", range(1, 6))
def test_the_interpolant_is_the_same_before_a_step_is_accepted(rng, k):
    times, values = np.cumsum(rng.uniform(0.5, 1.5, k + 2)), rng.normal(size=(k + 2, 3))
    phi, table = history(times, values)
    y, yd, e = np.zeros((3, 3))
    h = 0.7
    formulas.coefficients(h, k, table)
    formulas.predict(phi, k, table, y, yd, e)
    e[:] = rng.normal(size=3)
    ahead, accepted, scratch = np.zeros((2, 3)), np.zeros((2, 3)), np.zeros((2, formulas.DIFFERENCES))
    new, psi = phi.copy(), table.copy()
    formulas.accept(new, k, psi, e)
    for s in (-h, -0.4 * h, 0.0, 0.1):
        formulas.interpolate_ahead(s, phi, e, k, table, scratch, *ahead)
        formulas.interpolate(s, new, k, psi, *accepted)
        np.testing.assert_allclose(ahead, accepted, rtol=1e-11, atol=1e-11)


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


def weighted(x, weight, count):
    return np.sqrt(np.sum((weight * x) ** 2) / count)


@pytest.mark.parametrize("k", range(1, 6))
def test_error_estimates_are_backward_differences(rng, k):
    """Of constant steps: orders `m` with the difference of order `m + 1` over `m + 1`."""
    h, values, weight, count = 0.1, rng.normal(size=(k + 3, 4)), rng.uniform(0.5, 2.0, 4), 3
    difference = [np.diff(values, m, axis=0)[-1] for m in range(k + 3)]
    phi, table = np.zeros((formulas.DIFFERENCES, 4)), np.zeros(formulas.TABLE)
    formulas.equidistant(values[-2::-1].copy(), h, phi, table)
    y, yd, e = np.zeros((3, 4))
    formulas.coefficients(h, k, table)
    formulas.predict(phi, k, table, y, yd, e)
    e[:] = values[-1] - y
    np.testing.assert_allclose(e, difference[k + 1], atol=1e-10)
    found = formulas.errors(phi, k, table, e, weight, count)
    sizes = [weighted(difference[k + 1], weight, count) / (k + 1), weighted(difference[k], weight, count) / k if k > 1 else 0.0,
             weighted(difference[k - 1], weight, count) / (k - 1) if k > 2 else 0.0, weighted(difference[k + 1], weight, count)]
    np.testing.assert_allclose(found, sizes, rtol=1e-9)
    above = weighted(difference[k + 2], weight, count) / (k + 2)
    assert formulas.error_above(phi, k, e, weight, count) == pytest.approx(above, rel=1e-9)


def test_weights_prediction_and_corrections(rng):
    n, h, k = 5, -0.2, 2
    y, phi, table = rng.normal(size=n), np.zeros((formulas.DIFFERENCES, n)), np.zeros(formulas.TABLE)
    formulas.equidistant(np.array([y, rng.normal(size=n), rng.normal(size=n)]), h, phi, table)
    powers = np.array([[0, 1, 2, formulas.EXCLUDED, 0], [2, 0, 1, 0, 1]])
    norms = formulas.Norms(1e-3, rng.uniform(1e-3, 1e-2, n), powers, np.array([[3, 5, 0, 2]]), np.array([4.0, 5.0]),
                           np.zeros((0, 4), dtype=np.int64), np.zeros((0, 2)))
    weights, (predicted, yd, e) = np.empty((2, n)), np.ones((3, n))
    c, factor, in_error_test, in_newton = formulas.begin(h, k, table, phi, norms, weights, predicted, yd, e)
    assert (c, factor) == pytest.approx((1.5 / h, 1 / 3))
    single = 1e-3 * np.abs(y) + norms.atol
    shared = 1e-3 * np.abs(y[:2]).max() + norms.atol[3:]
    np.testing.assert_allclose(weights[0], abs(h) ** np.maximum(powers[0], 0) / single * (powers[0] >= 0), rtol=1e-14)
    np.testing.assert_allclose(weights[1], abs(h) ** powers[1] / [*single[:3], *shared], rtol=1e-14)
    assert in_error_test == pytest.approx(weighted(predicted, weights[0], 4))
    assert in_newton == pytest.approx(weighted(predicted, weights[1], 5))
    before, column, delta = (predicted.copy(), yd.copy()), rng.uniform(0.5, 2.0, n), rng.normal(size=n)
    size = formulas.correct(delta, column, c, weights[1], 5, predicted, yd, e)
    np.testing.assert_allclose(np.array([predicted, yd, e]), [before[0] - column * delta, before[1] - c * column * delta, -column * delta])
    assert size == pytest.approx(weighted(column * delta, weights[1], 5))
    assert formulas.size(y, weights[1], 5) == pytest.approx(weighted(y, weights[1], 5))
    norms.atol[0], y[0], phi[0, 0] = 0.0, 0.0, 0.0
    formulas.weigh(y, predicted, h, norms, weights)
    assert np.isnan(weights[0, 0]) and np.isfinite(weights[:, 1:]).all()


def test_no_tolerance_is_below_rounding(rng):
    n, h, y = 6, 0.1, np.array([1e-9, -3.0, 2.0, 0.0, 1e-3, 5.0])
    powers = np.array([[0, 0, 0, formulas.EXCLUDED, 1, 0], [0, 0, 0, 1, 1, 0]])
    norms = norms_for(1e-3, np.full(n, 1e-6), powers, [(3, 4, 3, 4)], [(0, 3, 0, 3, 1e-4, 1e-4), (3, 5, 5, 6, 2e-3, 2e-3)])
    weights = np.empty((2, n))
    formulas.weigh(y, np.array([0.0, 0.0, 0.0, 7.0, 0.0, 0.0]), h, norms, weights)
    expected = np.array([3e-4, 3e-3 + 1e-6, 2e-3 + 1e-6, 1e-2, 1e-2, 5e-3 + 1e-6])  # the fourth has 7e-3 by its prediction
    np.testing.assert_allclose(weights, np.where(powers == formulas.EXCLUDED, 0.0, h ** np.maximum(powers, 0)) / expected, rtol=1e-12)
    # more in Newton's convergence test
    norms, before = norms_for(1e-3, np.full(n, 1e-6), powers, (), [(0, 3, 0, 3, 1e-4, 1e-2)]), weights.copy()
    formulas.weigh(y, y, h, norms, weights)
    np.testing.assert_array_equal(weights[formulas.ERROR, :3], before[formulas.ERROR, :3])
    np.testing.assert_allclose(weights[formulas.NEWTON, :3], 1.0 / 3e-2, rtol=1e-14)


@pytest.mark.parametrize("name", ["double-pendulum", "slider-crank-free", "tethered-satellites"])
def test_the_impulse_of_rounding(name):
    """Impulses that change a row of `Phi_q v` by the sum of its entries; on these mechanisms `M` is diagonal."""
    system = library.system(name)
    M, G = system.mass(0.0, system.start.q), system.phi_q(0.0, system.start.q).toarray()
    assert np.count_nonzero(M) == system.nv
    expected = max(np.abs(g).sum() / (g @ np.linalg.solve(M, g)) for g in G)
    assert impulse_of_rounding(system, system.start) == pytest.approx(expected, rel=1e-12)


def test_what_is_zero_is_compared_with_its_prediction():
    norms = norms_for(1e-3, np.full(3, 1e-6), None, [(0, 2, 0, 2)])
    weights, predicted = np.empty((2, 3)), np.array([2.0, -4.0, 9.0])
    formulas.weigh(np.zeros(3), predicted, 1.0, norms, weights)
    np.testing.assert_allclose(1.0 / weights, [[1e-6, 1e-6, 1e-6], [4e-3 + 1e-6, 4e-3 + 1e-6, 1e-6]])
    formulas.weigh(np.array([1.0, 0.0, 0.0]), predicted, 1.0, norms, weights)
    np.testing.assert_allclose(1.0 / weights[1], [1e-3 + 1e-6, 1e-3 + 1e-6, 1e-6])


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


def solved(matrix, r):
    """The correction for a residual."""
    solve(np.asarray(r, dtype=float), matrix.factors)
    return matrix.factors.column * matrix.factors.x


def test_a_changed_coefficient_relaxes_derivatives_and_keeps_constraints(rng, swing):
    c, J = 100.0, rng.normal(size=(3, 3))
    plain = IterationMatrix(full_pattern(3), "dense")
    assert plain.factorise(J.ravel(order="F"), c) == GOOD
    adapt(1.5 * c, plain.factors)
    r = rng.normal(size=3)
    np.testing.assert_allclose(solved(plain, r), 2.0 / (1.0 + 1.5) * np.linalg.solve(J, r), rtol=1e-9)
    for form in ("ggl", "index3"):
        problem = FORMS[form](swing)
        values = problem.jacobian_values(0.0, problem.y0, problem.yd0, c)
        matrix = IterationMatrix(problem.pattern, "dense", *scaling(problem))
        matrix.factorise(values, c)
        adapt(1.5 * c, matrix.factors)
        r = rng.normal(size=problem.n)
        x, rows = solved(matrix, r), problem.equations["position"]
        np.testing.assert_allclose((problem._csc(values) @ x)[rows], r[rows], atol=1e-9)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_compiled_solutions_are_those_of_numpy(rng, kind):
    """Matrices that need pivots, with scaled rows and columns; and a second one in the place of the first."""
    for n in (1, 2, 9, 40):
        full = (rng.uniform(size=(n, n)) < 0.3) | np.eye(n, k=1, dtype=bool) | np.eye(n, k=1 - n, dtype=bool) | (n == 1)
        pattern = csc_array(full)
        matrix = IterationMatrix(pattern, kind, rng.integers(0, 3, n), rng.integers(0, 3, n))
        for c in (3.0, -0.4):
            A = np.where(full, rng.normal(size=(n, n)), 0.0)
            assert matrix.factorise(A.T[full.T], c) == GOOD
            r = rng.normal(size=n)
            np.testing.assert_allclose(A @ solved(matrix, r), r, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_matrices_that_cannot_be_factorised(kind):
    matrix = IterationMatrix(full_pattern(2), kind)
    assert matrix.factorise(np.array([1.0, 2.0, 2.0, 4.0]), 1.0) == SINGULAR_MATRIX
    assert matrix.factorise(np.array([1.0, np.nan, 2.0, 4.0]), 1.0) == BAD_DERIVATIVES
    assert matrix.factorise(np.array([1.0, 2.0, 2.0, 1.0]), 1.0) == GOOD


def test_the_fill_in_of_long_chains_stays_small():
    """One of the two orders of columns has 100 times as many entries at 1024 links, and to try it took longer than the run."""
    problem = mbdae.GGL(library.system("pendulum-chain", links=128))
    matrix = IterationMatrix(problem.pattern, "sparse", *scaling(problem))
    assert matrix.factorise(problem.jacobian_values(0.0, problem.y0, problem.yd0, 100.0), 100.0) == GOOD
    assert len(matrix.factors.L.values) + len(matrix.factors.U.values) < USUAL_FILL * problem.pattern.nnz


# --- the state machine ---------------------------------------------------------------------------------------------------


def curve(t, y, yd):
    """Solved by 1/(1 + t), cos t, sin t; the last unknown is algebraic."""
    return np.array([yd[0] + y[0] ** 2, yd[1] + y[2], y[2] - np.sin(t) * y[0] * (1.0 + t)])


def known(t):
    return np.array([1.0 / (1.0 + t), np.cos(t), np.sin(t)]).T


class Wrong:
    """Leaves entries out until it is asked to suspect itself, as a pattern that has been estimated may."""

    def __init__(self, problem, cure):
        self.calls, self.share, self.cure, self.asked, self._right = 0, 0.3, cure, 0, as_strategy("exact").bind(problem)

    def evaluate(self, t, y, yd, c, residual):
        return self.share * self._right.evaluate(t, y, yd, c, residual)

    def update(self, t, y, yd, c):
        return None

    def suspect(self):
        self.asked += 1
        cured, self.share = self.cure and self.share < 1.0, 1.0 if self.cure else self.share
        return cured


def stepper(problem, jacobian, t_end, rtol=1e-6):
    matrix = IterationMatrix(problem.pattern, "dense", *scaling(problem))
    parts = Parts(jacobian, matrix, norms_for(rtol, problem.tolerances(rtol, 1e-2 * rtol)), 0.05)
    return BdfStepper(ProblemEquations(problem, problem.start), t_end, parts)


def run(s):
    """The trajectory."""
    return Driver(s, t_eval=None, every=1, progress=None, until=None).to_end()


def test_cheap_updates_take_the_place_of_evaluations(swing):
    problem = mbdae.GGL(swing)
    full, cheap = (stepper(problem, as_strategy(name).bind(problem), 0.5) for name in ("exact", "exact:partitioned"))
    run(full), run(cheap)
    assert full.updates == 0
    assert cheap.updates > 0
    assert cheap.counts.jacobians < 0.7 * full.counts.jacobians
    assert cheap.counts.factorisations == cheap.counts.jacobians + cheap.updates
    assert cheap.counts.rejected_newton <= full.counts.rejected_newton + 1
    q = problem.blocks["q"]
    np.testing.assert_allclose(cheap.at(0.5)[0][q], full.at(0.5)[0][q], atol=1e-4)


def test_a_jacobian_that_distrusts_itself_is_evaluated_again_before_the_step_is_cut(swing):
    problem = mbdae.GGL(swing)
    cured, ill = (stepper(problem, Wrong(problem, cure), 0.5) for cure in (True, False))
    run(cured)
    assert (cured.jacobian.asked, cured.counts.rejected_newton) == (1, 0)
    assert "Newton's method does not converge, 10 times in one step" in run(ill).message
    assert ill.counts.rejected_newton >= 10


def test_interpolation_within_the_last_step_and_the_end():
    equations = FunctionEquations(curve, 0.0, known(0.0), np.array([-1.0, 0.0, 1.0]))
    jacobian, matrix = FullJacobian(equations.residual, 3, None), IterationMatrix(full_pattern(3), "dense")
    parts = Parts(jacobian, matrix, norms_for(1e-9, np.full(3, 1e-11)), 0.05)
    s = BdfStepper(equations, 2.0, parts)
    at = []

    def look(t, y, yd):
        for theta in (0.3, 1.0):
            at.append((t + (theta - 1.0) * s.clock.past_step, *s.at(t + (theta - 1.0) * s.clock.past_step)))
        np.testing.assert_allclose(at[-1][1], y, rtol=1e-14)
        return False

    assert Driver(s, t_eval=None, every=1, progress=None, until=look).to_end().t[-1] == 2.0
    for t, y, yd in at:
        np.testing.assert_allclose(y, known(t), atol=1e-6)
        np.testing.assert_allclose(yd, [-1.0 / (1.0 + t) ** 2, -np.sin(t), np.cos(t)], atol=1e-4)


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


def test_a_discontinuity_is_passed_at_order_one():
    """The right-hand side jumps by a thousand: steps are cut until the jump is met, and the order begins anew."""
    s = Bdf().solve_residual(lambda t, y, yd: yd - (1e3 if t > 0.3 else 1.0), (0.0, 1.0), [0.0], [1.0], rtol=1e-6, atol=1e-8)
    assert s.success
    assert s.statistics.rejected_error > 2
    assert s.y[-1, 0] == pytest.approx(0.3 + 700.0, rel=1e-5)
