"""The picture of a mechanism of the library: its positions at some instants of a stretch of the usual time span that shows its motion."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..adapters.scipy import SolveIvp
from ..library import system as library_system
from ..library.base import Entry, Parameters
from ..pictures.drawing import geometry_of, plot_positions, project
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
SHARES = (1 / 64, 1 / 16, 1 / 4, 1.0)  # of the usual time span, tried one after the other
CROWDS = ((5, 1.3, 5), (8, 1.1, 4), (math.inf, 0.7, 3))  # up to so many bodies: way to be seen in sizes of the mechanism, instants
SMALL, VISIBLE = 0.04, 0.12  # displacements in sizes of the mechanism: magnified below the first, to at most the second
DOTS = 110  # per inch
COLOURS = 128


class NoPicture(RuntimeError):
    """A mechanism could not be moved."""


@dataclass(frozen=True)
class Stretch:
    """A part of a motion, and the stored points that show it.

    Attributes
    ----------
    solution : Solution
        From the start on.
    chosen : ndarray of int
        Stored points that lie equally far apart along the way of the fastest point.
    magnify : float
        How many times larger displacements must be shown to be seen.
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
    """As much of the usual motion as is needed to see it: a way of the fastest point of about the size of the mechanism."""
    for share in SHARES:
        solution = _moved(entry, system, share * entry.t_end)
        points, size = _seen(solution, entry.view)
        steps = np.linalg.norm(np.diff(points, axis=0), axis=2) / size
        ways = np.concatenate([np.zeros((1, steps.shape[1])), np.cumsum(steps, axis=0)])
        way = ways[:, ways[-1].argmax()]
        enough, instants = next((far, n) for most, far, n in CROWDS if _bodies(solution) <= most)
        if way[-1] >= enough:
            break
    n = min(max(int(np.searchsorted(way, enough)) + 1, 2), len(way))
    chosen = np.searchsorted(way[:n], np.linspace(0.0, way[n - 1], instants)).clip(0, n - 1)
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


def _moved(entry: Entry, system: System, t_end: float) -> Solution:
    """The motion until `t_end`, by an explicit method, or by implicit ones where forces are stiff."""
    times = np.linspace(0.0, t_end, POINTS)
    for name in ("Radau", "LSODA") if entry.stiff else ("DOP853", "Radau"):
        last: Solution = solve(system, SolveIvp(name), (0.0, t_end), formulation="ode", rtol=RTOL, atol=ATOL, t_eval=times)
        if last.success:
            return last
    raise NoPicture(f"{entry.name} cannot be moved to t = {t_end:g}: {last.message}")


def _seen(solution: Solution, view: str) -> tuple[Matrix, float]:
    """All points as they are seen at all instants, shape (times, points, 2 or 3), and the size of the mechanism."""
    geometry = followed(geometry_of(solution.system), solution.t, solution.q)
    seen = [geometry.at(t, q).points for t, q in zip(solution.t, solution.q)]
    points = np.array([p if view == "3d" else project(p, view).T for p in seen])
    return points, float(np.ptp(points, axis=1).max()) or float(np.ptp(points, axis=(0, 1)).max()) or 1.0


def save_small(figure: Figure, path: str | Path) -> None:
    """Write a figure as PNG with few colours.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    path : str or Path
    """
    from io import BytesIO

    from PIL import Image

    buffer = BytesIO()
    with style():
        figure.savefig(buffer, format="png", dpi=DOTS, bbox_inches="tight", pad_inches=0.06)
    buffer.seek(0)
    with Image.open(buffer) as image:
        small = image.convert("RGB").quantize(COLOURS, method=Image.Quantize.MEDIANCUT, kmeans=1, dither=Image.Dither.NONE)
        small.save(path, format="PNG", optimize=True)
