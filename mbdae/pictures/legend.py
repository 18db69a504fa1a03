"""Legends that fit: in as many columns as the figure is wide, below or beside the axes, with a height of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARGIN = 0.15  # of the figure on either side [inches]


def legend_below(figure: Figure, handles: Sequence[Any] | None = None, labels: Sequence[str] | None = None, *, grow: bool = True,
                 **options: Any) -> Any:
    """A legend below all axes, in the largest number of columns that fits the width of the figure.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        With the constrained layout.
    handles, labels : sequence, optional
        By default those of all axes, each label once.
    grow : bool
        Whether the figure becomes higher by the height of the legend, so that the axes keep their size.
    **options
        Of `Figure.legend`, such as `title`.

    Returns
    -------
    matplotlib.legend.Legend or None
        `None` if there is nothing to explain.
    """
    found = _unique(figure) if handles is None else dict(zip(labels or [h.get_label() for h in handles], handles))
    if not found:
        return None
    room = figure.get_figwidth() - 2.0 * MARGIN
    for columns in range(len(found), 0, -1):
        made = figure.legend(list(found.values()), list(found), loc="outside lower center", ncols=columns, **options)
        width, height = _inches(figure, made)
        if width <= room or columns == 1:
            break
        made.remove()
    if grow:
        figure.set_figheight(figure.get_figheight() + height)
    return made


def _unique(figure: Figure) -> dict[str, Any]:
    """The handles of all axes by their labels."""
    found: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels()):
            found.setdefault(label, handle)
    return found


def _inches(figure: Figure, legend: Any) -> tuple[float, float]:
    """Width and height of a legend."""
    box = legend.get_window_extent()
    return box.width / figure.dpi, box.height / figure.dpi
