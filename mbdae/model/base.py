"""Base classes of primitive constraints, joints, drivers and forces; a user's own elements derive from them.

Elements are frozen dataclasses. A mechanism asks each of them which bodies it names, checks it against these (`check_bodies`), and
replaces joints and drivers by primitive constraints (`primitives`).
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from . import checks
from .bodies import Body, Particle, PlanarBody, RigidBody
from .motions import as_motion

if TYPE_CHECKING:
    from .mechanism import Mechanism

ORIGIN = (0.0, 0.0, 0.0)

Bodies = Mapping[str, Body | None]  # by name; the ground is `None`


@dataclass(frozen=True)
class Element:
    """Anything in a mechanism that has a name and acts on bodies."""

    name: str

    def __post_init__(self) -> None:
        checks.name(self.name, type(self).__name__)
        self.check(self.owner)

    @property
    def owner(self) -> str:
        """Type and name in messages, as `Revolute 'pin'`."""
        return f"{type(self).__name__} {self.name!r}"

    def check(self, owner: str) -> None:
        """Check the fields, and bring them to their types by `set`; `owner` begins every message."""

    def set(self, field: str, value: Any) -> None:
        """Give a field its value, while the element is made."""
        object.__setattr__(self, field, value)

    def set_points(self, owner: str, n: int = 3) -> None:
        """Check the points `s_i` and `s_j`."""
        for field in ("s_i", "s_j"):
            self.set(field, checks.vector(getattr(self, field), n, owner, field))

    def body_names(self) -> tuple[str, ...]:
        """Names of the bodies that the element names in its fields."""
        return tuple(getattr(self, end) for end in "ij")


@dataclass(frozen=True)
class Constraint(Element, ABC):
    """Constraint equations between two bodies `i` and `j`: a joint, a driver, or one of the primitives that these consist of."""

    i: str
    j: str

    @abstractmethod
    def primitives(self, bodies: Bodies) -> tuple["Primitive", ...]:
        """The primitive constraints; their names begin with that of the element."""

    def check_bodies(self, bodies: Bodies) -> None:
        """Whether the constraint can act between its bodies; its primitives are checked as well."""

    def set_motion(self, owner: str, field: str = "f") -> None:
        """Bring a function of time to its type."""
        self.set(field, as_motion(getattr(self, field), owner, field))


@dataclass(frozen=True)
class Joint(Constraint):
    """A joint of spatial mechanics: `primitives(bodies)` returns the primitive constraints that it consists of."""

    s_i: tuple[float, ...] = ORIGIN
    s_j: tuple[float, ...] = ORIGIN

    def check(self, owner: str) -> None:
        self.set_points(owner)

    def check_bodies(self, bodies: Bodies) -> None:
        """Whether the joint can act between its bodies."""
        if is_planar((bodies[self.i], bodies[self.j])):
            raise ValueError(f"{self.owner}: a spatial joint between planar bodies only; use the planar one")


@dataclass(frozen=True)
class PlanarJoint(Constraint):
    """A joint between planar bodies, or particles, or the ground."""

    s_i: tuple[float, ...] = (0.0, 0.0)
    s_j: tuple[float, ...] = (0.0, 0.0)

    def check(self, owner: str) -> None:
        self.set_points(owner, 2)

    def check_bodies(self, bodies: Bodies) -> None:
        """Whether the joint can act between its bodies."""
        spatial = next((b.name for b in (bodies[self.i], bodies[self.j]) if isinstance(b, RigidBody)), None)
        if spatial:
            raise ValueError(f"{self.owner}: a planar joint, but {spatial!r} is a rigid body; use the spatial one")


@dataclass(frozen=True)
class Driver(Constraint):
    """A coordinate, an angle or a distance that is a given function `f` of time, a field of each driver.

    The first of its primitives has the name of the driver.
    """

    def check(self, owner: str) -> None:
        self.set_motion(owner)
        if hasattr(self, "s_i"):
            self.set_points(owner)


@dataclass(frozen=True)
class Primitive(Constraint):
    """Constraint equations that are evaluated by kernels of their own.

    A field `f` is a motion that is subtracted: `Phi = g(q) - f(t)`.
    """

    rows: ClassVar[int] = 1
    directions: ClassVar[tuple[tuple[str, str], ...]] = ()  # fields that are directions in a body, with the body they live in
    points: ClassVar[tuple[tuple[str, str], ...]] = ()  # fields that are points of a body
    carries_force: ClassVar[bool] = False  # whether multipliers are forces, which friction in a joint may depend on
    multiplier_unit: ClassVar[str] = ""  # in names of results; empty if it is not known

    def check(self, owner: str) -> None:
        for field, _ in self.directions:
            self.set(field, checks.nonzero(getattr(self, field), owner, field))
        for field, _ in self.points:
            self.set(field, checks.vector(getattr(self, field), 3, owner, field))
        if hasattr(self, "f"):
            self.set_motion(owner)

    def labels(self) -> tuple[str, ...]:
        """One label per equation."""
        return (self.name,) if self.rows == 1 else tuple(f"{self.name}.{k}" for k in range(self.rows))

    def primitives(self, bodies: Bodies) -> tuple["Primitive", ...]:
        """A primitive consists of itself, so that it may stand where a joint may stand."""
        return (self,)

    def equations(self) -> tuple["Primitive", ...]:
        """The same constraint as primitives of one equation each, of which some can be left out; itself where there are none."""
        return (self,)

    def rod_ends(self, t: float) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
        """Points of the bodies i and j between which pictures show a rod at a time; `None` if there is none."""
        return None

    def check_bodies(self, bodies: Bodies) -> None:
        """Whether the constraint can act between its bodies."""
        for field, end in self.directions:
            if isinstance(bodies[getattr(self, end)], Particle):
                raise ValueError(f"{self.owner}: {field} is a direction, but {getattr(self, end)!r} is a particle and has no orientation")
        check_points(self, bodies, self.points)


@dataclass(frozen=True)
class Force(Element):
    """A force element."""

    time_dependent: ClassVar[bool] = True  # whether it depends on time other than by motions
    joins_points: ClassVar[bool] = False  # whether pictures show its points `s_i` and `s_j` as places where bodies are attached

    def check_bodies(self, mechanism: "Mechanism") -> None:
        """Whether the force can act on its bodies."""


def is_planar(ends: tuple[Body | None, ...]) -> bool:
    """Whether all are planar bodies or the ground."""
    return all(b is None or isinstance(b, PlanarBody) for b in ends)


def check_points(element: Any, bodies: Bodies, points: tuple[tuple[str, str], ...]) -> None:
    """Refuse points of a particle other than its centre."""
    for field, end in points:
        if isinstance(bodies[getattr(element, end)], Particle) and any(getattr(element, field)):
            raise ValueError(f"{element.owner}: {field} must be zero, {getattr(element, end)!r} is a particle")
