"""Joints of spatial mechanics as lists of primitives.

Points `s_i, s_j` and unit axes `a_i, a_j` are fixed in the bodies `i, j`; the ground is the body `"ground"`.
"""

from dataclasses import dataclass

import numpy as np

from ..typing import Matrix, Vector
from . import checks, rotations
from .base import Bodies, Joint, PlanarJoint, Primitive
from .bodies import Body, Particle, PlanarBody, RigidBody
from .motions import Constant
from .primitives import DP1, DP2, Coincident, D, PlanarAngle, PlanarCoincident


@dataclass(frozen=True)
class Spherical(Joint):
    """Two points coincide: three rows.

    Parameters
    ----------
    name : str
        Unique within the mechanism; for messages and results.
    i, j : str
        Names of the bodies; one of them may be `"ground"`.
    s_i, s_j : sequence of 3 floats, optional
        Points of the bodies, from their centres of mass [m]; by default these.

    Examples
    --------
    >>> import mbdae
    >>> joint = mbdae.Spherical("ball", "ground", "rod", s_j=(-0.5, 0, 0))
    >>> rod = mbdae.RigidBody("rod", 1.0, (0.1, 0.1, 0.1), position=(0.5, 0, 0))
    >>> mbdae.Mechanism("example", [rod], [joint]).dof
    3
    """

    def primitives(self, bodies: Bodies) -> tuple[Primitive, ...]:
        return (_coincident(self),)


@dataclass(frozen=True)
class _AxisJoint(Joint):
    a_i: tuple[float, ...] = (0.0, 0.0, 1.0)
    a_j: tuple[float, ...] = (0.0, 0.0, 1.0)

    def check(self, owner: str) -> None:
        super().check(owner)
        for field in ("a_i", "a_j"):
            self.set(field, checks.unit(getattr(self, field), owner, field))


@dataclass(frozen=True)
class Revolute(_AxisJoint):
    """Two points coincide and two axes stay parallel: five rows.

    Parameters
    ----------
    name : str
        Unique within the mechanism; for messages and results.
    i, j : str
        Names of the bodies; one of them may be `"ground"`.
    s_i, s_j : sequence of 3 floats, optional
        Points of the bodies, from their centres of mass [m]; by default these.
    a_i, a_j : sequence of 3 floats, optional
        Unit axes, fixed in the bodies; by default z.

    Examples
    --------
    >>> import mbdae
    >>> joint = mbdae.Revolute("pin", "ground", "rod", s_j=(-0.5, 0, 0), a_i=(0, 1, 0), a_j=(0, 1, 0))
    >>> rod = mbdae.RigidBody("rod", 1.0, (0.1, 0.1, 0.1), position=(0.5, 0, 0))
    >>> mbdae.Mechanism("example", [rod], [joint]).dof
    1
    """

    def primitives(self, bodies: Bodies) -> tuple[Primitive, ...]:
        return (_coincident(self), *_parallel(self, self.a_i, self.a_j))


@dataclass(frozen=True)
class Universal(_AxisJoint):
    """Two points coincide and two axes stay perpendicular: four rows.

    Parameters
    ----------
    name : str
        Unique within the mechanism; for messages and results.
    i, j : str
        Names of the bodies; one of them may be `"ground"`.
    s_i, s_j : sequence of 3 floats, optional
        Points of the bodies, from their centres of mass [m]; by default these.
    a_i, a_j : sequence of 3 floats, optional
        Unit axes, fixed in the bodies; both z by default, which must be replaced: they are perpendicular.

    Examples
    --------
    >>> import mbdae
    >>> joint = mbdae.Universal("cross", "ground", "rod", a_i=(0, 1, 0), a_j=(0, 0, 1))
    >>> rod = mbdae.RigidBody("rod", 1.0, (0.1, 0.1, 0.1), position=(0.5, 0, 0))
    >>> mbdae.Mechanism("example", [rod], [joint]).dof
    2
    """

    def primitives(self, bodies: Bodies) -> tuple[Primitive, ...]:
        return _coincident(self), DP1(f"{self.name}.cross", self.i, self.j, self.a_i, self.a_j)


