"""`B = L D L^T` in the envelope of `B`, and solutions with it: row by row, two or three rows of a joint at a time.

The envelope `env` holds the rows one after the other, row `k` from its first non-zero column `first[k]`, which stands at `ptr[k]`, to its
diagonal entry. `L` has ones on its diagonal, where the entry of `B` is left as it was. Of `D` the reciprocals are kept, zero where a pivot
vanishes to rounding: that row depends on those before it and is left out.

The rows of a joint begin in the same column. Two or three of them go through the rows above together, so that an entry above is read once
for all and their sums do not wait for each other; a row is scaled when it is complete, so that no sum waits for a division. Single rows
take 1.5 to 2.5 times as long. Blocks of whole joints, the other way to see it [Negrut, eqs. (3.123)-(3.126)], take 1.3 to 2 times as long
with a good numbering of chains and 3 to 4 times with a bad one, even if their size is known to the compiler: their loops are too short.
"""

from ..compilation.compiled import compiled, generic, window
from .sparse import dot

# a pivot below this fraction of its diagonal entry counts as zero; independent rows stay above it
# up to condition numbers of Phi_q of about 3e6, dependent ones end near 1e-16
DEPENDENT = 1e-13


@compiled
def factorise(first, ptr, env, inverse):
    """`env` becomes `L`, `inverse` the reciprocals of `D`; returns the number of dependent rows."""
    k = 0
    while k < first.shape[0]:
        count, start, n = _together(first, k), first[k], k - first[k]
        x, scale = window(env, ptr[k], n + 1), window(inverse, start, n + count)
        if count == 1:
            _one_row(x, scale, start, n, first, ptr, env)
        elif count == 2:
            _two_rows(x, window(env, ptr[k + 1], n + 2), scale, start, n, first, ptr, env)
        else:
            _three_rows(x, window(env, ptr[k + 1], n + 2), window(env, ptr[k + 2], n + 3), scale, start, n, first, ptr, env)
        k += count
    dependent = 0
    for k in range(first.shape[0]):
        dependent += inverse[k] == 0.0
    return dependent


@compiled
def _together(first, k):
    """How many rows from `k` on begin in the same column, three at most."""
    if k + 1 >= first.shape[0] or first[k + 1] != first[k]:
        return 1
    return 2 if k + 2 >= first.shape[0] or first[k + 2] != first[k] else 3


@compiled
def _reciprocal(d, reduction):
    """Reciprocal of the pivot `d - reduction`, zero if that vanishes to rounding."""
    pivot = d - reduction
    if pivot.real > DEPENDENT * d.real:
        return 1.0 / pivot
    if pivot.real <= DEPENDENT * d.real:
        return 0.0 * d
    return pivot  # NaN, which shows in the solution


@generic
def _one_row(x, scale, start, n, first, ptr, env):
    xx = 0.0 * x[0]
    # against the rows above
    for j in range(n):
        f = first[start + j]
        begin = max(start, f)
        u = x[j] - dot(x, begin - start, env, ptr[start + j] + begin - f, start + j - begin)
        x[j] = u
        xx += u * u * scale[j]
    for j in range(n):
        x[j] *= scale[j]
    scale[n] = _reciprocal(x[n], xx)


@generic
def _two_rows(x, y, scale, start, n, first, ptr, env):
    xx = 0.0 * x[0]
    xy, yy = xx, xx
    # against the rows above
    for j in range(n):
        f = first[start + j]
        begin = max(start, f)
        a, b = _two_dots(x, y, begin - start, env, ptr[start + j] + begin - f, start + j - begin)
        u, v = x[j] - a, y[j] - b
        x[j], y[j] = u, v
        m = v * scale[j]
        xx, xy, yy = xx + u * u * scale[j], xy + u * m, yy + v * m
    for j in range(n):
        x[j] *= scale[j]
        y[j] *= scale[j]
    # against each other
    d = _reciprocal(x[n], xx)
    v = y[n] - xy
    m = v * d
    scale[n], y[n] = d, m
    scale[n + 1] = _reciprocal(y[n + 1], yy + v * m)


@generic
def _three_rows(x, y, z, scale, start, n, first, ptr, env):
    xx = 0.0 * x[0]
    xy, yy, xz, yz, zz = xx, xx, xx, xx, xx
    # against the rows above
    for j in range(n):
        f = first[start + j]
        begin = max(start, f)
        a, b, c = _three_dots(x, y, z, begin - start, env, ptr[start + j] + begin - f, start + j - begin)
        u, v, w = x[j] - a, y[j] - b, z[j] - c
        x[j], y[j], z[j] = u, v, w
        m, o = v * scale[j], w * scale[j]
        xx, xy, xz = xx + u * u * scale[j], xy + u * m, xz + u * o
        yy, yz, zz = yy + v * m, yz + v * o, zz + w * o
    for j in range(n):
        x[j] *= scale[j]
        y[j] *= scale[j]
        z[j] *= scale[j]
    # against each other
    d = _reciprocal(x[n], xx)
    v, w = y[n] - xy, z[n] - xz
    m, o = v * d, w * d
    scale[n], y[n], z[n] = d, m, o
    d = _reciprocal(y[n + 1], yy + v * m)
    zz += w * o
    w = z[n + 1] - yz - v * o
    o = w * d
    scale[n + 1], z[n + 1] = d, o
    scale[n + 2] = _reciprocal(z[n + 2], zz + w * o)


@compiled
def _two_dots(x, y, a, z, b, n):
    x, y, z = window(x, a, n), window(y, a, n), window(z, b, n)
    s = x.dtype.type(0.0)
    t = s
    for k in range(n):
        s += x[k] * z[k]
        t += y[k] * z[k]
    return s, t


@compiled
def _three_dots(w, x, y, a, z, b, n):
    w, x, y, z = window(w, a, n), window(x, a, n), window(y, a, n), window(z, b, n)
    s = x.dtype.type(0.0)
    t, u = s, s
    for k in range(n):
        s += w[k] * z[k]
        t += x[k] * z[k]
        u += y[k] * z[k]
    return s, t, u


@compiled
def solve_factorised(first, ptr, env, inverse, y):
    """`y = B^-1 y`."""
    # forward substitution with L
    k = 0
    while k < first.shape[0]:
        count, start, n = _together(first, k), first[k], k - first[k]
        x = window(env, ptr[k], n)
        if count == 1:
            y[k] -= dot(x, 0, y, start, n)
        elif count == 2:
            at = ptr[k + 1]
            a, b = _two_dots(x, window(env, at, n), 0, y, start, n)
            u = y[k] - a
            y[k], y[k + 1] = u, y[k + 1] - b - u * env[at + n]
        else:
            at, to = ptr[k + 1], ptr[k + 2]
            a, b, c = _three_dots(x, window(env, at, n), window(env, to, n), 0, y, start, n)
            u = y[k] - a
            v = y[k + 1] - b - u * env[at + n]
            y[k], y[k + 1], y[k + 2] = u, v, y[k + 2] - c - u * env[to + n] - v * env[to + n + 1]
        k += count
    # D^-1
    for k in range(first.shape[0]):
        y[k] *= inverse[k]
    # back substitution with L^T
    for k in range(first.shape[0] - 1, -1, -1):
        u, n = y[k], k - first[k]
        x, z = window(env, ptr[k], n), window(y, first[k], n)
        for j in range(n):
            z[j] -= u * x[j]
