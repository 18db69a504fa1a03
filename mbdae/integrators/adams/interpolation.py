"""The state within a step: the polynomial of the formula, projected onto the constraints.

The integral of the polynomial through the derivatives at the end and before, from the end, misses the start by less than the error of the
step. A cubic polynomial with zero derivatives at both ends is added, so that steps join.
"""

import numpy as np

from ...compilation.compiled import compiled
from ...system import layout as lay
from ...system.codes import GOOD
from ...system.layout import count
from ...system.vectors import put
from ..explicit.consistent import make_consistent
from .arrays import ROWS
from .formulas import put_interpolation


@compiled
def between(time, t, h, run, inside):
    """The state at a time within the step from `t`; `GOOD` or the code of a failure."""
    m, c, whole = run.memory, np.empty(ROWS), np.empty(ROWS)
    s = (time - t) - h
    theta = (time - t) / h
    put_interpolation(s, m.used, m.nodes, c)
    put_interpolation(-h, m.used, m.nodes, whole)
    share = (1.0 - theta) ** 2 * (1.0 + 2.0 * theta)
    _interpolate(s, h, m.used, m.end, c, whole, share, run.start.q, run.end.q, run.differences.q, inside.q)
    _interpolate(s, h, m.used, m.end, c, whole, share, run.start.v, run.end.v, run.differences.v, inside.v)
    if m.bare != 0:
        return GOOD
    put(run.end.lam, inside.lam)
    # the choice of redundant equations belongs to the steps
    model = run.model.copy() if count(run.model, lay.DEPENDENT) else run.model
    return make_consistent(time, inside, run, model)


@compiled
def _interpolate(s, h, k, at, c, whole, share, x0, x1, differences, out):
    for i in range(out.shape[0]):
        here = start = 0.0
        for j in range(k, -1, -1):
            here += c[j] * differences[at + j, i]
            start += whole[j] * differences[at + j, i]
        out[i] = x1[i] + s * here + share * (x0[i] - (x1[i] - h * start))
