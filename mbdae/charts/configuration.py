"""A chart at one configuration: the factors that positions, velocities and accelerations share.

There is one factorisation, that of the reduced matrix `B = Phi_q M^-1 Phi_q^T`, and the basis of the null space takes `n` solves with it.
Where positions change little from one evaluation to the next the basis of a nearby configuration serves, see `mbdae.charts.motion`.

Solving `[M Phi_q^T; Phi_q 0]` for the rows of `PT` gives `X` with `Phi_q X = 0`; then `S = PT X` is the inverse of the reduced mass matrix
and `N = X S^-1` the basis of the null space with `PT N = I`, which for coordinate partitioning is `[H; I]` [Negrut, eqs. (3.12), (3.16)]
and for tangent planes `P` of eq. (B.24). Without constraints `N = PT^-1` in any metric: no system is solved, `X = PT^T`.
"""

from typing import Any

import numpy as np

from ..compilation.compiled import compiled, window
from ..jacobians.signatures import Array, Tables
from ..system import kernels, kkt, sparse
from ..system import layout as lay
from ..system.codes import CHART_LOST, GOOD, NOT_FINITE, RANK_LOST
from ..system.layout import QUATERNION_T, header, part, table
from ..system.vectors import is_finite, put_rows
from .store import (
    BLOCK,
    N_END,
    N_FIRST,
    P_END,
    P_FIRST,
    PT_END,
    PT_FIRST,
    TURN,
    bases,
    chart,
    dot_within,
    is_complete,
    scratch,
    set_complete,
    spans,
)

MIN_PIVOT = 1e-13  # ratio of diagonals of PT M^-1 PT^T with and without constraints below which a coordinate counts as dependent


@compiled
def prepare(t: float, q: Array, n: int, store: Array, model: Tables, work: Array) -> int:
    """Factors and basis at `q`, where `n` is the number of independent coordinates; returns `GOOD` or the code of a failure."""
    status = factorise(t, q, n, store, model, work)
    return complete(n, store, model, work) if status == GOOD else status


@compiled
def factorise(t: float, q: Array, n: int, store: Array, model: Tables, work: Array) -> int:
    """The factors and `PT` at `q`; `N` and `S` are left as they are. Returns `GOOD` or `RANK_LOST`."""
    set_complete(0.0, store)
    # mass matrix, constraint Jacobian, reduced matrix and its factors
    kernels.place(t, q, model, work)
    kernels.phi_q(t, q, model, work, part(model, work, lay.W_G))
    kernels.mass(t, q, model, work)
    head = header(model)
    lost = kkt.factor(model, work, head[lay.CONSTANT_MASS] == 0)
    if lost > head[lay.DEPENDENT + 1]:
        return RANK_LOST
    map_chart(t, q, chart(n, model, store), spans(n, model, store), model, bases(n, model, store).PT)
    return GOOD


@compiled
def complete(n: int, store: Array, model: Tables, work: Array) -> int:
    """`N` and `S` at the configuration of the factors, unless they are there; returns `GOOD` or the code of a failure."""
    if is_complete(store):
        return GOOD
    basis, room, span, head = bases(n, model, store), scratch(n, model, store), spans(n, model, store), header(model)
    # rows of PT, projected onto the null space of Phi_q, and their norms without constraints
    sparse.fill(room.residual, 0.0)
    for k in range(n):
        row, first, end = basis.PT[k], span[k, PT_FIRST], span[k, PT_END]
        if head[lay.NC] == 0:
            for i in range(int(first.real), int(end.real)):
                basis.N[k, i] = row[i]
            room.mismatch[k] = dot_within(row, row, first, end)
        else:
            sparse.mass_solve(part(model, work, lay.W_MINV), row, model, room.move)
            room.mismatch[k] = dot_within(row, room.move, first, end)
            kkt.solve(model, work, row, room.residual, basis.N[k], room.product)
    status = _normalise(basis.PT, basis.N, basis.S, room.mismatch, span)
    if status == GOOD:
        set_complete(1.0, store)
    return status


@compiled
def map_chart(t: float, q: Array, P: Array, span: Array, model: Tables, PT: Array) -> None:
    """`PT = P T(q)`, within its spans."""
    head = header(model)
    if head[lay.IDENTITY_MAP]:
        put_rows(P, PT)
    elif head[lay.KIND] != lay.USER:
        _map_quaternions(q, P, span, table(model, lay.QUATERNION, QUATERNION_T), PT)
    else:  # column by column of a user's map
        unit, column = np.zeros(PT.shape[1], PT.dtype), np.empty(q.shape[0], PT.dtype)
        for j in range(PT.shape[1]):
            unit[j] = 1.0
            kernels.qdot(t, q, unit, model, column)
            unit[j] = 0.0
            for i in range(P.shape[0]):
                PT[i, j] = dot_within(P[i], column, span[i, P_FIRST], span[i, P_END])


