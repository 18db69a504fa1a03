"""Work-precision diagrams: several methods on one system, over steps or tolerances, with one reference solution."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from ..assemble import assemble
from ..driver.method import Method
from ..pictures.figures import GREY, look, new_figure, style
from ..problems import FORMULATIONS
from ..problems.base import Problem
from ..results.solution import Solution
from ..solve import solve
from ..system.assembly import AssemblyError, State
from ..system.system import System
from ..typing import Progress, TimeProgress, Vector
from .errors import constraint_residuals, energy_drift, errors
from .kinematics import ReferenceSolution
from .reference import reference

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Setting: TypeAlias = float | Sequence[float]  # a step; rtol, or (rtol, atol)

REPEAT_SECONDS = 1.0  # of all repeats of one setting
WARM_UP_SHARE = 1e-3  # of the time span
REPORT_SECONDS = 0.1  # between two reports of progress


@dataclass(frozen=True)
class Series:
    """One curve of a work-precision diagram: a method over its settings.

    Attributes
    ----------
    label : str
    method : callable or method object
        A function of the step that returns a method, such as `HalfImplicit` itself, or a method with error control.
    settings : tuple
        Steps in the first case; in the second tolerances, each a pair `(rtol, atol)` or `rtol` alone with `atol = rtol/100`.
    formulation : str, optional
        By default the preferred one of the method.
    """

    label: str
    method: Callable[[float], Method] | Method
    settings: tuple[Setting, ...]
    formulation: str | None = None

    @property
    def control(self) -> Literal["h", "rtol"]:
        """Meaning of a setting: `"h"` or `"rtol"`."""
        return "h" if callable(self.method) else "rtol"

    def at(self, setting: Setting) -> tuple[Method, float, float]:
        """The method and its tolerances for one setting: `(method, rtol, atol)`."""
        if callable(self.method):
            return self.method(first_of(setting)), 1e-6, 1e-8
        return self.method, *_tolerances(setting)


@dataclass(frozen=True)
class WorkPrecisionRow:
    """One run. Errors as in `Errors`, residuals as in `constraint_residuals`, counters as in `Statistics`; `None` where not known.

    `setting` is the step [s] if `control` is `"h"`, the relative tolerance if it is `"rtol"`. `seconds` is the median of the repeats of
    runs that only store their steps, as measured by the method: adapters exclude the postprocessing of the output, that is the projection
    of the states of the underlying ODE and the multipliers computed from `q` and `v`.
    """

    method: str
    formulation: str
    control: str
    setting: float
    atol: float | None = None
    error_q: float | None = None
    error_v: float | None = None
    error_lam: float | None = None
    error_q_max: float | None = None
    error_v_max: float | None = None
    error_lam_max: float | None = None
    residual_position: float | None = None
    residual_velocity: float | None = None
    residual_acceleration: float | None = None
    energy_drift: float | None = None
    steps: int | None = None
    evaluations: int | None = None
    evaluations_jacobian: int | None = None
    jacobians: int | None = None
    newton_iterations: int | None = None
    seconds: float | None = None
    status: str = "SUCCESS"
    message: str = ""

    @property
    def success(self) -> bool:
        """Whether the run reached its end."""
        return self.status == "SUCCESS"


def work_precision(system: System, series: Sequence[Series], t_span: Sequence[float], *, state: State | None = None,
                   exact: ReferenceSolution | None = None, points: int = 101, repeats: int = 3, limit: float | None = None,
                   progress: Progress | None = None) -> list[WorkPrecisionRow]:
    """Run every setting of every series and measure error and work.

    A short run before each series excludes compilation from the timing. Each setting is then run up to `repeats` times with output at the
    steps of the method only, from which residuals and energy are computed, and once more with output at the times of the reference.

    Parameters
    ----------
    system : System
    series : sequence of Series
    t_span : (float, float)
    state : State, optional
        Consistent initial state; by default the assembled one.
    exact : ReferenceSolution, optional
        By default `reference(system, state, times)` at `points` equidistant times.
    points, repeats : int
    limit : float, optional
        Time limit of a run in seconds; beyond it the status of the row is `TIME_LIMIT`.
    progress : callable, optional
        `progress(done, total, text)`, with `done` of `total` runs, including fractions of runs.

    Returns
    -------
    list of WorkPrecisionRow
        A run that fails is a row with its status and message. Exceptions of user functions propagate.
    """
    t0, t_end = (float(t) for t in t_span)
    state = assemble(system, t0) if state is None else state
    if exact is None:
        exact = reference(system, state, np.linspace(t0, t_end, points))
    run = _Runs(system, state, t_end, exact, repeats, limit, _Progress(progress, sum(len(s.settings) for s in series), t0, t_end))
    return [row for s in series for row in run.series(s)]


class _TimeLimitExceeded(Exception):
    """The time limit was exceeded."""


class _Progress:
    """Progress reports during runs."""

    def __init__(self, progress: Progress | None, total: int, t0: float, t_end: float) -> None:
        self.progress, self.total, self.t0, self.t_end = progress, total, t0, t_end
        self.done, self.text, self.share = 0, "", (0.0, 1.0)

    def report(self, part: float = 0.0) -> None:
        if self.progress is not None:
            self.progress(self.done + part, self.total, self.text)

    def watch(self, limit: float | None) -> TimeProgress:
        """A function for `solve(progress=...)` that reports progress and enforces the time limit."""
        begin = last = time.perf_counter()

        def watch(t: float) -> None:
            nonlocal last
            now = time.perf_counter()
            if limit is not None and now - begin > limit:
                raise _TimeLimitExceeded(f"time limit of {limit:g} s exceeded at t = {t:.9g}")
            if now - last > REPORT_SECONDS:
                last = now
                start, length = self.share
                self.report(start + length * (t - self.t0) / (self.t_end - self.t0))

        return watch


class _Runs:
    def __init__(self, system: System, state: State, t_end: float, exact: ReferenceSolution, repeats: int, limit: float | None,
                 reporter: _Progress) -> None:
        self.system, self.state, self.t_end, self.exact = system, state, t_end, exact
        self.repeats, self.limit, self.reporter = repeats, limit, reporter

    def series(self, s: Series) -> list[WorkPrecisionRow]:
        """The rows of one series."""
        reporter, rows = self.reporter, []
        method, _, _ = s.at(s.settings[0])
        name = s.formulation or (method.formulations[0] if method.formulations else "index3")
        target = FORMULATIONS[name](self.system) if method.formulations else self.system
        reporter.text = f"{s.label}: warming up"
        reporter.report()
        self._warm_up(s, target)
        for setting in s.settings:
            reporter.text = f"{s.label}: {s.control} = {first_of(setting):g}"
            reporter.report()
            rows.append(self._row(s, setting, name, target))
            reporter.done += 1
        reporter.report()
        return rows

    def _solve(self, s: Series, setting: Setting, target: Problem | System, t_end: float, t_eval: Vector | None = None,
               progress: TimeProgress | None = None) -> Solution:
        method, rtol, atol = s.at(setting)
        return solve(target, method, (self.state.t, t_end), state=self.state, rtol=rtol, atol=atol, t_eval=t_eval, progress=progress)

    def _warm_up(self, s: Series, target: Problem | System) -> None:
        """A short run that calls every function; its errors occur again in the timed run and are reported there."""
        with suppress(FloatingPointError, AssemblyError):
            self._solve(s, s.settings[0], target, self.state.t + WARM_UP_SHARE * (self.t_end - self.state.t))

    def _row(self, s: Series, setting: Setting, name: str, target: Problem | System) -> WorkPrecisionRow:
        _, rtol, atol = s.at(setting)
        known: dict[str, Any] = {"method": s.label, "formulation": name, "control": s.control,
                 "setting": first_of(setting) if s.control == "h" else float(rtol), "atol": None if s.control == "h" else float(atol)}
        try:
            return WorkPrecisionRow(**known, **self._measured(s, setting, target))
        except _TimeLimitExceeded as e:
            return WorkPrecisionRow(**known, status="TIME_LIMIT", message=str(e))
        except (AssemblyError, FloatingPointError) as e:  # the run has diverged
            return WorkPrecisionRow(**known, status="NOT_FINITE", message=str(e))

    def _measured(self, s: Series, setting: Setting, target: Problem | System) -> dict[str, Any]:
        solution, seconds = self._timed(s, setting, target)
        found = _counted(solution) | {"seconds": seconds}
        if not solution.success:
            return found
        found |= dict(zip(("residual_position", "residual_velocity", "residual_acceleration"), constraint_residuals(solution)))
        found["energy_drift"] = energy_drift(solution)
        again = self._solve(s, setting, target, self.t_end, self.exact.t, self.reporter.watch(self.limit))
        e = errors(again, self.exact)
        return found | {"error_q": e.q, "error_v": e.v, "error_lam": e.lam, "error_q_max": e.q_max, "error_v_max": e.v_max,
                        "error_lam_max": e.lam_max}

    def _timed(self, s: Series, setting: Setting, target: Problem | System) -> tuple[Solution, float | None]:
        """The solution of the last of several runs, and the median of their times."""
        spent: list[float] = []
        begin = time.perf_counter()
        for k in range(self.repeats):
            self.reporter.share = (k / (self.repeats + 1), 1.0 / (self.repeats + 1))
            solution = self._solve(s, setting, target, self.t_end, progress=self.reporter.watch(self.limit))
            spent += [] if solution.statistics.seconds is None else [solution.statistics.seconds]
            if not solution.success or time.perf_counter() - begin > REPEAT_SECONDS:
                break
        self.reporter.share = (self.repeats / (self.repeats + 1), 1.0 / (self.repeats + 1))
        return solution, median(spent) if spent else None


def first_of(setting: Setting) -> float:
    """The step, or the relative tolerance."""
    return float(np.atleast_1d(setting)[0])


def _tolerances(setting: Setting) -> tuple[float, float]:
    rtol, *atol = np.atleast_1d(setting).tolist()
    return rtol, atol[0] if atol else rtol / 100.0


def _counted(solution: Solution) -> dict[str, Any]:
    s = solution.statistics
    return {"steps": s.steps, "evaluations": s.residuals, "evaluations_jacobian": s.residuals_jacobian, "jacobians": s.jacobians,
            "newton_iterations": s.newton_iterations, "status": solution.status.name,
            "message": "" if solution.success else solution.message}


_PANELS = (("error_q", "error of $q$  [m, rad]"), ("error_v", "error of $v$  [m/s, rad/s]"),
           ("error_lam", r"error of $\lambda$  [N, N m]"))


def plot_work_precision(rows: Sequence[WorkPrecisionRow], title: str | None = None) -> Figure:
    """Errors of positions, velocities and multipliers against computing time.

    Solid lines: methods with fixed step; dashed lines: methods with error control. Failed runs are omitted.

    Parameters
    ----------
    rows : list of WorkPrecisionRow
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure
    """
    panels = [p for p in _PANELS if any(getattr(r, p[0]) is not None for r in rows)] or list(_PANELS[:1])
    with style():
        figure = new_figure(2.55 * len(panels) + 0.35, 3.35)
        axes = figure.subplots(1, len(panels), squeeze=False)[0]
        for axis, (field, label) in zip(axes, panels):
            axis.set(xlabel="computing time  [s]", ylabel=label)
            _draw(axis, rows, field)
        handles, labels = axes[0].get_legend_handles_labels()
        if handles:
            figure.legend(handles, labels, loc="outside lower center", ncols=min(len(handles), 6 if len(panels) > 2 else 3),
                          columnspacing=1.4)
        if title:
            figure.suptitle(title, fontsize=10, color="#222222")
    return figure


def _draw(axis: Axes, rows: Sequence[WorkPrecisionRow], field: str) -> None:
    for k, name in enumerate(dict.fromkeys(r.method for r in rows)):
        mine = [r for r in rows if r.method == name]
        good = [r for r in mine if r.success and getattr(r, field) and r.seconds]
        line = "-" if mine[0].control == "h" else (0, (4, 1.6))
        if good:
            axis.loglog([r.seconds for r in good], [getattr(r, field) for r in good], linestyle=line, label=name, **look(k))
    if not axis.has_data():
        axis.set(xticks=[], yticks=[])
        axis.text(0.5, 0.5, "no run succeeded", transform=axis.transAxes, ha="center", va="center", color=GREY)
