"""Callbacks handed to an external solver: counted, guarded against values that are not finite, on the clock of the solver.

A solver never gets a negative direction or an initial time other than zero if its package has trouble with them: with `direction = -1` it
integrates `G(s, y, y') = F(t0 - s, y, -y')` forward in `s`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar, overload

import numpy as np

from ..interrupts import signals
from ..jacobians.differences import NotFinite
from ..jacobians.partitioned import PartitionedJacobian
from ..jacobians.strategy import Strategy, as_strategy
from ..problems.base import Problem
from ..results.statistics import Statistics
from ..results.status import Cause, Status
from ..typing import Matrix, Vector

TOLERATED_IN_A_ROW, TOLERATED = 50, 1000  # evaluations that may be not finite before the run is ended
TOLERATED_AT_A_GAP = 100  # the same while none was finite at later times: the solver approaches a point where the equations end
HUGE = 1e60  # replaces values that are not finite: Newton's method diverges, and the solver cuts the step
GOOD, RECOVERABLE, FATAL = 0, 1, -1  # what callbacks return, as in SUNDIALS

Residual: TypeAlias = Callable[[float, Vector, Vector, Vector], int]  # residual(s, y, yd, out) -> flag
Rhs: TypeAlias = Callable[[float, Vector, Vector], int]  # rhs(s, y, out) -> flag
T = TypeVar("T")
Values = TypeVar("Values", Vector, tuple[Vector, Vector])


class SolverFailure(Exception):
    """An external solver has failed, for the cause in `status` and `reason`."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


class GuardedCallbacks(ABC):
    """The residual as one solver calls it, with a counter, the clock of the solver, and the exception that ends the run.

    Parameters
    ----------
    keeps : bool
        Whether exceptions are kept in `error` instead of being raised through the solver: for packages that swallow them. Every later
        callback then fails at once, and `raise_kept` raises.
    t0 : float
        Time at which the solver's clock shows zero.
    direction : {1, -1}
    recent : int
        An evaluation that was not finite explains a failure if it is one of this number of last evaluations: more for solvers that
        approach a point where the equations are not finite.

    Attributes
    ----------
    calls : int
        Evaluations by the solver, counted here because some do not count those for difference quotients.
    error : BaseException or None
    """

    def __init__(self, keeps: bool = False, t0: float = 0.0, direction: int = 1, recent: int = 1) -> None:
        self.keeps, self.t0, self.direction, self.recent = keeps, t0, direction, recent
        self.calls = self.bad = self.bad_in_a_row = 0
        self.error: BaseException | None = None
        self._last_bad = 0
        self._fault: Cause | None = None

    @abstractmethod
    def residual(self) -> Residual:
        """`residual(s, y, yd, out) -> flag`."""

    # the clock -----------------------------------------------------------------------------------------------------------

    def time(self, s: float) -> float:
        """Time of the problem when the solver's clock shows `s`."""
        return self.t0 + self.direction * s

    def clock(self, t: float) -> float:
        """What the solver's clock shows at time `t`."""
        return self.direction * (t - self.t0)

    @overload
    def rate(self, yd: Vector) -> Vector: ...

    @overload
    def rate(self, yd: None) -> None: ...

    def rate(self, yd: Vector | None) -> Vector | None:
        """A derivative by time as one by the solver's clock, or the other way round; `None` if it is not known."""
        return yd if self.direction > 0 or yd is None else -yd

    # failures --------------------------------------------------------------------------------------------------------------

    def guarded(self, function: Callable[..., T], otherwise: T) -> Callable[..., T]:
        """Any other callback of the solver, with the same care for exceptions; `otherwise` is returned once one has been kept."""

        def call(*args: Any, **kwargs: Any) -> T:
            if self.error is not None:
                return otherwise
            try:
                return function(*args, **kwargs)
            except BaseException as error:
                self._keep(error)
                return otherwise

        return call

    def raise_kept(self) -> None:
        """Raise the exception that has been kept, if any, unchanged."""
        if self.error is not None:
            error, self.error = self.error, None
            try:
                raise error
            finally:
                del error  # see `_keep`

    def explain(self, failure: SolverFailure) -> SolverFailure:
        """The failure, traced back to values that were not finite if the solver met them last."""
        known = failure.status in (Status.NOT_FINITE, Status.TOO_MANY_STEPS)
        if self._fault is not None and self.calls - self._last_bad < self.recent and self._fault.reason not in failure.reason:
            return SolverFailure(self._fault.status, f"{self._fault.reason} ({failure.reason})")
        if self.bad and self.calls - self._last_bad < self.recent and not known:
            return SolverFailure(Status.NOT_FINITE, f"the equations are not finite ({failure.reason})")
        return failure

    def counted(self, calls: int, bad: int, last_bad: int) -> None:
        """What compiled callbacks have counted: evaluations, those that were not finite, and the last one of these."""
        self.calls, self.bad, self._last_bad = calls, bad, last_bad

    def met(self, fault: Cause | None) -> None:
        """Why the last evaluations were not finite, if it is known."""
        self._fault = fault

    def keep(self, error: BaseException) -> None:
        """Keep the exception of a callback that compiled code has called, for `raise_kept`."""
        self.error = error

    def _keep(self, error: BaseException, out: Vector | None = None) -> int:
        if not self.keeps:
            try:
                raise error
            finally:
                del error  # a cycle with its own traceback would keep the solver, and the file that it has opened
        self.error = error
        return FATAL if out is None else self._refuse(out)

    def _refuse(self, out: Vector) -> int:
        """SUNDIALS looks at the flag only; other solvers fail because of the huge values."""
        out[:] = HUGE
        return FATAL


