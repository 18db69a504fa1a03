"""Drift over long times as tasks: energy and constraint violation of one run over time."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from ...results.solution import Solution
from ...results.status import Status
from ..measure import TimeLimitExceeded, time_limit
from ..work_precision import RunSetting
from .rows import RowsTask, described
from .runs import REFUSED, Cell, Place

POINTS = 401


@dataclass(frozen=True)
class DriftRow(RunSetting, Place):
    """Energy [J] less that at the start, and the constraint violations, at the time `t` [s]; `None` after the end of a run that fails."""

    t: float | None = None
    energy_change: float | None = None
    residual_position: float | None = None
    residual_velocity: float | None = None
    status: str = Status.SUCCESS.name
    message: str = ""


@dataclass(frozen=True)
class DriftTask(RowsTask):
    """The rows of one run at equidistant times. There is no reference: long motions are often chaotic."""

    cell: Cell
    at_once: int = 1
    row: ClassVar[type[DriftRow]] = DriftRow

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
        return asdict(self.cell)

    def carry_out(self) -> list[DriftRow]:
        """The rows."""
        cell, known = self.cell, self.cell.place(self.at_once)
        try:
            solution = cell.run(cell.make(), cell.target.t_end, cell.target.times(cell.points), time_limit(cell.limit))
        except (ValueError, ImportError) as refusal:
            return [DriftRow(**known, status=REFUSED, message=str(refusal))]
        except TimeLimitExceeded as e:
            return [DriftRow(**known, status="TIME_LIMIT", message=str(e))]
        except Exception as error:  # the other cells are not lost
            return [DriftRow(**known, **described(error))]
        return [DriftRow(**known, **found) for found in _over_time(solution)]


def _over_time(solution: Solution) -> list[dict[str, Any]]:
    """Fields of the rows."""
    energy = solution.energy
    levels = solution.constraint_residuals[:, :2]
    about = {"status": solution.status.name, "message": "" if solution.success else solution.message}
    return [{"t": float(t), "energy_change": float(e), "residual_position": float(p), "residual_velocity": float(v)} | about
            for t, e, (p, v) in zip(solution.t, energy - energy[0], levels)]
