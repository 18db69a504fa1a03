"""Curves as tasks: one method on one target over tolerances, the loosest first, until it is accurate enough or too slow."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from .references import Reference
from .rows import RowsTask
from .runs import NO_REFERENCE, REFUSED, Cell, RunRow, RunTask

ENDS = (REFUSED, NO_REFERENCE, "TIME_LIMIT")  # what no tighter tolerance would change


@dataclass(frozen=True)
class CurveRow(RunRow):
    """One run of a curve, see `RunRow`; `package` is `"mbdae"` or that of the established solver."""

    package: str = "mbdae"

    @property
    def in_house(self) -> bool:
        """Whether the method is one of mbdae."""
        return self.package == "mbdae"

    @property
    def error(self) -> float | None:
        """The largest error of positions and velocities, each over `max |x| + 1/100`, where `x` is the reference."""
        known = [x * self.setting for x in (self.tolerances_q, self.tolerances_v) if x is not None]
        return max(known, default=None) if self.success else None


@dataclass(frozen=True)
class CurveTask(RowsTask):
    """Runs of one method, in the order of their tolerances, up to the first one with an error of at most `accuracy`."""

    cells: tuple[Cell, ...]
    accuracy: float
    exact: Reference = field(repr=False, compare=False)
    at_once: int = 1
    row: ClassVar[type[CurveRow]] = CurveRow

    @property
    def text(self) -> str:
        """See `Task`."""
        return f"{self.cells[0].target.label}: {self.cells[0].spec.label}"

    @property
    def curve(self) -> Hashable:
        """See `Task`."""
        first = self.cells[0]
        return first.target, first.method, first.formulation

    def content(self) -> dict[str, Any]:
        """See `Task`."""
        return {"cells": [asdict(cell) for cell in self.cells], "accuracy": self.accuracy, "at_once": self.at_once}

    @staticmethod
    def lasting(result: list[CurveRow]) -> bool:
        """See `Task`: the time limit is where a curve ends."""
        return all(row.status != "ERROR" for row in result)

    def carry_out(self) -> list[CurveRow]:
        """The rows."""
        available = self.cells[0].spec.family.availability()
        package, rows = "mbdae" if available is None else available.package, []
        for cell in self.cells:
            (found,) = RunTask(cell, self.exact, self.at_once).carry_out()
            rows.append(CurveRow(**asdict(found), package=package))
            error = rows[-1].error
            if rows[-1].status in ENDS or (error is not None and error <= self.accuracy):
                break
        return rows
