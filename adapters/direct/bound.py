"""A problem bound to a compiled solver for one run: the tables for its callbacks, and why a run has failed."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from mbdae.driver.callbacks import SolverCallbacks, SolverFailure
from mbdae.jacobians.strategy import JacobianStrategy
from mbdae.problems.base import Problem
from mbdae.problems.null_vectors import FOLLOW, NOTHING, NullVectors
from mbdae.results.status import Status

from .guard import EQUATIONS, JACOBIAN, NO_FAULT, Guard

EXACT = JacobianStrategy("exact")
AT_THE_GAP = 1e-6  # distance from a time at which the equations end, relative to it, within which this explains a failure


class Bound:
    """A problem bound to a solver.

    Parameters
    ----------
    callbacks : SolverCallbacks
        Gets what has been counted, and keeps exceptions of functions in Python.
    forward : {1.0, -1.0}

    Attributes
    ----------
    problem : Problem
    guard : Guard
    """

    def __init__(self, callbacks: SolverCallbacks, forward: float) -> None:
        self.callbacks, self.problem = callbacks, callbacks.problem
        n = self.problem.n
        self._kept: list[Any] = []  # what compiled code has the addresses of
        self.guard = Guard(calls=0, jacobians=0, bad=0, bad_in_a_row=0, last_bad=0, gap=np.inf, at_the_gap=0, direction=forward,
                           fatal=NO_FAULT, t=0.0, y=np.zeros(n), yd=np.zeros(n))

    def tables(self) -> dict[str, Any]:
        """The fields of `Equations`."""
        p = self.problem
        null = NullVectors(np.zeros(0, dtype=np.int64), np.zeros(0), 0, 0.0) if p.null_vectors is None else p.null_vectors
        return {"n": p.n, "m": p.m, "guard": self.guard, "arguments": p.arguments, "model": p.model, "work": p.arguments[1],
                "follow": NOTHING if p.null_vectors is None else FOLLOW, **null._asdict(), "derivatives": 0}

    def keep(self, used: Any) -> None:
        """Keep alive what compiled code has the address of."""
        self._kept.append(used)

    def address(self, function: Any) -> int:
        """Of a callback in Python, which is kept alive."""
        self.keep(function)
        at = ctypes.cast(function, ctypes.c_void_p).value
        assert at is not None
        return at

    def pass_on(self) -> None:
        """Pass on what the compiled callbacks have counted."""
        self.callbacks.counted(self.guard.calls, self.guard.bad, self.guard.last_bad)

    def check(self) -> None:
        """Raise the exceptions of user functions and of Ctrl-C."""
        self.callbacks.raise_kept()
        self.problem.system.callbacks.check()

    def explained(self, failure: SolverFailure, t: float) -> SolverFailure:
        """A failure after the time `t`, traced back to values that were not finite if they have caused it; after `check`."""
        self.pass_on()
        guard = self.guard
        gap = guard.gap if guard.at_the_gap > 0 else np.inf
        if guard.bad and failure.status == Status.STEP_TOO_SMALL:  # at the end of the last step the equations may be finite
            gap = min(gap, guard.direction * guard.t)
        at_the_gap = abs(guard.direction * t - gap) <= AT_THE_GAP * abs(t)
        if guard.bad and (guard.calls - guard.last_bad < self.callbacks.recent or at_the_gap):
            self.callbacks.met(self._fault())
        if guard.fatal == EQUATIONS or at_the_gap:
            return SolverFailure(Status.NOT_FINITE, f"the equations are not finite near t = {guard.t:.9g}")
        if guard.fatal == JACOBIAN:
            return SolverFailure(Status.NOT_FINITE, f"the Jacobian is not finite near t = {guard.t:.9g}")
        return failure

    def _fault(self) -> Any:
        """Why the equations are not finite at the first evaluation of the last ones that were not."""
        p, guard = self.problem, self.guard
        with p.undisturbed():
            p.residual(guard.t, guard.y.copy(), guard.yd.copy())
            return p.fault(guard.t)


def is_compiled(problem: Problem) -> bool:
    """Whether compiled callbacks can be made for a problem."""
    return hasattr(problem.kernel, "for_c")
