"""The coupled iteration matrix of all stages, for stiff forces and for steps with large changes of `Phi_q`.

The unknowns are the `W_i`, then the `U_k`, then the `L_k`. With `K`, `D`, `C` the derivatives of `M w - Q` along displacements, by
velocities and by multipliers in a stage of the motion, the rows of stage `i` are

    [delta_ij M_i + h u_ij D_i + h^2 (A U)_ij K_i,   h r_ik D_i + h^2 (A R)_ik K_i,   E_ik C_i].

With `N` the derivative of `M u + Phi_q^T lam` along displacements those of stage `k` of the constraints are

    [h^2 (P U)_kj N_k,   delta_kl M_k + h^2 (P R)_kl N_k,   delta_kl Phi_q(X_k)^T],

and the lower rows `[Phi_q(X_k) (P U)_kj, Phi_q(X_k) (P R)_kl, 0]` for `k = 2 ... m` and, with the derivative `H` of `Phi_q v - nu` along
displacements, `[Phi_q(q1) b_j + h H (P U)_mj, Phi_q(q1) d_l + h H (P R)_ml, 0]` for the velocities at the end.

Derivatives are computed by the complex step. The change of `T` within the step is neglected.

The functions with complex arguments are compiled when a coupled matrix is first requested; until then `ABSENT` takes the place of `FORM`.
"""

from typing import NamedTuple

import numpy as np
from numba import types

from ...compilation.compiled import by_address, compiled
from ...jacobians.complex_step import COMPLEX_STEP
from ...system import layout as lay
from ...system import null_space
from ...system.codes import GOOD, NEEDS_MATRIX, NOT_FINITE, SINGULAR_MATRIX
from ...system.dense import factorise
from ...system.layout import header
from ...system.sparse import fill
from ...system.vectors import put
from ...typing import Matrix
from ..gauss.coupled import dense_values, displace, end_derivatives, imaginary
from .arrays import FORMULA, STAGES
from .stages import motion, reaction


class Blocks(NamedTuple):
    """`M` and `Phi_q` of a stage, and rows `K[k]`, `D[k]`, `C[k]`: derivatives by displacement, velocity and multiplier number `k`.

    `N[k]` is the derivative of the constraints on velocities by displacement number `k`.
    """

    M: Matrix
    G: Matrix
    K: Matrix
    D: Matrix
    C: Matrix
    N: Matrix


@compiled
def form(t, h, stages, formula, model, work, other):
    """Form and factorise the matrix at the present stages; returns `GOOD`, `NOT_FINITE` or `SINGULAR_MATRIX`.

    For redundant constraints `work` holds the null space of `Phi_q^T` in the middle of the step.
    """
    c, e, matrix = formula.c, formula.e, stages.matrix
    n, m, nv, nc = c.shape[0], e.shape[0], stages.V.shape[1], stages.L.shape[1]
    for k in range(matrix.shape[0]):
        fill(matrix[k], 0.0)
    M, G, K, D = np.empty((nv, nv)), np.zeros((nc, nv)), np.empty((nv, nv)), np.empty((nv, nv))
    blocks = Blocks(M, G, K, D, np.zeros((nc, nv)), np.zeros((nv, nc)))
    for i in range(n):
        if not _motion_derivatives(t + c[i] * h, i, stages, model, other, blocks):
            return NOT_FINITE
        _motion_rows(i, h, blocks, formula, matrix)
    for k in range(m):
        if not _reaction_derivatives(t + e[k] * h, k, stages, model, other, blocks):
            return NOT_FINITE
        _reaction_rows(k, h, blocks, formula, matrix)
        if k > 0:
            _constraint_rows(k - 1, 0.0, blocks, formula, matrix)
    end_derivatives(t + h, stages.X[m - 1], stages.v, model, other, blocks)
    _constraint_rows(m - 1, h, blocks, formula, matrix)
    _regularise(m, (n + m) * nv, null_space.vectors(model, work), matrix)
    return GOOD if factorise(matrix, stages.pivots) else SINGULAR_MATRIX


@compiled
def absent(t, h, stages, formula, model, work, other):
    """Request the compilation of `form`."""
    return NEEDS_MATRIX


_F, _X, _M = types.float64, types.float64[::1], types.uint8[::1]
_FORM = types.int64(_F, _F, STAGES, FORMULA, _M, _X, types.complex128[::1])
FORM, ABSENT = by_address(form, _FORM), by_address(absent, _FORM)


