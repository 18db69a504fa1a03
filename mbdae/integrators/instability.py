"""Runs whose steps are longer than the limit of stability, so that their velocities have grown without bound."""

import numpy as np

from ..results.status import Cause, Status
from ..system.assembly import State
from ..system.system import System
from ..typing import Vector
from .linearised import LinearisedMotion

GROWTH = 1e3  # of the velocities, above which eigenvalues are evaluated
MOST = 1000  # degrees of freedom up to which they are: ten seconds


def instability(system: System, start: State, t: float, v: Vector, h: float, limit: float) -> Cause | None:
    """Whether a run with steps of length `h` that has come from `start` to the velocities `v` at `t` has been unstable.

    The velocities must have grown far above those of the start, and above those that its positions and accelerations bring about in the
    time of the run; and `h` times the largest modulus of the eigenvalues of the equations of motion, linearised at the start, must be above
    the `limit` of the method. Systems with more than `MOST` degrees of freedom are not examined.
    """
    span = abs(t - start.t)
    if not span > 0.0 or system.freedom > MOST:
        return None
    q0, v0, a0, reached = (np.abs(x).max(initial=0.0) for x in (start.q, start.v, start.a, v))
    if not reached > GROWTH * (v0 + span * a0 + (1.0 + q0) / span):
        return None
    found = LinearisedMotion(system).rates(start)
    if found is None or not abs(h) * found.fastest > limit:
        return None
    return Cause(Status.UNSTABLE,
                 f"the method is unstable with steps of {abs(h):.3g} s: the fastest component of the motion, linearised at the start, "
                 f"has a rate of {found.fastest:.3g}/s, and their product is {abs(h) * found.fastest:.3g}, where {limit:.2g} is the limit; "
                 f"take a step below {limit / found.fastest:.2g} s, or an implicit method such as NullSpaceHHT; velocities have grown to "
                 f"{reached:.2g}")
