"""A chart at one configuration: the factors that positions, velocities and accelerations share.

There is one factorisation, that of the reduced matrix `B = Phi_q M^-1 Phi_q^T`. Solving `[M Phi_q^T; Phi_q 0]` for the rows of `PT` gives
`X` with `Phi_q X = 0`; then `S = PT X` is the inverse of the reduced mass matrix and `N = X S^-1` the basis of the null space with
`PT N = I`, which for coordinate partitioning is `[H; I]` [Negrut, eqs. (3.12), (3.16)] and for tangent planes `P` of eq. (B.24).
"""

from typing import Any

import numpy as np

from ..compilation.compiled import compiled
from ..jacobians.signatures import Array, Tables
from ..system import kernels, kkt, sparse
from ..system import layout as lay
from ..system.codes import CHART_LOST, GOOD, NOT_FINITE, RANK_LOST
from ..system.layout import QUATERNION_T, header, part, table
from ..system.vectors import dot
from .store import bases, chart, scratch

MIN_PIVOT = 1e-13  # ratio of diagonals of PT M^-1 PT^T with and without constraints below which a coordinate counts as dependent


@compiled
def prepare(t: float, q: Array, n: int, store: Array, model: Tables, work: Array) -> int:
    """Factorise at `q`, where `n` is the number of independent coordinates; returns `GOOD` or the code of a failure."""
    basis, room = bases(n, model, store), scratch(n, model, store)
    # mass matrix, constraint Jacobian, reduced matrix and its factors
    kernels.place(t, q, model, work)
    kernels.phi_q(t, q, model, work, part(model, work, lay.W_G))
    kernels.mass(t, q, model, work)
    head = header(model)
    lost = kkt.factor(model, work, head[lay.CONSTANT_MASS] == 0)
    if lost > head[lay.DEPENDENT + 1]:
        return RANK_LOST
    # rows of PT, projected onto the null space of Phi_q, and their norms without constraints
    map_chart(t, q, chart(n, model, store), model, basis.PT)
    sparse.fill(room.residual, 0.0)
    for k in range(n):
        sparse.mass_solve(part(model, work, lay.W_MINV), basis.PT[k], model, room.move)
        room.mismatch[k] = dot(basis.PT[k], room.move)
        kkt.solve(model, work, basis.PT[k], room.residual, basis.N[k], room.product)
    return _normalise(basis.PT, basis.N, basis.S, room.mismatch)


@compiled
def map_chart(t: float, q: Array, P: Array, model: Tables, PT: Array) -> None:
    """`PT = P T(q)`."""
    head = header(model)
    if head[lay.IDENTITY_MAP]:
        PT[:] = P
    elif head[lay.KIND] != lay.USER:
        _map_quaternions(q, P, table(model, lay.QUATERNION, QUATERNION_T), PT)
    else:  # column by column of a user's map
        unit, column = np.zeros(PT.shape[1], PT.dtype), np.empty(q.shape[0], PT.dtype)
        for j in range(PT.shape[1]):
            unit[j] = 1.0
            kernels.qdot(t, q, unit, model, column)
            unit[j] = 0.0
            for i in range(P.shape[0]):
                PT[i, j] = dot(P[i], column)


@compiled
def _map_quaternions(q: Array, P: Array, quaternions: Any, PT: Array) -> None:
    """`PT` with quaternions: their columns are multiplied by `E(p) / 2`, the others are copied."""
    at = shift = 0
    for n in range(quaternions.shape[0]):
        end, to = quaternions[n]["q"], quaternions[n]["v"]
        e0, e1, e2, e3 = 0.5 * q[end], 0.5 * q[end + 1], 0.5 * q[end + 2], 0.5 * q[end + 3]
        for i in range(P.shape[0]):
            for k in range(at, end):
                PT[i, k - shift] = P[i, k]
            p0, p1, p2, p3 = P[i, end], P[i, end + 1], P[i, end + 2], P[i, end + 3]
            PT[i, to] = -e1 * p0 + e0 * p1 + e3 * p2 - e2 * p3
            PT[i, to + 1] = -e2 * p0 - e3 * p1 + e0 * p2 + e1 * p3
            PT[i, to + 2] = -e3 * p0 + e2 * p1 - e1 * p2 + e0 * p3
        at, shift = end + 4, shift + 1
    for i in range(P.shape[0]):
        for k in range(at, P.shape[1]):
            PT[i, k - shift] = P[i, k]


@compiled
def _normalise(PT: Array, X: Array, S: Array, lengths: Array) -> int:
    """`S = PT X`, its Cholesky factor in the place of `S`, and `N = S^-1 X` in the place of `X`, both by rows.

    `lengths` are the diagonal entries of `PT M^-1 PT^T`, which `S` would have if there were no constraints.
    """
    n = S.shape[0]
    # Cholesky factorisation, row by row
    for i in range(n):
        for j in range(i + 1):
            s = dot(PT[i], X[j])
            for k in range(j):
                s -= S[i, k] * S[j, k]
            if j < i:
                S[i, j] = s / S[j, j]
            elif s.real > MIN_PIVOT * lengths[i].real:
                S[i, i] = np.sqrt(s)
            else:
                return CHART_LOST if np.isfinite(s.real) else NOT_FINITE
    # forward and back substitution with all rows at once
    for i in range(n):
        for k in range(i):
            _add(-S[i, k], X[k], X[i])
        _scale(1.0 / S[i, i], X[i])
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            _add(-S[k, i], X[k], X[i])
        _scale(1.0 / S[i, i], X[i])
    return GOOD


@compiled
def _add(c: float, x: Array, y: Array) -> None:
    """`y += c x`."""
    for k in range(x.shape[0]):
        y[k] += c * x[k]


@compiled
def _scale(c: float, x: Array) -> None:
    """`x *= c`."""
    for k in range(x.shape[0]):
        x[k] *= c


@compiled
def combine(columns: Array, c: Array, out: Array) -> None:
    """`out += sum_k c_k columns[k]`."""
    for k in range(c.shape[0]):
        _add(c[k], columns[k], out)


@compiled
def particular(c: Array, model: Tables, work: Array, lam: Array, out: Array) -> None:
    """`out = M^-1 Phi_q^T B^-1 c`, the minimum-norm solution of `Phi_q x = c` in the metric of `M`; `lam` is scratch."""
    kkt.solve_reduced(model, work, c, lam)
    sparse.fill(out, 0.0)
    sparse.add_transposed(part(model, work, lay.W_G), lam, model, out)
    sparse.mass_solve(part(model, work, lay.W_MINV), out, model, out)


@compiled
def solve_chart(c: Array, d: Array, n: int, store: Array, model: Tables, work: Array, out: Array) -> None:
    """`out` with `Phi_q out = c` and `PT out = d`, for the factors in `store` and `work`; `d` is overwritten."""
    basis = bases(n, model, store)
    particular(c, model, work, scratch(n, model, store).product, out)
    for k in range(n):
        d[k] -= dot(basis.PT[k], out)
    combine(basis.N, d, out)
