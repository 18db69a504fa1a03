"""Several passes over the tasks of a study, and the least times of each run in all of them.

Repeats follow one another within a second. On a machine that other programs slow down for minutes they are all slow; a later pass is not.
"""

from collections.abc import Sequence
from dataclasses import replace
from statistics import median
from typing import Any, TypeVar

from ...typing import Progress
from ..measure import Measured
from .cache import Cache
from .engine import carry_out
from .executors import Executor
from .runs import RunRow
from .task import Task

TIMES = ("cpu", "cpu_solve", "wall")  # fields of `Measured` of which the least counts

Row = TypeVar("Row", bound=RunRow)


def carry_out_in_passes(tasks: Sequence[Task], caches: Sequence[Cache], executor: Executor, progress: Progress | None = None) -> list[Any]:
    """As `carry_out`, once for each of the caches; tasks without times only once."""
    results = carry_out(tasks, caches[0], executor, progress)
    timed = [k for k, task in enumerate(tasks) if task.timed]
    passes = [carry_out([tasks[k] for k in timed], cache, executor, progress) for cache in caches[1:] if timed]
    if passes:
        for k, *later in zip(timed, *passes):
            results[k] = least([results[k], *later])
    return results


def least(passes: Sequence[Sequence[Row]]) -> list[Row]:
    """The rows of one task, by their settings, with the least times of all passes.

    A run that reached its end in one pass, and in another exceeded the time limit, has reached it. Rows of a curve to which only a later
    pass came follow at the end.
    """
    found: dict[float, list[Row]] = {}
    for rows in passes:
        for row in rows:
            found.setdefault(row.setting, []).append(row)
    return [_least(rows) for rows in found.values()]


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
