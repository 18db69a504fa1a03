"""The KKT matrix `[M Phi_q^T; Phi_q 0]` through the reduced matrix `B = Phi_q M^-1 Phi_q^T` [Negrut, section 3.4.2].

`B` is stored by rows in its envelope, the rows in the order of the renumbered joints (see `ordering`). Its factorisation (see
`factorisation`) leaves out a row whose pivot vanishes to rounding: such an equation follows from the ones before it, and its multiplier
is zero. Rows that are known to be redundant (see `redundancy`) are left out always.

With `M^-1 = L^T L` and `W = Phi_q L^T` it is `B = W W^T`, `lam = B^-1 (W L b - c)` and `x = L^T (L b - W^T lam)`.
"""

import numpy as np

from ..compiled import compiled
from . import layout as lay
from .factorisation import factorise, solve_factorised
from .layout import DEPENDENT_T, PAIR_T, part, table
from .sparse import add_times, add_transposed, dot, factor_mass, fill, half_solve, half_solve_transposed, scale_rows


@compiled
def factor(model, work, fresh_mass):
    """Factorise for the values of `Phi_q` (and of `M`, if `fresh_mass`) in `work`; returns the number of dependent rows."""
    G, W = part(model, work, lay.W_G), part(model, work, lay.W_W)
    if fresh_mass:
        factor_mass(part(model, work, lay.W_MASS), model, part(model, work, lay.W_MINV))
    scale_rows(G, part(model, work, lay.W_MINV), model, W)
    return factor_rows(W, model, part(model, work, lay.W_ENV), part(model, work, lay.W_DIAG))


@compiled
def factor_rows(W, model, env, inverse):
    """Factorise `W W^T`, for `W` in the pattern of `Phi_q`, into its envelope and the reciprocals of `D`; the number of dependent rows."""
    reduced_matrix(W, table(model, lay.PAIR, PAIR_T), env)
    first, ptr = table(model, lay.FIRST, np.int64), table(model, lay.ENV_PTR, np.int64)
    _leave_out(table(model, lay.DEPENDENT, DEPENDENT_T), ptr, env)
    return factorise(first, ptr, env, inverse)


@compiled
def reduced_matrix(W, pairs, env):
    """Entries of `W W^T` inside the envelope: one dot product per pair of rows and body they share."""
    fill(env, 0.0)
    for p in range(pairs.shape[0]):
        pair = pairs[p]
        env[pair["to"]] += dot(W, pair["a"], W, pair["b"], pair["n"])


@compiled
def _leave_out(dependent, ptr, env):
    """Rows known to follow from the others lose their diagonal entry, and so will not find a pivot."""
    for k in range(dependent.shape[0]):
        env[ptr[dependent[k]["at"] + 1] - 1] = 0.0


@compiled
def solve_reduced(model, work, rhs, out):
    """`out = B^-1 rhs`, in the user's order of the rows; `out` may be `rhs`."""
    solve_rows(model, part(model, work, lay.W_ENV), part(model, work, lay.W_DIAG), part(model, work, lay.W_C2), rhs, out)


@compiled
def solve_rows(model, env, inverse, y, rhs, out):
    """`out = (W W^T)^-1 rhs` after `factor_rows`, with scratch `y`; `out` may be `rhs`."""
    first, ptr = table(model, lay.FIRST, np.int64), table(model, lay.ENV_PTR, np.int64)
    rows = table(model, lay.ROWS, np.int64)
    for k in range(rows.shape[0]):
        y[k] = rhs[rows[k]]
    solve_factorised(first, ptr, env, inverse, y)
    for k in range(rows.shape[0]):
        out[rows[k]] = y[k]


@compiled
def solve(model, work, b, c, x, lam):
    """`M x + Phi_q^T lam = b`, `Phi_q x = c`, after `factor`."""
    W, L = part(model, work, lay.W_W), part(model, work, lay.W_MINV)
    y, r = part(model, work, lay.W_V1), part(model, work, lay.W_C1)
    half_solve(L, b, model, y)
    for k in range(r.shape[0]):
        r[k] = -c[k]
    add_times(W, y, model, r)
    solve_reduced(model, work, r, lam)
    for k in range(r.shape[0]):
        r[k] = -lam[k]
    add_transposed(W, r, model, y)
    half_solve_transposed(L, y, model, x)
