"""What a family of integrators supplies to the driver."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from ...compilation.structure import Structure
from ...results.diagnosis import explain
from ...results.status import Status
from ...results.steps import Step, hermite_step
from ...system.assembly import State as Start
from ...system.codes import BAD_DERIVATIVES, DIVERGED, ERROR_TEST, SINGULAR_MATRIX, STALLED
from .loop import Loops
from .records import COUNTERS, Counts, new_clock, new_output
from .step_size import ELEMENTARY

FAULTS = {DIVERGED: (Status.NEWTON_FAILED, "Newton's method does not converge"),
          SINGULAR_MATRIX: (Status.NEWTON_FAILED, "the iteration matrix is singular"),
          BAD_DERIVATIVES: (Status.NOT_FINITE, "the derivatives of the equations are not finite"),
          ERROR_TEST: (Status.STEP_TOO_SMALL, "the error test fails"),
          STALLED: (Status.STEP_TOO_SMALL, "the step does not move the time any more")}
FIXED = ELEMENTARY.rule(1, 1.0)  # stands for a rule where steps are of fixed length


class Stepper(ABC):
    """The arrays and compiled functions of one integration.

    A family implements

    - `loops`: the time loop, compiled with the functions of the family, see `loop`;
    - `run`: the `Run` that this gets;
    - `begin()`: what precedes the first step; `clock.h` and `clock.fixed` are set afterwards.

    and, where it has something to say,

    - `assist(fault)`: supply what a step has asked for;
    - `cure(fault)`: whether a run that has failed can go on, after something has been exchanged;
    - `explain(fault)`: what has gone wrong, in words;
    - `step(before)`: the last accepted step with the interpolant of the family, by default cubics;
    - `additional_counts()`: work that is not counted in `run.counts`.
    """

    loops: Loops
    max_steps: int = 2**62
    restarts: int | None = None  # number of new charts, `None` where there are no charts
    run: Any

    def __init__(self, system: Any, state: Start, t_end: float):
        self.system, self.begins, self.t_end = system, state, t_end
        self.clock, self.counts = new_clock(state.t, t_end), Counts(**dict.fromkeys(COUNTERS, 0))
        self.model, self.work = system.model, system.workspace()

    def common(self, **fields: Any) -> dict[str, Any]:
        """The fields of `Run`, of which `rule`, `newton`, `start` and `end` are given."""
        return {"clock": self.clock, "counts": self.counts, "model": self.model, "work": self.work} | fields

    @property
    def t(self) -> float:
        """Time reached."""
        return self.clock.t

    @property
    def fixed(self) -> bool:
        """Whether the steps are of fixed length."""
        return bool(self.clock.fixed)

    @abstractmethod
    def begin(self) -> None:
        """Get ready for the first step."""

    def assist(self, fault: int) -> None:
        """Supply what a step needs."""
        raise AssertionError(f"a step has asked for {fault}, which {type(self).__name__} does not have")

    def cure(self, fault: int) -> bool:
        """Whether the run may go on after this fault."""
        return False

    def explain(self, fault: int) -> tuple[Status, str]:
        """Status and reason of a fault."""
        return FAULTS.get(fault) or explain(self.system, fault, self.work, self.t, self.run.end.q)

    def additional_counts(self) -> dict[str, int]:
        """To be added to the counters of the run."""
        return {}

    def row(self) -> tuple:
        """The present state, `(t, q, v, a, lam)`, in arrays of its own."""
        start = self.run.start
        return self.t, start.q.copy(), start.v.copy(), start.a.copy(), start.lam.copy()

    def snapshot(self) -> Any:
        """What `step` needs of the state before a step."""
        return self.row()

    def step(self, before: Any) -> Step:
        """The last accepted step, before which `snapshot` was this."""
        return hermite_step(self.system, before, self.row())

    def sampled(self, run: Structure, times: np.ndarray, t0: float) -> tuple[np.ndarray, int]:
        """Rows `(q, v, a, lam)` at times within the last step, which has begun at `t0`, and `GOOD` or what is wrong."""
        output = new_output(self.begins, len(times))
        code = self.loops.sample(np.asarray(times, dtype=float), t0, self.clock.past_step, run, output)
        self.system.callbacks.check()
        return np.hstack([output.q, output.v, output.a, output.lam])[:output.stored], code
