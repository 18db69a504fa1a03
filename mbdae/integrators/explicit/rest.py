"""Starts from rest in equilibrium: the longest step that is not blind to what moves the mechanism later.

At rest every error estimate is zero, and the step grows by the largest factor each time. Where a force or a driver begins to act, the
stages of such a step are far apart beside the vibrations that it excites, and their estimate is not asymptotic. Therefore steps from
rest are no longer than the region of stability allows, `h rho <= c`, with the spectral radius `rho` of the equations of motion.
"""

import math
from collections.abc import Callable

import numpy as np

from ...typing import Vector

PAIRS = 12  # of multiplications by the Jacobian, of the power method, at most
SETTLED = 1e-3  # relative difference of the last squares at which it ends
CHANGE = 1.5e-8  # of the state, relative to its size, for difference quotients of the derivative
MANY = 1000  # steps in the time span to which the limit may lead: friction at rest may have rates without bound


def at_rest(rate: Vector, weights: Vector, span: float) -> bool:
    """Whether nothing would change by a tolerance, `1 / weights`, in the time span at these rates."""
    return float(np.abs(rate * weights).max(initial=0.0)) * abs(span) < 1.0


def longest_step(derivative: Callable[[Vector], Vector], y: Vector, rate: Vector, span: float, boundary: float) -> float:
    """`boundary / rho` for the spectral radius `rho` of `derivative` at `y`, but not below a thousandth of the time span.

    The power method in pairs of multiplications, `rho^2 = |G^2 u| / |u|`, since positions and velocities have different units. Vibrations
    have conjugate eigenvalues, for which the ratio of norms in one pair is not constant, hence the largest of the last half.
    """
    shortest = abs(span) / MANY
    u = np.random.default_rng(0).normal(size=len(y))
    u /= np.linalg.norm(u)
    squares = []
    for _ in range(PAIRS):
        w = _times(derivative, y, rate, _times(derivative, y, rate, u))
        square = float(np.linalg.norm(w))
        if not 0.0 < square < np.inf:
            break
        squares.append(square)
        if len(squares) > 2 and max(squares[-3:]) - min(squares[-3:]) < SETTLED * square:
            break
        u = w / square
    if not squares:
        return np.inf
    return max(boundary / math.sqrt(max(squares[len(squares) // 2:])), shortest)


def _times(derivative: Callable[[Vector], Vector], y: Vector, rate: Vector, u: Vector) -> Vector:
    """The Jacobian of `derivative` times `u`, by a difference quotient."""
    size = float(np.linalg.norm(u))
    if not 0.0 < size < np.inf:
        return np.zeros_like(u)
    delta = CHANGE * (1.0 + float(np.linalg.norm(y))) / size
    return (derivative(y + delta * u) - rate) / delta
