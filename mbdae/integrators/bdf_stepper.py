"""An integration by BDF: arrays, matrices that steps ask for, failures, output; the steps are those of `bdf_step`."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..jacobians.differences import NotFinite
from ..problems.base import Problem
from ..problems.null_vectors import FOLLOW, NOTHING
from ..results.rows import Columns
from ..results.status import Cause, Status
from ..results.steps import Step, TimedState
from ..system import evaluate as ev
from ..system.assembly import AssemblyError, accelerations
from ..system.assembly import State as Start
from ..system.codes import BAD_DERIVATIVES, BELOW_ROUNDING, ERROR_TEST, GOOD, NEEDS_MATRIX, NOT_FINITE, STALLED
from ..system.system import System
from ..typing import ArrayLike, Integers, Matrix, Vector
from . import bdf_formulas as bdf
from .bdf_arrays import BdfRun, arrays_for, new_memory
from .bdf_memory import jacobian_contents, resume_jacobian
from .bdf_residual import Called, called
from .bdf_step import EPS, LOOPS, MATRIX, MAX_NEWTON_FAILURES, MAX_RATE, MAX_TRIES, MIN_ETA, SUSPICION
from .control.newton import NewtonRule
from .control.records import State
from .control.stepper import FAULTS, FIXED, Stepper
from .iteration_matrix import IterationMatrix

LEAST_SPACINGS = 100.0  # of floating-point numbers at the time: the least first step, which rounding then changes by a hundredth
MAX_ITERATIONS = 4  # of Newton's method; to cut the step costs less than more iterations
WORDS = {NOT_FINITE: Cause(Status.NOT_FINITE, "the residual is not finite"),
         BAD_DERIVATIVES: Cause(Status.NOT_FINITE, "the iteration matrix is not finite")}


class StepJacobian(Protocol):
    """The Jacobian of a BDF step, `F_y + c F_yd`; its values are in the order of the pattern of the iteration matrix."""

    @property
    def calls(self) -> int:
        """Evaluations of the residual for matrices."""
        ...

    def evaluate(self, t: float, y: Vector, yd: Vector, c: float, residual: Vector) -> Vector:
        """All entries; `residual` is `F(t, y, yd)`."""
        ...

    def update(self, t: float, y: Vector, yd: Vector, c: float) -> Vector | None:
        """The entries with `F_y` of the last evaluation, or `None`."""
        ...

    def suspect(self) -> bool:
        """Called if Newton's method fails with a matrix evaluated for this step: whether another evaluation may be better."""
        ...


def norms_for(rtol: float, atol: ArrayLike, powers: Integers | None = None,
              shared: Sequence[tuple[int, int, int, int]] = (),
              rounded: Sequence[tuple[int, int, int, int, float, float]] = ()) -> bdf.Norms:
    """Norms of the error test and of Newton's convergence test: root mean squares of `|h|^power x / (rtol |y| + atol)`.

    Parameters
    ----------
    rtol : float
    atol : ndarray, shape (n,)
    powers : ndarray of int, shape (2, n), optional
        Of the step size, in the error test and in Newton's convergence test; `EXCLUDED` excludes an unknown. By default all are zero.
    shared : sequence of (int, int, int, int), optional
        `(a, b, c, d)`: in Newton's convergence test the unknowns from `a` to `b` are compared with the largest of those from `c` to `d`.
    rounded : sequence of (int, int, int, int, float, float), optional
        `(a, b, c, d, error, newton)`: tolerances of the unknowns from `a` to `b` are at least `error` times the largest of those from `c`
        to `d`, and in Newton's convergence test `newton` times that.
    """
    atol = np.array(atol, dtype=float)
    powers = np.zeros((2, len(atol)), dtype=np.int64) if powers is None else np.array(powers, dtype=np.int64)
    counts = np.maximum((powers != bdf.EXCLUDED).sum(axis=1), 1).astype(float)
    ranges, sizes = [x[:4] for x in rounded], [x[4:] for x in rounded]
    return bdf.Norms(float(rtol), atol, powers, np.array(shared, dtype=np.int64).reshape(-1, 4), counts,
                     np.array(ranges, dtype=np.int64).reshape(-1, 4), np.array(sizes, dtype=float).reshape(-1, 2))