@compiled
def _map_quaternions(q: Array, P: Array, span: Array, quaternions: Any, PT: Array) -> None:
    """`PT` with quaternions: their columns are multiplied by `E(p) / 2`, the others are copied."""
    for i in range(P.shape[0]):
        k, end, n = int(span[i, P_FIRST].real), int(span[i, P_END].real), int(span[i, TURN].real)
        while k < end:
            at = quaternions[n]["q"] if n < quaternions.shape[0] else end
            if k < at:
                PT[i, k - n] = P[i, k]
                k += 1
            else:
                to = quaternions[n]["v"]
                e0, e1, e2, e3 = 0.5 * q[at], 0.5 * q[at + 1], 0.5 * q[at + 2], 0.5 * q[at + 3]
                p0, p1, p2, p3 = P[i, at], P[i, at + 1], P[i, at + 2], P[i, at + 3]
                PT[i, to] = -e1 * p0 + e0 * p1 + e3 * p2 - e2 * p3
                PT[i, to + 1] = -e2 * p0 - e3 * p1 + e0 * p2 + e1 * p3
                PT[i, to + 2] = -e3 * p0 + e2 * p1 - e1 * p2 + e0 * p3
                k, n = at + 4, n + 1


@compiled
def _normalise(PT: Array, X: Array, S: Array, lengths: Array, span: Array) -> int:
    """`S = PT X`, its Cholesky factor in the place of `S`, and `N = S^-1 X` in the place of `X`, both by rows.

    `lengths` are the diagonal entries of `PT M^-1 PT^T`, which `S` would have if there were no constraints.
    """
    n = S.shape[0]
    # Cholesky factorisation, row by row
    for i in range(n):
        block = int(span[i, BLOCK].real)
        for j in range(block, i + 1):
            s = dot_within(PT[i], X[j], span[i, PT_FIRST], span[i, PT_END])
            for k in range(block, j):
                s -= S[i, k] * S[j, k]
            if j < i:
                S[i, j] = s / S[j, j]
            elif s.real > MIN_PIVOT * lengths[i].real:
                S[i, i] = np.sqrt(s)
            else:
                return CHART_LOST if is_finite(s.real) else NOT_FINITE
    # forward and back substitution with all rows at once
    for i in range(n):
        first, end = int(span[i, N_FIRST].real), int(span[i, N_END].real)
        for k in range(int(span[i, BLOCK].real), i):
            _add(-S[i, k], X[k], X[i], first, end)
        _scale(1.0 / S[i, i], X[i], first, end)
    for i in range(n - 1, -1, -1):
        first, end = int(span[i, N_FIRST].real), int(span[i, N_END].real)
        for k in range(i + 1, n):
            if int(span[k, BLOCK].real) > i:
                break
            _add(-S[k, i], X[k], X[i], first, end)
        _scale(1.0 / S[i, i], X[i], first, end)
    return GOOD


@compiled
def _add(c: float, x: Array, y: Array, first: int, end: int) -> None:
    """`y += c x` in the entries from `first` to before `end`."""
    x, y = window(x, first, end - first), window(y, first, end - first)
    for k in range(end - first):
        y[k] += c * x[k]


@compiled
def _scale(c: float, x: Array, first: int, end: int) -> None:
    """`x *= c` in the entries from `first` to before `end`."""
    x = window(x, first, end - first)
    for k in range(end - first):
        x[k] *= c


@compiled
def combine(columns: Array, c: Array, out: Array) -> None:
    """`out += sum_k c_k columns[k]`."""
    for k in range(c.shape[0]):
        _add(c[k], columns[k], out, 0, out.shape[0])


@compiled
def add_tangent(c: Array, n: int, store: Array, model: Tables, out: Array) -> None:
    """`out += N c`."""
    N, span = bases(n, model, store).N, spans(n, model, store)
    for k in range(n):
        if c[k] != 0.0:
            _add(c[k], N[k], out, int(span[k, N_FIRST].real), int(span[k, N_END].real))


@compiled
def particular(c: Array, model: Tables, work: Array, lam: Array, out: Array) -> None:
    """`out = M^-1 Phi_q^T B^-1 c`, the minimum-norm solution of `Phi_q x = c` in the metric of `M`; `lam` is scratch."""
    kkt.solve_reduced(model, work, c, lam)
    sparse.fill(out, 0.0)
    sparse.add_transposed(part(model, work, lay.W_G), lam, model, out)
    sparse.mass_solve(part(model, work, lay.W_MINV), out, model, out)


@compiled
def solve_chart(c: Array, d: Array, n: int, store: Array, model: Tables, work: Array, out: Array) -> None:
    """`out` with `Phi_q out = c` and `PT out = d`, for the factors in `store` and `work`; `d` is overwritten.

    Approximate if `N` belongs to another configuration.
    """
    sparse.fill(out, 0.0)
    if c.shape[0]:
        PT, span = bases(n, model, store).PT, spans(n, model, store)
        particular(c, model, work, scratch(n, model, store).product, out)
        for k in range(n):
            d[k] -= dot_within(PT[k], out, span[k, PT_FIRST], span[k, PT_END])
    add_tangent(d, n, store, model, out)
