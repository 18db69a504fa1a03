"""Accepted steps with the interpolant of the method, for dense output and events."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ..typing import ArrayLike, FullState, Matrix, Motion, Vector
from .minimum_norm import minimal_norm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..system.assembly import State
    from ..system.system import System

TimedState: TypeAlias = tuple[float, Vector, Vector, Vector, Vector]  # t, q, v, a, lam

DEGREE = 8  # of the polynomials that represent an interpolant: the largest degree among the solvers in use


@dataclass(frozen=True)
class Step:
    """An accepted step of a method.

    Attributes
    ----------
    t0, t : float
        Start and end.
    motion : callable
        `motion() -> (q, v)` at `t`, the output of the method.
    end : ndarray, shape (k,)
        The interpolated quantities at `t`: the unknowns of a solver, or the whole state.
    sample : callable
        `sample(times) -> (m, k)`: the interpolant of the method at times within the step. Valid until the next step.
    complete : callable
        `complete(t, values) -> (q, v, a, lam)`.
    degree : int
        Degree of the polynomial in time that reproduces the interpolant.
    """

    t0: float
    t: float
    motion: Callable[[], Motion]
    end: Vector
    sample: Callable[[Vector], Matrix]
    complete: Callable[[float, Vector], FullState]
    degree: int = DEGREE

    def piece(self) -> Piece:
        """The polynomial that stores the step."""
        nodes, _ = _nodes(self.degree)
        inner = self.sample(self.t0 + nodes[1:] * (self.t - self.t0))
        return Piece(self.t0, self.t, np.vstack([self.end, inner]), self.complete)


@dataclass(frozen=True)
class Piece:
    """The motion within a step: a polynomial through `values`, shape (m, k), at the nodes of `_nodes(m - 1)`."""

    t0: float
    t: float
    values: Matrix
    complete: Callable[[float, Vector], FullState]

    def __call__(self, t: float) -> FullState:
        """`(q, v, a, lam)` at a time within the step."""
        nodes, weights = _nodes(len(self.values) - 1)
        distance = (t - self.t0) / (self.t - self.t0) - nodes
        if not distance.all():  # at a node
            return self.complete(t, self.values[int(np.argmin(np.abs(distance)))])
        w = weights / distance
        return self.complete(t, w @ self.values / w.sum())


class StepWatch(ABC):
    """An `until` that receives every accepted step: `after(step) -> bool`, true to end the run; see `mbdae.driver.method`."""

    @abstractmethod
    def after(self, step: Step) -> bool:
        """Whether the run ends after this `Step`."""

    def contents(self) -> dict[str, Vector]:
        """What a continuation of the run needs of it, by name, as part of a `Memory`."""
        return {}

    def __call__(self, t: float, q: Vector, v: Vector) -> bool:
        """Called by methods that pass states instead of steps."""
        raise TypeError(f"{type(self).__name__} needs steps, see mbdae.driver.method: the method must call until.after(step)")


class StepwiseOutput:
    """Dense output of a run: states by the interpolant of the method.

    Parameters
    ----------
    system : System
    start : State
    pieces : sequence of Piece
        In order, at least one.
    end : float, optional
        End of the output, by default the end of the last piece.
    cuts : sequence of State
        The states before those times at which the state was changed: the piece before ends there, and the next one begins.
    """

    def __init__(self, system: System, start: State, pieces: Sequence[Piece], end: float | None = None, cuts: Sequence[State] = ()) -> None:
        self._system, self._start, self._pieces, self._cuts = system, start, pieces, cuts
        self._end = pieces[-1].t if end is None else end
        self._sign = 1.0 if self._end >= start.t else -1.0
        self._known = {s.t: s for s in (*reversed(cuts), start)}
        self._ends = self._sign * np.array([piece.t for piece in pieces])
        self._end_at_cuts()

    def _end_at_cuts(self) -> None:
        """Pieces that reach beyond the start of the next one end there."""
        begins = self._sign * np.array([piece.t0 for piece in self._pieces])
        self._ends[:-1] = np.minimum(self._ends[:-1], begins[1:])

    def until(self, end: float) -> StepwiseOutput:
        """The same with an earlier end."""
        return StepwiseOutput(self._system, self._start, self._pieces, end, self._cuts)

    def __call__(self, t: ArrayLike) -> FullState:
        """`(q, v, a, lam)` at one time or at many (one row each)."""
        t = np.asarray(t, dtype=float)
        low, high = min(self._start.t, self._end), max(self._start.t, self._end)
        if t.size and not (t.min() >= low - 1e-12 and t.max() <= high + 1e-12):
            raise ValueError(f"dense output: t must lie in [{low:g}, {high:g}]")
        rows = [self._at(s) for s in np.clip(t, low, high).ravel()]
        if t.ndim == 0:
            return rows[0]
        s = self._start
        q, v, a, lam = (np.array([row[k] for row in rows]).reshape(*t.shape, len(x)) for k, x in enumerate((s.q, s.v, s.a, s.lam)))
        return q, v, a, lam

    def _at(self, t: float) -> FullState:
        s = self._known.get(t)
        if s is not None:
            return s.q.copy(), s.v.copy(), s.a.copy(), s.lam.copy()
        k = min(int(np.searchsorted(self._ends, self._sign * t)), len(self._pieces) - 1)
        q, v, a, lam = (np.array(x) for x in self._pieces[k](t))
        return q, v, a, minimal_norm(self._system, t, q, lam)


def hermite_step(system: System, before: TimedState, after: TimedState) -> Step:
    """The step between two states `(t, q, v, a, lam)` of a method with the interpolant of `between_states`."""
    end = np.concatenate(after[1:])
    return Step(before[0], after[0], lambda: (after[1].copy(), after[2].copy()), end,
                lambda times: between_states(system, before, after, times), split_state(system), 3)


def taylor(system: System, state: TimedState, t: float) -> Motion:
    """Positions and velocities a short time after a state, by a Taylor polynomial."""
    t0, q, v, a, _ = state
    h = t - t0
    return system.retract(q, h * (v + 0.5 * h * a)), v + h * a


def taylor_piece(system: System, state: TimedState, t: float) -> Piece:
    """The same as a step."""
    return hermite_step(system, state, (t, *taylor(system, state, t), *state[3:])).piece()


def between_states(system: System, before: TimedState, after: TimedState, times: Vector) -> Matrix:
    """Rows `(q, v, a, lam)` between two states: cubic Hermite interpolation of `q` and `v`, `a` its derivative of `v`, `lam` linear."""
    (t0, q0, v0, a0, lam0), (t1, q1, v1, a1, lam1) = before, after
    h, theta = t1 - t0, ((times - t0) / (t1 - t0))[:, None]
    q = _cubic(theta, h, q0, q1, system.qdot(q0, v0, t0), system.qdot(q1, v1, t1))
    rise = (v1 - v0) / h
    a = 6.0 * theta * (1.0 - theta) * rise + (1.0 - theta) * (1.0 - 3.0 * theta) * a0 + theta * (3.0 * theta - 2.0) * a1
    return np.hstack([q, _cubic(theta, h, v0, v1, a0, a1), a, (1.0 - theta) * lam0 + theta * lam1])


def split_state(system: System) -> Callable[[float, Vector], FullState]:
    """`complete` of a `Step` that interpolates the whole state."""
    ends = np.cumsum([system.nq, system.nv, system.nv])

    def split(t: float, values: Vector) -> FullState:
        q, v, a, lam = np.split(values, ends)
        return q, v, a, lam

    return split


def _cubic(theta: Matrix, h: float, x0: Vector, x1: Vector, rate0: Vector, rate1: Vector) -> Matrix:
    rise = x1 - x0
    return x0 + theta * (rise + (1.0 - theta) * ((1.0 - theta) * (h * rate0 - rise) - theta * (h * rate1 - rise)))


@cache
def _nodes(degree: int) -> tuple[Vector, Vector]:
    """Interpolation nodes in units of the step, from its end towards its start, which is excluded, and their barycentric weights."""
    nodes = 0.5 + 0.5 * np.cos(2.0 * np.pi * np.arange(degree + 1) / (2 * degree + 1))
    difference = 4.0 * (nodes[:, None] - nodes[None, :])
    np.fill_diagonal(difference, 1.0)
    return nodes, 1.0 / difference.prod(axis=1)
