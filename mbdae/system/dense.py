"""Factorisation of small dense matrices, without allocation."""

from ..compilation.compiled import compiled


@compiled
def factorise(A, pivots):
    """`P A = L U` in the place of `A`; returns whether all pivots differ from zero and are finite."""
    n = A.shape[0]
    for k in range(n):
        # largest pivot of the column
        p = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[p, k]):
                p = i
        pivots[k] = p
        if p != k:
            for j in range(n):
                A[k, j], A[p, j] = A[p, j], A[k, j]
        if not 0.0 < abs(A[k, k]) < 1e300:
            return False
        # elimination
        for i in range(k + 1, n):
            A[i, k] /= A[k, k]
            for j in range(k + 1, n):
                A[i, j] -= A[i, k] * A[k, j]
    return True


@compiled
def solve(A, pivots, x):
    """`x <- A^-1 x`, after `factorise`."""
    n = A.shape[0]
    # P x
    for k in range(n):
        p = pivots[k]
        x[k], x[p] = x[p], x[k]
    # L^-1 x
    for k in range(n):
        for i in range(k + 1, n):
            x[i] -= A[i, k] * x[k]
    # U^-1 x
    for k in range(n - 1, -1, -1):
        x[k] /= A[k, k]
        for i in range(k):
            x[i] -= A[i, k] * x[k]


@compiled
def add_rows(c, rows, x, out):
    """`out += c rows^T x`, for matrices that are stored by columns."""
    for k in range(rows.shape[0]):
        for i in range(rows.shape[1]):
            out[i] += c * x[k] * rows[k, i]