@dataclass(frozen=True)
class Cylindrical(_AxisJoint):
    """Body j turns about and slides along the axis `a_i` through `s_i`: four rows.

    Parameters
    ----------
    name : str
        Unique within the mechanism; for messages and results.
    i, j : str
        Names of the bodies; one of them may be `"ground"`.
    s_i, s_j : sequence of 3 floats, optional
        Points of the bodies, from their centres of mass [m]; by default these.
    a_i, a_j : sequence of 3 floats, optional
        Unit axes, fixed in the bodies; by default z.

    Examples
    --------
    >>> import mbdae
    >>> joint = mbdae.Cylindrical("sleeve", "ground", "rod", a_i=(1, 0, 0), a_j=(1, 0, 0))
    >>> rod = mbdae.RigidBody("rod", 1.0, (0.1, 0.1, 0.1), position=(0.5, 0, 0))
    >>> mbdae.Mechanism("example", [rod], [joint]).dof
    2
    """

    def primitives(self, bodies: Bodies) -> tuple[Primitive, ...]:
        b, c = rotations.triad(self.a_i)
        return (*_parallel(self, self.a_i, self.a_j), *_on_axis(self, b, c))


@dataclass(frozen=True)
class RevoluteCylindrical(_AxisJoint):
    """The point `s_j` stays on the axis `a_i` through `s_i`, and the axis `a_j` stays perpendicular to `a_i`: three rows.

    A revolute joint about `a_j` and a cylindrical joint along `a_i` with a massless body between them.

    Parameters
    ----------
    name : str
        Unique within the mechanism; for messages and results.
    i, j : str
        Names of the bodies; one of them may be `"ground"`.
    s_i, s_j : sequence of 3 floats, optional
        Points of the bodies, from their centres of mass [m]; by default these.
    a_i, a_j : sequence of 3 floats, optional
        Unit axes, fixed in the bodies; the line, and the axis of the revolute joint, which is perpendicular to it.

    Examples
    --------
    >>> import mbdae
    >>> joint = mbdae.RevoluteCylindrical("guide", "ground", "rod", a_i=(1, 0, 0), a_j=(0, 0, 1))
    >>> rod = mbdae.RigidBody("rod", 1.0, (0.1, 0.1, 0.1), position=(0.5, 0, 0))
    >>> mbdae.Mechanism("example", [rod], [joint]).dof
    3
    """

    def primitives(self, bodies: Bodies) -> tuple[Primitive, ...]:
        b, c = rotations.triad(self.a_i)
        return (DP1(f"{self.name}.cross", self.i, self.j, self.a_i, self.a_j), *_on_axis(self, b, c))


@dataclass(frozen=True)
class Translational(_AxisJoint):
    """Body j slides along the axis `a_i` through `s_i` without turning: five rows.

    Parameters
    ----------
    name : str
        Unique within the mechanism; for messages and results.
    i, j : str
        Names of the bodies; one of them may be `"ground"`.
    s_i, s_j : sequence of 3 floats, optional
        Points of the bodies, from their centres of mass [m]; by default these.
    a_i, a_j : sequence of 3 floats, optional
        Unit axes, fixed in the bodies; by default z.
    b_i, b_j : sequence of 3 floats, optional
        Unit vectors perpendicular to `a_i` and `a_j` that stay perpendicular to each other. By default `b_i` is any
        perpendicular vector and `b_j` follows from the initial orientations of the bodies.

    Examples
    --------
    >>> import mbdae
    >>> joint = mbdae.Translational("rail", "ground", "rod", a_i=(1, 0, 0), a_j=(1, 0, 0))
    >>> rod = mbdae.RigidBody("rod", 1.0, (0.1, 0.1, 0.1), position=(0.5, 0, 0))
    >>> mbdae.Mechanism("example", [rod], [joint]).dof
    1
    """

    b_i: tuple[float, ...] | None = None
    b_j: tuple[float, ...] | None = None

    def check(self, owner: str) -> None:
        super().check(owner)
        for field, axis in (("b_i", self.a_i), ("b_j", self.a_j)):
            value = getattr(self, field)
            if value is None:
                continue
            self.set(field, checks.unit(value, owner, field))
            if abs(np.dot(getattr(self, field), axis)) > 1e-6:
                raise ValueError(f"{owner}: {field} must be perpendicular to a{field[1:]}")

    def primitives(self, bodies: Bodies) -> tuple[Primitive, ...]:
        b = np.asarray(self.b_i) if self.b_i is not None else rotations.perpendicular(self.a_i)
        c = np.cross(self.a_i, b)
        b_j = self.b_j if self.b_j is not None else self._counterpart(bodies, c)
        parallel = (DP1(f"{self.name}.b", self.i, self.j, tuple(b), self.a_j),
                    DP1(f"{self.name}.c", self.i, self.j, tuple(c), self.a_j))
        return (*parallel, *_on_axis(self, b, c), DP1(f"{self.name}.turn", self.i, self.j, tuple(b), b_j))

    def _counterpart(self, bodies: Bodies, c: Vector) -> tuple[float, ...]:
        """The direction of body j that lies along `c` of body i in the initial position, made perpendicular to `a_j`."""
        a = np.asarray(self.a_j)
        c = _frame(bodies[self.j]).T @ _frame(bodies[self.i]) @ c
        c = c - (c @ a) * a
        if np.linalg.norm(c) < 1e-3:
            raise ValueError(f"{self.owner}: the axes a_i and a_j are perpendicular in the initial position; "
                             "turn the bodies so that they are parallel, or give b_i and b_j")
        return tuple(c / np.linalg.norm(c))


