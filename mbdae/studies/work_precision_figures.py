"""Work-precision diagrams."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..pictures.figures import GREY, new_figure, place, style
from ..pictures.methods import looks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 2.75, 2.5  # of a panel [inch]
MAX_COLUMNS = 3
LABELLED = 8  # curves up to which every point is labelled with its step or tolerance, beyond only the ends
SIDES = ((1, 1), (1, -1), (-1, 1), (-1, -1))  # right or left, above or below, where a label is tried
POINT_SIZE = 2.5  # half the size of a marker [pt]
LINES = 7.2  # lines of a legend to an inch
PANELS = {"error_q": "error of $q$  [m, rad]", "error_v": "error of $v$  [m/s, rad/s]", "error_lam": r"error of $\lambda$  [N, N m]",
          "residual_position": r"constraint violation $|\Phi|$  [m, 1]", "energy_drift": "drift of energy / kinetic energy"}
LEAST = {"residual_position": 1e-17, "energy_drift": 1e-17}  # smaller values, zero included, are rounding and are drawn there
SUPERSCRIPTS = str.maketrans("-0123456789", "\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079")
Look = Mapping[str, Mapping[str, Any]]


class Row(Protocol):
    """One run, as `WorkPrecisionRow`."""

    @property
    def method(self) -> str:
        """Label."""
        ...

    @property
    def setting(self) -> float:
        """Step or relative tolerance."""
        ...

    @property
    def cpu(self) -> float | None:
        """Cost [s]."""
        ...

    @property
    def success(self) -> bool:
        """Whether it reached its end."""
        ...


def plot_work_precision(rows: Sequence[Row], title: str | None = None, cost: str = "cpu") -> Figure:
    """Errors of positions, velocities and multipliers, constraint violation and drift of energy against processor time.

    Points are labelled with their step or tolerance in the first panel, where there is room; for that the places of the panels are fixed.
    Solid lines stand for integrators of mbdae, dashed ones for established solvers; each method has the same colour and marker in all
    figures. Settings that failed stand in the legend.

    Parameters
    ----------
    rows : list of WorkPrecisionRow
    title : str, optional
    cost : {"cpu", "cpu_solve", "evaluations", "steps"}
        What is on the horizontal axis.

    Returns
    -------
    matplotlib.figure.Figure
    """
    fields = [f for f in PANELS if any(getattr(r, f) for r in rows)] or ["error_q"]
    labels = list(dict.fromkeys(r.method for r in rows))
    style_of = looks(labels)
    columns = min(MAX_COLUMNS, len(fields))
    lines = -(-len(fields) // columns)
    inside = lines * columns > len(fields)  # the legend takes the free panels
    entries = {name: _entry(name, [r for r in rows if r.method == name]) for name in labels}
    below = 0.0 if inside else (-(-len(labels) // columns)) / LINES
    with style():
        figure = new_figure(WIDTH * columns + 0.3, HEIGHT * lines + below + (0.25 if title else 0.0))
        axes = figure.subplots(lines, columns, squeeze=False).ravel()
        for axis, field in zip(axes, fields):
            axis.set(xlabel=COSTS[cost], ylabel=PANELS[field])
            _draw(axis, rows, field, cost, style_of)
        for axis in axes[len(fields):]:
            axis.axis("off")
        legend(figure, axes[len(fields)] if inside else None, entries, style_of, columns)
        if title:
            figure.suptitle(title, fontsize=10, color="#222222")
        if axes[0].has_data():
            place(figure)
            _label_points(axes[0], rows, fields[0], cost, style_of)
    return figure


COSTS = {"cpu": "processor time  [s]", "cpu_solve": "time of the whole call  [s]",
         "evaluations": "evaluations", "steps": "steps"}


def _entry(name: str, rows: Iterable[Row]) -> str:
    """The text of a legend, with the settings that failed."""
    rows = list(rows)
    if rows and all(getattr(r, "status", None) == "REFUSED" for r in rows):
        return f"{name}  (refused)"
    failed = ", ".join(_short(r.setting) for r in rows if not r.success)
    return f"{name}  (failed: {failed})" if failed else name


def _short(x: float) -> str:
    mantissa, exponent = f"{x:.1e}".split("e")
    return f"{mantissa.removesuffix('.0')}e{int(exponent)}"


def _points(rows: Sequence[Row], name: str, field: str, cost: str) -> list[tuple[float, float, float]]:
    """Cost, value and setting of the runs that succeeded."""
    runs = [r for r in rows if r.method == name and r.success and getattr(r, cost) and getattr(r, field) is not None]
    points = [(getattr(r, cost), max(getattr(r, field), LEAST.get(field, 0.0)), r.setting) for r in runs]
    return [p for p in points if p[1] > 0.0]


def _draw(axis: Axes, rows: Sequence[Row], field: str, cost: str, style_of: Look) -> None:
    for name, look in style_of.items():
        points = _points(rows, name, field, cost)
        if points:
            axis.loglog([p[0] for p in points], [p[1] for p in points], **look)
    if axis.has_data():
        few_ticks(axis)
    else:
        axis.set(xticks=[], yticks=[])
        axis.text(0.5, 0.5, "no run succeeded", transform=axis.transAxes, ha="center", va="center", color=GREY)


def few_ticks(axis: Axes) -> None:
    """Labels at powers of ten only, no more than fit; with fewer than two of them between the ends also at 2 and 5."""
    from matplotlib.ticker import LogLocator, NullFormatter, NullLocator

    for one, (low, high) in ((axis.xaxis, axis.get_xlim()), (axis.yaxis, axis.get_ylim())):
        if np.floor(np.log10(high)) > np.ceil(np.log10(low)):
            one.set_major_locator(LogLocator(numticks=6))
            one.set_major_formatter(_power)
        else:
            one.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=6))
            one.set_major_formatter(lambda x, _: f"{x:g}")
        one.set_minor_formatter(NullFormatter())
    axis.yaxis.set_minor_locator(NullLocator())  # those of length zero take as long as others


def _power(x: float, _: float) -> str:
    """A power of ten in characters, which Matplotlib draws without its slow parser of formulas."""
    return "10" + str(round(np.log10(x))).translate(SUPERSCRIPTS)


def _label_points(axis: Axes, rows: Sequence[Row], field: str, cost: str, style_of: Look) -> None:
    """Settings beside their points, where there is room within the panel: the next one has its own label there."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.transforms import Bbox

    canvas: Any = FigureCanvasAgg(axis.get_figure(root=True))
    renderer = canvas.get_renderer()  # one for all texts
    curves = {name: _points(rows, name, field, cost) for name in style_of}
    radius = POINT_SIZE * axis.figure.dpi / 72.0
    centres = [axis.transData.transform(p[:2]) for points in curves.values() for p in points]
    taken = [Bbox([c - radius, c + radius]) for c in centres]
    for name, points in curves.items():
        shown = points if len(style_of) <= LABELLED else points[:1] + points[1:][-1:]
        for x, y, setting in shown:
            for right, up in SIDES:
                note = axis.annotate(_short(setting), (x, y), xytext=(3.5 * right, 2.5 * up), textcoords="offset points", fontsize=5.5,
                                     color=style_of[name]["color"], ha="left" if right > 0 else "right", va="bottom" if up > 0 else "top")
                box = note.get_window_extent(renderer)
                if box.x1 <= axis.bbox.x1 + radius and not any(box.overlaps(other) for other in taken):
                    taken.append(box)
                    break
                note.remove()


def legend(figure: Figure, panel: Axes | None, entries: Mapping[str, str], style_of: Look, columns: int) -> None:
    """The texts `entries` with the looks of their keys, in a free panel or below the panels."""
    from matplotlib.lines import Line2D

    if not entries:
        return
    handles = [Line2D([], [], label=text, **style_of[name]) for name, text in entries.items()]
    size = 8.0 if len(handles) <= 12 else 6.5
    if panel is not None:
        panel.legend(handles=handles, loc="center left", fontsize=size, borderaxespad=0.0)
    else:
        figure.legend(handles=handles, loc="outside lower center", ncols=min(columns, len(handles)), fontsize=size, columnspacing=1.4)
