"""The coupled iteration matrix of all stages, for stiff forces and for steps with large changes of `Phi_q`.

The unknowns are the `(W_i, L_i)`, stage by stage. With `K`, `D`, `C` the derivatives of `M w + Phi_q^T lam - Q` along displacements, by
velocities and by multipliers in a stage, the block of rows `i` and columns `j` is

    [delta_ij M_i + h a_ij D_i + h^2 (A A)_ij K_i, delta_ij C_i;  (A A)_ij Phi_q(Q_i), 0].

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
from .stages import evaluate


class Blocks(NamedTuple):
    """`M` and `Phi_q` of a stage, and rows `K[k]`, `D[k]`, `C[k]`: derivatives by displacement, velocity and multiplier number `k`."""

    M: Matrix
    G: Matrix
    K: Matrix
    D: Matrix
    C: Matrix


@compiled
def form(t, h, stages, tableau, model, work, other):
    """Form and factorise the matrix at the present stages; returns `GOOD`, `NOT_FINITE` or `SINGULAR_MATRIX`.

    `work` and `other` are real and complex scratch of the system. For redundant constraints `work` holds the null space of `Phi_q^T` in the
    middle of the step.
    """
    A, AA, c, matrix, pivots = tableau.A, tableau.AA, tableau.c, stages.matrix, stages.pivots
    s, nv, nc = c.shape[0], stages.V.shape[1], stages.L.shape[1]
    n = nv + nc
    for k in range(matrix.shape[0]):
        fill(matrix[k], 0.0)
    M, G, K, D, C = np.empty((nv, nv)), np.zeros((nc, nv)), np.empty((nv, nv)), np.empty((nv, nv)), np.empty((nc, nv))
    for i in range(s):
        if not _derivatives(t + c[i] * h, i, stages, model, other, Blocks(M, G, K, D, C)):
            return NOT_FINITE
        for j in range(s):
            first, second, place = h * A[i, j], h * h * AA[i, j], 1.0 if i == j else 0.0
            for m in range(nv):
                for k in range(nv):
                    matrix[i * n + k, j * n + m] = place * M[m, k] + first * D[m, k] + second * K[m, k]
                for k in range(nc):
                    matrix[i * n + nv + k, j * n + m] = AA[i, j] * G[k, m]
        for m in range(nc):
            for k in range(nv):
                matrix[i * n + k, i * n + nv + m] = C[m, k]
    _regularise(s, nv, n, null_space.vectors(model, work), matrix)
    return GOOD if factorise(matrix, pivots) else SINGULAR_MATRIX


@compiled
def absent(t, h, stages, tableau, model, work, other):
    """Request the compilation of `form`."""
    return NEEDS_MATRIX


_F, _M = types.float64, types.uint8[::1]
_FORM = types.int64(_F, _F, STAGES, TABLEAU, _M, types.float64[::1], types.complex128[::1])
FORM, ABSENT = by_address(form, _FORM), by_address(absent, _FORM)


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
def _derivatives(t, i, stages, model, other, out):
    """The `Blocks` of stage `i`, derivatives of `M w + Phi_q^T lam - Q`; returns whether they are finite."""
    q, v, w, lam = stages.Q[i], stages.V[i], stages.W[i], stages.L[i]
    step, coupled = 1j * COMPLEX_STEP, header(model)[lay.COUPLED] != 0
    x, y, z, b = q + 0.0 * step, v + 0.0 * step, w + 0.0 * step, lam + 0.0 * step
    r, p, unit, rate = np.empty_like(y), np.empty_like(b), np.zeros_like(v), np.empty_like(q)
    good = True
    for k in range(v.shape[0]):
        unit[k] = 1.0
        kernels.qdot(t, q, unit, model, rate)
        unit[k] = 0.0
        for j in range(q.shape[0]):
            x[j] = q[j] + step * rate[j]
        good = evaluate(t, x, y, z, b, model, other, r, p) and good
        _imaginary(r, out.K[k])
        put(q, x)
        y[k] = v[k] + step
        good = evaluate(t, x, y, z, b, model, other, r, p) and good
        _imaginary(r, out.D[k])
        y[k] = v[k]
    _dense(model, other, z, r, out.M, out.G)
    for k in range(w.shape[0]):
        z[k] = w[k] + 0.0 * step
    for k in range(lam.shape[0]):
        put(out.G[k], out.C[k])
        if coupled:
            b[k] = lam[k] + step
            good = evaluate(t, x, y, z, b, model, other, r, p) and good
            _imaginary(r, out.C[k])
            b[k] = lam[k]
    return good


@compiled
def _imaginary(r, out):
    for k in range(out.shape[0]):
        out[k] = -r[k].imag / COMPLEX_STEP


@compiled
def _dense(model, other, unit, column, M, G):
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
