"""What all structural integrators share on the Python side: arrays for the compiled time loop, charts, output, failures."""

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass, fields
from typing import ClassVar

import numpy as np

from ...charts.chart import Chart
from ...charts.condition import MAX_GROWTH
from ...charts.pointers import DERIVATIVES
from ...charts.store import new_store
from ...driver.arguments import check_step, is_finite, is_integer
from ...interrupts import signals
from ...results.diagnosis import ChartError, explain, jam_ahead, near_singular, singular_ahead
from ...results.statistics import Statistics
from ...results.status import Status
from ...results.steps import StepWatch, hermite_step
from ...results.trajectory import Trajectory
from ...stopwatch import Stopwatch
from ..control.step_size import ELEMENTARY, StepSizeController, check_controller
from ..one_step import interpolated
from ..resolution import step_below_rounding, tolerances_below_rounding, warn_of_rounding
from . import march as m
from .formula import Formula
from .newton import matrix_for
from .step import DIVERGED, ERROR_TEST, EVALUATIONS, FACTORISATIONS, ITERATIONS, JACOBIANS, POSITION, SOLVES, friction_for, scratch_for

SHOWN = ("alpha", "beta", "gamma", "rho_inf", "level", "basis")  # in labels, where they are not the default
ROOM = 256  # steps between two looks at the user
ERROR_ORDER = 2  # of the error estimate
GROW, HOLD = 3.0, 1.2  # largest ratio of two steps; growth that is worth the disturbance
AMPLIFICATION = 50.0  # of the rounding of positions in accelerations, where multipliers serve positions
FAULTS = {DIVERGED: (Status.NEWTON_FAILED, "the iteration for the accelerations does not converge"),
          ERROR_TEST: (Status.STEP_TOO_SMALL, "the error test fails"),
          m.STALLED: (Status.STEP_TOO_SMALL, "the step does not move the time any more")}


@dataclass(frozen=True)
class Structural(ABC):
    """Base of the integrators that take positions and velocities from accelerations by Newmark's formulas; they work on a `System`."""

    h: float | None = 1e-3
    _: KW_ONLY
    first_step: float = 0.0
    tol: float = 1e-10
    max_iter: int = 30
    max_steps: int = 10_000_000
    controller: StepSizeController = ELEMENTARY
    _bounds: ClassVar[tuple] = ()  # of the coefficients: name, least and largest value

    formulations: ClassVar[tuple] = ()  # works on the system itself

    def __post_init__(self):
        name = type(self).__name__
        if not (self.h is None or (is_finite(self.h) and self.h > 0.0)):
            raise ValueError(f"{name}: h must be positive and finite, or None for control of the step, got {self.h!r}")
        check_step(name, "first_step", self.first_step)
        if self.h is not None and self.first_step:
            raise ValueError(f"{name}: steps of fixed size h = {self.h:g} have no first_step; h=None lets the tolerances choose them")
        if not (is_finite(self.tol) and self.tol > 0.0):
            raise ValueError(f"{name}: tol must be positive and finite, got {self.tol!r}")
        check_controller(name, self.controller, self.adaptive)
        for field in ("max_iter", "max_steps"):
            given = getattr(self, field)
            if not (is_integer(given) and given >= 1):
                raise ValueError(f"{name}: {field} must be an integer of at least 1, got {given!r}")
        for field, low, high in self._bounds:
            given = getattr(self, field)
            if not (is_finite(given) and low <= given <= high):
                raise ValueError(f"{name}: {field} must be a number from {low:.4g} to {high:.4g}, got {given!r}")

    @property
    def adaptive(self) -> bool:
        """Whether the tolerances control the step."""
        return self.h is None

    @property
    def label(self):
        """Name, coefficients and step for tables and legends."""
        given = [(f.name, getattr(self, f.name)) for f in fields(self) if f.name in SHOWN and getattr(self, f.name) != f.default]
        chosen = [f"{name}={_shown(value)}" for name, value in given]
        step = ["adaptive"] if self.adaptive else [f"h={self.h:g}"]
        return f"{type(self).__name__}({', '.join(step + chosen)})"

    @property
    def one_step(self):
        """See `mbdae.driver.method`: auxiliary accelerations are more than a state, and `h` sets the step only if it is fixed."""
        return not self.adaptive and self.formula.alpha_m == 0.0 == self.formula.alpha_f

    @property
    @abstractmethod
    def formula(self) -> Formula:
        """The `Formula` with its coefficients."""

    @property
    @abstractmethod
    def kind(self):
        """What is done about the constraints, see `step`."""

    @property
    def parametrisation(self):
        """Of the null space, where Newton's matrix is needed; see `mbdae.charts`."""
        return "tangent"

    def integrate(self, problem, state, t_end, *, rtol=None, atol=None, t_eval=None, every=1, progress=None, until=None):
        """See `mbdae.driver.method`; tolerances have a meaning without `h` only."""
        if self.adaptive and (rtol is None or np.ndim(atol) or not (atol or 0.0) > 0.0):
            raise ValueError(f"{type(self).__name__}: for control of the step atol must be one positive number, got {atol!r}")
        if self.kind == POSITION:
            warn_of_rounding(self.label, self.h, state, t_end, AMPLIFICATION)
        trajectory = _Run(self, problem, state, t_end, rtol, atol, every if t_eval is None else 1).to_end(progress, until)
        return trajectory if t_eval is None else interpolated(problem, trajectory, t_eval)


