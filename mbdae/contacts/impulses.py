"""Impulses of several contacts at once.

With the rows `G` of the gradients of the closed gaps and the impulses `p >= 0`, one solution of the KKT equations for each contact,

    [M      Phi_q^T] [X]   [G^T]
    [Phi_q  0      ] [L] = [0  ],     A = G X,

gives the change of the velocities `v+ - v- = X p`, the impulses `L p` of the constraints, and the rates `u+ = u- + A p` of the gaps. The
matrix `A` is symmetric and positive semidefinite: `1/A_kk` is the effective mass of contact `k`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.optimize import nnls

from ..typing import Flags, Matrix, Vector

if TYPE_CHECKING:
    from ..system.system import System

LCP_TOL = 1e-10  # violation of the complementarity conditions, relative to the largest rate
MAX_SEQUENCE = 10_000  # impacts one after another at the same time
RANK_TOL = 1e-12  # eigenvalues of `A`, relative to its size, that are zero


class NoImpulse(Exception):
    """There are no impulses that satisfy the law of impact; `contact` is the one whose rate is worst."""

    def __init__(self, contact: int) -> None:
        super().__init__()
        self.contact = contact


class Contacts(NamedTuple):
    """The closed contacts at a state.

    Attributes
    ----------
    A : ndarray, shape (n, n)
    X : ndarray, shape (nv, n)
    L : ndarray, shape (nc, n)
    u : ndarray, shape (n,)
        Rates of the gaps before the impact.
    size : float
        Size of `A` without constraints: what is small against it is zero.
    """

    A: Matrix
    X: Matrix
    L: Matrix
    u: Vector
    size: float


def contacts(system: System, t: float, q: Vector, G: Matrix, u: Vector) -> Contacts:
    """The matrices of the closed contacts with the gradients `G`, shape (n, nv)."""
    solved = [system.solve_kkt(t, q, row, np.zeros(system.nc)) for row in G]
    X, L = np.array([s.x for s in solved]).T, np.array([s.lam for s in solved]).T
    A = G @ X
    size = max(float((row @ row) ** 2 / (row @ system.mass_times(t, q, row))) for row in G)  # at most G M^-1 G^T
    return Contacts(0.5 * (A + A.T), X, L.reshape(system.nc, len(G)), u, size)


def newton(c: Contacts, e: Vector) -> Vector:
    """Newton's law: `u+ + e u- >= 0`, `p >= 0`, complementary; contacts that open or rest (`u- >= 0`) only have `u+ >= 0`."""
    return complementary(c.A, c.u - e * np.maximum(-c.u, 0.0), c.size)


def poisson(c: Contacts, e: Vector) -> Vector:
    """Poisson's law: compression to `u >= 0` by the impulses `p`, then expansion by at least `e p`, each complementary."""
    compression = complementary(c.A, c.u, c.size)
    stored = e * compression
    expansion = stored + complementary(c.A, c.u + c.A @ (compression + stored), c.size)
    return compression + expansion


def in_sequence(c: Contacts, e: Vector) -> Vector:
    """Impacts one after another, each between two bodies, the fastest approach first, until no contact approaches."""
    p, u, limit = np.zeros(len(c.u)), c.u.copy(), LCP_TOL * np.abs(c.u).max(initial=0.0)
    for _ in range(MAX_SEQUENCE):
        k = int(np.argmin(u))
        if u[k] >= -limit:
            return p
        if not c.A[k, k] > RANK_TOL * c.size:
            raise NoImpulse(k)
        impulse = -(1.0 + e[k]) * u[k] / c.A[k, k]
        p[k] += impulse
        u += c.A[:, k] * impulse
    raise NoImpulse(int(np.argmin(u)))


def complementary(A: Matrix, b: Vector, size: float = 0.0) -> Vector:
    """The linear complementarity problem `w = A p + b >= 0`, `p >= 0`, `w . p = 0` for a symmetric positive semidefinite `A`.

    It is the minimum of `1/2 p . A p + b . p` for `p >= 0`: with `A = C^T C` and `b = C^T d` nonnegative least squares, `min |C p + d|`.
    Where several impulses give the same velocities it is one of them. Eigenvalues that are small against `size` are zero.

    Raises
    ------
    NoImpulse
        If there is no solution.
    """
    values, vectors = np.linalg.eigh(A)
    kept = values > RANK_TOL * max(size, values.max(initial=0.0))
    root = np.sqrt(values[kept])
    C, d = root[:, None] * vectors[:, kept].T, (vectors[:, kept].T @ b) / root
    p = np.zeros(len(b)) if not kept.any() else _exact(A, b, nnls(C, -d)[0] > 0.0)
    w = A @ p + b
    if w.min(initial=0.0) < -LCP_TOL * np.abs(b).max(initial=0.0):
        raise NoImpulse(int(np.argmin(w)))
    return p


def _exact(A: Matrix, b: Vector, active: Flags) -> Vector:
    """`w = 0` in the active contacts, `p = 0` in the others; small negative impulses are rounding."""
    p = np.zeros(len(b))
    p[active] = np.linalg.lstsq(A[np.ix_(active, active)], -b[active], rcond=RANK_TOL)[0]
    return np.maximum(p, 0.0)
