"""BDF of variable order and step for implicit problems, in the mould of DASSL [Brenan, chapter 5]."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.sparse import csc_array

from ..driver.arguments import check_max_steps, check_order, check_rtol, check_step, is_finite, time_span
from ..driver.callbacks import GOOD, RECOVERABLE, GuardedCallbacks, SolverCallbacks
from ..driver.method import Method
from ..driver.run import BasicRun, Run
from ..driver.support import Settings, implicit_support, tightened
from ..jacobians.differences import FoldedDifference, NotFinite
from ..jacobians.strategy import Strategy, as_strategy, labelled
from ..results.statistics import Statistics
from ..results.status import Status
from ..stopwatch import Stopwatch
from .bdf_formulas import EXCLUDED, HIGHEST
from .bdf_stepper import BdfStepper, FixedBdfStepper, Tolerance
from .iteration_matrix import DENSE_LIMIT, IterationMatrix, scaling

LINEAR = ("auto", "dense", "sparse")
ALGEBRAIC = ("exclude", "scale", "test")
FLOOR = 1e-2  # of the unknowns, for increments
INDEX3_NEWTON = 0.1  # in index 3 velocities are difference quotients of positions, and so is what Newton's method leaves in them
MEASURES = {"mu": "v", "z": "q"}  # what corrections of a block are compared with: mu corrects velocities, z positions

_SETTINGS = Settings(mask=True, exclude=True, excluded_atol="atol", scaling="iteration matrix", linear_solver="dense, sparse")
_INDEX3 = Settings(mask=True, exclude=True, excluded_atol="atol", tighten=1e-2, scaling="iteration matrix", linear_solver="dense, sparse")
SUPPORT = implicit_support(ggl=_SETTINGS, gear=_SETTINGS, index2=_SETTINGS, index1=_SETTINGS, index3=_INDEX3)


class _Guarded:
    """The evaluator of a strategy; differences that are not finite are a matrix that is not, for which the step is cut."""

    def __init__(self, evaluator, entries):
        self._evaluate, self.update, self.suspect, self._entries = evaluator.evaluate, evaluator.update, evaluator.suspect, entries

    def evaluate(self, t, y, yd, c, residual):
        try:
            return self._evaluate(t, y, yd, c, residual)
        except NotFinite:
            return np.full(self._entries, np.nan)


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

    def __init__(self, residual, n, jac):
        self._jac = jac
        self._difference = FoldedDifference(residual, np.ones((n, n)), floor=FLOOR, check=False)

    def evaluate(self, t, y, yd, c, residual):
        if self._jac is not None:
            return np.array(self._jac(t, y.copy(), yd.copy(), c), dtype=float).ravel(order="F")
        return self._difference.values(t, y, yd, c, residual)

    def update(self, t, y, yd, c):
        """There is no cheap one."""
        return None

    def suspect(self):
        """Nothing can be missing."""
        return False


@dataclass(frozen=True)
class ResidualSolution:
    """What `Bdf.solve_residual` returns.

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

    t: np.ndarray
    y: np.ndarray
    yd: np.ndarray
    status: Status
    message: str
    statistics: Statistics

    success = property(lambda self: self.status == Status.SUCCESS)