class SolverCallbacks(GuardedCallbacks):
    """The functions of a problem as one solver calls them.

    A Newton iterate may leave the domain of the equations; the solver should then cut its step and try again. Some solvers would
    iterate endlessly on NaN, so they get huge values and a flag instead, and after too many bad evaluations the run ends.

    Parameters
    ----------
    problem : Problem
    keeps, t0, direction, recent
        As for `GuardedCallbacks`.
    jacobian : str or Strategy
        Where the Jacobian comes from, see `use`.

    Attributes
    ----------
    calls, error
        As for `GuardedCallbacks`.
    tolerated_at_a_gap : int
        Evaluations that may be not finite while none was finite at later times.
    """

    def __init__(self, problem: Problem, keeps: bool = False, t0: float = 0.0, direction: int = 1, recent: int = 1,
                 jacobian: str | Strategy = "exact") -> None:
        super().__init__(keeps, t0, direction, recent)
        self.problem = problem
        self.tolerated_at_a_gap = TOLERATED_AT_A_GAP
        # first time, in the direction of integration, at which the equations were not finite, and number of evaluations since then
        self._gap, self._at_the_gap = np.inf, 0
        self._strategy = as_strategy(jacobian)
        self._evaluator: PartitionedJacobian | None = None

    def use(self, jacobian: str | Strategy) -> None:
        """Take the Jacobian from a strategy or its name, see `as_strategy`."""
        self._strategy, self._evaluator = as_strategy(jacobian), None

    @property
    def evaluator(self) -> PartitionedJacobian:
        """What evaluates the Jacobian, with counters of its own; made when it is first needed."""
        if self._evaluator is None:
            strategy = self._strategy or as_strategy("exact")
            assert strategy is not None
            self._evaluator = strategy.bind(self.problem)
        return self._evaluator

    @property
    def jacobians(self) -> int:
        """Jacobians that were evaluated."""
        return self._evaluator.jacobians if self._evaluator else 0

    def complete(self, statistics: Statistics) -> Statistics:
        """`Statistics` of a solver, with the costs of Jacobians that were evaluated here."""
        if self._evaluator is None:
            return statistics
        spent, updates = self._evaluator.calls, self._evaluator.updates
        if statistics.residuals_jacobian is not None or spent:
            statistics.residuals_jacobian = (statistics.residuals_jacobian or 0) + spent
        if updates:
            statistics.partitioned_updates = updates
        return statistics

    # what the solver calls -------------------------------------------------------------------------------------------------

    def residual(self) -> Residual:
        """`residual(s, y, yd, out) -> flag`; without a clock of its own the solver calls the guarded kernel directly."""
        kernel, arguments, callbacks = self.problem.kernel, self.problem.arguments, self.problem.system.callbacks
        follow = self.problem.follow if self.problem.system.redundancy.rows.size else None

        def residual(t: float, y: Vector, yd: Vector, out: Vector) -> int:
            if self.error is not None:
                return self._refuse(out)
            self.calls += 1
            try:
                if signals.waiting:
                    signals.check()
                if follow is not None:
                    follow(t, y)
                if kernel(t, y, yd, out, *arguments) and callbacks.pending is None:
                    if self.direction * t >= self._gap:
                        self._gap, self._at_the_gap = np.inf, 0
                    return GOOD
                return self._bad(t, out)
            except BaseException as error:  # KeyboardInterrupt too: it must reach the caller
                return self._keep(error, out)

        if self.t0 == 0.0 and self.direction > 0:
            return residual
        rate = np.empty(self.problem.n)

        def on_own_clock(s: float, y: Vector, yd: Vector, out: Vector) -> int:
            np.multiply(yd, self.direction, out=rate)
            return residual(self.t0 + self.direction * s, y, rate, out)

        return on_own_clock

    def rhs(self) -> Rhs:
        """`rhs(s, y, out) -> flag` of an explicit problem."""
        kernel, arguments, callbacks = self.problem.kernel, self.problem.arguments, self.problem.system.callbacks

        def rhs(t: float, y: Vector, out: Vector) -> int:
            if self.error is not None:
                return self._refuse(out)
            self.calls += 1
            try:
                if signals.waiting:
                    signals.check()
                if kernel(t, y, out, *arguments) and callbacks.pending is None:
                    if self.direction * t >= self._gap:
                        self._gap, self._at_the_gap = np.inf, 0
                    return GOOD
                return self._bad(t, out)
            except BaseException as error:
                return self._keep(error, out)

        if self.t0 == 0.0 and self.direction > 0:
            return rhs

        def on_own_clock(s: float, y: Vector, out: Vector) -> int:
            flag = rhs(self.t0 + self.direction * s, y, out)
            np.multiply(out, self.direction, out=out)
            return flag

        return on_own_clock

    def jacobian(self, store: Callable[[Vector, Any], object]) -> Callable[..., int]:
        """`jacobian(s, y, yd, c, J, residual=None) -> flag`: `F_y + c F_yd`, written to `J` by `store(values, J)`, see
        `mbdae.adapters.storage`; `residual` is `F` at this state if the solver supplies it.
        """

        def jacobian(s: float, y: Vector, yd: Vector, c: float, J: Any, residual: Vector | None = None) -> int:
            if self.error is not None:
                return FATAL
            try:
                values = self._evaluated(s, lambda t: self.evaluator.values(t, y, self.rate(yd), self.direction * c, residual))
                store(values, J)
                return GOOD
            except BaseException as error:
                return self._keep(error)

        return jacobian

    def jacobian_parts(self, make: Callable[[Vector], T]) -> Callable[[float, Vector, Vector], tuple[T, T]]:
        """`jacobian(s, y, yd) -> (F_y, F_yd)`, each one `make(values)`; exceptions are raised, whether they are kept or not.

        Where they are not finite, the last finite ones are returned: Newton's method then fails, and the solver cuts its step.
        """
        nothing = [np.zeros(self.problem.pattern.nnz)] * 2
        last = nothing.copy()

        def jacobian(s: float, y: Vector, yd: Vector) -> tuple[T, T]:
            try:
                last[:] = self._parts(s, y, self.rate(yd), last[0] is not nothing[0]) or last
                return make(last[0]), make(self.direction * last[1])
            except BaseException as error:
                self._keep(error)
                raise

        return jacobian

    def rhs_jacobian(self) -> Callable[[float, Vector], Matrix]:
        """`jacobian(s, y) -> (n, n)`, the derivative of `rhs`; zeros if an exception has been kept.

        Where it is not finite, the last finite one is returned, as for `jacobian_parts`.
        """
        nothing = np.zeros((self.problem.n, self.problem.n))
        last = [nothing]

        def jacobian(s: float, y: Vector) -> Matrix:
            if self.error is not None:
                return nothing
            try:
                parts = self._parts(s, y, nothing[0], last[0] is not nothing)
                last[:] = last if parts is None else [-self.direction * parts[0].reshape(nothing.shape, order="F")]
                return last[0].copy()
            except BaseException as error:
                self._keep(error)
                return nothing

        return jacobian

    # values that are not finite --------------------------------------------------------------------------------------------

    def _bad(self, t: float, out: Vector) -> int:
        self.problem.system.callbacks.check()
        self.bad += 1
        self.bad_in_a_row = self.bad_in_a_row + 1 if self._last_bad == self.calls - 1 else 1
        self._last_bad = self.calls
        if self.bad_in_a_row == 1:  # the others in a row may be its consequences
            self._fault = self.problem.fault(t)
        self._gap, self._at_the_gap = min(self._gap, self.direction * t), self._at_the_gap + 1
        if self.bad_in_a_row > TOLERATED_IN_A_ROW or self.bad > TOLERATED or self._at_the_gap > self.tolerated_at_a_gap:
            raise SolverFailure(Status.NOT_FINITE, f"the equations are not finite near t = {t:.9g}")
        out[~np.isfinite(out)] = HUGE
        return RECOVERABLE

    def _evaluated(self, s: float, evaluate: Callable[[float], Values]) -> Values:
        """Values of a Jacobian, or the two of its parts, which must be finite."""
        t = self.time(s)
        try:
            values = evaluate(t)
        except NotFinite as error:
            raise SolverFailure(Status.NOT_FINITE, f"the Jacobian is not finite near t = {t:.9g}: {error}") from None
        if not all(np.isfinite(x).all() for x in (values if isinstance(values, tuple) else (values,))):
            raise SolverFailure(Status.NOT_FINITE, f"the Jacobian is not finite near t = {t:.9g}")
        return values

    def _parts(self, s: float, y: Vector, yd: Vector, replaceable: bool) -> tuple[Vector, Vector] | None:
        """The parts, or `None` if they are not finite, and can be replaced or could not be expected to be.

        CVODE requests the Jacobian where the equations have just turned out to have no values.
        """
        try:
            return self._evaluated(s, lambda t: self.evaluator.parts(t, y, yd))
        except SolverFailure:
            if not replaceable and not (self.bad and self._last_bad == self.calls):
                raise
            return None
