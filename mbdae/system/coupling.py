"""How forces that depend on the multipliers act back on these: `g'(lam) = B^-1 Phi_q M^-1 dQ/dlam`, and factors of `I - s g'(lam)`.

Of the multipliers only a few matter, those of the joints with friction; for a user's functions it is all.
"""

from typing import NamedTuple

import numpy as np

from ..compiled import compiled
from . import kernels, kkt
from . import layout as lay
from .dense import factorise, solve
from .layout import BODY_T, FRICTION_T, header, table
from .loads import friction
from .sparse import fill

INCREMENT = 1.5e-8  # of forward differences, relative


class Coupling(NamedTuple):
    """The linear response of the multipliers to themselves.

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
    """Arrays for `linearise`; `lam` tells real from complex."""
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
    """What depends on the multipliers of the forces, at the state that was placed; all forces for a user's functions."""
    if header(model)[lay.KIND] == lay.MULTIBODY:
        fill(out, 0.0)
        friction.forces(table(model, lay.FRICTION, FRICTION_T), table(model, lay.BODY, BODY_T), lay.frames(model, work), lam, out)
    else:
        kernels.force(t, q, v, lam, model, work, out)


@compiled
def linearise(t, q, v, lam, share, coupling, model, work):
    """Factors of `I - share g'(lam)`, of its real part; whether they exist. By differences, at the state that was placed."""
    rows, forces = coupling.rows, coupling.forces
    x, base, step = lam.copy(), np.empty_like(v), 0.0
    for i in range(rows.shape[0]):
        step = max(step, INCREMENT * abs(lam[rows[i]]))
    step = step if step > 0.0 else INCREMENT
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
    """Factors of `I - share g'` for `dQ/dlam` in `coupling.forces`, after `kkt.factor`; whether they exist."""
    rows, forces, matrix, head = coupling.rows, coupling.forces, coupling.matrix, header(model)
    zero, a, lam = np.zeros(head[lay.NC], work.dtype), np.empty(head[lay.NV], work.dtype), np.empty(head[lay.NC], work.dtype)
    for j in range(rows.shape[0]):
        kkt.solve(model, work, forces[j], zero, a, lam)
        for i in range(rows.shape[0]):
            matrix[i, j] = (1.0 if i == j else 0.0) - share * lam[rows[i]].real
    return factorise(matrix, coupling.pivots)


@compiled
def solve_coupled(b, c, a, lam, coupling, model, work):
    """`M a + Phi_q^T lam - dQ/dlam lam = b`, `Phi_q a = c`, after `factor_coupling` with the share 1; `b` is used up."""
    kkt.solve(model, work, b, c, a, lam)
    rows, forces = coupling.rows, coupling.forces
    if rows.shape[0] == 0:
        return
    x = np.empty(rows.shape[0], lam.dtype)
    for i in range(rows.shape[0]):
        x[i] = lam[rows[i]]
    solve(coupling.matrix, coupling.pivots, x)
    for i in range(rows.shape[0]):
        for k in range(b.shape[0]):
            b[k] += x[i] * forces[i, k]
    kkt.solve(model, work, b, c, a, lam)


@compiled
def oriented(coupling):
    """Whether the determinant of what has been factorised is positive, as it is without coupling."""
    positive = True
    for k in range(coupling.pivots.shape[0]):
        positive ^= coupling.pivots[k] != k
        positive ^= coupling.matrix[k, k] < 0.0
    return positive


@compiled
def weakest(coupling):
    """The constraint equation with the largest share in the forces of the multipliers that `I - s g'` nearly lets go.

    These are found by inverse iteration.
    """
    x, found, most = np.ones(coupling.rows.shape[0]), 0, -1.0
    for _ in range(3):
        solve(coupling.matrix, coupling.pivots, x)
        x /= np.abs(x).max() + 1e-300
    for i in range(x.shape[0]):
        size = np.abs(x[i] * coupling.forces[i]).max()
        if size > most:
            found, most = i, size
    return coupling.rows[found]
