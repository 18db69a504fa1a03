"""The table of a study: tidy rows, provenance, files."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...compilation.stamp import HERE
from ..table import metadata, write_csv, write_json

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class StudyTable:
    """One row for each cell.

    Attributes
    ----------
    study : str
    rows : list of dataclass instances of one type
    provenance : dict
        Versions, machine, date, commit, settings, and how many cells ran at once, each on one core.
    """

    study: str
    rows: list[Any]
    provenance: dict[str, Any]

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a data frame, the provenance in its `attrs`.

        Raises
        ------
        ImportError
            Without pandas.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("a data frame needs pandas: pip install 'mbdae[data]'") from error
        frame = pd.DataFrame([asdict(row) for row in self.rows])
        frame.attrs = self.provenance
        return frame

    def write(self, stem: str | Path) -> list[Path]:
        """Write `stem.csv`, `stem.json` with the provenance, and `stem.parquet` where pandas and pyarrow are installed; the paths."""
        stem = Path(stem)
        stem.parent.mkdir(parents=True, exist_ok=True)
        paths = [stem.with_suffix(".csv"), stem.with_suffix(".json")]
        if self.rows:
            write_csv(paths[0], self.rows)
        write_json(paths[1], self.provenance | {"study": self.study, "rows": self.rows})
        if self.rows and self._write_parquet(stem.with_suffix(".parquet")):
            paths.append(stem.with_suffix(".parquet"))
        return paths

    def _write_parquet(self, path: Path) -> bool:
        try:
            import pyarrow  # noqa: F401

            frame = self.to_pandas()
        except ImportError:
            return False
        frame.attrs = {}
        frame.to_parquet(path)
        return True


def provenance(settings: dict[str, Any], workers: int) -> dict[str, Any]:
    """Versions, machine, date, commit and settings; `cells_at_once` says how much timings may be disturbed."""
    return metadata(**settings) | {"commit": _commit(), "cells_at_once": workers}


def _commit() -> str | None:
    """The commit of a checkout, with a mark if it has changes; `None` elsewhere."""
    found = [_git("rev-parse", "HEAD"), _git("status", "--porcelain", "--untracked-files=no")]
    if found[0] is None:
        return None
    return found[0] + ("" if not found[1] else " with changes")


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], cwd=HERE, capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def merged(rows: Sequence[Any]) -> list[Any]:
    """Lists of rows in one list."""
    return [row for part in rows for row in part]
