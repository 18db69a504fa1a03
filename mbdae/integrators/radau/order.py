"""The order of the next step, by the contraction rate of Newton's method (Hairer and Wanner, RADAU).

A small rate tells that iterations are cheap, and the higher order, with its longer steps, costs fewer of them; a large one, or a failure of
Newton's method, that the step is too long for derivatives at one point. Where a step is rejected twice the motion is not smooth, at a
kink for instance, and attempts with fewer stages cost less.
"""

from ...compilation.compiled import compiled

RISE_RATE = 0.02  # contraction rate up to which the order rises
FALL_RATE = 0.5  # from which on it falls
MIN_RATIO = 0.8  # of two steps above which it may rise
FALLS = 2  # failures of Newton's method in a step after which it falls
REJECTIONS = 2  # by the error test, of one step, after which it falls from 13 to 9
FIVE_STAGES = 1  # the lowest level to which it falls for that: with three stages kinks are harder to see
WAIT = 10  # steps after a fall before it may rise


@compiled
def next_level(factor, run):
    """Which formula the next step has; `factor` is the ratio of its size to that of this one."""
    memory = run.memory
    level = memory.level
    if memory.wait > 0:
        memory.wait -= 1
    limited = memory.rate >= FALL_RATE or memory.falls >= FALLS
    if level > run.lowest and (limited or (memory.rejections >= REJECTIONS and level > FIVE_STAGES)):
        memory.wait = WAIT
        return level - 1
    if level < run.highest and memory.wait == 0 and memory.rate <= RISE_RATE and factor >= MIN_RATIO:
        return level + 1
    return level
