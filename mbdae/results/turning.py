"""Runs that turn onto another branch of the motion at a singular position.

Where `Phi_q` loses rank branches of the motion cross. A constraint violation `e`, even of the size of the tolerance, separates them: at a
distance of the order of `sqrt(e)` the solution of the perturbed equations turns from one branch into the other, and a solver that resolves
this turn, or steps over it by chance, goes on along the wrong branch. Accelerations at consistent positions are smooth there and do not
account for the change of the velocities, which tells such a turn from forces and constraints that really turn the motion.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..system.assembly import AssemblyError, accelerations, on_constraints
from ..system.contents import contents, restore, saved_array
from ..system.sudden import IS_SUDDEN, change_rate, smallest_along, smallest_pivot, usual_after
from .diagnosis import MAX_ROWS, Positions, may_lose_rank, rank_lost_at
from .status import Cause, Status

if TYPE_CHECKING:
    from ..system.system import System
    from ..typing import Vector

NEAR = 0.6  # root of the smallest pivot, relative to the largest value seen, below which a singular position may be near
VERY_NEAR = 0.1  # the same of a turn, for the smallest singular value in systems of at most `MAX_ROWS` equations
EXPLAINED = 0.1  # share of a change that the accelerations may leave open
TURN = 0.15  # change of the velocities that is not accounted for, relative to the velocities, in the norm of the kinetic energy
SLACK = 0.3  # the same relative to the change that is accounted for, beyond the uncertainty of that


class Moment(NamedTuple):
    """Time, positions and velocities at the end of a step."""

    t: float
    q: Vector
    v: Vector


class Place(NamedTuple):
    """A place along a step, with the root of its smallest pivot."""

    pivot: float
    t: float
    q: Vector


class Turn(NamedTuple):
    """A turn onto another branch: its cause in words, the time of the last state before it, and the number of steps since."""

    cause: Cause
    since: float
    steps: int


class TurnWatch:
    """Looks for turns among the steps of a run in which the velocities change suddenly.

    Parameters
    ----------
    system : System
    start : State or Moment
        The start of the run.

    Attributes
    ----------
    active : bool
        Whether there is anything to look for.
    rate : float
        The usual rate of change of the velocities, see `mbdae.system.sudden`; zero before the first step.
    """

    def __init__(self, system: System, start: Positions) -> None:
        self.system, self._start = system, start
        self.active, self.rate = may_lose_rank(system), 0.0
        self._pivot, self._end, self._work = 0.0, np.nan, None
        self._forget()

    def _forget(self) -> None:
        self._since: float | None = None
        self._unexplained, self._allowed, self._speed = np.zeros(self.system.nv), 0.0, 0.0
        self._steps = 0
        self._nearest = Place(np.inf, 0.0, np.zeros(0))
        self._a: Vector | None = None

    def contents(self) -> dict[str, np.ndarray]:
        """What later calls depend on, by name."""
        numbers = [self.rate, self._pivot, self._end, np.nan if self._since is None else self._since, self._allowed, self._speed,
                   self._steps, self._nearest.pivot, self._nearest.t]
        found = {"turns.numbers": np.array(numbers, dtype=float), "turns.unexplained": self._unexplained.copy(),
                 "turns.nearest": np.array(self._nearest.q)}
        if self._a is not None:
            found["turns.a"] = np.array(self._a)
        return found if self._work is None else found | contents(self.system, self._scratch)

    def resume(self, saved: Mapping[str, np.ndarray]) -> None:
        """Go on after the step of these `contents`."""
        self.rate, self._pivot, self._end, since, self._allowed, self._speed, steps, pivot, t = saved_array(saved, "turns.numbers").tolist()
        self._since, self._steps = None if np.isnan(since) else since, int(steps)
        self._unexplained = saved_array(saved, "turns.unexplained").copy()
        self._nearest = Place(pivot, t, saved_array(saved, "turns.nearest").copy())
        self._a = saved["turns.a"].copy() if "turns.a" in saved else None
        if "turns.work" in saved:
            self._model, self._work = self._tables(), self.system.workspace()
            restore(self.system, self._scratch, saved)

    @property
    def _scratch(self) -> dict[str, Any]:
        return {"turns.model": self._model, "turns.work": self._work}

    def sudden(self, v0: Vector, v: Vector, h: float) -> bool:
        """Whether the velocities change suddenly in a step of the length `h`: then `examine` is to be called."""
        usual: float = usual_after(v0, v, h, self.rate)
        if usual == IS_SUDDEN:
            return True
        self.rate = usual
        return False

    def examine(self, before: Moment, now: Moment) -> Turn | None:
        """To be called after each step with a sudden change; the `Turn` that is complete with it, if any."""
        if before.t != self._end:
            self._forget()
        self._end = now.t
        if not self._is_near(before, now):
            self._take_as_usual(before, now)
            return None
        if self._since is None:
            self._since, self._a = before.t, self._acceleration(before)
        change = now.v - before.v
        accounted, doubt = self._accounted(before, now)
        if np.linalg.norm(change - accounted) <= EXPLAINED * np.linalg.norm(change):
            self._take_as_usual(before, now)
            return None
        self._unexplained = self._unexplained + change - accounted
        self._allowed += SLACK * self._energy_norm(now, accounted) + self._energy_norm(now, doubt)
        self._steps += 1
        self._speed = max(self._speed, self._energy_norm(now, now.v))
        if self._energy_norm(now, self._unexplained) <= TURN * self._speed + self._allowed:
            return None
        lost = self._rank_lost()
        return None if lost is None else Turn(lost, self._since, self._steps)

    def _take_as_usual(self, before: Moment, now: Moment) -> None:
        """From now on a change as in this step, which is regular, is usual."""
        self._forget()
        self.rate = change_rate(before.v, now.v, now.t - before.t)

    def _is_near(self, before: Moment, now: Moment) -> bool:
        """Whether a singular position may be near; remembers the nearest place along the steps of the turn."""
        if not np.isfinite(before.q @ before.q + now.q @ now.q + now.v @ now.v):
            return False
        s = self.system
        if self._work is None:
            self._model, self._work = self._tables(), s.workspace()
            arrays = self._arrays()
            self._pivot = max(smallest_pivot(at.t, np.array(at.q), *arrays) for at in (self._start, before)) ** 0.5
        pivot, share = smallest_along(before.t, np.array(before.q), now.t, np.array(now.q), *self._arrays())
        nearest = pivot ** 0.5
        self._pivot = max(self._pivot, nearest)
        if not nearest < NEAR * self._pivot:
            return False
        if nearest < self._nearest.pivot:
            q = s.retract(before.q, share * s.difference(now.q, before.q))
            self._nearest = Place(nearest, before.t + share * (now.t - before.t), q)
        return True

    def _tables(self) -> np.ndarray:
        """The tables of the system, a copy where those of redundant equations change during a run."""
        s = self.system
        return s.model.copy() if len(s.dependent) else s.model

    def _arrays(self) -> tuple[Any, ...]:
        """Arguments of the compiled functions, with a model and a workspace of their own."""
        return self.system.pattern.ptr, self.system.row_order, self._model, self._work

    def _accounted(self, before: Moment, now: Moment) -> tuple[Vector, Vector]:
        """The change of the velocities by accelerations at consistent positions, by the trapezoidal rule, and its uncertainty."""
        a0, self._a = self._a, self._acceleration(now)
        assert a0 is not None
        half = 0.5 * (now.t - before.t)
        return half * (a0 + self._a), half * (self._a - a0)

    def _acceleration(self, at: Moment) -> Vector:
        """The acceleration at the consistent state next to a state; that of the state before if none is found."""
        try:
            a, _, _ = accelerations(self.system, at.t, *on_constraints(self.system, at.t, at.q, at.v))
            return a
        except (AssemblyError, FloatingPointError) as error:
            if self.system.callbacks.has_raised(error):
                raise
            return np.zeros(self.system.nv) if self._a is None else self._a

    def _energy_norm(self, at: Moment, v: Vector) -> float:
        return float(np.sqrt(np.maximum(v @ self.system.mass_times(at.t, at.q, v), 0.0)))

    def _rank_lost(self) -> Cause | None:
        """The singular position at the state next to it."""
        pivot, t, q = self._nearest
        if self.system.nc <= MAX_ROWS:
            rows = rank_lost_at(self.system, self._start, t, q, VERY_NEAR)
        else:
            rows = "" if pivot < VERY_NEAR * self._pivot else None
        if rows is None:
            return None
        return Cause(Status.SINGULAR, f"the constraints lose rank near t = {t:.6g}{rows}: a singular position, where the velocities change "
                                      "more than the accelerations account for")
