"""Solvers on state-space form: the local parametrisation is switched when it becomes ill-conditioned, and the solver is restarted."""

from collections.abc import Sequence

import numpy as np

from ..problems.state_space import StateSpace
from ..results.creeping import WINDOW, CreepWatch
from ..results.diagnosis import ChartError, near_singular
from ..results.messages import failed, too_many_steps
from ..results.statistics import Statistics
from ..results.status import Cause, Status
from ..results.steps import Step, StepWatch
from ..results.trajectory import COLUMNS, Trajectory, joined
from ..results.turning import Moment
from ..system.assembly import State
from ..system.system import System
from ..typing import TimeProgress, Tolerance, Until, Vector
from .callbacks import SolverFailure
from .method import Method
from .run import FailedSince

REST = 1e-9  # share of the time span for which no solver is restarted: some refuse, and the present chart is valid up to there
VAGUE = (Status.NEWTON_FAILED, Status.STEP_TOO_SMALL, Status.SOLVER_FAILED, Status.NOT_FINITE)  # failures whose cause may be a singularity
RESOLVED, SLACK = 0.25, 10.0  # deviation of positions from the integral of their rates, relative to their motion, and in tolerances
LARGE = 0.05  # the same, relative to the largest motion of a coordinate in the step
NEAR_SINGULAR = 0.1  # smallest singular value of `Phi_q`, relative to its initial value, where such a deviation is not examined
LOST = (Status.CHART_LOST, Status.SINGULAR)  # failures of a chart


class _Watch(StepWatch):
    """Ends the run of a solver after a step if the user or the chart requires it, or if the maximum number of steps is reached."""

    def __init__(self, problem: StateSpace, until: Until | None, start: State, t_end: float, max_steps: int | None,
                 tolerance: float) -> None:
        self._problem, self._until, self._t_end, self._max_steps = problem, until, t_end, max_steps
        self._rest = REST * abs(t_end - start.t)
        self.steps = 0
        self.last: Moment | None = None  # the end of the last step
        self.left: Moment | None = None  # where the chart is left
        self.asking = False  # whether the chart itself fails at the end of the last step
        self._creeping, self._stuck = CreepWatch(problem.system, start), False
        self._healed = start.t
        self._step: Step | None = None
        self._start, self._before, self._tolerance = start, Moment(start.t, start.q, start.v), tolerance
        self._late: FailedSince | None = None  # the failure of a step that was too long for the motion by drivers

    def after(self, step: Step) -> bool:
        """See `StepWatch`."""
        self._step = step
        return self(step.t, *step.motion())

    def __call__(self, t: float, q: Vector, v: Vector) -> bool:
        self.steps, self.last = self.steps + 1, Moment(t, q, v)
        if self._problem.system.rheonomic:
            self._look_for_drivers(self.last)
        if self._ends(t, q, v):
            return True
        if self.steps == self._max_steps and t != self._t_end:
            raise SolverFailure(Status.TOO_MANY_STEPS, too_many_steps(self._max_steps))
        self._look_for_creeping(t, q)
        self.asking = True
        if abs(self._t_end - t) > self._rest and self._problem.leave(t, q):
            self.left = self.last
        self.asking = False
        return self.left is not None

    def _look_for_drivers(self, end: Moment) -> None:
        """A solver sees the independent coordinates only, and may step over the motion by drivers; then branches can be mistaken.

        Such a step ends the run unless a singular position is near, where rates have no bound and step sizes tend to zero.
        """
        begin, self._before = self._before, end
        if self._late is None and self._unresolved(begin, end):
            reason = (f"the step to t = {end.t:.9g} is too long for the motion by drivers, which errors of the independent coordinates do "
                      "not show; set max_step, or take another formulation, such as 'ode'")
            self._late = FailedSince(Cause(Status.SOLVER_FAILED, reason), begin.t, 1)
        if self._late is None:
            return
        if end.t == self._t_end or near_singular(self._problem.system, self._start, end.t, end.q, NEAR_SINGULAR) is None:
            self._stuck = True
            raise self._late

    def _unresolved(self, begin: Moment, end: Moment) -> bool:
        """Whether the positions of a step are far from the integral of their rates by the trapezoidal rule."""
        h, qdot = end.t - begin.t, self._problem.system.qdot
        rate0, rate1 = (qdot(x.q, x.v, x.t) for x in (begin, end))
        off = np.abs(end.q - begin.q - 0.5 * h * (rate0 + rate1))
        move = abs(h) * np.maximum(np.abs(rate0), np.abs(rate1))
        unlike = off > RESOLVED * move + SLACK * self._tolerance * (1.0 + np.abs(end.q))
        return bool((unlike & (off > LARGE * move.max())).any())

    def _look_for_creeping(self, t: float, q: Vector) -> None:
        """The same as `Run.look_for_creeping` in a run of several charts."""
        if not self._creeping.active or self.steps % WINDOW:
            return
        found = self._creeping.after(self.steps, t, q)
        if found is not None:
            self._stuck = True
            raise SolverFailure(*found)

    def _ends(self, t: float, q: Vector, v: Vector) -> bool:
        """Whether the user requires the end of the run."""
        step, self._step = self._step, None
        if self._until is None:
            return False
        return self._until.after(step) if step is not None and isinstance(self._until, StepWatch) else self._until(t, q, v)

    def heal(self, piece: Trajectory) -> bool:
        """Whether a run that has failed is continued after its last step in a new chart: once for every time."""
        if piece.status not in LOST or piece.end is not None or self.asking or self._stuck:
            return False
        if self.last is None or abs(self.last.t - self._healed) <= self._rest:
            return False
        self._healed, self.left = self.last.t, self.last
        return True


