"""Gaussian elimination of small dense matrices, stored by columns, real or complex. Zeros cost nothing."""

from ..compilation.compiled import compiled, window
from ..system.sparse_lu import size


@compiled
def eliminate(A, pivots):
    """Factorise with row interchanges a matrix whose columns are the rows of `A`; whether it is regular."""
    n = A.shape[0]
    for k in range(n):
        pivot_column, p, best = A[k], k, size(A[k, k])
        for i in range(k + 1, n):
            x = size(pivot_column[i])
            if x > best:
                p, best = i, x
        if not 0.0 < best < 1e300:
            return False
        pivots[k] = p
        if p != k:
            for j in range(n):
                A[j, k], A[j, p] = A[j, p], A[j, k]
        scale_by = 1.0 / pivot_column[k]
        for i in range(k + 1, n):
            pivot_column[i] *= scale_by
        l = window(A[k], k + 1, n - k - 1)
        for j in range(k + 1, n):
            u = A[j, k]
            if u != 0.0:
                subtract(u, l, window(A[j], k + 1, n - k - 1))
    return True


@compiled
def substitute(A, pivots, x):
    """`x <- matrix^-1 x`, after `eliminate`; `x` may be complex where the matrix is real."""
    n = x.shape[0]
    for k in range(n):
        p = pivots[k]
        x[k], x[p] = x[p], x[k]
    for k in range(n):
        if x[k] != 0.0:
            subtract(x[k], window(A[k], k + 1, n - k - 1), window(x, k + 1, n - k - 1))
    for k in range(n - 1, -1, -1):
        x[k] = x[k] / A[k, k]
        if x[k] != 0.0:
            subtract(x[k], window(A[k], 0, k), window(x, 0, k))


@compiled
def subtract(u, x, out):
    """`out -= u x`."""
    for k in range(x.shape[0]):
        out[k] -= u * x[k]
