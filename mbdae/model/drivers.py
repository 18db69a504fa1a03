"""Drivers: a coordinate, an angle or a distance that is a given function of time.

The function is a `Motion`, a number (a lock), or a callable whose two derivatives are derived when not given.
"""

from dataclasses import dataclass

import numpy as np

from . import checks
from .motions import Constant, Function, Motion, as_motion
from .primitives import CD, ORIGIN, D, PlanarAngle, Turn


@dataclass(frozen=True)
class _Driver:
    name: str
    i: str
    j: str

    def __post_init__(self):
        checks.name(self.name, type(self).__name__)
        object.__setattr__(self, "f", as_motion(self.f, self._owner, "f"))
        for field in ("s_i", "s_j"):
            if hasattr(self, field):
                object.__setattr__(self, field, checks.vector(getattr(self, field), 3, self._owner, field))

    @property
    def _owner(self):
        return f"{type(self).__name__} {self.name!r}"


@dataclass(frozen=True)
class AngleDriver(_Driver):
    """Body j turns by `f(t)` about the axis `a_i` of body i; the angle is counted from `b_i` to `b_j`.

    `sin(theta - f(t)) = 0`: smooth for every angle and any number of turns. That holds at `theta = f + pi`, too; assembly
    sees to it that a start is at `f` and follows the driver there from wherever the bodies are. The multiplier is the torque
    about `a_i` that the constraint exerts on body i; the driving torque on body j is its opposite.

    Parameters
    ----------
    f : Motion, callable or float
        Prescribed angle [rad].
    a_i : sequence of 3 floats
        Unit axis, fixed in body i.
    b_i, b_j : sequence of 3 floats
        Unit vectors perpendicular to the axis, fixed in body i and j.
    """

    f: Motion
    a_i: tuple
    b_i: tuple
    b_j: tuple

    def __post_init__(self):
        super().__post_init__()
        for field in ("a_i", "b_i", "b_j"):
            object.__setattr__(self, field, checks.unit(getattr(self, field), self._owner, field))
        if abs(np.dot(self.a_i, self.b_i)) > 1e-6:
            raise ValueError(f"{self._owner}: b_i must be perpendicular to the axis a_i")

    def primitives(self, bodies):
        c = tuple(np.cross(self.a_i, self.b_i))
        return (Turn(self.name, self.i, self.j, self.b_i, c, self.b_j, self.f),)


@dataclass(frozen=True)
class PlanarAngleDriver(_Driver):
    """`angle_j - angle_i = f(t)` for planar bodies."""

    f: Motion

    def primitives(self, bodies):
        return (PlanarAngle(self.name, self.i, self.j, self.f),)


@dataclass(frozen=True)
class DistanceDriver(_Driver):
    """Two points have the distance `f(t) > 0`; the constraint is `d . d - f(t)^2 = 0`."""

    f: Motion
    s_i: tuple = ORIGIN
    s_j: tuple = ORIGIN

    def __post_init__(self):
        super().__post_init__()
        if isinstance(self.f, Constant) and self.f.value <= 0.0:
            raise ValueError(f"{self._owner}: the distance f must be positive, got {self.f.value:g}")

    def primitives(self, bodies):
        return (D(self.name, self.i, self.j, self.s_i, self.s_j, _square(self.f)),)


@dataclass(frozen=True)
class CoordinateDriver(_Driver):
    """The global component along `c` of the vector from `s_i` to `s_j` is `f(t)`."""

    f: Motion
    c: tuple
    s_i: tuple = ORIGIN
    s_j: tuple = ORIGIN

    def __post_init__(self):
        super().__post_init__()
        object.__setattr__(self, "c", checks.unit(self.c, self._owner, "c"))

    def primitives(self, bodies):
        return (CD(self.name, self.i, self.j, self.c, self.s_i, self.s_j, self.f),)


def _square(f):
    """The motion `f(t)^2`."""
    if isinstance(f, Constant):
        return Constant(f.value**2)
    return Function(lambda t: f(t)[0] ** 2, lambda t: 2 * f(t)[0] * f(t)[1], lambda t: 2 * (f(t)[1] ** 2 + f(t)[0] * f(t)[2]))
