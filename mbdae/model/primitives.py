"""Primitive constraints between two bodies `i` and `j`, from which all joints are made.

With the global vectors `u_i = A_i a_i`, `u_j = A_j a_j` and the distance vector `d = r_j + A_j s_j - r_i - A_i s_i`:

================  =======================================  ====================================
DP1               `u_i . u_j - f(t) = 0`                   two directions
DP2               `u_i . d - f(t) = 0`                     a direction and a distance vector
D                 `d . d - f(t) = 0`                       distance of two points, squared
CD                `c . d - f(t) = 0`                       one global component of the distance
Coincident        `d = 0`                                  three rows: two points coincide
PlanarCoincident  `d_x = d_y = 0`                          two rows: the same in the plane
Turn              `u_i(t) . u_j = 0`                       a direction that turns in body i
PlanarAngle       `angle_j - angle_i - f(t) = 0`           planar bodies only
================  =======================================  ====================================

The right-hand side `f` is a number, a function of time, or a `Motion`. Multipliers follow `M a + Phi_q^T lam = Q`.
"""

from dataclasses import dataclass

from . import checks
from .base import ORIGIN, Bodies, Primitive, is_planar
from .bodies import RigidBody
from .motions import ZERO, Constant, Motion

AXES = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


@dataclass(frozen=True)
class DP1(Primitive):
    """`(A_i a_i) . (A_j a_j) - f(t) = 0`.

    Parameters
    ----------
    name : str
        Unique within the mechanism; for messages and results.
    i, j : str
        Names of the bodies; one of them may be `"ground"`.
    a_i, a_j : sequence of 3 floats
        Directions, fixed in the bodies.
    f : Motion, callable or float
        Right-hand side, a function of time; zero for perpendicular directions.

    Examples
    --------
    >>> import mbdae
    >>> mbdae.DP1("cross", "ground", "rod", a_i=(1, 0, 0), a_j=(0, 1, 0)).rows
    1
    """

    a_i: tuple[float, ...]
    a_j: tuple[float, ...]
    f: Motion = ZERO
    directions = (("a_i", "i"), ("a_j", "j"))
    multiplier_unit = "N m"


@dataclass(frozen=True)
class DP2(Primitive):
    """`(A_i a_i) . d - f(t) = 0`.

    Parameters
    ----------
    name : str
        Unique within the mechanism; for messages and results.
    i, j : str
        Names of the bodies; one of them may be `"ground"`.
    a_i : sequence of 3 floats
        Direction, fixed in body i.
    s_i, s_j : sequence of 3 floats, optional
        Points of the bodies, from their centres of mass [m]; by default these.
    f : Motion, callable or float
        Right-hand side, a function of time [m].

    Examples
    --------
    >>> import mbdae
    >>> mbdae.DP2("plane", "ground", "rod", a_i=(0, 0, 1)).rows
    1
    """

    a_i: tuple[float, ...]
    s_i: tuple[float, ...] = ORIGIN
    s_j: tuple[float, ...] = ORIGIN
    f: Motion = ZERO
    directions = (("a_i", "i"),)
    points = (("s_i", "i"), ("s_j", "j"))
    carries_force = True
    multiplier_unit = "N"


@dataclass(frozen=True)
class D(Primitive):
    """`d . d - f(t) = 0`; `f` is the square of the distance and must be positive.

    Parameters
    ----------
    name : str
        Unique within the mechanism; for messages and results.
    i, j : str
        Names of the bodies; one of them may be `"ground"`.
    s_i, s_j : sequence of 3 floats
        Points of the bodies, from their centres of mass [m].
    f : Motion, callable or float
        Right-hand side, a function of time, positive [m^2].

    Examples
    --------
    >>> import mbdae
    >>> mbdae.D("rod", "ground", "rod", (0, 0, 0), (0.5, 0, 0), f=0.25).rows
    1
    """

    s_i: tuple[float, ...]
    s_j: tuple[float, ...]
    f: Motion
    points = (("s_i", "i"), ("s_j", "j"))
    multiplier_unit = "N/m"

    def check(self, owner: str) -> None:
        super().check(owner)
        if isinstance(self.f, Constant) and self.f.value <= 0.0:
            raise ValueError(f"{owner}: the squared distance f must be positive, got {self.f.value:g}; "
                             "points that coincide need a Spherical joint")


