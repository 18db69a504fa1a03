"""The studies of scaling and of Jacobians as tasks, one for each curve or mechanism."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from ...assemble import assemble
from ...problems import FORMULATIONS
from ...registry import find
from ..jacobian import JacobianRow, jacobian_study
from ..reference import ReferenceFailed
from ..scaling import CASES, ScalingRow, scaling_study
from .rows import RowsTask, described
from .target import Target, system_of


@dataclass(frozen=True)
class ScalingTask(RowsTask):
    """One family of mechanisms with one case over sizes, see `scaling_study`."""

    family: str
    case: str
    sizes: tuple[int, ...]
    repeats: int = 3
    limit: float = 20.0
    row: ClassVar[type[ScalingRow]] = ScalingRow

    @property
    def text(self) -> str:
        """See `Task`."""
        return f"{self.family}: {CASES[self.case].title}"

    @property
    def curve(self) -> Hashable:
        """See `Task`."""
        return self

    def content(self) -> dict[str, Any]:
        """See `Task`."""
        return asdict(self)

    def carry_out(self) -> list[ScalingRow]:
        """The rows."""
        try:
            return scaling_study((self.family,), self.sizes, (self.case,), repeats=self.repeats, limit=self.limit)
        except Exception as error:  # the other cells are not lost
            return [ScalingRow(self.family, self.case, self.sizes[0], **described(error))]


@dataclass(frozen=True)
class StrategyPlace:
    """Where a row belongs."""

    mechanism: str
    t_end: float
    method: str
    formulation: str
    rtol: float


@dataclass(frozen=True)
class StrategyRow(JacobianRow, StrategyPlace):
    """One strategy for the Jacobian, see `JacobianRow`."""


@dataclass(frozen=True)
class JacobianTask(RowsTask):
    """All strategies for one mechanism, method and tolerance, alternating, see `jacobian_study`."""

    target: Target
    method: str
    formulation: str
    rtol: float
    repeats: int = 3
    limit: float | None = None
    row: ClassVar[type[StrategyRow]] = StrategyRow

    @property
    def text(self) -> str:
        """See `Task`."""
        return f"{self.target.label}: {find(self.method).label}, strategies for the Jacobian"

    @property
    def curve(self) -> Hashable:
        """See `Task`."""
        return self

    def content(self) -> dict[str, Any]:
        """See `Task`."""
        return asdict(self)

    def carry_out(self) -> list[StrategyRow]:
        """The rows."""
        place = StrategyPlace(self.target.label, self.target.t_end, find(self.method).label, self.formulation, self.rtol)
        try:
            problem = FORMULATIONS[self.formulation](system_of(self.target))
            rows = jacobian_study(problem, find(self.method).make(), (0.0, self.target.t_end), rtol=self.rtol, atol=self.rtol / 100.0,
                                  state=assemble(problem.system), repeats=self.repeats, limit=self.limit).rows
        except (ValueError, ImportError, ReferenceFailed) as refusal:
            return [StrategyRow(**asdict(place), strategy="", status="REFUSED", message=str(refusal))]
        except Exception as error:  # the other cells are not lost
            return [StrategyRow(**asdict(place), strategy="", **described(error))]
        return [StrategyRow(**asdict(place), **asdict(row)) for row in rows]