@dataclass(frozen=True)
class Fixed(Joint):
    """Two bodies move as one: six rows. The relative orientation is that of the initial position.

    Parameters
    ----------
    name : str
        Unique within the mechanism; for messages and results.
    i, j : str
        Names of the bodies; one of them may be `"ground"`.
    s_i, s_j : sequence of 3 floats, optional
        Points of the bodies, from their centres of mass [m]; by default these.

    Examples
    --------
    >>> import mbdae
    >>> joint = mbdae.Fixed("weld", "ground", "rod")
    >>> rod = mbdae.RigidBody("rod", 1.0, (0.1, 0.1, 0.1), position=(0.5, 0, 0))
    >>> mbdae.Mechanism("example", [rod], [joint]).dof
    0
    """

    def primitives(self, bodies: Bodies) -> tuple[Primitive, ...]:
        R = _frame(bodies[self.j]).T @ _frame(bodies[self.i])  # axes of body i in components of body j
        e = np.eye(3)
        pairs = (("xy", 0, 1), ("yz", 1, 2), ("zx", 2, 0))
        locks = tuple(DP1(f"{self.name}.{n}", self.i, self.j, tuple(e[a]), tuple(R[:, b])) for n, a, b in pairs)
        return (_coincident(self), *locks)


@dataclass(frozen=True)
class Free(Joint):
    """No equation: body j moves freely. In joint coordinates its six coordinates are those of `s_j` and of its turn, seen from body i.

    For bodies on springs or bushings: what moves little against body i has small coordinates, and forces between both do not depend on
    where body i is. Otherwise a body without a joint has Cartesian coordinates.

    Parameters
    ----------
    name : str
        Unique within the mechanism; for messages and results.
    i, j : str
        Names of the bodies; one of them may be `"ground"`.
    s_i, s_j : sequence of 3 floats, optional
        Points of the bodies, from their centres of mass [m]; where the coordinates of body j are measured.

    Examples
    --------
    >>> import mbdae
    >>> joint = mbdae.Free("mount", "ground", "rod")
    >>> rod = mbdae.RigidBody("rod", 1.0, (0.1, 0.1, 0.1), position=(0.5, 0, 0))
    >>> mbdae.Mechanism("example", [rod], [joint]).dof
    6
    """

    def primitives(self, bodies: Bodies) -> tuple[Primitive, ...]:
        return ()

    def check_bodies(self, bodies: Bodies) -> None:
        """Acts between rigid bodies, or one and the ground."""
        super().check_bodies(bodies)
        for name in (self.i, self.j):
            if isinstance(bodies[name], (Particle, PlanarBody)):
                raise ValueError(f"{self.owner}: {name!r} is no rigid body")


@dataclass(frozen=True)
class Rod(Joint):
    """Two points keep the distance `length`: one row, `d . d - length^2 = 0`.

    Its multiplier is half the tension divided by the length; a strut under pressure has a negative one.

    Parameters
    ----------
    name : str
        Unique within the mechanism; for messages and results.
    i, j : str
        Names of the bodies; one of them may be `"ground"`.
    s_i, s_j : sequence of 3 floats, optional
        Points of the bodies, from their centres of mass [m]; by default these.
    length : float
        Distance of the points [m].

    Examples
    --------
    >>> import mbdae
    >>> joint = mbdae.Rod("strut", "ground", "rod", s_j=(-0.5, 0, 0), length=0.5)
    >>> rod = mbdae.RigidBody("rod", 1.0, (0.1, 0.1, 0.1), position=(0.5, 0, 0))
    >>> mbdae.Mechanism("example", [rod], [joint]).dof
    5
    """

    length: float = 1.0

    def check(self, owner: str) -> None:
        super().check(owner)
        self.set("length", checks.positive(self.length, owner, "length"))
        checks.number(self.length * self.length, owner, "the square of length")

    def primitives(self, bodies: Bodies) -> tuple[Primitive, ...]:
        return (D(self.name, self.i, self.j, self.s_i, self.s_j, Constant(self.length**2)),)

    def check_bodies(self, bodies: Bodies) -> None:
        """Acts between all kinds of bodies."""


