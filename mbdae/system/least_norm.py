"""The solution of least norm of a square system that may be singular, by QR factorisation with column pivoting."""

import numpy as np

from ..compilation.compiled import compiled
from ..typing import Integers, Matrix, Vector
from .null_space import orthonormalise, project_out
from .sparse import fill

DEPENDENT = 1e-14  # a remaining column below this fraction of the longest one counts as zero


@compiled
def solve_least_norm(A: Matrix, x: Vector) -> int:
    """`x <- A^+ x`, the least-squares solution of minimum norm. Returns the rank, -1 with `x` NaN if not finite."""
    n = len(A)
    order = np.arange(n)
    A = np.ascontiguousarray(A.T)  # its columns, each in one piece
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
            N[k, i] = -A[rank + k, i]
        _back_substitute(A, rank, N[k])
        N[k, rank + k] = 1.0
    orthonormalise(N)
    for k in range(n - rank):
        project_out(N[k], y)
    for i in range(n):
        x[order[i]] = y[i]
    return rank


@compiled
def _triangularise(C: Matrix, x: Vector, order: Integers) -> int:
    """`A P = Q R` and `x <- Q^T x` by Householder reflections, with the longest remaining column next; returns the rank.

    The rows of `C` are the columns of `A`, and of `R` in the end.
    """
    n, longest = len(C), 0.0
    for k in range(n):
        # the longest remaining column
        best, size = k, 0.0
        for j in range(k, n):
            s = _product(C[j], C[j], k)
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
            C[k, i], C[best, i] = C[best, i], C[k, i]
        # the reflection (I - u u^T / c) with u below the diagonal
        u = C[k]
        pivot = -size if u[k] > 0.0 else size
        c = -pivot * (u[k] - pivot)
        u[k] -= pivot
        for j in range(k + 1, n):
            _subtract(_product(u, C[j], k) / c, u, C[j], k)
        _subtract(_product(u, x, k) / c, u, x, k)
        u[k] = pivot
    return n


@compiled
def _product(x: Vector, y: Vector, k: int) -> float:
    """`x[k:] . y[k:]`."""
    s = 0.0
    for i in range(k, len(x)):
        s += x[i] * y[i]
    return s


@compiled
def _subtract(s: float, x: Vector, y: Vector, k: int) -> None:
    """`y[k:] -= s x[k:]`."""
    for i in range(k, len(x)):
        y[i] -= s * x[i]


@compiled
def _back_substitute(C: Matrix, rank: int, x: Vector) -> None:
    """`x[:rank] = R11^-1 x[:rank]`; the rows of `C` are the columns of `R`."""
    for j in range(rank - 1, -1, -1):
        x[j] /= C[j, j]
        for i in range(j):
            x[i] -= x[j] * C[j, i]
