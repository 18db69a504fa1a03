"""Figures of studies over several mechanisms; one figure shows all rows of a study."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...pictures.figures import GREY, new_figure, style
from ...pictures.methods import looks
from ..order import fitted_slope
from ..scaling import ScalingRow
from ..scaling import plot_scaling as plot_scaling_rows
from ..work_precision_figures import PANELS, few_ticks, legend, plot_work_precision
from .energies import DriftRow
from .others import StrategyRow
from .runs import NO_REFERENCE, REFUSED, RunRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, HEIGHT, COLUMNS = 2.7, 2.2, 3  # of a panel [inch], panels in a line
LEGEND_LINES = 7.2  # to an inch
PASSED = 100.0  # tolerances
Draw = Callable[["Axes", Sequence[Any], Mapping[str, Mapping[str, Any]]], None]


def _by_mechanism(rows: Sequence[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for row in rows:
        found.setdefault(row.mechanism, []).append(row)
    return found


def _panels(rows: Sequence[Any], draws: Sequence[tuple[Draw, str, str]], title: str | None) -> Figure:
    """One panel for each mechanism and each of `draws`, (function, label of x, label of y); the legend below."""
    groups, style_of = _by_mechanism(rows), looks(row.method for row in rows)
    columns = len(draws) if len(draws) > 1 else min(COLUMNS, len(groups))
    count = len(groups) * len(draws)
    lines, legend_lines = -(-count // columns), -(-len(style_of) // max(columns, 2))
    with style():
        figure = new_figure(WIDTH * columns + 0.3, HEIGHT * lines + legend_lines / LEGEND_LINES + 0.2)
        axes = figure.subplots(lines, columns, squeeze=False).ravel()
        panels = [(name, mine, draw) for name, mine in groups.items() for draw in draws]
        for axis, (name, mine, (draw, x, y)) in zip(axes, panels):
            axis.set(xlabel=x, ylabel=y)
            axis.set_title(name, fontsize=8)
            draw(axis, mine, style_of)
        for axis in axes[count:]:
            axis.axis("off")
        legend(figure, None, {name: _entry(name, rows) for name in style_of}, style_of, max(columns, 2))
        if title:
            figure.suptitle(title, fontsize=10, color="#222222")
    return figure


def _entry(name: str, rows: Sequence[Any]) -> str:
    """The text of a legend."""
    return f"{name}  (refused)" if all(r.status == REFUSED for r in rows if r.method == name) else name


def _no_data(axis: Axes) -> None:
    if not axis.has_data():
        axis.set(xticks=[], yticks=[])
        axis.text(0.5, 0.5, "no run succeeded", transform=axis.transAxes, ha="center", va="center", color=GREY)


def _curves(x: str, y: str) -> Draw:
    """Draws the field `y` over the field `x` of each method, both logarithmic."""

    def draw(axis: Axes, rows: Sequence[Any], style_of: Mapping[str, Mapping[str, Any]]) -> None:
        for name in dict.fromkeys(row.method for row in rows):
            mine = sorted((r for r in rows if r.method == name and r.success), key=lambda r: -r.setting)
            points = [pair for pair in ((getattr(r, x), getattr(r, y)) for r in mine) if all(pair)]
            if points:
                axis.loglog(*zip(*points), **style_of[name])
        _no_data(axis)
        if axis.has_data():
            few_ticks(axis)

    return draw


def plot_work_precision_of_many(rows: Sequence[RunRow], title: str | None = None) -> Figure:
    """Error of positions against processor time, one panel for each mechanism; for one mechanism as `plot_work_precision`."""
    if len(_by_mechanism(rows)) == 1:
        return plot_work_precision(rows, title or f"{rows[0].mechanism},  t = 0 ... {rows[0].t_end:g} s")
    return _panels(rows, [(_curves("cpu", "error_q"), "processor time  [s]", "error of $q$  [m, rad]")], title)


def plot_orders(rows: Sequence[RunRow], title: str | None = None) -> Figure:
    """Errors of positions, velocities and multipliers over the step, with fitted slopes at the ends of the curves."""
    return _panels(rows, [(_with_slopes(field), "step $h$  [s]", PANELS[field]) for field in ("error_q", "error_v", "error_lam")], title)


def _with_slopes(field: str) -> Draw:
    plain = _curves("setting", field)

    def draw(axis: Axes, rows: Sequence[Any], style_of: Mapping[str, Mapping[str, Any]]) -> None:
        plain(axis, rows, style_of)
        for name in dict.fromkeys(row.method for row in rows):
            pairs = sorted((r.setting, getattr(r, field)) for r in rows if r.method == name and r.success and getattr(r, field))
            slope = fitted_slope(pairs)
            if slope is not None:
                axis.annotate(f"{slope:.2f}", pairs[-1], xytext=(3, 0), textcoords="offset points", fontsize=6.5, va="center",
                              color=style_of[name]["color"], annotation_clip=False)

    return draw


def plot_tolerance(rows: Sequence[RunRow], title: str | None = None) -> Figure:
    """Largest error of positions and velocities in multiples of the tolerance, over the tolerance: level lines are proportional."""

    def with_limit(draw: Draw) -> Draw:
        def drawn(axis: Axes, rows: Sequence[Any], style_of: Mapping[str, Mapping[str, Any]]) -> None:
            draw(axis, rows, style_of)
            if axis.has_data():
                axis.axhline(PASSED, color=GREY, linewidth=0.8, linestyle=(0, (2, 2)), zorder=1)
                axis.invert_xaxis()

        return drawn

    return _panels(rows, [(with_limit(_curves("setting", f"tolerances_{x}")), "relative tolerance", f"error of ${x}$ / tolerance")
                          for x in "qv"], title)


def plot_drift(rows: Sequence[DriftRow], title: str | None = None) -> Figure:
    """Change of energy, and constraint violation of positions, over time."""

    def curve(field: str) -> Draw:
        def draw(axis: Axes, rows: Sequence[Any], style_of: Mapping[str, Mapping[str, Any]]) -> None:
            for (name, _), mine in _by_curve(rows).items():
                values = np.abs([np.nan if getattr(r, field) is None else getattr(r, field) for r in mine])
                look = {**style_of[name], "marker": "", "linewidth": 1.0}
                axis.plot([np.nan if r.t is None else r.t for r in mine], np.where(values == 0.0, np.nan, values), **look)
            axis.set_yscale("log")
            axis.margins(x=0.0)

        return draw

    return _panels([r for r in rows if r.t is not None], [(curve("energy_change"), "time  [s]", r"$|E - E_0|$  [J]"),
                                                         (curve("residual_position"), "time  [s]", r"$|\Phi|$  [m, 1]")], title)


def _by_curve(rows: Sequence[DriftRow]) -> dict[tuple[str, float], list[DriftRow]]:
    found: dict[tuple[str, float], list[DriftRow]] = {}
    for row in rows:
        found.setdefault((row.method, row.setting), []).append(row)
    return found


def verdict(row: RunRow) -> str:
    """`"ok"` below a hundred tolerances in positions, else `"inaccurate"`, `"refused"` or `"failed"`."""
    if row.status in (REFUSED, NO_REFERENCE):
        return "refused" if row.status == REFUSED else "failed"
    if not row.success:
        return "failed"
    return "ok" if row.tolerances_q is None or row.tolerances_q <= PASSED else "inaccurate"


def plot_solvers(rows: Sequence[RunRow], title: str | None = None) -> Figure:
    """A table in colours: solvers down, mechanisms and formulations across; the worst run of each, its error in tolerances."""
    from matplotlib.colors import ListedColormap

    kinds, colours = ("ok", "inaccurate", "failed", "refused"), ("#BFE3D0", "#F6D488", "#E9A18D", "#F2F2F2")
    methods = list(dict.fromkeys(_solver(r) for r in rows))
    columns = list(dict.fromkeys((r.mechanism, r.formulation) for r in rows))
    worst: dict[tuple[str, tuple[str, str]], RunRow] = {}
    for row in rows:
        key = _solver(row), (row.mechanism, row.formulation)
        if key not in worst or _badness(row) > _badness(worst[key]):
            worst[key] = row
    field = np.full((len(methods), len(columns)), np.nan)
    with style():
        figure = new_figure(max(5.6, 2.2 + 0.36 * len(columns)), 1.4 + 0.16 * len(methods))
        axis = figure.subplots()
        for (method, column), row in worst.items():
            i, j = methods.index(method), columns.index(column)
            field[i, j] = kinds.index(verdict(row))
            if row.tolerances_q is not None:
                axis.text(j, i, f"{row.tolerances_q:.2g}", ha="center", va="center", fontsize=5)
        axis.imshow(field, cmap=ListedColormap(colours), vmin=-0.5, vmax=3.5, aspect="auto")
        axis.set_yticks(range(len(methods)), methods, fontsize=6)
        axis.set_xticks(range(len(columns)), [f"{m}: {f}" for m, f in columns], fontsize=6, rotation=90)
        axis.xaxis.tick_top()
        axis.grid(visible=False)
        _key_of_colours(figure, kinds, colours)
        if title:
            figure.suptitle(title, fontsize=10, color="#222222")
    return figure


def _solver(row: RunRow) -> str:
    """The label of the method without its formulation, which has a column."""
    from ...registry import FORM_TITLES

    return row.method.removesuffix(FORM_TITLES.get(row.formulation, "")).strip()


def _badness(row: RunRow) -> tuple[int, float]:
    return ("refused", "ok", "inaccurate", "failed").index(verdict(row)), row.tolerances_q or 0.0


def _key_of_colours(figure: Figure, kinds: Sequence[str], colours: Sequence[str]) -> None:
    from matplotlib.patches import Patch

    meaning = {"ok": f"error in tolerances, at most {PASSED:g}", "inaccurate": "larger error", "failed": "failed", "refused": "refused"}
    figure.legend(handles=[Patch(facecolor=c, edgecolor=GREY, linewidth=0.4, label=meaning[k]) for k, c in zip(kinds, colours)],
                  loc="outside lower center", ncols=4, fontsize=7)


def plot_strategies(rows: Sequence[StrategyRow], title: str | None = None) -> Figure:
    """Processor time and evaluations of each strategy relative to the first one, as bars."""
    groups: dict[str, list[StrategyRow]] = {}
    for row in rows:
        if row.strategy:
            groups.setdefault(f"{row.mechanism}, {row.method}, rtol = {row.rtol:g}", []).append(row)
    with style():
        figure = new_figure(7.2, 0.5 + sum(0.35 + 0.17 * len(mine) for mine in groups.values()))
        axes = figure.subplots(max(1, len(groups)), 2, squeeze=False, height_ratios=[max(1, len(m)) for m in groups.values()] or [1])
        for pair, (name, mine) in zip(axes, groups.items()):
            for axis, field, label in zip(pair, ("cpu", "evaluations"), ("processor time  [%]", "evaluations  [%]")):
                _bars(axis, mine, field)
                axis.set_title(name, fontsize=7.5, loc="left")
                axis.set_xlabel(label)
            pair[1].set_yticklabels([])
        if title:
            figure.suptitle(title, fontsize=10, color="#222222")
    return figure


def _bars(axis: Axes, rows: Sequence[StrategyRow], field: str) -> None:
    first = getattr(rows[0], field)
    shares = [100.0 * getattr(r, field) / first if first and getattr(r, field) is not None else 0.0 for r in rows]
    axis.barh(range(len(rows)), shares, color="#0072B2", height=0.6)
    for k, (row, share) in enumerate(zip(rows, shares)):
        axis.text(share, k, f" {share:.0f}" if share else f" {row.status.lower()}", va="center", fontsize=6)
    axis.set_yticks(range(len(rows)), [r.strategy for r in rows], fontsize=6.5)
    axis.invert_yaxis()
    axis.margins(x=0.12)


def plot_scaling(rows: Sequence[ScalingRow], title: str | None = None) -> Figure:
    """As `mbdae.studies.plot_scaling`."""
    return plot_scaling_rows(rows, title)
