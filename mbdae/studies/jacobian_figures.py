"""Figures of Jacobians: pattern with known entries, groups of columns, and times of evaluation [Arnold, figs. 3-7]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..pictures.figures import COLOURS, GREY, new_figure, style
from ..pictures.timeline import draw_timeline
from ..problems.base import Problem
from ..system.system import System
from ..typing import Integers, Vector
from .jacobian import JacobianStudy, grouping_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

Curve: TypeAlias = tuple[Vector, Vector, str]  # times, values, label

DARK = "#222222"
KNOWN, DIFFERENCED = "#9CC9E8", COLOURS[1]
SYMBOLS = {"lam": r"$\lambda$", "mu": r"$\mu$", "q": "$q$", "v": "$v$", "w": "$w$", "z": "$z$"}
MAX_SEPARATE = 120  # unknowns up to which entries are drawn with gaps
MIN_SHARE = 0.055  # of an axis, below which the label of a block has one line
EXCITATION_TOL = 1e-9  # relative change above which an excitation varies
OUTPUT_TOL = 1e-6  # change relative to the largest one above which an output varies


def plot_pattern(problem: Problem, title: str | None = None) -> Figure:
    """The structural pattern of a Jacobian with its blocks; known entries are marked.

    Parameters
    ----------
    problem : Problem
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure
    """
    rows, columns = _entries(problem)
    known = problem.known.mask
    with style():
        figure = new_figure(5.6, 5.9)
        axis = figure.add_subplot()
        for mask, colour, text in ((known, KNOWN, "known exactly"), (~known, DIFFERENCED, "differenced")):
            _cells(axis, rows[mask], columns[mask], colour, problem.n)
            axis.plot([], [], "s", color=colour, markersize=6, label=f"{text}: {mask.sum()} entries")
        _frame(axis, problem)
        axis.set_xlabel(f"{problem.n} unknowns")
        axis.set_ylabel(f"{problem.m} equations")
        figure.legend(loc="outside lower center", ncols=2)
        _headline(figure, title)
    return figure


# --- groups ----------------------------------------------------------------------------------------------------------------------------


def plot_groups(problem: Problem, grouping: Any = None, title: str | None = None) -> Figure:
    """Groups of columns: the differenced entries in the Jacobian and in the compressed matrix, and the columns of each group.

    Colours distinguish the first, second, ... column of a group; columns of a group have no common row.

    Parameters
    ----------
    problem : Problem
    grouping : object, optional
        With `groups`, shape (n,), -1 for columns that are not differenced, and `count`; by default that of "grouped".
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure
    """
    grouping = grouping_of(problem, "grouped") if grouping is None else grouping
    groups, count = np.asarray(grouping.groups), max(1, int(grouping.count))
    rank = _rank(groups)
    rows, columns = _entries(problem)
    wanted = ~problem.known.mask & (groups[columns] >= 0)
    rows, columns = rows[wanted], columns[wanted]
    with style():
        share = float(np.clip(count / problem.n, 0.4, 1.0))
        figure = new_figure(5.2 + 3.8 * share, 7.4)
        grid = figure.add_gridspec(2, 2, width_ratios=(1.0, share), height_ratios=(1.0, 0.72))
        place, short = figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[0, 1])
        members = figure.add_subplot(grid[1, 0])
        for k in range(int(rank.max(initial=0)) + 1):
            mine = rank[columns] == k
            _cells(place, rows[mine], columns[mine], _colour(k), problem.n)
            _cells(short, rows[mine], groups[columns[mine]], _colour(k), problem.n)
        _frame(place, problem)
        _frame(short, problem, unknowns=False)
        _members(members, groups, rank, count)
        _labels_of_groups(place, short, members, problem, count)
        _draw_facts(figure.add_subplot(grid[1, 1]), problem, grouping, rank)
        _headline(figure, title)
    return figure


def _rank(groups: Integers) -> Integers:
    """Index of each column within its group; -1 outside all groups."""
    rank = np.full(len(groups), -1)
    for g in range(groups.max(initial=-1) + 1):
        mine = np.flatnonzero(groups == g)
        rank[mine] = np.arange(len(mine))
    return rank


def _colour(k: int) -> str:
    return COLOURS[k % len(COLOURS)]


def _members(axis: Axes, groups: Integers, rank: Integers, count: int) -> None:
    """A dot for each column at its group, connected within the group."""
    for g in range(count):
        mine = np.flatnonzero(groups == g)
        axis.plot(mine[[0, -1]], [g, g], color="#CCCCCC", linewidth=0.6, zorder=1)
    size = float(np.clip(320.0 / max(count, len(groups) / 3), 0.8, 4.5))
    for k in range(int(rank.max(initial=0)) + 1):
        mine = np.flatnonzero(rank == k)
        axis.plot(mine, groups[mine], "o", color=_colour(k), markersize=size, markeredgewidth=0, zorder=2)
    axis.set(xlim=(-0.5, len(groups) - 0.5), ylim=(count - 0.5, -0.5))
    _boxed(axis)


def _labels_of_groups(place: Axes, short: Axes, members: Axes, problem: Problem, count: int) -> None:
    place.set(ylabel=f"{problem.m} equations", aspect="auto")
    short.set(xlim=(-0.5, count - 0.5), xlabel="group")
    members.set(xlabel=f"{problem.n} unknowns", ylabel="group")
    _block_ticks(members.xaxis, problem.blocks, problem.n, 0.0)
    for s in _parts(problem.blocks).values():
        members.axvline(s.stop - 0.5, color=GREY, linewidth=0.6)
    for numbered in (short.xaxis, members.yaxis):
        at = _round_numbers(count)
        numbered.set_ticks(at - 1, labels=[str(k) for k in at])
    for axis, text in ((place, "(a) entries that are differenced"), (short, "(b) compressed"), (members, "(c) columns of each group")):
        axis.set_title(text, loc="left", color=DARK, fontsize=9)


def _round_numbers(count: int) -> Integers:
    step = next(s for s in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if count / s <= 10 or s == 1000)
    return np.unique(np.concatenate([[1], np.arange(step, count + 1, step)]))


_ORDINALS = ("first", "second", "third", "fourth")


def _draw_facts(axis: Axes, problem: Problem, grouping: Any, rank: Integers) -> None:
    axis.set_axis_off()
    largest, bound = int(rank.max(initial=-1)) + 1, getattr(grouping, "lower_bound", None)
    lines = [f"{problem.n} columns, {(rank >= 0).sum()} differenced",
             f"{grouping.count} groups" + ("" if bound is None else f" (at least {bound} needed)"),
             f"columns in the largest: {largest}", "",
             "evaluations per Jacobian:", f"{problem.n + 1} one column at a time", f"{grouping.count + 1} by groups"]
    axis.text(0.0, 1.0, "\n".join(lines), transform=axis.transAxes, va="top", fontsize=8.5, color=DARK, linespacing=1.45)
    for k in range(min(largest, len(_ORDINALS))):
        more = " ..." if k + 1 == len(_ORDINALS) < largest else ""
        axis.plot([], [], "s", color=_colour(k), label=_ORDINALS[k] + more, markersize=6)
    if largest:
        axis.legend(loc="lower left", title="column of its group", alignment="left", title_fontsize=8.5, borderpad=0.0, borderaxespad=0.0)


# --- time ------------------------------------------------------------------------------------------------------------------------------


def plot_timeline(study: JacobianStudy, curve: Curve, strategies: Sequence[str] | None = None, title: str | None = None) -> Figure:
    """Times of evaluations and updates of `F_y`, one panel per strategy.

    Parameters
    ----------
    study : JacobianStudy
    curve : (ndarray, ndarray, str)
        Times, values and label of a curve, see `excitation_curve`.
    strategies : sequence of str, optional
        By default all with difference quotients.
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure
    """
    return draw_timeline(study.logs, curve, strategies, title)


def excitation_curve(system: System, times: Vector) -> Curve | None:
    """`(times, values, label)` of the first excitation that varies; `None` if there is none."""
    if system.excitation is None:
        return None
    u = np.array([system.excitation(t) for t in times])
    moving = np.flatnonzero(np.ptp(u, axis=0) > EXCITATION_TOL * np.maximum(1.0, np.abs(u).max(axis=0)))
    if not len(moving):
        return None
    k = moving[0]
    return times, u[:, k], "excitation $u$" if u.shape[1] == 1 else f"excitation $u_{{{k + 1}}}$"


def output_curve(times: Vector, outputs: Mapping[str, Vector]) -> Curve:
    """`(times, values, label)` of the first natural output that is not monotonic, or else varies."""
    swings = {n: np.ptp(x) for n, x in outputs.items()}
    moving = [n for n, swing in swings.items() if swing > OUTPUT_TOL * max(swings.values())] or list(outputs)
    name = next((n for n in moving if np.diff(outputs[n]).min() * np.diff(outputs[n]).max() < 0.0), moving[0])
    return times, outputs[name], name


# --- patterns --------------------------------------------------------------------------------------------------------------------------


def _entries(problem: Problem) -> tuple[Integers, Integers]:
    """Rows and columns of the pattern."""
    p = problem.pattern
    return p.indices, np.repeat(np.arange(problem.n), np.diff(p.indptr))


def _cells(axis: Axes, rows: Integers, columns: Integers, colour: str, n: int) -> None:
    """A square for each entry; without gaps in large patterns."""
    from matplotlib.collections import PolyCollection

    half = 0.42 if n <= MAX_SEPARATE else 0.5
    corners = half * np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])
    squares: Any = np.column_stack([columns, rows])[:, None, :] + corners
    axis.add_collection(PolyCollection(squares, facecolors=colour, edgecolors=colour, linewidths=0.0 if n <= MAX_SEPARATE else 0.15))


def _frame(axis: Axes, problem: Problem, unknowns: bool = True) -> None:
    """Limits, lines between blocks, and their names."""
    _boxed(axis)
    axis.set(xlim=(-0.5, problem.n - 0.5), ylim=(problem.m - 0.5, -0.5))
    for s in _parts(problem.equations).values():
        axis.axhline(s.stop - 0.5, color=GREY, linewidth=0.6)
    if unknowns:
        for s in _parts(problem.blocks).values():
            axis.axvline(s.stop - 0.5, color=GREY, linewidth=0.6)
        axis.xaxis.set_ticks_position("top")
        _block_ticks(axis.xaxis, problem.blocks, problem.n, MIN_SHARE)
        _block_ticks(axis.yaxis, problem.equations, problem.m, 0.0)
        axis.set_aspect("equal")
    else:
        axis.set_yticks([])


def _boxed(axis: Axes) -> None:
    for side in axis.spines.values():
        side.set_visible(True)
    axis.grid(False)


def _block_ticks(axis: Axis, blocks: Mapping[str, slice], total: int, narrow: float) -> None:
    parts = _parts(blocks)
    axis.set_ticks([0.5 * (s.start + s.stop - 1) for s in parts.values()],
                   labels=[_block_name(name, s, (s.stop - s.start) / total < narrow) for name, s in parts.items()])
    axis.set_tick_params(length=0)


def _parts(blocks: Mapping[str, slice]) -> dict[str, slice]:
    """Blocks that are not empty."""
    return {name: s for name, s in blocks.items() if s.stop > s.start}


def _block_name(name: str, s: slice, is_narrow: bool) -> str:
    return SYMBOLS.get(name, name) + ("" if is_narrow else f"\n{s.start + 1}–{s.stop}")


def _headline(figure: Figure, title: str | None) -> None:
    if title:
        figure.suptitle(title, fontsize=10, color=DARK)
