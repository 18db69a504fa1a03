"""A run in chunks of steps of compiled code, between which Python takes output and looks at interrupts."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from mbdae.driver.callbacks import SolverFailure
from mbdae.driver.run import MAX_ROWS, Run
from mbdae.interrupts import signals
from mbdae.problems.base import Problem
from mbdae.results.creeping import WINDOW
from mbdae.results.messages import AT_ROUNDING, too_many_steps
from mbdae.results.status import Status
from mbdae.results.turning import Moment
from mbdae.typing import Vector

from .bound import Bound
from .march import ARRIVED, FAILED, PAUSED, STALLED, TOO_MANY, March

FIRST_CHUNK, CHUNK_SECONDS = 64, 0.2  # steps and wall time between two visits of Python, when other threads run
ROWS_BYTES = 2**22  # of output that is kept before it is passed on


def march_of(run: Run, equations: Any, solver: Any, by_times: bool, every: int) -> March:
    """The record of a run for compiled code."""
    p: Problem = run.problem
    first = {name: block.start for name, block in p.blocks.items()}
    room = int(np.clip(ROWS_BYTES // (8 * p.n), 16, MAX_ROWS))
    times = np.array((run.wanted or [])[::-1], dtype=float) if by_times else np.zeros(0)
    watched = run.turns.active and "v" in first
    return March(equations=equations, solver=solver, t=run.t, t_end=run.t_end, forward=run.forward, rounding=run.rounding, steps=0,
                 max_steps=run.max_steps, pause=0, every=every, stalled=0, fault=0, times=times, by_steps=int(not by_times), next_output=0,
                 stored=0, rows_t=np.empty(room), rows_y=np.empty((room, p.n)), q=first.get("q", 0), nq=p.system.nq, v=first.get("v", 0),
                 nv=p.system.nv, usual=0.0 if watched else np.inf, sudden=0, before=run.t, before_y=np.zeros(p.n))


class Chunks:
    """A run in chunks of steps of compiled code.

    Parameters
    ----------
    step : callable
        The compiled loop of the solver, see `loop`; `None` for a solver that calls back after its steps.
    march : March
    bound : Bound
    run : Run
    unknowns : callable
        `unknowns()`: those at the end of the last step.
    failure : callable
        `failure(code)`: a code of the solver as `SolverFailure`.
    """

    def __init__(self, step: Any, march: March, bound: Bound, run: Run, unknowns: Callable[[], Vector],
                 failure: Callable[[int], SolverFailure]) -> None:
        self.step, self.march, self.bound, self.run, self.unknowns, self.failure = step, march, bound, run, unknowns, failure
        self.chunk, self._begun, self._first = FIRST_CHUNK, 0.0, 0

    def compile(self) -> None:
        """An empty chunk."""
        rows = self.march.rows_t
        self.march.rows_t = rows[:0]
        self.step(self.march, signals.flag)
        self.march.rows_t = rows

    def to_end(self) -> None:
        """Step to the end, and until all output up to there has been taken."""
        code = PAUSED
        while code != ARRIVED:
            self.begin()
            code = self.step(self.march, signals.flag)
            self.end(code)

    def begin(self) -> None:
        """Begin a chunk of `CHUNK_SECONDS` if there is room for its output, within a window in which the run may creep."""
        m = self.march
        self._begun, self._first = time.perf_counter(), m.steps
        m.pause = m.steps + (min(self.chunk, WINDOW - m.steps % WINDOW) if self.run.creeping.active else self.chunk)

    def end(self, code: int) -> None:
        """Take the output of a chunk, and raise what has ended it."""
        elapsed, done = max(time.perf_counter() - self._begun, 1e-6), self.march.steps - self._first
        self.chunk = int(np.clip(done * CHUNK_SECONDS / elapsed, 1, 4 * self.chunk))
        self.take_output()
        self.bound.check()
        self._look(code)

    def take_output(self) -> None:
        """Take the rows that compiled code has stored."""
        m, run = self.march, self.run
        rows = zip(m.rows_t[:m.stored].tolist(), m.rows_y[:m.stored].copy())
        run.take(m.t, m.steps, rows)
        m.stored = 0

    def _look(self, code: int) -> None:
        """What a chunk has ended for."""
        m = self.march
        if code == FAILED:
            raise self.bound.explained(self.failure(m.fault), m.t)
        if code == STALLED:
            raise self.bound.explained(SolverFailure(Status.STEP_TOO_SMALL, AT_ROUNDING), m.t)
        if m.sudden:
            self._look_for_turns()
        self.run.look_for_creeping(m.t, self.unknowns())
        if code == TOO_MANY:
            raise SolverFailure(Status.TOO_MANY_STEPS, too_many_steps(m.max_steps))

    def _look_for_turns(self) -> None:
        m, run = self.march, self.run
        m.sudden, run.turns.rate = 0, m.usual
        q, v = m.before_y[m.q:m.q + m.nq].copy(), m.before_y[m.v:m.v + m.nv].copy()
        run.last = Moment(m.before, q, v)
        run.look_for_turns(m.t, self.unknowns().copy())
        m.usual = run.turns.rate

