"""The chart in which a motion is described, and its exchange for another one."""

from contextlib import suppress

import numpy as np

from ..results.diagnosis import ChartError, explain
from ..system.assembly import State
from ..system.codes import GOOD
from ..system.motion import refine
from . import choice
from .condition import MAX_GROWTH, condition
from .configuration import prepare
from .motion import evaluate
from .store import new_store

BETTER = 0.9  # what a new chart must have of the condition of the old one to be worth a restart


class Chart:
    """Independent coordinates `z = P q` of a system, around some state.

    Parameters
    ----------
    system : System
    parametrisation : {"partition", "tangent"}
        `P` selects coordinates, or is an orthonormal basis of the plane tangent to the constraints.

    Attributes
    ----------
    n : int
        Number of degrees of freedom.
    P : ndarray, shape (n, nq)
    model, store, work : ndarray
        For kernels, see `mbdae.charts.store`; prepared at some configuration.
    first : float
        Condition at which the chart was chosen, or found to be still the best.

    Raises
    ------
    ValueError
        If the parametrisation is unknown, or nothing can move freely.
    """

    def __init__(self, system, parametrisation):
        if parametrisation not in choice.PARAMETRISATIONS:
            raise ValueError(f"parametrisation must be one of {', '.join(choice.PARAMETRISATIONS)}, got {parametrisation!r}")
        self.system, self.parametrisation, self.n = system, parametrisation, system.freedom
        if self.n == 0:
            raise ValueError(f"{system.name} has no degree of freedom: its motion is prescribed, and there is nothing left to integrate; "
                             "its index forms serve")
        self._choose = getattr(choice, parametrisation)
        self.P, self.work, self.first = np.zeros((self.n, system.nq)), system.workspace(), np.inf
        self.model = system.model
        self.store = new_store(system, self.P)

    def centre(self, t, q):
        """Choose the chart anew at `q`, in the same arrays.

        Raises
        ------
        ChartError
            At a singular position.
        """
        self._adopt(self._choose(self.system, t, q))
        self.first = self._prepared(t, q)

    def ill_conditioned(self, t, q):
        """Whether a new chart at `q` would be much better than this one; prepared there afterwards."""
        now = self._prepared(t, q)
        return now > MAX_GROWTH * self.first and self.outdone(t, q, now)

    def outdone(self, t, q, now):
        """Whether there is a better chart at `q`, where the condition is `now`; if there is none, this one counts as new."""
        P = self._choose(self.system, t, q)
        if not np.array_equal(P, self.P):
            other = Chart(self.system, self.parametrisation)
            other._adopt(P)
            with suppress(ChartError):  # which is no better
                if other._prepared(t, q) < BETTER * now:
                    return True
        self.first = now
        return False

    def choose(self, t, q):
        """The `P` that would be chosen at `q`."""
        return self._choose(self.system, t, q)

    def coordinates(self, t, q, v):
        """`(z, z')` of a state."""
        return self.P @ q, self.P @ self.system.qdot(q, v, t)

    def state(self, t, z, zd, guess, lam):
        """The `State` at `(z, z')`, without rounding; `guess` are positions near it, `lam` multipliers where friction needs a guess.

        Raises
        ------
        ChartError
        """
        s = self.system
        q, v, a, lam, zdd = guess.copy(), np.empty(s.nv), np.empty(s.nv), lam.copy(), np.empty(self.n)
        code = evaluate(t, z, zd, q, v, a, lam, zdd, self.store, self.model, self.work)
        self.check(code, t, q)
        refine(t, q, v, a, lam, self.model, self.work)
        return State(float(t), q, v, a, lam)

    def _adopt(self, P):
        self.P[:] = P
        self.store[:P.size] = P.ravel()

    def _prepared(self, t, q):
        """Prepare at `q`; the condition there."""
        self.check(prepare(t, q, self.n, self.store, self.model, self.work), t, q)
        return condition(t, q, self.n, self.store, self.model, self.work)

    def check(self, code, t, q):
        """Raise a `ChartError` that explains a code other than `GOOD`."""
        if code != GOOD:
            self.system.callbacks.raise_pending()
            status, reason = explain(self.system, code, self.work, t, q)
            raise ChartError(status, f"{self.system.name} at t = {t:.9g}: {reason}")
