"""Where the tasks of a study run: in this process, on the cores of this machine, or on a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, TypeAlias

from threadpoolctl import threadpool_limits

from .task import Task

Numbered: TypeAlias = tuple[int, Task]
Results: TypeAlias = list[tuple[int, Any]]


def work(batch: Sequence[Numbered]) -> Results:
    """Results of the tasks of one curve, on one core: libraries of linear algebra would take the cores of other tasks."""
    with threadpool_limits(1):
        return [(k, task.carry_out()) for k, task in batch]


class Executor(Protocol):
    """Runs batches of tasks."""

    @property
    def workers(self) -> int:
        """Number of tasks that run at once."""
        ...

    def run(self, batches: Sequence[Sequence[Numbered]]) -> Iterator[Results]:
        """Results of the batches in any order."""
        ...


@dataclass(frozen=True)
class Serial:
    """In this process, one task after another: the timings are least disturbed. `before` is called with each task."""

    before: Callable[[Task], None] | None = None

    @property
    def workers(self) -> int:
        """One."""
        return 1

    def run(self, batches: Sequence[Sequence[Numbered]]) -> Iterator[Results]:
        """See `Executor`; every task is a batch of its own."""
        for batch in batches:
            for numbered in batch:
                if self.before is not None:
                    self.before(numbered[1])
                yield work([numbered])


@dataclass(frozen=True)
class Joblib:
    """In `jobs` processes of this machine, -1 for one for each core."""

    jobs: int = -1

    @property
    def workers(self) -> int:
        """Number of processes."""
        import joblib

        return int(joblib.effective_n_jobs(self.jobs))

    def run(self, batches: Sequence[Sequence[Numbered]]) -> Iterator[Results]:
        """See `Executor`."""
        import joblib

        pool = joblib.Parallel(n_jobs=self.jobs, backend="loky", batch_size=1, return_as="generator_unordered")
        yield from pool(joblib.delayed(work)(batch) for batch in batches)


class Dask:
    """On an existing Dask cluster, whose workers have mbdae and the solvers installed.

    Parameters
    ----------
    scheduler : str
        Its address, such as `"tcp://10.0.0.5:8786"`.

    Raises
    ------
    ImportError
        Without `dask.distributed`.
    OSError
        If nobody answers there.
    """

    def __init__(self, scheduler: str) -> None:
        try:
            self._distributed: Any = import_module("distributed")  # it has no types
        except ImportError as error:
            raise ImportError("a Dask cluster needs the package distributed: pip install 'mbdae[dask]'") from error
        self._client = self._distributed.Client(scheduler, timeout=10)

    @property
    def workers(self) -> int:
        """Number of threads of all workers."""
        return sum(int(n) for n in self._client.nthreads().values())

    def run(self, batches: Sequence[Sequence[Numbered]]) -> Iterator[Results]:
        """See `Executor`; with Ctrl-C the tasks that wait are cancelled."""
        futures = self._client.map(work, batches, pure=False)
        try:
            for future in self._distributed.as_completed(futures):
                yield future.result()
        finally:
            self._client.cancel(futures)
