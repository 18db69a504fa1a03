"""Coefficients of the explicit Runge-Kutta methods: order conditions of all rooted trees, SciPy's coefficients, observed orders."""

from functools import cache
from itertools import combinations_with_replacement

import numpy as np
import pytest
from numpy.polynomial import Polynomial
from scipy.integrate import DOP853 as SciPy8
from scipy.integrate import RK45

from mbdae.integrators.explicit.dop853 import DOP853
from mbdae.integrators.explicit.dopri5 import DOPRI5
from mbdae.integrators.explicit.hem5 import HEM5
from mbdae.integrators.explicit.phem56 import PHEM56
from mbdae.integrators.explicit.tableau import Tableau, matrix

TABLEAUS = pytest.mark.parametrize("tableau", [DOP853, DOPRI5], ids=lambda x: x.name)
ALL = pytest.mark.parametrize("tableau", [DOP853, DOPRI5, PHEM56, HEM5], ids=lambda x: x.name)
ROUNDING = {"HEM5": 1e-13}  # of published coefficients with 16 digits; the others are fractions
DENSE_ORDERS = {"DOP853": 7, "DOPRI5": 4, "PHEM56": 4, "HEM5": 4}
INSIDE = (0.15, 0.4, 0.8, 1.0)


@cache
def trees(order):
    """All rooted trees with so many nodes: a tree is the sorted tuple of its branches."""
    if order == 1:
        return ((),)
    return tuple(tuple(sorted(branches)) for sizes in partitions(order - 1) for branches in forests(sizes))


def partitions(n, largest=None):
    """Non-increasing sequences of positive integers with the sum `n`."""
    largest = n if largest is None else largest
    if n == 0:
        return [()]
    return [(k, *rest) for k in range(min(n, largest), 0, -1) for rest in partitions(n - k, k)]


def forests(sizes):
    """Multisets of trees of these sizes."""
    if not sizes:
        return [()]
    many = sizes.count(sizes[0])
    return [(*chosen, *rest) for chosen in combinations_with_replacement(trees(sizes[0]), many) for rest in forests(sizes[many:])]


def nodes(tree):
    return 1 + sum(map(nodes, tree))


def density(tree):
    return nodes(tree) * int(np.prod([density(branch) for branch in tree]))


def stage_weights(tree, A):
    """Elementary weights of the stages."""
    return np.prod([A @ stage_weights(branch, A) for branch in tree], axis=0) if tree else np.ones(len(A))


def defects(tableau, weights, order, theta=1.0):
    """What is missing in the conditions of one order, for each tree."""
    return np.array([weights @ stage_weights(tree, tableau.A) - theta**order / density(tree) for tree in trees(order)])


def padded(weights, tableau):
    return np.pad(weights, (0, len(tableau.c) - len(weights)))


def dense_weights(tableau, theta):
    """Weights of the derivatives in the dense output, by the formula of `Tableau.dense`."""
    m, s = len(tableau.c), tableau.stages
    d, first, last, rest = padded(tableau.b, tableau), np.eye(m)[0], np.eye(m)[s], np.zeros(m)
    for j in reversed(range(len(tableau.dense))):
        rest = (rest + tableau.dense[j]) * (1.0 - theta if j % 2 == 0 else theta)
    return theta * (d + (1.0 - theta) * (first - d + theta * (2.0 * d - first - last + rest)))


def test_there_are_as_many_trees_as_there_should_be():
    assert [len(trees(k)) for k in range(1, 9)] == [len(set(trees(k))) for k in range(1, 9)] == [1, 1, 2, 4, 9, 20, 48, 115]
    assert sorted(map(density, trees(4))) == [4, 8, 12, 24]


@ALL
def test_the_order_is_that_and_no_higher(tableau):
    b = padded(tableau.b, tableau)
    for order in range(1, tableau.order + 1):
        np.testing.assert_allclose(defects(tableau, b, order), 0.0, atol=ROUNDING.get(tableau.name, 1e-14))
    assert np.abs(defects(tableau, b, tableau.order + 1)).max() > 1e-6


@pytest.mark.parametrize(("tableau", "error", "order"), [(DOP853, DOP853.error, 5), (DOP853, DOP853.second_error, 3),
                                                         (DOPRI5, DOPRI5.error, 4)], ids=("DOP853, 5", "DOP853, 3", "DOPRI5"))
def test_error_estimates_are_differences_of_formulas(tableau, error, order):
    other = padded(tableau.b, tableau) - error
    for k in range(1, order + 1):
        np.testing.assert_allclose(defects(tableau, other, k), 0.0, atol=1e-14)
    assert np.abs(defects(tableau, other, order + 1)).max() > 1e-5


@ALL
@pytest.mark.parametrize("theta", INSIDE)
def test_dense_output_has_its_order_inside_the_step(tableau, theta):
    weights, order = dense_weights(tableau, theta), DENSE_ORDERS[tableau.name]
    for k in range(1, order + 1):
        np.testing.assert_allclose(defects(tableau, weights, k, theta), 0.0, atol=3e-13)
    if theta < 1.0:
        assert np.abs(defects(tableau, weights, order + 1, theta)).max() > 1e-8


