"""Sudden changes of the velocities: how fast they change in a step, compared with the steps before."""

from ..compilation.compiled import compiled

SUDDEN = 3.0  # a change of the velocities in time, relative to the largest one in recent steps
FADING, GROWING = 0.98, 1.003  # bounds of the factor by which what is remembered of these follows in a step


@compiled
def change_rate(v0, v1, h):
    """The largest change of a velocity in a step, divided by its length."""
    change = 0.0
    for k in range(v0.shape[0]):
        change = max(change, abs(v1[k] - v0[k]))
    return change / abs(h)


@compiled
def is_sudden(rate, usual):
    """Whether a rate of change is sudden, compared with the `usual` one, which is zero where none is known."""
    return usual > 0.0 and rate > SUDDEN * usual


@compiled
def usual_after(rate, usual):
    """The usual rate of change after a step."""
    return rate if usual == 0.0 else min(max(rate, FADING * usual), GROWING * usual)