@dataclass(frozen=True)
class Parts:
    """What an integration is made of.

    Attributes
    ----------
    jacobian : StepJacobian
    matrix : IterationMatrix
    norms : Norms
        See `norms_for`.
    newton : float
        Largest error of Newton's method relative to the tolerance. It is 1/3 in DASSL, and then perturbs the error estimates.
    max_order : int
    first_step, max_step : float
        Zero: a first step from the initial derivatives, and no limit.
    max_steps : int
    max_iterations : int
        Of Newton's method.
    """

    jacobian: StepJacobian
    matrix: IterationMatrix
    norms: bdf.Norms
    newton: float
    max_order: int = bdf.HIGHEST
    first_step: float = 0.0
    max_step: float = 0.0
    max_steps: int = 1_000_000
    max_iterations: int = MAX_ITERATIONS


class Equations:
    """A residual with consistent initial values, as `BdfStepper` sees it.

    Attributes
    ----------
    system : System
    state : State
        At the start, of the kind that is put out.
    y0, yd0 : ndarray, shape (n,)
    called : Called
    model, work
        Its arguments.
    """

    system: System
    state: Start
    y0: Vector
    yd0: Vector
    called: Called
    model: np.ndarray
    work: np.ndarray
    redundant: Integers = np.zeros(0, dtype=np.int64)
    followed: Vector = np.zeros(0)
    drifts: int = 0
    weight: float = 0.0

    @abstractmethod
    def views(self, y: Vector, yd: Vector) -> State:
        """What is put out of these arrays, without a copy."""

    def completed(self, rows: Columns) -> tuple[Columns, Cause | None]:
        """See `Stepper`."""
        return rows, None

    @abstractmethod
    def step(self, t0: float, t: float, s: "BdfStepper") -> Step:
        """The last accepted step."""


class ProblemEquations(Equations):
    """Those of a problem; accelerations and multipliers are evaluated when states are put out.

    Attributes
    ----------
    problem : Problem
    """

    def __init__(self, problem: Problem, state: Start) -> None:
        self.problem, self.system, self.state = problem, problem.system, state
        self.y0, self.yd0 = problem.pack(state)
        self.called = called(problem)
        self.model, self.work = problem.arguments[:2]
        if problem.null_vectors is not None:
            self.redundant, self.followed, self.drifts, self.weight = problem.null_vectors
        self._work = self.system.workspace()

    def views(self, y: Vector, yd: Vector) -> State:
        """See `Equations`."""
        s, b = self.system, self.problem.blocks
        return State(q=y[b["q"]], v=y[b["v"]], a=np.zeros(s.nv), lam=np.zeros(s.nc))

    def completed(self, rows: Columns) -> tuple[Columns, Cause | None]:
        """Accelerations and multipliers from positions and velocities, see `Problem.state`."""
        t, q, v, a, lam = rows
        guess, done = self.system.multiplier_guess(), 0
        while done < len(t):
            if not len(self.redundant):
                done = ev.accelerations_of_rows(done, t, q, v, guess, self.system.model, self._work, a, lam)
                if done == len(t):
                    break
            model = self.model.copy() if len(self.redundant) else self.system.model  # evaluations change it: not to depend on the output
            a[done], lam[done], code, _ = ev.accelerations(float(t[done]), q[done], v[done], guess.copy(), model, self._work)
            if code != GOOD:
                return Columns(*(x[:done] for x in rows)), self._lost(float(t[done]), q[done], v[done])
            done += 1
        return rows, None

    def _lost(self, t: float, q: Vector, v: Vector) -> Cause:
        """Why the accelerations cannot be had; exceptions of user functions are raised."""
        self.system.callbacks.check()
        try:
            accelerations(self.system, t, q, v)
        except (AssemblyError, FloatingPointError) as error:
            if self.system.callbacks.has_raised(error):
                raise
            off = isinstance(error, AssemblyError)
            reason = f"the output at t = {t:.9g} {'cannot be completed' if off else 'has no finite equations'}: {error}"
            return Cause(Status.SOLVER_FAILED if off else Status.NOT_FINITE, reason)
        return Cause(Status.NOT_FINITE, f"the output at t = {t:.9g} has no finite equations")

    def step(self, t0: float, t: float, s: "BdfStepper") -> Step:
        """See `Equations`."""
        problem, y = self.problem, s.y.copy()

        def sample(times: Vector) -> Matrix:
            return np.array([problem.interpolated(at, s.at(at)[0]) for at in times])

        return Step(t0, t, lambda: problem.motion(t, y), problem.interpolated(t, y), sample, problem.completed, s.run.memory.last_order)


