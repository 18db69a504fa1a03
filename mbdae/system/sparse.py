"""Products with `Phi_q` in its fixed pattern of segments and with the block-diagonal mass matrix."""

import numpy as np

from ..compilation.compiled import compiled, generic, window
from . import layout as lay
from .layout import BLOCK_T, SEGMENT_T, header, table
from .tree import call
from .vectors import fill as fill
from .vectors import put

# Windows begin at zero, so that indices cannot be negative; loops of the lengths of rigid and planar bodies are unrolled, and every
# value is read before one is written. Short functions with many arguments are inlined: a call costs as much as their work.


@compiled
def dot(x, a, y, b, n):
    """`x[a:a + n] . y[b:b + n]`"""
    x, y = window(x, a, n), window(y, b, n)
    if n == 6:
        return x[0] * y[0] + x[1] * y[1] + x[2] * y[2] + x[3] * y[3] + x[4] * y[4] + x[5] * y[5]
    if n == 3:
        return x[0] * y[0] + x[1] * y[1] + x[2] * y[2]
    s = x.dtype.type(0.0)
    for k in range(n):
        s += x[k] * y[k]
    return s


@generic
def add_scaled(c, x, a, y, b, n):
    """`y[b:b + n] += c x[a:a + n]`"""
    x, y = window(x, a, n), window(y, b, n)
    if n == 6:
        y[0], y[1], y[2] = y[0] + c * x[0], y[1] + c * x[1], y[2] + c * x[2]
        y[3], y[4], y[5] = y[3] + c * x[3], y[4] + c * x[4], y[5] + c * x[5]
    elif n == 3:
        y[0], y[1], y[2] = y[0] + c * x[0], y[1] + c * x[1], y[2] + c * x[2]
    else:
        for k in range(n):
            y[k] += c * x[k]


@compiled
def add_times(G, x, model, out):
    """`out += Phi_q x`."""
    segments = table(model, lay.SEGMENT, SEGMENT_T)
    for i in range(segments.shape[0]):
        s = segments[i]
        out[s["row"]] += dot(G, s["at"], x, s["v"], s["n"])


@compiled
def times(G, x, model, out):
    """`out = Phi_q x`."""
    fill(out, 0.0)
    add_times(G, x, model, out)


@compiled
def add_transposed(G, lam, model, out):
    """`out += Phi_q^T lam`."""
    segments = table(model, lay.SEGMENT, SEGMENT_T)
    for i in range(segments.shape[0]):
        s = segments[i]
        add_scaled(lam[s["row"]], G, s["at"], out, s["v"], s["n"])


@compiled
def products(G, model, v, Gv, lam, GTlam, mu, GTmu):
    """`Gv = Phi_q v`, `GTlam += Phi_q^T lam`, `GTmu += Phi_q^T mu` in one pass over `Phi_q`."""
    fill(Gv, 0.0)
    segments = table(model, lay.SEGMENT, SEGMENT_T)
    for i in range(segments.shape[0]):
        s = segments[i]
        row, n = s["row"], s["n"]
        g, x = window(G, s["at"], n), window(v, s["v"], n)
        y, z, a, b = window(GTlam, s["v"], n), window(GTmu, s["v"], n), lam[row], mu[row]
        if n == 3:  # a planar body, or half a rigid one
            g0, g1, g2 = g[0], g[1], g[2]
            Gv[row] += g0 * x[0] + g1 * x[1] + g2 * x[2]
            y[0], y[1], y[2] = y[0] + a * g0, y[1] + a * g1, y[2] + a * g2
            z[0], z[1], z[2] = z[0] + b * g0, z[1] + b * g1, z[2] + b * g2
        elif n == 6:
            g0, g1, g2, g3, g4, g5 = g[0], g[1], g[2], g[3], g[4], g[5]
            Gv[row] += g0 * x[0] + g1 * x[1] + g2 * x[2] + g3 * x[3] + g4 * x[4] + g5 * x[5]
            y[0], y[1], y[2] = y[0] + a * g0, y[1] + a * g1, y[2] + a * g2
            y[3], y[4], y[5] = y[3] + a * g3, y[4] + a * g4, y[5] + a * g5
            z[0], z[1], z[2] = z[0] + b * g0, z[1] + b * g1, z[2] + b * g2
            z[3], z[4], z[5] = z[3] + b * g3, z[4] + b * g4, z[5] + b * g5
        else:
            total = Gv[row]
            for k in range(n):
                total += g[k] * x[k]
                y[k] += a * g[k]
                z[k] += b * g[k]
            Gv[row] = total


@compiled
def _times_diagonal(D, x, out):
    """`out = D x` for a diagonal matrix."""
    for k in range(x.shape[0]):
        out[k] = D[k] * x[k]


@compiled
def mass_times(M, x, model, out):
    """`out = M x`."""
    if header(model)[lay.KIND] == lay.TREE:
        put(x, out)  # which may be complex where `x` is real
        call.apply(call.MASS_TIMES, M, out, out, model)
        return
    if header(model)[lay.DIAGONAL_MASS]:
        _times_diagonal(M, x, out)
        return
    blocks = table(model, lay.BLOCK, BLOCK_T)
    for b in range(blocks.shape[0]):
        v, n, at = blocks[b]["v"], blocks[b]["n"], blocks[b]["at"]
        for i in range(n):
            s = 0.0 * M[at] * x[v]
            for j in range(n):
                s += M[at + n * i + j] * x[v + j]
            out[v + i] = s


