"""An integration by Radau IIA methods: arrays, matrices that steps ask for, first step, failures, dense output."""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ...compilation.structure import with_fields
from ...jacobians.differences import NotFinite
from ...jacobians.sources import Exact
from ...problems.base import Problem
from ...problems.null_vectors import FOLLOW
from ...problems.null_vectors import NOTHING as NOTHING_TO_FOLLOW
from ...problems.once import once
from ...results.diagnosis import ChartError, NoInterpolant, near_singular, singular_ahead
from ...results.status import Cause, Status
from ...results.steps import Step
from ...system.assembly import State as Start
from ...system.assembly import accelerations, on_constraints
from ...system.codes import BAD_DERIVATIVES, ERROR_TEST, GOOD, NEEDS_MATRIX, NO_POSITION, RANK_LOST, STALLED
from ...system.contents import leaves
from ...system.sparse_lu import SparseFactors, ordering
from ...typing import FullState, Matrix, Vector
from .. import bdf_formulas as bdf
from ..bdf_memory import jacobian_contents, resume_jacobian
from ..bdf_stepper import WORDS, ProblemEquations, ProblemStepper
from ..control.loop import next_step
from ..control.stepper import FAULTS, FIXED
from ..iteration_matrix import IterationMatrix, scaling
from ..projections.project import PROJECT, Projector
from ..resolution import tolerances_below_rounding
from .arrays import FACTORS, RadauRun, arrays_for, new_derivatives, new_extension, new_memory, new_sparse
from .attempt import LOOPS, MAX_FAILURES
from .tableau import PAIRS, STAGES, radau

# sparse matrices are factorised in compiled code up to so many unknowns, or entries of the factors for each, and beyond by SuperLU
COMPILED_LIMIT, COMPILED_FILL = 1500, 60

# what steps pass on to later ones, and of matrices by blocks
KEPT = ("clock", "counts", "memory", "start", "y0", "rate", "Z", "past", "bends", "real", "pairs", "redundant", "followed", "model", "work")
KEPT_OF_BLOCKS = ("state", "exact", "c", "inverse", "moved", "motion", "held")

if TYPE_CHECKING:
    from ...jacobians.partitioned import PartitionedJacobian
    from .methods import RadauIIA


Snapshot: TypeAlias = tuple[float, Vector]  # the time and the unknowns before a step


