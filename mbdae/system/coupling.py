"""How forces that depend on the multipliers act back on these: `g'(lam) = B^-1 Phi_q M^-1 dQ/dlam`, and factors of `I - s g'(lam)`.

Of the multipliers only a few matter, those of the joints with friction; for a user's functions it is all.

Methods that find the multipliers by an iteration of their own, `M da + Phi_q^T dlam = r`, `Phi_q da = c`, evaluate the forces with the
multipliers of the iteration. Where that converges slowly, `-dQ/dlam dlam` joins the left side, in this step and some of those that follow.
"""

from typing import NamedTuple

import numpy as np

from ..compilation.compiled import compiled
from . import kernels, kkt
from . import layout as lay
from .dense import factorise, solve
from .layout import BODY_T, FRICTION_T, header, table
from .loads import friction
from .sparse import fill

INCREMENT = 1.5e-8  # of forward differences, relative
SLOW = 0.3  # rate of convergence beyond which an iteration asks for the derivatives
COUPLED_STEPS = 20  # with derivatives, once they were needed


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
        friction.forces(table(model, lay.FRICTION, FRICTION_T), lay.frames(model, work), table(model, lay.BODY, BODY_T), lam, out)
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
    if coupling.rows.shape[0] == 0:
        return
    add_response(lam, coupling, b)
    kkt.solve(model, work, b, c, a, lam)


@compiled
def add_response(lam, coupling, b):
    """`b += dQ/dlam (I - g')^-1 lam`: what the forces add if the multipliers would change by `lam` without that."""
    rows, forces = coupling.rows, coupling.forces
    x = np.empty(rows.shape[0], lam.dtype)
    for i in range(rows.shape[0]):
        x[i] = lam[rows[i]]
    solve(coupling.matrix, coupling.pivots, x)
    for i in range(rows.shape[0]):
        for k in range(b.shape[0]):
            b[k] += x[i] * forces[i, k]


class Following(NamedTuple):
    """Whether the derivatives of the forces by the multipliers are used in the iteration of a method.

    Attributes
    ----------
    coupling : Coupling
    remaining : ndarray of int64, shape (1,)
        Number of steps for which they are.
    """

    coupling: Coupling
    remaining: np.ndarray


@compiled
def new_following(model, lam):
    """Arrays for `follow`; `lam` tells real from complex."""
    return Following(new_coupling(model, lam), np.zeros(1, np.int64))


@compiled
def next_step(following):
    """A new step begins."""
    following.remaining[0] = max(following.remaining[0] - 1, 0)


@compiled
def follow(t, q, v, lam, rate, following, model, work):
    """Whether derivatives are used after an iteration that has converged at this rate; they are those at the state that was placed."""
    if rate > SLOW:
        following.remaining[0] = COUPLED_STEPS
    return following.remaining[0] > 0 and linearise(t, q, v, lam, 1.0, following.coupling, model, work)


@compiled
def corrections(t, q, v, lam, rate, residual, c, a, dlam, following, model, work):
    """Corrections `a` and `dlam` of an iteration, with the derivatives where they are needed; whether they were used.

    The residual is used up.
    """
    if header(model)[lay.COUPLED] and follow(t, q, v, lam, rate, following, model, work):
        solve_coupled(residual, c, a, dlam, following.coupling, model, work)
        return True
    kkt.solve(model, work, residual, c, a, dlam)
    return False


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
