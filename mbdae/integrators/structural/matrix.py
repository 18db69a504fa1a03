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
from ...charts.derivative import MotionDerivatives
from ...charts.derivative import State as At
from ...charts.store import Displaced, Factors, bases
from ...compilation.compiled import compiled
from ...compilation.structure import Structure
from ...system import layout as lay
from ...system import sparse
from ...system.codes import CHART_LOST, GOOD, NOT_FINITE
from ...system.dense import factorise, solve
from ...system.layout import part
from ...system.vectors import dot, largest

UNUSED, USED, STIFF = range(3)
FAR = 1.0  # distance of the matrix from that without derivatives beyond which a step cannot be guessed from those before


class Matrix(Structure):
    """The iteration matrix in independent coordinates.

    Attributes
    ----------
    state : int
        `UNUSED`, `USED` or `STIFF`.
    PT, N : ndarray, shape (n, nv)
        `P T` by its rows, `N` by its columns.
    J1, J2 : ndarray, shape (n, n)
        Derivatives of `z''` by `z` and `z'`.
    W, pivots : ndarray
        Factors of `I - s gamma h J2 - s beta h^2 J1`.
    before, xi : ndarray, shape (n,)
        Scratch.
    """

    state: int
    PT: np.ndarray
    N: np.ndarray
    J1: np.ndarray
    J2: np.ndarray
    W: np.ndarray
    pivots: np.ndarray
    before: np.ndarray
    xi: np.ndarray


def matrix_for(n: int, nv: int) -> Matrix:
    """A matrix for `n` degrees of freedom, not in use yet."""
    return Matrix(state=UNUSED, PT=np.zeros((n, nv)), N=np.zeros((n, nv)), J1=np.zeros((n, n)), J2=np.zeros((n, n)), W=np.zeros((n, n)),
                  pivots=np.zeros(n, dtype=np.int64), before=np.zeros(n), xi=np.zeros(n))


class ChartArrays(Structure):
    """A chart and room for the derivatives in it."""

    factors: Factors
    displaced: Displaced
    derivatives: MotionDerivatives


@compiled
def filtered(matrix, da, move, normal, rows, multipliers, model, work):
    """The correction of the mass matrix becomes that of Newton's; `Phi_q da` stays as it is. The other vectors are scratch."""
    if matrix.state == UNUSED:
        return
    before, xi, PT = matrix.before, matrix.xi, matrix.PT
    # within the null space
    for k in range(xi.shape[0]):
        before[k] = dot(PT[k], da)
        xi[k] = before[k]
    solve(matrix.W, matrix.pivots, xi)
    for k in range(xi.shape[0]):
        xi[k] -= before[k]
    sparse.fill(move, 0.0)
    combine(matrix.N, xi, move)
    # without what is normal to the constraints
    sparse.times(part(model, work, lay.W_G), move, model, rows)
    particular(rows, model, work, multipliers, normal)
    for k in range(da.shape[0]):
        da[k] += move[k] - normal[k]


@compiled
def form(by_position, by_velocity, matrix):
    """Factorise for `s beta h^2` and `s gamma h`; where that cannot be done the matrix is not used."""
    W, J1, J2, far = matrix.W, matrix.J1, matrix.J2, 0.0
    for i in range(W.shape[0]):
        for k in range(W.shape[0]):
            W[i, k] = -by_velocity * J2[i, k] - by_position * J1[i, k]
            far = max(far, abs(W[i, k]))
        W[i, i] += 1.0
    matrix.state = (STIFF if far > FAR else USED) if factorise(W, matrix.pivots) else UNUSED


@compiled
def smoothed(weight, a, matrix, w):
    """Accelerations `w = a + N ((I - s gamma h J2)^-1 - I) P T a` to start with, where damping is stiff at the step; otherwise `w = a`.

    Those of a motion that dies away within a small part of a step would be taken for those of all of it: the formula would go far beyond
    the point where that motion ends, and swing about it for long. Either is right to order `h`, which is enough for order 2.
    """
    PT, J2 = matrix.PT, matrix.J2
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
        combine(matrix.N, xi, w)


@compiled
def forecast(h, coefficients, start, matrix, a):
    """The accelerations at the end of the step by the linearised equations: stiff forces far from it throw Newton's method off.

    `(I - s gamma h J2 - s beta h^2 J1) xi = J1 dz + J2 dz'`, `a += N xi`, where `dz`, `dz'` are what the formula makes of accelerations
    that stay as they are; auxiliary ones do not even then.
    """
    beta, gamma, alpha_m, _ = coefficients
    v, w, a0, PT, J1, J2, xi = start.v, start.w, start.a, matrix.PT, matrix.J1, matrix.J2, matrix.xi
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
    solve(matrix.W, matrix.pivots, xi)
    combine(matrix.N, xi, a)


@compiled
def refresh(t, state, condition_limit, run):
    """Derivatives at a state; what is wrong if it is not `GOOD`: `CHART_LOST` if the chart's condition is worse than the limit."""
    matrix, chart, model, work = run.matrix, run.chart, run.model, run.work
    n, q, store = matrix.PT.shape[0], state.q, chart.factors.store
    status = prepare(t, q, n, store, model, work)
    if status == GOOD and condition(t, q, n, store, model, work) > condition_limit:
        status = CHART_LOST
    if status != GOOD:
        return status
    basis, derivatives = bases(n, model, store), chart.derivatives
    matrix.PT[:], matrix.N[:] = basis.PT, basis.N
    # derivatives of z''
    zd = matrix.PT @ state.v
    factors = Factors(n, store, model, work)
    if not run.derive(zd, At(t, q, state.v, state.a, state.lam), factors, chart.displaced, derivatives):
        return NOT_FINITE
    matrix.J1[:], matrix.J2[:], matrix.state = derivatives.zdd_z.T, derivatives.zdd_zd.T, USED
    return GOOD if np.isfinite(largest(matrix.J1.ravel())) else NOT_FINITE
