"""Kinks of forces by the second differences of two steps.

The second divided difference of the derivative over a step of the length `h`, times `h`, is proportional to `h^3` where the motion is
smooth, and to `h^2` at a kink. Its size at a kink is zero for no place of that, unlike the error estimates of formulas of higher order.
"""

from ...compilation.compiled import compiled

FINE = 1.01e-5  # relative tolerance up to which explicit methods look for kinks: smooth motions in far too long steps look alike
SUDDEN = 10.0  # ratio of second differences of two steps, relative to the cubes of their lengths, that is a kink


@compiled
def is_sudden(bend, h, memory):
    """Whether a second difference, times `h`, is far above the one of the last step; it becomes `memory.next_bend`, relative to `h^3`."""
    cube = abs(h) ** 3
    usual = memory.bend * cube
    memory.next_bend = bend / cube
    return bend > SUDDEN * usual > 0.0
