"""When strategies for Jacobians evaluate and update them: marks below a curve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..typing import Vector
from .figures import COLOURS, GREY, new_figure, style
from .legend import legend_below

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DARK = "#222222"
KINDS = {"jacobian": (COLOURS[1], "Jacobian evaluated"), "growth": ("#000000", "all columns evaluated, for missing entries"),
         "update": (COLOURS[0], "update")}
CURVE = 0.62  # share of the height of a panel above the marks
CROWD = 150  # marks of one kind of full width; more of them are thinner
WIDTH, LEAST = 1.0, 0.25  # of marks [points]


def draw_timeline(logs: Mapping[str, Sequence[tuple[float, str]]], curve: tuple[Vector, Vector, str],
                  strategies: Sequence[str] | None = None, title: str | None = None) -> Figure:
    """Times of evaluations and updates of `F_y`: per strategy a row of marks for each, below the curve that they follow.

    Parameters
    ----------
    logs : dict of str to list of (float, str)
        Per strategy the times, and what happened: `"jacobian"`, `"growth"` or `"update"`.
    curve : (ndarray, ndarray, str)
        Times, values and label.
    strategies : sequence of str, optional
        By default all with difference quotients.
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure
    """
    names = [n for n in (logs if strategies is None else strategies) if n in logs and (strategies or n != "exact")]
    t, values, label = curve
    with style():
        figure = new_figure(7.2, 0.75 + 1.05 * len(names))
        axes = figure.subplots(len(names), 1, sharex=True, squeeze=False)[:, 0]
        for axis, name in zip(axes, names):
            _draw(axis, t, values, logs[name])
            axis.set_title(_in_words(name, logs[name]), loc="left", fontsize=8.5, color=DARK, pad=3)
        axes[-1].set_xlabel("time  [s]")
        figure.supylabel(label, fontsize=9)
        if title:
            figure.suptitle(title, fontsize=10, color=DARK)
        seen = [kind for kind in KINDS if any(kind == k for name in names for _, k in logs[name])]
        handles = [axes[0].plot([], [], "|", color=KINDS[kind][0], markersize=9, markeredgewidth=1.4)[0] for kind in seen]
        if seen:
            legend_below(figure, handles, [KINDS[kind][1] for kind in seen])
    return figure


def _draw(axis: Axes, t: Vector, values: Vector, log: Sequence[tuple[float, str]]) -> None:
    """The curve in the upper part, the marks in rows below it."""
    axis.plot(t, values, color=GREY, linewidth=1.0)
    low, high = float(np.min(values)), float(np.max(values))
    room = (high - low) or max(abs(high), 1.0)
    axis.set(xlim=(t[0], t[-1]), ylim=(high + 0.05 * room - 1.1 * room / CURVE, high + 0.05 * room))
    axis.set_yticks([low, high] if high > low else [high], labels=[f"{x:.3g}" for x in ((low, high) if high > low else (high,))])
    axis.grid(False)
    rows = [kind for kind in KINDS if any(kind == k for _, k in log)]
    height = (1.0 - CURVE) / max(len(rows), 1)
    for k, kind in enumerate(rows):
        at = [time for time, found in log if found == kind]
        look: dict[str, Any] = {"color": KINDS[kind][0], "linewidth": max(LEAST, WIDTH * min(1.0, CROWD / len(at)))}
        top = 1.0 - CURVE - k * height
        axis.vlines(at, top - 0.85 * height, top - 0.15 * height, transform=axis.get_xaxis_transform(), **look)


def _in_words(name: str, log: Sequence[tuple[float, str]]) -> str:
    kinds = [kind for _, kind in log]
    evaluated, updated, again = len(kinds) - kinds.count("update"), kinds.count("update"), kinds.count("growth")
    parts = [f"{evaluated} evaluations" + (f" ({again} of all columns again)" if again else "")]
    return f"{name}:  " + ", ".join(parts + ([f"{updated} updates"] if ":" in name else []))
