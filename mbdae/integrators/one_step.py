"""The time loop of all fixed-step integrators: compiled chunks, between which a bar moves and Ctrl-C is acted on."""

import time
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ..compilation.compiled import compiled
from ..driver.arguments import is_finite, is_integer
from ..interrupts import signals
from ..results.diagnosis import jam_ahead
from ..results.statistics import Statistics
from ..results.status import Status
from ..results.steps import StepWatch, hermite_step
from ..results.trajectory import DenseOutput, Trajectory
from ..stopwatch import Stopwatch
from ..system import evaluate
from ..system.assembly import AssemblyError, accelerations
from ..system.codes import GOOD
from ..system.coupling import new_following
from ..system.vectors import largest
from .resolution import warn_of_rounding
from .time_grid import time_grid

CONVERGED, DIVERGED, NOT_FINITE, STALLED, UNSETTLED = range(5)
_STATUS = {DIVERGED: Status.NEWTON_FAILED, NOT_FINITE: Status.NOT_FINITE, STALLED: Status.STEP_TOO_SMALL,
           UNSETTLED: Status.NEWTON_FAILED}
_REASON = {DIVERGED: "Newton's method did not converge in {max_iter} iterations", NOT_FINITE: "a residual is not finite",
           STALLED: "steps of h = {h:g} do not move the time",
           UNSETTLED: "accelerations and multipliers of the last, shorter step are not found"}
ITERATIONS, MATRICES, COUNTERS = range(3)  # what is counted: Newton's iterations, matrices that were formed and factorised
CHUNK_SECONDS = 0.2
FIRST_CHUNK = 64
ROUNDING = 2e-15
HUGE = 1e100  # beyond, products are not finite
SLOW = 12  # iterations after which a frozen matrix is replaced if the corrections hardly shrink
EXPLODED = 1e8  # a correction, squared, that has grown so much will not shrink again
COUPLED_ROUNDING = 0.1  # share that rounding may have in what forces that depend on the multipliers ask for


@compiled
def at_rounding(phi, q, G):
    """Whether a largest `|Phi|` is as small as rounding of `q` allows: a correction that no longer shrinks is then rounding too."""
    return phi <= ROUNDING * (1.0 + largest(q)) * max(1.0, largest(G))


@compiled
def balance(t, q, v, a, lam, guess, model, work):
    """Accelerations and multipliers of the equations at a state, for another attempt; whether there is to be one.

    An iteration may fail because friction, which depends on the multipliers, has changed its sign or has brought them to a branch that
    ends: `dynamics` finds the branch that is connected with the motion without friction.
    """
    lam[:] = guess
    a[:], lam[:], code, _ = evaluate.accelerations(t, q, v, lam, model, work)
    return code == GOOD


@dataclass(frozen=True)
class FixedStep:
    """Base of the one-step integrators on index-3 equations; they work on a `System` and need no formulation."""

    h: float
    tol: float | None
    max_iter: int

    formulations: ClassVar[tuple] = ()  # works on the system itself
    one_step: ClassVar[bool] = True  # see `mbdae.driver.method`
    stores_start: ClassVar[bool]  # whether `advance` stores states before it leaves them

    def __post_init__(self):
        for field, x in (("h", self.h), ("tol", self.tol)):
            if not (is_finite(x) and x > 0) and (field, x) != ("tol", None):
                raise ValueError(f"{type(self).__name__}: {field} must be positive and finite, got {x!r}")
        if not (is_integer(self.max_iter) and self.max_iter >= 1):
            raise ValueError(f"{type(self).__name__}: max_iter must be at least 1 and an integer, got {self.max_iter!r}")

    @property
    def newton_tolerance(self) -> float:
        """What Newton's method stops at."""
        return self._usual_tolerance() if self.tol is None else self.tol

    def _usual_tolerance(self) -> float:
        return 1e-10

    @property
    def label(self):
        """Name and step for tables and legends."""
        return f"{type(self).__name__}(h={self.h:g})"

    def integrate(self, problem, state, t_end, *, rtol=None, atol=None, t_eval=None, every=1, progress=None,
                  until=None):
        """Run from a consistent state to `t_end`; the last step takes what is left. Tolerances have no meaning here.

        Parameters
        ----------
        problem : System
        state : State
        t_end : float
            May lie before `state.t`.
        t_eval : ndarray, optional
            Times of the output; between the steps it is interpolated by cubics in `q` and `v` and linearly in `lam`.
        every : int
            Without `t_eval`: store every `every`-th step; the last state is always stored.
        progress : callable, optional
            `progress(t)` after each chunk of steps.
        until : callable, optional
            The run ends after the chunk of steps in which `until(t, q, v)` has been true after a step; see `mbdae.driver.method`.

        Returns
        -------
        Trajectory
        """
        warn_of_rounding(self.label, self.h, state, t_end)
        all_steps = t_eval is not None or until is not None
        trajectory = _Run(self, problem, state, t_end, 1 if all_steps else every).to_end(progress, until)
        if t_eval is not None:
            return interpolated(problem, trajectory, t_eval)
        return trajectory.thinned(every) if all_steps else trajectory


