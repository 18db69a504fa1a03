"""Derivatives along a direction by central differences over many decades of the increment, and how far they can be trusted."""

from typing import NamedTuple

import numpy as np

from .quotients import EPS, vector

INCREMENTS = 1.0 / 10.0 ** np.arange(1, 15)
_SAMPLES, _SEED = 8, 1965
_LEFT = 0.1  # what is left of a change at most, even where they fall with the root of the increment only
_DOUBT = 10.0  # times the error estimated
_FRACTIONS, _WHOLE = 8, 1e-6  # what counts as a multiple of a quantum


class Curve(NamedTuple):
    """Derivatives of all rows along one direction.

    Attributes
    ----------
    best, doubt : ndarray, shape (m,)
        Difference quotient at the best increment, and how far it may be from the derivative; infinity if nothing is known.
    changes : ndarray, shape (len(INCREMENTS), m)
        How the quotient differs from the one at the increment before; infinity at the first, or where one is not finite.
    errors : ndarray, shape (len(INCREMENTS), m)
        Estimate of what truncation and rounding make together.
    """

    best: np.ndarray
    doubt: np.ndarray
    changes: np.ndarray
    errors: np.ndarray


class Sweep:
    """A function at a point, ready to be differenced.

    Parameters
    ----------
    f : callable
        `f(x)`, shape (m,).
    x : ndarray, shape (n,)
    floor : float
    m : int
    blur : callable, optional
        `blur(rng)`: `f` at arguments that are off by rounding errors, by default `x`.
    name : str
        What messages call the function.
    """

    def __init__(self, f, x, floor, m, blur=None, name="f"):
        self._f, self.x, self.m, self.calls, self._name = f, x, m, 0, name
        self.scale = np.maximum(np.abs(x), floor)
        self._blur = blur or (lambda rng: self._f(self.x + blurred(self.scale, rng)))
        self.f0 = self._at(self.x)
        lost = np.flatnonzero(~np.isfinite(self.f0))
        if len(lost):
            raise ValueError(f"{name} is not finite in row {lost[0]} at this point: there are no differences")
        self.noise = self._noise()

    def curve(self, columns):
        """The `Curve` along `scale` in the columns."""
        d = np.zeros(len(self.x))
        d[columns] = self.scale[columns]
        with np.errstate(all="ignore"):  # far from x, f need not be finite
            plus, minus = (np.array([self._at(self.x + s * h * d) for h in INCREMENTS]) for s in (1.0, -1.0))
            return self._judged((plus - minus) / (2.0 * INCREMENTS[:, None]))

    def _judged(self, quotients):
        """Look for the increment at which quotients change least, rounding considered."""
        changes = np.full_like(quotients, np.inf)
        changes[1:] = np.abs(np.diff(quotients, axis=0))
        changes[np.isnan(changes)] = np.inf
        rounding = (self.noise + _quantum(quotients)) / INCREMENTS[:, None]
        errors = _truncation(changes) + np.maximum(rounding, _scatter(quotients))
        errors[np.isnan(errors)] = np.inf
        at = np.argmin(errors, axis=0), np.arange(self.m)
        best = np.where(np.isfinite(errors[at]), quotients[at], 0.0)
        return Curve(best, _DOUBT * errors[at], changes, errors)

    def _noise(self):
        """How much `f` changes when its arguments change by rounding errors, shape (m,)."""
        rng = np.random.default_rng(_SEED)
        changes = [np.abs(self._counted(self._blur(rng)) - self.f0) for _ in range(_SAMPLES)]
        return np.nan_to_num(np.max(changes, axis=0), nan=0.0, posinf=0.0) + EPS * np.abs(self.f0)

    def _at(self, x):
        return self._counted(self._f(x))

    def _counted(self, values):
        self.calls += 1
        return vector(values, self.m, self._name).copy()


def blurred(scale, rng):
    """Random rounding errors of variables of that scale."""
    return EPS * scale * rng.uniform(-2.0, 2.0, len(scale))


def _truncation(changes):
    """What is left of the changes: a part of those that fall."""
    level = changes.copy()
    level[2:][changes[2:] <= _LEFT * changes[1:-1]] *= _LEFT
    return level


def _scatter(quotients):
    """Rounding errors as quotients at smaller increments show them.

    It is large where a function looks smooth from far only, and where two quotients agree by chance.
    """
    out = np.zeros_like(quotients)
    for k in range(len(out) - 1):
        apart = np.abs(quotients[k + 1:] - quotients[k]) * INCREMENTS[k + 1:, None]
        out[k] = np.max(np.nan_to_num(apart, nan=0.0, posinf=0.0), axis=0) / INCREMENTS[k]
    return out


def _quantum(quotients):
    """The smallest change that a function makes which stands still for small increments because of rounding; otherwise zero.

    Then all its changes are small multiples of that, or of some fraction; those of a function that is really constant nearby are not.
    """
    moves = np.nan_to_num(np.abs(quotients) * INCREMENTS[:, None], nan=0.0, posinf=0.0)
    smallest = np.min(moves, axis=0, where=moves > 0.0, initial=np.inf)
    still = ((moves[:-1] > 0.0) & (moves[1:] == 0.0)).any(axis=0)
    if not still.any():
        return np.zeros(len(still))
    multiples = moves[:, still] / smallest[still] * np.arange(1.0, _FRACTIONS + 1)[:, None, None]
    off = np.abs(multiples - np.rint(multiples)) > _WHOLE * (1.0 + multiples)
    quantum = np.zeros(len(still))
    quantum[still] = np.where(off.any(axis=1).all(axis=0), 0.0, smallest[still])
    return quantum


def levels(changes, errors):
    """Number of the increment at which truncation meets rounding, and the level of both there, by the slopes of the changes.

    Before that increment changes fall with the square of the increment, behind it they grow with its inverse, or less where a function
    does not move at all any more.
    """
    at = int(np.argmin(errors))
    left, right = changes[1:at], changes[at + 1:] * INCREMENTS[at + 1:]
    truncation = left[-1] * (INCREMENTS[at] / INCREMENTS[at - 2]) ** 2 if len(left) and np.isfinite(left[-1]) else 0.0
    return at, truncation, right.max() / INCREMENTS[at] if len(right) else changes[at]
