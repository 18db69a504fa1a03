"""The mechanism: bodies, joints, drivers, forces and gravity, checked against each other."""

from dataclasses import dataclass, field, replace

from ..spelling import guess
from . import checks
from .bodies import GROUND, Body, Particle, PlanarBody, RigidBody
from .drivers import _Driver
from .forces import RSDA, TSDA, Friction, PointForce, PointTorque, UserForce, _Force
from .joints import PlanarRevolute, PlanarTranslational, Revolute, Rod, Translational, _Joint, _PlanarJoint
from .primitives import CD, DP2, Coincident, PlanarAngle, PlanarCoincident, Turn, _Primitive


@dataclass(frozen=True)
class Mechanism:
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
    >>> rod = RigidBody("rod", mass=1.0, inertia=(1e-3, 0.1, 0.1), position=(0.5, 0, 0))
    >>> pin = Revolute("pin", "ground", "rod", s_j=(-0.5, 0, 0), a_i=(0, 1, 0), a_j=(0, 1, 0))
    >>> Mechanism("pendulum", bodies=[rod], joints=[pin], gravity=(0, 0, -9.81)).dof
    1
    """

    name: str
    bodies: tuple
    joints: tuple = ()
    drivers: tuple = ()
    forces: tuple = ()
    gravity: tuple = (0.0, 0.0, 0.0)
    _primitives: tuple = field(init=False, repr=False, compare=False, default=())
    _labels: tuple = field(init=False, repr=False, compare=False, default=())

    def __post_init__(self):
        checks.name(self.name, "Mechanism")
        for kind, expected in (("bodies", Body), ("joints", _Joint | _PlanarJoint | _Primitive),
                               ("drivers", _Driver | _Primitive), ("forces", _Force)):
            self._check_kind(kind, expected)
        object.__setattr__(self, "gravity", checks.vector(self.gravity, 3, self._owner, "gravity"))
        if not self.bodies:
            raise ValueError(f"{self._owner}: there must be at least one body")
        self._check_names()
        self._check_references()
        self._lower()

    @property
    def _owner(self):
        return f"Mechanism {self.name!r}"

    @property
    def constraints(self):
        """Joints and drivers, in the order of the multipliers."""
        return self.joints + self.drivers

    @property
    def primitives(self):
        """The primitive constraints of all joints and drivers, in the order of the multipliers."""
        return self._primitives

    @property
    def labels(self):
        """One label per constraint equation."""
        return self._labels

    @property
    def dof(self):
        """Degrees of freedom by count: velocity coordinates less constraint equations (redundant ones counted)."""
        return sum(6 if isinstance(b, RigidBody) else 3 for b in self.bodies) - len(self.labels)

    def body(self, name):
        """The body called `name`; `None` for the ground."""
        return self._table().get(name)

    def without(self, *labels):
        """The same mechanism without some of its constraint equations, say redundant ones.

        Joints and drivers that lose an equation are replaced by the primitives that are left of them; labels stay as they are.

        Parameters
        ----------
        *labels : str
            From `labels`.
        """
        unknown = [name for name in labels if name not in self.labels]
        if unknown:
            raise ValueError(f"{self._owner}: there is no constraint equation {unknown[0]!r}{guess(unknown[0], self.labels)}; "
                             f"there are {', '.join(self.labels)}")
        joints = tuple(p for j in self.joints for p in _without(j, labels, self._table()))
        drivers = tuple(p for d in self.drivers for p in _without(d, labels, self._table()))
        return replace(self, joints=joints, drivers=drivers)

    def normal_rows(self, friction):
        """Numbers of the constraint equations whose multipliers make up the normal force of a `Friction`."""
        joint = next(j for j in self.joints if j.name == friction.joint)
        carrying = [label for p in joint.primitives(self._table()) if isinstance(p, (Coincident, CD, DP2)) for label in p.labels()]
        wanted = friction.normal or tuple(carrying)
        for k, name in enumerate(wanted):
            if name not in carrying:
                raise ValueError(f"{_label(friction)}: normal names the row {name!r}; "
                                 f"the rows of {joint.name!r} that carry forces are {', '.join(carrying)}")
            if name in wanted[:k]:
                raise ValueError(f"{_label(friction)}: normal names the row {name!r} twice")
        return [self.labels.index(name) for name in wanted]

    def _table(self):
        return {GROUND: None} | {b.name: b for b in self.bodies}

    def _check_kind(self, kind, expected):
        elements = getattr(self, kind)
        if not isinstance(elements, (tuple, list)):
            raise ValueError(f"{self._owner}: {kind} must be a list or tuple, got {type(elements).__name__}")
        for e in elements:
            if not isinstance(e, expected):
                raise ValueError(f"{self._owner}: {kind} must not contain {e!r}")
        object.__setattr__(self, kind, tuple(elements))

    def _check_names(self):
        for kind in ("bodies", "joints", "drivers", "forces"):
            seen = set()
            for e in getattr(self, kind):
                if e.name in seen:
                    raise ValueError(f"{self._owner}: the name {e.name!r} appears twice among the {kind}")
                seen.add(e.name)

    def _check_references(self):
        table = self._table()
        for element in (*self.constraints, *self.forces):
            for name in _bodies_of(element):
                if name not in table:
                    meant = _meant(element, name, table)
                    raise ValueError(f"{_label(element)}: there is no body {name!r}{meant}; there are {', '.join(table)}")
            if getattr(element, "i", None) is not None and element.i == element.j:
                raise ValueError(f"{_label(element)}: both ends are on {element.i!r}; a joint needs two different bodies")
            if isinstance(element, (PointForce, PointTorque, UserForce)) and GROUND in _bodies_of(element):
                raise ValueError(f"{_label(element)}: a force on the ground has no effect; name a body")
        for force in self.forces:
            self._check_force(force)

    def _check_force(self, force):
        if isinstance(force, TSDA):
            _check_points(force, self._table(), (("s_i", "i"), ("s_j", "j")))
        elif isinstance(force, PointForce):
            _check_points(force, self._table(), (("s", "body"),))
        elif isinstance(force, RSDA):
            self._check_rsda(force)
        elif isinstance(force, Friction):
            self._check_friction(force)
        elif isinstance(force, PointTorque) and isinstance(self.body(force.body), Particle):
            raise ValueError(f"{_label(force)}: {force.body!r} is a particle and has no orientation")

    def _check_rsda(self, force):
        ends = (self.body(force.i), self.body(force.j))
        if any(isinstance(b, Particle) for b in ends):
            raise ValueError(f"{_label(force)}: a particle has no orientation; connect rigid or planar bodies")
        if force.a_i is None and not _is_planar(ends):
            raise ValueError(f"{_label(force)}: give the axis a_i and the directions b_i, b_j for spatial bodies")

    def _check_friction(self, force):
        joint = next((j for j in self.joints if j.name == force.joint), None)
        if joint is None:
            raise ValueError(f"{_label(force)}: there is no joint {force.joint!r}{guess(force.joint, [j.name for j in self.joints])}")
        if not isinstance(joint, (Translational, PlanarTranslational, Revolute, PlanarRevolute)):
            raise ValueError(f"{_label(force)}: friction needs a translational or revolute joint, "
                             f"{force.joint!r} is of type {type(joint).__name__}")
        if isinstance(joint, (Revolute, PlanarRevolute)) and force.radius is None:
            raise ValueError(f"{_label(force)}: friction in a revolute joint needs the radius of its pin")
        if isinstance(joint, (Revolute, PlanarRevolute)) and force.normal:
            raise ValueError(f"{_label(force)}: normal is for translational joints; {force.joint!r} is of type {type(joint).__name__}")

    def _lower(self):
        table = self._table()
        for element in self.constraints:
            _check_joint(element, table)
        found = tuple(p for element in self.constraints for p in element.primitives(table))
        for p in found:
            _check_primitive(p, table)
        labels = tuple(label for p in found for label in p.labels())
        object.__setattr__(self, "_primitives", found)
        object.__setattr__(self, "_labels", labels)
        twice = next((x for x in labels if labels.count(x) > 1), None) if len(set(labels)) < len(labels) else None
        if twice:
            raise ValueError(f"{self._owner}: two constraint equations are called {twice!r}; rename a joint or driver")
        for force in self.forces:
            if isinstance(force, Friction):
                self.normal_rows(force)


def _without(element, labels, table):
    """The element itself if it loses nothing, otherwise what is left of its primitives."""
    found = element.primitives(table)
    if not any(label in labels for p in found for label in p.labels()):
        return (element,)
    left = []
    for p in found:
        if isinstance(p, Coincident):
            axes = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
            left += [CD(label, p.i, p.j, c, p.s_i, p.s_j) for label, c in zip(p.labels(), axes) if label not in labels]
        elif p.name not in labels:
            left.append(p)
    return tuple(left)


def _label(element):
    return f"{type(element).__name__} {element.name!r}"


def _meant(element, name, table):
    """What a message adds about a body that does not exist."""
    if element.name in table and hasattr(element, "i"):
        return f" ({element.name!r} is one: the name of the {type(element).__name__} comes first, then those of its bodies)"
    return guess(name, table)


def _bodies_of(element):
    if isinstance(element, Friction):
        return ()
    if isinstance(element, UserForce):
        return element.bodies
    return (element.body,) if hasattr(element, "body") else (element.i, element.j)


def _is_planar(bodies):
    """Whether there are none but planar bodies (and the ground)."""
    return all(b is None or isinstance(b, PlanarBody) for b in bodies)


def _check_joint(element, table):
    ends = [table[element.i], table[element.j]]
    if isinstance(element, _Joint) and not isinstance(element, Rod) and _is_planar(ends):
        raise ValueError(f"{_label(element)}: a spatial joint between planar bodies only; use the planar one")
    spatial = next((b.name for b in ends if isinstance(b, RigidBody)), None)
    if isinstance(element, _PlanarJoint) and spatial:
        raise ValueError(f"{_label(element)}: a planar joint, but {spatial!r} is a rigid body; use the spatial one")


def _check_primitive(p, table):
    ends = {"i": table[p.i], "j": table[p.j]}
    for field_, end in p.directions:
        if isinstance(ends[end], Particle):
            raise ValueError(f"{_label(p)}: {field_} is a direction, but {getattr(p, end)!r} is a particle and has no orientation")
    if isinstance(p, PlanarAngle) and not _is_planar(ends.values()):
        raise ValueError(f"{_label(p)}: acts between planar bodies only; use AngleDriver or DP1")
    _check_points(p, table, p.points)
    if isinstance(p, PlanarCoincident) and any(isinstance(b, RigidBody) for b in ends.values()):
        raise ValueError(f"{_label(p)}: acts between planar bodies only; use Coincident")
    if _is_planar(ends.values()) and isinstance(p, (Coincident, Turn)) and not isinstance(p, PlanarCoincident):
        raise ValueError(f"{_label(p)}: a spatial constraint between planar bodies only; use the planar joint or driver")


def _check_points(element, table, points):
    for field_, end in points:
        if isinstance(table[getattr(element, end)], Particle) and any(getattr(element, field_)):
            raise ValueError(f"{_label(element)}: {field_} must be zero, {getattr(element, end)!r} is a particle")
