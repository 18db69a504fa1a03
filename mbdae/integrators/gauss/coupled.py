"""The coupled iteration matrix of all stages, for stiff forces and for steps with large changes of `Phi_q`.

The unknowns are the `(W_i, L_i)`, stage by stage. With `K`, `D`, `C` the derivatives of `M w + Phi_q^T lam - Q` along displacements, by
velocities and by multipliers in a stage, the block of rows `i` and columns `j` is

    [delta_ij M_i + h a_ij D_i + h^2 (A A)_ij K_i, delta_ij C_i;  (A A)_ij Phi_q(Q_i), 0]

for constraints on positions. For velocities, with `N` the derivative of `Phi_q v - nu` along displacements and `w_ki` the moments of the
tableau, the lower rows of the blocks `k < s - 1` and of the last one are

    sum_i w_ki [a_ij Phi_q(Q_i) + h (A A)_ij N_i, 0],   [b_j Phi_q(q1) + h (b^T A)_j N(q1), 0].

With both constraints in each stage these rows are `[a_ij Phi_q(Q_i) + h (A A)_ij N_i, 0]`. `u` and `mu` are corrected separately, see
`newton`.

Derivatives are computed by the complex step. The change of `T` within the step is neglected; it is small unless bodies rotate by a radian
in a step.

The functions with complex arguments are compiled when a coupled matrix is first requested; until then `ABSENT` takes the place of `FORM`.
"""

from typing import NamedTuple

import numpy as np
from numba import types

from ...compilation.compiled import by_address, compiled
from ...jacobians.complex_step import COMPLEX_STEP
from ...system import kernels, null_space, sparse
from ...system import layout as lay
from ...system.codes import GOOD, NEEDS_MATRIX, NOT_FINITE, SINGULAR_MATRIX
from ...system.dense import factorise
from ...system.layout import SEGMENT_T, header, part, table
from ...system.sparse import fill
from ...system.vectors import put
from ...typing import Matrix
from .arrays import STAGES, TABLEAU
from .stages import GGL, POSITION, VELOCITY, evaluate, evaluate_end


class Blocks(NamedTuple):
    """`M` and `Phi_q` of a stage, and rows `K[k]`, `D[k]`, `C[k]`: derivatives by displacement, velocity and multiplier number `k`.

    `N[k]` is the derivative of the constraints by displacement number `k`.
    """

    M: Matrix
    G: Matrix
    K: Matrix
    D: Matrix
    C: Matrix
    N: Matrix


@compiled
def form(t, h, stages, tableau, level, end_q, end_v, model, work, other):
    """Form and factorise the matrix at the present stages; returns `GOOD`, `NOT_FINITE` or `SINGULAR_MATRIX`.

    `end_q` and `end_v` are positions and velocities at the end of the step, used for `VELOCITY`. `work` and `other` are real and complex
    scratch of the system. For redundant constraints `work` holds the null space of `Phi_q^T` in the middle of the step.
    """
    A, AA, c, matrix, pivots = tableau.A, tableau.AA, tableau.c, stages.matrix, stages.pivots
    s, nv, nc = c.shape[0], stages.V.shape[1], stages.L.shape[1]
    n = nv + nc
    for k in range(matrix.shape[0]):
        fill(matrix[k], 0.0)
    M, G, K, D, C = np.empty((nv, nv)), np.zeros((nc, nv)), np.empty((nv, nv)), np.empty((nv, nv)), np.empty((nc, nv))
    blocks = Blocks(M, G, K, D, C, np.zeros((nv, nc)))
    for i in range(s):
        if not _derivatives(t + c[i] * h, i, stages, level, model, other, blocks):
            return NOT_FINITE
        for j in range(s):
            first, second, place = h * A[i, j], h * h * AA[i, j], 1.0 if i == j else 0.0
            for m in range(nv):
                for k in range(nv):
                    matrix[i * n + k, j * n + m] = place * M[m, k] + first * D[m, k] + second * K[m, k]
                if level == POSITION:
                    for k in range(nc):
                        matrix[i * n + nv + k, j * n + m] = AA[i, j] * G[k, m]
        for m in range(nc):
            for k in range(nv):
                matrix[i * n + k, i * n + nv + m] = C[m, k]
        if level != POSITION:
            _add_stage(i, h, s if level == GGL else s - 1, blocks, tableau, matrix)
    if level == VELOCITY:
        _add_end(t + h, h, end_q, end_v, blocks, tableau, model, other, matrix)
    _regularise(s, nv, n, null_space.vectors(model, work), matrix)
    return GOOD if factorise(matrix, pivots) else SINGULAR_MATRIX


@compiled
def absent(t, h, stages, tableau, level, end_q, end_v, model, work, other):
    """Request the compilation of `form`."""
    return NEEDS_MATRIX


_F, _I, _X, _M = types.float64, types.int64, types.float64[::1], types.uint8[::1]
_FORM = types.int64(_F, _F, STAGES, TABLEAU, _I, _X, _X, _M, _X, types.complex128[::1])
FORM, ABSENT = by_address(form, _FORM), by_address(absent, _FORM)


