"""Assimulo: its problem classes and solvers for your own scripts, and a method object for `mbdae.solve`.

`implicit_problem`, `explicit_problem`, `overdetermined_problem` turn a problem into one of Assimulo, and `configure` gives a solver object
the settings of the formulation: `configure(IDA(implicit_problem(problem))).simulate(1.0)`.
"""

import contextlib
import sys
import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from scipy.interpolate import CubicHermiteSpline

from mbdae.driver.arguments import check_choice, check_max_steps
from mbdae.driver.availability import Availability, from_extra, postpone
from mbdae.driver.callbacks import SolverCallbacks, SolverFailure
from mbdae.driver.method import Method
from mbdae.driver.run import At, Run
from mbdae.driver.support import Support
from mbdae.jacobians.strategy import Strategy, labelled
from mbdae.problems import GGL, Overdetermined
from mbdae.problems.base import Problem
from mbdae.results.statistics import Statistics
from mbdae.results.status import Status
from mbdae.results.trajectory import Trajectory
from mbdae.stopwatch import Stopwatch
from mbdae.system.assembly import State
from mbdae.typing import TimeProgress, Tolerance, Until, Vector

from .assimulo_invariants import WithInvariants
from .assimulo_problems import explicit_problem, implicit_problem, overdetermined_problem
from .assimulo_runge_kutta import repeating
from .assimulo_settings import configure
from .assimulo_support import SOLVERS, check_options, facts_of, is_old
from .fortran.assimulo_run import DIRECT_ASSIMULO, RUNS, SMALLEST_ATOL
from .fortran.library import BACKENDS, called_directly
from .fortran.output import Output
from .terminal import FortranOutput, WithoutWarnings, alone

__all__ = ["SOLVERS", "Assimulo", "availability", "configure", "explicit_problem", "implicit_problem", "overdetermined_problem"]


def availability() -> Availability:
    """State of the package; one of its modules imports pylab, half a second of plots that only some of its functions draw."""
    if find_spec("assimulo") is not None:
        postpone("pylab")
    return from_extra("Assimulo", "assimulo.solvers", "assimulo", distributions=("assimulo-testing", "Assimulo"))


