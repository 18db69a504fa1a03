"""Single steps of another method, in runs of its own that start from given states."""

from dataclasses import replace
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from ...driver.method import Method
from ...problems.base import Problem
from ...results.diagnosis import ChartError
from ...results.messages import reason_of
from ...results.statistics import COUNTERS
from ...results.status import Status
from ...results.trajectory import Trajectory
from ...system.assembly import AssemblyError, State, accelerations
from ...typing import FullState, Motion, Tolerance, Until, Vector

COUNTS = attrgetter(*COUNTERS)
TINY = 0.011  # rest of the time span, relative to the step, that is no step of its own: no less than in `control.loop`


class Piece(NamedTuple):
    """A step of the method: its start, the step size it was given or 0, its end, and states within it."""

    start: State
    first: float
    t: float
    end: FullState
    inside: Trajectory


class Restarted:
    """A method that is started anew for each step.

    Attributes
    ----------
    step_size : float or None
        The fixed step size.
    counted : ndarray
        Sums of the `COUNTERS` over the runs, NaN for those that are not reported, and the number of runs.
    """

    def __init__(self, method: Method, problem: Problem, t_end: float, rtol: float, atol: Tolerance) -> None:
        self.method, self.problem, self.t_end, self.rtol, self.atol = method, problem, t_end, rtol, atol
        self.step_size, self.counted = method.step_size, np.zeros(len(COUNTERS) + 1)

    def to(self, start: State, t: float) -> Piece:
        """A run to the time `t`, which is a step of fixed size or shorter."""
        run = self._run(self.method, start, t)
        return Piece(start, 0.0, t, _row(run, -1), run)

    def step(self, start: State, first: float, times: Vector | None) -> Piece:
        """A step of the size `first` if it passes the error test of the method, or of a size of its own for 0; output at `times`."""
        ended: list[tuple[float, Motion]] = []

        def until(t: float, q: Vector, v: Vector) -> bool:
            ended.append((t, (q, v)))
            return not 0.0 < abs(self.t_end - t) <= TINY * abs(t - start.t)

        inner: Any = self.method  # a dataclass with this field, see `Method.one_step`
        run = self._run(replace(inner, first_step=first) if first else inner, start, self.t_end, times, until)
        if not ended:
            raise ChartError(Status.SOLVER_FAILED, "the method has made no step")
        t, motion = ended[-1]
        dynamics = (run.a[-1], run.lam[-1]) if times is None else self.consistent(t, *motion)  # the last row may be projected
        return Piece(start, first, t, (*motion, *dynamics), run)

    def within(self, piece: Piece, times: Vector) -> list[FullState]:
        """States at times within a step; they are computed by a repetition of it if they were not among its output."""
        if self.step_size is not None:
            return [self.to(piece.start, t).end for t in times]
        inside = piece.inside
        if not np.isin(times, inside.t).all():
            inside = self.step(piece.start, piece.first, times[np.argsort(abs(times - piece.start.t))]).inside
        return [_row(inside, int(np.argmin(abs(inside.t - t)))) for t in times]

    def consistent(self, t: float, q: Vector, v: Vector) -> Motion:
        """Accelerations and multipliers of the equations of motion."""
        system = self.problem.system
        try:
            return accelerations(system, t, q, v)[:2]
        except AssemblyError as error:
            if system.callbacks.has_raised(error):
                raise
            raise ChartError(Status.PROJECTION_FAILED, str(error)) from error

    def _run(self, method: Method, start: State, t_end: float, times: Vector | None = None, until: Until | None = None) -> Trajectory:
        run = method.integrate(self.problem, start, t_end, rtol=self.rtol, atol=self.atol, t_eval=times, until=until)
        self.counted += np.array([*COUNTS(run.statistics), 1.0], dtype=float)
        if run.status != Status.SUCCESS:
            raise ChartError(run.status, reason_of(run.message))
        return run


def _row(run: Trajectory, k: int) -> FullState:
    return run.q[k], run.v[k], run.a[k], run.lam[k]
