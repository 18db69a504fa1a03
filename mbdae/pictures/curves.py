"""The data behind a figure, as a file beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ENDING = ".curves.csv"


class Point(NamedTuple):
    """A point of a curve in a panel of a figure."""

    panel: str
    curve: str
    x: float
    y: float


def points(figure: Figure) -> list[Point]:
    """Points of all curves, step lines and markers that a figure shows, in data coordinates; lines across a whole panel are left out."""
    found = []
    for k, axis in enumerate(figure.axes):
        panel = axis.get_title(loc="left") or axis.get_title() or f"panel {k + 1}"
        for n, (label, x, y) in enumerate(_curves(axis)):
            name = f"curve {n + 1}" if label.startswith("_") or not label else label
            found += [Point(panel, name, float(a), float(b)) for a, b in zip(x, y)]
    return found


def _curves(axis: Axes) -> Iterator[tuple[str, Any, Any]]:
    for line in axis.lines:
        if line.get_transform() == axis.transData:
            x, y = np.broadcast_arrays(np.asarray(line.get_xdata(), dtype=float), np.asarray(line.get_ydata(), dtype=float))
            yield str(line.get_label()), x, y
    for patch in axis.patches:
        if hasattr(patch, "get_data"):  # `stairs`
            values, edges, _ = patch.get_data()
            yield str(patch.get_label()), edges[:-1], values
    for group in axis.collections:
        place = np.ma.getdata(group.get_offsets())
        if len(place) > 1:
            yield str(group.get_label()), place[:, 0], place[:, 1]


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure as `mbdae.pictures.figures.save` does, and its curves beside it as CSV: panel, curve, x, y.

    Raises
    ------
    ValueError
        If Matplotlib does not know the suffix.
    """
    figures.save(figure, path)
    lines = ["panel,curve,x,y"] + [f"{_quoted(p.panel)},{_quoted(p.curve)},{p.x!r},{p.y!r}" for p in points(figure)]
    Path(path).with_suffix(ENDING).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""').replace("\n", " ") + '"'