@dataclass(frozen=True)
class Assimulo(Method):
    """A solver of Assimulo.

    The time of the solver always starts at zero and increases: several solvers are wrong backward in time.

    Parameters
    ----------
    solver : {"IDA", "CVode", "Radau5DAE", "Radau5ODE", "RodasODE", "ODASSL", "GLIMDA", "DASP3ODE", "LSODAR", "Dopri5", "RungeKutta34"}
    jacobian : str or Strategy
        `"exact"` (complex step along column groups), another strategy or its name such as `"grouped:partitioned"` (see
        `mbdae.JacobianStrategy`), or `"difference"`: the difference quotients of the solver, which Radau5DAE, ODASSL and GLIMDA always use.
    max_order : int, optional
    first_step, max_step : float
        Zero: the first step of the formulation or solver, and no limit of the step size.
    max_steps : int
        Steps after which the run ends with `TOO_MANY_STEPS`.
    backend : {"auto", "library", "wrapper"}
        Of RodasODE, Radau5DAE, Dopri5, ODASSL, LSODAR and GLIMDA. `"library"`: the routine in the library of the package is called
        directly, with compiled callbacks and no Python in its loop; `"wrapper"`: through the package; `"auto"`: the library where its
        version was tested, otherwise the wrapper. The other solvers go through the package.

    Notes
    -----
    ODASSL and GLIMDA have no dense output: between two steps the cubic Hermite polynomial of `y` and `yd` is used. ODASSL steps beyond the
    end of the time span and interpolates. GLIMDA assumes a constant mass matrix; in the form `"ggl"` the equations are multiplied by the
    inverse of one that is not, in the others its step sizes may tend to zero. RungeKutta34 of Assimulo accepts steps of any error; here it
    repeats them, see `mbdae.adapters.assimulo_runge_kutta`.

    Examples
    --------
    >>> import mbdae
    >>> mbdae.Assimulo("Radau5DAE").label
    'Assimulo Radau5DAE'
    """

    solver: str = "IDA"
    jacobian: str | Strategy = "exact"
    max_order: int | None = None
    first_step: float = 0.0
    max_step: float = 0.0
    max_steps: int = 1_000_000
    backend: str = "auto"

    package = "Assimulo"
    own_differences = True

    def __post_init__(self) -> None:
        check_options("Assimulo", self.solver, self.jacobian, self.max_order, self.first_step, self.max_step)
        check_max_steps("Assimulo", self.max_steps)
        check_choice("Assimulo", "backend", self.backend, BACKENDS)
        if self.backend == "library" and self.solver not in DIRECT_ASSIMULO:
            raise ValueError(f"Assimulo: {self.solver} goes through the package, so backend='library' is not possible")

    @staticmethod
    def availability() -> Availability:
        """State of the package."""
        return availability()

    @property
    def support(self) -> Support:
        """Each form with its `Settings`, or the reason why it is refused."""
        return facts_of(self.solver).support

    @property
    def formulations(self) -> tuple[str, ...]:
        """Names of the forms that the solver takes, the best first."""
        return facts_of(self.solver).formulations

    @property
    def one_step(self) -> bool:
        """See `mbdae.driver.method`."""
        return self.solver in ("Radau5DAE", "Radau5ODE", "RodasODE", "Dopri5", "RungeKutta34")

    @property
    def label(self) -> str:
        """Name for tables and legends."""
        return labelled(f"Assimulo {self.solver}", self.jacobian if facts_of(self.solver).jacobian == "exact" else "exact")

    def integrate(self, problem: Problem, state: State, t_end: float, *, rtol: float, atol: Tolerance, t_eval: Vector | None = None,
                  every: int = 1, progress: TimeProgress | None = None, until: Until | None = None) -> Trajectory:
        """See `mbdae.driver.method`."""
        problem = _suited(problem, self.solver)
        callbacks = SolverCallbacks(problem, keeps=True, t0=state.t, direction=1 if t_end > state.t else -1)
        start = problem.pack(state)
        problem.compile(state.t, *start)
        run = Run(callbacks, state.t, t_end, start, t_eval=t_eval, every=every, progress=progress, until=until, max_steps=self.max_steps)
        solver = self._solver(problem, state, callbacks, rtol, atol)
        if self._goes_directly(problem, solver.atol):
            direct, output = RUNS[self.solver], Output(progress is not None or until is not None, every)
            return run.trajectory(self._carry_out_directly(direct(run, solver, start[0], output), run))
        solver.problem.listener = _Listener(run, start, facts_of(self.solver).interpolates)
        watch = Stopwatch()
        self._carry_out(solver, solver.problem.listener, run)
        # counts of Assimulo exist only if the solver has returned; access by item would give zero for what it does not count
        counts = {key: int(n) for key, n in solver.statistics.statistics.items() if n >= 0}
        if self.solver == "ODASSL" and "nfcns" in counts:
            counts["nfcns"] += 1  # one call determines the number of equations
        return run.trajectory(self._statistics(counts, len(solver.y), run, watch))

    def _goes_directly(self, problem: Problem, atol: Vector) -> bool:
        """Whether the routine in the library of the package is called."""
        if self.solver not in DIRECT_ASSIMULO or not called_directly("Assimulo", self.backend, problem, *DIRECT_ASSIMULO[self.solver]):
            return False
        if atol.min() >= SMALLEST_ATOL:
            return True
        if self.backend == "library":
            raise ValueError(f"Assimulo: backend='library' needs absolute tolerances of at least {SMALLEST_ATOL:g}, got {atol.min():g}; "
                             "a code whose step size is no number would not return")
        return False

    def _carry_out_directly(self, direct: Any, run: Run) -> Statistics:
        """Run the routine in the library; its statistics."""
        output = self._output()

        def integrate() -> None:
            with output, self._alone():
                direct.integrate()
            direct.check(lambda error: _failure(self.solver, error, output.text, run.callbacks))

        watch = Stopwatch()
        run.carry_out(integrate)
        return self._statistics(direct.counts(), direct.n, run, watch)

    def _solver(self, problem: Problem, state: State, callbacks: SolverCallbacks, rtol: float, atol: Tolerance) -> Any:
        import assimulo.solvers

        make = overdetermined_problem if problem.m != problem.n else implicit_problem if problem.implicit else explicit_problem
        native = make(problem, state.t, state, callbacks=callbacks)
        kind = repeating() if self.solver == "RungeKutta34" else getattr(assimulo.solvers, self.solver)
        solver = configure(kind(native), None, rtol, atol, self.jacobian, self.max_order,
                           self.first_step, self.max_step)
        solver.report_continuously = True
        return solver

    def _carry_out(self, solver: Any, listener: "_Listener", run: Run) -> None:
        def integrate() -> None:
            error = self._simulate(solver, listener, run)
            if error is not None:
                raise error  # outside of any except block, which would set the context of a user's exception

        with warnings.catch_warnings():
            if is_old():  # CVode imports an old name from SciPy; if the warning is an error, it continues without the Jacobian
                warnings.filterwarnings("ignore", message=r"Please (use|import) `csc_matrix`")
            run.carry_out(integrate)

    def _simulate(self, solver: Any, listener: "_Listener", run: Run) -> BaseException | None:
        """Run the solver; returns the exception that ended the run, if any."""
        native, callbacks, output, failure = solver.problem, run.callbacks, self._output(), None
        native.suppress_errors = getattr(output, "suppress_errors", native.suppress_errors)
        with output, self._alone():
            try:
                solver.simulate(abs(callbacks.clock(run.t_end)))
            except Exception as error:
                failure = error
        if failure is None:
            return None
        kept, callbacks.error = callbacks.error, None  # of a callback, which is the cause of that of the solver
        return listener.explain(kept or _failure(self.solver, failure, getattr(output, "text", ""), callbacks))

    def _alone(self) -> Any:
        """A context that refuses a run within a run of the same code, where the first would be spoilt."""
        return alone(f"Assimulo {self.solver}") if facts_of(self.solver).alone else contextlib.nullcontext()

    def _output(self) -> Any:
        """A context that suppresses the output of the solver."""
        if facts_of(self.solver).fortran:
            return FortranOutput("assimulo.lib.radau5")  # any module: they share one run-time library
        return contextlib.nullcontext() if sys.stdout is None else contextlib.redirect_stdout(WithoutWarnings(sys.stdout))

    def _statistics(self, counts: dict[str, int], n: int, run: Run, watch: Stopwatch) -> Statistics:
        """From the counts of Assimulo for `n` unknowns."""
        facts = facts_of(self.solver)
        exact, none = facts.jacobian == "exact" and self.jacobian != "difference", facts.jacobian == "none"
        residuals, for_jacobians = self._evaluations(run.callbacks.calls, counts, exact or none, n)
        jacobians = run.callbacks.jacobians if exact else 0 if none else counts.get("njacs")
        return Statistics(steps=run.steps, rejected_error=counts.get("nerrfails"), rejected_newton=counts.get("nnfails"),
                          residuals=residuals, residuals_jacobian=for_jacobians, jacobians=jacobians, factorisations=counts.get("nlus"),
                          newton_iterations=counts.get("nniters"), seconds=watch.seconds, cpu_seconds=watch.cpu_seconds)

    def _evaluations(self, calls: int, counts: dict[str, int], no_differences: bool, n: int) -> tuple[int | None, int | None]:
        """Evaluations except those for Jacobians, and those; `calls` is their sum."""
        if no_differences and self.solver != "RodasODE":  # it computes the derivative by time itself
            return calls, 0
        if "nfcns" not in counts:
            return None, None
        if facts_of(self.solver).counts_all:
            return calls - counts["njacs"] * n, counts["njacs"] * n
        return counts["nfcns"], calls - counts["nfcns"]


