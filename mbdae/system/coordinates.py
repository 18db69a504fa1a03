"""Coordinates of the bodies: where they stand in `q` and `v`, and their initial values as the user gives them."""

from typing import NamedTuple

import numpy as np

from ..model.bodies import Body, Particle, PlanarBody, RigidBody
from ..typing import Vector


class Guess(NamedTuple):
    """Initial positions and velocities as they were given."""

    q: Vector
    v: Vector


class Coordinates(NamedTuple):
    """Slices of `q` and `v`."""

    q: slice
    v: slice


def position_of(body: Body) -> tuple[float, ...]:
    """Guess of one body's coordinates."""
    if isinstance(body, PlanarBody):
        return *body.position, body.angle
    return (*body.position, *body.orientation) if isinstance(body, RigidBody) else body.position


def velocity_of(body: Body) -> Vector:
    """Given velocities of one body; NaN where there are none."""
    sizes = {"velocity": 2 if isinstance(body, PlanarBody) else 3, "omega": 3 if isinstance(body, RigidBody) else 1}
    names = ("velocity",) if isinstance(body, Particle) else ("velocity", "omega")
    given = [np.full(sizes[name], np.nan) if getattr(body, name) is None else np.ravel(getattr(body, name)) for name in names]
    return np.concatenate(given).astype(float)  # None becomes NaN
