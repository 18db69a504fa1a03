"""Drivers: a coordinate, an angle or a distance that is a given function of time.

The function is a `Motion`, a number (a lock), or a callable whose two derivatives are derived when not given.
"""

from dataclasses import dataclass

import numpy as np

from . import checks
from .base import ORIGIN, Bodies, Driver, Primitive
from .motions import Constant, Function, Motion
from .primitives import CD, D, PlanarAngle, Turn


@dataclass(frozen=True)
class AngleDriver(Driver):
    """Body j turns by `f(t)` about the axis `a_i` of body i; the angle is counted from `b_i` to `b_j`.

    `sin(theta - f(t)) = 0`: smooth for every angle and any number of turns. Of its two solutions, `theta = f` and `theta = f + pi`,
    assembly takes the first, if needed by continuation from the guess. The multiplier is the torque
    about `a_i` that the constraint exerts on body i; the driving torque on body j is its opposite.

    Parameters
    ----------
    name : str
        Unique within the mechanism; for messages and results.
    i, j : str
        Names of the bodies; one of them may be `"ground"`.
    f : Motion, callable or float
        Prescribed angle [rad].
    a_i : sequence of 3 floats
        Unit axis, fixed in body i.
    b_i, b_j : sequence of 3 floats
        Unit vectors perpendicular to the axis, fixed in body i and j.

    Examples
    --------
    >>> import mbdae
    >>> motor = mbdae.AngleDriver("motor", "ground", "rod", lambda t: 2.0 * t, a_i=(0, 0, 1), b_i=(1, 0, 0), b_j=(1, 0, 0))
    >>> motor.f(1.0)
    (2.0, 2.0, 0.0)
    """

    f: Motion
    a_i: tuple[float, ...]
    b_i: tuple[float, ...]
    b_j: tuple[float, ...]

    def check(self, owner: str) -> None:
        super().check(owner)
        for field in ("a_i", "b_i", "b_j"):
            self.set(field, checks.unit(getattr(self, field), owner, field))
        if abs(np.dot(self.a_i, self.b_i)) > 1e-6:
            raise ValueError(f"{owner}: b_i must be perpendicular to the axis a_i")

    def primitives(self, bodies: Bodies) -> tuple[Primitive, ...]:
        c = tuple(np.cross(self.a_i, self.b_i))
        return (Turn(self.name, self.i, self.j, self.b_i, c, self.b_j, self.f),)


@dataclass(frozen=True)
class PlanarAngleDriver(Driver):
    """`angle_j - angle_i = f(t)` for planar bodies.

    Parameters
    ----------
    name : str
        Unique within the mechanism; for messages and results.
    i, j : str
        Names of the bodies; one of them may be `"ground"`.
    f : Motion, callable or float
        Right-hand side, a function of time: the relative angle [rad].

    Examples
    --------
    >>> import mbdae
    >>> mbdae.PlanarAngleDriver("motor", "ground", "rod", mbdae.Polynomial((0.0, 2.0))).f(1.0)
    (2.0, 2.0, 0.0)
    """

    f: Motion

    def primitives(self, bodies: Bodies) -> tuple[Primitive, ...]:
        return (PlanarAngle(self.name, self.i, self.j, self.f),)


@dataclass(frozen=True)
class DistanceDriver(Driver):
    """Two points have the distance `f(t) > 0`; the constraint is `d . d - f(t)^2 = 0`.

    Parameters
    ----------
    name : str
        Unique within the mechanism; for messages and results.
    i, j : str
        Names of the bodies; one of them may be `"ground"`.
    f : Motion, callable or float
        Right-hand side, a function of time: the distance, positive [m].
    s_i, s_j : sequence of 3 floats, optional
        Points of the bodies, from their centres of mass [m]; by default these.

    Examples
    --------
    >>> import mbdae
    >>> mbdae.DistanceDriver("jack", "ground", "rod", lambda t: 1.0 + 0.1 * t).f(1.0)[0]
    1.1
    """

    f: Motion
    s_i: tuple[float, ...] = ORIGIN
    s_j: tuple[float, ...] = ORIGIN

    def check(self, owner: str) -> None:
        super().check(owner)
        if isinstance(self.f, Constant) and self.f.value <= 0.0:
            raise ValueError(f"{owner}: the distance f must be positive, got {self.f.value:g}")

    def primitives(self, bodies: Bodies) -> tuple[Primitive, ...]:
        return (D(self.name, self.i, self.j, self.s_i, self.s_j, _square(self.f)),)


@dataclass(frozen=True)
class CoordinateDriver(Driver):
    """The global component along `c` of the vector from `s_i` to `s_j` is `f(t)`.

    Parameters
    ----------
    name : str
        Unique within the mechanism; for messages and results.
    i, j : str
        Names of the bodies; one of them may be `"ground"`.
    f : Motion, callable or float
        Right-hand side, a function of time: the component [m].
    c : sequence of 3 floats
        Global unit direction.
    s_i, s_j : sequence of 3 floats, optional
        Points of the bodies, from their centres of mass [m]; by default these.

    Examples
    --------
    >>> import mbdae
    >>> mbdae.CoordinateDriver("lift", "ground", "rod", mbdae.Harmonic(0.1, 2.0), c=(0, 0, 1)).f(0.0)
    (0.0, 0.2, -0.0)
    """

    f: Motion
    c: tuple[float, ...]
    s_i: tuple[float, ...] = ORIGIN
    s_j: tuple[float, ...] = ORIGIN

    def check(self, owner: str) -> None:
        super().check(owner)
        self.set("c", checks.unit(self.c, owner, "c"))

    def primitives(self, bodies: Bodies) -> tuple[Primitive, ...]:
        return (CD(self.name, self.i, self.j, self.c, self.s_i, self.s_j, self.f),)


def _square(f: Motion) -> Motion:
    """The motion `f(t)^2`."""
    if isinstance(f, Constant):
        return Constant(f.value**2)
    def value(t: float) -> float:
        x, _, _ = f(t)
        return x**2

    def first(t: float) -> float:
        x, xd, _ = f(t)
        return 2 * x * xd

    def second(t: float) -> float:
        x, xd, xdd = f(t)
        return 2 * (xd**2 + x * xdd)

    return Function(value, first, second)
