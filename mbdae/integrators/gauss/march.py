"""Steps of Gauss formulas with a projection after each, compiled."""

import numpy as np

from ...compilation.compiled import compiled
from ...system import kernels
from ...system import layout as lay
from ...system.codes import GOOD, NOT_FINITE
from ...system.layout import header
from ...system.vectors import largest
from .newton import RATIO, solve_stages
from .stages import finish, guess, put, put_rows


@compiled
def march(t0, h, begin, n, every, is_last, state, target, keeps_initial, stages, previous, buffers, tableau, options, control, counts,
          tools, projection, out, flag):
    """Steps number `begin` to `n` from the time `t0`, fewer if `flag` is set; `state = (q, v, a, lam)` is the last one.

    Those whose number is a multiple of `every` are stored in `out`, and the last one if `is_last`. `previous` are accelerations and
    multipliers in the stages of the step before. `projection` is `(settings, project)`. Returns `(code, done, stored,
    target)`: what is wrong if it is not `GOOD`, the steps that are complete, the rows in `out`, the energy that the next step is to have.
    """
    settings, project = projection
    levels = settings.levels
    model, work = tools[0], tools[1]
    q, v, a, lam = np.empty_like(state[0]), np.empty_like(state[1]), np.empty_like(state[2]), np.empty_like(state[3])
    first, stored, none = (np.empty_like(stages[2]), np.empty_like(stages[3])), 0, np.zeros_like(state[1])
    for k in range(begin, n):
        if k > begin and flag[0] != 0:
            return GOOD, k - begin, stored, target
        t, end = t0 + k * h, t0 + (k + 1) * h
        guess(h * control[RATIO], state, stages, previous, tableau)
        put_rows(stages[2], first[0])
        put_rows(stages[3], first[1])
        status = solve_stages(t, h, state, stages, first, buffers, tableau, options, control, counts, tools)
        reached = target
        if status == GOOD:
            finish(t, h, state, stages, buffers[0], tableau, (q, v, a, lam), model)
            if header(model)[lay.KIND] == lay.MULTIBODY and not header(model)[lay.IDENTITY_MAP]:
                kernels.retract(q, none, model, q)  # removes the rounding of the norms
            status = GOOD if np.isfinite(largest(q) + largest(v)) else NOT_FINITE
        if status == GOOD and (levels.positions or levels.velocities or levels.accelerations):
            status, reached = project(end, q, v, a, lam, target, settings, model, work)
        if status != GOOD:
            return status, k - begin, stored, target
        put(q, state[0])
        put(v, state[1])
        put(a, state[2])
        put(lam, state[3])
        put_rows(stages[2], previous[0])
        put_rows(stages[3], previous[1])
        control[RATIO] = 1.0 / h
        if not keeps_initial:
            target = reached
        if (k + 1) % every == 0 or (is_last and k == n - 1):
            out[0][stored] = end
            put(q, out[1][stored])
            put(v, out[2][stored])
            put(a, out[3][stored])
            put(lam, out[4][stored])
            stored += 1
    return GOOD, n - begin, stored, target
