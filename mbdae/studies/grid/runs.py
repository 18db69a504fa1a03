"""Runs of methods on targets as tasks, each measured against the reference solution of its target."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from ...driver.method import Method
from ...registry import MethodSpec, find
from ...results.solution import Solution
from ...solve import solve
from ...system.assembly import AssemblyError
from ...typing import TimeProgress, Vector
from ..measure import Measured, measure, time_limit
from ..work_precision import RunSetting
from .references import Reference
from .rows import RowsTask, described
from .target import Target, start_of, system_of

REFUSED, NO_REFERENCE = "REFUSED", "NO_REFERENCE"
POINTS = 101
WARM_UP_SHARE = 1e-3  # of the time span
RTOL = (1e-4, 1e-6, 1e-8)


@dataclass(frozen=True)
class Place:
    """Where a row belongs."""

    mechanism: str
    t_end: float
    cells_at_once: int


@dataclass(frozen=True)
class RunRow(Measured, RunSetting, Place):
    """One run: mechanism, method and setting, and what was measured, see `Measured`.

    `status` is that of the solution, or `REFUSED` before the run, `NO_REFERENCE`, `TIME_LIMIT`, or `ERROR` with the exception.
    `cells_at_once` is the number of cells that ran at the same time, each on a core of its own: timings beside others are less exact.
    """


@dataclass(frozen=True)
class Cell:
    """One run.

    Attributes
    ----------
    target : Target
    method : str
        Name without a formulation, see `mbdae.registry`.
    formulation : str or None
        `None` for methods with fixed step.
    setting : float
        Step [s] or relative tolerance.
    atol : float or None
        `None` for a fixed step.
    repeats : int
    limit : float or None
        Time limit of a run [s].
    points : int
        Times of the reference solution.
    """

    target: Target
    method: str
    formulation: str | None
    setting: float
    atol: float | None
    repeats: int = 1
    limit: float | None = None
    points: int = POINTS

    @property
    def spec(self) -> MethodSpec:
        """The method with its formulation."""
        return find(":".join(x for x in (self.method, self.formulation) if x))

    def place(self, at_once: int) -> dict[str, Any]:
        """The fields of `Place` and `RunSetting`."""
        spec = self.spec
        return {"mechanism": self.target.label, "t_end": self.target.t_end, "cells_at_once": at_once, "method": spec.label,
                "formulation": self.formulation or "index3", "control": spec.control, "setting": self.setting, "atol": self.atol}

    def make(self) -> Method:
        """The method object."""
        return self.spec.make(h=self.setting) if self.atol is None else self.spec.make()

    def run(self, method: Method, t_end: float, t_eval: Vector | None, progress: TimeProgress | None) -> Solution:
        """The run up to `t_end`."""
        tolerances: dict[str, Any] = {} if self.atol is None else {"rtol": self.setting, "atol": self.atol}
        return solve(system_of(self.target), method, (0.0, t_end), formulation=self.formulation, state=start_of(self.target),
                     t_eval=t_eval, progress=progress, **tolerances)


@dataclass(frozen=True)
class RunTask(RowsTask):
    """A `Cell` with its reference solution."""

    cell: Cell
    exact: Reference = field(repr=False, compare=False)
    at_once: int = 1
    row: ClassVar[type[RunRow]] = RunRow

    @property
    def text(self) -> str:
        """See `Task`."""
        return f"{self.cell.target.label}: {self.cell.spec.label}"

    @property
    def curve(self) -> Hashable:
        """See `Task`."""
        return self.cell.target, self.cell.method, self.cell.formulation

    def content(self) -> dict[str, Any]:
        """See `Task`."""
        return asdict(self.cell) | {"at_once": self.at_once}

    def carry_out(self) -> list[RunRow]:
        """The row."""
        return [RunRow(**self.cell.place(self.at_once), **self._measured())]

    def _measured(self) -> dict[str, Any]:
        if isinstance(self.exact, str):
            return {"status": NO_REFERENCE, "message": self.exact}
        cell = self.cell
        try:
            method = cell.make()
            self._warm_up(method)
            tolerance = None if cell.atol is None else (cell.setting, cell.atol)
            return measure(lambda t_eval, progress: cell.run(method, cell.target.t_end, t_eval, progress), self.exact, tolerance,
                           cell.repeats, lambda k, n: time_limit(cell.limit))
        except (ValueError, ImportError) as refusal:
            return {"status": REFUSED, "message": str(refusal)}
        except Exception as error:  # the other cells are not lost
            return described(error)

    def _warm_up(self, method: Method) -> None:
        """A short run, once for each curve in a process, so that nothing is compiled or loaded within a measurement."""
        if self.curve not in _warm:
            _warm.add(self.curve)
            with suppress(FloatingPointError, AssemblyError):
                self.cell.run(method, WARM_UP_SHARE * self.cell.target.t_end, None, None)


_warm: set[Hashable] = set()  # curves that have run in this process


def run_cells(targets: Iterable[Target], methods: Sequence[str] = (), formulations: Sequence[str] = (), rtol: Sequence[float] = (),
              steps: Sequence[float] = (), *, repeats: int = 1, limit: float | None = None, points: int = POINTS,
              controls: Sequence[str] = ("h", "rtol")) -> list[Cell]:
    """All combinations.

    Parameters
    ----------
    targets : iterable of Target
    methods : sequence of str
        Names with or without a formulation, see `mbdae.registry`; by default those usual for the mechanism that are installed.
    formulations : sequence of str
        For methods named without one; by default the preferred one of the method.
    rtol, steps : sequence of float
        Relative tolerances, with `atol = rtol/100`, and steps [s] of methods with fixed step; by default the usual ones.
    repeats, limit, points
        See `Cell`.
    controls : sequence of {"h", "rtol"}
        Kinds of methods.

    Returns
    -------
    list of Cell
    """
    cells = []
    for target in targets:
        usual = target.comparison
        for spec in map(find, methods) if methods else filter(installed, map(find, usual.methods)):
            if spec.control not in controls:
                continue
            name = ":".join(x for x in (spec.family.name, spec.variant) if x)
            settings = [(h, None) for h in steps or usual.steps] if spec.control == "h" else [(r, r / 100.0) for r in rtol or RTOL]
            cells += [Cell(target, name, form, setting, atol, repeats, limit, points)
                      for form in _forms(spec, formulations) for setting, atol in settings]
    return cells


def installed(spec: MethodSpec) -> bool:
    """Whether the package of a method is installed."""
    available = spec.family.availability()
    return available is None or available.installed


def _forms(spec: MethodSpec, formulations: Sequence[str]) -> Sequence[str | None]:
    if spec.control == "h":
        return (None,)
    if spec.formulation is not None:
        return (spec.formulation,)
    return tuple(formulations) or spec.family.forms(spec.variant)[:1]
