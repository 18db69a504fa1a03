"""Names of bodies beside them in a drawing, where they cover neither each other nor, if possible, lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..model.geometry import Picture
from ..typing import Matrix, Vector
from .figures import COLOURS

SIZE = 7.0  # of the text [points]
DISTANCES = (5.0, 12.0, 22.0)  # of a name from its body [points]
DIRECTIONS = np.array([(np.cos(a), np.sin(a)) for a in np.linspace(0.0, 2.0 * np.pi, 12, endpoint=False)])
SPACING = 4.0  # of the points on lines that names should not cover [dots]
CHARACTER = (0.6, 1.15)  # width and height of a character in units of the size of the text


class _Box(NamedTuple):
    """The room of a text: centre and half the size [dots]."""

    centre: Vector
    half: Vector

    def overlaps(self, other: _Box) -> bool:
        return bool((np.abs(self.centre - other.centre) < self.half + other.half).all())


def name_bodies(axes: Any, pictures: Sequence[Picture], view: str) -> None:
    """Write the names of the bodies beside the last of the pictures drawn; those without room are left out, smaller bodies first.

    Parameters
    ----------
    axes : matplotlib Axes
    pictures : sequence of Picture
        All that are drawn; without names nothing is written.
    view : str
    """
    picture = pictures[-1]
    if not picture.names:
        return
    figure = axes.figure
    figure.draw_without_rendering()  # settles the layout
    lines = [_dots(axes, x, view) for p in pictures for x in (*p.bodies, *p.rods, *p.springs)]
    covered = np.concatenate([_sampled(line) for line in lines])
    own = [_dots(axes, x, view) for x in picture.bodies]
    frame = axes.get_window_extent()
    placed: list[_Box] = []
    for k in sorted(range(len(own)), key=lambda k: -float(np.ptp(own[k], axis=0).max())):
        box = _place(own[k], _half(picture.names[k], figure.dpi), covered, placed, figure.dpi)
        if box is not None and frame.x0 < box.centre[0] < frame.x1 and frame.y0 < box.centre[1] < frame.y1:
            placed.append(box)
            _write(axes, box, picture.names[k], COLOURS[k % len(COLOURS)], view)


def _dots(axes: Any, points: Matrix, view: str) -> Matrix:
    """Points on the screen, shape (n, 2)."""
    if view == "3d":
        from mpl_toolkits.mplot3d import proj3d

        x, y, _ = proj3d.proj_transform(*np.asarray(points).T, axes.get_proj())
    else:
        x, y = (np.asarray(points)[:, "xyz".index(c)] for c in view)
    found: Matrix = axes.transData.transform(np.column_stack([x, y]))
    return found


def _sampled(line: Matrix) -> Matrix:
    """Points on a line at small distances."""
    if len(line) < 2:
        return line
    counts = np.ceil(np.linalg.norm(np.diff(line, axis=0), axis=1) / SPACING).astype(int) + 1
    return np.concatenate([a + np.linspace(0.0, 1.0, n)[:, None] * (b - a) for a, b, n in zip(line[:-1], line[1:], counts)])


def _half(name: str, dpi: float) -> Vector:
    return 0.5 * SIZE * dpi / 72.0 * np.array([CHARACTER[0] * len(name) + 0.4, CHARACTER[1]])


def _place(line: Matrix, half: Vector, covered: Matrix, placed: Sequence[_Box], dpi: float) -> _Box | None:
    """The room beside a body that covers fewest points, or `None` if every one is taken."""
    best, least = None, np.inf
    for n, anchor in enumerate(_anchors(line)):
        for distance in DISTANCES:
            for direction in DIRECTIONS:
                box = _Box(anchor + direction * (half * np.abs(direction) + distance * dpi / 72.0), half)
                cost = 10.0 * _covers(box, covered) + distance + n
                if cost < least and not any(box.overlaps(other) for other in placed):
                    best, least = box, cost
    return best


def _anchors(line: Matrix) -> Matrix:
    """The middle of the longest part of a body, then its first points."""
    if len(line) < 2:
        return line
    longest = int(np.linalg.norm(np.diff(line, axis=0), axis=1).argmax())
    return np.vstack([0.5 * (line[longest] + line[longest + 1]), line[:3]])


def _covers(box: _Box, points: Matrix) -> int:
    return int((np.abs(points - box.centre) < box.half + 2.0).all(axis=1).sum())


def _write(axes: Any, box: _Box, name: str, colour: str, view: str) -> None:
    from matplotlib import patheffects

    x, y = axes.transAxes.inverted().transform(box.centre)
    text = axes.text2D if view == "3d" else axes.text
    text(x, y, name, transform=axes.transAxes, fontsize=SIZE, color=colour, ha="center", va="center", zorder=10,
         path_effects=[patheffects.withStroke(linewidth=2.0, foreground="white")])
