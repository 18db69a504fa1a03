"""A local parametrisation of the constraint manifold, and the test when another one serves better."""

from contextlib import suppress
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..results.diagnosis import ChartError, explain
from ..results.status import Status
from ..system.assembly import State
from ..system.codes import GOOD
from ..system.evaluate import refine
from ..system.system import System
from . import choice
from .condition import MAX_GROWTH, condition
from .configuration import complete, prepare
from .motion import evaluate
from .store import Bases, Factors, adopt, bases, new_store

MAX_CONDITION_RATIO = 0.9  # condition of a new chart, relative to the old one, below which it is worth a restart

Vector = NDArray[np.float64]


class Chart:
    """Independent coordinates `z = P q` of a system near a state.

    Parameters
    ----------
    system : System
    parametrisation : {"partition", "tangent"}
        `P` selects coordinates, or is an orthonormal basis of the plane tangent to the constraints.
    pivots : {"angles", "unscaled"}
        Which coordinates `P` selects, see `choice.partition`; of no meaning for `"tangent"`, where it must be left at its default.

    Attributes
    ----------
    n : int
        Number of degrees of freedom.
    P : ndarray, shape (n, nq)
    model, store, work : ndarray
        For kernels, see `mbdae.charts.store`; prepared at some configuration.
    first : float
        Condition number where the chart was chosen, or confirmed as the best one.

    Raises
    ------
    ValueError
        If the parametrisation or the rule for pivots is unknown, or the system has no degree of freedom.
    """

    def __init__(self, system: System, parametrisation: str, pivots: str = "angles") -> None:
        _check(parametrisation, pivots)
        self.system, self.parametrisation, self.pivots, self.n = system, parametrisation, pivots, system.freedom
        if self.n == 0:
            raise ValueError(f"{system.name} has no degree of freedom: its motion is prescribed, so there are no equations in independent "
                             "coordinates; use an index form")
        self._choose = partial(choice.partition, pivots=pivots) if parametrisation == "partition" else choice.tangent
        self.P, self.work, self.first = np.zeros((self.n, system.nq)), system.workspace(), np.inf
        self.model = system.model
        self.store = new_store(system, self.P)

    @property
    def factors(self) -> Factors:
        """What kernels need of the chart."""
        return Factors(self.n, self.store, self.model, self.work)

    @property
    def bases(self) -> Bases:
        """Views of the matrices in `store`, all of them at the configuration of the factors."""
        self.complete()
        found: Bases = bases(self.n, self.model, self.store)
        return found

    def complete(self) -> None:
        """The basis at the configuration of the factors.

        Raises
        ------
        ChartError
            If the coordinates are not independent there.
        """
        if complete(self.n, self.store, self.model, self.work) != GOOD:
            raise ChartError(Status.CHART_LOST, f"{self.system.name}: the independent coordinates are no longer independent")

    def centre(self, t: float, q: Vector) -> None:
        """Choose the coordinates anew at `q`, in the same arrays.

        Raises
        ------
        ChartError
            At a singular position.
        """
        self._adopt(self._choose(self.system, t, q))
        self.first = self._prepared(t, q)

    def ill_conditioned(self, t: float, q: Vector) -> bool:
        """Whether the condition has grown and other coordinates at `q` would be much better; the factors are those of `q` afterwards."""
        condition_here = self._prepared(t, q)
        return condition_here > MAX_GROWTH * self.first and self.outdone(t, q, condition_here)

    def outdone(self, t: float, q: Vector, condition_here: float) -> bool:
        """Whether a better chart exists at `q`, where this one has the given condition; if not, this condition is the new reference."""
        P = self._choose(self.system, t, q)
        if not np.array_equal(P, self.P):
            other = Chart(self.system, self.parametrisation, self.pivots)
            other._adopt(P)
            with suppress(ChartError):  # a chart that cannot be evaluated is not better
                if other._prepared(t, q) < MAX_CONDITION_RATIO * condition_here:
                    return True
        self.first = condition_here
        return False

    def choose(self, t: float, q: Vector) -> Vector:
        """The `P` that would be chosen at `q`."""
        chosen: Vector = self._choose(self.system, t, q)
        return chosen

    def coordinates(self, t: float, q: Vector, v: Vector) -> tuple[Vector, Vector]:
        """`(z, z')` of a state."""
        return self.P @ q, self.P @ self.system.qdot(q, v, t)

    def state(self, t: float, z: Vector, zd: Vector, guess: Vector, lam: Vector) -> State:
        """The `State` at `(z, z')`, refined to rounding; `guess` are positions near it, `lam` initial values where friction iterates.

        Raises
        ------
        ChartError
        """
        s = self.system
        q, v, a, lam, zdd = guess.copy(), np.empty(s.nv), np.empty(s.nv), lam.copy(), np.empty(self.n)
        code = evaluate(t, z, zd, q, v, a, lam, zdd, self.factors)
        self.check(code, t, q)
        refine(t, q, v, a, lam, self.model, self.work)
        return State(float(t), q, v, a, lam)

    def _adopt(self, P: Vector) -> None:
        self.P[:] = P
        adopt(self.system, P, self.store)

    def _prepared(self, t: float, q: Vector) -> float:
        """Factorise at `q`; the condition there."""
        self.check(prepare(t, q, self.n, self.store, self.model, self.work), t, q)
        return float(condition(t, q, self.n, self.store, self.model, self.work))

    def check(self, code: int, t: float, q: Vector) -> None:
        """Raise a `ChartError` that explains a code other than `GOOD`."""
        if code != GOOD:
            self.system.callbacks.raise_pending()
            status, reason = explain(self.system, code, self.work, t, q)
            raise ChartError(status, f"{self.system.name} at t = {t:.9g}: {reason}")


def _check(parametrisation: object, pivots: object) -> None:
    """Raise a `ValueError` for a parametrisation or a rule for pivots that there is not."""
    for name, value, known in (("parametrisation", parametrisation, choice.PARAMETRISATIONS), ("pivots", pivots, choice.PIVOTS)):
        if not isinstance(value, str) or value not in known:
            raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}")
    if parametrisation == "tangent" and pivots != "angles":
        raise ValueError(f"pivots={pivots!r} selects coordinates and has no meaning for 'tangent'; use the parametrisation 'partition'")
