"""Factors without exchanges of rows, against dense ones; their check and their refinement."""

import numpy as np
import pytest
from scipy.sparse import csc_array, random_array

from mbdae.system.codes import GOOD, SINGULAR_MATRIX
from mbdae.system.fill_in import filled
from mbdae.system.static_lu import factorise, solve, static_factors


def matrix(rng, n=40, density=0.1, diagonal=4.0):
    """A sparse matrix whose permuted diagonal is large."""
    A = random_array((n, n), density=density, rng=rng, data_sampler=rng.normal).tolil()
    rows, columns = rng.permutation(n), rng.permutation(n)
    for i, j in zip(rows, columns):
        A[i, j] = diagonal * rng.choice([-1.0, 1.0])
    return csc_array(A), rows, columns


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def solved(A, rows, columns, b):
    lu, out = static_factors(A, rows, columns), np.empty_like(b)
    status = factorise(A.data, lu)
    solve(lu, b, out)
    return status, lu, out


@pytest.mark.parametrize("n", [1, 2, 40, 150])
def test_the_solution_is_that_of_a_dense_solver(rng, n):
    A, rows, columns = matrix(rng, n)
    b = rng.normal(size=n)
    status, _, x = solved(A, rows, columns, b)
    assert status == GOOD
    np.testing.assert_allclose(x, np.linalg.solve(A.toarray(), b), rtol=1e-9, atol=1e-12)


def test_a_solution_in_the_place_of_the_right_hand_side(rng):
    A, rows, columns = matrix(rng)
    b = rng.normal(size=A.shape[0])
    _, lu, x = solved(A, rows, columns, b)
    solve(lu, b, b)
    np.testing.assert_array_equal(b, x)


def test_the_pattern_of_the_factors_is_that_of_dense_elimination(rng):
    A, rows, columns = matrix(rng, 30)
    lu = static_factors(A, rows, columns)
    full = (A.toarray()[rows][:, columns] != 0.0).astype(int)
    for k in range(30):
        full[k + 1:, k + 1:] |= np.outer(full[k + 1:, k], full[k, k + 1:])
    for part, expected in ((lu.L, np.tril(full, -1)), (lu.U, np.triu(full, 1))):
        found = np.zeros_like(full)
        for i in range(30):
            columns_of_row = part.columns[part.start[i]:part.start[i + 1]]
            assert (np.diff(columns_of_row.astype(int)) > 0).all()
            found[i, columns_of_row] = 1
        np.testing.assert_array_equal(found, expected)


def test_a_row_without_its_diagonal_has_one_in_the_factors():
    L, U = filled(np.array([0, 1, 2]), np.array([1, 0], dtype=np.uint32))
    assert L.columns.tolist() == [0] and U.columns.tolist() == [1]


def test_more_fill_in_than_there_was_room_for():
    """An arrow whose tip comes first fills the whole matrix."""
    n = 200
    A = np.eye(n) * n
    A[0], A[:, 0] = 1.0, 1.0
    sparse, order, b = csc_array(A), np.arange(n), np.ones(n)
    A[0, 0] = sparse[0, 0]
    status, lu, x = solved(sparse, order, order, b)
    assert status == GOOD and len(lu.U.columns) == n * (n - 1) // 2
    np.testing.assert_allclose(A @ x, b, atol=1e-12)


def test_rounding_of_a_small_pivot_is_refined_away():
    A = csc_array(np.array([[1e-8, 1.0], [1.0, 1.0]]))
    b, order = np.array([1.0, 3.0]), np.arange(2)
    status, lu, x = solved(A, order, order, b)
    assert status == GOOD and lu.refine == 1
    np.testing.assert_allclose(x, np.linalg.solve(A.toarray(), b), rtol=1e-14)


@pytest.mark.parametrize("A", [[[0.0, 1.0], [1.0, 1.0]], [[1.0, 2.0], [2.0, 4.0]], [[np.nan, 1.0], [1.0, 1.0]]],
                         ids=["no pivot", "singular", "NaN"])
def test_matrices_without_useful_factors(A):
    order = np.arange(2)
    full = csc_array((np.zeros(4), np.array([0, 1, 0, 1]), np.array([0, 2, 4])), shape=(2, 2))
    lu = static_factors(full, order, order)
    assert factorise(np.array(A).T.ravel(), lu) == SINGULAR_MATRIX


def test_a_solution_that_is_not_finite_has_no_backward_error(rng):
    """Wherever in the matrix the entries overflow."""
    A, rows, columns = matrix(rng)
    for k in range(0, A.nnz, 17):
        values = A.data.copy()
        values[k] = np.inf
        assert factorise(values, static_factors(A, rows, columns)) == SINGULAR_MATRIX


def test_scaling_of_rows_and_columns_changes_no_rounding_error(rng):
    A, rows, columns = matrix(rng, diagonal=20.0)
    b, n = rng.normal(size=40), 40
    r, c = 2.0 ** rng.integers(-9, 9, n), 2.0 ** rng.integers(-9, 9, n)
    _, _, x = solved(A, rows, columns, b)
    scaled = csc_array(A.multiply(r[:, None]).multiply(c))
    _, lu, y = solved(scaled, rows, columns, r * b)
    assert lu.refine == 0
    np.testing.assert_array_equal(c * y, x)