@compiled
def _add_stage(i, h, rows, blocks, tableau, matrix):
    """What stage `i` adds to the first `rows` blocks of constraints on velocities."""
    A, AA, moments, G, N = tableau.A, tableau.AA, tableau.moments, blocks.G, blocks.N
    s, nv, nc = A.shape[0], N.shape[0], N.shape[1]
    n = nv + nc
    for k in range(rows):
        at, weight = k * n + nv, moments[k, i]
        for j in range(s):
            for m in range(nv):
                for r in range(nc):
                    matrix[at + r, j * n + m] += weight * (A[i, j] * G[r, m] + h * AA[i, j] * N[m, r])


@compiled
def _add_end(t, h, q, v, blocks, tableau, model, other, matrix):
    """The rows of the constraints on velocities at the end of the step: `dv1 = h sum_j b_j dW_j`, `dq1 = h^2 sum_j (b^T A)_j dW_j`."""
    A, b, G, N = tableau.A, tableau.b, blocks.G, blocks.N
    s, nv, nc = b.shape[0], N.shape[0], N.shape[1]
    n = nv + nc
    end_derivatives(t, q, v, model, other, blocks)
    for j in range(s):
        second = 0.0
        for i in range(s):
            second += h * b[i] * A[i, j]
        for m in range(nv):
            for r in range(nc):
                matrix[s * n - nc + r, j * n + m] = b[j] * G[r, m] + second * N[m, r]


@compiled
def end_derivatives(t, q, v, model, other, out):
    """`G` and `N` at the end of the step."""
    step = 1j * COMPLEX_STEP
    x, y, p, drift = q + 0.0 * step, v + 0.0 * step, np.empty(out.N.shape[1], np.complex128), np.empty(out.N.shape[1], np.complex128)
    unit, rate = np.zeros_like(v), np.empty_like(q)
    for k in range(v.shape[0]):
        displace(t, q, k, unit, rate, model, x)
        evaluate_end(t, x, y, model, other, p, drift)
        for j in range(p.shape[0]):
            out.N[k, j] = p[j].imag / COMPLEX_STEP
            out.G[j, k] = drift[j].imag / COMPLEX_STEP


@compiled
def displace(t, q, k, unit, rate, model, x):
    """`x = q + i eps T(q) e_k`; `unit` is a vector of zeros, `rate` scratch."""
    unit[k] = 1.0
    kernels.qdot(t, q, unit, model, rate)
    unit[k] = 0.0
    for j in range(q.shape[0]):
        x[j] = q[j] + 1j * COMPLEX_STEP * rate[j]


@compiled
def _regularise(s, nv, n, N, matrix):
    """For redundant constraints subtract `N N^T` from the diagonal blocks of the multipliers, which makes the matrix regular.

    `N^T` times the rows of the constraints gives `N^T dL_i = 0` for consistent constraints: solutions do not change.
    """
    for i in range(s):
        at = i * n + nv
        for d in range(N.shape[0]):
            for j in range(N.shape[1]):
                for k in range(N.shape[1]):
                    matrix[at + j, at + k] -= N[d, j] * N[d, k]


@compiled
def _derivatives(t, i, stages, level, model, other, out):
    """The `Blocks` of stage `i`, derivatives of `M w + Phi_q^T lam - Q`; returns whether they are finite."""
    q, v, w, lam = stages.Q[i], stages.V[i], stages.W[i], stages.L[i]
    step, coupled = 1j * COMPLEX_STEP, header(model)[lay.COUPLED] != 0
    x, y, z, b = q + 0.0 * step, v + 0.0 * step, w + 0.0 * step, lam + 0.0 * step
    r, p, drift, unit, rate = np.empty_like(y), np.empty_like(b), np.empty_like(b), np.zeros_like(v), np.empty_like(q)
    good = True
    for k in range(v.shape[0]):
        displace(t, q, k, unit, rate, model, x)
        good = evaluate(t, x, y, z, b, level, model, other, r, p, drift) and good
        imaginary(r, out.K[k])
        for j in range(p.shape[0]):
            out.N[k, j] = p[j].imag / COMPLEX_STEP
        put(q, x)
        y[k] = v[k] + step
        good = evaluate(t, x, y, z, b, level, model, other, r, p, drift) and good
        imaginary(r, out.D[k])
        y[k] = v[k]
    dense_values(model, other, z, r, out.M, out.G)
    for k in range(w.shape[0]):
        z[k] = w[k] + 0.0 * step
    for k in range(lam.shape[0]):
        put(out.G[k], out.C[k])
        if coupled:
            b[k] = lam[k] + step
            good = evaluate(t, x, y, z, b, level, model, other, r, p, drift) and good
            imaginary(r, out.C[k])
            b[k] = lam[k]
    return good


@compiled
def imaginary(r, out):
    """The derivative from the residual `r` of a complex step, with the sign of `M w + Phi_q^T lam - Q`."""
    for k in range(out.shape[0]):
        out[k] = -r[k].imag / COMPLEX_STEP


@compiled
def dense_values(model, other, unit, column, M, G):
    """The columns of `M` and the rows of `Phi_q`, from values in `other`; `unit` and `column` are scratch."""
    for k in range(M.shape[0]):
        fill(unit, 0.0)
        unit[k] = 1.0
        sparse.mass_times(kernels.mass_values(model, other), unit, model, column)
        for i in range(M.shape[0]):
            M[k, i] = column[i].real
    segments, values = table(model, lay.SEGMENT, SEGMENT_T), part(model, other, lay.W_G)
    for i in range(segments.shape[0]):
        s = segments[i]
        for k in range(s["n"]):
            G[s["row"], s["v"] + k] = values[s["at"] + k].real
