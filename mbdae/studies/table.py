"""Tables of studies as files, with the metadata needed to repeat them."""

import csv
import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, is_dataclass
from datetime import UTC, datetime
from importlib import metadata as packages
from pathlib import Path
from typing import Any

import numpy as np

_PACKAGES = ("mbdae", "numpy", "scipy", "numba", "scikit-sundae")


def metadata(**parameters: object) -> dict[str, Any]:
    """Versions, machine, date, and the given parameters of a study, as a plain dictionary.

    Returns
    -------
    dict
        Keys `versions`, `machine`, `date`, `parameters`.
    """
    return {"versions": {"python": platform.python_version()} | {name: _version(name) for name in _PACKAGES},
            "machine": {"platform": platform.platform(), "processor": _processor(), "cores": os.cpu_count()},
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "parameters": parameters}


def _version(name: str) -> str | None:
    try:
        return packages.version(name)
    except packages.PackageNotFoundError:
        return None


def _processor() -> str:
    """Name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def write_csv(path: str | Path, rows: Sequence[Any]) -> None:
    """Write rows as CSV: a header line of field names, one line per row, empty fields for `None`.

    Parameters
    ----------
    path : str or Path
    rows : sequence of dataclass instances of one type or of dictionaries with the same keys, at least one

    Raises
    ------
    ValueError
        If a row has other fields than the first one.
    """
    table = [row if isinstance(row, dict) else asdict(row) for row in rows]
    head = list(table[0])
    for k, row in enumerate(table):
        if row.keys() != table[0].keys():
            raise ValueError(f"row {k} has the fields {', '.join(map(str, row))} where the first one has {', '.join(map(str, head))}")
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(head)
        writer.writerows([row[name] for name in head] for row in table)


def write_json(path: str | Path, content: object) -> None:
    """Write a dictionary as JSON; arrays become lists, dataclasses dictionaries, numbers that are not finite `null`."""
    Path(path).write_text(json.dumps(plain(content), indent=1, allow_nan=False) + "\n", encoding="utf-8")


def plain(x: Any) -> Any:
    """`x` as JSON data: dictionaries, lists, strings, numbers; `None` for numbers that are not finite."""
    if is_dataclass(x) and not isinstance(x, type):
        x = asdict(x)
    if isinstance(x, dict):
        return {str(k): plain(v) for k, v in x.items()}
    if isinstance(x, np.ndarray):
        x = x.tolist()
    if isinstance(x, (list, tuple)):
        return [plain(v) for v in x]
    if isinstance(x, np.generic):
        x = x.item()
    if isinstance(x, float) and not np.isfinite(x):
        return None
    return x if isinstance(x, (str, int, float, bool, type(None))) else str(x)
