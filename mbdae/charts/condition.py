"""The condition number of the matrix that yields the dependent coordinates [Negrut, section 4.1.2]."""

import numpy as np

from ..compilation.compiled import compiled
from ..jacobians.signatures import Array, Tables
from ..system import kernels, kkt, sparse
from ..system import layout as lay
from ..system.layout import QUATERNION_T, SEGMENT_T, header, part, table
from ..system.vectors import dot
from .configuration import add_tangent, combine, solve_chart
from .store import bases, chart, scratch

MAX_GROWTH = 1.25  # growth of the condition above which another parametrisation is looked for [Negrut, section 4.1.2]
MAX_ITER = 5  # of Hager's method


@compiled
def condition(t: float, q: Array, n: int, store: Array, model: Tables, work: Array) -> float:
    """`|Phi_q| |Phi_u^-1|` in the 1-norm, estimated with the factors in `store` and `work`, times the same for the norms of quaternions.

    `Phi_u^-1`, for tangent planes `Q_1 (Phi_q Q_1)^-1` [Negrut, eq. (B.35)], consists of the columns of `K^-1` that belong to the
    constraints. Hager's method estimates its norm with a few solves. The norms of quaternions are constraints, too: of their columns the
    largest Euclidean norm is computed exactly. It is a factor and not another column of the matrix, where a larger one would hide it: the
    coordinate of a wheel would serve until it turns back, half a turn from where it was chosen.
    """
    inverse = _inverse_norm(n, store, model, work)  # zero without independent constraints
    return _gradient_norm(model, work) * (inverse if inverse > 0.0 else 1.0) * _norm_columns(t, q, n, store, model)


@compiled
def _gradient_norm(model: Tables, work: Array) -> float:
    """The 1-norm of `Phi_q`, at least 1."""
    G, segments = part(model, work, lay.W_G), table(model, lay.SEGMENT, SEGMENT_T)
    sums = np.zeros(header(model)[lay.NV])
    for i in range(segments.shape[0]):
        s = segments[i]
        for k in range(s["n"]):
            sums[s["v"] + k] += abs(G[s["at"] + k])
    largest = 1.0
    for k in range(sums.shape[0]):
        largest = max(largest, sums[k])
    return largest


@compiled
def _inverse_norm(n: int, store: Array, model: Tables, work: Array) -> float:
    """Hager's lower bound of the 1-norm, usually exact; from two initial vectors, as the first one can end in a local maximum."""
    nv, nc = header(model)[lay.NV], header(model)[lay.NC]
    x, y, g, none, norm = np.empty(nc), np.empty(nv), np.empty(nc), np.empty(n), 0.0
    for attempt in range(2 if nc else 0):
        # initial vector: equal entries, then alternating ones
        for k in range(nc):
            x[k] = 1.0 / nc if attempt == 0 else (1.0 - 2.0 * (k % 2)) * (1.0 + k / nc) / (1.5 * nc)
        for _ in range(MAX_ITER):
            # norm of the image, and its signs
            none[:] = 0.0
            solve_chart(x, none, n, store, model, work, y)
            size = 0.0
            for k in range(nv):
                size += abs(y[k])
                y[k] = 1.0 if y[k] >= 0.0 else -1.0
            norm = max(norm, size)
            # the unit vector of steepest ascent, if it gains
            _transposed(y, n, store, model, work, g)
            best = 0
            for k in range(nc):
                if abs(g[k]) > abs(g[best]):
                    best = k
            if not abs(g[best]) > dot(g, x):
                break
            x[:] = 0.0
            x[best] = 1.0
    return norm


@compiled
def _transposed(y: Array, n: int, store: Array, model: Tables, work: Array, out: Array) -> None:
    """`out = (K^-1 [I; 0])^T y`; `y` is overwritten."""
    basis, weights = bases(n, model, store), np.empty(n)
    for k in range(n):
        weights[k] = -dot(basis.N[k], y)
    combine(basis.PT, weights, y)
    sparse.mass_solve(part(model, work, lay.W_MINV), y, model, y)
    sparse.times(part(model, work, lay.W_G), y, model, out)
    kkt.solve_reduced(model, work, out, out)


@compiled
def _norm_columns(t: float, q: Array, n: int, store: Array, model: Tables) -> float:
    """The largest Euclidean norm of a column for the norm of a quaternion: its normal `p`, less the part in the independent coordinates."""
    head = header(model)
    if head[lay.IDENTITY_MAP]:
        return 1.0
    quaternions, P = table(model, lay.QUATERNION, QUATERNION_T), chart(n, model, store)
    N, room = bases(n, model, store).N, scratch(n, model, store)
    move, largest = np.empty(N.shape[1]), 1.0
    for b in range(quaternions.shape[0]):
        at = quaternions[b]["q"]
        # normal of this quaternion, tangential part removed
        for k in range(n):
            room.mismatch[k] = -(P[k, at] * q[at] + P[k, at + 1] * q[at + 1] + P[k, at + 2] * q[at + 2] + P[k, at + 3] * q[at + 3])
        move[:] = 0.0
        add_tangent(room.mismatch, n, store, model, move)
        kernels.qdot(t, q, move, model, room.trial)
        size = 0.0
        for k in range(q.shape[0]):
            normal = q[k] if at <= k < at + 4 else 0.0
            size += (room.trial[k] + normal) ** 2
        largest = max(largest, np.sqrt(size))
    return largest
