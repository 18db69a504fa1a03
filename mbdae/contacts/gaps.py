"""Gap functions: the distance between two bodies that may collide, negative where they overlap.

A gap is a frozen dataclass that names bodies, points and directions fixed in them; `on(system)` gives the functions of the coordinates of a
system, with the gradient along its velocity coordinates, `rate = gradient . v + d gap / dt`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from ..model import checks
from ..model.bodies import GROUND, Particle
from ..spelling import guess
from ..typing import ArrayLike, Vector
from .placed import Placed

if TYPE_CHECKING:
    from ..system.system import System

ORIGIN = (0.0, 0.0, 0.0)
STEP = 2e-3  # of difference quotients, relative to the size of the coordinates
GRADIENT_TOL = 1e-6  # of a user's gradient, relative
Measured: TypeAlias = tuple[float, Vector]  # a gap and its gradient


class Measurement(NamedTuple):
    """A gap, its gradient along the velocity coordinates, shape (nv,), and its derivative by time at rest."""

    gap: float
    gradient: Vector
    drift: float


class Distance(ABC):
    """A gap as a function of the coordinates of a system."""

    @abstractmethod
    def measured(self, t: float, q: Vector) -> Measurement:
        """The gap with its derivatives."""

    def value(self, t: float, q: Vector) -> float:
        """The gap."""
        return self.measured(t, q).gap

    def rate(self, t: float, q: Vector, v: Vector) -> float:
        """The derivative of the gap along the motion."""
        at = self.measured(t, q)
        return float(at.gradient @ v + at.drift)


class Gap(ABC):
    """A distance that must not become negative."""

    @abstractmethod
    def on(self, system: System) -> Distance:
        """Its functions of the coordinates of a system.

        Raises
        ------
        ValueError
            If the system has no such bodies or joints.
        """


@dataclass(frozen=True)
class BodyGap(Gap):
    """A gap between points of two bodies `i` and `j`."""

    i: str
    j: str

    @abstractmethod
    def measure(self, placed: Placed) -> Measured:
        """The gap and its gradient along Cartesian velocity coordinates."""

    def check_bodies(self, system: System) -> None:
        """Whether the gap can be measured between its bodies."""
        check_body_names(type(self).__name__, system, (self.i, self.j))

    def on(self, system: System) -> Distance:
        """See `Gap`."""
        cartesian = system.cartesian or system
        if cartesian.mechanism is None:
            raise ValueError(f"{type(self).__name__}: {system.name!r} is a system of functions, without bodies; use a UserGap")
        self.check_bodies(cartesian)
        return _BodyDistance(self, system)

    def set_points(self, **vectors: Any) -> None:
        """Check points and directions; two components are those of the plane."""
        for name, value in vectors.items():
            padded = (*value, 0.0) if np.shape(value) == (2,) else value
            object.__setattr__(self, name, checks.vector(padded, 3, type(self).__name__, name))


class _BodyDistance(Distance):
    """The gap in Cartesian coordinates, or in those of a tree, whose velocities are linear in its own."""

    def __init__(self, gap: BodyGap, system: System) -> None:
        self._gap, self._system, self._tree = gap, system, system.cartesian
        self._last: tuple[float, bytes, Measurement] | None = None

    def measured(self, t: float, q: Vector) -> Measurement:
        """See `Distance`; the measurement at the last positions is kept."""
        key = t, q.tobytes()
        if self._last is None or self._last[:2] != key:
            self._last = (*key, self._measured(t, q))
        return self._last[2]

    def _measured(self, t: float, q: Vector) -> Measurement:
        if self._tree is None:
            return Measurement(*self._gap.measure(Placed(self._system, q)), 0.0)
        n, tree = self._system.nv, self._system
        rows: Any = tree.to_cartesian(np.tile(q, (n + 1, 1)), np.vstack([np.zeros(n), np.eye(n)]), t=np.full(n + 1, t))  # type: ignore[attr-defined]
        gap, row = self._gap.measure(Placed(self._tree, rows.q[0]))
        rates = rows.v @ row
        return Measurement(gap, rates[1:] - rates[0], float(rates[0]))


@dataclass(frozen=True)
class SpherePlane(BodyGap):
    """`n . (P_i - P_j) - radius`: a sphere of body `i` about `s_i` above the plane of body `j` through `s_j` with the normal `n_j`.

    With `radius=0`, the default, a point above a plane. In the plane: a circle above a line.

    Parameters
    ----------
    i, j : str
        Names of bodies; `j` may be the ground.
    n_j : sequence of 3 (or 2) floats
        Points out of the material.
    s_i, s_j : sequence of 3 (or 2) floats
    radius : float

    Examples
    --------
    >>> import mbdae
    >>> mbdae.SpherePlane("ball", "ground", n_j=(0, 0, 1), radius=0.1).radius
    0.1
    """

    n_j: tuple[float, ...] = (0.0, 0.0, 1.0)
    s_i: tuple[float, ...] = ORIGIN
    s_j: tuple[float, ...] = ORIGIN
    radius: float = 0.0

    def __post_init__(self) -> None:
        self.set_points(s_i=self.s_i, s_j=self.s_j, n_j=self.n_j)
        object.__setattr__(self, "n_j", checks.unit(self.n_j, "SpherePlane", "n_j"))
        object.__setattr__(self, "radius", checks.nonnegative(self.radius, "SpherePlane", "radius"))

    def check_bodies(self, system: System) -> None:
        super().check_bodies(system)
        check_particles("SpherePlane", system, ((self.i, "s_i", self.s_i), (self.j, "s_j", self.s_j)))
        if _is_particle(system, self.j):
            raise ValueError(f"SpherePlane: {self.j!r} is a particle and has no plane")

    def measure(self, placed: Placed) -> Measured:
        """See `BodyGap`."""
        P, Q, n = placed.point(self.i, self.s_i), placed.point(self.j, self.s_j), placed.direction(self.j, self.n_j)
        d = P.x - Q.x
        return float(n.x @ d) - self.radius, n.x @ (P.D - Q.D) + d @ n.D


@dataclass(frozen=True)
class SphereSphere(BodyGap):
    """`|P_j - P_i| - radius_i - radius_j`: two spheres, circles or particles.

    With `inside=True` `radius_j - radius_i - |P_j - P_i|`: sphere `i` in a hollow sphere of body `j`, as a pin in a bearing with clearance.

    Parameters
    ----------
    i, j : str
        Names of bodies.
    radius_i, radius_j : float
    s_i, s_j : sequence of 3 (or 2) floats
    inside : bool

    Examples
    --------
    >>> import mbdae
    >>> mbdae.SphereSphere("one", "two", 0.1, 0.2).radius_j
    0.2
    """

    radius_i: float = 0.0
    radius_j: float = 0.0
    s_i: tuple[float, ...] = ORIGIN
    s_j: tuple[float, ...] = ORIGIN
    inside: bool = False

    def __post_init__(self) -> None:
        self.set_points(s_i=self.s_i, s_j=self.s_j)
        for name in ("radius_i", "radius_j"):
            object.__setattr__(self, name, checks.nonnegative(getattr(self, name), "SphereSphere", name))
        if self._reach <= 0.0:
            needed = "radius_j must be larger than radius_i" if self.inside else "radius_i or radius_j must be positive"
            raise ValueError(f"SphereSphere: {needed}, points that meet have no direction of contact")

    @property
    def _reach(self) -> float:
        """The distance of the centres in contact."""
        return self.radius_j - self.radius_i if self.inside else self.radius_i + self.radius_j

    def check_bodies(self, system: System) -> None:
        super().check_bodies(system)
        check_particles("SphereSphere", system, ((self.i, "s_i", self.s_i), (self.j, "s_j", self.s_j)))

    def measure(self, placed: Placed) -> Measured:
        """See `BodyGap`; at coinciding centres the gradient is zero."""
        P, Q = placed.point(self.i, self.s_i), placed.point(self.j, self.s_j)
        d, sign = Q.x - P.x, -1.0 if self.inside else 1.0
        length = float(np.linalg.norm(d))
        direction = d / length if length > 0.0 else d
        return sign * (length - self._reach), sign * (direction @ (Q.D - P.D))


@dataclass(frozen=True)
class UserGap(Gap):
    """A user's own gap, for all kinds of systems.

    Parameters
    ----------
    function : callable
        `function(t, q) -> float`.
    gradient : callable, optional
        `gradient(t, q) -> (nv,)`, the derivative along the velocity coordinates; compared with difference quotients at the start. By
        default these are used, with five points, accurate to about 1e-11.

    Examples
    --------
    >>> import mbdae
    >>> wall = mbdae.Impact("wall", mbdae.UserGap(lambda t, q: q[0] + 1.0), restitution=1.0)
    """

    function: Callable[[float, Vector], float]
    gradient: Callable[[float, Vector], ArrayLike] | None = None

    def __post_init__(self) -> None:
        for name, value in (("function", self.function), ("gradient", self.gradient)):
            if not (callable(value) or (name == "gradient" and value is None)):
                raise ValueError(f"UserGap: {name} must be callable, got {value!r}")

    def on(self, system: System) -> Distance:
        """See `Gap`."""
        distance = _UserDistance(self, system)
        if self.gradient is not None:
            distance.check()
        return distance


class _UserDistance(Distance):
    """The user's functions."""

    def __init__(self, gap: UserGap, system: System) -> None:
        self._gap, self._system = gap, system

    def value(self, t: float, q: Vector) -> float:
        value = self._gap.function(t, q.copy())
        if np.size(value) != 1 or not np.isfinite(value):
            raise ValueError(f"UserGap: the function must give a finite number, got {value!r} at t = {t:.9g}")
        return float(value)

    def rate(self, t: float, q: Vector, v: Vector) -> float:
        """See `Distance`; by differences along the motion, without the whole gradient."""
        return _quotient(lambda h: self.value(t + h, self._system.retract(q, h * v)), STEP / (1.0 + float(np.abs(v).max(initial=0.0))))

    def measured(self, t: float, q: Vector) -> Measurement:
        at, s = (lambda h: self.value(t + h, q)), self._system
        drift = _quotient(at, STEP * (1.0 + abs(t)))
        given = self._gap.gradient
        gradient = self._differences(t, q) if given is None else np.array(given(t, q.copy()), dtype=float)
        if gradient.shape != (s.nv,) or not np.isfinite(gradient).all():
            raise ValueError(f"UserGap: the gradient must give finite numbers, shape ({s.nv},), got shape {gradient.shape} at t = {t:.9g}")
        return Measurement(self.value(t, q), gradient, drift)

    def check(self) -> None:
        """Compare the user's gradient with differences at the start."""
        start = self._system.start
        given, expected = self.measured(start.t, start.q).gradient, self._differences(start.t, start.q)
        worst = int(np.argmax(np.abs(given - expected)))
        if not np.abs(given - expected)[worst] <= GRADIENT_TOL * (1.0 + np.abs(expected).max()):
            raise ValueError(f"UserGap: entry {worst} of the gradient is {given[worst]:.9g}, difference quotients of the function give "
                             f"{expected[worst]:.9g}; it is the derivative along the velocity coordinates")

    def _differences(self, t: float, q: Vector) -> Vector:
        step = STEP * (1.0 + float(np.abs(q).max(initial=0.0)))
        return np.array([_quotient(lambda h, e=e: self.value(t, self._system.retract(q, h * e)), step)  # type: ignore[misc]
                         for e in np.eye(self._system.nv)])


def _quotient(f: Callable[[float], float], h: float) -> float:
    """The derivative at zero by central differences of order four."""
    return (8.0 * (f(h) - f(-h)) - (f(2.0 * h) - f(-2.0 * h))) / (12.0 * h)


def check_body_names(owner: str, system: System, names: tuple[str, ...]) -> None:
    """Refuse names of bodies that the mechanism does not have."""
    assert system.mechanism is not None
    known = [GROUND, *(b.name for b in system.mechanism.bodies)]
    for name in names:
        if name not in known:
            raise ValueError(f"{owner}: there is no body {name!r}{guess(name, known)}; there are {', '.join(known)}")
    if len(set(names)) < len(names):
        raise ValueError(f"{owner}: i and j must be two bodies, both are {names[0]!r}")


def check_particles(owner: str, system: System, points: tuple[tuple[str, str, tuple[float, ...]], ...]) -> None:
    """Refuse points of particles other than their centres."""
    for body, field, s in points:
        if _is_particle(system, body) and any(s):
            raise ValueError(f"{owner}: {field} must be zero, {body!r} is a particle")


def _is_particle(system: System, body: str) -> bool:
    assert system.mechanism is not None
    return isinstance(system.mechanism.bodies_by_name()[body], Particle)
