"""The evaluations of a system as they are called from Python: checked arguments, new arrays as results."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from ..model.mechanism import Mechanism
from ..typing import ArrayLike, Bytes, Matrix, Vector
from . import evaluate as ev
from . import layout as lay
from .build import Pattern
from .callbacks import Callbacks
from .culprit import not_finite_at
from .from_functions import UserFunctions


class KktSolution(NamedTuple):
    """The solution of `M x + Phi_q^T lam = b`, `Phi_q x = c`, and the number of dependent rows of `Phi_q`."""

    x: Vector
    lam: Vector
    dependent: int


class Evaluations:
    """What every system evaluates; the tables and the scratch are those of the class that derives from it."""

    name: str
    mechanism: Mechanism | None
    nq: int
    nv: int
    nc: int
    pattern: Pattern
    callbacks: Callbacks
    _functions: UserFunctions  # in a system of functions only
    _model: Bytes
    _work: Vector

    def mass(self, t: float, q: ArrayLike) -> Matrix:
        """`M(q)`, shape (nv, nv)."""
        return self._checked(ev.mass(t, self._q(q), self._model, self._work), "M", t, q)

    def mass_times(self, t: float, q: ArrayLike, x: ArrayLike) -> Vector:
        """`M(q) x`, shape (nv,), block by block."""
        return self._checked(ev.mass_times(t, self._q(q), self._v(x), self._model, self._work), "M x", t, q)

    def force(self, t: float, q: ArrayLike, v: ArrayLike, lam: ArrayLike | None = None) -> Vector:
        """`Q(t, q, v)`, shape (nv,); `lam` matters only with joint friction."""
        lam = np.zeros(self.nc) if lam is None else _array(lam, self.nc, "lam")
        return self._checked(ev.force(t, self._q(q), self._v(v), lam, self._model, self._work), "Q", t, q, v)

    def phi(self, t: float, q: ArrayLike) -> Vector:
        """`Phi(t, q)`, shape (nc,)."""
        return self._checked(ev.phi(t, self._q(q), self._model, self._work), "Phi", t, q)

    def phi_q(self, t: float, q: ArrayLike) -> csr_array:
        """`Phi_q(t, q)` with respect to the velocity coordinates, a SciPy CSR array (nc, nv)."""
        values = self.phi_q_entries(t, q)
        return csr_array((values, self.pattern.col, self.pattern.ptr), shape=(self.nc, self.nv))

    def phi_q_entries(self, t: float, q: ArrayLike) -> Vector:
        """The entries of `phi_q` in the order of its `data`; a matrix around them takes longer to make than to evaluate."""
        return self._checked(ev.phi_q(t, self._q(q), self._model, self._work), "Phi_q", t, q)

    def nu(self, t: float, q: ArrayLike) -> Vector:
        """`nu(t, q) = -Phi_t`, shape (nc,)."""
        return self._checked(ev.nu(t, self._q(q), self._model, self._work), "nu", t, q)

    def gamma(self, t: float, q: ArrayLike, v: ArrayLike) -> Vector:
        """`gamma(t, q, v)`, right-hand side of `Phi_q a = gamma`, shape (nc,)."""
        return self._checked(ev.gamma(t, self._q(q), self._v(v), self._model, self._work), "gamma", t, q, v)

    def qdot(self, q: ArrayLike, v: ArrayLike, t: float = 0.0) -> Vector:
        """`T(q) v`, shape (nq,)."""
        return self._checked(ev.qdot(t, self._q(q), self._v(v), self._model, np.empty(self.nq)), "qdot")

    def retract(self, q: ArrayLike, d: ArrayLike) -> Vector:
        """`q (+) d`, shape (nq,): translations add, rotations multiply by the exponential of `d`."""
        return self._checked(ev.retract(self._q(q), self._v(d), self._model, np.empty(self.nq)), "retract")

    def difference(self, q: ArrayLike, q0: ArrayLike) -> Vector:
        """`q (-) q0`, shape (nv,): the displacement that leads from `q0` to `q`."""
        return self._checked(ev.difference(self._q(q), self._q(q0), self._model, np.empty(self.nv)), "difference")

    def solve_kkt(self, t: float, q: ArrayLike, b: ArrayLike, c: ArrayLike) -> KktSolution:
        """`M x + Phi_q^T lam = b`, `Phi_q x = c`; returns `(x, lam, dependent)`, see `KktSolution`."""
        b, c = _array(b, self.nv, "b"), _array(c, self.nc, "c")
        model = self._model.copy() if lay.count(self._model, lay.DEPENDENT) else self._model  # independent of earlier calls
        x, lam, dependent = ev.solve_kkt(t, self._q(q), b, c, model, self._work)
        self._checked(x, "x")
        return KktSolution(x, lam, dependent)

    def kinetic_energy(self, t: float, q: ArrayLike, v: ArrayLike) -> float:
        """`1/2 v . M v`."""
        return 0.5 * float(np.asarray(v) @ self.mass_times(t, q, v))

    def energy(self, t: float, q: ArrayLike, v: ArrayLike) -> float:
        """Kinetic energy plus the potentials of gravity and of linear springs; `nan` for user systems without an energy function."""
        if self.mechanism is None:
            return self._functions.total_energy(t, self._q(q).copy(), self._v(v).copy())
        return float(ev.energy(t, self._q(q), self._v(v), self._model, self._work))

    def _q(self, q: ArrayLike) -> Vector:
        return _array(q, self.nq, "q")

    def _v(self, v: ArrayLike) -> Vector:
        return _array(v, self.nv, "v")

    def _checked(self, result: Vector, what: str, t: float | None = None, q: ArrayLike = (), v: ArrayLike | None = None) -> Vector:
        """The result, unless a user function has raised or something is not finite; the function that is to blame is named."""
        if not np.isfinite(result).all():
            self.callbacks.raise_pending()
            system: Any = self
            blame = None if t is None else not_finite_at(system, t, self._q(q), np.zeros(self.nv) if v is None else self._v(v))
            raise FloatingPointError(f"{self.name}: {what} is not finite" + (f": {blame}" if blame else ""))
        return result


def _array(x: ArrayLike, n: int, what: str) -> Vector:
    x = np.ascontiguousarray(x, dtype=float)
    if x.shape != (n,):
        hint = "" if x.size != 1 else ", a single number: is it the time, which comes first?"
        raise ValueError(f"{what} must have shape ({n},), got {x.shape}{hint}")
    return x
