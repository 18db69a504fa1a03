"""How good a chart still is: the condition of the matrix that yields the dependent coordinates [Negrut, section 4.1.2]."""

import numpy as np

from ..compilation.compiled import compiled
from ..system import kernels, kkt, sparse
from ..system import layout as lay
from ..system.layout import BODY_T, RIGID, SEGMENT_T, header, part, table
from ..system.vectors import dot
from .configuration import combine, solve_chart
from .store import bases, chart, scratch

MAX_GROWTH = 1.25  # growth of the condition beyond which another chart is looked for [Negrut, section 4.1.2]
ROUNDS = 5


@compiled
def condition(t, q, n, store, model, work):
    """`|Phi_q| |Phi_u^-1|` in the sum norm, estimated at the configuration that was prepared.

    `Phi_u^-1`, for tangent planes `Q_1 (Phi_q Q_1)^-1` [Negrut, eq. (B.35)], is the part of `K^-1` that answers to the constraints; its
    norm is found by Hager's method with a few solves. The norms of quaternions are constraints as well: their columns are exact.
    """
    return _gradient_norm(model, work) * max(_inverse_norm(n, store, model, work), _norm_columns(t, q, n, store, model))


@compiled
def _gradient_norm(model, work):
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
def _inverse_norm(n, store, model, work):
    """Hager's lower bound, as a rule exact, of the largest column sum; from two beginnings, as the first can end in a corner."""
    nv, nc = header(model)[lay.NV], header(model)[lay.NC]
    x, y, g, none, norm = np.empty(nc), np.empty(nv), np.empty(nc), np.empty(n), 0.0
    for beginning in range(2 if nc else 0):
        for k in range(nc):
            x[k] = 1.0 / nc if beginning == 0 else (1.0 - 2.0 * (k % 2)) * (1.0 + k / nc) / (1.5 * nc)
        for _ in range(ROUNDS):
            none[:] = 0.0
            solve_chart(x, none, n, store, model, work, y)
            size = 0.0
            for k in range(nv):
                size += abs(y[k])
                y[k] = 1.0 if y[k] >= 0.0 else -1.0
            norm = max(norm, size)
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
def _transposed(y, n, store, model, work, out):
    """`out = (K^-1 [I; 0])^T y`; `y` is overwritten."""
    PT, N, _ = bases(n, model, store)
    weights = np.empty(n)
    for k in range(n):
        weights[k] = -dot(N[k], y)
    combine(PT, weights, y)
    sparse.mass_solve(part(model, work, lay.W_MINV), y, model, y)
    sparse.times(part(model, work, lay.W_G), y, model, out)
    kkt.solve_reduced(model, work, out, out)


@compiled
def _norm_columns(t, q, n, store, model):
    """The largest of the columns that belong to norms: the normal `p` of a quaternion, less what moves the independent coordinates."""
    head = header(model)
    if head[lay.KIND] != lay.MULTIBODY or head[lay.IDENTITY_MAP]:
        return 0.0
    bodies, P = table(model, lay.BODY, BODY_T), chart(n, model, store)
    _, N, _ = bases(n, model, store)
    _, _, _, _, rate, _, d, _ = scratch(n, model, store)
    move, largest = np.empty(N.shape[1]), 0.0
    for b in range(bodies.shape[0]):
        if bodies[b]["kind"] != RIGID:
            continue
        at = bodies[b]["q"] + 3
        for k in range(n):
            d[k] = -(P[k, at] * q[at] + P[k, at + 1] * q[at + 1] + P[k, at + 2] * q[at + 2] + P[k, at + 3] * q[at + 3])
        move[:] = 0.0
        combine(N, d, move)
        kernels.qdot(t, q, move, model, rate)
        size = 0.0
        for k in range(rate.shape[0]):
            normal = q[k] if at <= k < at + 4 else 0.0
            size += abs(rate[k] + normal)
        largest = max(largest, size)
    return largest
