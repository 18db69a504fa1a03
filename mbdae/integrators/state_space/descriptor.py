"""The descriptor form with its own matrix of size `nv + nc`, sparse and factorised in every step [Negrut, sections 3.3, 4.2.2].

With `x = z''` of a stage, `z = z~ + beta h^2 x` and `z' = z'~ + gamma h x` the equations for `(a, lam)` [Negrut, eq. (3.76)] have the
matrix

    [M Phi_q^T; Phi_q 0] + (beta h^2 D1 + gamma h D2) (I - E)^-1 [P T, 0],   E = beta h^2 E1 + gamma h E2

(the equation that follows [Negrut, eq. (3.83)]). `D1`, `D2` are the derivatives of the equations by `z` and `z'`, through the dependent
positions and velocities; `E1`, `E2` those of `z'' = P (T a + T' v)`, with `a` held constant, zero where `T = I`. All belong to the state
at which the derivatives are evaluated. They follow from the derivatives of `(a, lam)`, `D = -[M Phi_q^T; Phi_q 0] (a, lam)_z`, so every
source of derivatives serves.

Where constraints are redundant, `-N N^T` in the place of the zero block makes the matrix regular; `N` spans the null space of `Phi_q^T`.
"""

import numpy as np

from ...charts.motion import second_rates
from ...charts.store import bases
from ...compilation.compiled import by_address, compiled
from ...system import kernels, null_space, sparse_lu
from ...system import layout as lay
from ...system.codes import GOOD, SINGULAR_MATRIX
from ...system.dense import factorise, solve
from ...system.layout import header, part
from ...system.motion import equation_residuals
from ...system.vectors import dot, fill, put_rows
from .augmented import TASK

ROUNDING = 1e-14  # derivatives below this fraction of the sum of their terms vanish
KEEP, FORM, CORRECT = range(3)


@compiled
def descriptor(task, t, gh, bhh, state, x, dx, factors, augmented):
    """One of three tasks; returns `GOOD` or the code of a failure.

    `KEEP` the derivatives at the state to which the factors of the chart belong, `FORM` the matrix and factorise it, or `CORRECT` the
    accelerations and multipliers of a stage; `dx` becomes the correction of `x`.
    """
    if task == KEEP:
        return _keep(factors, augmented)
    if task == FORM:
        return _form(gh, bhh, augmented)
    return _correct(t, state, x, dx, factors, augmented)


@compiled
def absent(task, t, gh, bhh, state, x, dx, factors, augmented):
    """In the place of `descriptor` where it is not used."""
    return SINGULAR_MATRIX


@compiled
def _keep(factors, g):
    """The matrix `[M Phi_q^T; Phi_q -N N^T]` at the placed state, `D1`, `D2`, `E1`, `E2`."""
    model, work, K, d = factors.model, factors.work, g.K, g.derivatives
    put_rows(bases(factors.n, model, factors.store).PT, g.PT)
    # values of the pieces
    fill(K.values, 0.0)
    kernels.mass_entries(model, work, g.mass)
    for k in range(g.mass_to.shape[0]):
        K.values[g.mass_to[k]] = g.mass[g.mass_from[k]]
    G = part(model, work, lay.W_G)
    for k in range(g.gradient_from.shape[0]):
        K.values[g.gradient_to[k]] = K.values[g.transposed_to[k]] = G[g.gradient_from[k]]
    N = null_space.vectors(model, work)
    for i in range(g.candidates.shape[0]):
        for j in range(g.candidates.shape[0]):
            for m in range(N.shape[0]):
                K.values[g.null_to[i, j]] -= N[m, g.candidates[i]] * N[m, g.candidates[j]]
    # derivatives of the equations, and of z'' with a = const.
    for k in range(factors.n):
        _product(K, d.a_z[k], d.lam_z[k], g.D1[k], g.sums)
        _product(K, d.a_zd[k], d.lam_zd[k], g.D2[k], g.sums)
    if header(model)[lay.IDENTITY_MAP] == 0:
        for k in range(factors.n):
            for i in range(factors.n):
                g.E1[k, i] = _difference(d.zdd_z[k, i], dot(g.PT[i], d.a_z[k]))
                g.E2[k, i] = _difference(d.zdd_zd[k, i], dot(g.PT[i], d.a_zd[k]))
    return GOOD


