"""Symmetric systems `A x = b` by `A = L D L^T` without pivoting, for matrices that are definite or whose leading block is (quasidefinite).

The upper triangle is stored by rows, each of `width(n)` numbers, a multiple of four: behind the columns of `A` stands `b`, then zeros. Four
rows are eliminated at a time from four others, in chunks of four columns, the vectors of the processor; a chunk with the diagonal has
entries below it, which are of no meaning.
"""

import numpy as np

from ..compilation.compiled import compiled, window
from ..typing import Matrix, Vector

CHUNK = 4


def width(n: int) -> int:
    """Length of the rows for `n` equations: room for the right-hand side, rounded up to whole chunks."""
    return CHUNK * (n // CHUNK + 1)


def arranged(A: Matrix, b: Vector) -> Vector:
    """The rows of `A`, one after the other, and `b` as `solve_symmetric` takes them."""
    n = len(b)
    out = np.zeros((n, width(n)))
    out[:, :n], out[:, n] = np.triu(A), b
    return out.ravel()


@compiled
def solve_symmetric(A: Vector, x: Vector) -> None:
    """`x[:n]` with `A x = b` for the `arranged` matrix, which is overwritten; the length of `x` is `width(n)`."""
    w = x.shape[0]
    n = A.shape[0] // w
    for k in range(0, n, CHUNK):
        _eliminate_within(A, k, min(CHUNK, n - k), w)
        if k + CHUNK < n:
            _eliminate_below(A, k, n, w)
    _substitute(A, n, x)


@compiled
def _eliminate_within(A: Vector, first: int, count: int, w: int) -> None:
    """Eliminate each of some rows from those after it; their diagonal entries become reciprocals."""
    for i in range(first, first + count):
        row = window(A, i * w, w)
        for p in range(first, i):
            pivot = window(A, p * w, w)
            x = pivot[i] * pivot[p]
            for c in range(first // CHUNK, w // CHUNK):
                for m in range(CHUNK):
                    row[CHUNK * c + m] -= x * pivot[CHUNK * c + m]
        row[i] = 1.0 / row[i]


@compiled
def _eliminate_below(A: Vector, k: int, n: int, w: int) -> None:
    """Eliminate four rows from all rows behind them, four at a time and then one by one."""
    i = k + CHUNK
    while i + CHUNK <= n:
        _from_four(A, k, i, w)
        i += CHUNK
    while i < n:
        _from_one(A, k, i, w)
        i += 1


@compiled
def _from_four(A: Vector, k: int, i: int, w: int) -> None:
    """Eliminate the rows from `k` on from the four from `i` on."""
    p, q, r, s = window(A, k * w, w), window(A, (k + 1) * w, w), window(A, (k + 2) * w, w), window(A, (k + 3) * w, w)
    d0, d1, d2, d3 = p[k], q[k + 1], r[k + 2], s[k + 3]
    x0, x1, x2, x3 = d0 * p[i], d1 * q[i], d2 * r[i], d3 * s[i]
    y0, y1, y2, y3 = d0 * p[i + 1], d1 * q[i + 1], d2 * r[i + 1], d3 * s[i + 1]
    u0, u1, u2, u3 = d0 * p[i + 2], d1 * q[i + 2], d2 * r[i + 2], d3 * s[i + 2]
    v0, v1, v2, v3 = d0 * p[i + 3], d1 * q[i + 3], d2 * r[i + 3], d3 * s[i + 3]
    a, b, c, d = window(A, i * w, w), window(A, (i + 1) * w, w), window(A, (i + 2) * w, w), window(A, (i + 3) * w, w)
    for j in range(i // CHUNK, w // CHUNK):
        for m in range(CHUNK):
            at = CHUNK * j + m
            e, f, g, h = p[at], q[at], r[at], s[at]
            a[at] -= x0 * e + x1 * f + x2 * g + x3 * h
            b[at] -= y0 * e + y1 * f + y2 * g + y3 * h
            c[at] -= u0 * e + u1 * f + u2 * g + u3 * h
            d[at] -= v0 * e + v1 * f + v2 * g + v3 * h


@compiled
def _from_one(A: Vector, k: int, i: int, w: int) -> None:
    """Eliminate the four rows from `k` on from row `i`."""
    p, q, r, s = window(A, k * w, w), window(A, (k + 1) * w, w), window(A, (k + 2) * w, w), window(A, (k + 3) * w, w)
    x0, x1, x2, x3 = p[k] * p[i], q[k + 1] * q[i], r[k + 2] * r[i], s[k + 3] * s[i]
    row = window(A, i * w, w)
    for j in range(i // CHUNK, w // CHUNK):
        for m in range(CHUNK):
            at = CHUNK * j + m
            row[at] -= x0 * p[at] + x1 * q[at] + x2 * r[at] + x3 * s[at]


@compiled
def _substitute(A: Vector, n: int, x: Vector) -> None:
    """`x <- U^-1 b` for the rows of `U` and the reciprocals of its diagonal."""
    w = x.shape[0]
    for k in range(w):
        x[k] = 0.0
    x[n] = -1.0  # the right-hand side, moved to the other side
    for i in range(n - 1, -1, -1):
        row, s0, s1, s2, s3 = window(A, i * w, w), 0.0, 0.0, 0.0, 0.0
        for j in range(i // CHUNK, w // CHUNK):
            at = CHUNK * j
            s0, s1 = s0 + row[at] * x[at], s1 + row[at + 1] * x[at + 1]
            s2, s3 = s2 + row[at + 2] * x[at + 2], s3 + row[at + 3] * x[at + 3]
        x[i] = -row[i] * ((s0 + s1) + (s2 + s3))
