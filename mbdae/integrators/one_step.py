"""The time loop of all fixed-step integrators: compiled chunks, between which a bar moves and Ctrl-C is heard."""

import time
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ..arguments import is_finite, is_integer
from ..compiled import compiled
from ..interrupts import signals
from ..status import Statistics, Status
from ..trajectory import DenseOutput, Trajectory
from .resolution import step_below_rounding

CONVERGED, DIVERGED, NOT_FINITE, STALLED = 0, 1, 2, 3
_STATUS = {DIVERGED: Status.NEWTON_FAILED, NOT_FINITE: Status.NOT_FINITE, STALLED: Status.STEP_TOO_SMALL}
_REASON = {DIVERGED: "Newton's method did not converge in {max_iter} iterations", NOT_FINITE: "a residual is not finite",
           STALLED: "steps of {h:.3g} do not move the time"}
CHUNK_SECONDS = 0.2
ROUNDING = 2e-15
HUGE = 1e100  # beyond, products are not finite
SLOW = 12  # iterations after which a frozen matrix is replaced if the corrections hardly shrink
EXPLODED = 1e8  # a correction, squared, that has grown so much will not shrink again


@compiled
def largest(x):
    """The largest absolute value."""
    out = 0.0
    for k in range(x.shape[0]):
        out = max(out, abs(x[k]))
    return out


@compiled
def at_rounding(phi, q, G):
    """Whether a largest `|Phi|` is as small as rounding of `q` allows: a correction that no longer shrinks is then rounding too."""
    return phi <= ROUNDING * (1.0 + largest(q)) * max(1.0, largest(G))


@dataclass(frozen=True)
class FixedStep:
    """Base of the one-step integrators on index-3 equations; they work on a `System` and need no formulation."""

    h: float
    tol: float
    max_iter: int

    formulations: ClassVar[tuple] = ()  # works on the system itself
    one_step: ClassVar[bool] = True  # see `mbdae.method`
    stores_start: ClassVar[bool]  # whether `advance` stores states before it leaves them

    def __post_init__(self):
        for field in ("h", "tol"):
            x = getattr(self, field)
            if not (is_finite(x) and x > 0):
                raise ValueError(f"{type(self).__name__}: {field} must be positive and finite, got {x!r}")
        if not (is_integer(self.max_iter) and self.max_iter >= 1):
            raise ValueError(f"{type(self).__name__}: max_iter must be at least 1 and an integer, got {self.max_iter!r}")

    @property
    def label(self):
        """Name and step for tables and legends."""
        return f"{type(self).__name__}(h={self.h:g})"

    def integrate(self, problem, state, t_end, *, rtol=None, atol=None, t_eval=None, every=1, progress=None,
                  until=None):
        """Run from a consistent state to `t_end`; the last step is shortened to meet it. Tolerances have no meaning here.

        Parameters
        ----------
        problem : System
        state : State
        t_end : float
            May lie before `state.t`.
        t_eval : ndarray, optional
            Times of the output; between the steps it is interpolated by cubics in `q` and `v` and linearly in `lam`.
        every : int
            Without `t_eval`: store every so-manieth step; the last state is always stored.
        progress : callable, optional
            `progress(t)` after each chunk of steps.
        until : callable, optional
            The run ends after the chunk of steps in which `until(t, q, v)` has been true for a stored state.

        Returns
        -------
        Trajectory
        """
        trajectory = _Run(self, problem, state, t_end, every if t_eval is None else 1).to_end(progress, until)
        return trajectory if t_eval is None else interpolated(problem, trajectory, t_eval)


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
        self.method, self.system, self.every, self.start, self.t0 = method, system, every, state, state.t
        self.q, self.v, self.a, self.lam = (np.array(x) for x in (state.q, state.v, state.a, state.lam))
        span = t_end - state.t
        self.h, self.t_end = np.copysign(method.h, span), t_end
        whole = int(np.floor(abs(span) / method.h * (1 + 1e-12) + 1e-9))
        rest = span - whole * self.h
        # (number of steps, step size): all equal but a last, shorter one
        self.legs = [(whole, self.h)] + ([(1, rest)] if abs(rest) > 1e-9 * method.h else [])
        self.done = self.iterations = 0
        self.stored = [tuple(np.array([x]) for x in (state.t, state.q, state.v, state.a, state.lam))]
        self.work = system.workspace()
        self.chunk = 64
        self.stopped = False

    def to_end(self, progress, until):
        self._advance(self.t0, self.h, 0, False)  # compiles, if it must, before the clock starts
        start = time.perf_counter()
        status, base, self.t = CONVERGED, self.t0, self.t0
        if step_below_rounding(self.h, self.t0, self.t_end):
            return self._trajectory(STALLED, 0.0)
        for leg, (n, h) in enumerate(self.legs):
            status = self._leg(base, n, h, leg == len(self.legs) - 1, progress, until)
            if status != CONVERGED or self.stopped:
                break
            base += n * h
        return self._trajectory(status, time.perf_counter() - start)

    def _leg(self, base, n, h, is_last, progress, until):
        at = 0
        while True:
            m = min(self.chunk, n - at)
            begin = time.perf_counter()
            status, done = self._advance(base + at * h, h, m, is_last and at + m == n)
            at += done
            if progress is not None:
                progress(base + at * h)
            self.stopped = until is not None and any(until(t, q, v) for t, q, v in zip(*self.stored[-1][:3]))
            if status != CONVERGED or at == n or self.stopped:
                return status
            self._adapt(done, time.perf_counter() - begin)

    def _adapt(self, m, seconds):
        """Chunks of about `CHUNK_SECONDS`."""
        self.chunk = int(np.clip(m * CHUNK_SECONDS / max(seconds, 1e-6), 1, 4 * m))

    def _advance(self, t, h, n, last):
        room = n // self.every + 2
        out = [np.empty((room, *np.shape(x))) for x in (0.0, self.q, self.v, self.a, self.lam)]
        m = self.method
        status, done, iterations, stored = m.advance(
            t, h, n, self.every, self.done % self.every, last, self.q, self.v, self.a, self.lam, m.tol, m.max_iter,
            self.system.model, self.work, *out, signals.flag)
        # the start stays as it was given: the accelerations of the first step lead from the exact velocity to that of the method
        skip = 1 if m.stores_start and self.done == 0 else 0
        self.stored.append([x[skip:stored].copy() for x in out])
        self.done += done
        self.iterations += iterations
        self.t = t + done * h
        self.system.callbacks.check()
        return status, done

    def _trajectory(self, status, seconds):
        t, q, v, a, lam = (np.concatenate(x) for x in zip(*self.stored))
        statistics = Statistics(steps=self.done, rejected_error=0, rejected_newton=0, residuals=self.iterations, residuals_jacobian=0,
                                jacobians=self.done, factorisations=self.done, solves=self.iterations, newton_iterations=self.iterations,
                                seconds=seconds)
        if status == CONVERGED:
            return Trajectory(t, q, v, a, lam, statistics, Status.SUCCESS, "the end of the time span was reached")
        reason = _REASON[status].format(max_iter=self.method.max_iter, h=self.method.h)
        return Trajectory(t, q, v, a, lam, statistics, _STATUS[status], f"{reason} at t = {self.t:.9g}; the solution up to there is kept")
