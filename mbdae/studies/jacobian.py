"""Comparison of strategies for Jacobians on one problem and solver: evaluations, updates, computing time, errors [Arnold, section 4]."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np

from ..assemble import assemble
from ..driver.method import Method
from ..jacobians.grouping import Grouping
from ..jacobians.partitioned import PartitionedJacobian
from ..jacobians.signatures import Differentiable
from ..jacobians.sources import Grouped
from ..jacobians.strategy import JacobianStrategy, Strategy, as_strategy, takes_strategies
from ..library.base import Entry, Parameters
from ..problems.base import Problem
from ..results.solution import Solution
from ..results.statistics import Statistics
from ..solve import solve
from ..system.assembly import AssemblyError, State
from ..system.system import System
from ..typing import ArrayLike, Progress, TimeProgress, Vector
from .kinematics import ReferenceSolution

POINTS = 401  # output times of the first run of each strategy
LATE_SHARE = 0.75  # of the time span, after which an error is late
TIME_TOL = 1e-12
RTOL, ATOL = 1e-4, 1e-6  # of [Arnold, section 4.2.1]


@dataclass(frozen=True)
class JacobianRow:
    """One strategy. Counters are `None` if the solver does not report them; a strategy that fails has no time and no errors.

    Attributes
    ----------
    strategy : str
    cpu : float
        Processor time of a run, the median of the repeats [s].
    percent : float
        Relative to the first row.
    evaluations : int
        All evaluations of the residual (#fc in the tables of [Arnold]).
    evaluations_corrector : int
        Evaluations without those for Jacobians (#fcw).
    jacobians : int
        Evaluations of `F_y` (#Je).
    updates : int
        Updates without evaluation of `F_y`.
    growths : int
        Extensions of an estimated pattern.
    mixed : int
        Mixed second derivatives of "extended".
    steps : int
    error_end, error_late : float
        In multiples of the tolerance, at the end and maximum over the last quarter of the time span; see `EndValues` and `Motion`.
    status, message : str
    """

    strategy: str
    cpu: float | None = None
    percent: float | None = None
    evaluations: int | None = None
    evaluations_corrector: int | None = None
    jacobians: int | None = None
    updates: int | None = None
    growths: int | None = None
    mixed: int | None = None
    steps: int | None = None
    error_end: float | None = None
    error_late: float | None = None
    status: str = "SUCCESS"
    message: str = ""

    @property
    def success(self) -> bool:
        """Whether the run reached its end."""
        return self.status == "SUCCESS"


@dataclass(frozen=True)
class JacobianFacts:
    """Structure of a Jacobian.

    Attributes
    ----------
    system, formulation : str
    form : str or None
        "residual" or "explicit", of GGL.
    n, nnz : int
        Unknowns, and entries of the structural pattern.
    known : int
        Entries of `F_y` that need no differences.
    groups : int
        Number of column groups for difference quotients.
    lower_bound : int or None
        Lower bound on the number of groups.
    dense, grouped : int
        Evaluations of the residual for one Jacobian, including that at the unperturbed state.
    """

    system: str
    formulation: str
    form: str | None
    n: int
    nnz: int
    known: int
    groups: int
    lower_bound: int | None
    dense: int
    grouped: int


@dataclass(frozen=True)
class JacobianStudy:
    """Result of `jacobian_study`.

    Attributes
    ----------
    facts : JacobianFacts
    rows : list of JacobianRow
    logs : dict of str to tuple of (float, str)
        By strategy, time and kind ("jacobian", "growth", "update") of the operations. A growth is an evaluation of all columns.
    motion : Solution or None
        Of the first successful strategy, at equidistant times.
    """

    facts: JacobianFacts
    rows: list[JacobianRow]
    logs: dict[str, tuple[tuple[float, str], ...]]
    motion: Solution | None


def strategies_for(system: System, method: Method | None = None) -> tuple[str, ...]:
    """The strategies compared by default: "extended" for systems with excitations, "difference" for methods with own quotients."""
    own = ("difference",) if method is None or method.own_differences else ()
    extended = () if system.excitation is None else ("dense:extended", "estimated:extended")
    return ("dense", "estimated", "dense:partitioned", "estimated:partitioned", *extended, "grouped", "grouped:partitioned", "exact",
            *own)


def jacobian_facts(problem: Problem) -> JacobianFacts:
    """The `JacobianFacts` of a problem."""
    dense, grouped = grouping_of(problem, "dense"), grouping_of(problem, "grouped")
    return JacobianFacts(problem.system.name, problem.formulation, getattr(problem, "form", None), problem.n, int(problem.pattern.nnz),
                         int(problem.known.mask.sum()), int(grouped.count), getattr(grouped, "lower_bound", None), int(dense.count) + 1,
                         int(grouped.count) + 1)


def grouping_of(problem: Problem, source: str) -> Grouping:
    """The groups of columns of the strategies "dense" and "grouped"."""
    found = JacobianStrategy(source).bind(problem).source
    assert isinstance(found, Grouped)
    return found.grouping


# reference values ----------------------------------------------------------------------------------------------------------------------


class EndValues:
    """Errors relative to reference values of the library at the end of the time span.

    The error is the maximum of `|x - x_ref| / (atol + rtol s)` over the quantities; `s` is the largest value of the quantity in the table.

    Parameters
    ----------
    entry : mbdae.library.Entry
    parameters : dict
    t_end : float

    Raises
    ------
    LookupError
        If the library has no reference values at that time.
    """

    def __init__(self, entry: Entry, parameters: Parameters, t_end: float) -> None:
        table = entry.references_for(parameters)
        here = [r for r in table if abs(r.t - t_end) <= TIME_TOL * max(1.0, t_end)]
        if not here:
            raise LookupError(f"{entry.name}: no reference values at t = {t_end:g}")
        self._entry, self._reference = entry, max(here, key=lambda r: r.digits)
        self._size = {name: max(abs(r.values.get(name, 0.0)) for r in table) for name in self._reference.values}
        self.source = f"the library, {self._reference.kind} ({self._reference.source})"

    def errors(self, solution: Solution, rtol: float, atol: float) -> tuple[float, None]:
        """`(error_end, None)`"""
        x = self._entry.observe(solution.system, *(getattr(solution, name)[-1] for name in ("t", "q", "v", "a", "lam")))
        return max(abs(x[name] - value) / (atol + rtol * self._size[name]) for name, value in self._reference.values.items()), None


class Motion:
    """Errors relative to a reference solution.

    The error is the larger one of `max |q - q_ref| / (atol + rtol s)` for `q` and for `v`, with `s` the largest component of the reference
    at any time. The error of a rotation is the angle.

    Parameters
    ----------
    exact : ReferenceSolution
        At the times `linspace(*t_span, POINTS)`.
    """

    def __init__(self, exact: ReferenceSolution) -> None:
        self._exact, self.source = exact, exact.source

    def errors(self, solution: Solution, rtol: float, atol: float) -> tuple[float, float]:
        """`(error_end, error_late)`"""
        exact, system = self._exact, solution.system
        if len(exact.t) != len(solution.t):
            raise ValueError(f"Motion: the reference has {len(exact.t)} times, the runs have {len(solution.t)}")
        q = np.array([system.difference(x, y) for x, y in zip(solution.q, exact.q)])
        q, v = (np.abs(d).max(axis=1) / (atol + rtol * np.abs(x).max()) for d, x in ((q, exact.q), (solution.v - exact.v, exact.v)))
        e = np.maximum(q, v)
        late = solution.t >= solution.t[0] + LATE_SHARE * (solution.t[-1] - solution.t[0])
        return float(e[-1]), float(e[late].max())


def output_times(t_span: Sequence[float]) -> Vector:
    """Output times of the first runs."""
    first, last = t_span
    return np.linspace(first, last, POINTS)


# the runs ------------------------------------------------------------------------------------------------------------------------------


class Recorded:
    """A strategy that stores the evaluator of the last run, with its counters and log, in `evaluator`."""

    def __init__(self, strategy: Strategy, name: str) -> None:
        self._strategy, self._name, self.label = strategy, name, strategy.label
        self.evaluator: PartitionedJacobian | None = None

    def __repr__(self) -> str:
        return repr(self._name)

    def bind(self, problem: Differentiable) -> PartitionedJacobian:
        self.evaluator = self._strategy.bind(problem)
        return self.evaluator


def jacobian_study(problem: Problem, method: Any, t_span: Sequence[float], strategies: Sequence[str | Strategy] | None = None, *,
                   rtol: float = RTOL, atol: float = ATOL, state: State | None = None, reference_values: EndValues | Motion | None = None,
                   repeats: int = 3, limit: float | None = None, progress: Progress | None = None) -> JacobianStudy:
    """Run one solver on one problem with several strategies for its Jacobian.

    Each strategy runs once with output for the errors, including compilation, and then `repeats` times with output at the end only,
    alternating with the others, so that disturbances of the machine affect all of them.

    Parameters
    ----------
    problem : Problem
    method : method object
        With a field `jacobian`, which the strategies replace: `Ida()`, `Odes("ddaspk")`, ...
    t_span : (float, float)
    strategies : sequence of str or Strategy, optional
        By default `strategies_for(problem.system, method)`.
    rtol, atol : float
    state : State, optional
        Consistent start; by default the assembled one.
    reference_values : EndValues or Motion, optional
        Without them no errors are computed.
    repeats : int
    limit : float, optional
        Time limit of a run in seconds; beyond it the status of the row is `TIME_LIMIT`.
    progress : callable, optional
        `progress(done, total, text)`.

    Returns
    -------
    JacobianStudy
        A strategy that fails has a row with its status. Exceptions of user functions propagate.

    Raises
    ------
    ValueError
        If the method takes no strategies, or one of them does not apply.
    """
    strategies = strategies_for(problem.system, method) if strategies is None else strategies
    trials = [_Trial(s, problem, method) for s in strategies]
    state = assemble(problem.system, float(t_span[0])) if state is None else state
    run = _Runner(problem, state, tuple(float(t) for t in t_span), rtol, atol, limit)
    for k in range(repeats + 1):
        for i, trial in enumerate(trials):
            if progress is not None:
                progress(k * len(trials) + i, (repeats + 1) * len(trials), trial.name if k else f"{trial.name}: first run")
            trial.go(run, first=k == 0, reference_values=reference_values)
    rows = [t.row() for t in trials]
    rows = [replace(r, percent=_percent(r.cpu, rows[0].cpu)) for r in rows]
    logs: dict[str, tuple[tuple[float, str], ...]] = {t.name: tuple(t.evaluator.log) for t in trials if t.evaluator}
    return JacobianStudy(jacobian_facts(problem), rows, logs, next((t.motion for t in trials if t.failure is None), None))


def _percent(cpu: float | None, first: float | None) -> float | None:
    return 100.0 * cpu / first if cpu is not None and first else None


class _TimeLimitExceeded(Exception):
    """The time limit was exceeded."""


class _Runner:
    """One run after the other of the same problem."""

    def __init__(self, problem: Problem, state: State, t_span: tuple[float, ...], rtol: float, atol: float, limit: float | None) -> None:
        self.problem, self.state, self.t_span, self.limit = problem, state, t_span, limit
        self.rtol, self.atol = rtol, atol

    def __call__(self, method: Method, times: ArrayLike) -> tuple[Solution, float]:
        """The solution, and the processor time it took."""
        begin = time.process_time()
        solution = solve(self.problem, method, self.t_span, state=self.state, t_eval=times, rtol=self.rtol, atol=self.atol,
                         progress=self._watch())
        return solution, time.process_time() - begin

    def _watch(self) -> TimeProgress:
        begin = None  # until the first step: compilation does not count

        def watch(t: float) -> None:
            nonlocal begin
            begin = time.perf_counter() if begin is None else begin
            if self.limit is not None and time.perf_counter() - begin > self.limit:
                raise _TimeLimitExceeded(f"time limit of {self.limit:g} s exceeded at t = {t:.9g}")

        return watch


class _Trial:
    """A strategy with the results of its runs."""

    def __init__(self, strategy: str | Strategy, problem: Problem, method: Any) -> None:
        owner = type(method).__name__
        if not takes_strategies(method):
            raise ValueError(f"{owner} has no choice of Jacobians; take a method with a field 'jacobian: str | Strategy', such as Ida")
        chosen = as_strategy(strategy, owner)
        self.name = strategy if isinstance(strategy, str) else strategy.label
        if getattr(chosen, "update", "") == "extended" and problem.system.excitation is None:
            raise ValueError(f"{self.name}: {problem.system.name!r} has no excitations, so there is nothing to extend; take 'partitioned'")
        self._solver, self._recorded = method.label, None if chosen is None else Recorded(chosen, self.name)
        self._method = replace(method, jacobian="difference" if self._recorded is None else self._recorded)
        self.cpu: list[float] = []
        self.failure: tuple[str, str] | None = None
        self.errors: tuple[float | None, float | None] = None, None
        self.statistics: Statistics | None = None
        self.motion: Solution | None = None

    @property
    def evaluator(self) -> PartitionedJacobian | None:
        """The evaluator with counters and log; `None` for the solver's own differences."""
        return None if self._recorded is None else self._recorded.evaluator

    def go(self, run: _Runner, first: bool, reference_values: EndValues | Motion | None) -> None:
        """One run, unless an earlier one has failed."""
        if self.failure is not None:
            return
        try:
            solution, cpu = run(self._method, output_times(run.t_span) if first else run.t_span[1:])
        except _TimeLimitExceeded as e:
            self.failure = "TIME_LIMIT", str(e)
            return
        except (AssemblyError, FloatingPointError) as e:  # the run has diverged
            self.failure = "NOT_FINITE", str(e)
            return
        self.statistics = solution.statistics
        if not solution.success:
            self.failure = solution.status.name, solution.message
        elif first:
            self._keep(solution, run, reference_values)
        else:
            self.cpu.append(cpu)

    def _keep(self, solution: Solution, run: _Runner, reference_values: EndValues | Motion | None) -> None:
        if self._recorded and not (self.evaluator and self.evaluator.log):
            raise ValueError(f"{self._solver} evaluates no Jacobian, so there is nothing to compare; take an implicit method")
        self.motion = solution
        if reference_values is not None:
            self.errors = reference_values.errors(solution, rtol=run.rtol, atol=run.atol)

    def row(self) -> JacobianRow:
        """Without the percentage."""
        status, message = self.failure or ("SUCCESS", "")
        cpu = median(self.cpu) if self.cpu and self.failure is None else None
        return JacobianRow(self.name, cpu, None, **self._counters(), error_end=self.errors[0], error_late=self.errors[1], status=status,
                           message=message)

    def _counters(self) -> dict[str, int | None]:
        s, own = self.statistics, self.evaluator
        if s is None:
            return {}
        corrector, jacobian = s.residuals, s.residuals_jacobian
        evaluations = None if corrector is None or jacobian is None else corrector + jacobian
        found: dict[str, int | None] = {"evaluations": evaluations, "evaluations_corrector": corrector, "steps": s.steps}
        if own is None:
            return found | {"jacobians": s.jacobians}
        return found | {"jacobians": own.jacobians, "updates": own.updates, "growths": own.growths, "mixed": own.mixed}
