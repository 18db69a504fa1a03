"""Projections around the accepted steps of any other method."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np

from ..results.diagnosis import near_singular, singular_ahead
from ..results.statistics import Statistics
from ..results.status import Status
from ..results.steps import Step, StepWatch, split_state
from ..results.trajectory import Trajectory
from ..stopwatch import Stopwatch
from ..system.assembly import AssemblyError, State, accelerations
from ..system.codes import GOOD
from ..system.system import System
from .projections.project import INITIAL, NOTHING, Projector, check, project

STRETCH = 1.25  # of the step size after a step that needed no shortening
WHOLE = 0.99  # share of the step proposed below which it has been shortened
CLOSE = 1e-9  # share of a step within which two times are the same
AHEAD = 2.0  # steps ahead in which a singular position is looked for: methods of low order fail early
_OF_THE_METHOD = ("formulations", "support", "package", "availability", "keeps_charts", "max_steps")


@dataclass(frozen=True)
class Projected:
    """Another method, with a projection after each of its accepted steps [Wei, section 3.2].

    A one-step method, one with an attribute `one_step` that is true, goes on from the projected state, and is started anew for that, with
    the last step size or, if that was not shortened, one a quarter longer. To a multistep method a new start in every step would mean order
    one: it goes on from its own states, and those given out are projected.

    Parameters
    ----------
    method : method object
    project : {"", "P", "V", "PV", "PVA", "PVAE-n", "PVAE-0"}
        What is projected, as in `ProjectedGauss`. Without accelerations those of the method are given out, with its multipliers.
    norm : {"mass", "identity"}
        See `ProjectedGauss`.
    energy : callable, optional
        `energy(t, q, v) -> float`, what is conserved, which is checked as in `ProjectedGauss`; by default the energy of the system.

    Raises
    ------
    ValueError
        If a field makes no sense, or the method is projected already; by `integrate`, if the energy is not known, is no number, or a
        force is known to change it.

    Notes
    -----
    A run ends with `PROJECTION_FAILED` where there is nothing to project onto. Statistics are those of the method, summed; factorisations
    and solves of the projections are added where the method counts its own, and `restarts` are the new starts, with those of the method.
    """

    method: object
    project: str = "PV"
    norm: str = "mass"
    energy: Callable | None = None

    def __post_init__(self):
        if isinstance(self.method, type) or not hasattr(self.method, "integrate"):
            raise ValueError(f"Projected: method must be a method object such as HalfImplicit(h=1e-3) or Ida(), got {self.method!r}")
        if isinstance(self.method, Projected):
            raise ValueError(f"Projected: method is projected already; give the method inside it, Projected({self.method.method!r}, "
                             f"{self.project!r})")
        check("Projected", self.project, self.norm, self.energy)

    def __getattr__(self, name):
        if name in _OF_THE_METHOD:
            return getattr(self.method, name)
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    @property
    def label(self):
        """Name for tables and legends."""
        return f"{self.method.label}, projected ({self.project})" if self.project else self.method.label

    @property
    def one_step(self):
        """Whether the method goes on from the projected states."""
        return bool(getattr(self.method, "one_step", False))

    def integrate(self, problem, state, t_end, *, rtol=None, atol=None, t_eval=None, every=1, progress=None, until=None):
        """See `mbdae.driver.method`."""
        if not self.one_step:
            projection = _Projection(self, problem, state)
            until = _Shown(until, projection) if isinstance(until, StepWatch) else until
            trajectory = self.method.integrate(problem, state, t_end, rtol=rtol, atol=atol, t_eval=t_eval, every=every, progress=progress,
                                               until=until)
            return projection.of_all(trajectory)
        run = _Run(self, problem, state, t_end, {"rtol": rtol, "atol": atol}, t_eval, every, progress, until)
        return run.to_end()


class _Shown(StepWatch):
    """Passes the steps of a method on with their states projected."""

    def __init__(self, until, projection):
        self._until, self._projection = until, projection

    def after(self, step):
        """See `StepWatch`."""
        def complete(t, values):
            return self._projection.of(t, *step.complete(t, values))[0]

        return self._until.after(replace(step, motion=lambda: complete(step.t, step.end)[:2], complete=complete))


class _Failure(Exception):
    """A state cannot be projected."""

    def __init__(self, status, reason):
        super().__init__(reason)
        self.status, self.reason = status, reason


class _Projection:
    """The projections of one run; the energy of the start is that of the state given."""

    def __init__(self, method, problem, state):
        self.system = problem if isinstance(problem, System) else problem.system
        self.projector = Projector("Projected", self.system, method.project, method.norm, method.energy)
        self.target = self.projector.value(state.t, state.q, state.v)

    def of(self, t, q, v, a, lam, target=None):
        """The projected state, `(q, v, a, lam)`, and its energy; `target` is the energy of another state than the last."""
        p, found = self.projector, tuple(np.array(x, dtype=float) for x in (q, v, a, lam))
        if not any(p.levels):
            return found, self.target
        target = self.target if target is None else target
        code, reached = project(float(t), *found, target, p.projection, p.model, p.work)
        self.system.callbacks.check()
        if code != GOOD:
            raise _Failure(*p.explain(code, t, found[0]))
        return found, reached

    def keep(self, reached):
        """The next state is to have the energy of this one, if that is asked for."""
        if self.projector.keeps not in (INITIAL, NOTHING):
            self.target = reached

    def of_all(self, trajectory):
        """The states of a trajectory, as far as they can be projected."""
        T, rows = trajectory, []
        try:
            for row in zip(T.t, T.q, T.v, T.a, T.lam):
                found, reached = self.of(*row)
                self.keep(reached)
                rows.append(found)
        except _Failure as failure:
            at = T.t[len(rows)]
            status, message = failure.status, f"{failure.reason} at t = {at:.9g}; the solution up to there is kept"
            T = replace(T, t=T.t[:len(rows)], status=status, message=message)
        sizes = self.system.nq, self.system.nv, self.system.nv, self.system.nc
        columns = (np.array([row[k] for row in rows]).reshape(len(rows), n) for k, n in enumerate(sizes))
        return replace(T, statistics=self.counted(T.statistics), **dict(zip(("q", "v", "a", "lam"), columns)))

    def counted(self, statistics):
        """These, with what the projections have cost if that is counted."""
        known = {name: getattr(statistics, name) for name in ("factorisations", "solves")}
        return replace(statistics, **{name: x + getattr(self.projector, name) for name, x in known.items() if x is not None})


class _Run:
    """One integration by a method that goes on from the projected states."""

    def __init__(self, outer, problem, state, t_end, tolerances, t_eval, every, progress, until):
        self.inner, self.problem, self.state, self.t_end = outer.method, problem, state, t_end
        self.tolerances, self.every, self.progress, self.until = tolerances, every, progress, until
        self.wanted = None if t_eval is None else np.asarray(t_eval, dtype=float)
        self.projection = _Projection(outer, problem, state)
        self.t0, self.step, self.steps = state.t, 0.0, 0
        self.forward = 1.0 if t_end > state.t else -1.0
        self.begin, self.rows, self.counted, self.last = state, [], [], None
        self.status, self.message = Status.SUCCESS, "the end of the time span was reached"

    def to_end(self):
        """Integrate, and return the trajectory."""
        watch = Stopwatch()
        try:
            self._keep_start()
            advance = self._fixed if hasattr(self.inner, "h") else self._adaptive
            while self.forward * (self.t_end - self.state.t) > 0.0 and self._again(advance):
                if self.progress is not None:
                    self.progress(self.state.t)
                if self.until is not None and self._asked():
                    self.message = "a terminal event has been passed"
                    break
                self._check_number()
        except _Failure as failure:
            self._fail(failure.status, f"{failure} after the step from t = {self.state.t:.9g}; the solution up to there is kept")
        return self._trajectory(watch.seconds)

    def _again(self, advance):
        """One more step, whose beginning is kept for those who want to look into it; whether there was one."""
        self.before = self.state, self.step, self.projection.target
        return advance()

    def _asked(self):
        """Whether the run is to end after this step."""
        t, q, v, a, lam = self.last
        if not isinstance(self.until, StepWatch):
            return self.until(t, self.state.q.copy(), self.state.v.copy())
        return self.until.after(Step(self.before[0].t, t, lambda: (q.copy(), v.copy()), np.concatenate([q, v, a, lam]), self._within,
                                     split_state(self.projection.system)))

    def _within(self, times):
        """States within the last step, projected: the method makes it again, and interpolates or ends there."""
        state, step, target = self.before
        now, self.state = self.state, state
        try:
            if hasattr(self.inner, "h"):
                rows = [self._again_to(t) for t in times]
            else:
                order = np.argsort(self.forward * times)
                piece = self._inner(self._with(step), self.t_end, t_eval=times[order], until=lambda t, q, v: True)
                rows = [None if piece is None else tuple(x[k] for x in (piece.q, piece.v, piece.a, piece.lam)) for k in np.argsort(order)]
        finally:
            self.state = now
        if None in rows:
            raise _Failure(self.status, self.message)
        return np.array([np.concatenate(self.projection.of(t, *row, target)[0]) for t, row in zip(times, rows)])

    def _again_to(self, t):
        piece = self._inner(self.inner, t)
        return None if piece is None else tuple(x[-1] for x in (piece.q, piece.v, piece.a, piece.lam))

    def _with(self, step):
        """The method, with a first step of this size if it is not zero."""
        return self.inner if step == 0.0 else replace(self.inner, first_step=min(step, abs(self.t_end - self.state.t)))

    def _keep_start(self):
        s = self.state
        if self.wanted is None or s.t in self.wanted[:1]:
            self.rows.append((s.t, s.q, s.v, s.a, s.lam))
        if self.wanted is not None:
            self.wanted = self.wanted[self.forward * (self.wanted - s.t) > 0.0]

    def _check_number(self):
        most = getattr(self.inner, "max_steps", None)
        if most is not None and self.steps >= most and self.state.t != self.t_end:
            raise _Failure(Status.TOO_MANY_STEPS, f"{most} steps were not enough")

    def _fail(self, status, message):
        self.status, self.message = status, message
        if self.wanted is None and self.last is not None and self.rows[-1][0] != self.last[0]:
            self.rows.append(self.last)  # whatever `every` says

    # one step ------------------------------------------------------------------------------------------------------------

    def _fixed(self):
        """A step of the size that the method has; times wanted before its end are reached by shorter ones aside."""
        h = self.inner.h
        end = self.t0 + self.forward * (self.steps + 1) * h
        end = self.t_end if self.forward * (self.t_end - end) <= CLOSE * h else end
        while self.wanted is not None and len(self.wanted) and self.forward * (end - self.wanted[0]) > CLOSE * h:
            piece = self._inner(self.inner, self.wanted[0])
            if piece is None:
                return False
            self._store(piece, -1)
            self.wanted = self.wanted[1:]
        piece = self._inner(self.inner, end)
        return piece is not None and self._accept(end, *(x[-1] for x in (piece.q, piece.v, piece.a, piece.lam)))

    def _adaptive(self):
        """A step of the size that the method chooses; it interpolates to the times wanted."""
        ended = []

        def until(t, q, v):
            ended[:] = t, q, v
            return True

        piece = self._inner(self._with(self.step), self.t_end, t_eval=self.wanted, until=until)
        if piece is None or not ended:
            return False
        t, q, v = ended
        if self.wanted is not None:
            inside = int(np.sum(self.forward * (t - piece.t) > 0.0))
            for k in range(inside):
                self._store(piece, k)
            self.wanted = self.wanted[inside:]
            a, lam = self.state.a, self.state.lam
        else:
            a, lam = piece.a[-1], piece.lam[-1]
        taken = abs(t - self.state.t)
        self.step = taken * STRETCH if taken >= WHOLE * self.step else taken
        return self._accept(t, q, v, a, lam, known=self.wanted is None)

    def _inner(self, method, t_end, **options):
        """A run of the method from the present state, `None` if it has failed."""
        piece = method.integrate(self.problem, self.state, t_end, **self.tolerances, **options)
        self.counted.append(piece.statistics)
        if piece.status != Status.SUCCESS:
            self._fail(*self._reason(piece, getattr(self.inner, "h", self.step)))
            return None
        return piece

    def _reason(self, piece, step):
        """Status and message of a run that has failed, or those of a singular position ahead if there is one."""
        s, system = self.state, self.projection.system
        told = None
        if piece.status in (Status.NEWTON_FAILED, Status.STEP_TOO_SMALL):
            span = AHEAD * self.forward * step
            told = near_singular(system, self.begin, s.t, s.q) or singular_ahead(system, self.begin, s.t, s.q, s.v, span)
        if told is None:
            return piece.status, piece.message
        return told[0], f"{told[1]}, in the step from t = {s.t:.9g}; the solution up to there is kept"

    def _accept(self, t, q, v, a, lam, known=True):
        """Go on from the projection of this state; `known` if its accelerations and multipliers are."""
        if not known:
            a, lam = self._consistent(t, q, v)
        found, reached = self.projection.of(t, q, v, a, lam)
        self.projection.keep(reached)
        self.steps += 1
        self.last, is_last = (t, *found), self.forward * (self.t_end - t) <= 0.0
        if self.wanted is None and (self.steps % self.every == 0 or is_last):
            self.rows.append(self.last)
        elif self.wanted is not None and len(self.wanted) and abs(self.wanted[0] - t) <= CLOSE * abs(t - self.state.t):
            self.rows.append((self.wanted[0], *found))
            self.wanted = self.wanted[1:]
        self.state = State(float(t), *found[:2], *self._consistent(t, *found[:2]))
        return True

    def _consistent(self, t, q, v):
        """Accelerations and multipliers of the equations of motion."""
        system = self.projection.system
        try:
            return accelerations(system, t, q, v)[:2]
        except AssemblyError as error:
            if system.callbacks.has_raised(error):
                raise
            raise _Failure(Status.PROJECTION_FAILED, str(error)) from error

    def _store(self, piece, k):
        """A state of the method at a time wanted, projected; the run does not go on from there."""
        found, _ = self.projection.of(piece.t[k], piece.q[k], piece.v[k], piece.a[k], piece.lam[k])
        self.rows.append((piece.t[k], *found))

    # the end -------------------------------------------------------------------------------------------------------------

    def _trajectory(self, seconds):
        counted = {f.name: [getattr(s, f.name) for s in self.counted] for f in fields(Statistics)}
        statistics = Statistics(**{name: None if None in values else sum(values) for name, values in counted.items()})
        statistics.steps, statistics.seconds = self.steps, seconds
        statistics.restarts = (statistics.restarts or 0) + max(len(self.counted) - 1, 0)
        statistics = self.projection.counted(statistics)
        sizes = (), (len(self.state.q),), (len(self.state.v),), (len(self.state.v),), (len(self.state.lam),)
        columns = (np.array([row[k] for row in self.rows]).reshape(len(self.rows), *size) for k, size in enumerate(sizes))
        return Trajectory(*columns, statistics, self.status, self.message)