@compiled
def _motion_derivatives(t, i, stages, model, other, out):
    """The `Blocks` of stage `i` of the motion; returns whether they are finite."""
    q, v, w, lam = stages.Q[i], stages.V[i], stages.W[i], stages.F[i]
    step, depends = 1j * COMPLEX_STEP, header(model)[lay.COUPLED] != 0
    x, y, z, b = q + 0.0 * step, v + 0.0 * step, w + 0.0 * step, lam + 0.0 * step
    r, unit, rate, good = np.empty_like(y), np.zeros_like(v), np.empty_like(q), True
    for k in range(v.shape[0]):
        displace(t, q, k, unit, rate, model, x)
        good = motion(t, x, y, z, b, model, other, r) and good
        imaginary(r, out.K[k])
        put(q, x)
        y[k] = v[k] + step
        good = motion(t, x, y, z, b, model, other, r) and good
        imaginary(r, out.D[k])
        y[k] = v[k]
    dense_values(model, other, z, r, out.M, out.G)
    for k in range(w.shape[0]):
        z[k] = w[k] + 0.0 * step
    for k in range(lam.shape[0]):
        fill(out.C[k], 0.0)
        if depends:
            b[k] = lam[k] + step
            good = motion(t, x, y, z, b, model, other, r) and good
            imaginary(r, out.C[k])
            b[k] = lam[k]
    return good


@compiled
def _motion_rows(i, h, blocks, formula, matrix):
    """The rows of stage `i` of the motion."""
    M, K, D, C, E = blocks.M, blocks.K, blocks.D, blocks.C, formula.E
    n, m, nv, nc = formula.c.shape[0], formula.e.shape[0], M.shape[0], C.shape[0]
    for j in range(n + m):
        first = h * (formula.U[i, j] if j < n else formula.R[i, j - n])
        second = h * h * (formula.AU[i, j] if j < n else formula.AR[i, j - n])
        place = 1.0 if i == j else 0.0
        for a in range(nv):
            for k in range(nv):
                matrix[i * nv + k, j * nv + a] = place * M[a, k] + first * D[a, k] + second * K[a, k]
    for l in range(m):
        for a in range(nc):
            for k in range(nv):
                matrix[i * nv + k, (n + m) * nv + l * nc + a] = E[i, l] * C[a, k]


@compiled
def _reaction_derivatives(t, k, stages, model, other, out):
    """`K`, the derivative of `M u + Phi_q^T lam`, with `M` and `Phi_q` of stage `k` of the constraints; returns whether they are finite."""
    q, u, lam = stages.X[k], stages.U[k], stages.L[k]
    step = 1j * COMPLEX_STEP
    x, y, b = q + 0.0 * step, u + 0.0 * step, lam + 0.0 * step
    r, p, unit, rate, good = np.empty_like(y), np.empty_like(b), np.zeros_like(u), np.empty_like(q), True
    for j in range(u.shape[0]):
        displace(t, q, j, unit, rate, model, x)
        good = reaction(t, x, y, b, model, other, r, p) and good
        imaginary(r, out.K[j])
    put(q, x)
    good = reaction(t, x, y, b, model, other, r, p) and good
    dense_values(model, other, y, r, out.M, out.G)
    return good


@compiled
def _reaction_rows(k, h, blocks, formula, matrix):
    """The rows of stage `k` of the constraints; the start does not depend on the unknowns."""
    M, K, G = blocks.M, blocks.K, blocks.G
    n, m, nv, nc = formula.c.shape[0], formula.e.shape[0], M.shape[0], G.shape[0]
    at = (n + k) * nv
    for j in range(n + m):
        second = 0.0
        if k > 0:
            second = h * h * _positions(formula, k - 1, j)
        place = 1.0 if n + k == j else 0.0
        for a in range(nv):
            for r in range(nv):
                matrix[at + r, j * nv + a] = place * M[a, r] + second * K[a, r]
    for a in range(nc):
        for r in range(nv):
            matrix[at + r, (n + m) * nv + k * nc + a] = G[a, r]


@compiled
def _positions(formula, k, j):
    """Row `k`, column `j` of `[PU, PR]`."""
    n = formula.c.shape[0]
    return formula.PU[k, j] if j < n else formula.PR[k, j - n]


@compiled
def _constraint_rows(row, h, blocks, formula, matrix):
    """The rows of the constraints on positions number `row`, or of those on velocities at the end, with the step `h` in the place of 0."""
    G, N = blocks.G, blocks.N
    n, m, nv, nc = formula.c.shape[0], formula.e.shape[0], G.shape[1], G.shape[0]
    at = (n + m) * nv + row * nc
    for j in range(n + m):
        first, second = _positions(formula, row, j), 0.0
        if h != 0.0:
            second = h * _positions(formula, m - 2, j)
        for a in range(nv):
            for r in range(nc):
                matrix[at + r, j * nv + a] = first * G[r, a] + second * N[a, r]


@compiled
def _regularise(m, at, N, matrix):
    """For redundant constraints subtract `N N^T` from the diagonal blocks of the multipliers, which makes the matrix regular.

    `N^T` times the rows of the constraints gives `N^T dL_k = 0` for consistent constraints: solutions do not change.
    """
    for i in range(m):
        place = at + i * N.shape[1]
        for d in range(N.shape[0]):
            for j in range(N.shape[1]):
                for k in range(N.shape[1]):
                    matrix[place + j, place + k] -= N[d, j] * N[d, k]
