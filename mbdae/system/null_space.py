"""The null space of `Phi_q^T` where constraint equations are redundant, and the choice of the equations that `B` is factorised without.

With `d` redundant equations a set `r` of `d` rows of `B = Phi_q M^-1 Phi_q^T` is left out; the others, `k`, are kept. The null space
of `Phi_q^T` follows from the factors of `B_kk`: one vector for each row left out, with a one in its place and `-B_kk^-1 B_kr` in the rows
that are kept. Its largest entry measures the condition of the choice at this position. Rows that are independent at the start may
become dependent when the mechanism moves, though `Phi_q` keeps its rank. Then other rows are chosen, by orthogonalisation of all rows
with pivoting. The tables of the model keep the choice from one factorisation to the next; solutions `x` and multipliers of minimum norm do
not depend on it, but for rounding.
"""

import numpy as np

from ..compilation.compiled import compiled, matrix
from . import layout as lay
from .factorisation import solve_factorised
from .layout import DEPENDENT_T, SEGMENT_T, count, header, part, table
from .sparse import add_transposed, fill, half_solve, times
from .vectors import is_finite

MAX_ENTRY = 10.0  # of a null vector, relative to the entry of the row left out; above it other rows are chosen
MARGIN = 4.0  # the same bound, relative to the largest entry right after the choice
REFINEMENTS = 2  # the second solve is iterative refinement


@compiled
def vectors(model, work):
    """The null vectors by rows, shape (d, nc), after `kkt.factor` orthonormal."""
    head = header(model)
    return matrix(work, head[lay.W_NULL], count(model, lay.DEPENDENT), head[lay.NC])


@compiled
def form(model, work):
    """Null vectors for the rows left out, from the factors of the others; returns their largest entry, see `_largest_entry`."""
    N, dependent = vectors(model, work), table(model, lay.DEPENDENT, DEPENDENT_T)
    G, L, W = part(model, work, lay.W_G), part(model, work, lay.W_MINV), part(model, work, lay.W_W)
    v, r = part(model, work, lay.W_V1), part(model, work, lay.W_C1)
    for k in range(N.shape[0]):
        n = N[k]
        fill(n, 0.0)
        n[dependent[k]["row"]] = 1.0
        for _ in range(REFINEMENTS):
            # n -= B_kk^-1 W (L Phi_q^T n), as W^T = L Phi_q^T has been rounded
            fill(v, 0.0)
            add_transposed(G, n, model, v)
            half_solve(L, v, model, v)
            times(W, v, model, r)
            _solve_kept(model, work, r)
            for i in range(n.shape[0]):
                n[i] -= r[i]
    return _largest_entry(N, dependent, W, model, r)


@compiled
def _solve_kept(model, work, r):
    """`r = B_kk^-1 r` in the user's order of the rows, zero in rows that are left out."""
    rows, y = table(model, lay.ROWS, np.int64), part(model, work, lay.W_C2)
    for k in range(rows.shape[0]):
        y[k] = r[rows[k]]
    solve_factorised(table(model, lay.FIRST, np.int64), table(model, lay.ENV_PTR, np.int64), part(model, work, lay.W_ENV),
                     part(model, work, lay.W_DIAG), y)
    for k in range(rows.shape[0]):
        r[rows[k]] = y[k]


@compiled
def _largest_entry(N, dependent, W, model, lengths):
    """`max |N_ki| |W_i| / |W_r|`: entries of the null vectors for rows of `W` scaled to length one; `lengths` is overwritten."""
    largest = 0.0
    _square_lengths(W, model, lengths)
    for k in range(N.shape[0]):
        own = lengths[dependent[k]["row"]].real
        for i in range(N.shape[1]):
            size = N[k, i].real ** 2 * lengths[i].real / own if own != 0.0 else 0.0  # in joint coordinates rows may vanish
            if not size <= largest:
                largest = size
    return np.sqrt(largest)


@compiled
def _square_lengths(G, model, out):
    """Squares of the lengths of the rows, of their real parts."""
    segments = table(model, lay.SEGMENT, SEGMENT_T)
    fill(out, 0.0)
    for i in range(segments.shape[0]):
        s = segments[i]
        for k in range(s["n"]):
            out[s["row"]] += G[s["at"] + k].real ** 2


@compiled
def orthonormalise(N):
    """Gram-Schmidt, in place; no conjugation, so it serves the complex step."""
    for k in range(N.shape[0]):
        for j in range(k):
            project_out(N[j], N[k])
        s = 0.0 * N[k, 0]
        for i in range(N.shape[1]):
            s += N[k, i] * N[k, i]
        scale = 1.0 / np.sqrt(s)
        for i in range(N.shape[1]):
            N[k, i] *= scale


