"""The tasks of a study are carried out: those whose results are kept are not repeated."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from ...typing import Progress
from .cache import Cache
from .executors import Executor, Numbered, Serial
from .task import Task


def carry_out(tasks: Sequence[Task], cache: Cache | None = None, executor: Executor | None = None,
              progress: Progress | None = None) -> list[Any]:
    """Results in the order of the tasks.

    Parameters
    ----------
    tasks : sequence of Task
    cache : Cache, optional
        Where results are looked up and kept, each as soon as it is there: after an interrupt the same call goes on.
    executor : Executor, optional
        By default in this process.
    progress : callable, optional
        `progress(done, total, text)`.

    Returns
    -------
    list
    """
    cache = Cache(None) if cache is None else cache
    results = {k: found for k, task in enumerate(tasks) if (found := cache.load(task)) is not None}
    missing = [(k, task) for k, task in enumerate(tasks) if k not in results]
    total = len(tasks)

    def report(text: str) -> None:
        if progress is not None:
            progress(len(results), total, text)

    executor = Serial() if executor is None else executor
    if isinstance(executor, Serial):
        executor = Serial(lambda task: report(task.text))
    report(missing[0][1].text if missing else "kept results")
    for batch in executor.run(_batches(missing)):
        for k, result in batch:
            results[k] = result
            cache.store(tasks[k], result)
        report(tasks[batch[-1][0]].text)
    return [results[k] for k in range(total)]


def _batches(tasks: Sequence[Numbered]) -> list[list[Numbered]]:
    """Tasks of one curve together, in the order of the curves."""
    places = {curve: k for k, curve in enumerate(dict.fromkeys(task.curve for _, task in tasks))}
    ordered = sorted(tasks, key=lambda numbered: places[numbered[1].curve])
    return [list(group) for _, group in groupby(ordered, key=lambda numbered: numbered[1].curve)]