@dataclass(frozen=True)
class Bdf(Method):
    """BDF of orders 1 to 5 with variable step for `F(t, y, yd) = 0`: DASSL's algorithm, with matrices scaled for the index.

    A step of order `k` to the time `t` solves `F(t, y, c y + b) = 0`, where `c y + b` is the derivative of the polynomial through `y` and
    the values before. The multipliers of a mechanism and in index 3 the velocities follow from the rest, and differences amplify their
    errors by powers of `1/h`; `algebraic` says what the error test makes of them. Newton's method has to converge in them too, up to
    these powers: what it leaves there grows from step to step by extrapolation, and ends the run at tight tolerances in index 1.

    Parameters
    ----------
    jacobian : str or Strategy
        `"exact"` (complex step along column groups), or another strategy or its name, such as `"grouped:partitioned"`, see
        `mbdae.JacobianStrategy`.
    linsolver : {"auto", "dense", "sparse"}
        `"auto"`: dense up to 120 unknowns, then sparse.
    max_order : int
    first_step, max_step : float
        Zero: the first step is chosen from the derivatives at the start, and there is no bound.
    max_steps : int
        Steps after which the run ends with `TOO_MANY_STEPS`.
    algebraic : {"exclude", "scale", "test"}
        Multipliers, and velocities in index 3, in the error test: not at all, multiplied by `h^(index - 1)` as in Radau5, or as they are.
        With `"test"` hardly any run but those in index 1 gets on.
    newton : float
        Share of the tolerance that Newton's method may leave. DASSL's is 0.33; a smaller one costs iterations and saves as many by fewer
        steps, since the estimates that choose step and order see less noise, and the errors are smaller.
    order : int, optional
        With `fixed_step`: a fixed order without an error test, for studies of the order. Then `rtol` and `atol` hold for Newton's method
        and for the short run with error control that yields the starting values; errors that are to be seen must be well above them.
    fixed_step : float

    Raises
    ------
    ValueError
        Of a field that makes no sense.
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

    def __post_init__(self):
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
            raise ValueError(f"Bdf: give order and fixed_step or none of them, got order={self.order} and fixed_step={self.fixed_step:g}")

    @property
    def label(self):
        """Name for tables and legends."""
        name = "Bdf" if self.order is None else f"Bdf(order={self.order}, fixed_step={self.fixed_step:g})"
        return labelled(name, self.jacobian)

    def integrate(self, problem, state, t_end, *, rtol, atol, t_eval=None, every=1, progress=None, until=None):
        """See `mbdae.driver.method`."""
        callbacks, start = SolverCallbacks(problem, jacobian=self.jacobian), problem.pack(state)
        problem.compile(state.t, *start)
        run = Run(callbacks, state.t, t_end, start, t_eval=t_eval, every=every, progress=progress, until=until, max_steps=self.max_steps)
        rtol, atol = tightened(self.support, problem, rtol, atol)
        newton = self.newton * (INDEX3_NEWTON if problem.index.max() > 2 else 1.0)
        tolerance = Tolerance(rtol, problem.tolerances(rtol, atol, atol), newton, _powers(problem, self.algebraic), _shared(problem))
        matrix = IterationMatrix(problem.pattern, self._linear(problem.n), *scaling(problem))
        jacobian = _Guarded(callbacks.evaluator, problem.pattern.nnz)
        return run.trajectory(self._carry_out(run, start, jacobian, matrix, tolerance))

    def solve_residual(self, F, t_span, y0, yd0, *, rtol=1e-6, atol=1e-8, jac=None, excluded=None, t_eval=None):
        """Integrate a residual of your own, `F(t, y, yd) = 0`.

        Parameters
        ----------
        F : callable
            `F(t, y, yd) -> (n,)`; where it is not finite the step is cut.
        t_span : (float, float)
            Backward in time if the second is the smaller one.
        y0, yd0 : array_like, shape (n,)
            Consistent: `F(t0, y0, yd0) = 0`.
        rtol : float
        atol : float or array_like of shape (n,)
        jac : callable, optional
            `jac(t, y, yd, c) -> (n, n)`, the matrix `F_y + c F_yd`; by default it is made from forward differences.
        excluded : array_like of bool, shape (n,), optional
            Unknowns that the error test leaves out, such as those of index 2 and more.
        t_eval : array_like, optional
            Times of the output, in the direction of integration; by default the steps.

        Returns
        -------
        ResidualSolution

        Raises
        ------
        ValueError
            Arguments that do not fit together.
        Exception
            Whatever `F` or `jac` raises, unchanged.
        """
        t0, t_end, start, atol, excluded, t_eval = _checked(t_span, y0, yd0, rtol, atol, excluded, t_eval)
        n, callbacks = len(atol), _Function(F)
        run = BasicRun(callbacks, t0, t_end, start, t_eval=t_eval, max_steps=self.max_steps)
        powers = np.where([excluded, np.zeros(n, dtype=bool)], EXCLUDED, 0)
        matrix = IterationMatrix(csc_array(np.ones((n, n))), self._linear(0))
        jacobian, tolerance = FullJacobian(callbacks.residual(), n, jac), Tolerance(rtol, atol, self.newton, powers)
        statistics = self._carry_out(run, start, jacobian, matrix, tolerance)
        t, y, yd = ([row[k] for row in run.rows] for k in range(3))
        return ResidualSolution(np.array(t), np.reshape(y, (-1, n)), np.reshape(yd, (-1, n)), run.status, run.message, statistics)

    def _linear(self, n):
        if self.linsolver != "auto":
            return self.linsolver
        return "dense" if n <= DENSE_LIMIT else "sparse"

    def _carry_out(self, run, start, jacobian, matrix, tolerance):
        """Step to the end; what it has cost."""
        _compile()
        watch = Stopwatch()
        arguments = run.callbacks.residual(), run.t, *start, run.t_end, jacobian, matrix, tolerance
        options = {"max_order": self.max_order, "first_step": self.first_step, "max_step": self.max_step}
        if self.order is None:
            s = BdfStepper(*arguments, **options)
        else:
            s = FixedBdfStepper(*arguments, order=self.order, size=self.fixed_step, **options)
        run.carry_out(lambda: run.pull(s))
        return Statistics(steps=run.steps, rejected_error=s.rejected_error, rejected_newton=s.rejected_newton, residuals=s.residuals,
                          residuals_jacobian=run.callbacks.calls - s.residuals, jacobians=s.jacobians, partitioned_updates=s.updates,
                          factorisations=matrix.factorisations, solves=matrix.solves, newton_iterations=s.iterations,
                          seconds=watch.seconds)


@cache
def _compile():
    """Steps of a trivial problem, so that compilation does not count as run time."""
    def residual(t, y, yd, out):
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
    """A residual of a user's own in the place of a problem."""

    def __init__(self, F):
        super().__init__()
        self._F = F

    def residual(self):
        def residual(t, y, yd, out):
            self.calls += 1
            out[:] = self._F(t, y.copy(), yd.copy())
            return GOOD if np.isfinite(out).all() else RECOVERABLE

        return residual


