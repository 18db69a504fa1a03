"""The norm of errors of one-step methods with an iteration, and what is rounding in it."""

import numpy as np

from ...compilation.compiled import compiled

NOISE = 1e-12  # corrections relative to positions and velocities that are rounding if they stagnate


@compiled
def size_of(eq, ev, run):
    """The weighted root mean square of an error in positions and velocities [Negrut, eq. (4.7)]."""
    wq, wv, total = run.near.weights_q, run.near.weights_v, 0.0
    for k in range(eq.shape[0]):
        total += (eq[k] * wq[k]) ** 2
    for k in range(ev.shape[0]):
        total += (ev[k] * wv[k]) ** 2
    return np.sqrt(total / (eq.shape[0] + ev.shape[0]))


@compiled
def noise(run):
    """The norm of corrections that may be rounding."""
    return NOISE * size_of(run.start.q, run.start.v, run)
