"""What `solve` keeps of a run: rows in memory or in a folder, checkpoints, the rows of an earlier run before its own."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..problems.base import Problem
from ..problems.state_space import StateSpace
from ..results import storage
from ..results.memory import Memory, Request
from ..results.minimum_norm import MinimumNorm
from ..results.output import Output
from ..results.rows import COLUMNS, Columns, Rows
from ..results.solution import Solution
from ..results.status import Status
from ..results.stream import Stream
from ..results.trajectory import Trajectory
from ..results.watch import Watch
from ..typing import Until
from .arguments import is_finite
from .continuation import Continued
from .method import Method, Resumable
from .record import Record, Recorded


class Recording:
    """One run.

    Parameters
    ----------
    method : Method
    problem : Problem
    request : Request
    past : Continued or None
        The earlier run that it continues.
    output : Output or None
    checkpoint : Path or None
    interval : float
        Seconds between two checkpoints.

    Raises
    ------
    ValueError
        The method cannot do this with this form.
    """

    def __init__(self, method: Method, problem: Problem, request: Request, past: Continued | None, output: Output | None,
                 checkpoint: Path | None, interval: float) -> None:
        self.system, self.method, self.problem, self.request, self.past = problem.system, method, problem, request, past
        s, self.checkpoint = problem.system, checkpoint
        self.watch: Watch | None = None
        sizes, before = (s.nq, s.nv, s.nv, s.nc), 0 if past is None else past.rows
        self.resumable = isinstance(method, Resumable) and not method.not_resumable
        self._is_asked_for = not (past is None and output is None and checkpoint is None)
        if not (output is None and checkpoint is None):
            self._check("checkpoint" if output is None else "output")
        self.norm = MinimumNorm(s, before)
        self.stream = None if output is None else Stream(output.path, sizes, output.columns, before, self.norm)
        rows = Rows(sizes) if self.stream is None else self.stream
        self.record = Record(rows, None if past is None else past.memory, None if checkpoint is None else self._write, interval,
                             0 if self.stream is not None else before, past is not None)

    def _check(self, what: str) -> None:
        """Refuse methods that keep their rows until the end."""
        method, form = self.method, self.problem.formulation
        if isinstance(self.problem, StateSpace) and not method.keeps_charts:
            raise ValueError(f"{what}: {method.label} is restarted in each chart of the form {form!r}, and keeps its rows in memory until "
                             "the end; use another form, such as 'ode', or an integrator of mbdae")
        if isinstance(method, Resumable) and not method.records:
            raise ValueError(f"{what}: {method.label} projects its rows at the end, and keeps them in memory until then; project a "
                             "one-step method instead")

    def options(self, until: Until | None) -> dict[str, Any]:
        """Arguments of `integrate`."""
        if isinstance(self.method, Resumable):
            return {"until": until, "record": self.record} if self.method.records else {"until": until}
        return {"until": Recorded(self.record, until) if self._is_asked_for else until}

    def __enter__(self) -> "Recording":
        return self

    def __exit__(self, *error: object) -> None:
        if self.stream is not None:
            self.stream.close()

    # the end ---------------------------------------------------------------------------------------------------------------

    def completed(self, trajectory: Trajectory) -> Trajectory:
        """All rows, those of the earlier run too, with minimum-norm multipliers."""
        if self.stream is not None:
            if not isinstance(trajectory.t, np.memmap):  # of a method that knows nothing of records
                self.stream.append(Columns(*(getattr(trajectory, name) for name in COLUMNS)))
                trajectory = replace(trajectory, **self.stream.columns()._asdict())
            return self.norm.valid(trajectory)
        past, x = self.past, trajectory
        if past is not None and past.memory is None and len(x.t) and x.t[0] == past.at.t:  # the state from which it went on
            x = replace(x, **{name: getattr(x, name)[1:] for name in COLUMNS})
        norm = MinimumNorm(self.system, 0 if past is None else past.rows)
        x = replace(x, lam=norm(Columns(*(getattr(x, name) for name in COLUMNS))).lam)
        return norm.valid(x if past is None else x.after(past.columns))

    def solution(self, trajectory: Trajectory) -> Solution:
        """The `Solution`."""
        made = Solution(self.system, trajectory, self.method.label, self.problem.formulation)
        made.request = self.request
        made.memory = self.record.memory if made.status in (Status.SUCCESS, Status.TOO_MANY_STEPS) else None
        if self.past is not None and self.past.memory is None:
            made.message += (f"; from t = {self.past.at.t:.9g} the run went on from the state alone, since {self.method.label} "
                             f"{self._why_not()}: its steps are not those of an uninterrupted run")
        return made

    def _why_not(self) -> str:
        reason = self.method.not_resumable if isinstance(self.method, Resumable) else ""
        return reason or "does not let its memory be kept"

    def close(self, solution: Solution) -> None:
        """End the output in a folder with the rows of the solution."""
        if self.stream is not None:
            self.stream.truncate(len(solution.t))
            for name, x in zip(COLUMNS, self.stream.columns()):
                setattr(solution, name, x)
            storage.save_beside(self.stream.folder, solution)

    # checkpoints -----------------------------------------------------------------------------------------------------------

    def _write(self, trajectory: Trajectory, memory: Memory | None) -> None:
        assert self.checkpoint is not None
        made = self.solution(replace(self.completed(trajectory), status=Status.UNFINISHED))
        made.memory, made.message = memory, f"a checkpoint: the run had reached t = {self._reached(made, memory):.9g}"
        if self.watch is not None:
            found = self.watch.found()
            made.t_events, made.y_events = found.times, found.motions
        about: Mapping[str, Any] = {}
        if self.stream is not None:
            about = {"folder": str(self.stream.folder.resolve()), "rows": len(made.t)}
            for name in COLUMNS:
                setattr(made, name, np.zeros((0, *np.shape(getattr(made, name))[1:])))
        storage.save(self.checkpoint, made, {}, about, compress=False)

    @staticmethod
    def _reached(solution: Solution, memory: Memory | None) -> float:
        return memory.t if memory is not None else float(solution.t[-1]) if len(solution.t) else np.nan


def checked_interval(checkpoint: object, interval: float) -> float:
    """Validated seconds between two checkpoints."""
    if not (is_finite(interval) and interval >= 0.0):
        raise ValueError(f"checkpoint_every must be a number of seconds, not negative, got {interval!r}")
    if checkpoint is not None and not isinstance(checkpoint, str | Path):
        raise ValueError(f"checkpoint must be the path of a file, got {checkpoint!r}")
    return float(interval)
