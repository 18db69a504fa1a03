"""What all state-space methods share on the Python side: arrays for the compiled time loop, charts, output, failures."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...charts.motion import evaluate
from ...charts.pointers import DERIVATIVES, EVALUATE, PLACE
from ...charts.store import bases, new_store
from ...driver.arguments import check_max_step, check_max_steps, check_step
from ...driver.support import FORMS, Settings, supported
from ...interrupts import signals
from ...results.diagnosis import ChartError, explain, near_singular
from ...results.statistics import Statistics
from ...results.status import Status
from ...results.steps import Step, StepWatch, split_state
from ...results.trajectory import Trajectory
from ...stopwatch import Stopwatch
from ...system.codes import CHART_LOST, GOOD, NO_POSITION
from ..control.step_size import ELEMENTARY, StepSizeController, check_controller
from ..resolution import step_below_rounding, tolerances_below_rounding
from . import march as m
from .attempts import SDIRK_FIRST_ORDER
from .rosenbrock_tableau import ROSENBROCK_NYSTROM_4
from .sdirk_tableau import SDIRK_4_15, SDIRK_4_16
from .step import (
    BAD_DERIVATIVES,
    COUNTERS,
    DIVERGED,
    ERROR_TEST,
    EVALUATIONS,
    EXTRA,
    FACTORISATIONS,
    ITERATIONS,
    JACOBIANS,
    REJECTED_ERROR,
    REJECTED_NEWTON,
    SINGULAR_MATRIX,
    SOLVES,
    STEPS,
    STORED,
    size,
    weigh,
)

FAULTS = {DIVERGED: (Status.NEWTON_FAILED, "Newton's method does not converge"),
          SINGULAR_MATRIX: (Status.NEWTON_FAILED, "the matrix of Newton's method is singular"),
          ERROR_TEST: (Status.STEP_TOO_SMALL, "the error test fails"),
          m.STALLED: (Status.STEP_TOO_SMALL, "the step does not move the time any more")}
ROOM = 256  # states between two looks at the user
GROW = 5.0  # largest ratio of two steps
_ELSEWHERE = "it integrates in independent coordinates; 'partition' and 'tangent' are such forms"
SUPPORT = {form: _ELSEWHERE for form in FORMS} | {form: Settings(scaling="none", linear_solver="reduced matrix, dense")
                                                  for form in ("partition", "tangent")}


@dataclass(frozen=True)
class Charted:
    """Base of the integrators on state-space form, with error control on positions and velocities."""

    jacobian: str = "exact"
    first_step: float = 0.0
    max_step: float = np.inf
    max_steps: int = 1_000_000
    fixed_step: float = 0.0
    filter: bool = False
    controller: StepSizeController = ELEMENTARY

    package = "mbdae"
    keeps_charts = True
    one_step = True
    support = SUPPORT
    formulations = supported(SUPPORT)
    kind: ClassVar[int]
    error_order: ClassVar[int]  # of the embedded formula

    def __post_init__(self):
        name = type(self).__name__
        if not isinstance(self.jacobian, str) or self.jacobian not in DERIVATIVES:
            raise ValueError(f"{name}: jacobian must be one of {', '.join(DERIVATIVES)}, got {self.jacobian!r}")
        for field in ("first_step", "fixed_step"):
            check_step(name, field, getattr(self, field))
        check_max_step(name, self.max_step)
        check_max_steps(name, self.max_steps)
        if not isinstance(self.filter, (bool, np.bool_)):
            raise ValueError(f"{name}: filter must be True or False, got {self.filter!r}")
        check_controller(name, self.controller, not self.fixed_step)

    @property
    def label(self):
        """Name for tables and legends."""
        name = type(self).__name__ + (f"(fixed_step={self.fixed_step:g})" if self.fixed_step else "")
        name += "" if self.filter == type(self).filter else ", filtered" if self.filter else ", not filtered"
        return name if self.jacobian == "exact" else f"{name}, {self.jacobian} Jacobian"

    def integrate(self, problem, state, t_end, *, rtol, atol, t_eval=None, every=1, progress=None, until=None):
        """See `mbdae.driver.method`."""
        if np.ndim(atol) or not atol > 0.0:
            raise ValueError(f"{type(self).__name__}: atol must be one positive number, as charts have coordinates of their own and what "
                             f"moves passes through zero; got {atol!r}")
        return _Run(self, problem, state, t_end, rtol, atol, t_eval, every, progress, until).to_end()


class _Run:
    """One integration."""

    def __init__(self, method, problem, state, t_end, rtol, atol, t_eval, every, progress, until):
        self.method, self.problem, self.system, self.chart = method, problem, problem.system, problem.chart
        self.begin, self.t, self.t_end, self.rtol, self.atol = state, state.t, t_end, float(rtol), float(atol)
        self.every, self.progress, self.until = every, progress, until
        never = np.copysign(np.inf, t_end - state.t)  # no times at all is not the same as no wish
        self.wanted = np.zeros(0) if t_eval is None else np.array(t_eval if len(t_eval) else [never], dtype=float)
        self.by_steps = t_eval is None
        self.status, self.message, self.restarts = Status.SUCCESS, "the end of the time span was reached", 0
        self._allocate(state)

    def _allocate(self, state):
        s, n = self.system, self.chart.n
        sizes = (n, n, n, s.nq, s.nv, s.nv, s.nc)
        self.start, self.trial = (tuple(np.zeros(k) for k in sizes) for _ in range(2))
        for place, value in zip(self.start[3:], (state.q, state.v, state.a, state.lam)):
            place[:] = value
        jacobians = tuple(np.zeros((n, k)) for k in (s.nv, s.nv, s.nc, n, s.nv, s.nc, n))
        self.weights = np.zeros(s.nq), np.zeros(s.nv)
        self.near = jacobians, np.zeros((n, s.nv)), np.zeros(n), np.zeros((n, n)), np.zeros(n, dtype=np.int64), self.weights
        self.stages, self.error = tuple(np.zeros((5, n)) for _ in range(4)), tuple(np.zeros(n) for _ in range(2))
        self.scratch = new_store(s, self.chart.P, complex), s.workspace(complex), s.workspace()
        self.counts, self.control = np.zeros(COUNTERS, dtype=np.int64), np.zeros(m.CONTROL)
        self.rheonomic, self._whole_state = s.rheonomic, split_state(s)
        self.rows = []

    @property
    def tools(self):
        """What kernels evaluate with."""
        return self.chart.store, self.problem.model, self.chart.work, PLACE, EVALUATE

    # the run -------------------------------------------------------------------------------------------------------------

    def to_end(self):
        """Integrate, and return the trajectory."""
        watch = Stopwatch()
        try:
            self._centre()
            self._keep_start()
            self._choose_first_step()
            self._advance(0)  # compiles, if it must, before the clock starts
            watch = Stopwatch()
            self._carry_out()
        except ChartError as error:
            self._fail(*self._named(error.status, error.reason))
        return self._trajectory(watch.seconds)

    def _centre(self):
        """Choose the chart anew at the present state."""
        z, zd, x, q, v, a, lam = self.start
        self.chart.centre(self.t, q)
        z[:], zd[:] = self.chart.coordinates(self.t, q, v)
        code = evaluate(self.t, z, zd, q, v, a, lam, x, *self.tools[:3])
        self.system.callbacks.check()
        if code != GOOD:
            raise ChartError(*explain(self.system, code, self.chart.work, self.t, q))
        self.scratch[0][:self.chart.P.size] = self.chart.P.ravel()
        self.control[m.FIRST], self.control[m.JACOBIAN_AGE], self.control[m.DIRTY] = self.chart.first, -1.0, 1.0

    def _keep_start(self):
        now = [self.t] if self.by_steps else self.wanted[:1][self.wanted[:1] == self.t]
        if len(now):
            self.rows.append(tuple(np.array([x]) for x in (self.t, *self.start[3:])))
            self.control[m.WANTED] = 0 if self.by_steps else 1

    def _choose_first_step(self):
        self._check_size()
        self.control[m.ETA], self.control[m.LARGEST] = 1.0, self.method.max_step
        self.control[m.H] = self.method.fixed_step or self.method.first_step or self._first_step()

    def _check_size(self):
        """Whether the step, or the tolerances that choose it, are not too small for any run."""
        if self.method.fixed_step:
            reason = step_below_rounding(self.method.fixed_step, self.t, self.t_end)
        else:
            reason = tolerances_below_rounding(*self.start[3:5], self.rtol, self.atol)
        if reason:
            raise ChartError(Status.STEP_TOO_SMALL, reason)

    def _first_step(self):
        """A step in which the motion changes by little, and its second derivative by less than the tolerance."""
        z, zd, x, q, v, _, lam = self.start
        span, model = self.t_end - self.t, self.problem.model
        self.near[1][:] = bases(self.chart.n, model, self.chart.store)[1]
        weigh(self.start, self.start, self.rtol, self.atol, self.weights)
        large = np.sqrt((np.sum((q * self.weights[0]) ** 2) + np.sum((v * self.weights[1]) ** 2)) / (len(q) + len(v)))
        speed = size(zd, x, self.near, q, model)
        h = min(1e-2 * large / speed if speed > 0.0 else np.inf, 1e-2 * abs(span)) or 1e-6 * abs(span) or abs(span)
        y, w = self.trial[3], np.zeros_like(x)
        y[:] = q
        step = np.copysign(h, span)
        code = evaluate(self.t + step, z + step * zd, zd + step * x, y, *self.trial[4:6], lam.copy(), w, *self.tools[:3])
        bend = size(step * x, w - x, self.near, q, model) / h if code == GOOD else np.inf
        longest = (1e-2 / max(speed, bend)) ** (1.0 / (self.method.error_order + 1)) if max(speed, bend) > 0.0 else np.inf
        return max(min(1e2 * h, longest, abs(span)), 1e-12 * abs(span))

    def _carry_out(self):
        healed = None  # where a new chart has been tried last because the old one failed
        while True:
            before = (self.t, *(x.copy() for x in self.start)) if self.until is not None else None
            code = self._advance(1 if self.until is not None else ROOM)
            self.system.callbacks.check()
            if self.progress is not None:
                self.progress(self.t)
            if self.until is not None and self.t != before[0] and self._asked(before):
                self.message = "a terminal event has been passed"
                return
            if code == m.ARRIVED:
                return
            if code == m.NEEDS_CHART and self.chart.outdone(self.t, self.start[3], self.control[m.FIRST]):
                self.restarts += 1
                self._centre()
            elif code == m.FAILED and self._curable() and healed != self.t:
                healed = self.t
                self.restarts += 1
                self._centre()
                self.control[m.H] = self.method.fixed_step or self._first_step()
            elif code == m.FAILED:
                self._fail(*self._reason())
                return
            elif self.counts[STEPS] >= self.method.max_steps:
                self._fail(Status.TOO_MANY_STEPS, f"{self.method.max_steps} steps were not enough")
                return

    def _asked(self, before):
        """Whether the run is to end after the step from the state `before`."""
        t, (_, _, _, q, v, a, lam) = self.t, self.start
        if not isinstance(self.until, StepWatch):
            return self.until(t, q.copy(), v.copy())
        return self.until.after(Step(before[0], t, lambda: (q.copy(), v.copy()), np.concatenate([q, v, a, lam]),
                                     lambda times: self._between(before[0], before[1:], times), self._whole_state))

    def _between(self, t0, start, times):
        """States at times within the last step, which began with `start`."""
        kind, out = self.method.kind, tuple(np.empty((len(times), *np.shape(x))) for x in (0.0, *self.start[3:]))
        self.control[m.DIRTY] = 1.0
        code, t = m.inside(kind, times, t0, self.t - t0, start, self.trial, self.near, self.stages, TABLEAUS[kind], self.tools, out,
                           self.counts)
        self.system.callbacks.check()
        if code != GOOD:
            raise ChartError(*explain(self.system, code, self.chart.work, t, self.trial[3]))
        return np.hstack(out[1:])

    def _curable(self):
        """Whether another chart may help: one has come to its end, or a fixed step reaches beyond it, which a shorter step would not."""
        fault = int(self.control[m.FAULT])
        return fault in (CHART_LOST, NO_POSITION) or (self.method.fixed_step > 0.0 and fault != BAD_DERIVATIVES)

    def _advance(self, most):
        """At most so many steps; why they ended."""
        method = self.method
        most = min(most, method.max_steps - int(self.counts[STEPS]))
        room = (ROOM if self.by_steps else len(self.wanted)) + 1
        out = tuple(np.empty((room, *np.shape(x))) for x in (0.0, *self.start[3:]))
        extra = 2 * self.chart.n + 1 if method.jacobian == "difference" else 0
        options = bool(method.filter), method.fixed_step > 0.0, self.rheonomic, extra
        tolerances = self.rtol, self.atol, method.controller.rule(method.error_order + 1, GROW)
        code, self.t = m.march(method.kind, options, self.t, self.t_end, tolerances, self.control, self.counts, self.start, self.trial,
                               self.near, self.stages, self.error, TABLEAUS[method.kind], self.tools,
                               DERIVATIVES[method.jacobian], self.scratch, self.wanted, float(self.every), most, out, signals.flag)
        stored = self.counts[STORED]
        if stored:
            self.rows.append(tuple(x[:stored] for x in out))
        return code

    # the end -------------------------------------------------------------------------------------------------------------

    def _reason(self):
        fault, h = int(self.control[m.FAULT]), self.control[m.H]
        if fault == BAD_DERIVATIVES:
            return self._named(Status.NOT_FINITE, "the derivatives of the equations are not finite")
        if fault in FAULTS:
            status, reason = FAULTS[fault]
        else:
            status, reason = explain(self.system, fault, self.chart.work, self.t, self.trial[3])
        what = f"; the step is fixed at {h:.3g}, and coordinates chosen anew were no help" if self.method.fixed_step else (
            f", though the step has been cut to {h:.3g}")
        return self._named(status, reason + what)

    def _named(self, status, reason):
        """`(status, reason)`, with the constraints behind it if they are about to lose rank: steps shrink to nothing there."""
        met = None if "lose rank" in reason else near_singular(self.system, self.begin, self.t, self.start[3])
        return (met[0], f"{met[1]} ({reason})") if met else (status, reason)

    def _fail(self, status, reason):
        self.status = status
        self.message = f"{reason} (last step ended at t = {self.t:.9g}); the solution up to there is kept"

    def _trajectory(self, seconds):
        c = self.counts
        statistics = Statistics(
            steps=int(c[STEPS]), rejected_error=int(c[REJECTED_ERROR]), rejected_newton=int(c[REJECTED_NEWTON]),
            residuals=int(c[EVALUATIONS]), residuals_jacobian=int(c[EXTRA]), jacobians=int(c[JACOBIANS]),
            factorisations=int(c[FACTORISATIONS]), solves=int(c[SOLVES]), newton_iterations=int(c[ITERATIONS]), restarts=self.restarts,
            seconds=seconds)
        empty = tuple(np.zeros((0, *np.shape(x))) for x in (0.0, *self.start[3:]))
        t, q, v, a, lam = (np.concatenate(x) for x in zip(*(self.rows or [empty])))
        return Trajectory(t, q, v, a, lam, statistics, self.status, self.message)


def _sdirk(tableau):
    return tuple(getattr(tableau, name) for name in ("A", "AA", "c", "start", "error", "error_A", "d_error"))


def _tableaus(kind):
    """Coefficients for the time loop; methods get those of others where they have none of that sort."""
    tableau = SDIRK_4_15 if kind == SDIRK_FIRST_ORDER else SDIRK_4_16
    dense = (tableau.dense_z, tableau.dense_z) if kind == SDIRK_FIRST_ORDER else (tableau.dense_position, tableau.dense)
    r = ROSENBROCK_NYSTROM_4
    rosenbrock = float(r.e), r.a_sum, r.e_sum, r.w, r.c, r.d, r.t, r.s, r.p, r.s_error, r.p_error
    return _sdirk(tableau), dense, rosenbrock


TABLEAUS = [_tableaus(kind) for kind in range(5)]
