"""Newton's matrix in independent coordinates, for forces that are stiff at the step.

As long as a step is short for every vibration, an iteration with the mass matrix alone converges fast, and costs no more than the topology
asks for. Otherwise its correction `da` is turned into that of Newton's method within the null space: with `z = P q`, `xi = P T da`,

    (I - s gamma h J2 - s beta h^2 J1) xi' = xi,   da += N (xi' - xi),

where `J1`, `J2` are the derivatives of `z''` by `z` and `z'`. In a chart whose basis `N` is orthonormal the matrix is `M_R^-1` times
`M_R + s gamma h C_R + s beta h^2 K_R` of [Bustos, eq. (52)]; the fundamental basis gives another `N` and the same correction.
"""

import numpy as np

from ...charts.condition import condition
from ...charts.configuration import combine, particular, prepare
from ...charts.store import bases
from ...compilation.compiled import compiled
from ...system import layout as lay
from ...system import sparse
from ...system.codes import CHART_LOST, GOOD, NOT_FINITE
from ...system.dense import factorise, solve
from ...system.layout import part
from ...system.vectors import dot, largest

UNUSED, USED, STIFF = range(3)
FAR = 1.0  # distance of the matrix from that without derivatives beyond which a step cannot be guessed from those before


def matrix_for(n, nv):
    """Arrays for `filtered`: `UNUSED`, `USED` or `STIFF`; `P T` by its rows and `N` by its columns; `J1`, `J2`; the factors; scratch."""
    return (np.zeros(1, dtype=np.int64), np.zeros((n, nv)), np.zeros((n, nv)), np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n)),
            np.zeros(n, dtype=np.int64), np.zeros(n), np.zeros(n))


@compiled
def filtered(matrix, da, scratch, model, work):
    """The correction of the mass matrix becomes that of Newton's; `Phi_q da` stays as it is. `scratch` are vectors of `nv nv nc nc`."""
    used, PT, N, _, _, W, pivots, before, xi = matrix
    if used[0] == UNUSED:
        return
    move, normal, rows, multipliers = scratch
    for k in range(xi.shape[0]):
        before[k] = dot(PT[k], da)
        xi[k] = before[k]
    solve(W, pivots, xi)
    for k in range(xi.shape[0]):
        xi[k] -= before[k]
    sparse.fill(move, 0.0)
    combine(N, xi, move)
    sparse.times(part(model, work, lay.W_G), move, model, rows)
    particular(rows, model, work, multipliers, normal)
    for k in range(da.shape[0]):
        da[k] += move[k] - normal[k]


@compiled
def form(weights, matrix):
    """Factorise for `(s beta h^2, s gamma h)`; where that cannot be done the matrix is not used."""
    used, _, _, J1, J2, W, pivots, _, _ = matrix
    n, far = W.shape[0], 0.0
    for i in range(n):
        for k in range(n):
            W[i, k] = -weights[1] * J2[i, k] - weights[0] * J1[i, k]
            far = max(far, abs(W[i, k]))
        W[i, i] += 1.0
    used[0] = (STIFF if far > FAR else USED) if factorise(W, pivots) else UNUSED


@compiled
def smoothed(weight, a, matrix, w):
    """Accelerations `w = a + N ((I - s gamma h J2)^-1 - I) P T a` to start with, where damping is stiff at the step; otherwise `w = a`.

    Those of a motion that dies away within a small part of a step would be taken for those of all of it: the formula would go far beyond
    the point where that motion ends, and swing about it for long. Either is right to order `h`, which is enough for order 2.
    """
    _, PT, N, _, J2, _, _, _, _ = matrix
    w[:] = a
    if weight * largest(J2.ravel()) <= FAR:
        return
    n = J2.shape[0]
    damped, pivots, xi, before = np.eye(n) - weight * J2, np.zeros(n, dtype=np.int64), np.zeros(n), np.zeros(n)
    for k in range(n):
        before[k] = dot(PT[k], a)
    xi[:] = before
    if factorise(damped, pivots):
        solve(damped, pivots, xi)
        xi -= before
        combine(N, xi, w)


@compiled
def forecast(h, coefficients, start, matrix, a):
    """The accelerations at the end of the step by the linearised equations: stiff forces far from it throw Newton's method off.

    `(I - s gamma h J2 - s beta h^2 J1) xi = J1 dz + J2 dz'`, `a += N xi`, where `dz`, `dz'` are what the formula makes of accelerations
    that stay as they are; auxiliary ones do not even then.
    """
    beta, gamma, alpha_m, _ = coefficients
    _, v, a0, w, _ = start
    _, PT, N, J1, J2, W, pivots, _, xi = matrix
    n = xi.shape[0]
    sparse.fill(xi, 0.0)
    for k in range(n):
        dz, dzd = 0.0, 0.0
        for i in range(v.shape[0]):
            w1 = (a0[i] - alpha_m * w[i]) / (1.0 - alpha_m)
            dz += PT[k, i] * h * (v[i] + h * ((0.5 - beta) * w[i] + beta * w1))
            dzd += PT[k, i] * h * ((1.0 - gamma) * w[i] + gamma * w1)
        for i in range(n):
            xi[i] += J1[i, k] * dz + J2[i, k] * dzd
    solve(W, pivots, xi)
    combine(N, xi, a)


@compiled
def refresh(t, state, worst, matrix, chart, model, work, derive):
    """Derivatives at a state; what is wrong if it is not `GOOD`: `CHART_LOST` if the chart's condition has become worse than `worst`."""
    q, v, a, _, lam = state
    store, scratch, jacobians = chart
    used, PT, N, J1, J2, _, _, _, _ = matrix
    n = PT.shape[0]
    status = prepare(t, q, n, store, model, work)
    if status == GOOD and condition(t, q, n, store, model, work) > worst:
        status = CHART_LOST
    if status != GOOD:
        return status
    PT[:], N[:], _ = bases(n, model, store)
    zd = PT @ v
    if not derive(t, zd, q, v, a, lam, n, store, model, work, scratch, jacobians):
        return NOT_FINITE
    J1[:], J2[:], used[0] = jacobians[3].T, jacobians[6].T, USED
    return GOOD if np.isfinite(largest(J1.ravel())) else NOT_FINITE