def integrate_in_charts(method: Method, problem: StateSpace, state: State, t_end: float, *, rtol: float, atol: Tolerance,
                        t_eval: Vector | None, every: int, progress: TimeProgress | None, until: Until | None) -> Trajectory:
    """`method.integrate`, once in each chart; see `mbdae.driver.method`."""
    watch, wanted, start = _Watch(problem, until, state, t_end, method.max_steps, max(rtol, float(np.max(atol)))), t_eval, state
    pieces: list[Trajectory] = []
    while True:
        watch.left, begun = None, watch.steps
        try:
            piece = method.integrate(problem, state, t_end, rtol=rtol, atol=atol, t_eval=wanted, every=1, progress=progress, until=watch)
            healed = watch.heal(piece)
            if healed and watch.last is not None:
                _shorten(piece, watch.last.t, watch.steps - begun, t_end)
            wanted = None if wanted is None else wanted[len(piece.t):]
            pieces.append(piece if t_eval is not None else _thinned(piece, begun, every, t_end))
            left = watch.left
            if left is None or (not healed and (piece.status != Status.SUCCESS or left.t == t_end)):
                return _explained(_joined(pieces), problem.system, start, watch)
            state = problem.full_state(*left)
        except ChartError as error:
            ended = _failed(pieces or [_alone(state, t_eval)], error, watch.left.t if watch.left else state.t)
            return _explained(ended, problem.system, start, watch)


def _explained(trajectory: Trajectory, system: System, start: State, watch: _Watch) -> Trajectory:
    """With the constraints in the message if a run has failed because they are about to lose rank."""
    vague = trajectory.status in VAGUE or (trajectory.status == Status.SINGULAR and "rank" not in trajectory.message)
    met = near_singular(system, start, watch.last.t, watch.last.q) if vague and watch.last else None
    if met is not None:
        trajectory.status, trajectory.message = met.status, f"{met.reason} ({trajectory.message})"
    return trajectory


def _shorten(piece: Trajectory, last: float, steps: int, t_end: float) -> None:
    """Only the output of completed steps, of which the last one ends at the time `last`."""
    keep = (piece.t <= last) if t_end > last else (piece.t >= last)
    for name in COLUMNS:
        setattr(piece, name, getattr(piece, name)[keep])
    piece.statistics.steps = steps


def _thinned(piece: Trajectory, begun: int, every: int, t_end: float) -> Trajectory:
    """Every `every`-th of all steps; the piece begins with the step of number `begun`, the last one of the piece before."""
    numbers = begun + np.arange(len(piece.t))
    keep = (numbers % every == 0) & ((numbers > begun) | (begun == 0)) | (piece.t == t_end)
    for name in COLUMNS:
        setattr(piece, name, getattr(piece, name)[keep])
    return piece


def _alone(state: State, t_eval: Vector | None) -> Trajectory:
    """The initial state, if there are no steps."""
    n = int(t_eval is None or state.t in t_eval)
    t, q, v, a, lam = (np.repeat(np.array([getattr(state, name)]), n, axis=0) for name in COLUMNS)
    return Trajectory(t, q, v, a, lam, Statistics(steps=0), Status.SUCCESS, "")


def _failed(pieces: list[Trajectory], error: ChartError, t: float) -> Trajectory:
    pieces[-1].status = error.status
    pieces[-1].message = failed(error.reason, t)
    return _joined(pieces)


def _joined(pieces: Sequence[Trajectory]) -> Trajectory:
    """One trajectory."""
    whole = joined(pieces)
    whole.statistics.restarts = len(pieces) - 1
    return whole
