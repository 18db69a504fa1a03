"""The times of methods with a fixed step: multiples of the step, counted from the start, and the end itself."""

from dataclasses import dataclass

import numpy as np

SAME = 1e-9  # relative difference within which two steps are the same
STRETCH = 1e-2  # share of a step by which the last one may be longer; by itself so short a step is spoiled by rounding


@dataclass(frozen=True)
class TimeGrid:
    """`t0 + k h` for `k = 0 ... n - 1`, and `t_end` for `k = n`.

    Attributes
    ----------
    t0, t_end : float
    h : float
        Step [s], negative if the end comes before the start.
    n : int
        Number of steps, at least one. The last one takes what is left: at most `STRETCH` more than `h`, or less.
    """

    t0: float
    t_end: float
    h: float
    n: int

    @property
    def last(self) -> float:
        """Length of the last step, with its sign."""
        return self.t_end - self.time(self.n - 1)

    @property
    def is_even(self) -> bool:
        """Whether the last step is as long as the others."""
        return abs(self.last - self.h) <= SAME * abs(self.h)

    @property
    def moves(self) -> bool:
        """Whether each step changes the time: a step of several roundings of the time, or a single one."""
        return self.n == 1 or abs(self.h) > 4.0 * np.spacing(max(abs(self.t0), abs(self.t_end)))

    def time(self, k: int) -> float:
        """Time after `k` steps."""
        return self.t0 + k * self.h if k < self.n else self.t_end

    def times(self, first: int, last: int) -> np.ndarray:
        """Times after `first, first + 1, ..., last` steps."""
        t = self.t0 + np.arange(first, last + 1) * self.h
        if last == self.n:
            t[-1] = self.t_end
        return t


def time_grid(t0: float, t_end: float, h: float) -> TimeGrid:
    """The grid of steps `h > 0` from `t0` to `t_end`."""
    steps = abs(t_end - t0) / h
    n = int(min(max(np.ceil(steps - STRETCH), 1.0), 2.0**62))
    return TimeGrid(t0, t_end, float(np.copysign(h, t_end - t0)), n)
