"""Common style of all figures: colours distinguishable to colour-blind readers, markers, sizes, fonts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito, without the yellow
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C564B")
MARKERS = {"o": 5.6, "s": 5.2, "^": 6.4, "D": 4.8, "v": 6.4, "P": 6.6, "X": 6.4, "*": 8.4}  # with sizes of equal appearance
GREY = "#6E6E6E"
RESOLUTION = 200

_STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "mathtext.fontset": "dejavusans",
    "axes.labelsize": 9,
    "axes.titlesize": 9.5,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#333333",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.6,
    "xtick.direction": "out",
    "ytick.direction": "out",
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "xtick.minor.size": 1.8,
    "xtick.minor.width": 0.5,
    "ytick.minor.size": 0,
    "lines.linewidth": 1.4,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "legend.handlelength": 2.4,
}


@contextmanager
def style() -> Iterator[None]:
    """A context with the Matplotlib settings of all figures."""
    import matplotlib

    with matplotlib.rc_context(_STYLE):
        yield


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of `width` x `height` inches without a window."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=RESOLUTION, layout="constrained")


def look(k: int) -> dict[str, Any]:
    """Colour and marker of the k-th curve."""
    marker, size = list(MARKERS.items())[k % len(MARKERS)]
    return {"color": COLOURS[k % len(COLOURS)], "marker": marker, "markersize": size, "markeredgecolor": "white", "markeredgewidth": 0.5}


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure; the suffix of the path determines the format.

    Raises
    ------
    ValueError
        If Matplotlib does not know the suffix.
    """
    ending, known = Path(path).suffix.lstrip(".").lower(), figure.canvas.get_supported_filetypes()
    if ending not in known:
        raise ValueError(f"cannot write a figure as {str(path)!r}; the ending must be one of {', '.join(sorted(known))}")
    with style():
        if ending == "png" and _is_placed(figure):
            from matplotlib.backends.backend_agg import FigureCanvasAgg

            canvas: Any = FigureCanvasAgg(figure)
            canvas.print_png(path)  # `savefig` draws twice, for the layout
        else:
            figure.savefig(path, dpi=RESOLUTION)


def place(figure: Figure) -> None:
    """Fix the places of the panels, which Matplotlib otherwise computes anew, and at length, whenever the figure is drawn."""
    layout = figure.get_layout_engine()
    if layout is not None:
        layout.execute(figure)
        figure.set_layout_engine("none")


def _is_placed(figure: Figure) -> bool:
    from matplotlib.layout_engine import PlaceHolderLayoutEngine

    return figure.dpi == RESOLUTION and isinstance(figure.get_layout_engine(), PlaceHolderLayoutEngine)