@ALL
def test_dense_output_is_a_smooth_polynomial_of_its_degree(tableau):
    theta = np.linspace(0.0, 1.0, tableau.degree + 1)
    rows = np.array([dense_weights(tableau, x) for x in theta])
    for k in range(len(tableau.c)):
        polynomial = Polynomial.fit(theta, rows[:, k], tableau.degree)
        assert polynomial(0.37) == pytest.approx(dense_weights(tableau, 0.37)[k], abs=1e-12)
        ends = polynomial(0.0), polynomial(1.0), polynomial.deriv()(0.0), polynomial.deriv()(1.0)
        weight = padded(tableau.b, tableau)[k]
        assert ends == pytest.approx((0.0, weight, float(k == 0), float(k == tableau.stages)), abs=1e-10)


def test_coefficients_are_those_of_scipy():
    extra = SciPy8.A_EXTRA
    np.testing.assert_array_equal(DOP853.A[:12, :12], SciPy8.A)
    np.testing.assert_array_equal(DOP853.A[13:], extra)
    np.testing.assert_array_equal(DOP853.b, SciPy8.B)
    for name, theirs in (("error", SciPy8.E5), ("second_error", SciPy8.E3), ("c", SciPy8.C)):
        np.testing.assert_array_equal(getattr(DOP853, name)[:len(theirs)], theirs)
    np.testing.assert_array_equal(DOP853.dense, SciPy8.D)
    np.testing.assert_allclose(DOPRI5.A[:6, :5], RK45.A, rtol=1e-15)
    np.testing.assert_allclose(DOPRI5.b, RK45.B, rtol=1e-15)
    np.testing.assert_allclose(DOPRI5.error, -RK45.E, rtol=1e-15)


@TABLEAUS
def test_the_bound_of_stability_on_the_negative_axis(tableau):
    """`|R(z)| <= 1` up to about the modulus at which steps count as stiff."""
    A, b = tableau.A[:tableau.stages, :tableau.stages], tableau.b

    def growth(z):
        return abs(1.0 + z * b @ np.linalg.solve(np.eye(len(b)) - z * A, np.ones(len(b))))

    assert max(growth(-x) for x in np.linspace(0.05, 0.98 * tableau.stiffness, 50)) < 1.0 < growth(-1.1 * tableau.stiffness)


def test_constraints_of_half_explicit_stages():
    """The rows belong to points of the motion, of order 3 by quadrature; the last one is the end of the step.

    The linear equations need the diagonal. The other conditions are those of the observed orders.
    """
    held, c = PHEM56.held[1:6], PHEM56.held_c[1:6]
    np.testing.assert_allclose(held.sum(axis=1), c, atol=1e-15)
    np.testing.assert_allclose(held @ PHEM56.c, c**2 / 2, atol=1e-15)
    np.testing.assert_allclose(held @ PHEM56.c**2, c**3 / 3, atol=1e-15)
    np.testing.assert_allclose(held[-1, :6], PHEM56.b, rtol=1e-15)
    assert np.diag(PHEM56.held)[1:6].all() and not np.triu(PHEM56.held, 1).any() and not PHEM56.held[[0, 6]].any()


def test_constraints_of_hem5_are_those_of_the_next_stage():
    np.testing.assert_array_equal(HEM5.held[1:9], HEM5.A[2:])
    np.testing.assert_array_equal(HEM5.held_c[1:9], HEM5.c[2:])
    assert np.diag(HEM5.held)[1:9].all() and not HEM5.held[[0, 9]].any() and not HEM5.A[:2].any() and not HEM5.A[:, 0].any()


def test_tableaus_that_are_none_are_refused():
    with pytest.raises(ValueError, match="wrong: A must be strictly lower triangular, and c the sums of its rows"):
        Tableau("wrong", 1, 1, 1, matrix({1: {0: 0.5}}, 2, 2), np.array([0.0, 1.0]), np.zeros(2), np.zeros(2), np.zeros((1, 2)), 2.0)


def test_the_third_error_estimate_of_dop853_is_of_order_six():
    """One more than the first one: for smooth motions it does not count."""
    for order in range(1, 7):
        assert np.abs(defects(DOP853, DOP853.third_error, order, theta=0.0)).max() < 1e-13
    assert np.abs(defects(DOP853, DOP853.third_error, 7, theta=0.0)).max() > 1e-5


def kinks_and_jumps(power):
    """Derivatives `max(c - tau, 0)^power` of the stages for places `tau`, and the errors of the step."""
    tau = np.linspace(0.001, 0.999, 999)
    c = DOP853.c[:, np.newaxis]
    k = np.where(c > tau, (c - tau) ** power, 0.0)
    return k, np.abs(DOP853.b @ k[:DOP853.stages] - (1.0 - tau) ** (power + 1) / (power + 1))


@pytest.mark.parametrize(("power", "without", "most", "usual"), [(1, 1e4, 20.0, 4.0), (0, 26.0, 10.0, 9.0)], ids=["kinks", "jumps"])
def test_kinks_and_jumps_anywhere_in_a_step_are_seen_by_the_estimate(power, without, most, usual):
    """Without the third weights there are places where the error is 14 000 times the estimate, for jumps 26 times."""
    k, error = kinks_and_jumps(power)
    first, second, third = (weights @ k for weights in (DOP853.error, DOP853.second_error, DOP853.third_error))

    def ratios(square):
        return error * np.sqrt(square + 0.01 * second**2) / square

    assert ratios(first**2).max() > without
    assert ratios(first**2 + third**2).max() < most
    assert np.quantile(ratios(first**2 + third**2), 0.99) < usual
