"""What a run continues, where its rows of output go, and when its memory is kept."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from ..results.memory import Memory
from ..results.rows import Rows
from ..results.steps import Step, StepWatch
from ..results.trajectory import Trajectory
from ..typing import Until, Vector

Write = Callable[[Trajectory, Memory | None], None]


@dataclass
class Record:
    """Passed to methods whose runs can be continued, see `mbdae.driver.method.Resumable`, and by `Recorded` to external solvers.

    Attributes
    ----------
    rows : Rows
        Where the rows of output go; those before `resumed` are not repeated.
    resumed : Memory or None
        The accepted step from which the run goes on.
    memory : Memory or None
        The last one that was kept, for a later continuation.
    write : callable or None
        `write(trajectory, memory)` writes a checkpoint; the trajectory has the rows since `resumed`.
    interval : float
        Seconds between two of them.
    before : int
        Number of rows of the earlier run that are not among `rows`.
    continues : bool
        Whether the run goes on from an earlier one.
    """

    rows: Rows
    resumed: Memory | None = None
    write: Write | None = None
    interval: float = 60.0
    before: int = 0
    continues: bool = False
    memory: Memory | None = None
    _last: float = field(default_factory=time.perf_counter)

    @property
    def due(self) -> bool:
        """Whether it is time for a checkpoint."""
        return self.write is not None and time.perf_counter() - self._last >= self.interval

    @property
    def seconds(self) -> float:
        """Wall time of the run before `resumed`."""
        return 0.0 if self.resumed is None else self.resumed.seconds

    def checkpoint(self, trajectory: Trajectory, memory: Memory | None) -> None:
        """Write one."""
        assert self.write is not None
        self.write(trajectory, memory)
        self._last = time.perf_counter()


class Recorded(StepWatch):
    """An `until` with the record of a run by an external solver, which `mbdae.driver.run.Run` takes apart."""

    def __init__(self, record: Record, until: Until | None) -> None:
        self.record, self.until = record, until

    def after(self, step: Step) -> bool:
        """See `StepWatch`; for methods that do not take it apart."""
        if self.until is None:
            return False
        return self.until.after(step) if isinstance(self.until, StepWatch) else self.until(step.t, *step.motion())

    def __call__(self, t: float, q: Vector, v: Vector) -> bool:
        """The same with a state."""
        return self.until is not None and self.until(t, q, v)
