"""Animations as objects, which notebooks show."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from ..model.bodies import PlanarBody
from ..results.solution import Solution
from .animate import animate
from .canvas import geometry_of

FLAT = 1e-6  # extent of a plane motion perpendicular to it, relative to its size


class Film:
    """An animation as `solution.animate()` returns it.

    Attributes
    ----------
    path : Path or None
        Its file, if it was written to one.
    frames : int
    """

    def __init__(self, content: bytes, ending: str, frames: int, path: Path | None = None) -> None:
        self._content, self._ending, self.frames, self.path = content, ending, frames, path

    def save(self, path: str | Path) -> None:
        """Write it to a file of the same ending."""
        if Path(path).suffix.lower() != self._ending:
            raise ValueError(f"this animation must be written to a file that ends in {self._ending}, got {str(path)!r}")
        Path(path).write_bytes(self._content)

    def __repr__(self) -> str:
        where = "shown in notebooks; film.save('run.gif') writes it" if self.path is None else str(self.path)
        return f"<Film, {self.frames} frames, {len(self._content) / 1e6:.2g} MB: {where}>"

    def _repr_html_(self) -> str:
        data = b64encode(self._content).decode()
        if self._ending == ".mp4":
            return f'<video controls loop src="data:video/mp4;base64,{data}"></video>'
        return f'<img alt="animation" src="data:image/gif;base64,{data}">'


def film(solution: Solution, path: str | Path | None = None, *, view: str | None = None, fps: int = 25, speed: float = 1.0,
         trail: float = 1.0, title: str | None = None) -> Film:
    """See `Solution.animate`."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "film.gif" if path is None else Path(path)
        frames = animate(solution, file, view=view or usual_view(solution), fps=fps, speed=speed, trail=trail, title=title)
        return Film(file.read_bytes(), file.suffix.lower(), frames, None if path is None else file)


def usual_view(solution: Solution) -> str:
    """The plane in which all of a mechanism moves, the vertical axis second, or `"3d"`."""
    geometry = geometry_of(solution.system)
    m = solution.system.mechanism
    if m is not None and all(isinstance(b, PlanarBody) for b in m.bodies):
        return "xy"
    some = np.unique(np.linspace(0, len(solution.t) - 1, 12).round().astype(int))
    pictures = [geometry.at(solution.t[k], solution.q[k]) for k in some]
    extent = np.ptp(np.concatenate([p.points for p in pictures]), axis=0)
    if extent.min() > FLAT * extent.max():
        return "3d"
    plane = "xyz".replace("xyz"[int(extent.argmin())], "")
    return plane[::-1] if pictures[0].up == plane[0] else plane
