"""Mechanisms drawn on Matplotlib's axes, in the plane or in space."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from ..system.system import System
from ..typing import ArrayLike, Matrix, Vector
from .figures import COLOURS, GREY
from .viewpoint import Shape

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DARK = "#333333"
MANY = 40  # points of joints, of which the marks are smaller
TEETH = 8  # of the zigzag of a spring
ELEVATION, AZIMUTH = 22.0, -58.0  # of the viewer in space [degrees]
ABOVE, BELOW, TITLE = 0.5, 0.06, 0.1  # margins of figures in space, and from their top to that of the title [inches]


class Drawing:
    """A mechanism on axes, moved by `show(t, q)`.

    Bodies are lines from their centre of mass to the attachment points of joints, drivers and springs, which are circles; points of the
    ground are triangles, rods thin dark lines, springs zigzags. A body without attachment points is a square, a particle a disc.

    Parameters
    ----------
    system : System
        Of a `Mechanism`, or of functions with a `picture`.
    axes : matplotlib Axes
        With `projection="3d"` for the view `"3d"`.
    view : str
        Two of the letters x, y, z, the horizontal axis first; or `"3d"`.
    size : float
        Size of the scene [m]; the width of springs follows from it.
    alpha : float
    geometry : object, optional
        With `at(t, q) -> Picture`; by default that of the system.

    Raises
    ------
    ValueError
        If the view is unknown, or the system has no geometry.
    """

    def __init__(self, system: System, axes: Any, view: str, size: float = 1.0, alpha: float = 1.0, geometry: Shape | None = None) -> None:
        self.geometry, self.view, self.size = geometry_of(system) if geometry is None else geometry, checked_view(view), size
        self.axes = axes
        draw = {"alpha": alpha, "solid_capstyle": "round"}
        first = self.geometry.at(0.0, system.initial_guess()[0])
        self._viewer = towards_viewer(view, first.up)
        self._bodies = [self._line(color=body_colour(k), linewidth=4.0, zorder=3, **_point_like(line, k in first.particles), **draw)
                        for k, line in enumerate(first.bodies)]
        self._rods = [self._line(color=DARK, linewidth=1.3, zorder=2, **draw) for _ in first.rods]
        self._springs = [self._line(color=DARK, linewidth=0.9, zorder=2, **draw) for _ in first.springs]
        dots = {"linestyle": "none", "alpha": alpha}
        self._ground = self._line(color=GREY, marker=6, markersize=10, zorder=1, **dots)
        dot = 4.6 if len(first.joints) < MANY else 2.6
        self._joints = self._line(color=DARK, marker="o", markersize=dot, markerfacecolor="white", markeredgewidth=1.0, zorder=5, **dots)
        self._centres = self._line(color=DARK, marker=".", markersize=3.0, zorder=4, **dots)

    def _line(self, **properties: Any) -> Any:
        return self.axes.plot(*([[]] * (3 if self.view == "3d" else 2)), **properties)[0]

    def show(self, t: float, q: Vector) -> None:
        """Draw the positions `q` at the time `t`."""
        p = self.geometry.at(t, q)
        for line, points in zip(self._bodies, p.bodies):
            self._put(line, points)
        for line, ends in zip(self._rods, p.rods):
            self._put(line, ends)
        for line, ends in zip(self._springs, p.springs):
            self._put(line, zigzag(ends, 0.025 * self.size, self._viewer))
        self._put(self._ground, p.ground)
        self._put(self._joints, p.joints)
        self._put(self._centres, np.delete(p.centres, p.particles, axis=0))

    def _put(self, line: Any, points: ArrayLike) -> None:
        put(line, points, self.view)


def put(line: Any, points: ArrayLike, view: str) -> None:
    """Set the points of a line, shape (n, 3)."""
    if view == "3d":
        line.set_data_3d(*np.asarray(points).T)
    else:
        line.set_data(*project(points, view))


def project(points: ArrayLike, view: str) -> Matrix:
    """Two coordinates of points in space, shape (2, n)."""
    return np.asarray(points)[:, ["xyz".index(c) for c in view]].T


def checked_view(view: str) -> str:
    """The view, if it is valid."""
    if view != "3d" and not (len(view) == 2 and set(view) <= set("xyz") and view[0] != view[1]):
        raise ValueError(f"view must be two of the axes x, y, z, e.g. 'xz', or '3d', got {view!r}")
    return view


def geometry_of(system: System) -> Shape:
    """The geometry of a system."""
    if system.geometry is None:
        raise ValueError(f"{system.name} is a system of user functions without a picture; give System.from_functions a `picture`")
    return system.geometry


def body_colour(k: int) -> str:
    """Colour of the k-th body."""
    return COLOURS[k % len(COLOURS)]


def _point_like(line: Matrix, particle: bool) -> dict[str, Any]:
    """Markers of bodies without attachment points: a square, for a particle a disc."""
    if len(line) > 1:
        return {}
    return {"marker": "o", "markersize": 7.5, "markeredgewidth": 0.0} if particle else {"marker": "s", "markersize": 9.0}


def zigzag(ends: Sequence[Vector] | Matrix, width: float, viewer: Vector) -> Matrix:
    """A zigzag between two points, with straight ends, in a plane perpendicular to the direction `viewer`."""
    a, b = ends
    axis = b - a
    normal = np.cross(axis, viewer)
    if np.linalg.norm(normal) < 1e-9 * (1.0 + np.linalg.norm(axis)):
        normal = np.cross(axis, (1.0, 0.0, 0.0))
    normal = normal / (np.linalg.norm(normal) or 1.0)
    share = np.concatenate([[0.0, 0.15], np.linspace(0.15, 0.85, 2 * TEETH + 1)[1::2], [0.85, 1.0]])
    side = np.concatenate([[0.0, 0.0], (-1.0) ** np.arange(TEETH), [0.0, 0.0]])
    return a + share[:, None] * axis + width * side[:, None] * normal


def towards_viewer(view: str, up: str = "z") -> Vector:
    """Unit vector towards the viewer; in space the axis `up` is vertical."""
    if view == "3d":
        e, a = np.radians((ELEVATION, AZIMUTH))
        return np.roll((np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)), "xyz".index(up) - 2)
    x = np.zeros(3)
    x[3 - sum("xyz".index(c) for c in view)] = 1.0
    return x


def towards_front(view: str) -> Vector:
    """Unit vector towards a viewer who sees the first axis of a plane to the right and the second one upwards."""
    right, up = (np.eye(3)["xyz".index(c)] for c in view)
    return np.cross(right, up)


def scene(geometry: Shape, times: Vector, positions: Matrix, view: str) -> tuple[Matrix, float]:
    """Limits of the axes, shape (2 or 3, 2), that contain all positions with a margin; and the size of the scene."""
    points = np.concatenate([geometry.at(t, q).points for t, q in zip(times, positions)])
    shown = points.T if view == "3d" else project(points, view)
    lo, hi = shown.min(axis=1), shown.max(axis=1)
    size = float((hi - lo).max()) or 1.0
    least = 0.2 * size if view == "3d" else 0.12 * size
    middle, half = 0.5 * (lo + hi), np.maximum(0.5 * (hi - lo), least) + 0.09 * size
    return np.stack([middle - half, middle + half], axis=1), size


def prepared_axes(figure: Figure, limits: Matrix, view: str, up: str = "z", before: str = "", below: float = BELOW) -> Any:
    """Axes of equal scale with the given limits and labels with the prefix `before`; in space the axis `up` is vertical.

    `below`: the margin below a box in space [inches].
    """
    label = {f"{c}label": f"{before}{name}  [m]" for c, name in zip("xyz", "xyz" if view == "3d" else view)}
    if view == "3d":
        figure.set_layout_engine("none")
        axes: Any = figure.add_axes((0.0, 0.03, 0.94, 0.91), projection="3d")
        axes.set(xlim=limits[0], ylim=limits[1], zlim=limits[2], **label)
        axes.view_init(elev=ELEVATION, azim=AZIMUTH, vertical_axis=up)  # first: the proportions are stored relative to the vertical axis
        axes.set_box_aspect(limits[:, 1] - limits[:, 0], zoom=0.88)
        axes.locator_params(nbins=4)
        for pane in (axes.xaxis, axes.yaxis, axes.zaxis):
            pane.set_pane_color("#F7F7F7")
        _cut_margins(figure, axes, limits, below)
        return axes
    axes = figure.add_subplot()
    axes.set(xlim=limits[0], ylim=limits[1], aspect="equal", **label)
    return axes


def _cut_margins(figure: Figure, axes: Any, limits: Matrix, below: float) -> None:
    """Reduce the height of a figure in space to that of its box and labels: Matplotlib's axes are square, whatever the box."""
    from mpl_toolkits.mplot3d import proj3d

    figure.draw_without_rendering()  # places the labels
    corners = np.array(list(product(*limits))).T
    x, y, _ = proj3d.proj_transform(*corners, axes.get_proj())
    labels = [axis.get_tightbbox() for axis in (axes.xaxis, axes.yaxis, axes.zaxis)]
    dots = [*axes.transData.transform(np.column_stack([x, y]))[:, 1], *(end for box in labels for end in (box.y0, box.y1))]
    low, high = min(dots) / figure.dpi, max(dots) / figure.dpi
    width, old = figure.get_size_inches()
    new = 0.02 * math.ceil((high - low + ABOVE + below) / 0.02)  # an even number of dots in animations
    left, bottom, w, h = axes.get_position(original=True).bounds
    figure.set_size_inches(width, new)
    axes.set_position((left, (bottom * old - low + below) / new, w, h * old / new))


def top(axes: Any) -> float:
    """Height of a title above a box in space, in coordinates of the axes."""
    _, bottom, _, h = axes.get_position(original=True).bounds
    return float((1.0 - TITLE / axes.figure.get_figheight() - bottom) / h)


def put_title(axes: Any, text: str, view: str, **where: Any) -> None:
    """Write a title; in space at the top of the figure."""
    if view == "3d":
        where |= {"y": top(axes), "pad": 0.0, "va": "top"}
    written = axes.set_title(text, color="#222222", **where)
    if view == "3d":
        written.set_y(top(axes))  # Matplotlib has multiplied it by 0.92


def size_of_figure(limits: Matrix, view: str, longest: float = 5.6) -> tuple[float, float]:
    """Width and height of the figure in inches."""
    if view == "3d":
        return longest, 0.92 * longest
    width, height = limits[:, 1] - limits[:, 0]
    scale = (longest - 0.9) / max(width, height)
    return max(scale * width, 2.9) + 0.9, max(scale * height, 1.3) + 0.8
