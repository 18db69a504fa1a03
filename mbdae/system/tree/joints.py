"""Joints of the model as steps from the body before to the body behind: along axes, about axes, about a point.

The coordinates of a joint are zero where the axes of both bodies, completed by `model.rotations.triad`, coincide. Signs of axes that a
joint leaves open follow the initial orientations, as assembly does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...model import joints as jo
from ...model import rotations
from ...model.base import Bodies, PlanarJoint
from ...model.bodies import Body, Particle, PlanarBody, RigidBody
from ...typing import Matrix, Vector
from .layout import BALL, SLIDE, TURN

OPPOSITE = -1.0 + 1e-6  # cosine of an angle below which axes count as antiparallel
_X, _Y, _Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Prescribed:
    """The length or angle `sign f(t) + offset` of a step, with the motion `f` of a driver."""

    driver: Any
    sign: float
    offset: float


@dataclass(frozen=True)
class Step:
    """One step of a joint; the axis in the frame in which it begins."""

    kind: int
    axis: tuple[float, ...] = (0.0, 0.0, 0.0)
    prescribed: Prescribed | None = None

    @property
    def positions(self) -> int:
        """The number of its position coordinates."""
        return 0 if self.prescribed else 4 if self.kind == BALL else 1

    @property
    def rates(self) -> int:
        """The number of its velocities."""
        return 0 if self.prescribed else 3 if self.kind == BALL else 1


@dataclass(frozen=True, eq=False)
class Steps:
    """The way from the point `s_i` of one body to the point `s_j` of the other, whose frame is turned by `C` at the end."""

    steps: tuple[Step, ...]
    s_i: tuple[float, ...]
    s_j: tuple[float, ...]
    C: Matrix
    angle: float = 0.0  # of `C`, for planar bodies

    @property
    def positions(self) -> int:
        """The number of position coordinates."""
        return sum(step.positions for step in self.steps)

    @property
    def rates(self) -> int:
        """The number of velocities."""
        return sum(step.rates for step in self.steps)


class _Ends:
    """A joint as it is seen from one of its bodies: `i` comes first in the tree, `j` follows."""

    def __init__(self, joint: Any, first: str, bodies: Bodies) -> None:
        self.joint, self.bodies, self.forward = joint, bodies, joint.i == first
        self.i, self.j = (joint.i, joint.j) if self.forward else (joint.j, joint.i)
        self.s_i, self.s_j = self.of("s")
        self.aligned: list[tuple[Any, Any]] = []  # axes of both bodies whose signs have been taken from the guess

    def of(self, field: str) -> tuple[Any, Any]:
        """A field of both ends, as `a_i` and `a_j`."""
        both = getattr(self.joint, f"{field}_i"), getattr(self.joint, f"{field}_j")
        return both if self.forward else both[::-1]

    def parallel(self, a_i: Any, a_j: Any) -> Vector:
        """`a_j`, or its opposite if that is nearer to `a_i` at the start."""
        u, w = jo._frame(self.bodies[self.i]) @ np.asarray(a_i), jo._frame(self.bodies[self.j]) @ np.asarray(a_j)
        nearer = np.asarray(a_j) if u @ w >= 0.0 else -np.asarray(a_j)
        self.aligned.append((np.asarray(a_i), nearer))
        return nearer

    def steps(self, C: Matrix, *steps: Step, angle: float = 0.0) -> Steps:
        """The steps between the points of the joint."""
        return Steps(steps, _in_space(self.s_i), _in_space(self.s_j), C, angle)


def steps_of(joint: Any, first: str, bodies: Bodies) -> Steps | None:
    """The steps of a joint from the body `first` to the other one; `None` where these are no coordinates.

    Particles have no frame. Of the planar bodies only those that come first can carry a spatial joint: behind it a body would leave its
    plane. Joints of a user's own are constraints, like rods and drivers.
    """
    make = _KINDS.get(type(joint))
    if make is None:
        return None
    ends = _Ends(joint, first, bodies)
    before, behind = bodies[ends.i], bodies[ends.j]
    expected = PlanarBody if isinstance(joint, PlanarJoint) else RigidBody
    if not isinstance(behind, expected) or isinstance(before, Particle):
        return None
    return make(ends)


def reversed_axes(joint: Any, first: str, bodies: Bodies, turned: Mapping[str, Matrix]) -> bool:
    """Whether an axis of a joint of the tree points the other way than in the guess of the bodies; `turned` are their rotation matrices."""
    ends = _Ends(joint, first, bodies)
    _KINDS[type(joint)](ends)
    return any((turned[ends.i] @ u) @ (turned[ends.j] @ w) < OPPOSITE for u, w in ends.aligned)


def free(body: Body) -> Steps:
    """The steps of a body without a joint, from the origin: its Cartesian coordinates."""
    steps = [Step(SLIDE, _X), Step(SLIDE, _Y)]
    if isinstance(body, PlanarBody):
        steps.append(Step(TURN, _Z))
    else:
        steps.append(Step(SLIDE, _Z))
    if isinstance(body, RigidBody):
        steps.append(Step(BALL))
    return Steps(tuple(steps), (0.0,) * 3, (0.0,) * 3, np.eye(3))


def _spherical(e: _Ends) -> Steps:
    return e.steps(np.eye(3), Step(BALL))


def _revolute(e: _Ends) -> Steps:
    a_i, a_j = e.of("a")
    return e.steps(_frame(a_i) @ _frame(e.parallel(a_i, a_j)).T, Step(TURN, tuple(a_i)))


def _cylindrical(e: _Ends) -> Steps:
    a_i, a_j = e.of("a")
    return e.steps(_frame(a_i) @ _frame(e.parallel(a_i, a_j)).T, Step(SLIDE, tuple(a_i)), Step(TURN, tuple(a_i)))


def _universal(e: _Ends) -> Steps:
    a_i, a_j = e.of("a")
    return e.steps(_crossed(a_i, a_j), Step(TURN, tuple(a_i)), Step(TURN, tuple(_frame(a_i)[:, 1])))


def _revolute_cylindrical(e: _Ends) -> Steps:
    a_i, a_j = e.of("a")
    turn, other = Step(TURN, tuple(a_i)), tuple(_frame(a_i)[:, 1])
    if e.forward:
        return e.steps(_crossed(a_i, a_j), Step(SLIDE, tuple(a_i)), turn, Step(TURN, other))
    return e.steps(_crossed(a_i, a_j), turn, Step(TURN, other), Step(SLIDE, other))


def _translational(e: _Ends) -> Steps:
    lock = e.joint.primitives(e.bodies)[-1]  # its directions stay perpendicular
    a_i, a_j = e.of("a")
    b_i, b_j = (lock.a_i, lock.a_j) if e.forward else (lock.a_j, lock.a_i)
    c = np.cross(a_i, b_i)
    a, b = e.parallel(a_i, a_j), e.parallel(c, b_j)
    return e.steps(np.column_stack([a_i, c, np.cross(a_i, c)]) @ np.column_stack([a, b, np.cross(a, b)]).T, Step(SLIDE, tuple(a_i)))


def _fixed(e: _Ends) -> Steps:
    return e.steps(jo._frame(e.bodies[e.i]).T @ jo._frame(e.bodies[e.j]))


def _free(e: _Ends) -> Steps:
    slides = [Step(SLIDE, axis) for axis in (_X, _Y, _Z)]
    return e.steps(np.eye(3), *((*slides, Step(BALL)) if e.forward else (Step(BALL), *slides)))


def _planar_revolute(e: _Ends) -> Steps:
    return e.steps(np.eye(3), Step(TURN, _Z))


def _planar_translational(e: _Ends) -> Steps:
    angle = jo._angle(e.bodies[e.j]) - jo._angle(e.bodies[e.i])
    a = np.array([*e.joint.a_i, 0.0])
    return e.steps(_about_z(angle), Step(SLIDE, tuple(a if e.forward else _about_z(angle) @ a)), angle=angle)


_KINDS: dict[type, Callable[[_Ends], Steps]] = {
    jo.Spherical: _spherical, jo.Revolute: _revolute, jo.Cylindrical: _cylindrical, jo.Universal: _universal,
    jo.RevoluteCylindrical: _revolute_cylindrical, jo.Translational: _translational, jo.Fixed: _fixed, jo.Free: _free,
    jo.PlanarRevolute: _planar_revolute, jo.PlanarTranslational: _planar_translational}


def _frame(a: Any) -> Matrix:
    """An axis and the two of its triad, as columns."""
    return np.column_stack([a, *rotations.triad(a)])


def _crossed(a_i: Any, a_j: Any) -> Matrix:
    """The rotation that brings `a_j` onto the second axis of the triad of `a_i`."""
    u, w = _frame(a_i), _frame(a_j)
    return u @ w[:, [2, 0, 1]].T


def _about_z(angle: float) -> Matrix:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def _in_space(s: tuple[float, ...]) -> tuple[float, ...]:
    return (*s, 0.0) if len(s) == 2 else tuple(s)
