"""Derivatives for the length of the first step, compiled: one call from Python each."""

from ...compilation.compiled import compiled, window
from ...system import evaluate, kernels
from ...system import layout as lay
from ...system.codes import GOOD, RANK_LOST


@compiled
def derivative(t, y, a, lam, model, work, out):
    """`out = (q', v')` at the positions and velocities in `y`, with accelerations and multipliers; `GOOD` or the code of a failure.

    `lam` is a guess on entry. `a` and `lam` are unchanged after a failure.
    """
    nq, nv = y.shape[0] - a.shape[0], a.shape[0]
    q, v = window(y, 0, nq), window(y, nq, nv)
    found, multipliers, code, lost = evaluate.accelerations(t, q, v, lam.copy(), model, work)
    if code == GOOD and lost > lay.count(model, lay.DEPENDENT):
        code = RANK_LOST
    if code != GOOD:
        return code
    evaluate.refine(t, q, v, found, multipliers, model, work)
    a[:], lam[:] = found, multipliers
    kernels.qdot(t, q, v, model, window(out, 0, nq))
    window(out, nq, nv)[:] = found
    return code
