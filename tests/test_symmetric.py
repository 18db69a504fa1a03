"""Symmetric systems by elimination without pivoting."""

import numpy as np
import pytest

from mbdae.system.symmetric import arranged, solve_symmetric, width


def solved(A, b):
    found = np.full(width(len(b)), np.nan)
    solve_symmetric(arranged(A, b), found)
    return found[:len(b)]


@pytest.mark.parametrize("n", [*range(1, 14), 27, 43])
def test_definite_matrices(n, rng):
    X = rng.normal(size=(n, n))
    A, b = X @ X.T + np.eye(n), rng.normal(size=n)
    assert np.abs(A @ solved(A, b) - b).max() <= 1e-12 * np.abs(A).max()


@pytest.mark.parametrize(("n", "m"), [(1, 1), (3, 2), (4, 4), (5, 3), (8, 1), (27, 16)])
def test_matrices_with_a_zero_block(n, m, rng):
    X, T = rng.normal(size=(n, n)), rng.normal(size=(n, m))
    A, b = np.block([[X @ X.T + np.eye(n), T], [T.T, np.zeros((m, m))]]), rng.normal(size=n + m)
    assert np.abs(A @ solved(A, b) - b).max() <= 1e-11 * np.abs(np.linalg.inv(A)).max()


def test_only_the_upper_triangle_is_used(rng):
    A, b = np.eye(5) + 0.1 * np.ones((5, 5)), rng.normal(size=5)
    assert np.array_equal(solved(A, b), solved(A + np.tril(np.full((5, 5), np.nan), -1), b))
