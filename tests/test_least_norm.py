"""The least-squares solution of minimum norm against NumPy's pseudo-inverse."""

import numpy as np
import pytest

from mbdae.system.least_norm import solve_least_norm


@pytest.mark.parametrize("n, rank", [(1, 0), (1, 1), (2, 1), (5, 5), (5, 3), (12, 1), (12, 0), (40, 33)])
@pytest.mark.parametrize("consistent", [True, False])
def test_agrees_with_the_pseudo_inverse(n, rank, consistent):
    rng = np.random.default_rng(10 * n + rank)
    A = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, n))
    b = A @ rng.standard_normal(n) if consistent else rng.standard_normal(n)
    x = b.copy()
    assert solve_least_norm(A.copy(), x) == rank
    expected = np.linalg.pinv(A, rcond=1e-13) @ b
    assert np.abs(x - expected).max() <= 1e-12 * max(1.0, np.linalg.cond(A[:rank, :rank]) if rank else 1.0) * (1.0 + np.abs(expected).max())


def test_scales_far_apart():
    A, x = np.diag([1e8, 1e-3, 0.0]), np.array([1e8, 1e-3, 5.0])
    assert solve_least_norm(A, x) == 2
    assert np.allclose(x, [1.0, 1.0, 0.0], rtol=1e-14)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_give_nan(value):
    A, x = np.eye(3), np.ones(3)
    A[1, 2] = value
    assert solve_least_norm(A, x) == -1 and np.isnan(x).all()
    x = np.array([1.0, value, 1.0])
    solve_least_norm(np.eye(3), x)
    assert not np.isfinite(x).all()
