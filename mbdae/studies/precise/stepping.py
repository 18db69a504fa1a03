"""The time loop of the integrators in extended precision."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from ...typing import Numbers
from .numbers import Extended

MIN_STEP = 1e-15  # relative to the time span: a jump of the right-hand side is passed in a step of this size
MAX_STEPS = 1_000_000
ROUNDING, STAGNATION = 1e-16, 0.7  # an error below the first that hardly falls with the step size is one of rounding


def _portion(step: Any, left: Any) -> Any:
    """The step size: all that is left, or half of it, where a step would end shortly before."""
    if step >= left * (1 - 1e-6):
        return left
    return step if 2 * step < left or step > 0.99 * left else left / 2


class Failure(RuntimeError):
    """The integration cannot go on."""


class Solver(ABC):
    """One-step methods with step-size control.

    Attributes
    ----------
    steps, rejected, smallest : int, int, float
        Accepted and rejected steps, and those that were accepted although the error was too large, at the least step size.
    lost : ndarray or float
        What the last accepted step has lost by rounding: the unknowns are `y + lost` (compensated summation).
    """

    order: int
    scale: Numbers | None
    lost: Any

    def __init__(self, f: Callable[[Any, Numbers], Numbers], tol: float) -> None:
        self.f, self.tol = f, tol
        self.steps = self.rejected = self.forced = 0
        self.step = 0.0
        self.scale, self.lost = None, Extended(0)
        self._known: tuple[Any, Numbers, Numbers] | None = None
        self._next: tuple[Any, Numbers, Numbers] | None = None

    @abstractmethod
    def attempt(self, t: Any, y: Numbers, h: Any) -> tuple[Numbers, float]:
        """The result of a step and its error estimate."""

    @abstractmethod
    def factor(self, error: float) -> float:
        """The change of the step size for an error estimate."""

    def accepted(self, t: Any, h: Any) -> None:
        """Remember what the next step needs; here nothing."""
        self._known = None

    def derivative(self, t: Any, y: Numbers) -> Numbers:
        """`f(t, y)`, evaluated once for all attempts from one point."""
        for known in (self._known, self._next):
            if known is not None and known[0] == t and known[1] is y:
                self._known = known
                return known[2]
        self._known = t, y, self.f(t, y)
        return self._known[2]

    def derivative_at_end(self, t: Any, y: Numbers) -> Numbers:
        """`f(t, y)` at the end of an attempt, kept for the next step."""
        self._next = t, y, self.f(t, y)
        return self._next[2]

    def size(self, x: Numbers, y: Numbers) -> float:
        """The largest entry of `x` relative to the scale, the largest size of each unknown so far or the size of its block."""
        assert self.scale is not None
        return float(np.max(np.abs(x) / np.maximum(self.scale, np.abs(y))))

    def run(self, t: float, y: Numbers, times: list[float], scale: Numbers, h: float,
            progress: Callable[[float], object] | None = None) -> list[Numbers]:
        """The states at `times`, in ascending order from `t` on.

        Parameters
        ----------
        t : float
        y : ndarray
        times : list of float
        scale : ndarray
            Sizes of the unknowns to which errors are relative.
        h : float
            First step size.
        progress : callable, optional
            `progress(t)`.
        """
        self.scale, self.step, self.lost, found = scale.astype(Extended), h, Extended(0), []
        least = MIN_STEP * max(abs(times[-1]), 1e-300)
        now = Extended(t)
        for end in times:
            while now < end:
                now, y = self._step(now, y, Extended(end), least)
                if self.steps > MAX_STEPS:
                    raise Failure(f"more than {MAX_STEPS} steps up to t = {float(now):g}")
                if progress is not None:
                    progress(float(now))
            found.append(y)
        return found

    def _step(self, t: Any, y: Numbers, end: Any, least: float) -> tuple[Any, Numbers]:
        """An accepted step towards `end`: the new time and state."""
        before = np.inf
        while True:
            h = _portion(Extended(self.step), end - t)
            new, error = self._tried(t, y, h)
            rounding = STAGNATION * before < error < ROUNDING
            if error <= self.tol or rounding or h <= least:
                break
            self.rejected, before = self.rejected + 1, error
            self.step = max(float(h) * min(0.9, self.factor(error)), 0.5 * least)
        if not np.isfinite(error):
            raise Failure(f"no step of {float(h):.1e} s succeeds at t = {float(t):g}")
        self.forced += int(error > self.tol and not rounding)
        self.steps += 1
        self.accepted(t, h)
        longer = float(h) * (1.0 if rounding else max(1.0, self.factor(error)))
        self.step = max(self.step, longer) if h == end - t else longer
        return (end if h == end - t else t + h), new

    def _tried(self, t: Any, y: Numbers, h: Any) -> tuple[Numbers, float]:
        """An attempt; one that fails has an infinite error."""
        try:
            new, error = self.attempt(t, y, h)
        except (FloatingPointError, ArithmeticError):
            return y, float("inf")
        return new, error if np.isfinite(error) else float("inf")
