"""Directional derivatives by central differences over many decades of the increment, with estimates of their errors."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .quotients import EPS, vector
from .signatures import Array, Indices, Vector, VectorFunction

INCREMENTS = 1.0 / 10.0 ** np.arange(1, 15)
_SAMPLES, _SEED = 8, 1965
_REDUCTION = 0.1  # truncation error relative to the last change, if changes decrease at least with the root of the increment
_SAFETY = 10.0  # factor on the estimated error
_PLACES = (1.0, 0.37, -0.61)  # where a function is examined for steps, in units of an increment at which it changes


class Curve(NamedTuple):
    """Derivatives of all rows along one direction.

    Attributes
    ----------
    best, doubt : ndarray, shape (m,)
        Difference quotient at the best increment, and the bound of its error; infinity if there is none.
    changes : ndarray, shape (len(INCREMENTS), m)
        Difference to the quotient at the previous increment; infinity at the first one, or where one is not finite.
    errors : ndarray, shape (len(INCREMENTS), m)
        Estimate of truncation and rounding errors together.
    """

    best: Vector
    doubt: Vector
    changes: Vector
    errors: Vector


class Sweep:
    """A function at a point, and its difference quotients.

    Parameters
    ----------
    f : callable
        `f(x)`, shape (m,).
    x : ndarray, shape (n,)
    floor : float
    m : int
    noisy : callable, optional
        `noisy(rng)`: `f` at arguments with random rounding errors, by default those of `x`.
    name : str
        Name of the function in messages.
    """

    def __init__(self, f: VectorFunction, x: Vector, floor: Vector, m: int, noisy: Callable[[np.random.Generator], Array] | None = None,
                 name: str = "f") -> None:
        self._f, self.x, self.m, self.calls, self._name = f, x, m, 0, name
        self.scale = np.maximum(np.abs(x), floor)
        self._noisy = noisy or (lambda rng: self._f(self.x + perturbed(self.scale, rng)))
        self.f0 = self._at(self.x)
        lost = np.flatnonzero(~np.isfinite(self.f0))
        if len(lost):
            raise ValueError(f"{name} is not finite in row {lost[0]} at this point: there are no differences")
        self.noise = self._noise()

    def curve(self, columns: Indices | int) -> Curve:
        """The `Curve` along `scale` in the columns."""
        d = np.zeros(len(self.x))
        d[columns] = self.scale[columns]
        with np.errstate(all="ignore"):  # far from x, f need not be finite
            plus, minus = (np.array([self._at(self.x + s * h * d) for h in INCREMENTS]) for s in (1.0, -1.0))
            moves = np.nan_to_num(np.abs(plus - minus), nan=0.0, posinf=0.0)
            return self._judged((plus - minus) / (2.0 * INCREMENTS[:, None]), self._quantum(moves, d))

    def _judged(self, quotients: Vector, quantum: Vector) -> Curve:
        """Choose the increment with the smallest estimated error."""
        changes = np.full_like(quotients, np.inf)
        changes[1:] = np.abs(np.diff(quotients, axis=0))
        changes[np.isnan(changes)] = np.inf
        rounding = (self.noise + quantum) / INCREMENTS[:, None]
        errors = _truncation(changes) + np.maximum(rounding, _scatter(quotients))
        errors[np.isnan(errors)] = np.inf
        at = np.argmin(errors, axis=0), np.arange(self.m)
        best = np.where(np.isfinite(errors[at]), quotients[at], 0.0)
        return Curve(best, _SAFETY * errors[at], changes, errors)

    def _quantum(self, moves: Vector, d: Vector) -> Vector:
        """The smallest change of the rows that do not change for smaller increments because they are rounded; otherwise zero.

        A rounded function does not change for small increments at other places either. One that is constant near `x` only does: there the
        derivative is zero.
        """
        quantum = np.zeros(self.m)
        last = len(INCREMENTS) - 1 - np.argmax(moves[::-1] > 0.0, axis=0)  # the smallest increment with a change
        still = (moves > 0.0).any(axis=0) & (last < len(INCREMENTS) - 1)
        for k in np.unique(last[still]):
            far, near = INCREMENTS[max(k - 1, 0)], INCREMENTS[min(k + 2, len(INCREMENTS) - 1)]
            changes = [self._at(self.x + (place * far + near) * d) != self._at(self.x + (place * far - near) * d) for place in _PLACES]
            rounded = still & (last == k) & (np.sum(changes, axis=0) <= len(_PLACES) // 2)
            quantum[rounded] = moves[k, rounded]
        return quantum

    def _noise(self) -> Vector:
        """The change of `f` when its arguments change by rounding errors, shape (m,)."""
        rng = np.random.default_rng(_SEED)
        changes = [np.abs(self._counted(self._noisy(rng)) - self.f0) for _ in range(_SAMPLES)]
        largest: Vector = np.nan_to_num(np.max(changes, axis=0), nan=0.0, posinf=0.0)
        return largest + EPS * np.abs(self.f0)

    def _at(self, x: Vector) -> Vector:
        return self._counted(self._f(x))

    def _counted(self, values: Array) -> Vector:
        self.calls += 1
        return vector(values, self.m, self._name).copy()


def perturbed(scale: Vector, rng: np.random.Generator) -> Vector:
    """Random rounding errors of variables of the given scale."""
    return EPS * scale * rng.uniform(-2.0, 2.0, len(scale))


def _truncation(changes: Vector) -> Vector:
    """Truncation errors, estimated from the changes: a part of those that decrease."""
    level = changes.copy()
    level[2:][changes[2:] <= _REDUCTION * changes[1:-1]] *= _REDUCTION
    return level


def _scatter(quotients: Vector) -> Vector:
    """Rounding errors, estimated from quotients at smaller increments.

    They are large where a function is smooth only for large increments, and where two quotients agree by accident.
    """
    out = np.zeros_like(quotients)
    for k in range(len(out) - 1):
        apart = np.abs(quotients[k + 1:] - quotients[k]) * INCREMENTS[k + 1:, None]
        out[k] = np.max(np.nan_to_num(apart, nan=0.0, posinf=0.0), axis=0) / INCREMENTS[k]
    return out


def levels(changes: Vector, errors: Vector) -> tuple[int, float, float]:
    """Index of the increment with equal truncation and rounding errors, and both errors there, by the slopes of the changes.

    Above that increment changes decrease with its square, below it they increase with its inverse, or less where a function does not change
    any more.
    """
    at = int(np.argmin(errors))
    left, right = changes[1:at], changes[at + 1:] * INCREMENTS[at + 1:]
    truncation = left[-1] * (INCREMENTS[at] / INCREMENTS[at - 2]) ** 2 if len(left) and np.isfinite(left[-1]) else 0.0
    return at, truncation, right.max() / INCREMENTS[at] if len(right) else changes[at]