@dataclass(frozen=True)
class CD(Primitive):
    """`c . d - f(t) = 0` with the global direction `c`.

    Parameters
    ----------
    name : str
        Unique within the mechanism; for messages and results.
    i, j : str
        Names of the bodies; one of them may be `"ground"`.
    c : sequence of 3 floats
        Global direction.
    s_i, s_j : sequence of 3 floats, optional
        Points of the bodies, from their centres of mass [m]; by default these.
    f : Motion, callable or float
        Right-hand side, a function of time [m].

    Examples
    --------
    >>> import mbdae
    >>> mbdae.CD("height", "ground", "rod", c=(0, 0, 1), f=0.3).rows
    1
    """

    c: tuple[float, ...]
    s_i: tuple[float, ...] = ORIGIN
    s_j: tuple[float, ...] = ORIGIN
    f: Motion = ZERO
    points = (("s_i", "i"), ("s_j", "j"))
    carries_force = True
    multiplier_unit = "N"

    def check(self, owner: str) -> None:
        super().check(owner)
        self.set("c", checks.nonzero(self.c, owner, "c"))


@dataclass(frozen=True)
class Coincident(Primitive):
    """`r_j + A_j s_j - r_i - A_i s_i = 0`, three rows.

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
    >>> mbdae.Coincident("ball", "ground", "rod", s_j=(-0.5, 0, 0)).rows
    3
    """

    s_i: tuple[float, ...] = ORIGIN
    s_j: tuple[float, ...] = ORIGIN
    rows = 3
    points = (("s_i", "i"), ("s_j", "j"))
    carries_force = True
    multiplier_unit = "N"

    def labels(self) -> tuple[str, ...]:
        return tuple(f"{self.name}.{axis}" for axis in "xyz"[:self.rows])

    def equations(self) -> tuple[Primitive, ...]:
        return tuple(CD(label, self.i, self.j, axis, self.s_i, self.s_j) for label, axis in zip(self.labels(), AXES))

    def check_bodies(self, bodies: Bodies) -> None:
        super().check_bodies(bodies)
        _refuse_planar(self, bodies)


@dataclass(frozen=True)
class PlanarCoincident(Coincident):
    """The first two rows of `Coincident`, between planar bodies (or particles, or the ground).

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
    >>> mbdae.PlanarCoincident("pin", "ground", "rod", s_j=(-0.5, 0, 0)).rows
    2
    """

    rows = 2

    def check_bodies(self, bodies: Bodies) -> None:
        Primitive.check_bodies(self, bodies)
        if any(isinstance(b, RigidBody) for b in (bodies[self.i], bodies[self.j])):
            raise ValueError(f"{self.owner}: acts between planar bodies only; use Coincident")


@dataclass(frozen=True)
class Turn(Primitive):
    """`(A_i (b_i cos f - a_i sin f)) . (A_j a_j) = 0`: body j turns by the angle `f(t)` from `a_i` towards `b_i`.

    With `a_i, b_i` and `a_j` unit vectors perpendicular to a common axis this is `sin(theta - f) = 0`; unlike
    `cos theta - cos f = 0` it has no dead points, and its multiplier is the driving torque. `theta = f + pi` is a solution, too: the guess
    of the bodies selects one, while an `AngleDriver` prescribes `theta = f`.

    Parameters
    ----------
    name : str
        Unique within the mechanism; for messages and results.
    i, j : str
        Names of the bodies; one of them may be `"ground"`.
    a_i, b_i, a_j : sequence of 3 floats
        Directions, fixed in body i (two, perpendicular to each other) and j.
    f : Motion, callable or float
        Right-hand side, a function of time [rad].

    Examples
    --------
    >>> import mbdae
    >>> mbdae.Turn("turn", "ground", "rod", (1, 0, 0), (0, 1, 0), (1, 0, 0), f=0.5).rows
    1
    """

    a_i: tuple[float, ...]
    b_i: tuple[float, ...]
    a_j: tuple[float, ...]
    f: Motion
    directions = (("a_i", "i"), ("b_i", "i"), ("a_j", "j"))
    multiplier_unit = "N m"

    def check_bodies(self, bodies: Bodies) -> None:
        super().check_bodies(bodies)
        _refuse_planar(self, bodies)


@dataclass(frozen=True)
class PlanarAngle(Primitive):
    """`angle_j - angle_i - f(t) = 0` between planar bodies (or the ground, whose angle is zero).

    Parameters
    ----------
    name : str
        Unique within the mechanism; for messages and results.
    i, j : str
        Names of the bodies; one of them may be `"ground"`.
    f : Motion, callable or float
        Right-hand side, a function of time [rad].

    Examples
    --------
    >>> import mbdae
    >>> mbdae.PlanarAngle("angle", "ground", "rod", f=0.5).rows
    1
    """

    f: Motion = ZERO
    multiplier_unit = "N m"

    def check_bodies(self, bodies: Bodies) -> None:
        if not is_planar((bodies[self.i], bodies[self.j])):
            raise ValueError(f"{self.owner}: acts between planar bodies only; use AngleDriver or DP1")


def _refuse_planar(p: Primitive, bodies: Bodies) -> None:
    if is_planar((bodies[p.i], bodies[p.j])):
        raise ValueError(f"{p.owner}: a spatial constraint between planar bodies only; use the planar joint or driver")
