"""The KKT matrix `[M Phi_q^T; Phi_q 0]` through the reduced matrix `B = Phi_q M^-1 Phi_q^T` [Negrut, section 3.4.2].

`B` is stored by rows in its envelope, the rows in the order of the renumbered joints (see `ordering`). Its factorisation (see
`factorisation`) leaves out a row whose pivot vanishes to rounding: the equation depends on the ones before it, and its multiplier is zero.
Redundant equations (see `redundancy`) are always left out, which ones depends on the position (see `null_space`), and multipliers have
minimum norm.

With `M^-1 = L^T L` and `W = Phi_q L^T` it is `B = W W^T`, `lam = B^-1 (W L b - c)` and `x = L^T (L b - W^T lam)`.
"""

from typing import TYPE_CHECKING

import numpy as np
from numba import carray
from numba.core import config

from ..compilation.compiled import compiled
from ..compilation.foreign import pointer
from ..typing import Bytes, Numbers
from . import layout as lay
from . import null_space, rare
from .callbacks import call_rare
from .factorisation import factorise, solve_factorised
from .layout import DEPENDENT_T, PAIR_T, count, part, table
from .out_of_line import out_of_line
from .sparse import add_times, add_transposed, dot, factor_mass, fill, half_solve, half_solve_transposed, scale_rows

REMOVE = -1  # in the place of a number of rows


@out_of_line(lay.FACTOR, "mwb", "i")
def factor(model, work, fresh_mass):
    """Factorise for the values of `Phi_q` (and of `M`, if `fresh_mass`) in `work`; returns the number of rows without a pivot.

    Where equations are redundant the null space of `Phi_q^T` is formed as well, and other rows are left out if the choice is
    ill-conditioned.
    """
    G, W = part(model, work, lay.W_G), part(model, work, lay.W_W)
    if fresh_mass:
        factor_mass(part(model, work, lay.W_MASS), model, part(model, work, lay.W_MINV))
    if G.shape[0] == 0:
        return 0
    scale_rows(G, part(model, work, lay.W_MINV), model, W)
    lost = factor_rows(W, model, part(model, work, lay.W_ENV), part(model, work, lay.W_DIAG))
    return renew_null_space(lost, model, work) if count(model, lay.DEPENDENT) else lost


@compiled
def _renew_null_space(lost, model, work):
    """The null space of `Phi_q^T` after a factorisation with `lost` rows without a pivot; if needed after a new choice of rows."""
    redundant, bound = count(model, lay.DEPENDENT), table(model, lay.MAX_ENTRY, np.float64)
    largest = null_space.form(model, work)
    if (lost > redundant or largest > bound[0]) and null_space.choose(model, work):
        lost = factor_rows(part(model, work, lay.W_W), model, part(model, work, lay.W_ENV), part(model, work, lay.W_DIAG))
        largest = null_space.form(model, work)
        bound[0] = max(null_space.MAX_ENTRY, null_space.MARGIN * largest) if lost == redundant else null_space.MAX_ENTRY
    null_space.orthonormalise(null_space.vectors(model, work))
    return lost


if TYPE_CHECKING or config.DISABLE_JIT:
    renew_null_space = _renew_null_space

    def remove_null_part(model: Bytes, work: Numbers, lam: Numbers) -> None:
        null_space.remove(model, work, lam)

else:

    @compiled
    def renew_null_space(lost, model, work):
        """`_renew_null_space`, out of line."""
        at = rare.address(lay.RARE_NULL_SPACE, model, work)
        return call_rare(at, 0.0, lost, 0, 0, 0, 0, 0, model.ctypes.data, work.ctypes.data)

    @compiled
    def remove_null_part(model, work, lam):
        """`null_space.remove`, out of line."""
        at = rare.address(lay.RARE_NULL_SPACE, model, work)
        call_rare(at, 0.0, REMOVE, 0, 0, 0, 0, rare.address_of(lam, work), model.ctypes.data, work.ctypes.data)


@compiled
def null_space_real(_t, lost, _q, _v, _c, _a, lam, model, work):
    """`_null_space` from addresses."""
    _, _, nc, n = rare.sizes_at(model)
    return _null_space(lost, carray(pointer(lam), (nc,), np.float64), rare.model_at(model), carray(pointer(work), (n,), np.float64))


@compiled
def null_space_complex(_t, lost, _q, _v, _c, _a, lam, model, work):
    """`_null_space` from addresses of complex numbers."""
    _, _, nc, n = rare.sizes_at(model)
    return _null_space(lost, carray(pointer(lam), (nc,), np.complex128), rare.model_at(model), carray(pointer(work), (n,), np.complex128))


@compiled
def _null_space(lost, lam, model, work):
    """`_renew_null_space`, all rows lost if it fails; or `null_space.remove` for `lam`, if `lost` is `REMOVE`."""
    if lost == REMOVE:
        null_space.remove(model, work, lam)
        return 0
    try:
        return _renew_null_space(lost, model, work)
    except Exception:  # numba's division of complex numbers by zero; no exception can leave a function that is called by address
        return lam.shape[0]


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
    """Set the diagonal entries of the rows that are left out to zero, so that they have no pivot."""
    for k in range(dependent.shape[0]):
        env[ptr[dependent[k]["at"] + 1] - 1] = 0.0


@compiled
def minimise(model, work, lam):
    """`lam` without its part in the null space of `Phi_q^T`: minimal norm for the same constraint forces; after `factor`."""
    if count(model, lay.DEPENDENT):
        remove_null_part(model, work, lam)


@out_of_line(lay.SOLVE_REDUCED, "mwxx")
def solve_reduced(model, work, rhs, out):
    """`out = B^-1 rhs`, in the user's order of the rows; `out` may be `rhs`. The pseudo-inverse where equations are redundant."""
    _solve_kept(model, work, rhs, out)
    minimise(model, work, out)


@compiled
def _solve_kept(model, work, rhs, out):
    """`out = B^-1 rhs` in the rows that are kept, zero in the others.

    Where equations are redundant `rhs` is first projected onto the range of `B`: a least-squares solution if it is inconsistent.
    """
    env, inverse, y = part(model, work, lay.W_ENV), part(model, work, lay.W_DIAG), part(model, work, lay.W_C2)
    right = rhs
    if count(model, lay.DEPENDENT):
        for k in range(out.shape[0]):
            out[k] = rhs[k]
        remove_null_part(model, work, out)
        right = out
    solve_rows(model, env, inverse, y, right, out)


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


@out_of_line(lay.SOLVE, "mwxxxx")
def solve(model, work, b, c, x, lam):
    """`M x + Phi_q^T lam = b`, `Phi_q x = c` with `lam` of minimal norm, after `factor`."""
    W, L = part(model, work, lay.W_W), part(model, work, lay.W_MINV)
    y, r = part(model, work, lay.W_V1), part(model, work, lay.W_C1)
    # y = L b
    half_solve(L, b, model, y)
    if r.shape[0] == 0:
        half_solve_transposed(L, y, model, x)
        return
    # lam = B^-1 (W y - c)
    for k in range(r.shape[0]):
        r[k] = -c[k]
    add_times(W, y, model, r)
    _solve_kept(model, work, r, lam)
    # x = L^T (y - W^T lam)
    for k in range(r.shape[0]):
        r[k] = -lam[k]
    add_transposed(W, r, model, y)
    half_solve_transposed(L, y, model, x)
    minimise(model, work, lam)
