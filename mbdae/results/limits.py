"""Limits within which the equations of a system describe it: a run that leaves them does not end with success."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .messages import out_of_limits
from .status import Status
from .trajectory import Trajectory

if TYPE_CHECKING:
    from ..system.system import System


def check_limits(system: System, trajectory: Trajectory) -> None:
    """End a trajectory with its first state outside the limits of the system; a failed run keeps its status.

    Raises
    ------
    ValueError
        If a limit does not give a number.
    """
    if not system.limits:
        return
    for k, row in enumerate(zip(trajectory.t, trajectory.q, trajectory.v, trajectory.lam)):
        name = _violated(system, *row)
        if name is not None:
            for column in ("t", "q", "v", "a", "lam"):
                setattr(trajectory, column, getattr(trajectory, column)[:k + 1])
            if trajectory.status == Status.SUCCESS:
                trajectory.status, trajectory.message = Status.OUT_OF_LIMITS, out_of_limits(name, row[0])
            return


def _violated(system: System, t: float, q: np.ndarray, v: np.ndarray, lam: np.ndarray) -> str | None:
    """The name of a limit that a state is outside of."""
    for name, limit in system.limits.items():
        value = limit(t, q.copy(), v.copy(), lam.copy())
        if np.size(value) != 1 or np.isnan(value):
            raise ValueError(f"the limit {name!r} must give a number, got {value!r} at t = {t:.9g}")
        if value < 0.0:
            return name
    return None
