"""Bodies: particle, planar body, rigid body, and the ground they stand on.

A body carries the user's guess of its initial state; `mbdae.assemble` makes it consistent. Velocities, or components of them, that are
left out (`None`) are free: they follow from the given ones, which are kept, with the least kinetic energy that is possible. Given ones must
not contradict a joint or a driver.
"""

from dataclasses import dataclass
from typing import Any

from . import checks, rotations

GROUND = "ground"


@dataclass(frozen=True)
class Particle:
    """Point mass with coordinates `r` (3).

    Parameters
    ----------
    name : str
    mass : float
        Positive [kg].
    position : sequence of 3 floats
        Guess of the initial position [m].
    velocity : sequence of 3 floats or None, optional
        Initial velocity [m/s]; what is `None` is free.

    Examples
    --------
    >>> Particle("ball", mass=2.0, position=(0, 0, 1), velocity=(0.5, 0, None)).velocity
    (0.5, 0.0, None)
    """

    name: str
    mass: float
    position: tuple[float, ...] = (0.0, 0.0, 0.0)
    velocity: tuple[float | None, ...] | None = None

    def __post_init__(self) -> None:
        owner = _begin(self, "particle")
        _set(self, "mass", checks.positive(self.mass, owner, "mass"))
        _set(self, "position", checks.vector(self.position, 3, owner, "position"))
        _set_optional(self, "velocity", 3, owner)


@dataclass(frozen=True)
class PlanarBody:
    """Rigid body moving in the x-y plane with coordinates `(x, y, angle)`; the reference point is the centre of mass.

    Parameters
    ----------
    name : str
    mass : float
        Positive [kg].
    inertia : float
        Moment about the centre of mass, positive [kg m^2].
    position : sequence of 2 floats
        Guess of the initial position of the centre of mass [m].
    angle : float
        Guess of the initial angle from the global x-axis [rad].
    velocity : sequence of 2 floats or None, optional
        Initial velocity of the centre of mass [m/s]; what is `None` is free.
    omega : float, optional
        Initial angular velocity [rad/s]; `None` leaves it free.

    Examples
    --------
    >>> PlanarBody("bar", mass=1.0, inertia=0.1, position=(0.5, 0), angle=0.2).angle
    0.2
    """

    name: str
    mass: float
    inertia: float
    position: tuple[float, ...] = (0.0, 0.0)
    angle: float = 0.0
    velocity: tuple[float | None, ...] | None = None
    omega: float | None = None

    def __post_init__(self) -> None:
        owner = _begin(self, "planar body")
        _set(self, "mass", checks.positive(self.mass, owner, "mass"))
        _set(self, "inertia", checks.positive(self.inertia, owner, "inertia"))
        _set(self, "position", checks.vector(self.position, 2, owner, "position"))
        _set(self, "angle", checks.number(self.angle, owner, "angle"))
        _set_optional(self, "velocity", 2, owner)
        if self.omega is not None:
            _set(self, "omega", checks.number(self.omega, owner, "omega"))


@dataclass(frozen=True)
class RigidBody:
    """Rigid body with coordinates `(r, p)`: centre of mass (3) and unit quaternion (4), velocities `(rdot, omega)`.

    Parameters
    ----------
    name : str
    mass : float
        Positive [kg].
    inertia : sequence of 3 floats or 3x3 matrix
        About the centre of mass in body axes, positive definite [kg m^2].
    position : sequence of 3 floats
        Guess of the initial centre of mass [m].
    orientation : sequence of 4 floats or 3x3 matrix
        Guess of the initial orientation: unit quaternion (scalar first) or rotation matrix, body to global.
    velocity : sequence of 3 floats or None, optional
        Initial velocity of the centre of mass [m/s]; what is `None` is free.
    omega : sequence of 3 floats or None, optional
        Initial angular velocity, body-fixed components [rad/s]; what is `None` is free.
    any_inertia : bool
        Accept a principal moment of inertia that is larger than the sum of the others. No body has such moments by itself, but parts may
        have them into which one body is divided.

    Examples
    --------
    >>> RigidBody("rod", mass=1.0, inertia=(1e-4, 0.083, 0.083), position=(0.5, 0, 0)).position
    (0.5, 0.0, 0.0)
    """

    name: str
    mass: float
    inertia: tuple[Any, ...]  # nine numbers once it is made
    position: tuple[float, ...] = (0.0, 0.0, 0.0)
    orientation: tuple[Any, ...] = (1.0, 0.0, 0.0, 0.0)
    velocity: tuple[float | None, ...] | None = None
    omega: tuple[float | None, ...] | None = None
    any_inertia: bool = False

    def __post_init__(self) -> None:
        owner = _begin(self, "rigid body")
        _set(self, "mass", checks.positive(self.mass, owner, "mass"))
        _set(self, "inertia", checks.inertia(self.inertia, owner, checks.switch(self.any_inertia, owner, "any_inertia")))
        _set(self, "position", checks.vector(self.position, 3, owner, "position"))
        _set(self, "orientation", rotations.orientation(self.orientation, owner))
        _set_optional(self, "velocity", 3, owner)
        _set_optional(self, "omega", 3, owner)


Body = Particle | PlanarBody | RigidBody


def _begin(body: "Body", kind: str) -> str:
    checks.name(body.name, kind)
    if body.name == GROUND:
        raise ValueError(f"{kind} {GROUND!r}: this name is kept for the fixed frame; choose another")
    return f"{kind} {body.name!r}"


def _set(body: "Body", field: str, value: object) -> None:
    object.__setattr__(body, field, value)


def _set_optional(body: "Body", field: str, n: int, owner: str) -> None:
    value = getattr(body, field)
    if value is not None:
        _set(body, field, checks.partial(value, n, owner, field))
