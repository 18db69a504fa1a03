"""The figure of the study of profiles: performance profiles, and the advantage of mbdae for each mechanism and accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from ...pictures.figures import GREY, new_figure, style
from ...pictures.methods import ESTABLISHED, IN_HOUSE, looks
from ..performance import performance_profile
from ..work_precision_figures import legend
from .curves import CurveRow
from .fastest import ACCURACIES, AUTOMATIC, CLOCKS, Clock, Costs, costs_of, fastest

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_FACTOR = 100.0
MOST_METHODS = 14  # in the panels of profiles
AT_FACTOR = 10.0  # those with the largest share there
OUTSIDE = 10.0  # advantages beyond, and those of problems that one side does not solve, stand at the edge
SHADES = ("#9ECAE1", "#4292C6", "#08519C", "#08264D")  # of the accuracies, the loosest first
TITLES: dict[Clock, str] = {"integration": "integration alone", "call": "whole call of mbdae.solve"}
BEST_OWN, BEST_ESTABLISHED = "fastest of mbdae", "fastest established"
_BEST: dict[str, dict[str, Any]] = {BEST_OWN: {"color": "black", "linewidth": 2.4, "linestyle": IN_HOUSE},
                                    BEST_ESTABLISHED: {"color": "black", "linewidth": 2.4, "linestyle": ESTABLISHED}}


def plot_profile(rows: Sequence[CurveRow], title: str | None = None) -> Figure:
    """Performance profiles above; below the time of the fastest established method over that of the fastest of mbdae. Both clocks.

    Solid lines stand for methods of mbdae, dashed ones for established solvers. Marks at the right or left edge: at least ten times,
    or only one side reaches the accuracy.
    """
    mechanisms = list(dict.fromkeys(row.mechanism for row in rows))
    below = 0.17 * len(mechanisms) + 0.6
    with style():
        figure = new_figure(7.4, 2.7 + below + 1.0)
        upper, lower = np.asarray(figure.subfigures(2, 1, height_ratios=[3.4, below + 0.3]))
        names = _draw_profiles(upper.subplots(1, 2, sharey=True), rows)
        look = _looks(names)
        legend(upper, None, {name: name for name in (*_BEST, *names)}, look, 4)
        for axis, clock in zip(lower.subplots(1, 2, sharey=True), CLOCKS):
            _draw_advantages(axis, rows, clock, mechanisms)
        _key_of_accuracies(lower)
        if title:
            figure.suptitle(title, fontsize=10, color="#222222")
    return figure


def _looks(methods: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Thin lines with small markers for methods, thick ones for the fastest of both sides."""
    return {name: {**found, "linewidth": 1.0, "markersize": 0.6 * found["markersize"]} for name, found in looks(methods).items()} | _BEST


def _draw_profiles(axes: Sequence[Axes], rows: Sequence[CurveRow]) -> list[str]:
    """Both panels; the methods in them."""
    own = {row.method for row in rows if row.in_house} - {AUTOMATIC}
    profiles = {clock: performance_profile(_with_best(costs_of(rows, clock), own)) for clock in CLOCKS}
    first = next(iter(profiles.values()))
    methods = sorted({row.method for row in rows}, key=lambda m: -first.share(m, AT_FACTOR))[:MOST_METHODS]
    look = _looks(methods)
    for axis, (clock, profile) in zip(axes, profiles.items()):
        for k, name in enumerate((*methods, *_BEST)):
            axis.plot(*profile.steps(name, MOST_FACTOR), drawstyle="steps-post", markevery=(0.02 * k, 0.25), **look[name])
        axis.set(xscale="log", xlim=(1.0, MOST_FACTOR), ylim=(0.0, 1.02), xlabel="time over the least one")
        axis.set_title(TITLES[clock], fontsize=8.5)
    axes[0].set_ylabel("share of mechanisms and accuracies")
    return methods


def _with_best(costs: Costs, own: set[str]) -> Costs:
    """With the least cost of the methods of mbdae, and of the others."""
    return {key: row | {BEST_OWN: min((c for m, c in row.items() if m in own), default=inf),
                        BEST_ESTABLISHED: min((c for m, c in row.items() if m not in own and m != AUTOMATIC), default=inf)}
            for key, row in costs.items()}


def _draw_advantages(axis: Axes, rows: Sequence[CurveRow], clock: Clock, mechanisms: Sequence[str]) -> None:
    """One line for each mechanism, one mark for each accuracy."""
    for row in fastest(rows, clock):
        if row.solved:
            k = ACCURACIES.index(row.accuracy)
            place = np.clip(row.advantage, 1.0 / OUTSIDE, OUTSIDE), mechanisms.index(row.mechanism) + 0.16 * (k - 1.5)
            axis.plot(*place, "o", markersize=3.6, color=SHADES[k], clip_on=False, markeredgewidth=0.0)
    axis.axvline(1.0, color=GREY, linewidth=0.9, zorder=1)
    axis.set(xscale="log", xlim=(1.0 / OUTSIDE, OUTSIDE), ylim=(len(mechanisms) - 0.4, -0.6),
             xlabel="time of the fastest established / of mbdae")
    axis.set_yticks(range(len(mechanisms)), mechanisms, fontsize=6.5)
    axis.set_title(TITLES[clock], fontsize=8.5)


def _key_of_accuracies(figure: Any) -> None:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], marker="o", linestyle="", color=c, markeredgewidth=0.0, label=f"error {a:.0e}".replace("e-0", "e-"))
               for a, c in zip(ACCURACIES, SHADES)]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), fontsize=7)
