"""An integration by the SDIRK method with sparse matrices: arrays, coordinates, matrices that steps ask for, dense output."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ...charts.choice import ANGLE_SCALE
from ...compilation.structure import with_fields
from ...jacobians.differences import NotFinite
from ...jacobians.sources import Exact
from ...problems.base import Problem
from ...problems.null_vectors import FOLLOW
from ...problems.null_vectors import NOTHING as NOTHING_TO_FOLLOW
from ...results.diagnosis import NoInterpolant, near_singular, singular_ahead
from ...results.status import Cause
from ...results.steps import Step, split_state
from ...system.assembly import State as Start
from ...system.codes import BAD_DERIVATIVES, GOOD, NEEDS_MATRIX, NO_POSITION, RANK_LOST
from ...system.contents import saved_array
from ...system.system import System
from ...typing import Matrix, Vector
from ..bdf_memory import jacobian_contents, resume_jacobian
from ..bdf_stepper import ProblemEquations
from ..control.loop import next_step
from ..control.newton import NewtonRule, newton_tolerance
from ..control.records import State, new_state
from ..control.stepper import FAULTS, FIXED
from ..explicit.start import StartedStepper
from ..projections.project import Projector
from .arrays import (
    CHOICE,
    DERIVATIVES,
    ROOM,
    SparseRun,
    Stages,
    Weights,
    coefficients,
    new_derivatives,
    new_elimination,
    new_memory,
)
from .attempt import LOOPS
from .choice import choose_pivots
from .elimination import eliminate
from .matrix import arrange, assemble, divide, layout, new_basis, new_partition
from .positions import place_basis

if TYPE_CHECKING:
    from ...jacobians.partitioned import PartitionedJacobian
    from .methods import SdirkSparse

MAX_STEP_RATIO = 5.0  # of two consecutive steps
FOREVER = 2**62  # steps

# what steps pass on to later ones
KEPT = ("clock", "counts", "memory", "start", "end", "factors", "redundant", "followed", "model", "work")

Snapshot: TypeAlias = tuple[float, State]  # t and the state at the start of a step


class SparseStepper(StartedStepper):
    """See `Stepper`."""

    loops = LOOPS
    run: SparseRun
    boundary = np.inf

    def __init__(self, method: "SdirkSparse", problem: Problem, state: Start, t_end: float, jacobian: "PartitionedJacobian", rtol: float,
                 bounds: Vector) -> None:
        super().__init__(problem.system, state, t_end)
        self.method, self.problem, self.jacobian, self.max_steps, self.restarts = method, problem, jacobian, method.max_steps, 0
        self.error_order, self._chosen = method.tableau.error_order, False
        self.equations = equations = ProblemEquations(problem, state)
        self.projector = Projector("SdirkSparse", problem.system, "PV", "mass", work=self.work)
        self.linsolver = method.linear(problem.system)
        self.run = self._new_run(equations, rtol, bounds)
        self.clock.fixed, self.clock.largest = int(method.fixed_step > 0.0), float(method.max_step)

    def _new_run(self, equations: ProblemEquations, rtol: float, bounds: Vector) -> SparseRun:
        method, problem, s = self.method, self.problem, self.system
        partition = new_partition(problem, _scales(s))
        partition.independent, partition.kept = np.arange(s.freedom), np.arange(s.nv - s.freedom)  # placeholders of the right sizes
        size = layout(problem, partition).size
        entries, self.matrix = assemble(problem, partition, self.linsolver)
        tableau, dense = coefficients(method.tableau)
        rule = FIXED if method.fixed_step else method.controller.rule(self.error_order + 1, MAX_STEP_RATIO)
        stages = Stages(**{name: np.zeros((len(tableau.c), s.nv if name in ("a", "dv") else s.nq)) for name in Stages.__annotations__})
        newton = NewtonRule(newton_tolerance(method.newton_tol, rtol, method.fixed_step), int(method.max_iter))
        common = self.common(rule=rule, newton=newton,
                             start=new_state(State, equations.state), end=new_state(State, equations.state))
        vectors = {name: np.zeros(s.nq) for name in ("z", "zd", "zdd", "turn", "qd0", "qdd0", "base", "based", "error_q", "rates")} | {
            name: np.zeros(problem.n) for name in ("y", "yd")} | {name: np.zeros(size) for name in ("r", "moved")}
        return SparseRun(
            **common, **vectors, memory=new_memory(), rtol=float(rtol), atol_q=bounds[:s.nq].copy(), atol_v=bounds[s.nq:].copy(),
            filtered=int(method.filter), rheonomic=int(s.rheonomic), reuse_rate=float(method.reuse_rate),
            max_age=FOREVER if method.max_jacobian_age is None else int(method.max_jacobian_age),
            near=Weights(weights_q=np.zeros(s.nq), weights_v=np.zeros(s.nv)), tableau=tableau, dense=dense,
            derivatives=new_derivatives(problem, isinstance(self.jacobian.source, Exact)), partition=partition, entries=entries,
            factors=self.matrix.factors, stages=stages, stage=new_state(State, equations.state), basis=new_basis(problem, partition),
            error_v=np.zeros(s.nv), follow=FOLLOW if len(equations.redundant) else NOTHING_TO_FOLLOW, problem_model=equations.model,
            problem_work=equations.work, redundant=equations.redundant, followed=equations.followed,
            drifts=equations.drifts, weight=float(equations.weight), projection=self.projector.projection)

    def begin(self) -> None:
        """See `Stepper`."""
        self.start(self.method.fixed_step)

    # what steps ask for -----------------------------------------------------------------------------------------------------

    def assist(self, fault: int) -> None:
        """Derivatives, other independent coordinates, or factors."""
        assert fault == NEEDS_MATRIX, fault
        memory, asked = self.run.memory, self.run.memory.asked
        memory.status = GOOD
        if asked == DERIVATIVES:
            self._differentiate()
        elif asked == CHOICE:
            self._choose()
        elif asked == ROOM:
            self._make_room()
        else:
            self.counts.factorisations += 1
            gh = float(next_step(self.clock).h) * self.method.tableau.gamma
            memory.status = self.matrix.factorise(self.run.entries.values, 1.0 / gh)
            if memory.status != GOOD:
                memory.formed = 0.0

    def _differentiate(self) -> None:
        run, memory = self.run, self.run.memory
        self.counts.jacobians += 1
        memory.age, memory.formed = 0, 0.0
        try:
            run.derivatives.state[:], run.derivatives.rates[:] = self.jacobian.parts(self.t, run.y.copy(), run.yd.copy())
        except NotFinite:
            memory.status, memory.age = BAD_DERIVATIVES, -1

    def _choose(self) -> None:
        """Independent coordinates at the start of the step, where the derivatives belong."""
        run, p, s, memory = self.run, self.run.partition, self.system, self.run.memory
        before = p.independent
        while choose_pivots(p.jacobian, p.scales, s.nq - s.freedom, p.room, p.pivots) != GOOD:
            p.room *= 2
        divide(p, s.nc)
        if len(p.independent) != s.freedom:
            memory.status = RANK_LOST
            return
        run.basis = new_basis(self.problem, p)
        place_basis(self.t, run.start.q, run)
        if not arrange(run.basis):
            memory.status = RANK_LOST
            return
        code = NEEDS_MATRIX
        while code == NEEDS_MATRIX:
            code, memory.worst = eliminate(run.basis.rows, run.basis.elimination)
            if code == NEEDS_MATRIX:
                self._make_room()
        memory.first_worst = memory.worst
        self.restarts = (self.restarts or 0) + int(self._chosen and not np.array_equal(p.independent, before))
        self._chosen, memory.choose, memory.formed = True, 0, 0.0
        run.entries, self.matrix = assemble(self.problem, p, self.linsolver)
        run.factors = self.matrix.factors

    def _make_room(self) -> None:
        """Twice the room for the factors of positions and velocities."""
        e = self.run.basis.elimination
        self.run.basis.elimination = new_elimination(e.order, e.pivots, 2 * len(e.values))

    # failures ---------------------------------------------------------------------------------------------------------------

    def explain(self, fault: int) -> Cause:
        """See `Stepper`."""
        (t, q, v, _, _), h = self.row(), np.copysign(self.clock.h, self.t_end - self.t)
        if fault in (NO_POSITION, RANK_LOST):
            behind = near_singular(self.system, self.begins, t, q) or singular_ahead(self.system, self.begins, t, q, v, h)
            return behind or self.projector.explain(fault, t + h, self.run.end.q)
        return FAULTS.get(fault) or self.projector.explain(fault, t + h, self.run.end.q)

    def additional_counts(self) -> dict[str, int]:
        """Work of the derivatives and of the projections."""
        return {"residuals_jacobian": self.jacobian.calls, "factorisations": self.projector.factorisations, "solves": self.projector.solves}

    # continuation -----------------------------------------------------------------------------------------------------------

    @property
    def kept(self) -> dict[str, Any]:
        """See `Stepper`: without constants, scratch, and the stages of the last step."""
        run, d = self.run, self.run.derivatives
        return {f"run.{name}": getattr(run, name) for name in KEPT} | {
            "run.pivots": run.partition.pivots, "run.rows": run.basis.elimination.order, "run.columns": run.basis.elimination.pivots,
            "run.q": d.q, "run.turn_q": d.turn_q, "run.turn_v": d.turn_v, "run.state": d.state, "run.rates": d.rates,
            "run.projection.counts": run.projection.counts}

    def extra(self) -> dict[str, np.ndarray]:
        """See `Stepper`: the derivatives, the order of the columns, changes of the coordinates."""
        return jacobian_contents(self.jacobian) | self.matrix.extra() | {
            "restarts": np.array(self.restarts), "room": np.array(len(self.run.basis.elimination.values))}

    def prepare(self, saved: Mapping[str, np.ndarray]) -> None:
        """See `Stepper`."""
        self.restarts = int(saved_array(saved, "restarts"))
        run = self.run
        run.partition.pivots[:] = saved_array(saved, "run.pivots")
        divide(run.partition, self.system.nc)
        self._chosen = True
        run.basis = new_basis(self.problem, run.partition)
        rows, columns, room = (saved_array(saved, name) for name in ("run.rows", "run.columns", "room"))
        run.basis.elimination = new_elimination(rows.copy(), columns.copy(), int(room))
        run.entries, self.matrix = assemble(self.problem, run.partition, self.linsolver)
        run.factors = self.matrix.factors
        resume_jacobian(self.jacobian, saved)
        self.matrix.prepare(saved, "run.factors")

    # steps ------------------------------------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """See `Stepper`."""
        return self.t, new_state(State, self.run.start)

    def step(self, before: Snapshot) -> Step:
        """The last accepted step, with the dense output of the method."""
        (t0, start), (t, q, v, a, lam) = before, self.row()
        return Step(t0, t, lambda: (q.copy(), v.copy()), np.concatenate([q, v, a, lam]), lambda times: self._within(times, t0, start),
                    split_state(self.system))

    def _within(self, times: Vector, t0: float, start: State) -> Matrix:
        """States at times within the last step, by rows."""
        columns, code = self.sampled(with_fields(self.run, start=start), times, t0)
        if code == NEEDS_MATRIX:
            self.assist(code)
            return self._within(times, t0, start)
        if code != GOOD:
            raise NoInterpolant(*self.explain(code))
        return columns


def _scales(system: System) -> Vector:
    """Factors of the columns in the choice of pivots: angles of planar bodies are preferred as independent coordinates."""
    scales = np.ones(system.nq)
    if not system.of_functions:
        of_v = np.zeros(system.nv, dtype=bool)
        of_v[system.angles] = True
        of_q, keep = np.ones(system.nq, dtype=bool), np.ones(system.nv, dtype=bool)
        for at, to in system.quaternions.tolist():
            of_q[at:at + 4] = keep[to:to + 3] = False
        scales[of_q] = np.where(of_v[keep], ANGLE_SCALE, 1.0)
    return scales


