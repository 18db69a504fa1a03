"""Solvers on state-space form: where the chart wears out the solver is started anew in another one, and nobody notices."""

from dataclasses import fields

import numpy as np

from ..results.diagnosis import ChartError, near_singular
from ..results.statistics import Statistics
from ..results.status import Status
from ..results.steps import StepWatch
from ..results.trajectory import Trajectory
from .callbacks import SolverFailure

COLUMNS = ("t", "q", "v", "a", "lam")
REST = 1e-9  # share of the time span for which no solver is started anew: some refuse, and the old chart still reaches as far
VAGUE = (Status.NEWTON_FAILED, Status.STEP_TOO_SMALL, Status.SOLVER_FAILED, Status.NOT_FINITE)  # what is said that knows no better
LOST = (Status.CHART_LOST, Status.SINGULAR)  # what the end of a chart looks like


class _Watch(StepWatch):
    """Ends the run of a solver after a step at which the user or the chart wants it, and where the steps are spent."""

    def __init__(self, problem, until, t0, t_end, max_steps):
        self._problem, self._until, self._t_end, self._max_steps = problem, until, t_end, max_steps
        self._rest = REST * abs(t_end - t0)
        self.steps = 0
        self.last = self.left = None  # (t, q, v) after the last step, and where the chart is left
        self.asking = False  # whether the chart itself is in trouble at the end of the last step
        self._healed, self._step = t0, None

    def after(self, step):
        """See `StepWatch`."""
        self._step = step
        return self(step.t, *step.motion())

    def __call__(self, t, q, v):
        self.steps, self.last = self.steps + 1, (t, q, v)
        if self._until is not None and self._wanted(t, q, v):
            return True
        if self.steps == self._max_steps and t != self._t_end:
            raise SolverFailure(Status.TOO_MANY_STEPS, f"{self._max_steps} steps were not enough")
        self.asking = True
        if abs(self._t_end - t) > self._rest and self._problem.leave(t, q):
            self.left = t, q, v
        self.asking = False
        return self.left is not None

    def _wanted(self, t, q, v):
        """Whether the user wants the run to end."""
        step, self._step = self._step, None
        return self._until.after(step) if step is not None and isinstance(self._until, StepWatch) else self._until(t, q, v)

    def heal(self, status):
        """Whether a run that has ended with `status` is to be taken up after its last step in a new chart: once for every time."""
        if status not in LOST or self.asking or self.last is None or abs(self.last[0] - self._healed) <= self._rest:
            return False
        self._healed, self.left = self.last[0], self.last
        return True


def integrate_in_charts(method, problem, state, t_end, *, t_eval, every, until, **options):
    """`method.integrate`, as often as charts are needed; see `mbdae.driver.method`."""
    watch, pieces, wanted, start = _Watch(problem, until, state.t, t_end, method.max_steps), [], t_eval, state
    while True:
        watch.left, begun = None, watch.steps
        try:
            piece = method.integrate(problem, state, t_end, t_eval=wanted, every=1, until=watch, **options)
            healed = watch.heal(piece.status)
            if healed:
                _shorten(piece, watch, begun, t_end)
            wanted = None if t_eval is None else wanted[len(piece.t):]
            pieces.append(piece if t_eval is not None else _thinned(piece, begun, every, t_end))
            if not healed and (watch.left is None or piece.status != Status.SUCCESS or watch.left[0] == t_end):
                return _explained(_joined(pieces), problem.system, start, watch)
            state = problem.full_state(*watch.left)
        except ChartError as error:
            failed = _failed(pieces or [_alone(state, t_eval)], error, watch.left[0] if watch.left else state.t)
            return _explained(failed, problem.system, start, watch)


def _explained(trajectory, system, start, watch):
    """The constraints behind steps that shrink to nothing or positions that cannot be found, if they are about to lose rank."""
    vague = trajectory.status in VAGUE or (trajectory.status == Status.SINGULAR and "rank" not in trajectory.message)
    met = near_singular(system, start, *watch.last[:2]) if vague and watch.last else None
    if met is not None:
        trajectory.status, trajectory.message = met[0], f"{met[1]} ({trajectory.message})"
    return trajectory


def _shorten(piece, watch, begun, t_end):
    """Only what belongs to steps that were completed."""
    keep = (piece.t <= watch.last[0]) if t_end > watch.last[0] else (piece.t >= watch.last[0])
    for name in COLUMNS:
        setattr(piece, name, getattr(piece, name)[keep])
    piece.statistics.steps = watch.steps - begun


def _thinned(piece, begun, every, t_end):
    """Every `every`-th of all steps, of which this piece begins with number `begun`: that one ends the piece before."""
    numbers = begun + np.arange(len(piece.t))
    keep = (numbers % every == 0) & ((numbers > begun) | (begun == 0)) | (piece.t == t_end)
    for name in COLUMNS:
        setattr(piece, name, getattr(piece, name)[keep])
    return piece


def _alone(state, t_eval):
    """The start, if no step can be made."""
    n = int(t_eval is None or state.t in t_eval)
    columns = (np.repeat(np.array([getattr(state, name)]), n, axis=0) for name in COLUMNS)
    return Trajectory(*columns, Statistics(steps=0), Status.SUCCESS, "")


def _failed(pieces, error, t):
    pieces[-1].status = error.status
    pieces[-1].message = f"{error.reason} (last step ended at t = {t:.9g}); the solution up to there is kept"
    return _joined(pieces)


def _joined(pieces):
    """One trajectory; counters that a solver does not report stay `None`."""
    counted = {f.name: [getattr(p.statistics, f.name) for p in pieces] for f in fields(Statistics)}
    statistics = Statistics(**{name: None if None in values else sum(values) for name, values in counted.items()})
    statistics.restarts = len(pieces) - 1
    columns = (np.concatenate([getattr(p, name) for p in pieces]) for name in COLUMNS)
    return Trajectory(*columns, statistics, pieces[-1].status, pieces[-1].message)
