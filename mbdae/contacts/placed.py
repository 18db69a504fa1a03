"""Points and directions of bodies, with their derivatives along the velocity coordinates of Cartesian systems."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..model import rotations
from ..model.bodies import GROUND, Particle, PlanarBody
from ..typing import Matrix, Vector

if TYPE_CHECKING:
    from ..system.system import System


class Moving(NamedTuple):
    """A vector `x`, shape (3,), and the matrix `D` of its rate `D v`, shape (3, nv)."""

    x: Vector
    D: Matrix


class Placed:
    """The bodies of a mechanism at given positions.

    Parameters
    ----------
    system : System
        In Cartesian coordinates.
    q : ndarray, shape (nq,)
    """

    def __init__(self, system: System, q: Vector) -> None:
        self.system, self.q = system, q
        assert system.mechanism is not None
        self._bodies = system.mechanism.bodies_by_name()

    def point(self, body: str, s: tuple[float, ...]) -> Moving:
        """The point `s` of a body: `r + A s`, with the rate `rdot + A (omega x s)`."""
        turned = self.direction(body, s)
        if body == GROUND:
            return turned
        at = self.system.coordinates(body)
        n = 2 if isinstance(self._bodies[body], PlanarBody) else 3
        r = np.zeros(3)
        r[:n] = self.q[at.q][:n]
        turned.D[range(n), range(at.v.start, at.v.start + n)] += 1.0
        return Moving(r + turned.x, turned.D)

    def direction(self, body: str, n: tuple[float, ...]) -> Moving:
        """The direction `n` of a body: `A n`, with the rate `A (omega x n)`."""
        x, D, of = np.asarray(n, dtype=float), np.zeros((3, self.system.nv)), self._bodies[body]
        if of is None or isinstance(of, Particle):
            return Moving(x, D)
        at = self.system.coordinates(body)
        if isinstance(of, PlanarBody):
            c, s = np.cos(self.q[at.q][2]), np.sin(self.q[at.q][2])
            x = np.array([c * x[0] - s * x[1], s * x[0] + c * x[1], x[2]])
            D[:, at.v.start + 2] = -x[1], x[0], 0.0
            return Moving(x, D)
        A = rotations.to_matrix(self.q[at.q][3:])
        D[:, at.v.start + 3:at.v.start + 6] = -A @ _cross_matrix(x)
        return Moving(A @ x, D)

    def spin(self, body: str) -> Matrix:
        """The matrix of the angular velocity in global components, shape (3, nv)."""
        D, of = np.zeros((3, self.system.nv)), self._bodies[body]
        if of is None or isinstance(of, Particle):
            return D
        at = self.system.coordinates(body)
        if isinstance(of, PlanarBody):
            D[2, at.v.start + 2] = 1.0
        else:
            D[:, at.v.start + 3:at.v.start + 6] = rotations.to_matrix(self.q[at.q][3:])
        return D

    def angle(self, body: str) -> float:
        """The angle of a planar body; zero for the ground."""
        return 0.0 if body == GROUND else float(self.q[self.system.coordinates(body).q][2])


def _cross_matrix(s: Vector) -> Matrix:
    return np.array([[0.0, -s[2], s[1]], [s[2], 0.0, -s[0]], [-s[1], s[0], 0.0]])
