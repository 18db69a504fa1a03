"""The choice of independent coordinates: coordinate partitioning, or the plane tangent to the constraints."""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import null_space, qr

from ..compilation.compiled import compiled
from ..system.system import System
from ..typing import Flags

PARAMETRISATIONS = ("partition", "tangent")
PIVOTS = ("angles", "unscaled")
ANGLE_SCALE = 0.1  # weight of a planar angle [m] in the choice of pivots

Vector = NDArray[np.float64]


def partition(system: System, t: float, q: Vector, pivots: str = "angles") -> Vector:
    """Coordinate partitioning: LU factorisation of the constraint Jacobian with full pivoting.

    The columns without a pivot belong to the independent coordinates [Negrut, section 3.1; Wehage].

    Parameters
    ----------
    pivots : {"angles", "unscaled"}
        `"angles"`: columns are scaled first, as they have different units, see `_column_scales`; angles of planar bodies are preferred.
        `"unscaled"`: the matrix as it is, the choice of the thesis.

    Returns
    -------
    ndarray, shape (n, nq)
        `P`, rows of the identity.
    """
    J = position_jacobian(system, t, q)
    if pivots == "angles":
        J *= _column_scales(system)
    independent = np.sort(_pivot_columns(J, system.nq - system.freedom))
    return np.eye(system.nq)[independent]


def _column_scales(system: System) -> Vector:
    """Factors of the columns: a planar angle becomes dependent only if no other coordinate can.

    An angle of a planar body describes full revolutions; Cartesian coordinates become dependent at dead points. Torsional springs and
    dampers are linear in the angle. In Cartesian coordinates the direction of a stiff one rotates with the bodies, which makes steps
    three times shorter.
    """
    if system.of_functions:
        return np.ones(system.nq)
    scales = np.ones(system.nv)
    scales[system.angles] = ANGLE_SCALE
    others_q, others_v = _but_quaternions(system)
    out = np.ones(system.nq)
    out[others_q] = scales[others_v]
    return out


def tangent(system: System, t: float, q: Vector) -> Vector:
    """An orthonormal basis of the plane tangent to the constraints at `q` [Negrut, eqs. (B.1)-(B.11)].

    Returns
    -------
    ndarray, shape (n, nq)
        `P = Q_2^T`.
    """
    Q, _, _ = qr(position_jacobian(system, t, q).T, pivoting=True)
    return np.ascontiguousarray(Q[:, system.nq - system.freedom:].T)


def position_jacobian(system: System, t: float, q: Vector) -> Vector:
    """Derivative of all constraints by the coordinates `q`, shape (nc + nq - nv, nq): `Phi_q T^+`, then the norms of quaternions."""
    G = system.phi_q(t, q).toarray()
    if not system.of_functions:
        return _with_norms(system, q, G)
    T = kinematic_map(system, t, q)
    if system.nq == system.nv:
        return np.linalg.solve(T.T, G.T).T
    return np.vstack([G @ np.linalg.pinv(T), null_space(T.T).T])


def kinematic_map(system: System, t: float, q: Vector) -> Vector:
    """`T(q)`, dense."""
    return np.array([system.qdot(q, e, t) for e in np.eye(system.nv)]).T


def _with_norms(system: System, q: Vector, G: Vector) -> Vector:
    """`Phi_q T^+` and the gradients of quaternion norms: `p' = E omega / 2` with `E^T E = I` for unit `p`, so `omega = 2 E^T p'`."""
    quaternions = system.quaternions
    J = np.zeros((system.nc + len(quaternions), system.nq))
    others_q, others_v = _but_quaternions(system)
    J[:system.nc, others_q] = G[:, others_v]
    for k, (at, to) in enumerate(quaternions.tolist()):
        e0, e1, e2, e3 = p = q[at:at + 4]
        E = np.array([[-e1, -e2, -e3], [e0, -e3, e2], [e3, e0, -e1], [-e2, e1, e0]])
        J[:system.nc, at:at + 4] = 2.0 * G[:, to:to + 3] @ E.T
        J[system.nc + k, at:at + 4] = p
    return J


def _but_quaternions(system: System) -> tuple[Flags, Flags]:
    """The coordinates that are no part of a quaternion, in `q` and in `v`: masks."""
    of_q, of_v = np.ones(system.nq, dtype=bool), np.ones(system.nv, dtype=bool)
    for at, to in system.quaternions.tolist():
        of_q[at:at + 4] = of_v[to:to + 3] = False
    return of_q, of_v


@compiled
def _pivot_columns(J: Vector, rank: int) -> NDArray[np.int64]:
    """Columns without a pivot after `rank` steps of Gaussian elimination with full pivoting."""
    A = J.copy()
    m, n = A.shape
    columns = np.arange(n)
    for k in range(rank):
        # the largest entry left
        i, j = k, k
        for r in range(k, m):
            for c in range(k, n):
                if abs(A[r, c]) > abs(A[i, j]):
                    i, j = r, c
        # exchange of rows and columns
        for c in range(n):
            A[k, c], A[i, c] = A[i, c], A[k, c]
        for r in range(m):
            A[r, k], A[r, j] = A[r, j], A[r, k]
        columns[k], columns[j] = columns[j], columns[k]
        if A[k, k] == 0.0:
            break
        # elimination
        for r in range(k + 1, m):
            factor = A[r, k] / A[k, k]
            for c in range(k, n):
                A[r, c] -= factor * A[k, c]
    return columns[rank:]
