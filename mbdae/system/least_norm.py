"""The solution of least norm of a square system that may be singular, by QR factorisation with column pivoting."""

import numpy as np

from ..compilation.compiled import compiled
from ..typing import Integers, Matrix, Vector
from .null_space import orthonormalise, project_out
from .sparse import fill

DEPENDENT = 1e-14  # a remaining column below this fraction of the longest one counts as zero


@compiled
def solve_least_norm(A: Matrix, x: Vector) -> int:
    """`x <- A^+ x`, the least-squares solution of minimum norm; `A` is overwritten. Returns the rank, -1 with `x` NaN if not finite."""
    n = len(A)
    order = np.arange(n)
    rank = _triangularise(A, x, order)
    if rank < 0:
        fill(x, np.nan)
        return rank
    # y = (R11^-1 x1, 0), in the order of the columns
    y, N = np.zeros(n), np.zeros((n - rank, n))
    for i in range(rank):
        y[i] = x[i]
    _back_substitute(A, rank, y)
    # less its part in the null space, which (-R11^-1 R12, I) spans
    for k in range(n - rank):
        for i in range(rank):
            N[k, i] = -A[i, rank + k]
        _back_substitute(A, rank, N[k])
        N[k, rank + k] = 1.0
    orthonormalise(N)
    for k in range(n - rank):
        project_out(N[k], y)
    for i in range(n):
        x[order[i]] = y[i]
    return rank


@compiled
def _triangularise(A: Matrix, x: Vector, order: Integers) -> int:
    """`A P = Q R` and `x <- Q^T x` by Householder reflections, with the longest remaining column next; returns the rank."""
    n, longest = len(A), 0.0
    for k in range(n):
        # the longest remaining column
        best, size = k, 0.0
        for j in range(k, n):
            s = 0.0
            for i in range(k, n):
                s += A[i, j] * A[i, j]
            if not s <= size:
                best, size = j, s
        size = np.sqrt(size)
        longest = max(longest, size)
        if not size < np.inf:
            return -1
        if size <= DEPENDENT * longest:
            return k
        order[k], order[best] = order[best], order[k]
        for i in range(n):
            A[i, k], A[i, best] = A[i, best], A[i, k]
        # the reflection (I - u u^T / c) with u below the diagonal
        pivot = -size if A[k, k] > 0.0 else size
        u0 = A[k, k] - pivot
        c = -pivot * u0
        A[k, k] = u0
        for j in range(k + 1, n):
            s = 0.0
            for i in range(k, n):
                s += A[i, k] * A[i, j]
            for i in range(k, n):
                A[i, j] -= s / c * A[i, k]
        s = 0.0
        for i in range(k, n):
            s += A[i, k] * x[i]
        for i in range(k, n):
            x[i] -= s / c * A[i, k]
        A[k, k] = pivot
    return n


@compiled
def _back_substitute(R: Matrix, rank: int, x: Vector) -> None:
    """`x[:rank] = R11^-1 x[:rank]`."""
    for i in range(rank - 1, -1, -1):
        for j in range(i + 1, rank):
            x[i] -= R[i, j] * x[j]
        x[i] /= R[i, i]
