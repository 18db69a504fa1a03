"""An integration by a structural integrator: arrays, first step, charts."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ...charts.chart import Chart
from ...charts.condition import MAX_GROWTH
from ...charts.derivative import new_derivatives
from ...charts.pointers import DERIVATIVES
from ...charts.store import Displaced, Factors, new_displaced
from ...problems.base import Problem
from ...results.diagnosis import ChartError
from ...results.status import Status
from ...results.steps import Step, TimedState
from ...system.assembly import State
from ...system.contents import saved_array
from ...typing import Tolerance
from ..control.newton import NewtonRule
from ..control.records import new_state
from ..control.stepper import FIXED, Stepper
from ..resolution import share, tolerances_below_rounding
from .arrays import Coefficients, Memory, StructuralRun, StructuralState, friction_for, scratch_for
from .attempt import LOOPS
from .matrix import ChartArrays, matrix_for

if TYPE_CHECKING:
    from .base import Structural

ERROR_ORDER = 2  # of the error estimate
LOCAL_ERROR = 0.35  # error of a step, in tolerances over `rtol^(1/2)`, at which that of the solution is below 100 tolerances
FINEST = 8e-15  # relative tolerance of a step, below which estimates are mainly rounding
MAX_STEP_RATIO = 3.0  # of two consecutive steps
HOLD_RATIO = 1.2  # up to which the step size is kept: the error estimate depends on changes of it


def share_of_a_step(rtol: float) -> float:
    """The share of the tolerances for the error of a step, proportional to `rtol^(1/2)`.

    The errors of steps are of order `h^3` and add up to one of order `h^2`: with `h^3` proportional to `rtol^(3/2)` it is proportional to
    `rtol`.
    """
    return share(LOCAL_ERROR * rtol**0.5, rtol, FINEST)


class StructuralStepper(Stepper):
    """See `Stepper`."""

    loops = LOOPS
    run: StructuralRun

    def __init__(self, method: "Structural", problem: Problem, state: State, t_end: float, rtol: float, atol: Tolerance) -> None:
        super().__init__(problem.system, state, t_end)
        self.method, self.max_steps = method, method.max_steps
        self.chart: Chart | None = None
        s, f = self.system, method.formula
        start, end = (new_state(StructuralState, state, w=s.nv) for _ in range(2))
        start.w[:] = start.a
        memory = Memory(jacobian_age=1, jacobian_requested=0, factors_stale=1, back_step=0.0, formed=0.0, condition_limit=np.inf,
                        alpha_time_lag=0.0, renewing_steps=0, rate=0.0, iterations=0, renewed=0)
        no_chart = ChartArrays(factors=Factors(0, np.zeros(0), self.model, self.work), derivatives=new_derivatives(s, 0),
                               displaced=Displaced(np.zeros(0, complex), np.zeros(0, complex), np.zeros(0)))
        local = share_of_a_step(float(rtol)) if method.adaptive else 1.0
        tolerances = (local * float(rtol), local * float(atol)) if method.adaptive else (1.0, 1.0)
        rule = method.controller.rule(ERROR_ORDER + 1, MAX_STEP_RATIO, HOLD_RATIO) if method.adaptive else FIXED
        self.run = StructuralRun(
            **self.common(rule=rule, newton=NewtonRule(float(method.tol), int(method.max_iter)), start=start, end=end),
            back=start.a.copy(), memory=memory, kind=method.kind, coefficients=Coefficients(f.beta, f.gamma, f.alpha_m, f.alpha_f),
            rtol=tolerances[0], atol=tolerances[1], share=local, scratch=scratch_for(s),
            friction=friction_for(s, state.lam), matrix=matrix_for(0, s.nv), chart=no_chart, derive=DERIVATIVES["exact"])
        self.clock.fixed = 0 if method.adaptive else 1

    def begin(self) -> None:
        """See `Stepper`."""
        run, method = self.run, self.method
        if method.adaptive and (reason := tolerances_below_rounding(run.start.q, run.start.v, run.rtol, run.atol)):
            raise ChartError(Status.STEP_TOO_SMALL, reason)
        self.clock.h = method.h or method.first_step or self._first_step()

    def _first_step(self) -> float:
        """A step size for small changes of positions and velocities."""
        (rtol, atol), s = (self.run.rtol, self.run.atol), self.begins
        speed, size = np.linalg.norm(self.system.qdot(s.q, s.v, s.t)), np.linalg.norm(s.a)
        share = max(speed / (atol / rtol + np.linalg.norm(s.q)), size / (atol / rtol + np.linalg.norm(s.v) + np.sqrt(size * 1e-2)))
        return float(min(1e-2 * abs(self.t_end - s.t), 0.1 * rtol ** (1 / 3) / share if share > 0.0 else np.inf))

    def step(self, before: TimedState) -> Step:
        """See `Stepper`; the accelerations at the start are those of the step, as the first one may have filtered them."""
        t, q, v, _, lam = before
        return super().step((t, q, v, self.run.back.copy(), lam))

    def assist(self, fault: int) -> None:
        """Choose a chart at the present state, for the iteration matrix."""
        s, memory = self.system, self.run.memory
        if s.freedom == 0:  # no derivatives
            memory.jacobian_requested, memory.jacobian_age = 0, 0
            return
        chart = self._with_chart()
        chart.centre(self.t, self.run.start.q)
        self._use(chart)
        memory.condition_limit = MAX_GROWTH * chart.first
        memory.jacobian_requested, memory.factors_stale = 1, 1

    def _with_chart(self) -> Chart:
        """The chart, made when it is first needed."""
        if self.chart is None:
            self.chart = Chart(self.system, self.method.parametrisation)
            self.run.matrix = matrix_for(self.chart.n, self.system.nv)
        return self.chart

    def _use(self, chart: Chart) -> None:
        """New arrays for a chart."""
        s = self.system
        self.run.chart = ChartArrays(factors=chart.factors, displaced=new_displaced(s, chart.P), derivatives=new_derivatives(s, chart.n))

    def extra(self) -> dict[str, np.ndarray]:
        """See `Stepper`: the chart."""
        return {} if self.chart is None else {"chart.P": self.chart.P.copy(), "chart.first": np.array(self.chart.first)}

    def prepare(self, saved: Mapping[str, np.ndarray]) -> None:
        """See `Stepper`."""
        if "chart.P" in saved:
            chart = self._with_chart()
            chart.P[:], chart.first = saved["chart.P"], float(saved_array(saved, "chart.first"))
            self._use(chart)
