"""Projections around the accepted steps of any other method."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np

from ..driver.method import Method
from ..driver.support import Support
from ..results.diagnosis import ChartError, near_singular, singular_ahead
from ..results.statistics import Statistics
from ..results.status import Status
from ..results.steps import Step, StepWatch, split_state
from ..results.trajectory import Trajectory
from ..stopwatch import Stopwatch
from ..system.assembly import AssemblyError, State, accelerations
from ..system.codes import GOOD
from .projections.project import INITIAL, NOTHING, Projector, check, project

STRETCH = 1.25  # of the step size after a step that needed no shortening
WHOLE = 0.99  # share of the step proposed below which it has been shortened
CLOSE = 1e-9  # share of a step within which two times are the same
AHEAD = 2.0  # steps ahead in which a singular position is looked for: methods of low order fail early
VAGUE = (Status.NEWTON_FAILED, Status.STEP_TOO_SMALL)  # behind which a singular position may be


@dataclass(frozen=True)
class Projected(Method):
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

    method: Method
    project: str = "PV"
    norm: str = "mass"
    energy: Callable | None = None

    def __post_init__(self):
        if not isinstance(self.method, Method):
            raise ValueError(f"Projected: method must be a method object such as HalfImplicit(h=1e-3) or Ida(), got {self.method!r}")
        if isinstance(self.method, Projected):
            raise ValueError(f"Projected: method is projected already; give the method inside it, Projected({self.method.method!r}, "
                             f"{self.project!r})")
        check("Projected", self.project, self.norm, self.energy)
        object.__setattr__(self, "availability", self.method.availability)  # of the inner method, for all other methods a static one

    @property
    def label(self):
        """Name for tables and legends."""
        return f"{self.method.label}, projected ({self.project})" if self.project else self.method.label

    # the other attributes are those of the inner method

    @property
    def support(self) -> Support:
        return self.method.support

    @property
    def formulations(self) -> tuple[str, ...]:
        return self.method.formulations

    @property
    def package(self) -> str:
        return self.method.package

    @property
    def keeps_charts(self) -> bool:
        return self.method.keeps_charts

    @property
    def one_step(self) -> bool:
        return self.method.one_step

    @property
    def step_size(self) -> float | None:
        return self.method.step_size

    @property
    def max_steps(self) -> int | None:
        return self.method.max_steps

    def integrate(self, problem, state, t_end, *, rtol=None, atol=None, t_eval=None, every=1, progress=None, until=None):
        """See `mbdae.driver.method`."""
        options = {"t_eval": t_eval, "every": every, "progress": progress, "until": until}
        if self.one_step:
            return _Run(self, problem, state, t_end, {"rtol": rtol, "atol": atol}, **options).to_end()
        projection = _Projection(self, problem.system, state)
        if isinstance(until, StepWatch):
            options["until"] = _ProjectedSteps(until, projection)
        return projection.of_all(self.method.integrate(problem, state, t_end, rtol=rtol, atol=atol, **options))


class _ProjectedSteps(StepWatch):
    """Passes the steps of a method on with their states projected."""

    def __init__(self, until, projection):
        self._until, self._projection = until, projection

    def after(self, step):
        """See `StepWatch`."""
        def complete(t, values):
            return self._projection.of(t, *step.complete(t, values))[0]

        return self._until.after(replace(step, motion=lambda: complete(step.t, step.end)[:2], complete=complete))


class _Projection:
    """The projections of one run; the energy of the start is that of the state given."""

    def __init__(self, outer, system, state):
        self.system, self.projector = system, Projector("Projected", system, outer.project, outer.norm, outer.energy)
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
            raise ChartError(*p.explain(code, t, found[0]))
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
        except ChartError as failure:
            n = len(rows)
            last = T.t[n - 1] if n else T.t[0]
            T = replace(T, t=T.t[:n], status=failure.status, message=_message(failure.reason, last))
        sizes = self.system.nq, self.system.nv, self.system.nv, self.system.nc
        columns = (np.array([row[k] for row in rows]).reshape(len(rows), n) for k, n in enumerate(sizes))
        return replace(T, statistics=self.counted(T.statistics), **dict(zip(("q", "v", "a", "lam"), columns)))

    def counted(self, statistics):
        """These, with what the projections have cost if that is counted."""
        known = {name: getattr(statistics, name) for name in ("factorisations", "solves")}
        return replace(statistics, **{name: x + getattr(self.projector, name) for name, x in known.items() if x is not None})


def _message(reason, t):
    return f"{reason} (last step ended at t = {t:.9g}); the solution up to there is kept"


class _Run:
    """One integration by a method that goes on from the projected states."""

    def __init__(self, outer, problem, state, t_end, tolerances, *, t_eval, every, progress, until):
        self.inner, self.problem, self.system, self.state, self.t_end = outer.method, problem, problem.system, state, t_end
        self.tolerances, self.every, self.progress, self.until = tolerances, every, progress, until
        self.projection, self.max_steps = _Projection(outer, problem.system, state), outer.max_steps
        self.fixed = self.inner.step_size
        self.step, self.steps, self.forward = 0.0, 0, 1.0 if t_end > state.t else -1.0
        self.begins, self.rows, self.counted, self.last = state, [], [], None
        self.status, self.message = Status.SUCCESS, "the end of the time span was reached"
        self.times = None if t_eval is None else np.asarray(t_eval, dtype=float)  # of output, those that are still to come
        self._keep_start()

    def _keep_start(self):
        s = self.state
        if self.times is None or s.t in self.times[:1]:
            self.rows.append((s.t, s.q, s.v, s.a, s.lam))
        if self.times is not None:
            self.times = self.times[self.forward * (self.times - s.t) > 0.0]

    def to_end(self):
        """Integrate, and return the trajectory."""
        watch = Stopwatch()
        try:
            while self.forward * (self.t_end - self.state.t) > 0.0:
                before = self.state, self.step, self.projection.target
                self._adaptive() if self.fixed is None else self._fixed()
                if self.progress is not None:
                    self.progress(self.state.t)
                if self.until is not None and self._ends(before):
                    self.message = "a terminal event has been passed"
                    break
                if self.max_steps is not None and self.steps >= self.max_steps and self.state.t != self.t_end:
                    raise ChartError(Status.TOO_MANY_STEPS, f"{self.max_steps} steps were not enough")
        except ChartError as failure:
            self._fail(failure.status, _message(failure.reason, self.state.t))
        except _Ended as ended:
            self._fail(*ended.args)
        return self._trajectory(watch.seconds)

    def _fail(self, status, message):
        self.status, self.message = status, message
        if self.times is None and self.last is not None and self.rows[-1][0] != self.last[0]:
            self.rows.append(self.last)  # whatever `every` says

    # one step ------------------------------------------------------------------------------------------------------------

    def _fixed(self):
        """A step of the size that the method has; times of output before its end are reached by shorter ones aside."""
        h = self.fixed
        end = self.begins.t + self.forward * (self.steps + 1) * h
        end = self.t_end if self.forward * (self.t_end - end) <= CLOSE * h else end
        while self.times is not None and len(self.times) and self.forward * (end - self.times[0]) > CLOSE * h:
            self._store(self.times[0], self._to(self.times[0]))
            self.times = self.times[1:]
        self._accept(end, *self._to(end))

    def _to(self, t):
        """The state of the method at the end of a run to `t`."""
        piece = self._run(self.inner, t)
        return tuple(x[-1] for x in (piece.q, piece.v, piece.a, piece.lam))

    def _adaptive(self):
        """A step of the size that the method chooses; it interpolates to the times of output."""
        ended = []

        def until(t, q, v):
            ended[:] = t, q, v
            return True

        piece = self._run(self._with(self.step), self.t_end, t_eval=self.times, until=until)
        if not ended:
            raise _Ended(piece.status, piece.message)
        t, q, v = ended
        if self.times is None:
            a, lam = piece.a[-1], piece.lam[-1]
        else:
            inside = int(np.sum(self.forward * (t - piece.t) > 0.0))
            for k in range(inside):
                self._store(piece.t[k], (piece.q[k], piece.v[k], piece.a[k], piece.lam[k]))
            self.times = self.times[inside:]
            a, lam = self._consistent(t, q, v)
        taken = abs(t - self.state.t)
        self.step = taken * STRETCH if taken >= WHOLE * self.step else taken
        self._accept(t, q, v, a, lam)

    def _with(self, step):
        """The method, with a first step of this size if it is not zero."""
        return self.inner if step == 0.0 else replace(self.inner, first_step=min(step, abs(self.t_end - self.state.t)))

    def _run(self, method, t_end, **options):
        """A run of the method from the present state."""
        piece = method.integrate(self.problem, self.state, t_end, **self.tolerances, **options)
        self.counted.append(piece.statistics)
        if piece.status != Status.SUCCESS:
            raise _Ended(*self._reason(piece, self.step if self.fixed is None else self.fixed))
        return piece

    def _reason(self, piece, step):
        """Status and message of a run that has failed, or those of a singular position ahead if there is one."""
        s, system, behind = self.state, self.system, None
        if piece.status in VAGUE:
            span = AHEAD * self.forward * step
            behind = near_singular(system, self.begins, s.t, s.q) or singular_ahead(system, self.begins, s.t, s.q, s.v, span)
        return (behind[0], _message(behind[1], s.t)) if behind else (piece.status, piece.message)

    def _accept(self, t, q, v, a, lam):
        """Go on from the projection of this state."""
        found, reached = self.projection.of(t, q, v, a, lam)
        self.projection.keep(reached)
        self.steps += 1
        self.last, is_last = (t, *found), self.forward * (self.t_end - t) <= 0.0
        if self.times is None and (self.steps % self.every == 0 or is_last):
            self.rows.append(self.last)
        elif self.times is not None and len(self.times) and abs(self.times[0] - t) <= CLOSE * abs(t - self.state.t):
            self.rows.append((self.times[0], *found))
            self.times = self.times[1:]
        self.state = State(float(t), *found[:2], *self._consistent(t, *found[:2]))

    def _consistent(self, t, q, v):
        """Accelerations and multipliers of the equations of motion."""
        try:
            return accelerations(self.system, t, q, v)[:2]
        except AssemblyError as error:
            if self.system.callbacks.has_raised(error):
                raise
            raise ChartError(Status.PROJECTION_FAILED, str(error)) from error

    def _store(self, t, state):
        """A state of the method at a time of output, projected; the run does not go on from there."""
        self.rows.append((t, *self.projection.of(t, *state)[0]))

    # the steps for events and dense output -------------------------------------------------------------------------------

    def _ends(self, before):
        """Whether the run is to end after this step, before which state, step and energy were these."""
        t, q, v, a, lam = self.last
        if not isinstance(self.until, StepWatch):
            return self.until(t, self.state.q.copy(), self.state.v.copy())
        return self.until.after(Step(before[0].t, t, lambda: (q.copy(), v.copy()), np.concatenate([q, v, a, lam]),
                                     lambda times: self._within(times, *before), split_state(self.system)))

    def _within(self, times, state, step, target):
        """States within the last step, projected: the method makes it again, and interpolates or ends there."""
        now, self.state = self.state, state
        try:
            if self.fixed is None:
                order = np.argsort(self.forward * times)
                piece = self._run(self._with(step), self.t_end, t_eval=times[order], until=lambda t, q, v: True)
                rows = [tuple(x[k] for x in (piece.q, piece.v, piece.a, piece.lam)) for k in np.argsort(order)]
            else:
                rows = [self._to(t) for t in times]
        finally:
            self.state = now
        return np.array([np.concatenate(self.projection.of(t, *row, target)[0]) for t, row in zip(times, rows)])

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


class _Ended(Exception):
    """A run of the method has failed, or has made no step, with this status and message."""
