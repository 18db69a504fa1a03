"""The natural outputs of a mechanism of the library over time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..library.base import Entry
from ..results.solution import Solution
from ..typing import Vector
from .figures import COLOURS, new_figure, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_PANELS = 12
_FLAT = 1e-9  # relative variation below which values are constant, and magnitude below which they are zero


def observe(entry: Entry, solution: Solution) -> dict[str, Vector]:
    """The natural outputs of a library mechanism along a solution.

    Parameters
    ----------
    entry : mbdae.library.Entry
    solution : Solution

    Returns
    -------
    dict of str to ndarray, shape (n,)
    """
    rows = [entry.observe(solution.system, *state) for state in zip(solution.t, solution.q, solution.v, solution.a, solution.lam)]
    return {name: np.array([row[name] for row in rows]) for name in (rows[0] if rows else ())}


def plot_outputs(t: Vector, outputs: Mapping[str, Vector], title: str | None = None) -> Figure:
    """One panel per output over time, at most twelve: of more, the first that are not multipliers.

    Parameters
    ----------
    t : ndarray
    outputs : dict of str to ndarray
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure
    """
    names = _chosen(list(outputs))
    columns = min(3, max(1, int(np.ceil(len(names) / 3))))
    rows = max(1, int(np.ceil(len(names) / columns)))
    with style():
        figure = new_figure(3.0 * columns + 0.3, 1.25 * rows + 0.65)
        axes = figure.subplots(rows, columns, squeeze=False, sharex=True)
        for axis, name in zip(axes.flat, names):
            axis.plot(t, outputs[name], color=COLOURS[0], linewidth=1.2)
            axis.set_ylabel(name, fontsize=8)
            axis.margins(x=0.0)
            _set_limits(axis, outputs[name])
        for axis in list(axes.flat)[len(names):]:
            axis.set_visible(False)
        for k in range(columns):
            last = (len(names) - 1 - k) // columns
            axes[last, k].tick_params(labelbottom=True)
            axes[last, k].set_xlabel("time  [s]")
        figure.align_ylabels()
        if title:
            figure.suptitle(title, fontsize=10, color="#222222")
    return figure


def _chosen(names: list[str]) -> list[str]:
    plain = [n for n in names if not n.startswith("lam[")]
    return (names if len(names) <= MAX_PANELS else plain or names)[:MAX_PANELS]


def _set_limits(axis: Axes, values: Vector) -> None:
    """Limits that show a constant as a line in the middle instead of magnified rounding errors."""
    middle, spread = float(np.mean(values)), float(np.ptp(values)) if len(values) else 0.0
    if spread <= _FLAT * max(abs(middle), _FLAT):
        half = 0.1 * abs(middle) if abs(middle) > _FLAT else 1.0  # values that are zero up to rounding have no scale
        axis.set_ylim(middle - half, middle + half)
