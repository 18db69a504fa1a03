"""Partitioned updates: `F_y` is kept while only the leading coefficient `c` in `F_y + c F_yd` has changed."""

import numpy as np

from .extended import MixedDerivatives

STEADY = 0.6  # a solver of the DASSL kind asks because of `c` only if it has changed by more than this factor
ROUNDING = 1e-6


class PartitionedJacobian:
    """`F_y + c F_yd` of one run, evaluated anew or updated.

    An update is `F_y(old) + c F_yd(new)`, which is [Arnold, eq. (24)] for the explicit form of the equations and (25) for the residual
    one, where `F_yd` holds the mass matrix at the new positions; "extended" adds what the excitations change in `F_y` [Arnold, eq. (26)].

    Parameters
    ----------
    problem : Problem
    source : object
        See `mbdae.jacobians.sources`.
    update : {"plain", "partitioned", "extended"}

    Attributes
    ----------
    jacobians : int
        Evaluations of `F_y` (#Je in the tables of [Arnold]).
    updates : int
        Cheap updates.
    calls : int
        Evaluations of the residual, those for mixed derivatives included.
    growths : int
        Extensions of an estimated pattern.
    mixed : int
        Mixed second derivatives that were found.
    log : list of (float, str)
        Time and kind of everything that was done: "jacobian", "update", "growth".
    """

    def __init__(self, problem, source, update="plain"):
        self._problem, self.source, self._keeps = problem, source, update != "plain"
        self._wants_mixed = update == "extended" and problem.system.excitation is not None
        self._mixed = None
        self.jacobians = self.updates = 0
        self.log = []
        self._last = None  # (t, c, whether F_y was evaluated)
        self._looks = False

    calls = property(lambda self: self.source.calls)
    growths = property(lambda self: self.source.growths)
    mixed = property(lambda self: self._mixed.found if self._mixed else 0)

    # for solvers that decide themselves ------------------------------------------------------------------------------------

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
        known, rate = self._problem.known.evaluate(t, y, yd)
        if not self._keeps and not self.source.known:
            values = self.source.folded(t, y, yd, c, residual)
        else:
            self._f_y = self.source.state(t, y, yd, known, residual)
            values = self._f_y + c * rate
        if self._wants_mixed and self._mixed is None:
            self._mixed = self._second_derivatives(y, yd)
        self._t_state = t
        self._note(t, c, "growth" if self._looks else "jacobian")
        self._looks = False
        self.jacobians += 1
        return values

    def update(self, t, y, yd, c):
        """The same with `F_y` of the last evaluation, or `None` where nothing is kept."""
        if not self._keeps:
            return None
        values = c * self._problem.known.evaluate(t, y, yd)[1]
        values += self._f_y
        if self._mixed is not None:
            values += self._mixed.change(self._t_state, t)
        self._note(t, c, "update")
        self.updates += 1
        return values

    def suspect(self):
        """Newton's method is slow although the matrix is fresh. Returns whether the next evaluation will look for missing entries."""
        if self._looks:
            return False
        self._looks = self.source.grow()
        return self._looks

    # for solvers that only ask ---------------------------------------------------------------------------------------------

    def values(self, t, y, yd, c):
        """`F_y + c F_yd` for a callback that does not tell why it is called.

        Solvers of the DASSL kind ask because of `c` when it has changed by more than a factor 0.6; otherwise it is the state that calls
        for work. If they ask again in the same step, what they got did not help: then the state is evaluated, and if it has been, the
        pattern is in doubt.
        """
        if self._last is None or not self._keeps and not self._stuck(t, c):
            return self.evaluate(t, y, yd, c)
        if self._stuck(t, c):
            helped = not self._last[2] or not self.suspect()
            if self._keeps and self._last[2] and helped and self._changed(c):
                return self.update(t, y, yd, c)
            return self.evaluate(t, y, yd, c)
        return self.update(t, y, yd, c) if self._changed(c) else self.evaluate(t, y, yd, c)

    def parts(self, t, y, yd):
        """`(F_y, F_yd)`, for solvers that put them together themselves and therefore ask because of the state only."""
        known, rate = self._problem.known.evaluate(t, y, yd)
        self.jacobians += 1
        self._note(t, 1.0, "jacobian")
        return self.source.state(t, y, yd, known), rate

    # ------------------------------------------------------------------------------------------------------------------------

    def _stuck(self, t, c):
        """Whether the solver has not got beyond the time of its last request."""
        return (t - self._last[0]) * np.sign(c) <= 0.0

    def _changed(self, c):
        return not STEADY * (1.0 + ROUNDING) < c / self._last[1] < (1.0 - ROUNDING) / STEADY

    def _note(self, t, c, what):
        self._last = t, c, what != "update"
        self.log.append((t, what))

    def _second_derivatives(self, y, yd):
        """At the state of the first evaluation."""
        y0, yd0, problem = y.copy(), yd.copy(), self._problem

        def f_y(t):
            return self.source.state(t, y0, yd0, problem.known.evaluate(t, y0, yd0)[0])

        return MixedDerivatives(problem.system.excitation, f_y)
