"""Partitioned updates: `F_y` is reused while only the leading coefficient `c` in `F_y + c F_yd` has changed."""

from typing import NamedTuple

import numpy as np

from .extended import MixedDerivatives
from .probe import MAX_ERROR, Probe
from .residuals import residual_of
from .signatures import Differentiable, Vector
from .sources import Source

MAX_RATIO = 0.6  # DASSL and its relatives request a new matrix because of `c` if it has changed by more than this factor
ROUNDING = 1e-6


class Request(NamedTuple):
    """The last matrix of a run: its time and leading coefficient, and whether `F_y` was evaluated for it."""

    t: float
    c: float
    evaluated: bool


class Entry(NamedTuple):
    """An entry of the log: the time, and "jacobian", "update" or "growth"."""

    t: float
    kind: str


class PartitionedJacobian:
    """`F_y + c F_yd` of one run, evaluated or updated.

    An update is `F_y(old) + c F_yd(new)`, which is [Arnold, eq. (24)] for the explicit form of the equations and (25) for the residual
    one, where `F_yd` contains the mass matrix at the new positions. Optionally the known entries of `F_y` (see `Known`) are renewed;
    "extended" adds the change of the others by the excitations [Arnold, eq. (26)].

    Parameters
    ----------
    problem : Problem
    source : object
        See `mbdae.jacobians.sources`.
    update : {"plain", "partitioned", "extended"}
    renew : bool
        Whether updates renew the known entries of `F_y`.

    Attributes
    ----------
    jacobians : int
        Evaluations of `F_y` (#Je in the tables of [Arnold]).
    updates : int
        Updates without an evaluation of `F_y`.
    calls : int
        Evaluations of the residual for matrices.
    growths : int
        Extensions of an estimated pattern.
    mixed : int
        Mixed second derivatives that were evaluated.
    log : list of Entry
        All evaluations and updates.
    """

    def __init__(self, problem: Differentiable, source: Source, update: str = "plain", renew: bool = True) -> None:
        self._problem, self.source, self._keeps, self._renews = problem, source, update != "plain", renew
        self._wants_mixed = update == "extended" and problem.system.excitation is not None
        self._mixed: MixedDerivatives | None = None
        self._probe = Probe(residual_of(problem), problem.pattern)
        self.jacobians = self.updates = 0
        self.log: list[Entry] = []
        self._last: Request | None = None
        self._searches = False  # whether the next evaluation looks for missing entries
        self._retries = 0  # consecutive requests within one step

    @property
    def calls(self) -> int:
        return self.source.calls + self._probe.calls

    @property
    def growths(self) -> int:
        return self.source.growths

    @property
    def mixed(self) -> int:
        return self._mixed.found if self._mixed else 0

    # for solvers with separate requests for evaluations and updates ------------------------------------------------------------

    def evaluate(self, t: float, y: Vector, yd: Vector, c: float, residual: Vector | None = None) -> Vector:
        """`F_y + c F_yd` at this state, values in the order of `problem.pattern`.

        Parameters
        ----------
        t : float
        y, yd : ndarray, shape (n,)
        c : float
        residual : ndarray, shape (m,), optional
            `F(t, y, yd)` if it is known.
        """
        if self._keeps or self.source.known:
            known, rate = self._problem.known.evaluate(t, y, yd)
            self._f_y = self.source.state(t, y, yd, known, residual)
            values = self._f_y + c * rate
        else:
            values = self.source.folded(t, y, yd, c, residual)
        if self._wants_mixed and self._mixed is None:
            self._mixed = self._second_derivatives(y, yd)
        self._t_state = t
        self._note_evaluation(t, c)
        return values

    def update(self, t: float, y: Vector, yd: Vector, c: float) -> Vector | None:
        """The same with `F_y` of the last evaluation; `None` if it is not stored."""
        if not self._keeps:
            return None
        self._note(t, c, "update")
        self.updates += 1
        return self._updated(t, y, yd, c)

    def suspect(self) -> bool:
        """Newton's method is slow with a new matrix. Returns whether the next evaluation will look for missing entries."""
        if self._searches:
            return False
        self._searches = self.source.grow()
        return self._searches

    # for solvers that request a matrix without a reason ---------------------------------------------------------------------

    def values(self, t: float, y: Vector, yd: Vector, c: float, residual: Vector | None = None) -> Vector:
        """`F_y + c F_yd` for a callback of a solver.

        DASSL and its relatives request a matrix when `c` has changed by more than a factor 0.6, or when convergence is slow. In the first
        case `F_y` is reused if its error is small, otherwise it is evaluated. A second request in the same step means that Newton's method
        has not converged: `F_y` is evaluated, and if it was new, the estimated pattern may lack entries. In further requests nothing is
        reused.
        """
        if self._last is None or c == 0.0:
            return self._complete(t, y, yd, c, residual)
        stuck, fresh = self._stuck(self._last, t, c), self._last.evaluated
        self._retries = self._retries + 1 if stuck else 0
        if stuck and fresh:
            self.suspect()
        if self._keeps and self._changed(self._last, c) and (not stuck or (fresh and self._retries == 1 and not self._searches)):
            values = self._updated(t, y, yd, c)
            if self._probe.fits(values, t - self._t_state, t, y, yd, c, residual):
                self._note(t, c, "update")
                self.updates += 1
                return values
        return self._complete(t, y, yd, c, residual)

    def parts(self, t: float, y: Vector, yd: Vector) -> tuple[Vector, Vector]:
        """`(F_y, F_yd)`, for solvers that combine them and request them because of the state only."""
        known, rate = self._problem.known.evaluate(t, y, yd)
        self._f_y, self._t_state = self.source.state(t, y, yd, known), t
        self._note_evaluation(t, 0.0)
        if self._lacks(self._f_y, t, y, yd, 0.0, None):
            self._f_y = self.source.state(t, y, yd, known)
            self._note_evaluation(t, 0.0)
        return self._f_y, rate

    # ------------------------------------------------------------------------------------------------------------------------

    def _complete(self, t: float, y: Vector, yd: Vector, c: float, residual: Vector | None) -> Vector:
        """An evaluation, repeated if it lacks entries."""
        values = self.evaluate(t, y, yd, c, residual)
        return self.evaluate(t, y, yd, c, residual) if self._lacks(values, t, y, yd, c, residual) else values

    def _lacks(self, values: Vector, t: float, y: Vector, yd: Vector, c: float, residual: Vector | None) -> bool:
        """Whether entries are missing from an estimated pattern; some solvers request no other matrix when Newton's method fails."""
        if self.log[-1].kind == "growth" or len(self.log) == 1 or not self.source.may_lack:
            return False
        return not self._probe.error(values, t, y, yd, c, residual) < MAX_ERROR and self.suspect()

    def _updated(self, t: float, y: Vector, yd: Vector, c: float) -> Vector:
        known, rate = self._problem.known.evaluate(t, y, yd)
        values = self._f_y + c * rate
        if self._mixed is not None:
            values += self._mixed.change(self._t_state, t)
        if self._renews:  # including their change by the excitations
            np.copyto(values, known + c * rate, where=self._problem.known.mask)
        return values

    @staticmethod
    def _stuck(last: Request, t: float, c: float) -> bool:
        """Whether the solver has not advanced since its last request."""
        return bool((t - last.t) * np.sign(c) <= 0.0)

    @staticmethod
    def _changed(last: Request, c: float) -> bool:
        """Whether `c` has changed enough to be the reason of the request."""
        return not MAX_RATIO * (1.0 + ROUNDING) < c / last.c < (1.0 - ROUNDING) / MAX_RATIO

    def _note_evaluation(self, t: float, c: float) -> None:
        self._note(t, c, "growth" if self._searches else "jacobian")
        self._searches = False
        self.jacobians += 1

    def _note(self, t: float, c: float, kind: str) -> None:
        self._last = Request(t, c, kind != "update")
        self.log.append(Entry(t, kind))

    def _second_derivatives(self, y: Vector, yd: Vector) -> MixedDerivatives:
        """`MixedDerivatives` at the state of the first evaluation."""
        y0, yd0, problem = y.copy(), yd.copy(), self._problem

        def f_y(t: float) -> Vector:
            return self.source.state(t, y0, yd0, problem.known.evaluate(t, y0, yd0)[0])

        return MixedDerivatives(problem.system.excitation, f_y)
