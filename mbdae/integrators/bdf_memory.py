"""The memory of a run by `Bdf`: values at the last steps, iteration matrix, Jacobian, counters."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..driver.callbacks import SolverCallbacks
from ..driver.record import Record
from ..driver.run import Run
from ..jacobians.partitioned import Request
from ..jacobians.strategy import JacobianStrategy, Strategy, as_strategy
from ..problems.base import Problem
from ..results.memory import Memory, with_motion
from ..results.messages import REACHED_END
from ..results.status import Status
from ..stopwatch import Stopwatch
from ..system.contents import contents, restore, saved_array
from ..typing import Vector
from .bdf_stepper import BdfStepper

_ARRAYS = ("_y", "_yd", "_e", "_first", "_later", "_phi", "_table", "_weights")
_NUMBERS = ("t", "h", "k", "residuals", "iterations", "jacobians", "updates", "rejected_error", "rejected_newton", "_rounding",
            "_last_order", "_constant", "_starting", "_holding", "_c", "_eta", "_last_step")
_CALLS = ("calls", "bad", "bad_in_a_row", "_last_bad", "_gap", "_at_the_gap")
_EVALUATIONS = ("jacobians", "updates", "_retries")


def not_resumable(jacobian: str | Strategy) -> str:
    """Why the memory of a Jacobian cannot be kept; empty if it can."""
    strategy = as_strategy(jacobian)
    if not isinstance(strategy, JacobianStrategy):
        return "has a Jacobian whose memory is not known"
    if strategy.source == "estimated" or strategy.update == "extended":
        return f"has the Jacobian {strategy.label!r}, whose patterns and mixed derivatives are not kept"
    return ""


class BdfMemory:
    """What a stepper and the run around it have, as the contents of a `Memory`.

    Parameters
    ----------
    stepper : BdfStepper
    run : Run
    """

    def __init__(self, stepper: BdfStepper, run: Run) -> None:
        self._stepper, self._run = stepper, run
        self._callbacks: SolverCallbacks = run.callbacks
        self._problem: Problem = run.problem

    def keep(self, before: int, seconds: float) -> Memory:
        """The memory after the last step, with so many rows of output before this run."""
        run, s, last = self._run, self._stepper, self._run.last
        found = {f"step.{name}": np.array(getattr(s, name)) for name in (*_ARRAYS, *_NUMBERS)}
        found |= {f"matrix.{name}": x for name, x in s.matrix.contents().items()}
        found |= {f"calls.{name}": np.array(getattr(self._callbacks, name)) for name in _CALLS}
        found |= self._jacobian() | run.turns.contents() | contents(self._problem.system, self._scratch)
        found |= {"run.steps": np.array(run.steps), "last.q": np.array(last.q), "last.v": np.array(last.v)}
        motion = with_motion(*self._problem.motion(s.t, s._y), found)
        return Memory(s.t, before + run.output.count + len(run.rows), seconds, motion)

    def resume(self, memory: Memory) -> None:
        """Go on after the step of this memory; the end of the run is that of the stepper."""
        saved, run, s = memory.contents, self._run, self._stepper
        for name in _ARRAYS:
            getattr(s, name)[...] = saved_array(saved, f"step.{name}")
        _set(s, "step", _NUMBERS, saved)
        s.matrix.resume({name.removeprefix("matrix."): x for name, x in saved.items() if name.startswith("matrix.")})
        _set(self._callbacks, "calls", _CALLS, saved)
        self._resume_jacobian(saved)
        run.turns.resume(saved)
        restore(self._problem.system, self._scratch, saved)
        run.t, run.steps = s.t, int(saved_array(saved, "run.steps"))
        run.last = run.last._replace(t=s.t, q=saved_array(saved, "last.q"), v=saved_array(saved, "last.v"))

    @property
    def _scratch(self) -> dict[str, Any]:
        p = self._problem
        return {"problem.model": p.model, "problem.work": p._work, "problem.at": p._null_space_at}

    def _jacobian(self) -> dict[str, np.ndarray]:
        """Of `mbdae.jacobians.partitioned.PartitionedJacobian`."""
        found, e = {}, self._callbacks.evaluator
        for name in _EVALUATIONS:
            found[f"jacobian.{name}"] = np.array(getattr(e, name))
        found["jacobian.calls"] = np.array(e.source.calls)
        if e._last is not None:
            found["jacobian.last"] = np.array([*e._last[:2], float(e._last.evaluated), e._t_state])
        if hasattr(e, "_f_y"):
            found["jacobian.f_y"] = np.array(e._f_y)
        return found

    def _resume_jacobian(self, saved: Mapping[str, np.ndarray]) -> None:
        e = self._callbacks.evaluator
        _set(e, "jacobian", _EVALUATIONS, saved)
        difference = getattr(e.source, "_difference", None)
        if difference is not None:
            difference.calls = int(saved_array(saved, "jacobian.calls"))
        if "jacobian.last" in saved:
            t, c, evaluated, e._t_state = saved["jacobian.last"].tolist()
            e._last = Request(t, c, bool(evaluated))
        if "jacobian.f_y" in saved:
            e._f_y = saved["jacobian.f_y"].copy()


class KeptStepper:
    """A stepper whose memory is kept before the end of the run limits its steps, and in checkpoints."""

    def __init__(self, stepper: BdfStepper, run: Run, record: Record) -> None:
        self._stepper, self._run, self._record, self._memory = stepper, run, record, BdfMemory(stepper, run)
        self._watch, self._held, run.remember = Stopwatch(), False, self._now
        if record.resumed is not None:
            self._memory.resume(record.resumed)

    def step(self) -> tuple[float, Vector, Vector]:
        """See `BdfStepper`."""
        if not self._held and self._stepper.limited:
            self._held, self._record.memory = True, self._now()
        return self._stepper.step()

    def at(self, t: float) -> tuple[Vector, Vector]:
        """See `BdfStepper`."""
        return self._stepper.at(t)

    def _now(self) -> Memory:
        return self._memory.keep(self._record.before, self._watch.seconds + self._record.seconds)

    def end(self) -> None:
        """Forget the memory of a run that has failed or has been ended by an event."""
        if self._run.status == Status.TOO_MANY_STEPS and not self._held:
            self._record.memory = self._now()
        elif self._run.message != REACHED_END and self._run.status != Status.TOO_MANY_STEPS:
            self._record.memory = None


def _set(owner: Any, prefix: str, names: tuple[str, ...], saved: Mapping[str, np.ndarray]) -> None:
    """Set numbers, of the kind that the owner has."""
    for name in names:
        setattr(owner, name, type(getattr(owner, name))(saved_array(saved, f"{prefix}.{name}").item()))
