"""The largest natural frequency over time, and the largest stable steps of methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..typing import ArrayLike
from .figures import COLOURS, new_figure, style
from .legend import legend_below

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLES = ("-", (0, (5, 2)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)))


def draw_frequencies(t: ArrayLike, omega: ArrayLike, limits: Mapping[str, float], title: str | None = None) -> Figure:
    """The largest natural frequency, and for each method the largest step for which it is stable, `limit / omega`.

    Parameters
    ----------
    t, omega : array_like, shape (m,)
        Times [s] and frequencies [rad/s].
    limits : dict of str to float
        Per method the largest `omega h`. Methods that are stable at any step, or at none, have no curve; the key names them.
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure
    """
    with style():
        figure = new_figure(7.4, 3.0)
        left, right = figure.subplots(1, 2)
        left.plot(t, omega, color=COLOURS[0])
        left.set(xlabel="time  [s]", ylabel=r"largest natural frequency $\omega$  [rad/s]", ylim=(0.0, None))
        left.margins(x=0.0)
        _draw_steps(right, np.asarray(t, dtype=float), np.asarray(omega, dtype=float), limits)
        right.set_xlim(left.get_xlim())
        if title:
            figure.suptitle(title, fontsize=10, color="#222222")
        legend_below(figure)
    return figure


def _draw_steps(axis: Axes, t: ArrayLike, omega: ArrayLike, limits: Mapping[str, float]) -> None:
    """One curve for each method, all named in the key, with the least step of those that have a limit."""
    frequencies = np.asarray(omega)
    axis.set(xlabel="time  [s]", ylabel="largest stable step $h$  [s]")
    for k, (name, limit) in enumerate(limits.items()):
        look: dict[str, Any] = {"color": COLOURS[k % len(COLOURS)], "linestyle": STYLES[k % len(STYLES)]}
        steps = np.divide(limit, frequencies, out=np.full(frequencies.shape, np.inf), where=frequencies > 0.0)
        if np.isfinite(steps).any() and limit > 0.0:
            axis.plot(t, np.where(np.isfinite(steps), steps, np.nan), label=f"{name}: {steps.min():.3g} s", **look)
            axis.set_yscale("log")
        else:
            axis.plot([], [], label=f"{name}: {'no' if limit <= 0.0 else 'any'} step is stable", **look)