class ProblemStepper(Stepper):
    """Steps of the equations of a problem, whose rows are completed when they are put out."""

    equations: Equations

    def completed(self, rows: Columns) -> tuple[Columns, Cause | None]:
        """See `Stepper`."""
        return self.equations.completed(rows)

    def row(self) -> TimedState:
        """The present state, completed as far as it can be."""
        t, *state = super().row()
        rows = Columns(np.array([t]), *(x[None] for x in state))
        self.equations.completed(rows)
        return t, *(x[0] for x in rows[1:])


class BdfStepper(ProblemStepper):
    """See `Stepper`.

    Parameters
    ----------
    equations : Equations
    t_end : float
        Before or after the start. The last step ends there exactly, and nothing is evaluated beyond.
    parts : Parts
    """

    loops = LOOPS
    run: BdfRun

    def __init__(self, equations: Equations, t_end: float, parts: Parts) -> None:
        super().__init__(equations.system, equations.state, t_end)
        self.equations, self.parts, self.updates, self.max_steps = equations, parts, 0, parts.max_steps
        self.model, self.work = equations.model, equations.work
        self.jacobian, self.matrix = parts.jacobian, parts.matrix
        x = arrays_for(len(equations.y0))
        rule = NewtonRule(parts.newton, parts.max_iterations, MIN_ETA, MAX_RATE, forecast=parts.max_iterations)
        start, end, within = (equations.views(*pair) for pair in ((x["phi"][0], x["rate"]), (x["y"], x["yd"]),
                                                                  (x["y_within"], x["yd_within"])))
        self.run = BdfRun(**self.common(rule=FIXED, newton=rule, start=start, end=end), **x, within=within, memory=new_memory(),
                          max_order=parts.max_order, norms=parts.norms, factors=self.matrix.factors, residual=equations.called.residual,
                          parameters=equations.called.parameters, follow=FOLLOW if len(equations.redundant) else NOTHING,
                          redundant=equations.redundant, followed=equations.followed, drifts=equations.drifts,
                          weight=float(equations.weight))
        self.run.memory.suspects = int(getattr(getattr(self.jacobian, "source", None), "may_lack", True))
        self.clock.largest = parts.max_step or np.inf

    @property
    def y(self) -> Vector:
        """The unknowns at the end of the last step, a view."""
        y: Vector = self.run.phi[0]
        return y

    def begin(self) -> None:
        """See `Stepper`."""
        run, memory, (y0, yd0) = self.run, self.run.memory, (self.equations.y0, self.equations.yd0)
        run.phi[0], run.rate[:] = y0, yd0
        h = self.clock.h = self.parts.first_step or self._first_step(yd0)
        memory.last_step = float(np.copysign(h, self.t_end - self.t))
        run.phi[1] = memory.last_step * yd0
        run.table[bdf.LAST, 0] = memory.last_step

    def _first_step(self, yd0: Vector) -> float:
        """A step in which `y` changes by half a tolerance, at most a thousandth of the time span, far above the spacing of the times."""
        least = min(LEAST_SPACINGS * float(np.spacing(max(abs(self.t), abs(self.t_end)))), abs(self.t_end - self.t))
        n, h = self.run.norms, 1e-3 * abs(self.t_end - self.t)
        power, tolerance = n.powers[bdf.ERROR], n.rtol * np.abs(self.y) + n.atol
        with np.errstate(divide="ignore", invalid="ignore"):
            weight = np.where(power == bdf.EXCLUDED, 0.0, np.where(tolerance == 0.0, np.nan, h ** np.maximum(power, 0) / tolerance))
            speed = float(np.sqrt(np.sum((yd0 * weight) ** 2) / n.counts[bdf.ERROR]))
        return max(least, 0.5 / speed if speed > 0.5 / h else h)

    # matrices ---------------------------------------------------------------------------------------------------------------

    def assist(self, fault: int) -> None:
        """Supply the matrix that an attempt has asked for."""
        assert fault == NEEDS_MATRIX, fault
        memory, asked = self.run.memory, self.run.memory.asked
        if asked == SUSPICION and not self.jacobian.suspect():
            memory.tries = MAX_TRIES
            return
        if asked == MATRIX:
            memory.in_full = 0
            values = self.jacobian.update(*self._point) if self.counts.jacobians else None
            if values is not None:
                self.updates += 1
                self._factorise(values)
                return
        memory.in_full = 1
        self.counts.jacobians += 1
        self._factorise(self._evaluated())

    def _evaluated(self) -> Vector:
        """The matrix; NaN if differences are not finite: the step is then cut."""
        try:
            return self.jacobian.evaluate(*self._point, self.run.first)
        except NotFinite:
            return np.full(self.matrix.entries, np.nan)

    @property
    def _point(self) -> tuple[float, Vector, Vector, float]:
        """Time, iterate and leading coefficient of the attempt."""
        memory = self.run.memory
        return memory.end, self.run.y, self.run.yd, memory.c

    def _factorise(self, values: Vector) -> None:
        self.counts.factorisations += 1
        self.run.memory.status = self.matrix.factorise(values, self.run.memory.c)

    # failures ---------------------------------------------------------------------------------------------------------------

    def explain(self, fault: int) -> Cause:
        """See `Stepper`."""
        memory = self.run.memory
        if fault == BELOW_ROUNDING:
            return self._refusal(memory.size)
        found = WORDS.get(fault) or FAULTS[fault]
        if fault in (ERROR_TEST, STALLED) or memory.newton_failures < MAX_NEWTON_FAILURES:
            return found
        return Cause(found.status, f"{found.reason}, {MAX_NEWTON_FAILURES} times in one step")

    def _refusal(self, size: float) -> Cause:
        """Why the tolerances cannot be met."""
        if size < np.inf:
            reason = f"the tolerances are below rounding, they must be larger by a factor of {200.0 * EPS * size:.2g}"
        else:
            reason = "the solution is not finite, or an unknown and its absolute tolerance are both zero"
        return Cause(Status.SOLVER_FAILED, reason)

    def additional_counts(self) -> dict[str, int]:
        """Work of the Jacobian."""
        return {"residuals_jacobian": self.jacobian.calls, "partitioned_updates": self.updates}

    # continuation -----------------------------------------------------------------------------------------------------------

    omitted = ("run.parameters",)  # constants, or the address of a function of this process

    def extra(self) -> dict[str, np.ndarray]:
        """See `Stepper`: the Jacobian, and the order of the columns of a sparse matrix."""
        return self.matrix.extra() | jacobian_contents(self.jacobian) | {"jacobian.used": np.array(self.updates)}

    def prepare(self, saved: Mapping[str, np.ndarray]) -> None:
        """See `Stepper`."""
        self.matrix.prepare(saved, "run.factors")
        resume_jacobian(self.jacobian, saved)
        self.updates = int(saved["jacobian.used"])

    # steps ------------------------------------------------------------------------------------------------------------------

    def snapshot(self) -> float:
        """See `Stepper`: the time, as the differences have the rest."""
        return self.t

    def step(self, before: float) -> Step:
        """See `Stepper`; the interpolant is the polynomial through the last values."""
        return self.equations.step(before, self.t, self)

    def at(self, t: float) -> tuple[Vector, Vector]:
        """`(y, yd)` at a time within the last step, by the polynomial through the last values, of the order of the step."""
        y, yd, run = np.empty_like(self.run.y), np.empty_like(self.run.y), self.run
        bdf.interpolate(t - self.t, run.phi, run.memory.last_order, run.table, y, yd)
        return y, yd
