"""Transformed geometry: relative to the centre of a mechanism that travels far, or with magnified displacements."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from ..model.geometry import Picture
from ..typing import Matrix, Vector


class Shape(Protocol):
    """Geometry of a system."""

    def at(self, t: float, q: Vector) -> Picture:
        """The picture at the positions `q`."""


# Travel of the centre in sizes of the mechanism, beyond which the mechanism is drawn relative to it: in pictures of several positions,
# which show the travel, in animations, whose frames show one position that should not be small, and in pictures of one position.
MAX_TRAVEL, MAX_TRAVEL_ANIMATED, MAX_TRAVEL_ALONE = 12.0, 3.0, 0.2
SAMPLES = 24  # times at which the travel is measured

_PARTS = ("centres", "joints", "ground")
_LINES = ("bodies", "rods", "springs")


class Followed:
    """A geometry relative to the mean of its centres of mass, in axes of fixed direction.

    Parameters
    ----------
    geometry : object
        With `at(t, q) -> Picture`.
    """

    prefix = "\u0394"  # of the names of coordinates

    def __init__(self, geometry: Shape) -> None:
        self._geometry = geometry

    def at(self, t: float, q: Vector) -> Picture:
        """The picture at the positions `q`."""
        picture = self._geometry.at(t, q)
        middle = picture.centres.mean(axis=0)
        return _mapped(picture, lambda x, part, k: x - middle)


class Magnified:
    """A geometry with magnified displacements from a first picture.

    Parameters
    ----------
    geometry : object
        With `at(t, q) -> Picture`.
    t, q : float, ndarray
        Of the first picture.
    factor : float
    """

    def __init__(self, geometry: Shape, t: float, q: Vector, factor: float) -> None:
        self._geometry, self._first, self.factor = geometry, geometry.at(t, q), factor
        self.prefix = prefix(geometry)

    def at(self, t: float, q: Vector) -> Picture:
        """The picture at the positions `q`."""

        def moved(x: Vector, part: str, k: int | None) -> Vector:
            old = getattr(self._first, part)
            return (old if k is None else old[k]) * (1.0 - self.factor) + self.factor * x

        return _mapped(self._geometry.at(t, q), moved)


def prefix(geometry: Shape) -> str:
    """Prefix of the names of coordinates."""
    return getattr(geometry, "prefix", "")


def followed(geometry: Shape, times: Vector, positions: Matrix, most: float = MAX_TRAVEL) -> Shape:
    """The geometry itself, or relative to its centre if that travels farther than `most` sizes of the mechanism."""
    some = np.unique(np.linspace(0, len(times) - 1, SAMPLES).round().astype(int))
    pictures = [geometry.at(times[k], positions[k]) for k in some]
    if any(len(p.ground) for p in pictures) or not len(pictures[0].centres):
        return geometry
    middles = np.array([p.centres.mean(axis=0) for p in pictures])
    size = max(float(np.ptp(p.points, axis=0).max()) for p in pictures)
    return Followed(geometry) if np.ptp(middles, axis=0).max() > most * size > 0.0 else geometry


def _mapped(picture: Picture, function: Callable[[Any, str, int | None], Any]) -> Picture:
    """The picture with its points mapped by `function(points, name of the part, index or None)`."""
    parts: dict[str, Any] = {name: function(getattr(picture, name), name, None) for name in _PARTS}
    lines: dict[str, Any] = {name: [function(x, name, k) for k, x in enumerate(getattr(picture, name))] for name in _LINES}
    return replace(picture, **parts, **lines)
