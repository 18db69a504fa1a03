"""A mechanism at several times in one figure."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..results.solution import Solution
from ..typing import Integers, Vector
from .canvas import DARK, body_colour, checked_view, geometry_of, prepared_axes, put, put_title, scene, size_of_figure
from .canvas import Drawing as Drawing
from .figures import new_figure, style
from .legend import legend_below
from .naming import name_bodies
from .viewpoint import MAX_TRAVEL, MAX_TRAVEL_ALONE, Magnified, followed, prefix

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CHARACTER_WIDTH = 0.078  # of a title [inches]
PALEST = 0.18  # opacity of the first position
KEY = 0.3  # height of a row of the key in space [inches]


def plot_positions(solution: Solution, view: str = "xy", instants: int | Sequence[int] | Integers = 6, title: str | None = None,
                   magnify: float = 1.0) -> Figure:
    """A mechanism at several times in one figure, later ones darker, with the paths of the centres of mass and the names of the bodies.

    A key below says which time is how dark. A mechanism that travels very far is drawn relative to its centre.

    Parameters
    ----------
    solution : Solution
    view : str
        Two of the letters x, y, z, or `"3d"`.
    instants : int or sequence of int
        Number of stored points shown, equidistant, or their indices.
    title : str, optional
    magnify : float
        Factor on the displacements from the first point.

    Returns
    -------
    matplotlib.figure.Figure
    """
    at = np.linspace(0, len(solution.t) - 1, instants).round().astype(int) if isinstance(instants, int) else np.asarray(instants)
    at = np.unique(at)
    geometry = followed(geometry_of(solution.system), solution.t, solution.q, MAX_TRAVEL if len(at) > 1 else MAX_TRAVEL_ALONE)
    if magnify != 1.0:
        geometry = Magnified(geometry, solution.t[0], solution.q[0], magnify)
    some = slice(None, None, max(1, len(solution.t) // 200))
    limits, size = scene(geometry, solution.t[some], solution.q[some], checked_view(view))
    with style():
        figure = new_figure(*size_of_figure(limits, view))
        axes = prepared_axes(figure, limits, view, geometry.at(solution.t[0], solution.q[0]).up, prefix(geometry), KEY)
        paths = np.array([geometry.at(t, q).centres for t, q in zip(solution.t, solution.q)])
        for k in range(paths.shape[1]):
            put(axes.plot(*([[]] * (3 if view == "3d" else 2)), color=body_colour(k), linewidth=0.8, alpha=0.6)[0], paths[:, k], view)
        opacity = np.linspace(PALEST, 1.0, len(at)) if len(at) > 1 else np.ones(1)
        for alpha, k in zip(opacity, at):
            Drawing(solution.system, axes, view, size, alpha, geometry).show(solution.t[k], solution.q[k])
        if title:
            put_title(axes, _broken(title, figure.get_figwidth()), view)
        _explain(figure, solution.t[at], opacity, view)
        name_bodies(axes, [geometry.at(solution.t[k], solution.q[k]) for k in at], view)
    return figure


def _explain(figure: Figure, times: Vector, opacity: Vector, view: str) -> None:
    """The key of times and paths, below the axes."""
    from matplotlib.lines import Line2D

    made: list[tuple[Any, str]] = [(Line2D([], [], color=DARK, alpha=x, linewidth=4.0), f"{t:.3g} s") for t, x in zip(times, opacity)]
    made.append((Line2D([], [], color=DARK, alpha=0.6, linewidth=0.8), "paths of centres"))
    handles, labels = zip(*made)
    look: dict[str, Any] = {"fontsize": 7, "handlelength": 1.4, "columnspacing": 1.1, "handletextpad": 0.5}
    if view == "3d":
        figure.legend(handles, labels, loc="lower center", ncols=len(made), borderaxespad=0.1, **look)
    else:
        legend_below(figure, handles, labels, **look)


def _broken(title: str, width: float) -> str:
    """A title wrapped to the width of a figure in inches, preferably between its parts."""
    most, lines = max(16, int(width / CHARACTER_WIDTH)), [""]
    for part in title.split(",  "):
        joined = f"{lines[-1]},  {part}".removeprefix(",  ")
        lines = [*lines[:-1], joined] if len(joined) <= most or not lines[-1] else [*lines, part]
    return "\n".join(short for line in lines for short in textwrap.wrap(line, most, replace_whitespace=False))