@compiled
def project_out(unit, x):
    """`x -= unit (unit . x)`."""
    s = 0.0 * x[0]
    for i in range(x.shape[0]):
        s += unit[i] * x[i]
    for i in range(x.shape[0]):
        x[i] -= s * unit[i]


@compiled
def remove(model, work, lam):
    """`lam -= N N^T lam`: of all multipliers of the same constraint forces those of minimal norm, after `kkt.factor`."""
    N = vectors(model, work)
    for k in range(N.shape[0]):
        project_out(N[k], lam)


@compiled
def refine(model, work):
    """One step of Rayleigh-Ritz iteration towards the singular vectors of the smallest singular values of `W^T`.

    These values vanish where the constraints are satisfied.
    """
    N, W, v = vectors(model, work), part(model, work, lay.W_W), part(model, work, lay.W_V1)
    BN = np.empty_like(N)
    for k in range(N.shape[0]):
        fill(v, 0.0)
        add_transposed(W, N[k], model, v)
        times(W, v, model, BN[k])
    # N -= B_kk^-1 (B N - N (N^T B N))
    for k in range(N.shape[0]):
        for j in range(N.shape[0]):
            project_out(N[j], BN[k])
    for k in range(N.shape[0]):
        _solve_kept(model, work, BN[k])
        for i in range(N.shape[1]):
            N[k, i] -= BN[k, i]
    orthonormalise(N)


@compiled
def remainder(model, work):
    """The largest `|Phi_q^T n|` of the null vectors, relative to the longest row of `Phi_q`; after `kkt.factor`."""
    N, G, lengths, v = vectors(model, work), part(model, work, lay.W_G), part(model, work, lay.W_C1), part(model, work, lay.W_V1)
    _square_lengths(G, model, lengths)
    longest, largest = 0.0, 0.0
    for i in range(lengths.shape[0]):
        longest = max(longest, lengths[i].real)
    for k in range(N.shape[0]):
        fill(v, 0.0)
        add_transposed(G, N[k], model, v)
        largest = max(largest, _square(v))
    return np.sqrt(largest / longest)


@compiled
def choose(model, work):
    """Choose the rows that are left out, by Gram-Schmidt orthogonalisation of the rows of `W` with pivoting on the longest remainder.

    Only rows that can depend on others take part. Returns whether all entries of `W` are finite; if not nothing is changed.
    """
    nc, d = header(model)[lay.NC], count(model, lay.DEPENDENT)
    rows, finite = _unit_rows(model, work)
    if not finite:
        return False
    # candidates
    possible, taken = np.zeros(nc, np.bool_), np.zeros(nc, np.bool_)
    candidates = table(model, lay.CANDIDATE, np.int64)
    for k in range(candidates.shape[0]):
        possible[candidates[k]] = True
    # first the rows that never depend on others
    for k in range(nc):
        if not possible[k]:
            _take(k, rows, taken)
    # of the candidates the longest remainder, one by one
    for _ in range(candidates.shape[0] - d):
        longest, best = -1.0, 0
        for i in range(nc):
            size = -1.0 if taken[i] else _square(rows[i])
            if size > longest:
                longest, best = size, i
        _take(best, rows, taken)
    _note(taken, model)
    return True


@compiled
def _unit_rows(model, work):
    """Rows of `W` (real parts) scaled to length one, dense, and whether they are finite."""
    segments, W = table(model, lay.SEGMENT, SEGMENT_T), part(model, work, lay.W_W)
    rows, finite = np.zeros((header(model)[lay.NC], header(model)[lay.NV])), True
    for i in range(segments.shape[0]):
        s = segments[i]
        for k in range(s["n"]):
            rows[s["row"], s["v"] + k] = W[s["at"] + k].real
            finite = finite and is_finite(W[s["at"] + k].real)
    for i in range(rows.shape[0]):
        _scale_to_unit(rows[i])
    return rows, finite


@compiled
def _square(x):
    s = 0.0
    for k in range(x.shape[0]):
        s += x[k] * x[k]
    return s


@compiled
def _scale_to_unit(x):
    size = np.sqrt(_square(x))
    for k in range(x.shape[0]):
        x[k] = x[k] / size if size > 0.0 else 0.0


@compiled
def _take(k, rows, taken):
    """Keep row `k`, and orthogonalise the rows that have not been taken against it."""
    taken[k] = True
    _scale_to_unit(rows[k])
    for i in range(rows.shape[0]):
        if not taken[i]:
            project_out(rows[k], rows[i])


@compiled
def _note(taken, model):
    """Write the rows that are left out into the tables of the model."""
    dependent, order, k = table(model, lay.DEPENDENT, DEPENDENT_T), table(model, lay.ROWS, np.int64), 0
    for at in range(order.shape[0]):
        if not taken[order[at]]:
            dependent[k]["row"], dependent[k]["at"] = order[at], at
            k += 1
