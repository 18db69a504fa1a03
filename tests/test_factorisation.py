"""The factorisation in the envelope: rows alone, in pairs, in threes, and rows that depend on others."""

import numpy as np
import pytest

from mbdae.system.factorisation import factorise, solve_factorised

SIZES = {"single": [1] * 12, "pairs": [2] * 8, "threes": [3] * 6, "fives": [5] * 4, "mixed": [1, 3, 2, 5, 1, 4, 6, 2], "one": [1],
         "none": []}


def random_matrix(rng, sizes, complex_step=False):
    """A positive definite matrix in an envelope of joints, and its `first`, `ptr`."""
    start = np.cumsum([0, *sizes])
    first = np.repeat([start[rng.integers(max(0, k - 3), k + 1)] for k in range(len(sizes))], sizes)
    n = len(first)
    L = np.tril(rng.normal(size=(n, n)), -1) * (np.arange(n) >= first[:, None]) + np.diag(rng.uniform(1.0, 2.0, n))
    B = L @ L.T
    if complex_step:
        B = B + 1e-3j * np.tril(B, -1) + 1e-3j * np.tril(B, -1).T
    lengths = np.arange(n) - first + 1
    return B, first.astype(np.int64), np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def packed(B, first):
    return np.concatenate([B[k, f:k + 1] for k, f in enumerate(first)]) if len(first) else np.zeros(0, B.dtype)


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("complex_step", [False, True])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_solutions_are_those_of_dense_algebra(sizes, complex_step, seed):
    rng = np.random.default_rng(seed)
    B, first, ptr = random_matrix(rng, SIZES[sizes], complex_step)
    env, inverse, b = packed(B, first), np.zeros(len(B), B.dtype), rng.normal(size=len(B)).astype(B.dtype)
    assert factorise(first, ptr, env, inverse) == 0
    y = b.copy()
    solve_factorised(first, ptr, env, inverse, y)
    np.testing.assert_allclose(y, np.linalg.solve(B, b) if len(B) else b, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("sizes", ["single", "pairs", "threes", "mixed"])
@pytest.mark.parametrize("last", [0, 1, 2])
def test_factors_multiply_to_the_matrix(sizes, last):
    rng = np.random.default_rng(4)
    B, first, ptr = random_matrix(rng, SIZES[sizes])
    env, inverse = packed(B, first), np.zeros(len(B))
    factorise(first, ptr, env, inverse)
    L = np.eye(len(B))
    for k, f in enumerate(first):
        L[k, f:k] = env[ptr[k]:ptr[k] + k - f]
    np.testing.assert_allclose(L @ np.diag(1.0 / inverse) @ L.T, B, rtol=1e-10, atol=1e-12)
    assert env[ptr[last + 1] - 1] == B[last, last]


@pytest.mark.parametrize("k", range(6))
def test_a_row_that_depends_on_others_is_left_out(k):
    """Six equations in a dense block, one of them a combination of those before it (the first one empty)."""
    W = np.random.default_rng(5).normal(size=(6, 8))
    W[k] = np.array([2.0, -1.0, 0.5, 1.0, 3.0])[:k] @ W[:k]
    B, first, ptr = W @ W.T, np.zeros(6, np.int64), np.cumsum(np.arange(7))
    env, inverse, b = packed(B, first), np.zeros(6), W @ np.arange(8.0)
    assert factorise(first, ptr, env, inverse) == 1
    assert np.flatnonzero(inverse == 0.0).tolist() == [k]
    y = b.copy()
    solve_factorised(first, ptr, env, inverse, y)
    assert y[k] == 0.0
    np.testing.assert_allclose(B @ y, b, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("sizes", ["single", "pairs", "threes"])
def test_what_is_not_a_number_shows(sizes):
    B, first, ptr = random_matrix(np.random.default_rng(6), SIZES[sizes])
    env, inverse, y = packed(B, first), np.zeros(len(B)), np.ones(len(B))
    env[-1] = np.nan
    assert factorise(first, ptr, env, inverse) == 0
    solve_factorised(first, ptr, env, inverse, y)
    assert np.isnan(y).any()
