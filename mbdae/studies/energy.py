"""Total energy over time: dissipation and drift of methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..assemble import assemble, system_of
from ..driver.arguments import time_span
from ..model.mechanism import Mechanism
from ..pictures.figures import GREY, look, new_figure, style
from ..solve import solve
from ..system.assembly import State
from ..system.system import System
from ..typing import Progress, Vector
from .work_precision import Series, Setting, check_series, first_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class EnergyCurve:
    """Total energy [J] of one run at the times `t` [s]; a run that fails ends early, with the reason in `message`."""

    method: str
    control: str
    setting: float
    t: tuple[float, ...]
    energy: tuple[float, ...]
    status: str
    message: str

    @property
    def drift(self) -> float:
        """Energy at the end less energy at the start [J]."""
        return self.energy[-1] - self.energy[0]


def energy_study(system: Mechanism | System, series: Sequence[Series], t_span: Sequence[float], *, state: State | None = None,
                 points: int = 401, progress: Progress | None = None) -> list[EnergyCurve]:
    """Energy over time of several methods, one curve per setting.

    Parameters
    ----------
    system : Mechanism or System
    series : sequence of Series
        See `work_precision`.
    t_span : (float, float)
    state : State, optional
    points : int
        Points of each curve.
    progress : callable, optional
        `progress(done, total, text)`.

    Returns
    -------
    list of EnergyCurve
    """
    system = system_of("energy_study", system)
    check_series("energy_study", series)
    first, last = time_span("energy_study", t_span)
    state = assemble(system, first) if state is None else state
    times = np.linspace(first, last, points)
    runs = [(s, setting) for s in series for setting in s.settings]
    curves = []
    for k, (s, setting) in enumerate(runs):
        if progress is not None:
            progress(k, len(runs), s.label)
        curves.append(_curve(system, s, setting, state, times))
    return curves


def _curve(system: System, s: Series, setting: Setting, state: State, times: Vector) -> EnergyCurve:
    method, rtol, atol = s.at(setting)
    solution = solve(system, method, (times[0], times[-1]), formulation=s.formulation, state=state, rtol=rtol, atol=atol, t_eval=times)
    return EnergyCurve(s.label, s.control, first_of(setting) if s.control == "h" else float(rtol), tuple(solution.t.tolist()),
                       tuple(solution.energy.tolist()), solution.status.name, "" if solution.success else solution.message)


def plot_energy(curves: Sequence[EnergyCurve], title: str | None = None) -> Figure:
    """Change of the total energy since the start over time, on a linear and on a logarithmic scale.

    Parameters
    ----------
    curves : list of EnergyCurve
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure
    """
    with style():
        figure = new_figure(7.4, 3.2)
        plain, log = figure.subplots(1, 2)
        changes = False
        plain.axhline(0.0, color=GREY, linewidth=0.8)
        for k, c in enumerate(curves):
            change = np.asarray(c.energy) - (c.energy[0] if c.energy else 0.0)
            line = {"color": look(k)["color"], "linestyle": "-" if c.control == "h" else (0, (4, 1.6)), "linewidth": 1.2}
            plain.plot(c.t, change, label=f"{c.method}, {c.control} = {c.setting:g}", **line)
            log.plot(c.t[1:], np.where(change[1:] == 0.0, np.nan, np.abs(change[1:])), **line)
            changes |= bool(change.any())
        plain.set(xlabel="time  [s]", ylabel=r"change of energy $E - E_0$  [J]")
        log.set(xlabel="time  [s]", ylabel=r"$|E - E_0|$  [J]", yscale="log" if changes else "linear")
        for axis in (plain, log):
            axis.margins(x=0.0)
        figure.legend(loc="outside lower center", ncols=3)
        if title:
            figure.suptitle(title, fontsize=10, color="#222222")
    return figure
