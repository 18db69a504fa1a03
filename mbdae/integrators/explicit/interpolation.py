"""The state within a step: the dense output of the formula, projected onto the constraints."""

from ...compilation.compiled import compiled
from ...system import layout as lay
from ...system.codes import GOOD
from ...system.layout import count
from ...system.vectors import fill, put
from .consistent import make_consistent
from .stages import take_stage, weighted_sum


@compiled
def between(time, t, h, run, inside):
    """The state at a time within the step from `t`; `GOOD` or the code of a failure."""
    # the choice of redundant equations belongs to the steps
    model = run.model.copy() if count(run.model, lay.DEPENDENT) else run.model
    status = _extend(t, h, run, model)
    if status != GOOD:
        return status
    theta = (time - t) / h
    _interpolate(theta, h, run.start.q, run.end.q, run.stages.q, run.tableau, run.sums.q, inside.q)
    _interpolate(theta, h, run.start.v, run.end.v, run.stages.v, run.tableau, run.sums.v, inside.v)
    if run.memory.bare != 0:
        return GOOD
    put(run.end.lam, inside.lam)
    return make_consistent(time, inside, run, model)


@compiled
def _extend(t, h, run, model):
    """The further stages of the dense output, once for each step; `GOOD` or the code of a failure."""
    tableau = run.tableau
    if run.memory.extended != 0:
        return GOOD
    put(run.end.lam, run.stage.lam)
    for i in range(tableau.stages + 1, tableau.c.shape[0]):
        status = take_stage(t + tableau.c[i] * h, i, h, run, model)
        if status != GOOD:
            return status
    run.memory.extended = 1
    return GOOD


@compiled
def _interpolate(theta, h, x0, x1, rates, tableau, sums, out):
    """See `Tableau.dense`; `sums` is scratch."""
    dense, end = tableau.dense, tableau.stages
    fill(out, 0.0)
    for j in range(dense.shape[0] - 1, -1, -1):
        weighted_sum(dense[j], dense.shape[1], rates, sums)
        factor = 1.0 - theta if j % 2 == 0 else theta
        for k in range(out.shape[0]):
            out[k] = (out[k] + h * sums[k]) * factor
    first, last = rates[0], rates[end]
    for k in range(out.shape[0]):
        d, k0, k1 = x1[k] - x0[k], h * first[k], h * last[k]
        out[k] = x0[k] + theta * (d + (1.0 - theta) * (k0 - d + theta * (2.0 * d - k0 - k1 + out[k])))
