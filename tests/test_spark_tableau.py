"""SPARK formulas: the conditions for their order, symmetry and symplecticity."""

import numpy as np
import pytest

from mbdae.integrators.spark.tableau import ORDERS, PAIRS, check, formula

EPS = 2e-15
EACH = pytest.mark.parametrize("order", ORDERS)
BOTH = pytest.mark.parametrize("pair", PAIRS)


@BOTH
@EACH
def test_the_weights_integrate_polynomials(order, pair):
    """B(2 s) of the motion, of Lobatto B(2 s) with `s + 1` nodes, and no more."""
    f = formula(order, pair)
    for weights, nodes in ((f.b, f.c), (f.d, f.e)):
        for k in range(1, order + 1):
            assert weights @ nodes ** (k - 1) == pytest.approx(1.0 / k, abs=EPS)
        assert abs(weights @ nodes**order - 1.0 / (order + 1)) > 1e-6
        np.testing.assert_allclose(nodes + nodes[::-1], 1.0, atol=EPS)


@BOTH
@EACH
def test_positions_are_collocation(order, pair):
    """C(s) of both sets of stages, with as many nodes as the motion has."""
    f = formula(order, pair)
    for k in range(1, len(f.c) + 1):
        np.testing.assert_allclose(f.A @ f.c ** (k - 1), f.c**k / k, rtol=0.0, atol=EPS)
        np.testing.assert_allclose(f.P @ f.c ** (k - 1), f.e**k / k, rtol=0.0, atol=EPS)
    np.testing.assert_array_equal(f.P[0], 0.0)
    np.testing.assert_allclose(f.P[-1], f.b, rtol=0.0, atol=EPS)


@BOTH
@EACH
def test_velocities_satisfy_the_adjoint_conditions(order, pair):
    """D of the coefficients of forces and reactions: `sum_i b_i c_i^(k-1) r_ij = d_j (1 - e_j^k) / k`, and Jay's C and last column."""
    f = formula(order, pair)
    for k in range(1, len(f.c) + 1):
        weights = f.b * f.c ** (k - 1)
        np.testing.assert_allclose(weights @ f.U, f.b / k * (1.0 - f.c**k), rtol=0.0, atol=EPS)
        np.testing.assert_allclose(weights @ f.R, f.d / k * (1.0 - f.e**k), rtol=0.0, atol=EPS)
    for k in range(1, len(f.e) - 1):
        np.testing.assert_allclose(f.R @ f.e ** (k - 1), f.c**k / k, rtol=0.0, atol=EPS)
    for k in range(1, len(f.c) + (1 if pair == "gauss-lobatto" else -1)):
        np.testing.assert_allclose(f.U @ f.c ** (k - 1), f.c**k / k, rtol=0.0, atol=EPS)
    np.testing.assert_allclose(f.R[:, -1], 0.0, atol=EPS)
    np.testing.assert_allclose(f.R[:, 0], f.d[0], rtol=0.0, atol=EPS)


@BOTH
@EACH
def test_the_formula_is_symplectic_and_symmetric(order, pair):
    f = formula(order, pair)
    np.testing.assert_allclose(f.b[:, None] * f.U + (f.b[:, None] * f.A).T, np.outer(f.b, f.b), rtol=0.0, atol=EPS)
    np.testing.assert_allclose(f.b[:, None] * f.R + (f.d[:, None] * f.P).T, np.outer(f.b, f.d), rtol=0.0, atol=EPS)
    for rows, weights in ((f.A, f.b), (f.U, f.b), (f.P, f.b), (f.R, f.d)):
        np.testing.assert_allclose(rows + rows[::-1, ::-1], np.broadcast_to(weights, rows.shape), rtol=0.0, atol=EPS)


@BOTH
@EACH
def test_what_follows_from_the_coefficients(order, pair):
    f = formula(order, pair)
    np.testing.assert_allclose(f.PU, np.vstack([(f.P @ f.U)[1:], f.b]), rtol=0.0, atol=EPS)
    np.testing.assert_allclose(f.PR, np.vstack([(f.P @ f.R)[1:], f.d]), rtol=0.0, atol=EPS)
    np.testing.assert_allclose(f.inverse @ f.PR, np.eye(len(f.e)), rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(f.AU, f.A @ f.U, rtol=0.0, atol=EPS)
    np.testing.assert_allclose(f.AR, f.A @ f.R, rtol=0.0, atol=EPS)
    for k in range(len(f.e)):
        np.testing.assert_allclose(f.E @ f.e**k, f.c**k, rtol=0.0, atol=1e-14)


def test_published_coefficients():
    """Lobatto IIIA and IIIB with three stages [Hairer, Lubich and Wanner, tables II.1.2 and II.2.1]; one stage of Gauss."""
    f = formula(4, "lobatto")
    np.testing.assert_allclose(24.0 * f.A, [[0, 0, 0], [5, 8, -1], [4, 16, 4]], rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(6.0 * f.U, [[1, -1, 0], [1, 2, 0], [1, 5, 0]], rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(f.R, f.U, rtol=0.0, atol=EPS)
    g = formula(2, "gauss-lobatto")
    np.testing.assert_array_equal(g.R, [[0.5, 0.0]])
    np.testing.assert_array_equal(g.P, [[0.0], [1.0]])


@pytest.mark.parametrize("order", [0, 1, 3, 10, 4.0, "4", True, None])
def test_other_orders_are_refused(order):
    with pytest.raises(ValueError, match="Spark: order must be one of 2, 4, 6, 8"):
        check(order, "lobatto")


def test_other_pairs_are_refused():
    with pytest.raises(ValueError, match="Spark: pair must be one of 'gauss-lobatto', 'lobatto', got 'radau'"):
        check(4, "radau")
