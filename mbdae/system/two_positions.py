"""The matrix `C = Phi_q(q1) M^-1 Phi_q(q)^T` of two positions: not symmetric, but with the entries of `B` in its envelope.

Newton's matrix of a step whose multipliers act at `q` and whose constraints hold at `q1`. With `M^-1 = L^T L`, `W = Phi_q(q) L^T` and
`W1 = Phi_q(q1) L^T` it is `C = W1 W^T`, factorised as `C = L U` without pivoting, the rows in the order of the renumbered joints. The work
is about twice that of `B`. Where a pivot vanishes or the solution leaves a residual, the caller needs another way.
"""

import numpy as np

from ..compilation.compiled import compiled
from . import layout as lay
from .kkt import minimise
from .layout import DEPENDENT_T, PAIR_T, part, table
from .sparse import add_times, add_transposed, dot, fill, scale_rows
from .vectors import largest, put

SMALLEST_PIVOT = 1e-13  # relative to the products it is the sum of
LARGEST_RESIDUAL = 1e-6  # of a solution, relative to the largest entry of the right side


@compiled
def solve_two_positions(G1, model, work, r):
    """`r <- C^-1 r` for `Phi_q(q1)` in `G1`, after `kkt.factor` at `q`; whether it succeeded, otherwise `r` is unchanged.

    Rows that are left out of `B` are left out here, too, and then the solution has minimum norm for the same `Phi_q(q)^T r`.
    """
    if not solve_kept(G1, model, work, r):
        return False
    minimise(model, work, r)
    return True


@compiled
def solve_kept(G1, model, work, r):
    """The same with zeros in the rows that are left out."""
    W, W1 = part(model, work, lay.W_W), np.empty_like(G1)
    scale_rows(G1, part(model, work, lay.W_MINV), model, W1)
    first, ptr, rows = table(model, lay.FIRST, np.int64), table(model, lay.ENV_PTR, np.int64), table(model, lay.ROWS, np.int64)
    low, up = np.zeros(ptr[rows.shape[0]]), np.zeros(ptr[rows.shape[0]])
    _products(W1, W, model, low, up)
    inverse, x, y = np.ones_like(r), np.empty_like(r), np.empty_like(r)
    dependent = table(model, lay.DEPENDENT, DEPENDENT_T)
    for k in range(dependent.shape[0]):
        inverse[dependent[k]["at"]] = 0.0
    if not _factorise(first, ptr, low, up, inverse):
        return False
    for k in range(rows.shape[0]):
        y[k] = r[rows[k]]
    _substitute(first, ptr, low, up, inverse, y)
    for k in range(rows.shape[0]):
        x[rows[k]] = y[k]
    if not _solves(W1, W, model, x, r, inverse):
        return False
    put(x, r)
    return True


@compiled
def _products(W1, W, model, low, up):
    """The lower triangle of `C` by rows and the upper one by columns, both in the envelope."""
    pairs = table(model, lay.PAIR, PAIR_T)
    for p in range(pairs.shape[0]):
        pair = pairs[p]
        to, a, b, n = pair["to"], pair["a"], pair["b"], pair["n"]
        low[to] += dot(W1, a, W, b, n)
        up[to] += dot(W, a, W1, b, n)


@compiled
def _factorise(first, ptr, low, up, inverse):
    """`L` with ones on its diagonal, `U` and the reciprocals of its pivots, where they are not given as 0; whether no pivot vanished."""
    for k in range(first.shape[0]):
        start, n = first[k], k - first[k]
        pivot = low[ptr[k] + n]
        size = abs(pivot)
        for j in range(n):
            begin = max(start, first[start + j])
            above, along, m = ptr[start + j] + begin - first[start + j], ptr[k] + begin - start, start + j - begin
            l = (low[ptr[k] + j] - dot(low, along, up, above, m)) * inverse[start + j]
            u = up[ptr[k] + j] - dot(up, along, low, above, m)
            low[ptr[k] + j], up[ptr[k] + j] = l, u
            pivot -= l * u
            size += abs(l * u)
        if inverse[k] != 0.0:
            if not abs(pivot) > SMALLEST_PIVOT * size:
                return False
            inverse[k] = 1.0 / pivot
    return True


@compiled
def _substitute(first, ptr, low, up, inverse, y):
    """`y <- U^-1 L^-1 y`."""
    for k in range(first.shape[0]):
        y[k] -= dot(low, ptr[k], y, first[k], k - first[k])
    for k in range(first.shape[0] - 1, -1, -1):
        y[k] *= inverse[k]
        for j in range(first[k], k):
            y[j] -= up[ptr[k] + j - first[k]] * y[k]


@compiled
def _solves(W1, W, model, x, r, inverse):
    """Whether `C x = r` in the rows that are kept, but for rounding that the pivots have let grow."""
    v, residual, rows = np.zeros(lay.header(model)[lay.NV]), np.empty_like(r), table(model, lay.ROWS, np.int64)
    add_transposed(W, x, model, v)
    fill(residual, 0.0)
    add_times(W1, v, model, residual)
    bound = LARGEST_RESIDUAL * largest(r)
    for k in range(rows.shape[0]):
        if inverse[k] != 0.0 and not abs(residual[rows[k]] - r[rows[k]]) <= bound:
            return False
    return True
