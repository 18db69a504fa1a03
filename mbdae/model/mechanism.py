"""The mechanism: bodies, joints, drivers, forces and gravity, checked against each other."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..spelling import guess
from ..summary import Summarised, Summary, counted, named, plural
from . import checks
from .base import Bodies, Constraint, Driver, Force, Joint, PlanarJoint, Primitive
from .bodies import GROUND, Body, RigidBody
from .forces import Friction

_KINDS: dict[str, Any] = {"bodies": Body, "joints": Joint | PlanarJoint | Primitive, "drivers": Driver | Primitive, "forces": Force}


@dataclass(frozen=True, repr=False)
class Mechanism(Summarised):
    """A mechanism as data. `mbdae.System(mechanism)` makes its equations, `mbdae.solve(mechanism, ...)` moves it.

    Parameters
    ----------
    name : str
    bodies : sequence of Particle, PlanarBody, RigidBody
        Order of the coordinates.
    joints : sequence of joints or primitive constraints
        Order of the multipliers; drivers follow.
    drivers : sequence of drivers
    forces : sequence of force elements
    gravity : sequence of 3 floats
        Acceleration of gravity [m/s^2], any direction.

    Raises
    ------
    ValueError
        Names the element that is wrong and says what would be right.

    Examples
    --------
    >>> from mbdae import Mechanism, Revolute, RigidBody
    >>> rod = RigidBody("rod", mass=1.0, inertia=(1e-3, 0.1, 0.1), position=(0.5, 0, 0))
    >>> pin = Revolute("pin", "ground", "rod", s_j=(-0.5, 0, 0), a_i=(0, 1, 0), a_j=(0, 1, 0))
    >>> Mechanism("pendulum", bodies=[rod], joints=[pin], gravity=(0, 0, -9.81)).dof
    1
    """

    name: str
    bodies: Sequence[Body]
    joints: Sequence[Joint | PlanarJoint | Primitive] = ()
    drivers: Sequence[Driver | Primitive] = ()
    forces: Sequence[Force] = ()
    gravity: Sequence[float] = (0.0, 0.0, 0.0)
    _primitives: tuple[Primitive, ...] = field(init=False, repr=False, compare=False, default=())
    _labels: tuple[str, ...] = field(init=False, repr=False, compare=False, default=())
    _by_name: Bodies = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        checks.name(self.name, "Mechanism")
        for kind, expected in _KINDS.items():
            self._check_kind(kind, expected)
        object.__setattr__(self, "gravity", checks.vector(self.gravity, 3, self._owner, "gravity"))
        if not self.bodies:
            raise ValueError(f"{self._owner}: there must be at least one body")
        self._check_names()
        object.__setattr__(self, "_by_name", {GROUND: None} | {b.name: b for b in self.bodies})
        self._check_references()
        self._lower()

    @property
    def _owner(self) -> str:
        return f"Mechanism {self.name!r}"

    def _summary(self) -> Summary:
        rows = [(kind, f"{counted(found)}: {named([e.name for e in found])}" if found else "")
                for kind in ("bodies", "joints", "drivers", "forces") if (found := getattr(self, kind)) is not None]
        n = self.dof + len(self.labels)
        equations = f"{plural(n, 'velocity coordinate')}, {plural(len(self.labels), 'constraint equation')}"
        gravity = ", ".join(f"{g:g}" for g in self.gravity) + " m/s^2" if any(self.gravity) else "none"
        return Summary(f"Mechanism {self.name!r}", (*rows, ("gravity", gravity), ("equations", equations)))

    @property
    def constraints(self) -> tuple[Joint | PlanarJoint | Driver | Primitive, ...]:
        """Joints and drivers, in the order of the multipliers."""
        return (*self.joints, *self.drivers)

    @property
    def primitives(self) -> tuple[Primitive, ...]:
        """The primitive constraints of all joints and drivers, in the order of the multipliers."""
        return self._primitives

    @property
    def labels(self) -> tuple[str, ...]:
        """One label per constraint equation."""
        return self._labels

    @property
    def dof(self) -> int:
        """Degrees of freedom by count: velocity coordinates less constraint equations (redundant ones counted)."""
        return sum(6 if isinstance(b, RigidBody) else 3 for b in self.bodies) - len(self.labels)

    def body(self, name: str) -> Body | None:
        """The body called `name`; `None` for the ground."""
        return self.bodies_by_name().get(name)

    def without(self, *labels: str) -> "Mechanism":
        """The same mechanism without some of its constraint equations, say redundant ones.

        Joints and drivers that lose an equation are replaced by their remaining primitives; labels stay as they are.

        Parameters
        ----------
        *labels : str
            From `labels`.
        """
        unknown = [name for name in labels if name not in self.labels]
        if unknown:
            raise ValueError(f"{self._owner}: there is no constraint equation {unknown[0]!r}{guess(unknown[0], self.labels)}; "
                             f"there are {', '.join(self.labels)}")
        joints = tuple(p for j in self.joints for p in _without(j, labels, self.bodies_by_name()))
        drivers = tuple(p for d in self.drivers for p in _without(d, labels, self.bodies_by_name()))
        return replace(self, joints=joints, drivers=drivers)

    def normal_rows(self, friction: Friction) -> list[int]:
        """Numbers of the constraint equations whose multipliers make up the normal force of a `Friction`."""
        joint = next(j for j in self.joints if j.name == friction.joint)
        carrying = [label for p in joint.primitives(self.bodies_by_name()) if p.carries_force for label in p.labels()]
        wanted = friction.normal or tuple(carrying)
        for k, name in enumerate(wanted):
            if name not in carrying:
                raise ValueError(f"{friction.owner}: normal names the row {name!r}; "
                                 f"the rows of {joint.name!r} that carry forces are {', '.join(carrying)}")
            if name in wanted[:k]:
                raise ValueError(f"{friction.owner}: normal names the row {name!r} twice")
        return [self.labels.index(name) for name in wanted]

    def bodies_by_name(self) -> Bodies:
        """The bodies by name; the ground is `None`."""
        return self._by_name

    def _check_kind(self, kind: str, expected: Any) -> None:
        elements = getattr(self, kind)
        if not isinstance(elements, (tuple, list)):
            raise ValueError(f"{self._owner}: {kind} must be a list or tuple, got {type(elements).__name__}")
        for e in elements:
            if not isinstance(e, expected):
                raise ValueError(f"{self._owner}: {kind} must not contain {_described(e)}")
        object.__setattr__(self, kind, tuple(elements))

    def _check_names(self) -> None:
        for kind in ("bodies", "joints", "drivers", "forces"):
            seen = set()
            for e in getattr(self, kind):
                if e.name in seen:
                    raise ValueError(f"{self._owner}: the name {e.name!r} appears twice among the {kind}")
                seen.add(e.name)

    def _check_references(self) -> None:
        table = self.bodies_by_name()
        for element in (*self.constraints, *self.forces):
            for name in element.body_names():
                if name not in table:
                    meant = _meant(element, name, table)
                    raise ValueError(f"{element.owner}: there is no body {name!r}{meant}; there are {', '.join(table)}")
            i, j = getattr(element, "i", None), getattr(element, "j", None)
            if i is not None and i == j:
                raise ValueError(f"{element.owner}: both ends are on {i!r}; a joint needs two different bodies")
        for force in self.forces:
            force.check_bodies(self)

    def _lower(self) -> None:
        table = self.bodies_by_name()
        for element in self.constraints:
            element.check_bodies(table)
        found = tuple(p for element in self.constraints for p in element.primitives(table))
        for p in found:
            p.check_bodies(table)
        labels = tuple(label for p in found for label in p.labels())
        object.__setattr__(self, "_primitives", found)
        object.__setattr__(self, "_labels", labels)
        twice = next((x for x in labels if labels.count(x) > 1), None) if len(set(labels)) < len(labels) else None
        if twice:
            raise ValueError(f"{self._owner}: two constraint equations are called {twice!r}; rename a joint or driver")
        for force in self.forces:
            if isinstance(force, Friction):
                self.normal_rows(force)


def _without(element: Constraint, labels: tuple[str, ...], table: Bodies) -> tuple[Any, ...]:
    """The element itself if all its equations stay, otherwise the primitives that stay."""
    found = element.primitives(table)
    if not any(label in labels for p in found for label in p.labels()):
        return (element,)
    left = []
    for p in (equation for whole in found for equation in whole.equations()):
        lost = [label for label in p.labels() if label in labels]
        if lost and len(lost) < p.rows:
            raise ValueError(f"{p.owner}: the equation {lost[0]!r} cannot be left out alone; leave out {', '.join(p.labels())}")
        left += [] if lost else [p]
    return tuple(left)


def _meant(element: Constraint | Force, name: str, table: Bodies) -> str:
    """The hint in a message about a body that does not exist."""
    if element.name in table and hasattr(element, "i"):
        return f" ({element.name!r} is one: the name of the {type(element).__name__} comes first, then those of its bodies)"
    return guess(name, table)


def _described(element: object) -> str:
    """What stands in a list where it does not belong, and the list where it does."""
    for kind, expected in _KINDS.items():
        if isinstance(element, expected):
            return f"{type(element).__name__} {getattr(element, 'name', '')!r}, which belongs into {kind}"
    return f"{element.__name__}, which is a class: give its arguments" if isinstance(element, type) else repr(element)
