"""Partitioned updates: `F_y` is kept while only the leading coefficient `c` in `F_y + c F_yd` has changed."""

import numpy as np

from .extended import MixedDerivatives
from .probe import LIMIT, Probe
from .sources import residual_of

STEADY = 0.6  # a solver of the DASSL kind asks because of `c` only if it has changed by more than this factor
ROUNDING = 1e-6


class PartitionedJacobian:
    """`F_y + c F_yd` of one run, evaluated anew or updated.

    An update is `F_y(old) + c F_yd(new)`, which is [Arnold, eq. (24)] for the explicit form of the equations and (25) for the residual
    one, where `F_yd` holds the mass matrix at the new positions. What is known of `F_y` without differences (see `Known`) is renewed
    too, if wanted; "extended" adds what the excitations change in the rest [Arnold, eq. (26)].

    Parameters
    ----------
    problem : Problem
    source : object
        See `mbdae.jacobians.sources`.
    update : {"plain", "partitioned", "extended"}
    renew : bool
        Whether updates renew the entries of `F_y` that are known.

    Attributes
    ----------
    jacobians : int
        Evaluations of `F_y` (#Je in the tables of [Arnold]).
    updates : int
        Cheap updates.
    calls : int
        Evaluations of the residual for all this.
    growths : int
        Extensions of an estimated pattern.
    mixed : int
        Mixed second derivatives that were found.
    log : list of (float, str)
        Time and kind of everything that was done: "jacobian", "update", "growth".
    """

    def __init__(self, problem, source, update="plain", renew=True):
        self._problem, self.source, self._keeps, self._renews = problem, source, update != "plain", renew
        self._wants_mixed = update == "extended" and problem.system.excitation is not None
        self._mixed = None
        self._probe = Probe(residual_of(problem), problem.pattern)
        self.jacobians = self.updates = 0
        self.log = []
        self._last = None  # (t, c, whether F_y was evaluated)
        self._looks = False
        self._retries = 0  # requests in a row within one step

    @property
    def calls(self):
        return self.source.calls + self._probe.calls

    @property
    def growths(self):
        return self.source.growths

    @property
    def mixed(self):
        return self._mixed.found if self._mixed else 0

    # for solvers that know why they ask ------------------------------------------------------------------------------------

    def evaluate(self, t, y, yd, c, residual=None):
        """`F_y + c F_yd` at this state, values in the order of `problem.pattern`.

        Parameters
        ----------
        t : float
        y, yd : ndarray, shape (n,)
        c : float
        residual : ndarray, shape (m,), optional
            `F(t, y, yd)`, which saves an evaluation.
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

    def update(self, t, y, yd, c):
        """The same with `F_y` of the last evaluation, or `None` where nothing is kept."""
        if not self._keeps:
            return None
        self._note(t, c, "update")
        self.updates += 1
        return self._updated(t, y, yd, c)

    def suspect(self):
        """Newton's method is slow although the matrix is fresh. Returns whether the next evaluation will look for missing entries."""
        if self._looks:
            return False
        self._looks = self.source.grow()
        return self._looks

    # for solvers that only ask ---------------------------------------------------------------------------------------------

    def values(self, t, y, yd, c, residual=None):
        """`F_y + c F_yd` for a callback that does not tell why it is called.

        Solvers of the DASSL kind ask because of `c` when it has changed by more than a factor 0.6; otherwise it is the state that calls
        for work. It does so, too, if an old `F_y` no longer fits. If the solver asks again in the same step, what it got did not help:
        then the state is evaluated, and if it has been, the pattern is in doubt. Where a step keeps failing nothing is kept.
        """
        if self._last is None or c == 0.0:
            return self._complete(t, y, yd, c, residual)
        stuck, fresh = self._stuck(t, c), self._last[2]
        self._retries = self._retries + 1 if stuck else 0
        if stuck and fresh:
            self.suspect()
        if self._keeps and self._changed(c) and (not stuck or (fresh and self._retries == 1 and not self._looks)):
            values = self._updated(t, y, yd, c)
            if self._probe.fits(values, t - self._t_state, t, y, yd, c, residual):
                self._note(t, c, "update")
                self.updates += 1
                return values
        return self._complete(t, y, yd, c, residual)

    def parts(self, t, y, yd):
        """`(F_y, F_yd)`, for solvers that put them together themselves and therefore ask because of the state only."""
        known, rate = self._problem.known.evaluate(t, y, yd)
        self._f_y = self.source.state(t, y, yd, known)
        self._note_evaluation(t, 0.0)
        if self._lacks(self._f_y, t, y, yd, 0.0, None):
            self._f_y = self.source.state(t, y, yd, known)
            self._note_evaluation(t, 0.0)
        return self._f_y, rate

    # ------------------------------------------------------------------------------------------------------------------------

    def _complete(self, t, y, yd, c, residual):
        """An evaluation, repeated if it lacks entries."""
        values = self.evaluate(t, y, yd, c, residual)
        return self.evaluate(t, y, yd, c, residual) if self._lacks(values, t, y, yd, c, residual) else values

    def _lacks(self, values, t, y, yd, c, residual):
        """Whether entries are missing from an estimated pattern. Not every solver asks again when Newton's method fails."""
        if self.log[-1][1] == "growth" or len(self.log) == 1 or not self.source.may_lack:
            return False
        return not self._probe.error(values, t, y, yd, c, residual) < LIMIT and self.suspect()

    def _updated(self, t, y, yd, c):
        known, rate = self._problem.known.evaluate(t, y, yd)
        values = self._f_y + c * rate
        if self._mixed is not None:
            values += self._mixed.change(self._t_state, t)
        if self._renews:  # with all that the excitations do to them
            np.copyto(values, known + c * rate, where=self._problem.known.mask)
        return values

    def _stuck(self, t, c):
        """Whether the solver has not got beyond the time of its last request."""
        return (t - self._last[0]) * np.sign(c) <= 0.0

    def _changed(self, c):
        return not STEADY * (1.0 + ROUNDING) < c / self._last[1] < (1.0 - ROUNDING) / STEADY

    def _note_evaluation(self, t, c):
        self._note(t, c, "growth" if self._looks else "jacobian")
        self._looks = False
        self.jacobians += 1

    def _note(self, t, c, what):
        self._last = t, c, what != "update"
        self.log.append((t, what))

    def _second_derivatives(self, y, yd):
        """At the state of the first evaluation."""
        y0, yd0, problem = y.copy(), yd.copy(), self._problem

        def f_y(t):
            return self.source.state(t, y0, yd0, problem.known.evaluate(t, y0, yd0)[0])

        return MixedDerivatives(problem.system.excitation, f_y)
