"""What a family of integrators supplies to the driver."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from ...compilation.structure import Structure
from ...results.diagnosis import explain
from ...results.rows import Columns
from ...results.status import Cause, Status
from ...results.steps import Step, TimedState, hermite_step
from ...system.assembly import State as Start
from ...system.codes import BAD_DERIVATIVES, DIVERGED, ERROR_TEST, SINGULAR_MATRIX, STALLED
from ...system.contents import Leaves, copied, leaves, restore
from ...system.system import System
from ...typing import Matrix, Vector
from ..instability import instability
from .loop import Loops
from .records import COUNTERS, Counts, Output, new_clock, new_output
from .step_size import ELEMENTARY

FAULTS = {DIVERGED: Cause(Status.NEWTON_FAILED, "Newton's method does not converge"),
          SINGULAR_MATRIX: Cause(Status.NEWTON_FAILED, "the iteration matrix is singular"),
          BAD_DERIVATIVES: Cause(Status.NOT_FINITE, "the derivatives of the equations are not finite"),
          ERROR_TEST: Cause(Status.STEP_TOO_SMALL, "the error test fails"),
          STALLED: Cause(Status.STEP_TOO_SMALL, "the step does not move the time any more")}
FIXED = ELEMENTARY.rule(1, 1.0)  # a placeholder for steps of fixed size


class Stepper(ABC):
    """The arrays and compiled functions of one integration.

    A family defines

    - `loops`: the time loop, compiled with the functions of the family, see `loop`;
    - `run`: the `Run` that this gets;
    - `begin()`: preparation of the first step; `clock.h` and `clock.fixed` are set afterwards;

    and may replace

    - `assist(fault)`: supply what a step has requested;
    - `cure(fault)`: whether a run that has failed can be continued after a change;
    - `explain(fault)`: the cause of a failure, in words;
    - `stability`: the largest product of step size and rate for which its fixed steps are stable;
    - `remark()`: why steps may be short, for runs that reach the limit of their number;
    - `completed(rows)`: rows of output whose accelerations and multipliers are evaluated when they are put out;
    - `step(before)`: the last accepted step with the interpolant of the family, by default cubic polynomials;
    - `additional_counts()`: work that is not counted in `run.counts`;
    - `counted()`: all counters, for a family that does not count its work in `run.counts`;
    - `kept`, `omitted`, `extra()` and `prepare(saved)`: the structures and arrays of its memory, what of them is not kept, what else is,
      and arrays of the right sizes.
    """

    loops: Loops
    max_steps: int = 2**62
    restarts: int | None = None  # number of new charts, `None` if the family has no charts
    stability: float = np.inf  # of `h` times the largest rate of the linearised motion, with fixed steps
    ahead: float = 1.0  # steps within which a singular position is searched after a failure
    lasting: bool = False  # whether the arrays of the memory stay the same during a run, but before calls of `forget_memory`
    run: Structure

    def __init__(self, system: System, state: Start, t_end: float) -> None:
        self.system, self.begins, self.t_end = system, state, t_end
        self.clock, self.counts = new_clock(state.t, t_end), Counts(**dict.fromkeys(COUNTERS, 0))
        self.model, self.work = system.model, system.workspace()
        self._storage: dict[int, Output] = {}  # storage of `sampled` by the number of times

    def common(self, **fields: Any) -> dict[str, Any]:
        """The fields of `Run`, of which `rule`, `newton`, `start` and `end` are given."""
        return {"clock": self.clock, "counts": self.counts, "model": self.model, "work": self.work} | fields

    @property
    def t(self) -> float:
        """Time reached."""
        return self.clock.t

    @property
    def fixed(self) -> bool:
        """Whether the step size is fixed."""
        return bool(self.clock.fixed)

    @abstractmethod
    def begin(self) -> None:
        """Prepare the first step."""

    def assist(self, fault: int) -> None:
        """Supply what a step has requested."""
        raise AssertionError(f"a step has requested {fault}, which {type(self).__name__} does not supply")

    def cure(self, fault: int) -> bool:
        """Whether the run is continued after this fault."""
        return False

    def explain(self, fault: int) -> Cause:
        """Status and reason of a fault."""
        return FAULTS.get(fault) or explain(self.system, fault, self.work, self.t, self.run.end.q)

    def unstable(self) -> Cause | None:
        """Whether fixed steps beyond the limit of stability have made the velocities grow."""
        if not (self.fixed and np.isfinite(self.stability)):
            return None
        t, _, v, *_ = self.row()
        return instability(self.system, self.begins, t, v, self.clock.h, self.stability)

    def remark(self) -> str:
        """Why the steps may be short, if it is known."""
        return ""

    def additional_counts(self) -> dict[str, int]:
        """Work that is not counted in `run.counts`."""
        return {}

    def counted(self) -> dict[str, int | None]:
        """All counters of the run so far."""
        found: dict[str, int | None] = {name: getattr(self.counts, name) for name in COUNTERS}
        for name, more in self.additional_counts().items():
            found[name] = (found.get(name) or 0) + more
        return found | {"restarts": self.restarts}

    def completed(self, rows: Columns) -> tuple[Columns, Cause | None]:
        """Rows of output as they are put out; those before the first one that cannot be had, and its cause."""
        return rows, None

    # continuation ----------------------------------------------------------------------------------------------------------

    @property
    def kept(self) -> dict[str, Any]:
        """The structures and arrays that make up the memory, by name."""
        return {"run": self.run}

    @property
    def omitted(self) -> tuple[str, ...]:
        """Names of arrays that are not a part of the memory."""
        return ()

    def extra(self) -> dict[str, np.ndarray]:
        """What the following steps depend on beside `run`."""
        return {}

    def prepare(self, saved: Mapping[str, np.ndarray]) -> None:  # noqa: B027  # not abstract: most families need nothing
        """Adopt `extra`, and make the arrays of `run` whose sizes are those of a run in progress."""

    def contents(self) -> dict[str, np.ndarray]:
        """All that the following steps depend on, by name."""
        return copied(self._leaves if self.lasting else leaves(self.kept, self.omitted)) | self.extra()

    @cached_property
    def _leaves(self) -> Leaves:
        """What the memory consists of, found once if arrays are `lasting`."""
        return leaves(self.kept, self.omitted)

    def forget_memory(self) -> None:
        """After arrays have been replaced."""
        vars(self).pop("_leaves", None)

    def find_memory(self) -> None:
        """Find what the memory consists of before the clock starts, as runs may consist of a few steps."""
        if self.lasting:
            _ = self._leaves

    def resume(self, saved: Mapping[str, np.ndarray]) -> None:
        """Go on after the step of these `contents`, in the place of `begin`."""
        self.prepare(saved)
        restore(self.system, self.kept, saved, self.omitted)
        self.clock.t_end = float(self.t_end)

    # steps -----------------------------------------------------------------------------------------------------------------

    def row(self) -> TimedState:
        """The present state `(t, q, v, a, lam)`, copies."""
        start = self.run.start
        return self.t, start.q.copy(), start.v.copy(), start.a.copy(), start.lam.copy()

    def snapshot(self) -> Any:
        """The state before a step, for `step`."""
        return self.row()

    def step(self, before: Any) -> Step:
        """The last accepted step; `before` is the `snapshot` at its beginning."""
        return hermite_step(self.system, before, self.row())

    def sampled(self, run: Structure, times: Vector, t0: float) -> tuple[Matrix, int]:
        """Rows `(q, v, a, lam)` at times within the last step, which begins at `t0`, and `GOOD` or the code of a failure."""
        n = len(times)
        if n not in self._storage:
            self._storage[n] = new_output(self.begins, n)
        output = self._storage[n]
        code = self.loops.sample(np.asarray(times, dtype=float), t0, self.clock.past_step, run, output)
        self.system.callbacks.check()
        return np.hstack([output.q, output.v, output.a, output.lam])[:output.stored], code