def _suited(problem: Problem, solver: str) -> Problem:
    """The problem in the variant that the solver supports."""
    if solver == "ODASSL" and isinstance(problem, Overdetermined):
        return WithInvariants(problem)
    # Assimulo declares the matrix of yd as constant to GLIMDA: multiply by the inverse of a mass matrix that is not
    if solver == "GLIMDA" and problem.formulation == "ggl" and not problem.system.constant_mass:
        return GGL(problem.system, form="explicit")
    return problem


class _Listener:
    """Passes the steps of the solver to the run, with the time of the problem."""

    def __init__(self, run: Run, start: tuple[Vector, Vector], interpolates: bool) -> None:
        self.run, self.callbacks, self.interpolates = run, run.callbacks, interpolates
        self.s, self.y = 0.0, start[0]
        self.yd: Vector | None = start[1]
        self.span = abs(run.callbacks.clock(run.t_end))
        self.bad = 0  # number of values that were not finite until the last step of nonzero size

    def __call__(self, s: float, y: Vector, yd: Vector | None, solver: Any) -> None:
        c, yd = self.callbacks, self.callbacks.rate(yd)
        before = self.s, self.y, self.yd
        self.s, self.y, self.yd = s, y, yd
        if s - before[0] > 4e-16 * s:
            self.bad = c.bad
        t = self.run.t_end if s >= self.span else c.time(s)  # at the end in spite of rounding
        at = self._interpolant(solver, before[0]) if self.interpolates else self._hermite(*before)
        self.run.accept(t, y, yd, at)

    def explain(self, error: BaseException) -> BaseException:
        """Replace failures by small steps that are caused by values that are not finite."""
        if not isinstance(error, SolverFailure) or error.status in (Status.NOT_FINITE, Status.TOO_MANY_STEPS):
            return error
        if self.callbacks.bad > self.bad:
            return SolverFailure(Status.NOT_FINITE, f"the equations are not finite ({error.reason})")
        return error

    def _interpolant(self, solver: Any, before: float) -> At:
        def at(t: float) -> tuple[Vector, Vector | None]:
            s = self._within(t, before)
            return solver.interpolate(s), None if self.yd is None else self.callbacks.rate(solver.interpolate(s, 1))

        return at

    def _hermite(self, before: float, y: Vector, yd: Vector | None) -> At:
        def at(t: float) -> tuple[Vector, Vector | None]:
            rates = self.callbacks.rate(yd), self.callbacks.rate(self.yd)
            spline = CubicHermiteSpline([before, self.s], [y, self.y], rates)
            s = self._within(t, before)
            return spline(s), self.callbacks.rate(spline(s, 1))

        return at

    def _within(self, t: float, before: float) -> float:
        return min(max(self.callbacks.clock(t), before), self.s)  # solvers refuse times outside of the step, even by rounding


_NEWTON = "convergence test", "corrector", "consecutive failures", "idid -7", "idid -9", "lsodar failed with flag -5"
_SMALL = "step size", "stepsize", "error test", "idid -6", "lsodar failed with flag -4"


def _failure(solver: str, error: Exception, printed: str, callbacks: SolverCallbacks) -> SolverFailure:
    """The exception and the output of the solver as a `SolverFailure`."""
    text = str(error).strip("'")
    if isinstance(error, KeyError):  # of GLIMDA, with a flag unknown to Assimulo
        text = f"failed with flag {text}"
    shifted = ", whose time starts at zero" if callbacks.t0 or callbacks.direction < 0 else ""
    text = f"Assimulo {solver}{shifted}: {text}" + (f" ({printed})" if printed else "")
    low = text.lower()
    if any(x in low for x in _NEWTON):
        return SolverFailure(Status.NEWTON_FAILED, text)
    return SolverFailure(Status.STEP_TOO_SMALL if any(x in low for x in _SMALL) else Status.SOLVER_FAILED, text)
