"""BDF of variable order and step size for implicit problems, by the algorithm of DASSL [Brenan, chapter 5]."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_array

from ..driver.arguments import check_max_steps, check_order, check_rtol, check_step, is_finite, time_span
from ..driver.callbacks import GOOD, RECOVERABLE, GuardedCallbacks, Residual, SolverCallbacks
from ..driver.method import Resumable
from ..driver.record import Record
from ..driver.run import BasicRun, Run
from ..driver.support import Settings, implicit_support, tightened
from ..jacobians.differences import FoldedDifference, NotFinite
from ..jacobians.partitioned import PartitionedJacobian
from ..jacobians.strategy import Strategy, as_strategy, labelled
from ..problems.base import Problem
from ..results.statistics import Statistics
from ..results.status import Status
from ..results.trajectory import Trajectory
from ..stopwatch import Stopwatch
from ..system.assembly import State
from ..typing import ArrayLike, Integers, Matrix, TimeProgress, Until, Vector
from ..typing import Tolerance as Atol
from .bdf_fixed import FixedBdfStepper
from .bdf_formulas import EXCLUDED, HIGHEST
from .bdf_memory import KeptStepper, not_resumable
from .bdf_stepper import BdfStepper, StepJacobian, Tolerance
from .iteration_matrix import DENSE_LIMIT, IterationMatrix, scaling

LINEAR = ("auto", "dense", "sparse")
ALGEBRAIC = ("exclude", "scale", "test")
FLOOR = 1e-2  # lower bound of unknowns in the increments of difference quotients
INDEX3_NEWTON = 0.1  # factor on `newton`: in index 3 velocities are difference quotients of positions, with the errors of these
MEASURES = {"mu": "v", "z": "q"}  # blocks whose size is that of the corrections: mu corrects velocities, z positions

Function = Callable[[float, Vector, Vector], ArrayLike]  # F(t, y, yd)
FullMatrix = Callable[[float, Vector, Vector, float], ArrayLike]  # jac(t, y, yd, c)

_SETTINGS = Settings(mask=True, exclude=True, excluded_atol="atol", scaling="iteration matrix", linear_solver="dense, sparse")
_INDEX3 = Settings(mask=True, exclude=True, excluded_atol="atol", tighten=1e-2, scaling="iteration matrix", linear_solver="dense, sparse")
SUPPORT = implicit_support(ggl=_SETTINGS, gear=_SETTINGS, index2=_SETTINGS, index1=_SETTINGS, index3=_INDEX3)


class _Guarded:
    """The Jacobian of a strategy; NaN if differences are not finite: the step is then cut."""

    def __init__(self, evaluator: PartitionedJacobian, entries: int) -> None:
        self._evaluator, self._entries = evaluator, entries

    def evaluate(self, t: float, y: Vector, yd: Vector, c: float, residual: Vector) -> Vector:
        try:
            return self._evaluator.evaluate(t, y, yd, c, residual)
        except NotFinite:
            return np.full(self._entries, np.nan)

    def update(self, t: float, y: Vector, yd: Vector, c: float) -> Vector | None:
        return self._evaluator.update(t, y, yd, c)

    def suspect(self) -> bool:
        return self._evaluator.suspect()


class FullJacobian:
    """All entries, from a function of the user or from forward differences [Arnold, eq. (16)].

    Parameters
    ----------
    residual : callable
        `residual(t, y, yd, out)`
    n : int
    jac : callable or None
        `jac(t, y, yd, c) -> (n, n)`
    """

    def __init__(self, residual: Residual, n: int, jac: FullMatrix | None) -> None:
        self._jac = jac
        self._difference = FoldedDifference(residual, np.ones((n, n)), floor=FLOOR, check=False)

    def evaluate(self, t: float, y: Vector, yd: Vector, c: float, residual: Vector) -> Vector:
        """See `StepJacobian`."""
        if self._jac is not None:
            return np.array(self._jac(t, y.copy(), yd.copy(), c), dtype=float).ravel(order="F")
        return self._difference.values(t, y, yd, c, residual)

    def update(self, t: float, y: Vector, yd: Vector, c: float) -> None:
        """There is no cheap update."""
        return None

    def suspect(self) -> bool:
        """No entry can be missing."""
        return False


@dataclass(frozen=True)
class ResidualSolution:
    """The result of `Bdf.solve_residual`.

    Attributes
    ----------
    t : ndarray, shape (m,)
    y, yd : ndarray, shape (m, n)
        One row per time.
    success : bool
    status : Status
    message : str
    statistics : Statistics
    """

    t: Vector
    y: Matrix
    yd: Matrix
    status: Status
    message: str
    statistics: Statistics

    @property
    def success(self) -> bool:
        """Whether the run reached its end."""
        return self.status == Status.SUCCESS


@dataclass(frozen=True)
class Bdf(Resumable):
    """BDF of orders 1 to 5 with variable step size for `F(t, y, yd) = 0`: DASSL's algorithm, with matrices scaled for the index.

    A step of order `k` to the time `t` solves `F(t, y, c y + b) = 0`, where `c y + b` is the derivative of the polynomial through `y` and
    the previous values. The multipliers of a mechanism, and in index 3 the velocities, follow from the other unknowns by differences,
    which amplify errors by powers of `1/h`; `algebraic` is their treatment in the error test. Newton's method has to converge in them too,
    up to these powers: otherwise their errors grow by extrapolation, and end the run at tight tolerances in index 1.

    Parameters
    ----------
    jacobian : str or Strategy
        `"exact"` (complex step along column groups), or another strategy or its name, such as `"grouped:partitioned"`, see
        `mbdae.JacobianStrategy`.
    linsolver : {"auto", "dense", "sparse"}
        `"auto"`: dense up to 120 unknowns, then sparse.
    max_order : int
    first_step, max_step : float
        Zero: the first step is chosen from the initial derivatives, and the step size is not limited.
    max_steps : int
        Steps after which the run ends with `TOO_MANY_STEPS`.
    algebraic : {"exclude", "scale", "test"}
        Multipliers, and velocities in index 3: excluded from the error test, multiplied by `h^(index - 1)` as in Radau5, or tested without
        a factor. With `"test"` most runs fail except in index 1.
    newton : float
        Largest error of Newton's method relative to the tolerance. It is 0.33 in DASSL; a smaller one costs iterations and saves as many
        by fewer steps, since the error estimates contain less noise, and the errors are smaller.
    order : int, optional
        With `fixed_step`: a fixed order without an error test, for studies of the order. Then `rtol` and `atol` are those of Newton's
        method and of the short run with error control for the starting values; they must be well below the errors of the formula.
    fixed_step : float

    Raises
    ------
    ValueError
        If a field is not valid.
    """

    jacobian: str | Strategy = "exact"
    linsolver: str = "auto"
    max_order: int = HIGHEST
    first_step: float = 0.0
    max_step: float = 0.0
    max_steps: int = 1_000_000
    algebraic: str = "exclude"
    newton: float = 0.05
    order: int | None = None
    fixed_step: float = 0.0

    support = SUPPORT

    def __post_init__(self) -> None:
        if as_strategy(self.jacobian, "Bdf") is None:
            raise ValueError("Bdf: it has no difference quotients of its own; jacobian can be 'dense', 'grouped' or 'estimated'")
        for name, possible in (("linsolver", LINEAR), ("algebraic", ALGEBRAIC)):
            if getattr(self, name) not in possible:
                raise ValueError(f"Bdf: {name} must be one of {', '.join(possible)}, got {getattr(self, name)!r}")
        check_order("Bdf", self.max_order, HIGHEST)
        if self.order is not None:
            check_order("Bdf", self.order, HIGHEST, "order")
        for name in ("first_step", "max_step", "fixed_step"):
            check_step("Bdf", name, getattr(self, name))
        if not (is_finite(self.newton) and 0.0 < self.newton < 1.0):
            raise ValueError(f"Bdf: newton must lie between 0 and 1, got {self.newton!r}")
        check_max_steps("Bdf", self.max_steps)
        if (self.order is None) != (self.fixed_step == 0.0):
            raise ValueError(f"Bdf: give both order and fixed_step, or neither, got order={self.order} and fixed_step={self.fixed_step:g}")

    @property
    def label(self) -> str:
        """Name for tables and legends."""
        name = "Bdf" if self.order is None else f"Bdf(order={self.order}, fixed_step={self.fixed_step:g})"
        return labelled(name, self.jacobian)

    @property
    def not_resumable(self) -> str:
        """See `Resumable`."""
        if self.order is not None:
            return "has a fixed order, and starting values that are not kept"
        return not_resumable(self.jacobian)

    def integrate(self, problem: Problem, state: State, t_end: float, *, rtol: float, atol: Atol, t_eval: Vector | None = None,
                  every: int = 1, progress: TimeProgress | None = None, until: Until | None = None,
                  record: Record | None = None) -> Trajectory:
        """See `mbdae.driver.method`."""
        callbacks, start = SolverCallbacks(problem, jacobian=self.jacobian), problem.pack(state)
        problem.compile(state.t, *start)
        run = Run(callbacks, state.t, t_end, start, t_eval=t_eval, every=every, progress=progress, until=until, max_steps=self.max_steps,
                  record=record)
        rtol, atol = tightened(self.support, problem, rtol, atol)
        excluded = None if np.ndim(atol) else float(atol)  # an array is for all unknowns
        newton = self.newton * (INDEX3_NEWTON if problem.index.max() > 2 else 1.0)
        tolerance = Tolerance(rtol, problem.tolerances(rtol, atol, excluded), newton, _powers(problem, self.algebraic), _shared(problem))
        matrix = IterationMatrix(problem.pattern, self._linear(problem.n), *scaling(problem))
        jacobian = _Guarded(callbacks.evaluator, problem.pattern.nnz)
        return run.trajectory(self._carry_out(run, start, jacobian, matrix, tolerance))

    def solve_residual(self, F: Function, t_span: ArrayLike, y0: ArrayLike, yd0: ArrayLike, *, rtol: float = 1e-6, atol: ArrayLike = 1e-8,
                       jac: FullMatrix | None = None, excluded: ArrayLike | None = None,
                       t_eval: ArrayLike | None = None) -> ResidualSolution:
        """Integrate user equations `F(t, y, yd) = 0`.

        Parameters
        ----------
        F : callable
            `F(t, y, yd) -> (n,)`; if it is not finite, the step is cut.
        t_span : (float, float)
            Backward in time if the second is the smaller one.
        y0, yd0 : array_like, shape (n,)
            Consistent: `F(t0, y0, yd0) = 0`.
        rtol : float
        atol : float or array_like of shape (n,)
        jac : callable, optional
            `jac(t, y, yd, c) -> (n, n)`, the matrix `F_y + c F_yd`; by default from forward differences.
        excluded : array_like of bool, shape (n,), optional
            Unknowns that are excluded from the error test, such as those of index 2 and 3.
        t_eval : array_like, optional
            Times of the output, in the direction of integration; by default the steps.

        Returns
        -------
        ResidualSolution

        Raises
        ------
        ValueError
            Arguments that are not valid, or not consistent.
        Exception
            Exceptions of `F` and `jac`, unchanged.
        """
        t0, t_end = time_span("solve_residual", t_span)
        check_rtol("solve_residual", rtol)
        start, callbacks = _initial_values(y0, yd0), _Function(F)
        n = len(start[0])
        absolute, mask = _per_unknown(n, atol, excluded)
        run = BasicRun(callbacks, t0, t_end, start, t_eval=_outputs(t_eval, t0, t_end), max_steps=self.max_steps)
        powers = np.where([mask, np.zeros(n, dtype=bool)], EXCLUDED, 0)
        matrix = IterationMatrix(csc_array(np.ones((n, n))), self._linear(0))
        jacobian, tolerance = FullJacobian(callbacks.residual(), n, jac), Tolerance(rtol, absolute, self.newton, powers)
        statistics = self._carry_out(run, start, jacobian, matrix, tolerance)
        t, y, yd = np.array([row.t for row in run.rows]), [row.y for row in run.rows], [row.yd for row in run.rows]
        return ResidualSolution(t, np.reshape(y, (-1, n)), np.reshape(yd, (-1, n)), run.status, run.message, statistics)

    def _linear(self, n: int) -> str:
        """The linear solver for `n` unknowns."""
        if self.linsolver != "auto":
            return self.linsolver
        return "dense" if n <= DENSE_LIMIT else "sparse"

    def _carry_out(self, run: BasicRun, start: tuple[Vector, Vector], jacobian: StepJacobian, matrix: IterationMatrix,
                   tolerance: Tolerance) -> Statistics:
        """Step to the end; the work counters."""
        _compile()
        s = self._stepper(run, start, jacobian, matrix, tolerance)
        record = run.record if isinstance(run, Run) and not self.not_resumable else None
        kept = KeptStepper(s, run, record) if isinstance(run, Run) and record is not None else None
        watch = Stopwatch()
        run.carry_out(lambda: run.pull(s if kept is None else kept))
        if kept is not None:
            kept.end()
        return Statistics(steps=run.steps, rejected_error=s.rejected_error, rejected_newton=s.rejected_newton, residuals=s.residuals,
                          residuals_jacobian=run.callbacks.calls - s.residuals, jacobians=s.jacobians, partitioned_updates=s.updates,
                          factorisations=matrix.factorisations, solves=matrix.solves, newton_iterations=s.iterations,
                          seconds=watch.seconds + (0.0 if record is None else record.seconds))


    def _stepper(self, run: BasicRun, start: tuple[Vector, Vector], jacobian: StepJacobian, matrix: IterationMatrix,
                 tolerance: Tolerance) -> BdfStepper:
        residual, (y0, yd0) = run.callbacks.residual(), start
        if self.order is None:
            return BdfStepper(residual, run.t, y0, yd0, run.t_end, jacobian, matrix, tolerance, max_order=self.max_order,
                              first_step=self.first_step, max_step=self.max_step)
        return FixedBdfStepper(residual, run.t, y0, yd0, run.t_end, jacobian, matrix, tolerance, order=self.order, size=self.fixed_step,
                               max_order=self.max_order, first_step=self.first_step, max_step=self.max_step)


@cache
def _compile() -> None:
    """Steps of a trivial problem, so that compilation does not count as run time."""
    def residual(t: float, y: Vector, yd: Vector, out: Vector) -> int:
        np.add(y, yd, out=out)
        return GOOD

    jacobian, tolerance = FullJacobian(residual, 2, lambda t, y, yd, c: (1.0 + c) * np.eye(2)), Tolerance(1e-4, np.full(2, 1e-4), 0.05)
    for linsolver in ("dense", "sparse"):
        matrix = IterationMatrix(csc_array(np.ones((2, 2))), linsolver)
        s = FixedBdfStepper(residual, 0.0, np.ones(2), -np.ones(2), 0.5, jacobian, matrix, tolerance, order=2, size=0.2)
        while s.t < s.t_end:
            s.step()
        s.at(s.t)


class _Function(GuardedCallbacks):
    """The residual of a user."""

    def __init__(self, F: Function) -> None:
        super().__init__()
        self._F = F

    def residual(self) -> Residual:
        def residual(t: float, y: Vector, yd: Vector, out: Vector) -> int:
            self.calls += 1
            out[:] = self._F(t, y.copy(), yd.copy())
            return GOOD if np.isfinite(out).all() else RECOVERABLE

        return residual


def _initial_values(y0: ArrayLike, yd0: ArrayLike) -> tuple[Vector, Vector]:
    """The initial values of `solve_residual` as vectors."""
    y, yd = np.array(y0, dtype=float), np.array(yd0, dtype=float)
    if y.ndim != 1 or y.shape != yd.shape:
        raise ValueError(f"solve_residual: y0 and yd0 must be vectors of one length, got shapes {y.shape} and {yd.shape}")
    return y, yd


def _per_unknown(n: int, atol: ArrayLike, excluded: ArrayLike | None) -> tuple[Vector, npt.NDArray[np.bool_]]:
    """Absolute tolerance of each unknown, and whether it is excluded from the error test."""
    absolute, mask = np.array(atol, dtype=float), np.zeros(n, dtype=bool) if excluded is None else np.array(excluded)
    for name, shape, possible in (("atol", absolute.shape, ((), (n,))), ("excluded", mask.shape, ((n,),))):
        if shape not in possible:
            raise ValueError(f"solve_residual: {name} must have one entry for each of the {n} unknowns, got shape {shape}")
    if not (np.isfinite(absolute).all() and (absolute >= 0.0).all()):
        raise ValueError(f"solve_residual: atol must be finite and not negative, got {absolute!r}")
    return np.full(n, absolute), mask.astype(bool)


def _outputs(t_eval: ArrayLike | None, t0: float, t_end: float) -> Vector | None:
    """Validated times of the output of `solve_residual`."""
    if t_eval is None:
        return None
    times = np.array(t_eval, dtype=float)
    ahead = np.sign(t_end - t0) * np.diff(np.concatenate([[t0], times, [t_end]]))
    if times.ndim != 1 or not (ahead >= 0.0).all():
        raise ValueError("solve_residual: t_eval must lie within t_span, in the direction of integration")
    return times


def _excluded(problem: Problem) -> list[str]:
    """Blocks that are excluded from the error test, and `w` of Gear's form, on which the motion does not depend."""
    return [name for name in problem.blocks if name in problem.excluded_blocks or name == "w"]


def _powers(problem: Problem, algebraic: str) -> Integers:
    """Powers of the step size on the unknowns in the error test and in Newton's convergence test, shape (2, n).

    The derivatives of `w` and `z` are multipliers, and jump with every change of step size and order: `"scale"` excludes them, too.
    """
    powers = np.zeros((2, problem.n), dtype=np.int64)
    powers[1] = scaling(problem)[1]
    for name in _excluded(problem):
        scaled = EXCLUDED if name in ("w", "z") else problem.block_index[name] - 1
        powers[0, problem.blocks[name]] = {"exclude": EXCLUDED, "scale": scaled, "test": 0}[algebraic]
    return powers


def _shared(problem: Problem) -> Sequence[tuple[int, int, int, int]]:
    """Corrections of excluded blocks are compared with the largest unknown of a block, as some multipliers are zero but for rounding."""
    pairs = [(problem.blocks[name], problem.blocks[MEASURES.get(name, name)]) for name in _excluded(problem)]
    return [(own.start, own.stop, other.start, other.stop) for own, other in pairs]
