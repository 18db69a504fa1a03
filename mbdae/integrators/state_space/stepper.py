"""An integration by a state-space method: arrays, charts, first step, dense output."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ...charts.columns import Team
from ...charts.derivative import State as Point
from ...charts.derivative import new_derivatives
from ...charts.motion import evaluate
from ...charts.pointers import DERIVATIVES, EVALUATE, PLACE
from ...charts.store import adopt, new_displaced
from ...compilation.structure import with_fields
from ...problems.pattern import structure
from ...problems.state_space import StateSpace
from ...results.diagnosis import ChartError, explain
from ...results.status import Cause, Status
from ...results.steps import Step, split_state
from ...system.assembly import State
from ...system.codes import BAD_DERIVATIVES, CHART_LOST, GOOD, NEEDS_DERIVATIVES, NEEDS_MATRIX, NO_POSITION
from ...system.contents import saved_array
from ...system.system import System
from ...typing import Matrix, Tolerance, Vector
from ..control.newton import NewtonRule, newton_tolerance
from ..control.records import new_state
from ..control.stepper import FIXED, Stepper
from ..resolution import tolerances_below_rounding
from .arrays import (
    ChartedRun,
    ChartedState,
    DenseCoefficients,
    Memory,
    Near,
    Pair,
    ReuseRule,
    RosenbrockCoefficients,
    SdirkCoefficients,
    Stages,
)
from .attempt import ALONE, FETCHED, LOOPS
from .augmented import arrange, enlarge, new_augmented
from .descriptor import ABSENT, DESCRIPTOR
from .formulas import SDIRK_DESCRIPTOR
from .rosenbrock_tableau import ROSENBROCK_NYSTROM_4
from .sdirk_tableau import Sdirk
from .step import size, weigh

if TYPE_CHECKING:
    from .base import Charted

MAX_STEP_RATIO = 5.0  # of two consecutive steps
FOREVER = 2**62  # steps

Snapshot: TypeAlias = tuple[float, ChartedState]  # t and the state at the start of a step


class ChartedStepper(Stepper):
    """See `Stepper`."""

    loops = LOOPS
    restarts: int
    run: ChartedRun

    def __init__(self, method: "Charted", problem: StateSpace, state: State, t_end: float, rtol: float, atol: Tolerance) -> None:
        super().__init__(problem.system, state, t_end)
        self.method, self.chart = method, problem.chart
        self.max_steps, self.restarts = method.max_steps, 0
        self.recentred: float | None = None  # time of the last change of the chart after a failure
        self.model, self.work = problem.model, self.chart.work
        n, s = self.chart.n, self.system
        start, end, inside = (new_state(ChartedState, state, z=n, zd=n, zdd=n) for _ in range(3))
        tableau = method.tableau
        stages = Stages(**{name: np.zeros((len(tableau.b), n)) for name in Stages.__annotations__})
        memory = Memory(eta=1.0, next_eta=1.0, rate=0.0, jacobian_age=-1, shared=0, factors_stale=1, first_condition=np.inf, condition=0.0)
        rule = FIXED if method.fixed_step else method.controller.rule(method.error_order + 1, MAX_STEP_RATIO)
        newton = NewtonRule(newton_tolerance(method.newton_tol, rtol, method.fixed_step), int(method.max_iter))
        reuse = ReuseRule(float(method.reuse_rate), FOREVER if method.max_jacobian_age is None else int(method.max_jacobian_age))
        bounds, near = np.full(s.nq + s.nv, atol, dtype=float), _near(s, n)
        self.run = ChartedRun(
            **self.common(rule=rule, newton=newton, start=start, end=end), inside=inside, memory=memory, reuse=reuse,
            max_condition_growth=float(method.max_condition_growth), atol_q=bounds[:s.nq].copy(), atol_v=bounds[s.nq:].copy(),
            kind=method.kind, filtered=int(method.filter), rheonomic=int(s.rheonomic),
            evaluations=2 * n + 1 if method.jacobian == "difference" else 0, rtol=float(rtol), near=near,
            stages=stages, **{name: Pair(z=np.zeros(n), zd=np.zeros(n)) for name in ("error", "defect")},
            sdirk=SdirkCoefficients(*(getattr(tableau, name) for name in SdirkCoefficients._fields)), dense=_dense(tableau, method.kind),
            rosenbrock=_ROSENBROCK, factors=self.chart.factors, place=PLACE, evaluate=EVALUATE,
            derive=DERIVATIVES[method.jacobian], displaced=new_displaced(s, self.chart.P), sparse=int(method.sparse),
            descriptor=DESCRIPTOR if method.sparse else ABSENT, augmented=new_augmented(s, n, near.derivatives, method.sparse))
        self.map_pattern = structure(s).map_v.astype(bool) if method.sparse else None
        self.clock.fixed, self.clock.largest = int(method.fixed_step > 0.0), float(method.max_step)
        self.team = Team(s, self.chart.factors, self.chart.P, method.threads, self.run.derive) if method.threads > 1 else None
        memory.shared = int(self.team is not None)

    # the first step ------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """See `Stepper`."""
        run = self.run
        self._centre()
        atol = np.concatenate([run.atol_q, run.atol_v])
        if not self.fixed and (reason := tolerances_below_rounding(run.start.q, run.start.v, run.rtol, atol)):
            raise ChartError(Status.STEP_TOO_SMALL, reason)
        self.clock.h = self.method.fixed_step or self.method.first_step or self._first_step()

    def _first_step(self) -> float:
        """A step size for small changes of the state, and changes of the second derivative below the tolerance."""
        run, s, span = self.run, self.run.start, self.t_end - self.t
        run.near.N[:] = self.chart.bases.N
        weigh(s, run)
        weighed = np.sum((s.q * run.near.weights_q) ** 2) + np.sum((s.v * run.near.weights_v) ** 2)
        large, speed = np.sqrt(weighed / (len(s.q) + len(s.v))), size(s.zd, s.zdd, run)
        h = min(1e-2 * large / speed if speed > 0.0 else np.inf, 1e-2 * abs(span)) or 1e-6 * abs(span) or abs(span)
        step, trial, zdd = np.copysign(h, span), run.end, np.zeros_like(s.zdd)
        trial.q[:], z, zd = s.q, s.z + step * s.zd, s.zd + step * s.zdd
        code = evaluate(self.t + step, z, zd, trial.q, trial.v, trial.a, s.lam.copy(), zdd, self.chart.factors)
        bend = size(step * s.zdd, zdd - s.zdd, run) / h if code == GOOD else np.inf
        longest = (1e-2 / max(speed, bend)) ** (1.0 / (self.method.error_order + 1)) if max(speed, bend) > 0.0 else np.inf
        return float(max(min(1e2 * h, longest, abs(span)), 1e-12 * abs(span)))

    # charts --------------------------------------------------------------------------------------------------------------

    def _centre(self) -> None:
        """Choose a new chart at the present state."""
        s, memory = self.run.start, self.run.memory
        self.chart.centre(self.t, s.q)
        s.z[:], s.zd[:] = self.chart.coordinates(self.t, s.q, s.v)
        code = evaluate(self.t, s.z, s.zd, s.q, s.v, s.a, s.lam, s.zdd, self.chart.factors)
        self.system.callbacks.check()
        if code != GOOD:
            raise ChartError(*explain(self.system, code, self.work, self.t, s.q))
        adopt(self.system, self.chart.P, self.run.displaced.store)
        if self.team is not None:
            self.team.recentre(self.chart.P)
        memory.first_condition, memory.jacobian_age, memory.factors_stale = float(self.chart.first), -1, 1
        if self.method.sparse:
            arrange(self.run.augmented, self.chart.P, self.map_pattern)

    def extra(self) -> dict[str, np.ndarray]:
        """See `Stepper`: the chart, and when it was changed."""
        recentred = np.nan if self.recentred is None else self.recentred
        return {"chart.P": self.chart.P.copy(), "chart.first": np.array(self.chart.first), "chart.changes": np.array(self.restarts),
                "chart.recentred": np.array(recentred)}

    def prepare(self, saved: Mapping[str, np.ndarray]) -> None:
        """See `Stepper`."""
        chart, (P, first, changes, at) = self.chart, (saved_array(saved, f"chart.{x}") for x in ("P", "first", "changes", "recentred"))
        chart.P[:], chart.first, self.restarts = P, float(first), int(changes)
        self.recentred = None if np.isnan(at) else float(at)
        if self.team is not None:
            self.team.recentre(chart.P)
        if self.method.sparse:
            arrange(self.run.augmented, chart.P, self.map_pattern)
            entries = len(saved_array(saved, "run.augmented.lu.L.values"))
            while len(self.run.augmented.lu.L.values) < entries:
                enlarge(self.run.augmented)

    def assist(self, fault: int) -> None:
        """Derivatives in threads; room for factors; or a better chart for one that is ill-conditioned, if there is one."""
        if fault == NEEDS_DERIVATIVES:
            self._derive()
        elif fault == NEEDS_MATRIX:
            enlarge(self.run.augmented)
        elif self.chart.outdone(self.t, self.run.start.q, self.run.memory.first_condition):
            self.restarts += 1
            self._centre()

    def _derive(self) -> None:
        """The derivatives at the start of a step, in threads."""
        run, s = self.run, self.run.start
        assert self.team is not None
        good = self.team.evaluate(s.zd, Point(self.t, s.q, s.v, s.a, s.lam), self.chart.factors, run.near.derivatives)
        self.system.callbacks.check()
        run.counts.residuals_jacobian += run.evaluations
        run.counts.jacobians += 1
        run.memory.jacobian_age = FETCHED if good else ALONE

    def cure(self, fault: int) -> bool:
        """Retry once in a new chart: after the end of a chart, and after a failure with fixed step size."""
        curable = fault in (CHART_LOST, NO_POSITION) or (self.fixed and fault != BAD_DERIVATIVES)
        if not curable or self.recentred == self.t:
            return False
        self.recentred = self.t
        self.restarts += 1
        self._centre()
        self.clock.h = self.method.fixed_step or self._first_step()
        return True

    def explain(self, fault: int) -> Cause:
        """See `Stepper`."""
        status, reason = super().explain(fault)
        fixed = f"; the step size is fixed at {self.clock.h:.3g}, and the step also fails in a new chart"
        return Cause(status, reason + (fixed if self.fixed and fault != BAD_DERIVATIVES else ""))

    # steps ---------------------------------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """See `Stepper`."""
        return self.t, new_state(ChartedState, self.run.start)

    def step(self, before: Snapshot) -> Step:
        """The last accepted step, with the dense output of the method."""
        (t0, start), (t, q, v, a, lam) = before, self.row()
        return Step(t0, t, lambda: (q.copy(), v.copy()), np.concatenate([q, v, a, lam]), lambda times: self._within(times, t0, start),
                    split_state(self.system))

    def _within(self, times: Vector, t0: float, start: ChartedState) -> Matrix:
        """States at times within the last step, by rows."""
        columns, code = self.sampled(with_fields(self.run, start=start), times, t0)
        if code == NEEDS_MATRIX:
            self.assist(code)
            return self._within(times, t0, start)
        if code != GOOD:
            raise ChartError(*self.explain(code))
        return columns


def _near(system: System, n: int) -> Near:
    """Arrays for `Near`, of `n` independent coordinates."""
    nq, nv = system.nq, system.nv
    d = new_derivatives(system, n)
    return Near(derivatives=d, V=d.v_z, A1=d.a_z, L1=d.lam_z, J1=d.zdd_z, A2=d.a_zd, L2=d.lam_zd, J2=d.zdd_zd, N=np.zeros((n, nv)),
                by_time=np.zeros(n), W=np.zeros((n, n)), pivots=np.zeros(n, dtype=np.int64), weights_q=np.zeros(nq), weights_v=np.zeros(nv))


def _dense(tableau: Sdirk, kind: int) -> DenseCoefficients:
    """Coefficients of the dense output, for accelerations in `SDIRK_DESCRIPTOR` and for increments otherwise."""
    return DenseCoefficients(*((tableau.dense_position, tableau.dense) if kind == SDIRK_DESCRIPTOR else (tableau.dense_z, tableau.dense_z)))


_R = ROSENBROCK_NYSTROM_4
_ROSENBROCK = RosenbrockCoefficients(float(_R.e), *(getattr(_R, name) for name in RosenbrockCoefficients._fields[1:]))