def interpolated(system, trajectory, t_eval):
    """The trajectory at the times `t_eval` that it has reached."""
    T = trajectory
    if len(T.t) < 2:
        keep = np.isin(T.t, t_eval)
        return replace(T, t=T.t[keep], q=T.q[keep], v=T.v[keep], a=T.a[keep], lam=T.lam[keep])
    good = (np.abs(T.q).max(axis=1) < HUGE) & (np.abs(T.v).max(axis=1) < HUGE)  # a run that fails may have exploded before
    T = replace(T, t=T.t[good], q=T.q[good], v=T.v[good], a=T.a[good], lam=T.lam[good])
    lo, hi = min(T.t[0], T.t[-1]), max(T.t[0], T.t[-1])
    t = np.clip(t_eval[(t_eval >= lo - 1e-12) & (t_eval <= hi + 1e-12)], lo, hi)
    q, v, a, lam = DenseOutput(system, T)(t)
    return replace(T, t=t, q=q, v=v, a=a, lam=lam)


class _Run:
    """One integration: the current state, what has been stored, and the size of the next chunk."""

    def __init__(self, method, system, state, t_end, every):
        self.method, self.system, self.every, self.start = method, system, every, state
        self.q, self.v, self.a, self.lam = (np.array(x) for x in (state.q, state.v, state.a, state.lam))
        self.grid, self.done, self.counts = time_grid(state.t, t_end, method.h), 0, np.zeros(COUNTERS, dtype=np.int64)
        self.stored = [tuple(np.array([x]) for x in (state.t, state.q, state.v, state.a, state.lam))]
        self.seen = state.t, state.q, state.v, state.a, state.lam  # the last one that `until` has been asked about
        self.model, self.work = system.model, system.workspace()
        self.following = new_following(self.model, self.lam) if system.has_friction else None
        self.chunk = FIRST_CHUNK
        self.stopped = False

    def to_end(self, progress, until):
        if not self.grid.moves:
            return self._trajectory(STALLED, 0.0)
        self._advance(0, self.grid.h)  # compiles, if it must: the first chunk has its true length then
        watch = Stopwatch()
        status = self._steps(self.grid.n - 1, self.grid.h, progress, until)
        if status == CONVERGED and not self.stopped:
            status = self._steps(self.grid.n, self.grid.last, progress, until)
            if status == CONVERGED and not self.grid.is_even:
                status = self._settle()
        return self._trajectory(status, watch.seconds)

    def _steps(self, end, h, progress, until):
        """Steps `h` up to number `end`, in chunks."""
        status = CONVERGED
        while self.done < end and status == CONVERGED and not self.stopped:
            n, begin = min(self.chunk, end - self.done), time.perf_counter()
            status = self._advance(n, h)
            if progress is not None:
                progress(self.grid.time(self.done))
            self.stopped = until is not None and any(self._asked(until, state) for state in zip(*self.stored[-1]))
            self._adapt(n, time.perf_counter() - begin)
        return status

    def _asked(self, until, state):
        """Whether the run is to end after the step to this state."""
        before, self.seen = self.seen, state
        return until.after(hermite_step(self.system, before, state)) if isinstance(until, StepWatch) else until(*state[:3])

    def _adapt(self, m, seconds):
        """Chunks of about `CHUNK_SECONDS`."""
        self.chunk = int(np.clip(m * CHUNK_SECONDS / max(seconds, 1e-6), 1, 4 * m))

    def _advance(self, n, h):
        room = n // self.every + 2
        out = [np.empty((room, *np.shape(x))) for x in (0.0, self.q, self.v, self.a, self.lam)]
        m, end = self.method, self.done + n
        status, done, stored = m.advance(
            self.grid.times(self.done, end), h, self.every, self.done % self.every, end == self.grid.n, self.q, self.v, self.a, self.lam,
            m.newton_tolerance, m.max_iter, self.model, self.work, self.following, self.counts, *out, signals.flag)
        # the start stays as it was given: the accelerations of the first step lead from the exact velocity to that of the method
        skip = 1 if m.stores_start and self.done == 0 else 0
        self.stored.append([x[skip:stored].copy() for x in out])
        self.done += done
        self.system.callbacks.check()
        return status

    def _settle(self):
        """Accelerations and multipliers at the end from the equations there.

        Those of a last step that is shorter than the others are the jump between the two, and rounding, divided by its length.
        """
        t, q, v, a, lam = (x[-1] for x in self.stored[-1])
        try:
            a[:], lam[:], _ = accelerations(self.system, float(t), q, v)
        except (AssemblyError, FloatingPointError):
            return UNSETTLED
        return CONVERGED

    def _trajectory(self, status, seconds):
        t, q, v, a, lam = (np.concatenate(x) for x in zip(*self.stored))
        iterations, matrices = (int(self.counts[k]) for k in (ITERATIONS, MATRICES))
        statistics = Statistics(steps=self.done, rejected_error=0, rejected_newton=0, residuals=iterations, residuals_jacobian=0,
                                jacobians=matrices, factorisations=matrices, solves=iterations, newton_iterations=iterations,
                                seconds=seconds)
        if status == CONVERGED:
            return Trajectory(t, q, v, a, lam, statistics, Status.SUCCESS, "the end of the time span was reached")
        now = f"t = {self.grid.time(self.done):.9g}"
        jam = self._jam(t, q, v, a)
        reason = f"{jam} (last step ended at {now})" if jam else f"{self._reason(status)} at {now}"
        message = f"{reason}; the solution up to there is kept"
        return Trajectory(t, q, v, a, lam, statistics, _STATUS[status], message)

    def _reason(self, status):
        return _REASON[status].format(max_iter=self.method.max_iter, h=self.method.h)

    def _jam(self, t, q, v, a):
        """The joint whose friction has no solution where a run has failed, in words, if there is one."""
        found = jam_ahead(self.system, t[-1], q[-1], v[-1], a[-1], self.grid.h)
        return found and found[1]
