"""The memory of a run of a method that is restarted from projected states."""

from typing import Any

import numpy as np

from ...problems.base import Problem
from ...problems.state_space import StateSpace
from ...results.memory import Memory, with_motion
from ...results.statistics import Statistics
from ...results.turning import TurnWatch
from ...system.assembly import State
from ...system.contents import contents, restore, saved_array
from .states import Projection

NAMES = ("t", "q", "v", "a", "lam")


class ProjectedMemory:
    """What the steps depend on beside the state and the step size.

    Parameters
    ----------
    problem : Problem
    projection : Projection
    turns : TurnWatch
    """

    def __init__(self, problem: Problem, projection: Projection, turns: TurnWatch) -> None:
        self._problem, self._projection, self._turns = problem, projection, turns

    def keep(self, state: State, last: tuple[Any, ...], numbers: list[float], statistics: Statistics, rows: int, seconds: float) -> Memory:
        """The memory after a step with these numbers of the run; `last` is its row of output."""
        counted = [np.nan if x is None else float(x) for x in statistics.as_dict().values()]
        found = {f"last.{name}": np.array(x) for name, x in zip(NAMES, last)} | self._turns.contents()
        found |= {f"begin.{name}": np.array(getattr(state, name)) for name in NAMES}
        found |= {"numbers": np.array([*numbers, self._projection.target]), "statistics": np.array(counted)}
        found |= contents(self._problem.system, self._scratch)
        return Memory(float(state.t), rows, seconds, with_motion(state.q, state.v, found))

    def resume(self, memory: Memory) -> tuple[State, tuple[Any, ...], list[float], Statistics]:
        """The same back, `(state, last, numbers, statistics)`; the arrays of problem and projection are those of the memory."""
        saved = memory.contents
        *numbers, self._projection.target = saved_array(saved, "numbers").tolist()
        counted = [None if np.isnan(x) else int(x) for x in saved_array(saved, "statistics")]
        statistics = Statistics(**dict(zip(Statistics().as_dict(), counted)))
        t, q, v, a, lam = (saved_array(saved, f"begin.{name}").copy() for name in NAMES)
        last = tuple(saved_array(saved, f"last.{name}").copy() for name in NAMES)
        restore(self._problem.system, self._scratch, saved)
        if isinstance(self._problem, StateSpace):
            self._problem.chart.first = float(saved_array(saved, "chart.first"))
        self._turns.resume(saved)
        return State(float(t), q, v, a, lam), (float(last[0]), *last[1:]), numbers, statistics

    @property
    def _scratch(self) -> dict[str, Any]:
        projector, p = self._projection.projector, self._problem
        found: dict[str, Any] = {"projector": projector.projection, "projector.model": projector.model, "projector.work": projector.work,
                                 "problem.model": p.model, "problem.work": p._work}
        if isinstance(p, StateSpace):
            found |= {"chart.P": p.chart.P, "chart.store": p.chart.store, "chart.model": p.chart.model, "chart.work": p.chart.work,
                      "chart.first": np.array(p.chart.first)}
        return found
