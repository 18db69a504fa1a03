"""One integration by `ProjectedGauss`: arrays for the compiled steps, output, failures."""

import time

import numpy as np
from numba.core import config

from ...interrupts import signals
from ...results.diagnosis import near_singular, singular_ahead
from ...results.statistics import Statistics
from ...results.status import Status
from ...results.steps import Step, StepWatch, split_state
from ...results.trajectory import Trajectory
from ...stopwatch import Stopwatch
from ...system.codes import GOOD, NOT_FINITE
from ..projections.project import INITIAL, NO_ENERGY, NO_VALUE, NOT_CONSERVED, PREPARE, PROJECT, Projector
from ..time_grid import time_grid
from .coupled import ABSENT, FORM, NEEDED, SINGULAR_MATRIX
from .march import march
from .newton import BEGUN, CONTROL, COUNTERS, DIVERGED, FACTORISATIONS, ITERATIONS, MATRICES, SOLVES, UNSETTLED
from .stages import EVALUATE
from .tableau import gauss

CHUNK_SECONDS = 0.2
FIRST_CHUNK = 32
NEVER = 2**62
CLOSE = 1e-9  # share of a step within which two times are the same


class _Failed(Exception):
    """A step within a step has failed, as the status of the run says."""


class Run:
    """See `ProjectedGauss.integrate`."""

    def __init__(self, method, system, state, t_end, every, progress, until):
        self.method, self.system, self.every, self.progress, self.until = method, system, every, progress, until
        self.start, self.t0, self.grid = state, state.t, time_grid(state.t, t_end, method.h)
        self.h, self.whole = self.grid.h, self.grid.n if self.grid.is_even else self.grid.n - 1
        self.state = tuple(np.array(x, dtype=float) for x in (state.q, state.v, state.a, state.lam))
        self.projector = Projector("ProjectedGauss", system, method.project, method.norm, method.energy)
        self.target = self.projector.value(state.t, *self.state[:2])
        self.status, self.message = Status.SUCCESS, "the end of the time span was reached"
        self.done, self.steps, self.chunk, self.stopped, self.rows = 0, 0, FIRST_CHUNK, False, []
        self.at_wanted = False  # whether only times that are wanted are stored
        self._allocate()

    def _allocate(self):
        s, n = self.system, self.method.stages
        g, rows = gauss(n), lambda *sizes: tuple(np.zeros((n, k)) for k in sizes)
        self.tableau = g.A, g.b, g.c, g.d, g.r, g.AA, g.A_inverse, g.AA_inverse
        self.stages, self.previous = rows(s.nq, s.nv, s.nv, s.nc), rows(s.nv, s.nc)
        size = n * (s.nv + s.nc)
        self.buffers = *rows(s.nq, s.nv, s.nc, s.nv, s.nc), np.zeros(size)
        self.control, self.counts = np.zeros(CONTROL), np.zeros(COUNTERS, dtype=np.int64)
        p = self.projector
        # the matrix of all stages is large and mostly not needed: pages that nothing is written to cost nothing
        matrix, pivots = np.zeros((size, size)), np.zeros(size, dtype=np.int64)
        self.tools = p.model, p.work, s.workspace(complex), PREPARE, EVALUATE, ABSENT, matrix, pivots
        self.projection = p.projection, PROJECT

    # the run -------------------------------------------------------------------------------------------------------------

    def to_end(self, t_eval):
        """Integrate, and return the trajectory."""
        self._march(self.t0, self.h, 0, 0, NEVER, False)  # compiles, if it must: the first chunk has its true length then
        watch, self.at_wanted = Stopwatch(), t_eval is not None
        if t_eval is None:
            self._keep(self.t0, self.state)
        if not self.grid.moves:
            self.status = Status.STEP_TOO_SMALL
            self.message = f"steps of h = {self.method.h:g} do not move the time; the start is kept"
        elif t_eval is None:
            if self._advance(self.whole, self.every, self.grid.is_even):
                self._last_step(1)
        elif self._to_times(np.asarray(t_eval, dtype=float)) and self._advance(self.whole, NEVER, False):
            self._last_step(NEVER)
        return self._trajectory(watch.seconds)

    def _to_times(self, wanted):
        """The states at all times wanted, those between two steps by a shorter step aside; whether the run may go on."""
        for t in wanted:
            steps = min(int(np.floor((t - self.t0) / self.h + CLOSE)), self.whole)
            if not self._advance(steps, NEVER, False):
                return False
            rest = t - self.grid.time(self.done)
            if abs(rest) <= CLOSE * self.method.h:
                self._keep(t, self.state)
            elif not self._aside(rest):
                return False
            else:
                self.rows[-1][0][-1] = t
        return True

    def _advance(self, to, every, is_last):
        """As far as step number `to`; whether the run may go on."""
        while self.done < to and not self.stopped:
            n, begin = 1 if self.until is not None else min(self.chunk, to - self.done), time.perf_counter()
            kept = self._kept()
            good = self._march(self.t0, self.h, self.done, self.done + n, every, is_last and self.done + n == to)
            if not good or self._asked(kept, self.grid.time(self.done - n), self.grid.time(self.done)):
                return False
            self.chunk = int(np.clip(n * CHUNK_SECONDS / max(time.perf_counter() - begin, 1e-6), 1, 4 * n))
            if is_last and self.done == self.grid.n:
                self.rows[-1][0][-1] = self.grid.t_end  # of which the multiple of the step is off by rounding
        return not self.stopped

    def _last_step(self, every):
        """The last step, if it is not as long as the others."""
        if self.grid.is_even:
            return
        kept, t = self._kept(), self.grid.time(self.whole)
        if self._march(t, self.grid.last, 0, 1, every, False):
            if every == 1:
                self.rows[-1][0][-1] = self.grid.t_end
            self._asked(kept, t, self.grid.t_end)

    def _aside(self, rest):
        """A step to a time that is wanted, from which the run does not go on."""
        kept = self._kept()
        good = self._march(self.grid.time(self.done), rest, 0, 1, 1, False)
        self._go_back(kept)
        return good

    def _kept(self):
        """Copies of all that a step changes and the next one begins with."""
        state, previous = (tuple(x.copy() for x in group) for group in (self.state, self.previous))
        return state, previous, self.control.copy(), self.target, self.done

    def _go_back(self, kept):
        state, previous, control, self.target, self.done = kept
        self.state, self.previous, self.control = tuple(x.copy() for x in state), tuple(x.copy() for x in previous), control.copy()

    def _march(self, t0, h, begin, end, every, is_last):
        """Steps number `begin` to `end` from `t0`; whether the run may go on."""
        room = (end - begin) // every + 2
        out = tuple(np.empty((room, *np.shape(x))) for x in (0.0, *self.state))
        m, p = self.method, self.projector
        code, done, stored, self.target = march(
            t0, h, begin, end, every, is_last, self.state, self.target, p.keeps == INITIAL, self.stages, self.previous, self.buffers,
            self.tableau, (m.tol, m.max_iter), self.control, self.counts, self.tools, self.projection, out, signals.flag)
        self.system.callbacks.check()
        self.done, self.steps = self.done + done, self.steps + done
        if stored:
            self.rows.append(tuple(x[:stored] for x in out))
        if code == NEEDED:
            self._bring_in_the_matrix()
            return self._march(t0, h, begin + done, end, every, is_last)
        if code != GOOD:
            self._fail(code, t0 + (begin + done) * h, h)
        elif self.progress is not None:
            self.progress(t0 + (begin + done) * h)
        return code == GOOD

    def _bring_in_the_matrix(self):
        """Compile what forms the matrix of all stages; the step that needs it is begun once more."""
        if not config.DISABLE_JIT:
            FORM.__wrapper_address__()
        self.tools = tuple(FORM if x is ABSENT else x for x in self.tools)

    def _asked(self, kept, t0, t):
        """Whether the run is to end after the step from `t0` to `t`, before which all was as `kept`."""
        if self.until is None:
            return False
        q, v, a, lam = (x.copy() for x in self.state)
        if isinstance(self.until, StepWatch):
            step = Step(t0, t, lambda: (q.copy(), v.copy()), np.concatenate([q, v, a, lam]), lambda times: self._within(kept, t0, times),
                        split_state(self.system), 2 * self.method.stages + 1)
            self.stopped = self._shown(step)
        else:
            self.stopped = self.until(t, q, v)
        if self.stopped and self.status == Status.SUCCESS:
            self.message = "a terminal event has been passed"
        return self.stopped

    def _shown(self, step):
        try:
            return self.until.after(step)
        except _Failed:  # status and message say why
            return True

    def _within(self, kept, t0, times):
        """States within a step, each by a shorter step from its beginning."""
        now, rows, progress, at_wanted = self._kept(), self.rows, self.progress, self.at_wanted
        self.rows, self.progress, self.at_wanted = [], None, True
        try:
            for t in times:
                self._go_back(kept)
                if not self._march(t0, t - t0, 0, 1, 1, False):
                    raise _Failed
            return np.array([np.concatenate([x[0] for x in row[1:]]) for row in self.rows])
        finally:
            self._go_back(now)
            self.rows, self.progress, self.at_wanted = rows, progress, at_wanted

    def _keep(self, t, state):
        self.rows.append((np.array([t]), *(x[None, :].copy() for x in state)))

    # the end -------------------------------------------------------------------------------------------------------------

    def _fail(self, code, t, h):
        self.status, reason = self._reason(code, t, h)
        if not self.at_wanted and self.rows[-1][0][-1] != t:
            self._keep(t, self.state)  # the last one, whatever `every` says
        self.message = f"{reason} in the step from t = {t:.9g}; the solution up to there is kept"

    def _reason(self, code, t, h):
        """What has gone wrong, and the constraints behind it if these are about to lose rank."""
        q = self.state[0]
        if code == NOT_FINITE:
            return Status.NOT_FINITE, "the equations are not finite"
        tried = int(self.counts[ITERATIONS] - self.counts[BEGUN])
        if code == DIVERGED:
            told = Status.NEWTON_FAILED, f"Newton's method diverged after {tried} iterations"
        elif code == UNSETTLED:
            told = Status.NEWTON_FAILED, f"Newton's method did not converge in {tried} iterations"
        elif code == SINGULAR_MATRIX:
            told = Status.NEWTON_FAILED, "the matrix of Newton's method is singular"
        else:
            told = self.projector.explain(code, t + h, q)
        if code in (NOT_CONSERVED, NO_VALUE):
            return told
        ahead = code != NO_ENERGY and singular_ahead(self.system, self.start, t, q, self.state[1], h)
        return near_singular(self.system, self.start, t, q) or ahead or told

    def _trajectory(self, seconds):
        iterations, matrices, factorisations = (int(self.counts[k]) for k in (ITERATIONS, MATRICES, FACTORISATIONS))
        p, solves = self.projector, int(self.counts[SOLVES])
        statistics = Statistics(
            steps=self.steps, rejected_error=0, rejected_newton=0, residuals=iterations * self.method.stages, residuals_jacobian=0,
            jacobians=matrices, factorisations=factorisations + matrices + p.factorisations, solves=solves + p.solves,
            newton_iterations=iterations, seconds=seconds)
        empty = tuple(np.zeros((0, *np.shape(x))) for x in (0.0, *self.state))
        t, q, v, a, lam = (np.concatenate(x) for x in zip(*(self.rows or [empty])))
        return Trajectory(t, q, v, a, lam, statistics, self.status, self.message)
