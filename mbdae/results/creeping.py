"""Runs whose step sizes tend to zero at a singular position, without reaching it.

The accelerations of an explicit form are bounded there, but their rounding errors are not: a solver with error control takes ever shorter
steps at tight tolerances, each of them accepted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .diagnosis import Positions, may_lose_rank, near_singular

if TYPE_CHECKING:
    from ..system.system import System
    from ..typing import Vector
    from .status import Cause

WINDOW = 750  # steps
NEAR = 1e-3  # smallest singular value of `Phi_q`, relative to that at the start, where a run with short steps may be stuck
SHORT = 1e-3  # length of the steps of a window, relative to those before, of such a run


class CreepWatch:
    """Looks for two successive windows of short steps that end at a singular position.

    Parameters
    ----------
    system : System
    start : State or Moment
        The start of the run.

    Attributes
    ----------
    active : bool
        Whether there is anything to look for.
    """

    def __init__(self, system: System, start: Positions) -> None:
        self._system, self._start, self._last = system, start, start.t
        self._steps, self._near, self.active = 0, False, may_lose_rank(system)

    def after(self, steps: int, t: float, q: Vector) -> Cause | None:
        """To be called with the number of steps after each window; the cause if the run is stuck."""
        if steps == self._steps:
            return None
        usual = abs(self._last - self._start.t) / max(self._steps, 1)
        mean = abs(t - self._last) / (steps - self._steps)
        was_near, self._steps, self._last = self._near, steps, t
        found = near_singular(self._system, self._start, t, q, NEAR) if mean < SHORT * usual else None
        self._near = found is not None
        return found if was_near else None