class RadauStepper(ProblemStepper):
    """See `Stepper`."""

    loops = LOOPS
    run: RadauRun
    lasting = True

    def __init__(self, method: "RadauIIA", problem: Problem, state: Start, t_end: float, jacobian: "PartitionedJacobian",
                 norms: bdf.Norms) -> None:
        super().__init__(problem.system, state, t_end)
        self.method, self.problem, self.jacobian, self.max_steps = method, problem, jacobian, method.max_steps
        self.equations = equations = ProblemEquations(problem, state)
        self.projector = Projector("RadauIIA", problem.system, "PV", "mass")
        self.model, self.work = equations.model, equations.work
        linear = method.linear(problem.n)
        order = once(problem, "order of the columns", lambda: ordering(problem.pattern)) if linear == "sparse" else None
        here = order is not None and (problem.n <= COMPILED_LIMIT or order.entries <= COMPILED_FILL * problem.n)
        self._order = order if here else None
        self._by_blocks = method.linsolver == "auto" and (here or linear == "dense")
        powers = scaling(problem)
        self.matrices = [IterationMatrix(problem.pattern, linear, *powers, dtype=complex if k else float) for k in range(1 + PAIRS)]
        self.run = self._new_run(equations, norms)
        self.clock.fixed, self.clock.largest = int(method.fixed_step > 0.0), float(method.max_step)

    def _new_run(self, equations: ProblemEquations, norms: bdf.Norms) -> RadauRun:
        method, x = self.method, arrays_for(len(equations.y0))
        levels = method.levels(norms.rtol)
        rules, first_rule = tuple(method.rule(s) for s in STAGES), method.first_rule(STAGES[levels[0]])
        newtons = tuple(method.newton(s, norms.rtol) for s in STAGES)
        start, end, within = (equations.views(x[a], x[b]) for a, b in (("y0", "rate"), ("y1", "rate1"), ("y", "yd")))
        derivatives = new_derivatives(self.problem, isinstance(self.jacobian.source, Exact))
        sparse, sparse_pairs = new_sparse(self.problem, self._order, derivatives, self._by_blocks)
        return RadauRun(**self.common(rule=FIXED, newton=newtons[0], start=start, end=end), **x, memory=new_memory(levels[0]),
                        bends=np.zeros((2, self.system.nv)),
                        formulas=tuple(radau(s) for s in STAGES), rules=rules, first_rule=first_rule, newtons=newtons,
                        share=method.share(norms.rtol), lowest=levels[0], highest=levels[1], norms=norms, derivatives=derivatives,
                        real=self.matrices[0].factors,
                        pairs=tuple(m.factors for m in self.matrices[1:]), sparse=sparse, sparse_pairs=sparse_pairs, within=within,
                        extension=new_extension(self.system),
                        residual=equations.called.residual, parameters=equations.called.parameters,
                        follow=FOLLOW if len(equations.redundant) else NOTHING_TO_FOLLOW, redundant=equations.redundant,
                        followed=equations.followed, drifts=equations.drifts, weight=float(equations.weight), project=PROJECT,
                        projection=self.projector.projection, projected=self.projector.work)

    # the first step ---------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """See `Stepper`."""
        run, s = self.run, self.begins
        run.y0[:], run.rate[:] = self.equations.y0, self.equations.yd0
        atol = run.norms.atol[:len(s.q) + len(s.v)]
        if not self.fixed and (reason := tolerances_below_rounding(s.q, s.v, run.norms.rtol, atol)):
            raise ChartError(Status.STEP_TOO_SMALL, reason)
        self.clock.h, run.memory.first_ratio = self.method.fixed_step or self.method.first_step, run.rules[0].grow
        if not self.clock.h:
            self.clock.h, run.memory.first_ratio = self._first_step()

    def _first_step(self) -> tuple[float, float]:
        """A step in which positions and velocities change by a hundredth of their size, but not by less than the tolerance allows.

        Where velocities are zero that is far too short. The second one may be so much longer that positions change by a hundredth.
        """
        run, s, span = self.run, self.begins, abs(self.t_end - self.t)
        n, nq, norms = len(s.q) + len(s.v), len(s.q), self.run.norms
        y, rate = run.y0[:n], run.rate[:n]
        moves = self.system.qdot(s.q, s.a, self.t)
        with np.errstate(divide="ignore", invalid="ignore"):
            w = 1.0 / (norms.atol[:n] + norms.rtol * np.abs(y))
            size, speed = _norm(y * w), _norm(rate * w)
            h = 0.01 * size / speed if np.isfinite(size) and speed > 0.0 else np.inf
            part, moved, bent = (0.01 * _norm(y[:nq] * w[:nq]), _norm(rate[:nq] * w[:nq]), _norm(moves * w[:nq]))
            of_positions = np.fmin(part / moved, np.sqrt(part / bent))
        fine = float(norms.rtol) ** 0.25
        longest = min(1e-2 * span, self.method.max_step)
        first = float(max(min(h * max(1.0, 10.0 * fine), longest), 1e-9 * span))
        ratio = of_positions / first if first < longest and np.isfinite(of_positions) else 0.0
        return first, float(max(ratio, run.rules[0].grow))

    # matrices ---------------------------------------------------------------------------------------------------------------

    def assist(self, fault: int) -> None:
        """Evaluate the derivatives, or factorise sparse matrices, as an attempt has asked for."""
        assert fault == NEEDS_MATRIX, fault
        memory, run = self.run.memory, self.run
        memory.status = GOOD
        if memory.asked == FACTORS:
            if self._sparse_factors:
                self._make_room()
            else:
                self._factorise(float(next_step(self.clock).h))
            return
        self.counts.jacobians += 1
        memory.current, memory.age, memory.formed = 1, 0, 0.0
        try:
            run.derivatives.state[:], run.derivatives.rates[:] = self.jacobian.parts(memory.time, run.y.copy(), run.yd.copy())
        except NotFinite:
            memory.status = BAD_DERIVATIVES

    @property
    def _sparse_factors(self) -> list[SparseFactors]:
        """Sparse factors in compiled code, of whole matrices and of their blocks."""
        matrices = (self.run.sparse, *self.run.sparse_pairs)
        found = [m.factors for m in matrices] + [m.blocks.motion.factors for m in matrices] + [self.run.sparse.blocks.held.factors]
        return [x for x in found if x.order.size]

    def _make_room(self) -> None:
        """Twice the room for sparse factors."""
        for factors in self._sparse_factors:
            for triangle in (factors.L, factors.U):
                triangle.rows, triangle.values = np.tile(triangle.rows, 2), np.tile(triangle.values, 2)
        self.forget_memory()

    def _factorise(self, h: float) -> None:
        """The real matrix and the complex ones for a step `h`, by SuperLU."""
        memory, d = self.run.memory, self.run.derivatives
        memory.formed, memory.formed_level = h, memory.level
        formula = self.run.formulas[memory.level]
        for matrix, c in zip(self.matrices, (formula.real, *formula.pairs.tolist())):
            self.counts.factorisations += 1
            memory.status = matrix.factorise(d.state + (c / h) * d.rates, c / h)
            if memory.status != GOOD:
                return

    # failures ---------------------------------------------------------------------------------------------------------------

    def explain(self, fault: int) -> Cause:
        """See `Stepper`."""
        (t, q, v, _, _), h = self.row(), np.copysign(self.clock.h, self.t_end - self.t)
        if fault in (NO_POSITION, RANK_LOST):
            behind = near_singular(self.system, self.begins, t, q) or singular_ahead(self.system, self.begins, t, q, v, h)
            return behind or self.projector.explain(fault, t + h, self.run.end.q)
        found = WORDS.get(fault) or FAULTS.get(fault) or self.projector.explain(fault, t + h, self.run.end.q)
        if fault in (ERROR_TEST, STALLED) or self.run.memory.failures < MAX_FAILURES:
            return found
        return Cause(found.status, f"{found.reason}, {MAX_FAILURES} times in one step")

    def additional_counts(self) -> dict[str, int]:
        """Work of the derivatives and of the projections."""
        return {"residuals_jacobian": self.jacobian.calls, "factorisations": self.projector.factorisations, "solves": self.projector.solves}

    # continuation -----------------------------------------------------------------------------------------------------------

    @property
    def kept(self) -> dict[str, Any]:
        """See `Stepper`: without constants, scratch, and the interpolant of the last step."""
        run = self.run
        d, found = run.derivatives, {f"run.{name}": getattr(run, name) for name in KEPT}
        found |= {"run.derivatives.state": d.state, "run.derivatives.rates": d.rates, "run.projection.counts": run.projection.counts}
        for k, matrix in enumerate((run.sparse, *run.sparse_pairs)):
            if matrix.factors.order.size:
                found |= {f"run.sparse.{k}.columns": matrix.columns, f"run.sparse.{k}.factors": matrix.factors}
            if matrix.blocks.pattern.nq:
                found |= {f"run.blocks.{k}.{name}": getattr(matrix.blocks, name) for name in KEPT_OF_BLOCKS}
        return found

    def extra(self) -> dict[str, np.ndarray]:
        """See `Stepper`: the derivatives, and the order of the columns of sparse matrices."""
        found = jacobian_contents(self.jacobian)
        for k, matrix in enumerate(self.matrices):
            found |= {f"{k}.{name}": x for name, x in matrix.extra().items()}
        return found

    def prepare(self, saved: Mapping[str, np.ndarray]) -> None:
        """See `Stepper`."""
        rooms = [name for name in leaves(self.kept) if name.endswith("L.rows") and name in saved]
        while any(len(leaves(self.kept)[name]) < len(saved[name]) for name in rooms):
            self._make_room()
        resume_jacobian(self.jacobian, saved)
        for k, matrix in enumerate(self.matrices):
            own = dict(saved) | {name.removeprefix(f"{k}."): x for name, x in saved.items() if name.startswith(f"{k}.")}
            matrix.prepare(own, f"run.pairs.{k - 1}" if k else "run.real")

    # steps ------------------------------------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """See `Stepper`: the time and the unknowns; the stages are kept until the next attempt."""
        return self.t, self.run.y0.copy()

    def step(self, before: Snapshot) -> Step:
        """See `Stepper`; states are projected when they are completed."""
        (t0, y0), t, run, past = before, self.t, self.run, self._past
        past.y0[:], past.memory.level, past.extension.state = y0, run.memory.last_level, run.extension.state
        q, v = run.start.q.copy(), run.start.v.copy()
        return Step(t0, t, lambda: (q.copy(), v.copy()), np.concatenate([q, v]), lambda times: self._within(times, t0), self._completed,
                    STAGES[run.memory.last_level] + 3)

    @cached_property
    def _past(self) -> RadauRun:
        """The run at the start of the last step: its arrays, but for the unknowns."""
        run, y0 = self.run, self.run.y0.copy()
        made: RadauRun = with_fields(run, y0=y0, start=self.equations.views(y0, run.rate), memory=with_fields(run.memory),
                                     extension=with_fields(run.extension, only=1))
        return made

    def _completed(self, t: float, values: Vector) -> FullState:
        """The state on the constraints next to interpolated positions and velocities."""
        q, v = on_constraints(self.system, t, values[:self.system.nq], values[self.system.nq:])
        a, lam, _ = accelerations(self.system, t, q, v)
        return q, v, a, lam

    def _within(self, times: Vector, t0: float) -> Matrix:
        """Interpolated positions and velocities at times within the last step, by rows."""
        columns, code = self.sampled(self._past, times, t0)
        if code != GOOD:
            raise NoInterpolant(*self.explain(code))
        return columns[:, :self.system.nq + self.system.nv]


def _norm(x: Vector) -> np.float64:
    """The root mean square, whose division by zero is no error."""
    return np.float64(np.sqrt(np.mean(x**2)))
