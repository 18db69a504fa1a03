"""Forces that depend on the multipliers: `g'(lam) = B^-1 Phi_q M^-1 dQ/dlam`, and factors of `I - s g'(lam)`.

`dQ/dlam` has non-zero columns for the multipliers of joints with friction only; for a user's functions all columns are taken.

Integrators solve `M da + Phi_q^T dlam = r`, `Phi_q da = c` in each iteration, with the forces at the multipliers of the iterate. Where that
converges slowly, `-dQ/dlam dlam` is added to the left side, in this step and some of those that follow.
"""

from typing import NamedTuple

import numpy as np

from ..compilation.compiled import compiled
from ..compilation.structure import Structure
from . import kernels, kkt
from . import layout as lay
from .dense import factorise, solve
from .layout import BODY_T, FRICTION_T, header, table
from .loads import friction
from .sparse import fill

INCREMENT = 1.5e-8  # of forward differences, relative
SLOW = 0.3  # contraction rate above which dQ/dlam joins the iteration matrix
COUPLED_STEPS = 20  # steps for which it stays there


class Coupling(NamedTuple):
    """The derivatives of the forces by the multipliers, and factors of `I - s g'`.

    Attributes
    ----------
    rows : ndarray of int64, shape (n,)
        Constraint equations whose multipliers enter the forces.
    forces : ndarray, shape (n, nv)
        `dQ/dlam`, one row per multiplier.
    matrix, pivots : ndarray, shapes (n, n) and (n,)
        Factors of `I - s g'` in these rows.
    """

    rows: np.ndarray
    forces: np.ndarray
    matrix: np.ndarray
    pivots: np.ndarray


@compiled
def new_coupling(model, lam):
    """Arrays for `linearise`, real or complex as `lam`."""
    rows = coupled_rows(model)
    n, nv = rows.shape[0], header(model)[lay.NV]
    return Coupling(rows, np.zeros((n, nv), lam.dtype), np.zeros((n, n)), np.zeros(n, np.int64))


@compiled
def coupled_rows(model):
    """Constraint equations whose multipliers enter the forces, in ascending order; none without joint friction."""
    head = header(model)
    found = np.zeros(head[lay.NC], np.bool_)
    if head[lay.COUPLED]:
        found[:] = head[lay.KIND] == lay.USER
        elements = table(model, lay.FRICTION, FRICTION_T)
        for n in range(elements.shape[0]):
            e = elements[n]
            for k in range(e["nrows"]):
                found[e["rows"][k]] = True
    return np.flatnonzero(found)


@compiled
def coupled_forces(t, q, v, lam, model, work, out):
    """The forces that depend on the multipliers, at the placed state; all forces for a user's functions."""
    if header(model)[lay.KIND] == lay.MULTIBODY:
        fill(out, 0.0)
        friction.forces(table(model, lay.FRICTION, FRICTION_T), lay.frames(model, work), table(model, lay.BODY, BODY_T), lam, out)
    else:
        kernels.force(t, q, v, lam, model, work, out)


@compiled
def linearise(t, q, v, lam, share, coupling, model, work):
    """Factorise the real part of `I - share g'(lam)`, with `dQ/dlam` by forward differences at the placed state; whether it is regular."""
    rows, forces = coupling.rows, coupling.forces
    x, base, step = lam.copy(), np.empty_like(v), 0.0
    # increment
    for i in range(rows.shape[0]):
        step = max(step, INCREMENT * abs(lam[rows[i]]))
    step = step if step > 0.0 else INCREMENT
    # columns of dQ/dlam
    coupled_forces(t, q, v, lam, model, work, base)
    for i in range(rows.shape[0]):
        x[rows[i]] += step
        coupled_forces(t, q, v, x, model, work, forces[i])
        x[rows[i]] = lam[rows[i]]
        for k in range(base.shape[0]):
            forces[i, k] = (forces[i, k] - base[k]) / step
    return factor_coupling(share, coupling, model, work)


