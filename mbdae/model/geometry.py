"""Points and lines that draw a mechanism, from the attachment points of its joints and forces."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ..typing import Matrix, Vector
from . import rotations
from .bodies import Body, Particle, PlanarBody, RigidBody
from .drivers import DistanceDriver
from .forces import TSDA
from .joints import Rod
from .mechanism import Mechanism
from .primitives import CD, DP2, Coincident, D

Frame: TypeAlias = tuple[Vector, Matrix]  # centre of mass and rotation matrix
End: TypeAlias = tuple[int | None, tuple[float, ...]]  # number of a body, `None` for the ground, and a point of it


@dataclass(frozen=True)
class Picture:
    """Global points of a mechanism in one position, each of shape (n, 3).

    Attributes
    ----------
    centres : ndarray
        Centres of mass, one per body.
    bodies : list of ndarray
        The line of each body, through its centre of mass and all its points.
    joints, ground : ndarray
        Points of moving bodies and of the ground at which something is attached.
    rods, springs : list of ndarray
        Their two ends.
    up : str
        Axis that is vertical in pictures of space.
    particles : tuple of int
        Numbers of the bodies that are points of mass.
    """

    centres: Any  # nested sequences become arrays
    bodies: Sequence[Any]
    joints: Any = ()
    ground: Any = ()
    rods: Sequence[Any] = ()
    springs: Sequence[Any] = ()
    up: str = "z"
    particles: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name in ("centres", "joints", "ground"):
            object.__setattr__(self, name, np.array(getattr(self, name), dtype=float).reshape(-1, 3))
        for name in ("bodies", "rods", "springs"):
            object.__setattr__(self, name, [np.array(line, dtype=float).reshape(-1, 3) for line in getattr(self, name)])

    @property
    def points(self) -> Matrix:
        """All points there are."""
        return np.concatenate([self.centres, *self.bodies, self.joints, self.ground, *self.rods, *self.springs])


class Sketch:
    """Pictures of a system of a user's own functions.

    Parameters
    ----------
    picture : callable
        `picture(t, q) -> Picture`.
    """

    def __init__(self, picture: Callable[[float, Vector], Picture]) -> None:
        self.at = picture


class Geometry:
    """Points and lines of a mechanism, derived from its primitive constraints, rods and springs.

    Parameters
    ----------
    mechanism : Mechanism
    """

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self.names = tuple(b.name for b in mechanism.bodies)
        self._index = {name: k for k, name in enumerate(self.names)}
        self._first = np.cumsum([0] + [7 if isinstance(b, RigidBody) else 3 for b in mechanism.bodies])
        self._rods, self._springs = self._links()
        self._guided = [p for p in mechanism.primitives if p.rod_ends(0.0) is not None]
        self._particles = tuple(k for k, b in enumerate(mechanism.bodies) if isinstance(b, Particle))
        g = np.abs(mechanism.gravity)
        self._up = "xyz"[int(g.argmax())] if g.any() else "z"
        components = Counter(_points(p) for p in mechanism.primitives if isinstance(p, CD))
        joined: list[Any] = [p for p in mechanism.primitives if isinstance(p, Coincident) or components[_points(p)] > 1]
        joined += [*self._rods, *self._springs, *(f for f in mechanism.forces if f.joins_points)]
        slid = [p for p in mechanism.primitives if isinstance(p, DP2)]
        ends = [end for e in joined for end in self._sides(e)]
        ends += [end for e in slid for end in self._sides(e) if end[0] is not None]
        self._ends = list(dict.fromkeys(ends))
        self._outlines = self._outlined()

    def _links(self) -> tuple[list[D], list[TSDA]]:
        """Elements drawn as rods and as springs."""
        m = self.mechanism
        lengths = {e.name for e in (*m.joints, *m.drivers) if isinstance(e, (Rod, DistanceDriver))}
        joined = {frozenset((p.i, p.j)) for p in m.primitives if isinstance(p, (Coincident, DP2))}
        # a distance between bodies that are joined in points as well is a part of that joint, not a rod
        rods = [p for p in m.primitives if isinstance(p, D) and (p.name in lengths or frozenset((p.i, p.j)) not in joined)]
        return rods, [f for f in m.forces if isinstance(f, TSDA)]

    def _outlined(self) -> list[list[tuple[float, ...]]]:
        """Points of each body to which lines are drawn; a body with a single point is extended to its mirror image."""
        points: list[list[tuple[float, ...]]] = [[] for _ in self.names]
        for k, s in (*self._ends, *(end for e in self._guided for end in self._sides(e, 0.0))):
            if k is not None:
                points[k].append(s)
        for of_body in points:
            of_body += [tuple(-x for x in of_body[0])] if len(of_body) == 1 else []
        return [[s for s in of_body if any(s)] for of_body in points]

    def at(self, t: float, q: Vector) -> Picture:
        """The picture at the positions `q`; only the ends of guided rods depend on time."""
        frames = [self.frame(k, q) for k in range(len(self.names))]
        centres = np.array([r for r, _ in frames])
        lines = [_star(r, [r + A @ np.array(s) for s in points]) for (r, A), points in zip(frames, self._outlines)]
        guided = [self._sides(e, t) for e in self._guided]
        ends = [*self._ends, *(end for sides in guided for end in sides)]
        joints = [_point(frames, k, s) for k, s in ends if k is not None and k not in self._particles]
        ground = [np.array(s) for k, s in ends if k is None]
        rods, springs = ([[_point(frames, *end) for end in self._sides(e)] for e in group] for group in (self._rods, self._springs))
        rods += [[_point(frames, *end) for end in sides] for sides in guided]
        return Picture(centres, lines, joints, ground, rods, springs, self._up, self._particles)

    def _sides(self, element: Any, t: float | None = None) -> list[End]:
        """The ends of an element; those of a guided rod at a time."""
        points = (element.s_i, element.s_j) if t is None else element.rod_ends(t)
        return [(self._index.get(name), s) for name, s in zip((element.i, element.j), points)]

    def frame(self, k: int, q: Vector) -> Frame:
        """Centre of mass and rotation matrix of a body."""
        return frame_of(self.mechanism.bodies[k], q[self._first[k]:self._first[k + 1]])


def frame_of(body: Body, x: Vector) -> Frame:
    """Centre of mass and rotation matrix of a body with the coordinates `x`."""
    if isinstance(body, RigidBody):
        return x[:3], rotations.to_matrix(x[3:])
    if isinstance(body, PlanarBody):
        c, s = np.cos(x[2]), np.sin(x[2])
        return np.array([x[0], x[1], 0.0]), np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    return x, np.eye(3)


def _points(p: Any) -> tuple[Any, ...] | None:
    """The points that a component of a distance is measured between; `None` of other primitives.

    One component of a distance fixes no point; two components of the same distance do, as in a planar revolute joint. A sliding point
    (`DP2`) is attached to the body that it is fixed in, but not to the ground.
    """
    return (p.i, p.j, p.s_i, p.s_j) if isinstance(p, CD) else None


def _point(frames: list[Frame], k: int | None, s: tuple[float, ...]) -> Vector:
    if k is None:
        return np.array(s)
    r, A = frames[k]
    at: Vector = r + A @ np.array(s)
    return at


def _star(centre: Vector, points: list[Vector]) -> Matrix:
    """One line through the centre and all points: from the first by way of the centre to the second, back to the centre, and so on."""
    line = [*points[:1], centre, *points[1:2]]
    for p in points[2:]:
        line += [centre, p]
    return np.array(line)
