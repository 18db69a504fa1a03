"""Sparse LU factors in compiled code: few entries in a column, or many."""

import numpy as np
import pytest
from scipy.sparse import csc_array, diags_array, random_array

from mbdae.system.codes import GOOD, NEEDS_MATRIX, SINGULAR_MATRIX
from mbdae.system.sparse_lu import SCANNED, Columns, factorise, least_filled, new_factors, ordering, solve


def factors_of(A, room=None):
    """The matrix by columns and its factors; `room` entries of these, by default as in the integrators."""
    found = ordering(csc_array(A))
    columns = Columns(start=A.indptr.astype(np.int64), rows=A.indices.astype(np.int64), values=A.data.copy())
    return columns, new_factors(found.order, 2 * found.entries if room is None else room, A.dtype)


def shuffled(A, rng):
    """Rows and columns in another order."""
    n = A.shape[0]
    return csc_array(csc_array(A)[rng.permutation(n)][:, rng.permutation(n)])


@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize(("n", "scanned"), [(1, True), (40, True), (300, False)])
def test_solutions(n, scanned, kind):
    """With all steps and rows looked at in each column, and with those only that it reaches."""
    rng = np.random.default_rng(n)
    for _ in range(4):
        band = diags_array([rng.normal(size=n - abs(k)) for k in (-1, 0, 2) if abs(k) < n], offsets=[k for k in (-1, 0, 2) if abs(k) < n])
        A = shuffled(band, rng) if not scanned else csc_array(np.eye(n) + random_array((n, n), density=0.3, rng=rng).toarray())
        A = csc_array(A.astype(kind) * (1.0 + 0.5j if kind is complex else 1.0))
        A.sort_indices()
        columns, lu = factors_of(A)
        assert (n * n <= SCANNED * len(lu.L.values)) == scanned
        assert factorise(columns, lu) == GOOD
        x = rng.normal(size=n).astype(kind)
        b = A @ x
        solve(lu, b)
        assert b == pytest.approx(x, rel=1e-8 * np.linalg.cond(A.toarray()), abs=1e-10 * np.linalg.cond(A.toarray()))


def test_the_order_that_fills_in_least():
    """The matrix of a tree, shuffled."""
    n, rng = 200, np.random.default_rng(4)
    A = np.diag(rng.uniform(4.0, 5.0, n))
    for k in range(1, n):
        parent = rng.integers(max(0, k - 20), k)
        A[k, parent], A[parent, k] = rng.uniform(0.1, 0.2, 2)
    A = shuffled(csc_array(A), rng)
    entries = {order: least_filled(A, order).nnz for order in ("NATURAL", "COLAMD", "MMD_ATA")}
    assert len(set(entries.values())) == 3
    assert least_filled(A, *entries).nnz == min(entries.values())


@pytest.mark.parametrize("n", [30, 200])
def test_both_ways_give_the_same_bits(n):
    """Room decides which one is taken."""
    rng = np.random.default_rng(n)
    A = shuffled(diags_array([rng.normal(size=n), rng.normal(size=n - 1), rng.normal(size=n - 7)], offsets=[0, 1, -7]), rng)
    A.sort_indices()
    results = []
    for room in (n * n, n * n // 8):
        columns, lu = factors_of(A, room)
        assert factorise(columns, lu) == GOOD
        b = np.arange(1.0, n + 1.0)
        solve(lu, b)
        results.append((b, lu.L.values[:lu.L.start[n]].copy(), lu.U.values[:lu.U.start[n]].copy(), lu.pivots.copy()))
    for x, y in zip(*results):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("n", [5, 200])
def test_singular_matrices_and_too_little_room(n):
    rng = np.random.default_rng(n)
    A = csc_array(diags_array([rng.uniform(1.0, 2.0, size=n), rng.normal(size=n - 1)], offsets=[0, 1]))
    columns, lu = factors_of(A)
    columns.values[columns.rows == n - 1] = 0.0
    assert factorise(columns, lu) == SINGULAR_MATRIX
    columns.values[:] = np.nan
    assert factorise(columns, lu) == SINGULAR_MATRIX
    full = csc_array(rng.normal(size=(40, 40)))
    columns, lu = factors_of(full, 100)
    assert factorise(columns, lu) == NEEDS_MATRIX
