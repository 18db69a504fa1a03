"""Kinks of forces by differences of the accelerations in two steps.

The divided difference of order `n` of the derivative over a step of the length `h`, times `h`, is proportional to `h^(n + 1)` where the
motion is smooth, and to `h^2` at a kink. That of order 2 is zero for no place of the kink, unlike error estimates of formulas of higher
order. At a kink next to the start it is small beside that of the smooth motion, and the one of order 3 tells.

Accelerations are compared, with the weights of the later step: where a position passes through zero its tolerance is tiny, and the norm of
positions and velocities is that of this position.
"""

from ...compilation.compiled import compiled

FINE = 1.01e-5  # relative tolerance up to which explicit methods look for kinks: smooth motions in far too long steps look alike
SUDDEN = 10.0  # ratio of the second differences of two steps, relative to the squares of their lengths, that is a kink
SUDDEN_THIRD = 25.0  # the same for third ones, which change faster in smooth motions
LAST, THIS = 0, 1  # step, rows of its differences, which are zero before the first one


@compiled
def is_sudden(x, weights, at, power, ratio, differences):
    """Whether the difference of a step, `x` from the index `at` on, is above `ratio` times that of the last one, relative to `power`."""
    usual = now = 0.0
    for k in range(differences.shape[1]):
        weight, difference = weights[at + k], x[at + k]
        differences[THIS, k] = difference / power
        now += (weight * difference) ** 2
        usual += (weight * power * differences[LAST, k]) ** 2
    return now > ratio**2 * usual > 0.0


@compiled
def accept_differences(differences):
    """Those of this step become those of the last one."""
    for k in range(differences.shape[1]):
        differences[LAST, k] = differences[THIS, k]


@compiled
def forget_differences(differences):
    """As before the first step."""
    for k in range(differences.shape[1]):
        differences[LAST, k] = differences[THIS, k] = 0.0
