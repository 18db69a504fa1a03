"""solve-dae: Radau IIA methods with 3, 5 and 7 stages and BDF for `F(t, y, yd) = 0`, in plain Python."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csc_matrix

from mbdae.driver.arguments import check_max_step, check_max_steps, is_finite
from mbdae.driver.availability import Availability, from_extra
from mbdae.driver.callbacks import FATAL, SolverCallbacks, SolverFailure
from mbdae.driver.method import Method
from mbdae.driver.run import Run
from mbdae.driver.support import Settings, Support, implicit_support, tightened
from mbdae.jacobians.strategy import Strategy, as_strategy, labelled
from mbdae.problems.base import Problem
from mbdae.results.events import of_unknowns
from mbdae.results.statistics import Statistics
from mbdae.results.status import Status
from mbdae.results.trajectory import Trajectory
from mbdae.stopwatch import Stopwatch
from mbdae.system.assembly import State
from mbdae.typing import Event, TimeProgress, Tolerance, Until, Vector

from . import storage

DENSE_LIMIT = 150  # unknowns up to which dense factorisations are faster
# [s]; the choice of the package is for order one and a few nanoseconds long. Then the first Newton correction is at rounding, the second is
# not smaller, which counts as divergence, and halving the step makes it worse until underflow.
FIRST_STEP = 1e-5
LAST_STEP = 1e-4  # relative to the previous step
RECENT = 1000  # evaluations while the package approaches a point where the equations are not finite; the last ones may all be finite

_STAGES = {"Radau3": 3, "Radau5": 5, "Radau7": 7}
_METHODS = (*_STAGES, "BDF")


def _support(index3: Settings | str) -> Support:
    how = Settings(linear_solver="dense, sparse")
    return implicit_support(gear=how, ggl=how, index2=how, index1=how, index3=index3)


# in index 3 the error test includes the positions only; smaller tolerances limit the errors of the velocities
SUPPORT = {"Radau3": _support(Settings(tighten=1e-1, linear_solver="dense, sparse")),
           "Radau5": _support(Settings(linear_solver="dense, sparse")),
           "Radau7": _support("with seven stages the errors of index-3 multipliers dominate the initial values of the next step, so that "
                              "Newton's method often fails; 'index2' needs a tenth of the steps, and Radau3 supports 'index3'"),
           "BDF": _support(Settings(tighten=1e-2, linear_solver="dense, sparse"))}


def availability() -> Availability:
    """State of the package."""
    return from_extra("solve-dae", "solve_dae", "dae")


def solve_dae_arguments(problem: Problem, rtol: float = 1e-6, atol: Tolerance = 1e-8, jacobian: str | Strategy = "exact",
                        events: Sequence[Event] | None = None, method: str = "Radau3",
                        callbacks: SolverCallbacks | None = None) -> dict[str, Any]:
    """Arguments for `solve_dae`: `solve_dae(**solve_dae_arguments(problem), t_span=(0, 1), y0=y0, yp0=yd0)` with the right settings.

    They contain `fun`, `jac`, tolerances per block (solve-dae has no index of variables, so a large `atol` excludes multipliers from its
    error test), a first step, which must not exceed the time span, and the events. The method is a separate argument of `solve_dae`:
    `method="Radau", stages=5` or `method="BDF"`.

    Parameters
    ----------
    problem : Problem
        Any implicit form but the overdetermined one.
    rtol, atol : float
        Tolerances of positions and velocities; multipliers get those of the formulation.
    jacobian : str or Strategy
        `"exact"` (complex step along column groups), another strategy or its name such as `"grouped:partitioned"` (see
        `mbdae.JacobianStrategy`), or `"difference"`: the package's own quotients, which lose their way in long runs.
    events : sequence of callables, optional
        `event(t, q, v) -> float`, with `terminal` and `direction`, become the package's `event(t, y, yp)`.
    method : {"Radau3", "Radau5", "Radau7", "BDF"}
        Not part of the result, but the tolerances of index 3 depend on it.
    callbacks : SolverCallbacks, optional
        Counter of evaluations.

    Returns
    -------
    dict

    Raises
    ------
    ValueError
        If the method cannot take the formulation.
    """
    _check_choices("solve_dae_arguments", method, jacobian)
    how = SUPPORT[method][problem.formulation]
    if isinstance(how, str):
        raise ValueError(f"solve_dae_arguments: {method} cannot take the form {problem.formulation!r}: {how}")
    callbacks = SolverCallbacks(problem) if callbacks is None else callbacks
    callbacks.use(jacobian)
    rtol, atol = tightened(SUPPORT[method], problem, rtol, atol)
    atol = problem.tolerances(rtol, atol, how.excluded_value)
    options = {"fun": _residual(callbacks), "rtol": rtol, "atol": atol, "first_step": FIRST_STEP}
    if jacobian != "difference":
        options["jac"] = callbacks.jacobian_parts(_matrix(problem))
    elif problem.n > DENSE_LIMIT:
        pattern = csc_matrix(problem.pattern, dtype=float)
        options["jac_sparsity"] = pattern, pattern
    if events is not None:
        options["events"] = [of_unknowns(problem, event) for event in events]
    return options


def _check_choices(owner: str, method: str, jacobian: str | Strategy) -> None:
    if method not in _METHODS:
        raise ValueError(f"{owner}: method must be one of {', '.join(_METHODS)}, got {method!r}")
    as_strategy(jacobian, owner)


def _residual(callbacks: SolverCallbacks) -> Callable[[float, Vector, Vector], Vector]:
    evaluate, n = callbacks.residual(), callbacks.problem.n

    def fun(t: float, y: Vector, yp: Vector) -> Vector:
        out = np.empty(n)  # a new array each time: the difference quotients store one result during the next evaluation
        # the difference quotients pass columns of a matrix, compiled code needs contiguous arrays
        if evaluate(t, np.ascontiguousarray(y), np.ascontiguousarray(yp), out) == FATAL:
            assert callbacks.error is not None
            raise callbacks.error
        return out

    return fun


def _matrix(problem: Problem) -> Callable[[Vector], Any]:
    """`make(values)`: a dense array or a CSC matrix, whichever is faster."""
    n, pattern = problem.n, problem.pattern
    if n > DENSE_LIMIT:
        return lambda values: csc_matrix((values, pattern.indices, pattern.indptr), shape=(n, n))
    store = storage.dense(problem)

    def make(values: Vector) -> Vector:
        J = np.empty((n, n))
        store(values, J)
        return J

    return make


class _Stepper:
    def __init__(self, solver: Any, callbacks: SolverCallbacks) -> None:
        self.solver, self.callbacks = solver, callbacks
        self._dense: Any = None

    def step(self) -> tuple[float, Vector, Vector]:
        solver = self.solver
        # a very short last step fails like a first one; extrapolate the previous step instead
        if solver.t_old is not None and abs(solver.t_bound - solver.t) < LAST_STEP * abs(solver.t - solver.t_old):
            return solver.t_bound, *self.at(solver.t_bound)
        message = self._advance()
        if solver.status == "failed":
            raise SolverFailure(Status.STEP_TOO_SMALL, f"solve-dae: {message}")
        self._dense = None
        return solver.t, solver.y.copy(), solver.yp.copy()

    def at(self, t: float) -> tuple[Vector, Vector]:
        if self._dense is None:
            self._dense = self.solver.dense_output()
        y, yp = self._dense(t)
        return y, yp

    def _advance(self) -> str | None:
        # the increments for small columns would grow tenfold with each Jacobian, without limit
        self.solver.jac_factor_y = self.solver.jac_factor_yp = None
        try:
            message: str | None = self.solver.step()
            return message
        except (ArithmeticError, RuntimeError, ValueError) as error:  # of the factorisation of a singular or huge matrix
            if self.callbacks.error is not None:
                raise
            raise SolverFailure(Status.SOLVER_FAILED, f"solve-dae: {error}") from error


def _with_smallest_step(fun: Callable[[float, Vector, Vector], Vector], run: Run) -> Callable[[float, Vector, Vector], Vector]:
    """`fun` that ends the run at steps below the resolution of the time span; near t = 0 the package would halve them to 1e-322."""
    smallest = np.spacing(abs(run.t_end - run.t))

    def guarded(t: float, y: Vector, yp: Vector) -> Vector:
        if 0.0 < abs(t - run.t) < smallest:
            raise SolverFailure(Status.STEP_TOO_SMALL, "solve-dae: the step size is at rounding")
        return fun(t, y, yp)

    return guarded


@dataclass(frozen=True)
class SolveDae(Method):
    """A method of solve-dae: Radau IIA of order 5, 9, 13 or BDF of variable order, both with variable step.

    Parameters
    ----------
    method : {"Radau3", "Radau5", "Radau7", "BDF"}
        Radau IIA with 3, 5 or 7 stages, or BDF of order 1 to 5 (the package's NDF coefficients).
    jacobian : str or Strategy
        `"exact"` (complex step along column groups), another strategy or its name such as `"grouped:partitioned"` (see
        `mbdae.JacobianStrategy`), or `"difference"`: the difference quotients of the package.
    max_step : float
    first_step : float, optional
        By default 1e-5 s.
    max_steps : int
        Steps after which the run ends with `TOO_MANY_STEPS`.

    Examples
    --------
    >>> import mbdae
    >>> mbdae.SolveDae("Radau3").label
    'solve-dae Radau3'
    """

    method: str = "Radau3"
    jacobian: str | Strategy = "exact"
    max_step: float = np.inf
    first_step: float | None = None
    max_steps: int = 1_000_000

    package = "solve-dae"
    own_differences = True

    def __post_init__(self) -> None:
        _check_choices("SolveDae", self.method, self.jacobian)
        check_max_step("SolveDae", self.max_step)
        if self.first_step is not None and not (is_finite(self.first_step) and self.first_step > 0):
            raise ValueError(f"SolveDae: first_step must be positive and finite, got {self.first_step!r}")
        check_max_steps("SolveDae", self.max_steps)

    @staticmethod
    def availability() -> Availability:
        """State of the package."""
        return availability()

    @property
    def support(self) -> Support:
        """Each form with its `Settings`, or the reason why it is refused."""
        return SUPPORT[self.method]

    @property
    def one_step(self) -> bool:
        """See `mbdae.driver.method`."""
        return self.method != "BDF"

    @property
    def label(self) -> str:
        """Name for tables and legends."""
        return labelled(f"solve-dae {self.method}", self.jacobian)

    def integrate(self, problem: Problem, state: State, t_end: float, *, rtol: float, atol: Tolerance, t_eval: Vector | None = None,
                  every: int = 1, progress: TimeProgress | None = None, until: Until | None = None) -> Trajectory:
        """See `mbdae.driver.method`."""
        callbacks = SolverCallbacks(problem, keeps=True, recent=RECENT)  # stored exceptions are distinguished from those of the package
        start = problem.pack(state)
        problem.compile(state.t, *start)
        run = Run(callbacks, state.t, t_end, start, t_eval=t_eval, every=every, progress=progress, until=until, max_steps=self.max_steps)
        watch, steppers = Stopwatch(), []

        def integrate() -> None:
            steppers.append(_Stepper(self._solver(run, start, rtol, atol), callbacks))
            run.pull(steppers[0])

        with warnings.catch_warnings():  # of overflow and singular matrices; those of user functions remain
            warnings.filterwarnings("ignore", module=r"(numpy|scipy|solve_dae)\b")
            run.carry_out(integrate)
        return run.trajectory(_statistics(run, steppers, watch))

    def _solver(self, run: Run, start: tuple[Vector, Vector], rtol: float, atol: Tolerance) -> Any:
        from solve_dae.integrate import BDFDAE, RadauDAE

        options = solve_dae_arguments(run.problem, rtol, atol, self.jacobian, method=self.method, callbacks=run.callbacks)
        fun = _with_smallest_step(options.pop("fun"), run)
        options |= {"first_step": min(self.first_step or FIRST_STEP, abs(run.t_end - run.t)), "max_step": self.max_step}
        if self.method == "BDF":
            return BDFDAE(fun, run.t, *start, run.t_end, **options)
        return RadauDAE(fun, run.t, *start, run.t_end, stages=_STAGES[self.method], **options)


def _statistics(run: Run, steppers: list[_Stepper], watch: Stopwatch) -> Statistics:
    """The package does not separate rejections by the error test and by Newton's method, and does not count iterations."""
    if not steppers:
        return Statistics(steps=run.steps, seconds=watch.seconds, cpu_seconds=watch.cpu_seconds)
    solver = steppers[0].solver
    return Statistics(steps=run.steps, residuals=solver.nfev, residuals_jacobian=run.callbacks.calls - solver.nfev, jacobians=solver.njev,
                      factorisations=solver.nlu, solves=solver.nlusolve, seconds=watch.seconds,
                      cpu_seconds=watch.cpu_seconds)
