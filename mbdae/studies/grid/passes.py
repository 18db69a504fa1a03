"""Several passes over a study, and the least times of each run in all of them.

Repeats follow one another within a second. On a machine that other programs slow down for minutes they are all slow; a later pass is not.
"""

from collections.abc import Sequence
from dataclasses import replace
from statistics import median
from typing import Any, TypeVar

from ..measure import Measured
from .runs import RunRow

TIMES = ("cpu", "cpu_solve", "wall")  # fields of `Measured` of which the least counts

Row = TypeVar("Row", bound=RunRow)


def least(passes: Sequence[Sequence[Row]]) -> list[Row]:
    """The rows of one study that was carried out several times, with the least times of each.

    A run that reached its end in one pass, and in another exceeded the time limit, has reached it. Curves follow in the order of the first
    pass, with tolerances that only a later one came to at their ends.
    """
    curves: dict[tuple[str, str, str], dict[float, list[Row]]] = {}
    for rows in passes:
        for row in rows:
            curves.setdefault((row.mechanism, row.method, row.formulation), {}).setdefault(row.setting, []).append(row)
    return [_least(found) for curve in curves.values() for found in curve.values()]


def _least(rows: Sequence[Row]) -> Row:
    ended = [row for row in rows if row.success]
    if not ended:
        return rows[0]
    times: dict[str, Any] = {name: min((t for t in (getattr(row, name) for row in ended) if t is not None), default=None) for name in TIMES}
    return replace(ended[0], **times, cpu_spread=_spread(ended, times["cpu"]), repeats=sum(row.repeats or 0 for row in ended))


def _spread(rows: Sequence[Measured], cpu: float | None) -> float | None:
    """The median of the medians of the passes over the least time, less one."""
    medians = [row.cpu * (1.0 + row.cpu_spread) for row in rows if row.cpu is not None and row.cpu_spread is not None]
    return median(medians) / cpu - 1.0 if medians and cpu else None