def _checked(t_span, y0, yd0, rtol, atol, excluded, t_eval):
    """Arguments of `solve_residual` as floats and arrays."""
    t0, t_end = time_span("solve_residual", t_span)
    check_rtol("solve_residual", rtol)
    y0, yd0 = np.array(y0, dtype=float), np.array(yd0, dtype=float)
    if y0.ndim != 1 or y0.shape != yd0.shape:
        raise ValueError(f"solve_residual: y0 and yd0 must be vectors of one length, got shapes {y0.shape} and {yd0.shape}")
    atol, excluded = np.array(atol, dtype=float), np.zeros(len(y0), dtype=bool) if excluded is None else np.array(excluded)
    for name, x, shapes in (("atol", atol, ((), y0.shape)), ("excluded", excluded, (y0.shape,))):
        if x.shape not in shapes:
            raise ValueError(f"solve_residual: {name} must have one entry for each of the {len(y0)} unknowns, got shape {x.shape}")
    if not (np.isfinite(atol).all() and (atol >= 0.0).all()):
        raise ValueError(f"solve_residual: atol must be finite and not negative, got {atol!r}")
    if t_eval is not None:
        t_eval = np.array(t_eval, dtype=float)
        ahead = np.sign(t_end - t0) * np.diff(np.concatenate([[t0], t_eval, [t_end]]))
        if t_eval.ndim != 1 or not (ahead >= 0.0).all():
            raise ValueError("solve_residual: t_eval must lie within t_span, in the direction of integration")
    return t0, t_end, (y0, yd0), np.full(len(y0), atol), excluded.astype(bool), t_eval


def _excluded(problem):
    """Blocks that must not spoil the error test; and `w` of Gear's form, on which the motion does not depend."""
    return [name for name in problem.blocks if name in problem.excluded_blocks or name == "w"]


def _powers(problem, algebraic):
    """Powers of the step that the unknowns are multiplied by in the error test and in Newton's convergence test.

    The slopes of `w` and `z` are multipliers, and jump with every change of step and order: with `"scale"` they are left out, too.
    """
    powers = np.zeros((2, problem.n), dtype=np.int64)
    powers[1] = scaling(problem)[1]
    for name in _excluded(problem):
        scaled = EXCLUDED if name in ("w", "z") else problem.block_index[name] - 1
        powers[0, problem.blocks[name]] = {"exclude": EXCLUDED, "scale": scaled, "test": 0}[algebraic]
    return powers


def _shared(problem):
    """Corrections of excluded blocks are compared with the largest unknown of a block: some multipliers vanish, their noise does not."""
    pairs = [(problem.blocks[name], problem.blocks[MEASURES.get(name, name)]) for name in _excluded(problem)]
    return [(own.start, own.stop, other.start, other.stop) for own, other in pairs]
