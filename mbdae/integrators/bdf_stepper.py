"""Steps of the variable-order BDF method for `F(t, y, yd) = 0`: prediction, correction, error test, choice of order and step.

The algorithm is that of DASSL [Brenan, chapter 5] for any implicit equations. It differs in three points: Newton's method has a smaller
share of the tolerance, unknowns that are excluded from the error test remain in Newton's convergence test, and a Jacobian may have cheap
updates.
"""

from collections.abc import Sequence
from typing import NoReturn, Protocol

import numpy as np

from ..driver.callbacks import FATAL, Residual, SolverFailure
from ..results.status import Cause, Status
from ..system.codes import GOOD
from ..typing import ArrayLike, Integers, Vector
from . import bdf_formulas as bdf
from .control.newton import ITERATE, NewtonRule, newton_test
from .iteration_matrix import IterationMatrix

EPS = float(np.finfo(float).eps)
MAX_RATE = 0.9  # contraction rate above which Newton's method has failed
UNKNOWN_ETA = 100.0  # ratio of error and correction while no contraction rate is known
MIN_ETA = 0.02  # its lower bound: a rate is used until the matrix is renewed
MIN_RATIO = 0.6  # of the leading coefficients of the step and the matrix, or their inverse, below which the matrix is renewed
MAX_NEWTON_FAILURES = 10  # in one step
MAX_RETRIES = 3  # evaluations in one step of a Jacobian whose pattern may lack entries
STRETCH = 1.01  # factor by which the last step may be longer
_newton_test = getattr(newton_test, "py_func", newton_test)  # a call of compiled code costs more than the test


class StepJacobian(Protocol):
    """The Jacobian of a `BdfStepper`, `F_y + c F_yd`; its values are in the order of the pattern of the iteration matrix."""

    def evaluate(self, t: float, y: Vector, yd: Vector, c: float, residual: Vector) -> Vector:
        """All entries; `residual` is `F(t, y, yd)`."""
        ...

    def update(self, t: float, y: Vector, yd: Vector, c: float) -> Vector | None:
        """The entries with `F_y` of the last evaluation, or `None`."""
        ...

    def suspect(self) -> bool:
        """Called if Newton's method fails with a matrix evaluated for this step: whether another evaluation may be better."""
        ...


class Tolerance:
    """Norms of the error test and of Newton's convergence test: root mean squares of `|h|^power x / (rtol |y| + atol)`.

    Parameters
    ----------
    rtol : float
    atol : ndarray, shape (n,)
    newton : float
        Largest error of Newton's method relative to the tolerance. It is 1/3 in DASSL, and then perturbs the error estimates.
    powers : ndarray of int, shape (2, n), optional
        Of the step size, in the error test and in Newton's convergence test; `EXCLUDED` excludes an unknown. By default all are zero.
    shared : sequence of (int, int, int, int), optional
        `(a, b, c, d)`: in Newton's convergence test the unknowns from `a` to `b` are compared with the largest of those from `c` to `d`.
    """

    def __init__(self, rtol: float, atol: ArrayLike, newton: float, powers: Integers | None = None,
                 shared: Sequence[tuple[int, int, int, int]] = ()) -> None:
        atol = np.array(atol, dtype=float)
        powers = np.zeros((2, len(atol)), dtype=np.int64) if powers is None else np.array(powers, dtype=np.int64)
        counts = np.maximum((powers != bdf.EXCLUDED).sum(axis=1), 1).astype(float)
        self.newton = newton
        self.norms = bdf.Norms(float(rtol), atol, powers, np.array(shared, dtype=np.int64).reshape(-1, 4), counts)


