"""The iteration matrix in independent coordinates, for stiff forces.

    (I - s gamma h J2 - s beta h^2 J1) xi' = xi,   da += N (xi' - xi),   z = P q,   xi = P T da

If `h omega` is small for all vibrations, the iteration with the mass matrix converges fast, and its sparse factors cost little. Otherwise
the component of its correction `da` in the null space of `Phi_q` is replaced by that of Newton's method, with the derivatives `J1`, `J2` of
`z''` by `z` and `z'`. In a chart with an orthonormal basis `N` the matrix is `M_R^-1` times `M_R + s gamma h C_R + s beta h^2 K_R` of
[Bustos, eq. (52)]. The fundamental basis gives another `N` and the same correction.
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
from ...system.vectors import dot, is_finite, largest, put, put_rows
from ...typing import Integers, Matrix, Vector

UNUSED, USED, STIFF = range(3)
STIFFNESS_LIMIT = 1.0  # largest entry of `s gamma h J2 + s beta h^2 J1` above which forces are stiff


class ReducedIterationMatrix(Structure):
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
    PT: Matrix
    N: Matrix
    J1: Matrix
    J2: Matrix
    W: Matrix
    pivots: Integers
    before: Vector
    xi: Vector


def matrix_for(n: int, nv: int) -> ReducedIterationMatrix:
    """A matrix for `n` degrees of freedom, `UNUSED`."""
    return ReducedIterationMatrix(state=UNUSED, PT=np.zeros((n, nv)), N=np.zeros((n, nv)), J1=np.zeros((n, n)), J2=np.zeros((n, n)),
                                  W=np.zeros((n, n)), pivots=np.zeros(n, dtype=np.int64), before=np.zeros(n), xi=np.zeros(n))


class ChartArrays(Structure):
    """A chart and arrays for the derivatives in it."""

    factors: Factors
    displaced: Displaced
    derivatives: MotionDerivatives


@compiled
def filtered(matrix, da, move, normal, rows, multipliers, model, work):
    """Replace the component of `da` in the null space by that of Newton's method; `Phi_q da` does not change. Other vectors are scratch."""
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
    # subtract the normal component
    sparse.times(part(model, work, lay.W_G), move, model, rows)
    particular(rows, model, work, multipliers, normal)
    for k in range(da.shape[0]):
        da[k] += move[k] - normal[k]


@compiled
def form(by_position, by_velocity, matrix):
    """Factorise for `s beta h^2` and `s gamma h`; if the matrix is singular, it is not used."""
    W, J1, J2, far = matrix.W, matrix.J1, matrix.J2, 0.0
    for i in range(W.shape[0]):
        for k in range(W.shape[0]):
            W[i, k] = -by_velocity * J2[i, k] - by_position * J1[i, k]
            far = max(far, abs(W[i, k]))
        W[i, i] += 1.0
    matrix.state = (STIFF if far > STIFFNESS_LIMIT else USED) if factorise(W, matrix.pivots) else UNUSED


@compiled
def smoothed(weight, a, matrix, w):
    """Initial auxiliary accelerations `w = a + N ((I - s gamma h J2)^-1 - I) P T a` if damping is stiff, otherwise `w = a`.

    The initial accelerations of a transient that is much shorter than the step would cause large, slowly decaying oscillations. Both
    values are accurate to order `h`, which is enough for order 2.
    """
    PT, J2 = matrix.PT, matrix.J2
    put(a, w)
    if weight * largest(J2.ravel()) <= STIFFNESS_LIMIT:
        return
    n = J2.shape[0]
    damped, pivots, xi, before = np.eye(n) - weight * J2, np.zeros(n, dtype=np.int64), np.zeros(n), np.zeros(n)
    for k in range(n):
        before[k] = dot(PT[k], a)
    put(before, xi)
    if factorise(damped, pivots):
        solve(damped, pivots, xi)
        xi -= before
        combine(matrix.N, xi, w)


@compiled
def forecast(h, coefficients, start, matrix, a):
    """Initial guess for stiff forces: the accelerations at the end of the step by the linearised equations.

    `(I - s gamma h J2 - s beta h^2 J1) xi = J1 dz + J2 dz'`, `a += N xi`, where `dz`, `dz'` follow from the formula with constant
    accelerations `a1 = a0`.
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
    """Derivatives at a state; `GOOD` or the code of a failure, `CHART_LOST` if the condition of the chart is above the limit."""
    matrix, chart, model, work = run.matrix, run.chart, run.model, run.work
    n, q, store = matrix.PT.shape[0], state.q, chart.factors.store
    status = prepare(t, q, n, store, model, work)
    if status == GOOD and condition(t, q, n, store, model, work) > condition_limit:
        status = CHART_LOST
    if status != GOOD:
        return status
    basis, derivatives = bases(n, model, store), chart.derivatives
    put_rows(basis.PT, matrix.PT)
    put_rows(basis.N, matrix.N)
    # derivatives of z''
    zd = np.empty(n)
    for k in range(n):
        zd[k] = dot(matrix.PT[k], state.v)
    factors = Factors(n, store, model, work)
    if not run.derive(zd, At(t, q, state.v, state.a, state.lam), factors, chart.displaced, 0, factors.n, derivatives):
        return NOT_FINITE
    put_rows(derivatives.zdd_z.T, matrix.J1)
    put_rows(derivatives.zdd_zd.T, matrix.J2)
    matrix.state = USED
    return GOOD if is_finite(largest(matrix.J1.ravel())) else NOT_FINITE
