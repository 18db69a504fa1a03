"""The choice of independent coordinates: coordinate partitioning, or the plane tangent to the constraints."""

import numpy as np
from scipy.linalg import null_space

from ..compiled import compiled
from ..system import layout as lay

PARAMETRISATIONS = ("partition", "tangent")
ANGLE = 0.1  # what the entries of a planar angle count in the choice of pivots, in metres


def partition(system, t, q):
    """Coordinates by which the others can be expressed: LU factorisation of the constraint Jacobian with full pivoting.

    The columns that are not chosen as pivots belong to the independent coordinates [Negrut, section 3.1; Wehage]. Columns are scaled
    before, as always where metres and radians stand side by side: see `_shares`.

    Returns
    -------
    ndarray, shape (n, nq)
        `P`, rows of the identity.
    """
    J = position_jacobian(system, t, q) * _shares(system)
    independent = np.sort(_pivot_columns(J, system.nq - system.freedom))
    return np.eye(system.nq)[independent]


def _shares(system):
    """Factors of the columns: a planar angle becomes dependent only if nothing else can.

    Angles of planar bodies describe a revolution where Cartesian coordinates fold, and springs and dampers act on them linearly. Stiff
    ones do so along a direction that is fixed then; in Cartesian coordinates it turns with the bodies, and steps must be a third as long.
    """
    shares = np.ones(system.nq)
    bodies = system._bodies
    shares[bodies["q"][bodies["kind"] == lay.PLANAR] + 2] = ANGLE
    return shares


def tangent(system, t, q):
    """An orthonormal basis of the plane tangent to the constraints at `q` [Negrut, eqs. (B.1)-(B.11)].

    Returns
    -------
    ndarray, shape (n, nq)
        `P = Q_2^T`.
    """
    J = position_jacobian(system, t, q)
    _, _, rows = np.linalg.svd(J)
    return rows[system.nq - system.freedom:]


def position_jacobian(system, t, q):
    """Derivative of all constraints by the coordinates `q`, shape (nc + nq - nv, nq): `Phi_q T^+`, then the norms of quaternions."""
    G = system.phi_q(t, q).toarray()
    T = kinematic_map(system, t, q)
    if system.nq == system.nv:
        return np.linalg.solve(T.T, G.T).T
    return np.vstack([G @ np.linalg.pinv(T), null_space(T.T).T])


def kinematic_map(system, t, q):
    """`T(q)`, dense."""
    return np.array([system.qdot(q, e, t) for e in np.eye(system.nv)]).T


@compiled
def _pivot_columns(J, rank):
    """Columns without a pivot after `rank` steps of Gaussian elimination with full pivoting."""
    A = J.copy()
    m, n = A.shape
    columns = np.arange(n)
    for k in range(rank):
        i, j = k, k
        for r in range(k, m):
            for c in range(k, n):
                if abs(A[r, c]) > abs(A[i, j]):
                    i, j = r, c
        A[k], A[i] = A[i].copy(), A[k].copy()
        A[:, k], A[:, j] = A[:, j].copy(), A[:, k].copy()
        columns[k], columns[j] = columns[j], columns[k]
        if A[k, k] == 0.0:
            break
        for r in range(k + 1, m):
            factor = A[r, k] / A[k, k]
            for c in range(k, n):
                A[r, c] -= factor * A[k, c]
    return columns[rank:]