class BdfStepper:
    """One internal step at a time, and interpolation within the last one.

    Parameters
    ----------
    residual : callable
        `residual(t, y, yd, out) -> flag`: 0 good, 1 not defined there (the step is cut), -1 the run must end.
    t0 : float
    y0, yd0 : ndarray, shape (n,)
        Consistent initial values.
    t_end : float
        Before or after `t0`. The last step ends there exactly, and nothing is evaluated beyond.
    jacobian : StepJacobian
    matrix : IterationMatrix
    tolerance : Tolerance
    max_order : int
    first_step, max_step : float
        Zero: a first step from `yd0`, and no limit.

    Attributes
    ----------
    t, h, k : float, float, int
        Time reached, size and order of the next step.
    residuals, iterations, jacobians, updates, rejected_error, rejected_newton : int
        `jacobians` are full evaluations.
    """

    max_iterations = 4  # of Newton's method; to cut the step costs less than more iterations

    def __init__(self, residual: Residual, t0: float, y0: Vector, yd0: Vector, t_end: float, jacobian: StepJacobian,
                 matrix: IterationMatrix, tolerance: Tolerance, *, max_order: int = bdf.HIGHEST, first_step: float = 0.0,
                 max_step: float = 0.0) -> None:
        n = len(y0)
        self.residual, self.jacobian, self.matrix, self.tolerance = residual, jacobian, matrix, tolerance
        self.t, self.t_end, self.max_order, self.max_step = float(t0), float(t_end), max_order, max_step
        self.residuals = self.iterations = self.jacobians = self.updates = self.rejected_error = self.rejected_newton = 0
        self._y, self._yd, self._e, self._first, self._later = (np.zeros(n) for _ in range(5))
        self._phi, self._table, self._weights = np.zeros((bdf.DIFFERENCES, n)), np.zeros(bdf.TABLE), np.zeros((2, n))
        self._error_weight, self._newton_weight = self._weights
        self._error_count, self._newton_count = (float(x) for x in tolerance.norms.counts)
        self._failure = Cause(Status.NEWTON_FAILED, "")  # of the last attempt
        self._error_failures = self._newton_failures = 0  # in the present step
        self._rule = NewtonRule(tolerance.newton, self.max_iterations, MIN_ETA, MAX_RATE, forecast=self.max_iterations)
        self._rounding = 0.0  # of the unknowns, in the norm of Newton's convergence test
        self._initialise(np.array(y0, dtype=float), np.array(yd0, dtype=float), first_step)

    def _initialise(self, y0: Vector, yd0: Vector, first_step: float) -> None:
        self.k, self._last_order, self._constant, self._starting = 1, 0, 0, True
        self._holding, self._c, self._eta = False, 0.0, UNKNOWN_ETA
        self._phi[0] = y0
        self.h = self._last_step = float(np.copysign(first_step or self._guess(yd0), self.t_end - self.t))
        self._phi[1] = self.h * yd0
        self._table[bdf.LAST, 0] = self.h

    def _guess(self, yd0: Vector) -> float:
        """A step in which `y` changes by half a tolerance, at most a thousandth of the time span."""
        h = 1e-3 * abs(self.t_end - self.t)
        bdf.weigh(self._phi[0], h, self.tolerance.norms, self._weights)
        speed = bdf.size(yd0, self._error_weight, self._error_count)
        return 0.5 / speed if speed > 0.5 / h else h

    # steps and interpolation ---------------------------------------------------------------------------------------------

    def step(self) -> tuple[float, Vector, Vector]:
        """Take a step; `(t, y, yd)` at its end, in new arrays.

        Raises
        ------
        SolverFailure
            If the step fails at every step size.
        """
        self._limit()
        self._error_failures = self._newton_failures = 0
        while not self._attempt():
            pass
        return self.t, self._y.copy(), self._yd.copy()

    def at(self, t: float) -> tuple[Vector, Vector]:
        """`(y, yd)` at a time within the last step, by the polynomial through the last values, of the order of the step."""
        y, yd = np.empty_like(self._y), np.empty_like(self._y)
        bdf.interpolate(t - self.t, self._phi, self._last_order, self._table, y, yd)
        return y, yd

    @property
    def limited(self) -> bool:
        """Whether the end of the run limits the next step."""
        h = min(abs(self.h), self.max_step or np.inf)
        return bool(h * STRETCH >= abs(self.t_end - self.t))

    def _limit(self) -> None:
        """Limit the step size, and let the last step end at `t_end`."""
        if self.max_step and abs(self.h) > self.max_step:
            self.h = float(np.copysign(self.max_step, self.h))
        rest = self.t_end - self.t
        if abs(self.h) * STRETCH >= abs(rest):
            self.h = rest

    # one attempt ---------------------------------------------------------------------------------------------------------

    def _attempt(self) -> bool:
        """Try a step of size `h` at order `k`; whether it is accepted."""
        if self.h != self._last_step or self.k != self._last_order:
            self._constant = 0
        self._constant = min(self._constant + 1, self._last_order + 2)
        factor = self._corrected()
        if factor is None:
            self._cut_for_newton()
            return False
        own, lower, lowest, moved = bdf.errors(self._phi, self.k, self._table, self._e, self._error_weight, self._error_count)
        falls = self._should_fall(own, lower, lowest)
        if not factor * moved <= 1.0:
            self._cut_for_error(*((self.k - 1, lower) if falls else (self.k, own)))
            return False
        self._advance(falls, own, lower)
        return True

    def _corrected(self) -> float | None:
        """Predict and correct; the ratio of the error estimate to the norm of the correction, `None` if Newton's method fails."""
        c, factor, tested, largest = bdf.begin(self.h, self.k, self._table, self._phi, self.tolerance.norms, self._weights, self._y,
                                               self._yd, self._e)
        self._rounding = 100.0 * EPS * largest
        if not (100.0 * EPS * tested <= 1.0 and self._rounding <= 1.0):
            self._refuse(float(np.maximum(tested, largest)))
        return factor if self._correct(self._next_time(), c) else None

    def _next_time(self) -> float:
        return self.t_end if self.h == self.t_end - self.t else self.t + self.h

    def _refuse(self, largest: float) -> NoReturn:
        """End the run, with the reason why the tolerances cannot be met."""
        if largest < np.inf:
            reason = f"the tolerances are below rounding, they must be larger by a factor of {200.0 * EPS * largest:.2g}"
        else:
            reason = "the solution is not finite, or an unknown and its absolute tolerance are both zero"
        raise SolverFailure(Status.SOLVER_FAILED, reason)

    # the corrector -------------------------------------------------------------------------------------------------------

    def _correct(self, t: float, c: float) -> bool:
        """Solve the equations of the step; whether Newton's method converges, if necessary with a new matrix."""
        if self._is_bad(t, self._first):
            return False
        in_full, usable = self._prepare(t, c)
        for _ in range(1 + MAX_RETRIES):
            if usable and self._newton(t, c):
                return True
            if in_full and not self.jacobian.suspect():
                return False
            bdf.predict(self._phi, self.k, self._table, self._y, self._yd, self._e)
            in_full, usable = True, self._evaluate(t, c)
        return usable and self._newton(t, c)

    def _prepare(self, t: float, c: float) -> tuple[bool, bool]:
        """Adapt the matrix to the leading coefficient: `(whether it was evaluated in full, whether it is regular)`."""
        if self.matrix.c and MIN_RATIO <= c / self.matrix.c <= 1.0 / MIN_RATIO:
            if c != self._c:
                self._c, self._eta = c, UNKNOWN_ETA
                self.matrix.adapt(c)
            return False, True
        values = self.jacobian.update(t, self._y, self._yd, c) if self.jacobians else None
        if values is None:
            return True, self._evaluate(t, c)
        self.updates += 1
        return False, self._factorise(values, c)

    def _evaluate(self, t: float, c: float) -> bool:
        """Evaluate and factorise the matrix; whether it is regular."""
        self.jacobians += 1
        return self._factorise(self.jacobian.evaluate(t, self._y, self._yd, c, self._first), c)

    def _factorise(self, values: Vector, c: float) -> bool:
        self._c, self._eta = c, UNKNOWN_ETA
        fault = self.matrix.factorise(values, c)
        if fault:
            status = Status.NOT_FINITE if "finite" in fault else Status.NEWTON_FAILED
            self._failure = Cause(status, f"the iteration matrix is {fault}")
        return not fault

    def _newton(self, t: float, c: float) -> bool:
        """Iterate from the prediction, where the residual is known; whether the iteration converges."""
        residual, first, before = self._first, 0.0, 0.0
        self._failure = Cause(Status.NEWTON_FAILED, "Newton's method does not converge")
        for m in range(self.max_iterations):
            if m > 0:
                residual = self._later
                if self._is_bad(t, residual):
                    return False
            self.iterations += 1
            moved = bdf.correct(self.matrix.solve(residual), self.matrix.column, c, self._newton_weight, self._newton_count, self._y,
                                self._yd, self._e)
            if moved <= self._rounding:
                return True
            if m == 0:
                first = moved
            else:  # with the mean contraction rate, as in DASSL
                before = first * (moved / first) ** (1.0 - 1.0 / m)
            verdict = _newton_test(self._rule, m, moved, before, self._eta, False)
            if m > 0:
                self._eta = max(MIN_ETA, verdict.eta)
            if verdict.status != ITERATE:
                return bool(verdict.status == GOOD)
        return False

    def _is_bad(self, t: float, out: Vector) -> bool:
        """Evaluate the residual; whether it is not defined at this iterate."""
        self.residuals += 1
        flag = self.residual(t, self._y, self._yd, out)
        if flag == FATAL:
            raise SolverFailure(Status.SOLVER_FAILED, "the residual has requested the end of the run")
        if flag:
            self._failure = Cause(Status.NOT_FINITE, "the residual is not finite")
        return bool(flag)

    # rejections ----------------------------------------------------------------------------------------------------------

    def _cut_for_newton(self) -> None:
        self.rejected_newton += 1
        self._newton_failures += 1
        status, reason = self._failure
        if self._newton_failures >= MAX_NEWTON_FAILURES:
            raise SolverFailure(status, f"{reason}, {MAX_NEWTON_FAILURES} times in one step, though the step has been cut to {self.h:.3g}")
        self._cut(0.25, status, reason)

    def _cut_for_error(self, order: int, estimate: float) -> None:
        """After the first failure by the error estimate, then by a factor of four; after the third at order 1, as at a discontinuity."""
        self.rejected_error += 1
        self._error_failures += 1
        self.k = order if self._error_failures < 3 else 1
        wanted = 0.9 * _growth(estimate, order) if self._error_failures == 1 else 0.25
        self._cut(min(0.9, max(0.25, wanted)), Status.STEP_TOO_SMALL, "the error test fails")

    def _cut(self, factor: float, status: Status, reason: str) -> None:
        self._starting = False
        self.h *= factor
        if abs(self.h) < 4.0 * EPS * max(abs(self.t), abs(self.t_end)):
            raise SolverFailure(status, f"{reason}, though the step has been cut to {self.h:.3g}")

    # the next step ---------------------------------------------------------------------------------------------------------

    def _should_fall(self, own: float, lower: float, lowest: float) -> bool:
        """Whether the estimated terms of the Taylor series do not decrease up to this order."""
        k = self.k
        if k < 3:
            return k == 2 and 2.0 * lower <= 1.5 * own
        return max(k * lower, (k - 1) * lowest) <= (k + 1) * own

    def _advance(self, falls: bool, own: float, lower: float) -> None:
        """Accept the step, and choose order and size of the next one.

        After a cut the step size is not doubled before the order could rise. The error of a stiff mode is large after each change of the
        step size and small between equal steps, so at order 1 every second attempt might fail.
        """
        if falls or self.k == self.max_order:
            self._starting = False
        order, estimate = self._next_order(falls, own, lower)
        self._holding = self._error_failures > 0 or (self._holding and self._constant <= self.k + 1)
        self._accept(order)
        if self._starting:
            self.h *= 2.0
            return
        growth = _growth(estimate, order)
        if growth >= 2.0 and not self._holding:
            self.h *= 2.0
        elif growth <= 1.0:
            self.h *= max(0.5, min(0.9, growth))

    def _accept(self, order: int) -> None:
        bdf.accept(self._phi, self.k, self._table, self._e)
        self.t, self._last_order, self._last_step, self.k = self._next_time(), self.k, self.h, order

    def _next_order(self, falls: bool, own: float, lower: float) -> tuple[int, float]:
        """Order of the next step and its error estimate; the order rises only after as many equal steps as the formula has."""
        k, rose = self.k, self.k == self._last_order + 1
        if self._starting:
            return k + 1, own
        if falls:
            return k - 1, lower
        if k == self.max_order or self._constant <= k + 1 or rose:
            return k, own
        above = bdf.error_above(self._phi, k, self._e, self._error_weight, self._error_count)
        if k > 1 and k * lower <= min((k + 1) * own, (k + 2) * above):
            return k - 1, lower
        if (k + 2) * above < (k + 1) * own * (0.5 if k == 1 else 1.0):
            return k + 1, above
        return k, own


def _growth(estimate: float, order: int) -> float:
    """Factor of the step size for an error of half the tolerance."""
    return float((2.0 * estimate + 1e-4) ** (-1.0 / (order + 1)))