@compiled
def _difference(x, y):
    """`x - y`, zero where only rounding errors are left."""
    return x - y if abs(x - y) > ROUNDING * (abs(x) + abs(y)) else 0.0


@compiled
def _product(K, a, lam, out, sums):
    """`out = -K (a, lam)`, zero where only rounding errors are left."""
    nv = a.shape[0]
    fill(out, 0.0)
    fill(sums, 0.0)
    for j in range(out.shape[0]):
        x = a[j] if j < nv else lam[j - nv]
        if x != 0.0:
            for m in range(K.start[j], K.start[j + 1]):
                term = K.values[m] * x
                out[K.rows[m]] -= term
                sums[K.rows[m]] += abs(term)
    for i in range(out.shape[0]):
        if abs(out[i]) <= ROUNDING * sums[i]:
            out[i] = 0.0


@compiled
def _form(gh, bhh, g):
    """Form the matrix and factorise it."""
    n = g.PT.shape[0]
    # F = (beta h^2 D1 + gamma h D2) (I - E)^-1, by its columns
    for k in range(n):
        for i in range(g.F.shape[1]):
            g.F[k, i] = bhh * g.D1[k, i] + gh * g.D2[k, i]
        for i in range(n):
            g.W[i, k] = (1.0 if i == k else 0.0) - bhh * g.E1[k, i] - gh * g.E2[k, i]
    if g.turning:
        if not factorise(g.W, g.pivots):
            return SINGULAR_MATRIX
        _times_inverse(g)
    # K + F [P T, 0]
    K, A, x, at = g.K, g.A, g.sums, 0
    for j in range(x.shape[0]):
        full = False
        if j < g.PT.shape[1]:
            for k in range(n):
                full = full or g.PT[k, j] != 0.0
        if full:
            fill(x, 0.0)
            for m in range(K.start[j], K.start[j + 1]):
                x[K.rows[m]] = K.values[m]
            for k in range(n):
                if g.PT[k, j] != 0.0:
                    for i in range(x.shape[0]):
                        x[i] += g.PT[k, j] * g.F[k, i]
            for i in range(x.shape[0]):
                if x[i] != 0.0:
                    A.rows[at], A.values[at] = i, x[i]
                    at += 1
        else:
            for m in range(K.start[j], K.start[j + 1]):
                A.rows[at], A.values[at] = K.rows[m], K.values[m]
                at += 1
        A.start[j + 1] = at
    return sparse_lu.factorise(A, g.lu)


@compiled
def _times_inverse(g):
    """`F <- F (I - E)^-1`, row by row: `(I - E)^-T` of each by the inverse matrix."""
    n = g.PT.shape[0]
    inverse, row = np.eye(n), np.empty(n)
    for k in range(n):
        solve(g.W, g.pivots, inverse[k])  # column k of the inverse
    for i in range(g.F.shape[1]):
        for k in range(n):
            row[k] = g.F[k, i]
        for k in range(n):
            g.F[k, i] = dot(row, inverse[k])


@compiled
def _correct(t, state, x, dx, factors, g):
    """Quasi-Newton correction of `(a, lam)` and `x`.

    `A (da, dlam) = r - F rho` with the residuals `r` of [Negrut, eq. (3.76)] and `rho = z''(a) - x`; `(I - E) dx = rho + P T da`.
    """
    q, v, a, lam, b = state.q, state.v, state.a, state.lam, g.b
    nv, n, model = a.shape[0], x.shape[0], factors.model
    equation_residuals(t, q, v, a, lam, model, factors.work, g.r, g.c)
    second_rates(t, q, v, a, n, factors.store, model, dx)
    for k in range(nv):
        b[k] = g.r[k]
    for k in range(lam.shape[0]):
        b[nv + k] = g.c[k]
    for k in range(n):
        dx[k] -= x[k]
        for i in range(b.shape[0]):
            b[i] -= dx[k] * g.F[k, i]
    sparse_lu.solve(g.lu, b)
    # update
    for k in range(nv):
        a[k] += b[k]
    for k in range(lam.shape[0]):
        lam[k] += b[nv + k]
    for k in range(n):
        for i in range(nv):
            dx[k] += g.PT[k, i] * b[i]
    if g.turning:
        solve(g.W, g.pivots, dx)
    return GOOD


DESCRIPTOR, ABSENT = by_address(descriptor, TASK), by_address(absent, TASK)
