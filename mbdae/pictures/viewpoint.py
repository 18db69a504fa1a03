"""Geometry as it is seen: from the middle of what flies far away, or with small displacements magnified."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from ..model.geometry import Picture
from ..typing import Matrix, Vector


class Shape(Protocol):
    """What draws a system."""

    def at(self, t: float, q: Vector) -> Picture:
        """The picture at the positions `q`."""


FAR_AWAY = 12.0  # sizes of the mechanism that its middle travels, beyond which it is shown from its middle
LOOKS = 24  # instants at which this is looked at

_PARTS = ("centres", "joints", "ground")
_LINES = ("bodies", "rods", "springs")


class Followed:
    """A geometry seen from the middle of its centres of mass, in axes that do not turn.

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
    """A geometry whose displacements from a first picture are shown larger than they are.

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
    """What stands before the names of coordinates."""
    return getattr(geometry, "prefix", "")


def followed(geometry: Shape, times: Vector, positions: Matrix) -> Shape:
    """The geometry itself, or seen from its middle if that travels so far that nothing could be recognised."""
    some = np.unique(np.linspace(0, len(times) - 1, LOOKS).round().astype(int))
    pictures = [geometry.at(times[k], positions[k]) for k in some]
    if any(len(p.ground) for p in pictures) or not len(pictures[0].centres):
        return geometry
    middles = np.array([p.centres.mean(axis=0) for p in pictures])
    size = max(float(np.ptp(p.points, axis=0).max()) for p in pictures)
    return Followed(geometry) if np.ptp(middles, axis=0).max() > FAR_AWAY * size > 0.0 else geometry


def _mapped(picture: Picture, function: Callable[[Any, str, int | None], Any]) -> Picture:
    """A picture whose points are changed by `function(points, name of the part, number in it or None)`."""
    parts: dict[str, Any] = {name: function(getattr(picture, name), name, None) for name in _PARTS}
    lines: dict[str, Any] = {name: [function(x, name, k) for k, x in enumerate(getattr(picture, name))] for name in _LINES}
    return replace(picture, **parts, **lines)