@compiled
def factor_coupling(share, coupling, model, work):
    """Factorise `I - share g'` for `dQ/dlam` in `coupling.forces`, after `kkt.factor`; whether it is regular."""
    rows, forces, matrix, head = coupling.rows, coupling.forces, coupling.matrix, header(model)
    zero, a, lam = np.zeros(head[lay.NC], work.dtype), np.empty(head[lay.NV], work.dtype), np.empty(head[lay.NC], work.dtype)
    for j in range(rows.shape[0]):
        kkt.solve(model, work, forces[j], zero, a, lam)
        for i in range(rows.shape[0]):
            matrix[i, j] = (1.0 if i == j else 0.0) - share * lam[rows[i]].real
    return factorise(matrix, coupling.pivots)


@compiled
def solve_coupled(b, c, a, lam, coupling, model, work):
    """`M a + Phi_q^T lam - dQ/dlam lam = b`, `Phi_q a = c`, after `factor_coupling` with the share 1; `b` is overwritten."""
    kkt.solve(model, work, b, c, a, lam)
    if coupling.rows.shape[0] == 0:
        return
    add_response(lam, coupling, b)
    kkt.solve(model, work, b, c, a, lam)


@compiled
def add_response(lam, coupling, b):
    """`b += dQ/dlam (I - g')^-1 lam`, for the change `lam` of the multipliers at constant forces."""
    rows, forces = coupling.rows, coupling.forces
    x = np.empty(rows.shape[0], lam.dtype)
    for i in range(rows.shape[0]):
        x[i] = lam[rows[i]]
    solve(coupling.matrix, coupling.pivots, x)
    for i in range(rows.shape[0]):
        for k in range(b.shape[0]):
            b[k] += x[i] * forces[i, k]


class Following(NamedTuple):
    """Whether the iteration matrix of an integrator contains `dQ/dlam`.

    Attributes
    ----------
    coupling : Coupling
    remaining : ndarray of int64, shape (1,)
        Number of steps for which it still does.
    """

    coupling: Coupling
    remaining: np.ndarray


@compiled
def new_following(model, lam):
    """Arrays for `follow`, real or complex as `lam`."""
    return Following(new_coupling(model, lam), np.zeros(1, np.int64))


@compiled
def next_step(following):
    """A new step begins."""
    following.remaining[0] = max(following.remaining[0] - 1, 0)


@compiled
def follow(t, q, v, lam, rate, following, model, work):
    """Whether `dQ/dlam` at the placed state joins the iteration matrix, after a contraction by `rate`."""
    if rate > SLOW:
        following.remaining[0] = COUPLED_STEPS
    return following.remaining[0] > 0 and linearise(t, q, v, lam, 1.0, following.coupling, model, work)


class Correction(Structure):
    """The linear equations of an iteration, `M da + Phi_q^T dlam = r`, `Phi_q da = c`."""

    r: np.ndarray
    c: np.ndarray
    da: np.ndarray
    dlam: np.ndarray


@compiled
def corrections(t, state, rate, s, following, model, work):
    """Solve for `s.da` and `s.dlam`, a `Correction`, at a state with `q`, `v`, `lam`; whether `-dQ/dlam dlam` was on the left side.

    The residual `s.r` is overwritten.
    """
    if header(model)[lay.COUPLED] and follow(t, state.q, state.v, state.lam, rate, following, model, work):
        solve_coupled(s.r, s.c, s.da, s.dlam, following.coupling, model, work)
        return True
    kkt.solve(model, work, s.r, s.c, s.da, s.dlam)
    return False


@compiled
def oriented(coupling):
    """Whether `det(I - s g') > 0`, as it is without coupling, `s = 0`."""
    positive = True
    for k in range(coupling.pivots.shape[0]):
        positive ^= coupling.pivots[k] != k
        positive ^= coupling.matrix[k, k] < 0.0
    return positive


@compiled
def weakest(coupling):
    """The constraint equation with the largest forces in the null vector of a nearly singular `I - s g'`, by inverse iteration."""
    x, found, most = np.ones(coupling.rows.shape[0]), 0, -1.0
    for _ in range(3):
        solve(coupling.matrix, coupling.pivots, x)
        x /= np.abs(x).max() + 1e-300
    for i in range(x.shape[0]):
        size = np.abs(x[i] * coupling.forces[i]).max()
        if size > most:
            found, most = i, size
    return coupling.rows[found]
