"""Whether the equations of motion are stiff."""

from ..linearised import Rates

RATIO = 100.0  # of the fastest component to the motion, from which on the equations count as stiff
MANY_STEPS = 500  # of an explicit method that stability would take in the time span that is left, below which the choice does not matter
BOUNDARY = 4.5  # |h lambda| of explicit steps that stability limits, roughly: 6 at crude tolerances, 3 at tight ones


def may_be_stiff(steps: float) -> bool:
    """Whether equations can be stiff of which the explicit method takes so many more steps at their present size.

    In stiff ones stability soon limits the size, so that there are at least `MANY_STEPS`, and rates, which take as long as fifty steps,
    need not be evaluated where there are fewer.
    """
    return steps > MANY_STEPS


def is_stiff(found: Rates, span: float) -> bool:
    """Whether stability would limit the steps of an explicit method far more than the motion does."""
    return found.fastest * span > MANY_STEPS * BOUNDARY and found.fastest > RATIO * max(found.motion, 1.0 / span)
