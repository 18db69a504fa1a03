"""Limits within which the equations of a system describe it: a run that leaves them does not end with success."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .messages import out_of_limits
from .rows import COLUMNS
from .status import Status
from .steps import StepwiseOutput

if TYPE_CHECKING:
    from ..system.system import System
    from .solution import Solution


def check_limits(solution: Solution, t0: float) -> None:
    """End a solution, its events and its dense output with its first state outside the limits of the system; a failed run keeps its status.

    Raises
    ------
    ValueError
        If a limit does not give a number.
    """
    if not solution.system.limits:
        return
    for row in zip(solution.t, solution.q, solution.v, solution.lam):
        name = _violated(solution.system, *row)
        if name is not None:
            cut(solution, float(row[0]), t0)
            if solution.success:
                solution.status, solution.message = Status.OUT_OF_LIMITS, out_of_limits(name, row[0])
            return


def cut(solution: Solution, end: float, t0: float) -> None:
    """Keep the states, events, jumps and dense output of a solution from `t0` up to the time `end`."""
    keep = int(np.sum(np.abs(solution.t - t0) <= abs(end - t0)))
    for column in COLUMNS:
        setattr(solution, column, getattr(solution, column)[:keep])
    if solution.t_events is not None:
        solution.t_events = [t[np.abs(t - t0) <= abs(end - t0)] for t in solution.t_events]
        solution.y_events = None if solution.y_events is None else [y[:len(t)] for y, t in zip(solution.y_events, solution.t_events)]
    solution.jumps = [jump for jump in solution.jumps if np.abs(jump.t - t0) <= abs(end - t0)]
    if isinstance(solution.sol, StepwiseOutput):
        solution.sol = solution.sol.until(end)


def _violated(system: System, t: float, q: np.ndarray, v: np.ndarray, lam: np.ndarray) -> str | None:
    """The name of a limit that a state is outside of."""
    for name, limit in system.limits.items():
        value = limit(t, q.copy(), v.copy(), lam.copy())
        if np.size(value) != 1 or np.isnan(value):
            raise ValueError(f"the limit {name!r} must give a number, got {value!r} at t = {t:.9g}")
        if value < 0.0:
            return name
    return None
