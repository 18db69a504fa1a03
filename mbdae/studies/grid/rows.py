"""Tasks whose results are rows of a table, kept as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar

from ..table import plain

PASSING = ("ERROR", "TIME_LIMIT")  # status of rows that another attempt may not have


class RowsTask:
    """The part of `Task` that is common to them; `row` is the dataclass of a row, with a field `status`."""

    row: ClassVar[type[Any]]
    timed: ClassVar[bool] = True

    def save(self, path: Path, result: list[Any]) -> None:
        """See `Task`."""
        path.write_text(json.dumps([plain(asdict(row)) for row in result], allow_nan=False), encoding="utf-8")

    def load(self, path: Path) -> list[Any]:
        """See `Task`."""
        return [self.row(**fields) for fields in json.loads(path.read_text(encoding="utf-8"))]

    @staticmethod
    def lasting(result: list[Any]) -> bool:
        """See `Task`."""
        return all(row.status not in PASSING for row in result)


def described(error: Exception) -> dict[str, Any]:
    """Status and message of a row for an exception that no method should raise."""
    return {"status": "ERROR", "message": f"{type(error).__name__}: {error}"}
