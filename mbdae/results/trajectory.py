"""The result of a method: stored states, status and work counters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.interpolate import CubicHermiteSpline

from ..typing import ArrayLike, Flags, FullState, Integers, Matrix, Vector
from .choice import Choice, distinct
from .rows import Columns
from .statistics import Statistics, summed
from .status import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..system.system import System
    from .solution import Solution


COLUMNS = ("t", "q", "v", "a", "lam")


@dataclass
class Trajectory:
    """States at `n` times, one row each: `t` (n,), `q` (n, nq), `v` and `a` (n, nv), `lam` (n, nc).

    `end`: the time after which events and dense output are not valid, if that is before the end of the run. `choices`: the methods of an
    automatic run.
    """

    t: Vector
    q: Matrix
    v: Matrix
    a: Matrix
    lam: Matrix
    statistics: Statistics
    status: Status
    message: str
    end: float | None = None
    choices: tuple[Choice, ...] = ()

    def thinned(self, every: int) -> Trajectory:
        """Every `every`-th state, and the last one."""
        n = len(self.t)
        return self._rows(np.unique(np.append(np.arange(0, n, every), n - 1)) if n else np.arange(0))

    def up_to(self, end: float, t0: float) -> Trajectory:
        """The states of a run from `t0` up to the time `end`."""
        return self.first(int(np.sum(np.abs(self.t - t0) <= abs(end - t0))))

    def first(self, n: int) -> Trajectory:
        """The first `n` states, in the same memory."""
        return replace(self, t=self.t[:n], q=self.q[:n], v=self.v[:n], a=self.a[:n], lam=self.lam[:n])

    def after(self, columns: Columns) -> Trajectory:
        """With these states before its own."""
        t, q, v, a, lam = (np.concatenate(x) for x in zip(columns, (self.t, self.q, self.v, self.a, self.lam)))
        return replace(self, t=t, q=q, v=v, a=a, lam=lam)

    def before(self, end: float, t0: float) -> Trajectory:
        """The states of a run from `t0` before the time `end`."""
        return self._rows(np.flatnonzero(np.abs(self.t - t0) < abs(end - t0)))

    def followed_by(self, t: float, state: FullState) -> Trajectory:
        """With one more state `(q, v, a, lam)`."""
        t_all, q, v, a, lam = (np.concatenate([getattr(self, name), np.asarray(x)[None]]) for name, x in zip(COLUMNS, (t, *state)))
        return replace(self, t=t_all, q=q, v=v, a=a, lam=lam)

    def _rows(self, keep: Integers) -> Trajectory:
        return replace(self, t=self.t[keep], q=self.q[keep], v=self.v[keep], a=self.a[keep], lam=self.lam[keep])


def joined(parts: Sequence[Trajectory]) -> Trajectory:
    """One trajectory, with the status of the last part; counters are summed up."""
    t, q, v, a, lam = (np.concatenate([getattr(p, name) for p in parts]) for name in COLUMNS)
    choices = distinct([choice for part in parts for choice in part.choices])
    return replace(parts[-1], t=t, q=q, v=v, a=a, lam=lam, statistics=summed([p.statistics for p in parts]), choices=choices)


class DenseOutput:
    """States between the stored times of a trajectory or solution.

    Cubic Hermite interpolation of `q` and `v`, of order 4 in the distance of the stored times; linear interpolation of `lam`. The accuracy
    is that of the method only if every step has been stored. Where the state jumps the value is that after the jump.
    """

    def __init__(self, system: System, trajectory: Trajectory | Solution) -> None:
        s = trajectory
        order = np.argsort(s.t, kind="stable")
        t, q, v, a, lam = (x[order] for x in (s.t, s.q, s.v, s.a, s.lam))
        t, keep = _distinct(t)
        q, v, a, lam = (x[keep] for x in (q, v, a, lam))
        rates = np.array([system.qdot(x, w, at) for at, x, w in zip(t, q, v)])
        self.t, self.lam = t, lam
        self._q, self._v = CubicHermiteSpline(t, q, rates, axis=0), CubicHermiteSpline(t, v, a, axis=0)
        self._a = self._v.derivative()

    def __call__(self, t: ArrayLike) -> FullState:
        """`(q, v, a, lam)` at one time or at many (one row each)."""
        t = np.asarray(t, dtype=float)
        if t.size and (t.min() < self.t[0] - 1e-12 or t.max() > self.t[-1] + 1e-12):
            raise ValueError(f"dense output: t must lie in [{self.t[0]:g}, {self.t[-1]:g}]")
        k = np.clip(np.searchsorted(self.t, t, side="right") - 1, 0, len(self.t) - 2)
        w = np.asarray((t - self.t[k]) / (self.t[k + 1] - self.t[k]))[..., None]
        return self._q(t), self._v(t), self._a(t), (1.0 - w) * self.lam[k] + w * self.lam[k + 1]


def _distinct(t: Vector) -> tuple[Vector, Flags]:
    """Increasing times, and the rows that they belong to: of equal times the first, moved back by rounding, and the last."""
    first, last = np.diff(t, prepend=-np.inf) > 0.0, np.diff(t, append=np.inf) > 0.0
    return np.where(last, t, np.nextafter(t, -np.inf))[first | last], first | last
