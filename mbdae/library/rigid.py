"""Coordinates of the k-th body of a mechanism that has rigid bodies only."""

from collections.abc import Iterable

import numpy as np

from ..model import rotations
from ..typing import Matrix, Vector
from .base import Observables


def place(q: Vector, k: int) -> tuple[Vector, Matrix]:
    """Centre of mass and rotation matrix (body to global)."""
    return q[7 * k:7 * k + 3], rotations.to_matrix(q[7 * k + 3:7 * k + 7])


def rates(v: Vector, k: int) -> tuple[Vector, Vector]:
    """Velocity of the centre of mass and body-fixed angular velocity; of `a` in place of `v`, their rates."""
    return v[6 * k:6 * k + 3], v[6 * k + 3:6 * k + 6]


def components(name: str, values: Iterable[float]) -> Observables:
    """`name_x, name_y, name_z` as a dictionary of numbers."""
    return {f"{name}_{axis}": float(x) for axis, x in zip("xyz", values)}


def angle_in_plane(u: Vector, first: Vector, second: Vector) -> float:
    """Angle of the vector `u` from the global axis `first` towards `second`, in (-pi, pi]."""
    return float(np.arctan2(u[second], u[first]))
