"""Quaternions and rotation matrices in plain NumPy: input conversion and the set-up of joints.

A unit quaternion is `(e0, e1, e2, e3)`, scalar first; `A` maps body-fixed components to global ones.
"""

import numpy as np

from ..typing import ArrayLike, Matrix, Vector
from . import checks

ROTATION_TOLERANCE = 1e-5  # published orientations are often printed with six or seven digits


def to_matrix(p: ArrayLike) -> Matrix:
    """Rotation matrix of the quaternion `p`, evaluated from `p/|p|`.

    Parameters
    ----------
    p : array_like, shape (4,)

    Returns
    -------
    ndarray, shape (3, 3)
    """
    e0, e1, e2, e3 = np.asarray(p, dtype=float) / np.linalg.norm(p)
    return np.array([
        [1 - 2 * (e2 * e2 + e3 * e3), 2 * (e1 * e2 - e0 * e3), 2 * (e1 * e3 + e0 * e2)],
        [2 * (e1 * e2 + e0 * e3), 1 - 2 * (e1 * e1 + e3 * e3), 2 * (e2 * e3 - e0 * e1)],
        [2 * (e1 * e3 - e0 * e2), 2 * (e2 * e3 + e0 * e1), 1 - 2 * (e1 * e1 + e2 * e2)],
    ])


def from_matrix(A: ArrayLike) -> Vector:
    """Unit quaternion of the rotation nearest to `A`, with non-negative scalar part.

    Parameters
    ----------
    A : array_like, shape (3, 3)

    Returns
    -------
    ndarray, shape (4,)
    """
    U, _, Vt = np.linalg.svd(np.asarray(A, dtype=float))
    (a, b, c), (d, e, f), (g, h, i) = U @ Vt
    # eigenvector of the symmetric matrix of Bar-Itzhack: no case distinctions, no cancellation
    K = np.array([
        [a + e + i, h - f, c - g, d - b],
        [h - f, a - e - i, b + d, c + g],
        [c - g, b + d, e - a - i, f + h],
        [d - b, c + g, f + h, i - a - e],
    ])
    p = np.linalg.eigh(K)[1][:, -1]
    return p if p[0] >= 0 else -p


def orientation(value: object, owner: str) -> tuple[float, ...]:
    """Quaternion as four floats from a quaternion or a rotation matrix of the user."""
    x = checks.array(value, owner, "orientation")
    if x.shape == (4,):
        return _checked_quaternion(x, owner)
    if x.shape == (3, 3):
        return _checked_matrix(x, owner)
    raise ValueError(f"{owner}: orientation must be a unit quaternion (4) or a rotation matrix (3x3), got shape {x.shape}")


def _checked_quaternion(p: Vector, owner: str) -> tuple[float, ...]:
    norm = float(np.linalg.norm(p))
    if abs(norm - 1.0) > ROTATION_TOLERANCE:
        raise ValueError(f"{owner}: the orientation quaternion must have length 1, it has {norm:.9g}")
    return tuple(float(e) for e in (p if abs(norm - 1.0) <= checks.ROUNDING else p / norm))


def _checked_matrix(A: Matrix, owner: str) -> tuple[float, ...]:
    defect = float(np.abs(A.T @ A - np.eye(3)).max())
    if defect > ROTATION_TOLERANCE or np.linalg.det(A) < 0:
        raise ValueError(
            f"{owner}: the orientation matrix must be a rotation, but A^T A - I is {defect:.3g} "
            f"and det A is {np.linalg.det(A):.6g}"
        )
    return tuple(float(e) for e in from_matrix(A))


def perpendicular(a: ArrayLike) -> Vector:
    """A unit vector perpendicular to `a`: the coordinate axis least aligned with `a`, made orthogonal."""
    a = np.asarray(a, dtype=float)
    e = np.zeros(3)
    e[np.argmin(np.abs(a))] = 1.0
    u: Vector = e - (e @ a) * a / (a @ a)
    return u / np.linalg.norm(u)


def triad(a: ArrayLike) -> tuple[Vector, Vector]:
    """Two unit vectors `b, c` such that `b, c, a` is right-handed and orthonormal."""
    b = perpendicular(a)
    return b, np.cross(np.asarray(a, dtype=float) / np.linalg.norm(a), b)
