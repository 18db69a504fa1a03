"""Callbacks handed to an external solver: counted, guarded against values that are not finite, on the clock of the solver.

A solver never gets a negative direction or a start other than zero if its package has trouble with them: with `direction = -1` it
integrates `G(s, y, y') = F(t0 - s, y, -y')` forward in `s`.
"""

import numpy as np

from ..compilation.compiled import compiled
from ..interrupts import signals
from ..jacobians.differences import NotFinite
from ..jacobians.strategy import as_strategy
from ..results.status import Status

TOLERATED_IN_A_ROW, TOLERATED = 50, 1000  # evaluations that may be not finite before the run is ended
TOLERATED_AT_A_GAP = 100  # while none was finite at later times: the solver creeps up to where the equations end
HUGE = 1e60  # what a solver sees instead: its Newton iteration diverges and the step is cut
GOOD, RECOVERABLE, FATAL = 0, 1, -1  # what callbacks return, as in SUNDIALS


@compiled
def _all_finite(x):
    for k in range(x.shape[0]):
        if not np.isfinite(x[k]):
            return False
    return True


class SolverFailure(Exception):
    """An external solver has failed."""

    def __init__(self, status, reason):
        super().__init__(reason)
        self.status, self.reason = status, reason


class SolverCallbacks:
    """The functions of a problem as one solver calls them.

    A Newton iterate may leave the domain of the equations; the solver should then shorten its step and try again. Some solvers would
    loop without end on NaN, so they see huge values and a flag instead, and after too many bad evaluations the run ends.

    Parameters
    ----------
    problem : Problem
    keeps : bool
        Whether exceptions are kept in `error` instead of being raised through the solver: for packages that swallow them. Every later
        callback then fails at once, and `raise_kept` raises.
    t0 : float
        Time at which the solver's clock shows zero.
    direction : {1, -1}
    jacobian : str or Strategy
        Where the Jacobian comes from, see `use`.
    recent : int
        Number of last evaluations of which one that was not finite explains a failure: more for solvers that creep up to a gap.

    Attributes
    ----------
    calls : int
        Evaluations by the solver, counted here because some do not count those for difference quotients.
    error : BaseException or None
    tolerated_at_a_gap : int
        Evaluations that may be not finite while none was finite at later times.
    """

    def __init__(self, problem, keeps=False, t0=0.0, direction=1, recent=1, jacobian="exact"):
        self.problem, self.keeps, self.t0, self.direction, self.recent = problem, keeps, t0, direction, recent
        self.calls = self.bad = self.bad_in_a_row = 0
        self.error = None
        self._last_bad, self._fault = 0, None
        self.tolerated_at_a_gap = TOLERATED_AT_A_GAP
        self._gap, self._at_the_gap = np.inf, 0  # first time, by the direction, at which they were not finite, and how often since
        self._strategy, self._evaluator = as_strategy(jacobian), None

    def use(self, jacobian):
        """Take the Jacobian from a strategy or what is named like one, see `as_strategy`."""
        self._strategy, self._evaluator = as_strategy(jacobian), None

    @property
    def evaluator(self):
        """What evaluates the Jacobian, with counters of its own; made when it is first needed."""
        if self._evaluator is None:
            self._evaluator = (self._strategy or as_strategy("exact")).bind(self.problem)
        return self._evaluator

    @property
    def jacobians(self):
        """Jacobians that were evaluated."""
        return self._evaluator.jacobians if self._evaluator else 0

    def complete(self, statistics):
        """`Statistics` of a solver, with what the evaluation of Jacobians on this side has cost."""
        if self._evaluator is None:
            return statistics
        spent, updates = self._evaluator.calls, self._evaluator.updates
        if statistics.residuals_jacobian is not None or spent:
            statistics.residuals_jacobian = (statistics.residuals_jacobian or 0) + spent
        if updates:
            statistics.partitioned_updates = updates
        return statistics

    # the clock -----------------------------------------------------------------------------------------------------------

    def time(self, s):
        """Time of the problem when the solver's clock shows `s`."""
        return self.t0 + self.direction * s

    def clock(self, t):
        """What the solver's clock shows at time `t`."""
        return self.direction * (t - self.t0)

    def rate(self, yd):
        """A derivative by time as one by the solver's clock, or the other way round."""
        return yd if self.direction > 0 or yd is None else -yd

    # what the solver calls -------------------------------------------------------------------------------------------------

    def residual(self):
        """`residual(s, y, yd, out) -> flag`; with the solver's clock in step with time there is nothing between it and the kernel."""
        kernel, arguments, callbacks = self.problem.kernel, self.problem.arguments, self.problem.system.callbacks
        follow = self.problem.follow if self.problem.system.redundancy.rows.size else None

        def residual(t, y, yd, out):
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

        def on_own_clock(s, y, yd, out):
            np.multiply(yd, self.direction, out=rate)
            return residual(self.t0 + self.direction * s, y, rate, out)

        return on_own_clock

    def rhs(self):
        """`rhs(s, y, out) -> flag` of an explicit problem."""
        kernel, arguments, callbacks = self.problem.kernel, self.problem.arguments, self.problem.system.callbacks

        def rhs(t, y, out):
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

        def on_own_clock(s, y, out):
            flag = rhs(self.t0 + self.direction * s, y, out)
            np.multiply(out, self.direction, out=out)
            return flag

        return on_own_clock

    def jacobian(self, store):
        """`jacobian(s, y, yd, c, J, residual=None) -> flag`: `F_y + c F_yd` put into `J` by `store(values, J)`, see
        `mbdae.adapters.storage`; `residual` is `F` at this state, where the solver hands it over.
        """

        def jacobian(s, y, yd, c, J, residual=None):
            if self.error is not None:
                return FATAL
            try:
                values = self._evaluated(s, lambda t: self.evaluator.values(t, y, self.rate(yd), self.direction * c, residual))
                store(values, J)
                return GOOD
            except BaseException as error:
                return self._keep(error)

        return jacobian

    def jacobian_parts(self, make):
        """`jacobian(s, y, yd) -> (F_y, F_yd)`, each one `make(values)`; exceptions are raised, whether they are kept or not.

        Where they are not finite the last ones that were serve again: Newton's method then fails, and the solver cuts its step.
        """
        nothing = [np.zeros(self.problem.pattern.nnz)] * 2
        last = nothing.copy()

        def jacobian(s, y, yd):
            try:
                last[:] = self._parts(s, y, self.rate(yd), last[0] is not nothing[0]) or last
                return make(last[0]), make(self.direction * last[1])
            except BaseException as error:
                self._keep(error)
                raise

        return jacobian

    def rhs_jacobian(self):
        """`jacobian(s, y) -> (n, n)`, the derivative of `rhs`; zeros if the exception that was met is kept.

        Where it is not finite the last one that was serves again, as for `jacobian_parts`.
        """
        nothing = np.zeros((self.problem.n, self.problem.n))
        last = [nothing]

        def jacobian(s, y):
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

    def guarded(self, function, otherwise):
        """Any other callback of the solver, with the same care for exceptions; `otherwise` is returned once one has been kept."""

        def call(*args, **kwargs):
            if self.error is not None:
                return otherwise
            try:
                return function(*args, **kwargs)
            except BaseException as error:
                self._keep(error)
                return otherwise

        return call

    # failures --------------------------------------------------------------------------------------------------------------

    def raise_kept(self):
        """Raise the exception that has been kept, if any, unchanged."""
        if self.error is not None:
            error, self.error = self.error, None
            try:
                raise error
            finally:
                del error  # see `_keep`

    def explain(self, failure):
        """The failure, traced back to values that were not finite if the solver met them last."""
        known = failure.status in (Status.NOT_FINITE, Status.TOO_MANY_STEPS)
        if self._fault is not None and self.calls - self._last_bad < self.recent and self._fault[1] not in failure.reason:
            return SolverFailure(self._fault[0], f"{self._fault[1]} ({failure.reason})")
        if self.bad and self.calls - self._last_bad < self.recent and not known:
            return SolverFailure(Status.NOT_FINITE, f"the equations are not finite ({failure.reason})")
        return failure

    def _keep(self, error, out=None):
        if not self.keeps:
            try:
                raise error
            finally:
                del error  # a cycle with its own traceback would keep the solver, and the file that it has opened
        self.error = error
        return FATAL if out is None else self._refuse(out)

    def _refuse(self, out):
        """SUNDIALS only looks at flags: the others must fail by themselves."""
        out[:] = HUGE
        return FATAL

    def _bad(self, t, out):
        self.problem.system.callbacks.check()
        self.bad += 1
        self.bad_in_a_row = self.bad_in_a_row + 1 if self._last_bad == self.calls - 1 else 1
        self._last_bad = self.calls
        if self.bad_in_a_row == 1:  # of a row the others may be its consequences
            self._fault = getattr(self.problem, "fault", lambda t: None)(t)
        self._gap, self._at_the_gap = min(self._gap, self.direction * t), self._at_the_gap + 1
        if self.bad_in_a_row > TOLERATED_IN_A_ROW or self.bad > TOLERATED or self._at_the_gap > self.tolerated_at_a_gap:
            raise SolverFailure(Status.NOT_FINITE, f"the equations are not finite near t = {t:.9g}")
        out[~np.isfinite(out)] = HUGE
        return RECOVERABLE

    def _evaluated(self, s, evaluate):
        """Values of a Jacobian, or the two of its parts, which must be finite."""
        t = self.time(s)
        try:
            values = evaluate(t)
        except NotFinite as error:
            raise SolverFailure(Status.NOT_FINITE, f"the Jacobian is not finite near t = {t:.9g}: {error}") from None
        if not all(map(_all_finite, values if isinstance(values, tuple) else (values,))):
            raise SolverFailure(Status.NOT_FINITE, f"the Jacobian is not finite near t = {t:.9g}")
        return values

    def _parts(self, s, y, yd, replaceable):
        """The parts, or `None` if they are not finite, but can be replaced or could not be expected to be.

        CVODE asks for the Jacobian where the equations have just turned out to have no values.
        """
        try:
            return self._evaluated(s, lambda t: self.evaluator.parts(t, y, yd))
        except SolverFailure:
            if not replaceable and not (self.bad and self._last_bad == self.calls):
                raise
            return None
