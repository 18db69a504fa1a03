"""The picture of a library mechanism: its positions at a few times within a part of the usual time span."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..adapters.scipy import SolveIvp
from ..library import system as library_system
from ..library.base import Entry, Parameters
from ..pictures.canvas import geometry_of, project
from ..pictures.drawing import plot_positions
from ..pictures.figures import style
from ..pictures.viewpoint import followed
from ..results.solution import Solution
from ..solve import solve
from ..system.system import System
from ..typing import Integers, Matrix

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RTOL, ATOL = 1e-5, 1e-7
POINTS = 241
SHARES = (1 / 64, 1 / 16, 1 / 4, 1.0)  # of the usual time span, tried in this order
# up to this number of bodies: length of path in sizes of the mechanism, times
PATHS = ((5, 1.3, 5), (8, 1.1, 3), (13, 0.7, 2), (math.inf, 0.7, 1))
SMALL, VISIBLE = 0.04, 0.12  # displacements in sizes of the mechanism: below the first magnified, to at most the second
RESOLUTION = 110  # dots per inch
COLOURS = 128


class NoPicture(RuntimeError):
    """The simulation of a mechanism failed."""


@dataclass(frozen=True)
class Stretch:
    """A part of a motion, and the stored points drawn.

    Attributes
    ----------
    solution : Solution
        From the initial time on.
    chosen : ndarray of int
        Indices of stored points, equidistant along the path of the fastest point.
    magnify : float
        Factor on the displacements that makes them visible.
    """

    solution: Solution
    chosen: Integers
    magnify: float


def portrait(entry: Entry, parameters: Parameters | None = None) -> Figure:
    """The picture of an entry.

    Parameters
    ----------
    entry : mbdae.library.Entry
    parameters : dict, optional

    Returns
    -------
    matplotlib.figure.Figure
    """
    shown = stretch(entry, library_system(entry.name, **(parameters or {})))
    title = f"{entry.title},  t = 0 ... {shown.solution.t[-1]:.3g} s"
    if shown.magnify > 1.0:
        title += f",  displacements x {shown.magnify:g}"
    return plot_positions(shown.solution, view=entry.view, instants=shown.chosen, title=title, magnify=shown.magnify)


def stretch(entry: Entry, system: System) -> Stretch:
    """The initial part of the usual motion in which the path of the fastest point is about as long as the mechanism."""
    for share in SHARES:
        solution = _simulated(entry, system, share * entry.t_end)
        points, size = _points_in_view(solution, entry.view)
        steps = np.linalg.norm(np.diff(points, axis=0), axis=2) / size
        lengths = np.concatenate([np.zeros((1, steps.shape[1])), np.cumsum(steps, axis=0)])
        path = lengths[:, lengths[-1].argmax()]
        wanted, instants = next((length, n) for most, length, n in PATHS if _bodies(solution) <= most)
        if path[-1] >= wanted:
            break
    n = min(max(int(np.searchsorted(path, wanted)) + 1, 2), len(path))
    chosen = np.searchsorted(path[:n], np.linspace(0.0, path[n - 1], instants)).clip(0, n - 1) if instants > 1 else np.array([n - 1])
    farthest = float(np.linalg.norm(points[:n] - points[0], axis=2).max()) / size
    for name in ("t", "q", "v", "a", "lam"):
        setattr(solution, name, getattr(solution, name)[:n])
    return Stretch(solution, np.unique(chosen), _round_down(VISIBLE / farthest) if 0.0 < farthest < SMALL else 1.0)


def _bodies(solution: Solution) -> int:
    return len(geometry_of(solution.system).at(solution.t[0], solution.q[0]).bodies)


def _round_down(x: float) -> float:
    """1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(x))
    return power * next(k for k in (5, 2, 1) if k * power <= x)


def _simulated(entry: Entry, system: System, t_end: float) -> Solution:
    """The motion until `t_end`, by an explicit method, or by implicit ones for stiff forces."""
    times = np.linspace(0.0, t_end, POINTS)
    for name in ("Radau", "LSODA") if entry.stiff else ("DOP853", "Radau"):
        last: Solution = solve(system, SolveIvp(name), (0.0, t_end), formulation="ode", rtol=RTOL, atol=ATOL, t_eval=times)
        if last.success:
            return last
    raise NoPicture(f"{entry.name}: no solution up to t = {t_end:g}: {last.message}")


def _points_in_view(solution: Solution, view: str) -> tuple[Matrix, float]:
    """All points in the view at all times, shape (times, points, 2 or 3), and the size of the mechanism."""
    geometry = followed(geometry_of(solution.system), solution.t, solution.q)
    seen = [geometry.at(t, q).points for t, q in zip(solution.t, solution.q)]
    points = np.array([p if view == "3d" else project(p, view).T for p in seen])
    return points, float(np.ptp(points, axis=1).max()) or float(np.ptp(points, axis=(0, 1)).max()) or 1.0


def save_small(figure: Figure, path: str | Path) -> None:
    """Write a figure as PNG with a palette of few colours.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    path : str or Path
    """
    from io import BytesIO

    from PIL import Image

    buffer = BytesIO()
    in_space = any(axes.name == "3d" for axes in figure.axes)  # square, whatever they show: such figures have no margins already
    with style():
        figure.savefig(buffer, format="png", dpi=RESOLUTION, bbox_inches=None if in_space else "tight", pad_inches=0.06)
    buffer.seek(0)
    with Image.open(buffer) as image:
        small = image.convert("RGB").quantize(COLOURS, method=Image.Quantize.MEDIANCUT, kmeans=1, dither=Image.Dither.NONE)
        small.save(path, format="PNG", optimize=True)