@dataclass(frozen=True)
class PlanarRevolute(PlanarJoint):
    """Two points of planar bodies coincide: two rows.

    Parameters
    ----------
    name : str
        Unique within the mechanism; for messages and results.
    i, j : str
        Names of the bodies; one of them may be `"ground"`.
    s_i, s_j : sequence of 2 floats, optional
        Points of the bodies, from their centres of mass [m]; by default these.

    Examples
    --------
    >>> import mbdae
    >>> joint = mbdae.PlanarRevolute("pin", "ground", "rod", s_j=(-0.5, 0))
    >>> rod = mbdae.PlanarBody("rod", 1.0, 0.1, position=(0.5, 0))
    >>> mbdae.Mechanism("example", [rod], [joint]).dof
    1
    """

    def primitives(self, bodies: Bodies) -> tuple[Primitive, ...]:
        return (PlanarCoincident(self.name, self.i, self.j, *_points(self)),)


@dataclass(frozen=True)
class PlanarTranslational(PlanarJoint):
    """Body j slides along the direction `a_i` through `s_i` of body i without turning: two rows.

    The relative angle is that of the initial position.

    Parameters
    ----------
    name : str
        Unique within the mechanism; for messages and results.
    i, j : str
        Names of the bodies; one of them may be `"ground"`.
    s_i, s_j : sequence of 2 floats, optional
        Points of the bodies, from their centres of mass [m]; by default these.
    a_i : sequence of 2 floats, optional
        Unit direction, fixed in body i; by default x.

    Examples
    --------
    >>> import mbdae
    >>> joint = mbdae.PlanarTranslational("rail", "ground", "rod", a_i=(0, 1))
    >>> rod = mbdae.PlanarBody("rod", 1.0, 0.1, position=(0.5, 0))
    >>> mbdae.Mechanism("example", [rod], [joint]).dof
    1
    """

    a_i: tuple[float, ...] = (1.0, 0.0)

    def check(self, owner: str) -> None:
        super().check(owner)
        a = checks.unit((*checks.vector(self.a_i, 2, owner, "a_i"), 0.0), owner, "a_i")
        self.set("a_i", a[:2])

    def primitives(self, bodies: Bodies) -> tuple[Primitive, ...]:
        normal = (-self.a_i[1], self.a_i[0], 0.0)
        angle = _angle(bodies[self.j]) - _angle(bodies[self.i])
        return (DP2(f"{self.name}.normal", self.i, self.j, normal, *_points(self)),
                PlanarAngle(f"{self.name}.angle", self.i, self.j, Constant(angle)))


def _coincident(joint: Joint) -> Coincident:
    """The points `s_i` and `s_j` coincide: three rows."""
    return Coincident(joint.name, joint.i, joint.j, joint.s_i, joint.s_j)


def _parallel(joint: Joint, a_i: tuple[float, ...], a_j: tuple[float, ...]) -> tuple[DP1, DP1]:
    """`a_j` stays parallel to `a_i`: two rows."""
    b, c = rotations.triad(a_i)
    return (DP1(f"{joint.name}.b", joint.i, joint.j, tuple(b), a_j),
            DP1(f"{joint.name}.c", joint.i, joint.j, tuple(c), a_j))


def _points(joint: PlanarJoint) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The points of a planar joint in space."""
    return (*joint.s_i, 0.0), (*joint.s_j, 0.0)


def _on_axis(joint: Joint, b: Vector, c: Vector) -> tuple[DP2, ...]:
    """The point `s_j` stays on the axis through `s_i` that is perpendicular to `b` and `c`: two rows."""
    return tuple(DP2(f"{joint.name}.d{n}", joint.i, joint.j, tuple(u), joint.s_i, joint.s_j) for n, u in (("b", b), ("c", c)))


def _frame(body: Body | None) -> Matrix:
    """Rotation matrix of a body (or of the ground, `None`) in the initial position."""
    if body is None:
        return np.eye(3)
    if isinstance(body, RigidBody):
        return rotations.to_matrix(body.orientation)
    c, s = np.cos(_angle(body)), np.sin(_angle(body))
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def _angle(body: Body | None) -> float:
    return getattr(body, "angle", 0.0)