def _shown(value):
    return value if isinstance(value, str) else f"{value:.7g}"


class _Run:
    """One integration."""

    def __init__(self, method, system, state, t_end, rtol, atol, every):
        self.method, self.system, self.begin, self.t, self.t_end, self.every = method, system, state, state.t, t_end, float(every)
        sizes = (system.nq, system.nv, system.nv, system.nv, system.nc)
        self.start, self.new = (tuple(np.zeros(k) for k in sizes) for _ in range(2))
        for place, value in zip(self.start, (state.q, state.v, state.a, state.a, state.lam)):
            place[:] = value
        self.back, self.scratch, self.friction = self.start[2].copy(), scratch_for(system), friction_for(system)
        self.model, self.work = system.model, system.workspace()
        self.control, self.counts = np.zeros(m.CONTROL), np.zeros(m.COUNTERS, dtype=np.int64)
        self.tolerances = (float(rtol), float(atol)) if method.adaptive else (1.0, 1.0)
        self.tolerances += (method.controller.rule(ERROR_ORDER + 1, GROW, HOLD),)
        self.control[m.H] = method.h or method.first_step or self._first_step()
        self.control[m.DIRTY], self.control[m.AGE], self.control[m.ORIGIN] = 1.0, 1.0, state.t
        self.chart = None
        self._without_chart()
        self.rows = [tuple(np.array([x]) for x in (state.t, state.q, state.v, state.a, state.lam))]
        self.status, self.message = Status.SUCCESS, "the end of the time span was reached"

    def _first_step(self):
        """A step in which positions and velocities change by little."""
        rtol, atol, _ = self.tolerances
        speed, q, v = self.system.qdot(self.begin.q, self.begin.v, self.t), self.begin.q, self.begin.v
        share = max(np.linalg.norm(speed) / (atol / rtol + np.linalg.norm(q)),
                    np.linalg.norm(self.begin.a) / (atol / rtol + np.linalg.norm(v) + np.sqrt(np.linalg.norm(self.begin.a) * 1e-2)))
        return min(1e-2 * abs(self.t_end - self.t), 0.1 * rtol ** (1 / 3) / share if share > 0.0 else np.inf)

    def _without_chart(self):
        n = 0
        self.matrix = matrix_for(n, self.system.nv)
        self.derivatives = np.zeros(0), (np.zeros(0, complex), np.zeros(0, complex), np.zeros(0)), self._rows(n)

    def _rows(self, n):
        s = self.system
        return tuple(np.zeros((n, k)) for k in (s.nv, s.nv, s.nc, n, s.nv, s.nc, n))

    def _choose_chart(self):
        """A chart at the present state, for Newton's matrix."""
        s = self.system
        if s.freedom == 0:
            self.control[m.WISHED], self.control[m.AGE] = 0.0, 0.0  # there is nothing to derive: as good as fresh derivatives
            return
        if self.chart is None:
            self.chart = Chart(s, self.method.parametrisation)
            self.matrix = matrix_for(self.chart.n, s.nv)
        self.chart.centre(self.t, self.start[0])
        scratch = new_store(s, self.chart.P, complex), s.workspace(complex), s.workspace()
        self.derivatives = self.chart.store, scratch, self._rows(self.chart.n)
        self.control[m.WORST] = MAX_GROWTH * self.chart.first
        self.control[m.WISHED], self.control[m.DIRTY] = 1.0, 1.0

    # the run -------------------------------------------------------------------------------------------------------------

    def to_end(self, progress, until):
        """Integrate, and return the trajectory."""
        self._advance(0)  # compiles, if it must, before the clock starts
        watch = Stopwatch()
        try:
            self._carry_out(progress, until)
        except ChartError as error:
            self._fail(error.status, error.reason)
        if self.control[m.PHASE] > 0.0:  # ended between two states that `every` asks for
            self.rows.append(tuple(np.array([x]) for x in (self.t, *self.start[:3], self.start[4])))
        return self._trajectory(watch.seconds)

    def _below_rounding(self):
        """Why the step, or the tolerances that choose it, are too small for any run; empty if they are not."""
        if not self.method.adaptive:
            return step_below_rounding(self.method.h, self.t, self.t_end)
        return tolerances_below_rounding(*self.start[:2], *self.tolerances[:2])

    def _carry_out(self, progress, until):
        if reason := self._below_rounding():
            self._fail(Status.STEP_TOO_SMALL, reason)
            return
        while True:
            before = self._state() if until is not None else None
            code = self._advance(1 if until is not None else ROOM)
            self.system.callbacks.check()
            if progress is not None:
                progress(self.t)
            if until is not None and self.t != before[0] and self._asked(until, before):
                self.message = "a terminal event has been passed"
                return
            if code == m.ARRIVED:
                return
            if code == m.NEEDS_CHART:
                self._choose_chart()
            elif code == m.FAILED:
                self._fail(*self._reason())
                return
            elif self.counts[m.STEPS] >= self.method.max_steps:
                self._fail(Status.TOO_MANY_STEPS, f"{self.method.max_steps} steps were not enough")
                return

    def _state(self):
        return self.t, *(x.copy() for x in (*self.start[:3], self.start[4]))

    def _asked(self, until, before):
        """Whether the run is to end after the step from the state `before`."""
        now = self._state()
        return until.after(hermite_step(self.system, before, now)) if isinstance(until, StepWatch) else until(*now[:3])

    def _advance(self, most):
        """At most so many steps; why they ended."""
        method, f = self.method, self.method.formula
        most = min(most, method.max_steps - int(self.counts[m.STEPS]))
        out = tuple(np.empty((most + 1, *np.shape(x))) for x in (0.0, *self.start[:3], self.start[4]))
        code, self.t = m.march(method.kind, (f.beta, f.gamma, f.alpha_m, f.alpha_f), (method.adaptive, method.tol, method.max_iter),
                               self.t, self.t_end, self.tolerances, self.control, self.counts, self.start, self.new, self.back,
                               self.scratch, self.friction, self.matrix, self.derivatives, self.model, self.work, DERIVATIVES["exact"],
                               self.every, most, out, signals.flag)
        stored = self.counts[m.STORED]
        if stored:
            self.rows.append(tuple(x[:stored] for x in out))
        return code

    # the end -------------------------------------------------------------------------------------------------------------

    def _reason(self):
        fault = int(self.control[m.FAULT])
        if fault not in FAULTS:
            return explain(self.system, fault, self.work, self.t, self.new[0])
        s, span = self.system, np.copysign(self.control[m.H], self.t_end - self.t)
        status, reason = (jam_ahead(s, self.t, *self.start[:3], span) or near_singular(s, self.begin, self.t, self.start[0])
                          or singular_ahead(s, self.begin, self.t, *self.start[:2], span) or FAULTS[fault])
        if self.method.adaptive:
            reason += f", though the step has been cut to {self.control[m.H]:.3g}"
        return status, reason

    def _fail(self, status, reason):
        self.status = status
        self.message = f"{reason} (last step ended at t = {self.t:.9g}); the solution up to there is kept"

    def _trajectory(self, seconds):
        c = self.counts
        statistics = Statistics(
            steps=int(c[m.STEPS]), rejected_error=int(c[m.REJECTED_ERROR]), rejected_newton=int(c[m.REJECTED_NEWTON]),
            residuals=int(c[EVALUATIONS]), residuals_jacobian=0, jacobians=int(c[JACOBIANS]), factorisations=int(c[FACTORISATIONS]),
            solves=int(c[SOLVES]), newton_iterations=int(c[ITERATIONS]), seconds=seconds)
        t, q, v, a, lam = (np.concatenate(x) for x in zip(*self.rows))
        return Trajectory(t, q, v, a, lam, statistics, self.status, self.message)
