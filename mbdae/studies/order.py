"""Observed order of a one-step method: errors over step sizes with fitted slopes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..assemble import system_of
from ..driver.method import Method
from ..model.mechanism import Mechanism
from ..pictures.figures import GREY, look, new_figure, style
from ..system.assembly import State
from ..system.system import System
from ..typing import Progress
from .kinematics import ReferenceSolution
from .work_precision import Series, work_precision

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Pairs: TypeAlias = Sequence[tuple[float, float]]  # step, error

BLOCKS = {"q": "$q$", "v": "$v$", "lam": r"$\lambda$"}
UNITS = {"q": "[m, rad]", "v": "[m/s, rad/s]", "lam": "[N, N m]"}


@dataclass(frozen=True)
class OrderRow:
    """Errors of one step size, as in `Errors`; `None` if the run failed, with the reason in `message`."""

    method: str
    h: float
    error_q: float | None
    error_v: float | None
    error_lam: float | None
    status: str = "SUCCESS"
    message: str = ""


def order_study(system: Mechanism | System, method: Callable[[float], Method], steps: Sequence[float], t_span: Sequence[float], *,
                state: State | None = None, exact: ReferenceSolution | None = None, points: int = 101, label: str | None = None,
                progress: Progress | None = None) -> list[OrderRow]:
    """Errors of a one-step method over step sizes.

    Parameters
    ----------
    system : Mechanism or System
    method : callable
        `method(h)` returns the method, e.g. `HalfImplicit`.
    steps : sequence of float
        Step sizes [s].
    t_span : (float, float)
    state, exact, points, progress
        As for `work_precision`. Between steps the output is interpolated; choose `points` so that the times are multiples of the steps.
    label : str, optional
        By default the name of `method`.

    Returns
    -------
    list of OrderRow
        From the largest step to the smallest.
    """
    system = system_of("order_study", system)
    if isinstance(method, Method):
        raise ValueError(f"order_study: method must make a method from a step, such as mbdae.{type(method).__name__}, got {method!r}")
    label = getattr(method, "__name__", "method") if label is None else label
    series = Series(label, method, tuple(sorted((float(h) for h in steps), reverse=True)))
    rows = work_precision(system, [series], t_span, state=state, exact=exact, points=points, repeats=1, progress=progress)
    return [OrderRow(r.method, r.setting, r.error_q, r.error_v, r.error_lam, r.status, r.message) for r in rows]


def fitted_orders(rows: Sequence[OrderRow]) -> dict[str, float | None]:
    """Slopes of `log(error)` over `log(h)` by least squares.

    Parameters
    ----------
    rows : list of OrderRow
        Of one method.

    Returns
    -------
    dict
        `"q"`, `"v"`, `"lam"` -> slope; `None` with fewer than two runs, or where the error is zero.
    """
    return {block: fitted_slope([(r.h, getattr(r, f"error_{block}")) for r in rows]) for block in BLOCKS}


def fitted_slope(pairs: Sequence[tuple[float, float | None]]) -> float | None:
    """Slope of the logarithms by least squares; `None` with fewer than two positive values."""
    positive = np.array([p for p in pairs if p[1]], dtype=float)
    if len(positive) < 2:
        return None
    x, y = np.log(positive).T
    return float(np.polyfit(x, y, 1)[0])


def plot_order(rows: Sequence[OrderRow], title: str | None = None) -> Figure:
    """Errors over the step size, one panel per block, one curve per method, with fitted slopes.

    Parameters
    ----------
    rows : list of OrderRow
        Of one or several methods.
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure
    """
    blocks = [b for b in BLOCKS if any(getattr(r, f"error_{b}") for r in rows)] or ["q"]
    with style():
        figure = new_figure(2.5 * len(blocks) + 0.4, 3.2)
        axes = figure.subplots(1, len(blocks), squeeze=False)[0]
        for axis, block in zip(axes, blocks):
            axis.set(xlabel="step $h$  [s]", ylabel=f"error of {BLOCKS[block]}  {UNITS[block]}")
            _draw(axis, rows, block)
        handles, labels = axes[0].get_legend_handles_labels()
        if handles:
            figure.legend(handles, labels, loc="outside lower center", ncols=min(len(handles), 5))
        if title:
            figure.suptitle(title, fontsize=10, color="#222222")
    return figure


def _draw(axis: Axes, rows: Sequence[OrderRow], block: str) -> None:
    curves = []
    for k, name in enumerate(dict.fromkeys(r.method for r in rows)):
        pairs = sorted((r.h, getattr(r, f"error_{block}")) for r in rows if r.method == name and getattr(r, f"error_{block}"))
        if pairs:
            axis.loglog(*zip(*pairs), label=name, **look(k))
            curves.append((pairs, look(k)["color"]))
    curves.sort(key=lambda c: c[0][len(c[0]) // 2][1])
    for k, (pairs, colour) in enumerate(curves):
        _annotate_slope(axis, pairs, colour, above=k > 0)
    if curves:
        _guide(axis, curves[0][0])


def _annotate_slope(axis: Axes, pairs: Pairs, colour: str, above: bool) -> None:
    """The fitted slope at the middle of a curve."""
    slope = fitted_slope(pairs)
    if slope is None:
        return
    where: dict[str, Any] = {"xytext": (-5, 5), "ha": "right", "va": "bottom"} if above else {"xytext": (5, -5), "ha": "left", "va": "top"}
    axis.annotate(f"{slope:.2f}", pairs[len(pairs) // 2], textcoords="offset points", color=colour, fontsize=8.5, **where)


def _guide(axis: Axes, pairs: Pairs) -> None:
    """A dashed line of slope one below the lowest curve."""
    h = np.array([p[0] for p in pairs])
    axis.plot(h, 0.1 * pairs[0][1] * h / h[0], color=GREY, linestyle=(0, (2, 2)), linewidth=1.0, label="slope 1", zorder=1)
