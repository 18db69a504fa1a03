"""The KKT matrix `[M Phi_q^T; Phi_q 0]` through the reduced matrix `B = Phi_q M^-1 Phi_q^T` [Negrut, section 3.4.2].

`B` is stored by rows in its envelope, the rows in the order of the renumbered joints. Its Cholesky factorisation leaves out a row
whose pivot vanishes to rounding: such an equation follows from the ones before it, and its multiplier is zero. Rows that are known
to be redundant (see `redundancy`) are left out always.
"""

import numpy as np

from ..compiled import compiled, window
from . import layout as lay
from .layout import DEPENDENT_T, PAIR_T, part, table
from .sparse import add_scaled, add_transposed, dot, factor_mass, mass_solve, scale_rows, times

# a pivot below this fraction of its diagonal entry counts as zero; independent rows stay above it
# up to condition numbers of Phi_q of about 3e6, dependent ones end near 1e-16
DEPENDENT = 1e-13


@compiled
def factor(model, work, fresh_mass):
    """Factorise for the values of `Phi_q` (and of `M`, if `fresh_mass`) in `work`; returns the number of dependent rows."""
    G, W = part(model, work, lay.W_G), part(model, work, lay.W_W)
    if fresh_mass:
        factor_mass(part(model, work, lay.W_MASS), model, part(model, work, lay.W_MINV))
    scale_rows(G, part(model, work, lay.W_MINV), model, W)
    env = part(model, work, lay.W_ENV)
    _reduced_matrix(W, table(model, lay.PAIR, PAIR_T), env)
    first, ptr = table(model, lay.FIRST, np.int64), table(model, lay.ENV_PTR, np.int64)
    _leave_out(table(model, lay.DEPENDENT, DEPENDENT_T), ptr, env)
    return _cholesky(first, ptr, env, part(model, work, lay.W_DIAG))


@compiled
def _reduced_matrix(W, pairs, env):
    """Entries of `W W^T` inside the envelope: one dot product per pair of rows and body they share."""
    env[:] = 0.0
    for p in range(pairs.shape[0]):
        pair = pairs[p]
        env[pair["to"]] += dot(W, pair["a"], W, pair["b"], pair["n"])


@compiled
def _leave_out(dependent, ptr, env):
    """Rows known to follow from the others lose their diagonal entry, and so will not find a pivot."""
    for k in range(dependent.shape[0]):
        env[ptr[dependent[k]["at"] + 1] - 1] = 0.0


@compiled
def _cholesky(first, ptr, env, inverse_diagonal):
    """Row-wise Cholesky in the envelope; the reciprocals of the diagonal are kept, zero for a dependent row."""
    dependent = 0
    for k in range(first.shape[0]):
        start = first[k]
        row = window(env, ptr[k], k - start + 1)
        square = 0.0 * row[0]
        for j in range(start, k):
            begin = max(start, first[j])
            s = row[j - start] - dot(row, begin - start, env, ptr[j] + begin - first[j], j - begin)
            s *= inverse_diagonal[j]
            row[j - start] = s
            square += s * s
        d = row[k - start]
        pivot = d - square
        if pivot.real > DEPENDENT * d.real:
            inverse_diagonal[k] = 1.0 / np.sqrt(pivot)
        elif pivot.real <= DEPENDENT * d.real:
            inverse_diagonal[k] = 0.0
            dependent += 1
        else:  # not a number: let it show in the solution
            inverse_diagonal[k] = pivot
    return dependent


@compiled
def solve_reduced(model, work, rhs, out):
    """`out = B^-1 rhs`, in the user's order of the rows; `out` may be `rhs`."""
    first, ptr = table(model, lay.FIRST, np.int64), table(model, lay.ENV_PTR, np.int64)
    rows = table(model, lay.ROWS, np.int64)
    env, inverse = part(model, work, lay.W_ENV), part(model, work, lay.W_DIAG)
    y = part(model, work, lay.W_C2)
    for k in range(rows.shape[0]):
        y[k] = (rhs[rows[k]] - dot(env, ptr[k], y, first[k], k - first[k])) * inverse[k]
    for k in range(rows.shape[0] - 1, -1, -1):
        x = y[k] * inverse[k]
        add_scaled(-x, env, ptr[k], y, first[k], k - first[k])
        y[k] = x
    for k in range(rows.shape[0]):
        out[rows[k]] = y[k]


@compiled
def solve(model, work, b, c, x, lam):
    """`M x + Phi_q^T lam = b`, `Phi_q x = c`, after `factor`."""
    G, L = part(model, work, lay.W_G), part(model, work, lay.W_MINV)
    y, r = part(model, work, lay.W_V1), part(model, work, lay.W_C1)
    mass_solve(L, b, model, y)
    times(G, y, model, r)
    for k in range(r.shape[0]):
        r[k] -= c[k]
    solve_reduced(model, work, r, lam)
    y[:] = 0.0
    add_transposed(G, lam, model, y)
    for k in range(y.shape[0]):
        y[k] = b[k] - y[k]
    mass_solve(L, y, model, x)
