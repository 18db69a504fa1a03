"""Points and lines that draw a mechanism, from the attachment points of its joints and forces."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ..typing import Matrix, Vector
from . import rotations
from .base import Primitive
from .bodies import Body, Particle, PlanarBody, RigidBody
from .drivers import DistanceDriver
from .forces import TSDA
from .joints import Rod
from .mechanism import Mechanism
from .primitives import CD, DP2, Coincident, D

Frame: TypeAlias = tuple[Vector, Matrix]  # centre of mass and rotation matrix
End: TypeAlias = tuple[int | None, tuple[float, ...]]  # number of a body, `None` for the ground, and a point of it

STAR = 4  # points of a body that are joined with its centre of mass each
MANY = 1000  # points, of which all distances are computed
TOGETHER = 1e-12  # distance of two points at one place, relative to the largest
RIM = 0.2  # radius of a top that is drawn as a disc on its axis, relative to the length of this
SYMMETRY = 0.02  # relative difference of moments of inertia that are equal
RIM_POINTS = 24


@dataclass(frozen=True)
class Picture:
    """Global points of a mechanism in one position, each of shape (n, 3).

    Attributes
    ----------
    centres : ndarray
        Centres of mass, one per body.
    bodies : list of ndarray
        The line of each body, through its centre of mass and all its points; of wheels and tops also their rim, with a spoke.
    joints, ground : ndarray
        Points of moving bodies and of the ground at which something is attached.
    rods, springs : list of ndarray
        Their two ends.
    up : str
        Axis that is vertical in pictures of space.
    particles : tuple of int
        Numbers of the bodies that are points of mass.
    names, joint_names, ground_names, rod_names, spring_names : tuple of str
        What the bodies, points, rods and springs are called; empty if they have no names.
    """

    centres: Any  # nested sequences become arrays
    bodies: Sequence[Any]
    joints: Any = ()
    ground: Any = ()
    rods: Sequence[Any] = ()
    springs: Sequence[Any] = ()
    up: str = "z"
    particles: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    joint_names: tuple[str, ...] = ()
    ground_names: tuple[str, ...] = ()
    rod_names: tuple[str, ...] = ()
    spring_names: tuple[str, ...] = ()

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
        table = mechanism.bodies_by_name()
        self._owners = {p.name: e.name for e in mechanism.constraints for p in e.primitives(table)}
        self._index = {name: k for k, name in enumerate(self.names)}
        self._first = np.cumsum([0] + [7 if isinstance(b, RigidBody) else 3 for b in mechanism.bodies])
        self._rods, self._springs = self._links()
        self._guided = [p for p in mechanism.primitives if p.rod_ends(0.0) is not None]
        self._rod_names = tuple(self._name(e) for e in (*self._rods, *self._guided))
        self._spring_names = tuple(f.name for f in self._springs)
        self._particles = tuple(k for k, b in enumerate(mechanism.bodies) if isinstance(b, Particle))
        g = np.abs(mechanism.gravity)
        self._up = "xyz"[int(g.argmax())] if g.any() else "z"
        components = Counter(_points(p) for p in mechanism.primitives if isinstance(p, CD))
        joined: list[Any] = [p for p in mechanism.primitives if isinstance(p, Coincident) or components[_points(p)] > 1]
        joined += [*self._rods, *self._springs, *(f for f in mechanism.forces if f.joins_points)]
        slid = [p for p in mechanism.primitives if isinstance(p, DP2)]
        named = [(end, self._name(e)) for e in joined for end in self._sides(e)]
        named += [(end, self._name(e)) for e in slid for end in self._sides(e) if end[0] is not None]
        labels: dict[End, dict[str, None]] = {}
        for end, name in named:
            labels.setdefault(end, {})[name] = None
        self._ends = list(labels)
        self._labels = [", ".join(names) for names in labels.values()]
        self._outlines = self._outlined()
        guided = [(end, self._name(e)) for e in self._guided for end in self._sides(e, 0.0)]
        points = [(k, name) for (k, _), name in (*zip(self._ends, self._labels), *guided)]
        moving = tuple(name for k, name in points if k is not None and k not in self._particles)
        self._point_names = moving, tuple(name for k, name in points if k is None)
        self._lines = [np.vstack([_line(points), *self._rim(k, ends)])
                       for k, (points, ends) in enumerate(zip(self._outlines, self._attached()))]

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

    def _attached(self) -> list[set[tuple[float, ...]]]:
        """Points of each body at which it is attached."""
        points: list[set[tuple[float, ...]]] = [set() for _ in self.names]
        for k, s in self._ends:
            if k is not None:
                points[k].add(s)
        return points

    def _name(self, element: Any) -> str:
        """The name of a force, or of the joint or driver that a primitive constraint belongs to."""
        return self._owners.get(element.name, element.name) if isinstance(element, Primitive) else element.name

    def _rim(self, k: int, attached: set[tuple[float, ...]]) -> list[Vector]:
        """From the centre of mass along the rim of a wheel, attached in its centre alone, or of a top, attached in one other point.

        It has the radius of a disc of the same inertia; a top has one if that is not small and it is symmetric about its axis.
        """
        body = self.mechanism.bodies[k]
        if not isinstance(body, RigidBody) or len(attached) != 1:
            return []
        (point,) = attached
        inertia, at = np.asarray(body.inertia).reshape(3, 3), np.array(point)
        length = float(np.linalg.norm(at))
        axis = at / length if length else _symmetry_axis(inertia)
        if not axis.any():
            return []
        b, c = rotations.triad(axis)
        radius = np.sqrt(2.0 * float(axis @ inertia @ axis) / body.mass)
        if radius < RIM * length or abs(b @ inertia @ b - c @ inertia @ c) > SYMMETRY * inertia.max():
            return []
        angles = np.linspace(0.0, 2.0 * np.pi, RIM_POINTS + 1)
        return [np.zeros(3), *(radius * (np.cos(x) * b + np.sin(x) * c) for x in angles)]

    def at(self, t: float, q: Vector) -> Picture:
        """The picture at the positions `q`; only the ends of guided rods depend on time."""
        frames = [self.frame(k, q) for k in range(len(self.names))]
        centres = np.array([r for r, _ in frames])
        lines = [r + line @ A.T for (r, A), line in zip(frames, self._lines)]
        guided = [self._sides(e, t) for e in self._guided]
        ends = [*self._ends, *(end for sides in guided for end in sides)]
        joints = [_point(frames, k, s) for k, s in ends if k is not None and k not in self._particles]
        ground = [np.array(s) for k, s in ends if k is None]
        rods, springs = ([[_point(frames, *end) for end in self._sides(e)] for e in group] for group in (self._rods, self._springs))
        rods += [[_point(frames, *end) for end in sides] for sides in guided]
        return Picture(centres, lines, joints, ground, rods, springs, self._up, self._particles, self.names, *self._point_names,
                       self._rod_names, self._spring_names)

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


def _symmetry_axis(inertia: Matrix) -> Vector:
    """The axis of the body about which its moment of inertia differs from two that are equal; zero if there is none."""
    own = np.diag(inertia)
    for axis, (a, b) in enumerate(((1, 2), (2, 0), (0, 1))):
        if abs(own[a] - own[b]) <= SYMMETRY * own.max() < abs(own[axis] - own[a]):
            return np.array([float(k == axis) for k in range(3)])
    return np.zeros(3)


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


def _line(points: list[tuple[float, ...]]) -> Matrix:
    """One line from the centre of mass, the origin, through all points.

    With up to four points, or very many, a star: from the first by way of the centre to the second, back to the centre, and so on.
    Otherwise their shortest tree, along which the line goes to and fro.
    """
    if not STAR < len(points) <= MANY:
        order = [*range(1, len(points) + 1)][:1] + [0] + [*range(2, len(points) + 1)][:1]
        order += [k for p in range(3, len(points) + 1) for k in (0, p)]
    else:
        order = _walk(_shortest_tree(np.array([(0.0, 0.0, 0.0), *points])), 0)
    return np.array([(0.0, 0.0, 0.0), *points])[order]


def _shortest_tree(points: Matrix) -> list[list[int]]:
    """The neighbours of each point in the tree of least total length."""
    from scipy.sparse.csgraph import minimum_spanning_tree
    from scipy.spatial.distance import cdist

    distance = cdist(points, points)
    tree = minimum_spanning_tree(distance + TOGETHER * distance.max(initial=1.0)).tocoo()  # zeros would mean that there is no edge
    neighbours: list[list[int]] = [[] for _ in points]
    for i, j in zip(tree.row.tolist(), tree.col.tolist()):
        neighbours[i].append(j)
        neighbours[j].append(i)
    return neighbours


def _walk(neighbours: list[list[int]], start: int) -> list[int]:
    """The points of a tree in the order of a way along all its edges, back to where it begins."""
    way, path, edges = [start], [start], [iter(neighbours[start])]
    while path:
        k = next((k for k in edges[-1] if len(path) < 2 or k != path[-2]), None)
        if k is not None:
            path.append(k)
            edges.append(iter(neighbours[k]))
        else:
            path.pop()
            edges.pop()
        way += path[-1:]
    return way
