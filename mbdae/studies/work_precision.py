"""Work-precision studies: several methods on one system, over steps or tolerances, with one reference solution."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from ..assemble import assemble, system_of
from ..driver.arguments import time_span
from ..driver.method import Method
from ..model.mechanism import Mechanism
from ..problems import FORMULATIONS
from ..problems.base import Problem
from ..results.solution import Solution
from ..solve import solve
from ..system.assembly import AssemblyError, State
from ..system.system import System
from ..typing import Progress, TimeProgress, Vector
from .kinematics import ReferenceSolution
from .measure import Measured, measure, time_limit
from .reference import reference

Setting: TypeAlias = float | Sequence[float]  # a step; rtol, or (rtol, atol)

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

    def __post_init__(self) -> None:
        step = getattr(self.method, "step_size", None)
        if isinstance(self.method, Method) and step is not None:
            raise ValueError(f"Series {self.label!r}: the settings of a method with fixed step are steps, but this one has h = {step:g}; "
                             f"give what makes the method from a step, such as mbdae.{type(self.method).__name__}")

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
class RunSetting:
    """Which run it is: `setting` is the step [s] if `control` is `"h"`, the relative tolerance if it is `"rtol"`."""

    method: str
    formulation: str
    control: str
    setting: float
    atol: float | None = None


@dataclass(frozen=True)
class WorkPrecisionRow(Measured, RunSetting):
    """One run: its setting, see `RunSetting`, and what was measured, see `Measured`."""


def work_precision(system: Mechanism | System, series: Sequence[Series], t_span: Sequence[float], *, state: State | None = None,
                   exact: ReferenceSolution | None = None, points: int = 101, repeats: int | None = None, limit: float | None = None,
                   progress: Progress | None = None) -> list[WorkPrecisionRow]:
    """Run every setting of every series and measure error and work.

    A short run before each series excludes compilation from the timing. Each setting is then run several times with output at the steps of
    the method only, from which constraint violations and energy are computed, and once more with output at the times of the reference,
    unless they are among the steps. The cost is the least processor time of the repeats.

    Parameters
    ----------
    system : Mechanism or System
    series : sequence of Series
    t_span : (float, float)
    state : State, optional
        Consistent initial state; by default the assembled one.
    exact : ReferenceSolution, optional
        By default `reference(system, state, times)` at `points` equidistant times.
    points : int
    repeats : int, optional
        Number of runs, more of short ones and less of long ones. By default until the two least times agree to 3 %, at most five times, or
        twice if they take more than half a second.
    limit : float, optional
        Time limit of a run in seconds; beyond it the status of the row is `TIME_LIMIT`.
    progress : callable, optional
        `progress(done, total, text)`, with `done` of `total` runs, including fractions of runs.

    Returns
    -------
    list of WorkPrecisionRow
        A run that fails is a row with its status and message. Exceptions of user functions propagate.
    """
    system = system_of("work_precision", system)
    check_series("work_precision", series)
    t0, t_end = time_span("work_precision", t_span)
    state = assemble(system, t0) if state is None else state
    if exact is None:
        exact = reference(system, state, np.linspace(t0, t_end, points))
    reporter = _Progress(progress, sum(len(s.settings) for s in series), t0, t_end, limit)
    run = _Runs(system, state, t_end, exact, repeats, reporter)
    return [row for s in series for row in run.series(s)]


def check_series(owner: str, series: object) -> None:
    """Raise `ValueError` if it is no sequence of `Series`."""
    if isinstance(series, Series) or not isinstance(series, Sequence):
        raise ValueError(f"{owner}: series must be a list of Series, got {series!r}")
    for s in series:
        if not isinstance(s, Series):
            raise ValueError(f"{owner}: series must contain Series(label, method, settings), got {s!r}")


class _Progress:
    """Progress reports during runs."""

    def __init__(self, progress: Progress | None, total: int, t0: float, t_end: float, limit: float | None) -> None:
        self.progress, self.total, self.t0, self.t_end, self.limit = progress, total, t0, t_end, limit
        self.done, self.text = 0, ""

    def report(self, part: float = 0.0) -> None:
        if self.progress is not None:
            self.progress(self.done + part, self.total, self.text)

    def watch(self, k: int, n: int) -> TimeProgress:
        """The progress of the k-th of `n` runs of a setting, which enforces the time limit."""
        last = time.perf_counter()

        def report(t: float) -> None:
            nonlocal last
            now = time.perf_counter()
            if now - last > REPORT_SECONDS:
                last = now
                self.report((k + (t - self.t0) / (self.t_end - self.t0)) / n)

        return time_limit(self.limit, report)


class _Runs:
    def __init__(self, system: System, state: State, t_end: float, exact: ReferenceSolution, repeats: int | None,
                 reporter: _Progress) -> None:
        self.system, self.state, self.t_end, self.exact = system, state, t_end, exact
        self.repeats, self.reporter = repeats, reporter

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
        stepped = s.control == "h"

        def run(t_eval: Vector | None, progress: TimeProgress) -> Solution:
            return self._solve(s, setting, target, self.t_end, t_eval, progress)

        known: dict[str, Any] = {"method": s.label, "formulation": name, "control": s.control,
                                 "setting": first_of(setting) if stepped else float(rtol), "atol": None if stepped else float(atol)}
        return WorkPrecisionRow(**known, **measure(run, self.exact, None if stepped else (rtol, atol), self.repeats, self.reporter.watch))


def first_of(setting: Setting) -> float:
    """The step, or the relative tolerance."""
    return float(np.atleast_1d(setting)[0])


def _tolerances(setting: Setting) -> tuple[float, float]:
    rtol, *atol = np.atleast_1d(setting).tolist()
    return rtol, atol[0] if atol else rtol / 100.0