@compiled
def unit_mass(model, M):
    """`M = I`."""
    if header(model)[lay.KIND] == lay.TREE:
        M[0] = 0.0
        return
    blocks = table(model, lay.BLOCK, BLOCK_T)
    fill(M, 0.0)
    for b in range(blocks.shape[0]):
        n, at = blocks[b]["n"], blocks[b]["at"]
        for i in range(n):
            M[at + (n + 1) * i] = 1.0


@compiled
def factor_mass(M, model, L):
    """`L` with `M^-1 = L^T L`, block by block: the inverse of the Cholesky factor. No conjugation, so it serves the complex step."""
    if header(model)[lay.KIND] == lay.TREE:
        call.apply(call.FACTOR, M, L, L, model)
        return
    blocks = table(model, lay.BLOCK, BLOCK_T)
    for b in range(blocks.shape[0]):
        n, at = blocks[b]["n"], blocks[b]["at"]
        if n == 1:
            L[at] = 1.0 / np.sqrt(M[at])
        else:
            _inverse_cholesky(M[at:at + n * n].reshape(n, n), L[at:at + n * n].reshape(n, n))


@compiled
def _inverse_cholesky(M, L):
    n = M.shape[0]
    for i in range(n):  # L = chol(M)
        for j in range(i + 1):
            s = M[i, j]
            for k in range(j):
                s -= L[i, k] * L[j, k]
            L[i, j] = np.sqrt(s) if i == j else s / L[j, j]
        for j in range(i + 1, n):
            L[i, j] = 0.0
    for j in range(n):  # L <- L^-1, column by column
        L[j, j] = 1.0 / L[j, j]
        for i in range(j + 1, n):
            s = 0.0 * L[i, j]
            for k in range(j, i):
                s += L[i, k] * L[k, j]
            L[i, j] = -s / L[i, i]


@compiled
def half_solve(L, x, model, out):
    """`out = L x`, so that `x . M^-1 y = (L x) . (L y)`. `out` may be `x`."""
    if header(model)[lay.KIND] == lay.TREE:
        put(x, out)  # which may be complex where `x` is real
        call.apply(call.HALF_SOLVE, L, out, out, model)
        return
    if header(model)[lay.DIAGONAL_MASS]:
        _times_diagonal(L, x, out)
        return
    blocks = table(model, lay.BLOCK, BLOCK_T)
    for b in range(blocks.shape[0]):
        v, n, at = blocks[b]["v"], blocks[b]["n"], blocks[b]["at"]
        for i in range(n - 1, -1, -1):
            s = 0.0 * L[at] * x[v]
            for j in range(i + 1):
                s += L[at + n * i + j] * x[v + j]
            out[v + i] = s


@compiled
def half_solve_transposed(L, x, model, out):
    """`out = L^T x`; `out` may be `x`."""
    if header(model)[lay.KIND] == lay.TREE:
        put(x, out)  # which may be complex where `x` is real
        call.apply(call.HALF_SOLVE_TRANSPOSED, L, out, out, model)
        return
    if header(model)[lay.DIAGONAL_MASS]:
        _times_diagonal(L, x, out)
        return
    blocks = table(model, lay.BLOCK, BLOCK_T)
    for b in range(blocks.shape[0]):
        v, n, at = blocks[b]["v"], blocks[b]["n"], blocks[b]["at"]
        for i in range(n):
            s = 0.0 * L[at] * x[v]
            for j in range(i, n):
                s += L[at + n * j + i] * x[v + j]
            out[v + i] = s


@compiled
def mass_solve(L, x, model, out):
    """`out = M^-1 x`; `out` may be `x`."""
    half_solve(L, x, model, out)
    half_solve_transposed(L, out, model, out)


@compiled
def scale_rows(G, L, model, W):
    """`W = Phi_q L^T` in the pattern of `Phi_q`: then `B = Phi_q M^-1 Phi_q^T = W W^T`. Segments cover whole mass blocks."""
    if header(model)[lay.KIND] == lay.TREE:
        call.apply(call.SCALE_ROWS, L, G, W, model)
        return
    segments = table(model, lay.SEGMENT, SEGMENT_T)
    if header(model)[lay.DIAGONAL_MASS]:
        for i in range(segments.shape[0]):
            s = segments[i]
            _scale(L, s["v"], G, W, s["at"], s["n"])
    else:
        blocks, of = table(model, lay.BLOCK, BLOCK_T), table(model, lay.BLOCK_OF, np.int64)
        for i in range(segments.shape[0]):
            s = segments[i]
            _scale_by_blocks(L, blocks, of[s["v"]], G, W, s["at"], s["n"])


@generic
def _scale(L, v, G, W, at, n):
    l, g, w = window(L, v, n), window(G, at, n), window(W, at, n)
    if n == 6:
        w[0], w[1], w[2], w[3], w[4], w[5] = l[0] * g[0], l[1] * g[1], l[2] * g[2], l[3] * g[3], l[4] * g[4], l[5] * g[5]
    elif n == 3:
        w[0], w[1], w[2] = l[0] * g[0], l[1] * g[1], l[2] * g[2]
    else:
        for k in range(n):
            w[k] = l[k] * g[k]


@generic
def _scale_by_blocks(L, blocks, b, G, W, at, n):
    end = at + n
    while at < end:
        m = blocks[b]["n"]
        l, g, w = window(L, blocks[b]["at"], m * m), window(G, at, m), window(W, at, m)
        if m == 1:
            w[0] = l[0] * g[0]
        elif m == 3:
            w[0], w[1], w[2] = l[0] * g[0], l[3] * g[0] + l[4] * g[1], l[6] * g[0] + l[7] * g[1] + l[8] * g[2]
        else:
            for i in range(m):
                w[i] = dot(l, m * i, g, 0, i + 1)
        at, b = at + m, b + 1
