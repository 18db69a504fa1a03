"""Reference solutions of targets as tasks."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import numpy as np

from ...system.assembly import AssemblyError
from ..kinematics import ReferenceSolution
from ..reference import ReferenceFailed, reference
from .target import Target, start_of, system_of

Reference: TypeAlias = ReferenceSolution | str  # or the reason why there is none


@dataclass(frozen=True)
class ReferenceTask:
    """The reference solution of a target at equidistant times."""

    target: Target
    points: int
    timed: ClassVar[bool] = False

    @property
    def text(self) -> str:
        """See `Task`."""
        return f"{self.target.label}: reference"

    @property
    def curve(self) -> Hashable:
        """See `Task`."""
        return self

    def content(self) -> dict[str, Any]:
        """See `Task`."""
        return asdict(self)

    def carry_out(self) -> Reference:
        """The solution, or the reason why there is none."""
        try:
            return reference(system_of(self.target), start_of(self.target), self.target.times(self.points))
        except (ReferenceFailed, AssemblyError) as error:
            return str(error)

    def save(self, path: Path, result: Reference) -> None:
        """See `Task`."""
        assert not isinstance(result, str)
        with path.open("wb") as file:
            np.savez(file, t=result.t, q=result.q, v=result.v, a=result.a, lam=result.lam, source=result.source, redundant=result.redundant)

    def load(self, path: Path) -> ReferenceSolution:
        """See `Task`."""
        with np.load(path, allow_pickle=False) as kept:
            return ReferenceSolution(kept["t"], kept["q"], kept["v"], kept["a"], kept["lam"], str(kept["source"]), bool(kept["redundant"]))

    @staticmethod
    def lasting(result: Reference) -> bool:
        """See `Task`."""
        return not isinstance(result, str)
