"""Solvers on state-space form: where the chart wears out the solver is started anew in another one, and nobody notices."""

from dataclasses import fields

import numpy as np

from .charts.fault import ChartError
from .status import Statistics, Status
from .trajectory import Trajectory

COLUMNS = ("t", "q", "v", "a", "lam")


class _Watch:
    """Ends the run of a solver after a step at which the user or the chart wants it."""

    def __init__(self, problem, until):
        self._problem, self._until = problem, until
        self.left = None  # (t, q, v) where the chart is left

    def __call__(self, t, q, v):
        if self._until is not None and self._until(t, q, v):
            return True
        if self._problem.leave(t, q):
            self.left = t, q, v
        return self.left is not None


def integrate_in_charts(method, problem, state, t_end, *, t_eval, every, progress, until, **options):
    """`method.integrate`, as often as charts are needed; see `mbdae.method`."""
    pieces, wanted = [], t_eval
    while True:
        watch = _Watch(problem, until)
        piece = method.integrate(problem, state, t_end, t_eval=wanted, every=every, progress=progress, until=watch, **options)
        if pieces and t_eval is None:  # its start is the end of the piece before
            _drop_first(piece)
        pieces.append(piece)
        if watch.left is None or piece.status != Status.SUCCESS or watch.left[0] == t_end:
            return _joined(pieces)
        t = watch.left[0]
        wanted = None if t_eval is None else wanted[np.sign(t_end - t) * (wanted - t) > 0.0]
        try:
            state = problem.full_state(*watch.left)
        except ChartError as error:
            return _failed(pieces, error, t)


def _drop_first(piece):
    for name in COLUMNS:
        setattr(piece, name, getattr(piece, name)[1:])


def _failed(pieces, error, t):
    pieces[-1].status = error.status
    pieces[-1].message = f"{error.reason} (last step ended at t = {t:.9g}); the solution up to there is kept"
    return _joined(pieces)


def _joined(pieces):
    """One trajectory; counters that a solver does not report stay `None`."""
    if len(pieces) == 1:
        return pieces[0]
    counted = {f.name: [getattr(p.statistics, f.name) for p in pieces] for f in fields(Statistics)}
    statistics = Statistics(**{name: None if None in values else sum(values) for name, values in counted.items()})
    statistics.restarts = len(pieces) - 1
    columns = (np.concatenate([getattr(p, name) for p in pieces]) for name in COLUMNS)
    return Trajectory(*columns, statistics, pieces[-1].status, pieces[-1].message)
