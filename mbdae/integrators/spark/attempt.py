"""Steps of SPARK formulas for the time loop."""

import numpy as np

from ...compilation.compiled import compiled, generic
from ...system import kernels
from ...system import layout as lay
from ...system.codes import GOOD, NOT_FINITE
from ...system.layout import header
from ...system.vectors import is_finite, largest, put, put_rows
from ..control.bend import accept_differences
from ..control.loop import loops
from ..control.records import put_state
from ..gauss.attempt import SAME_TIME_TOL, retry
from ..gauss.choice import COUPLED, ratio
from ..gauss.error import estimate
from .newton import solve_stages
from .stages import guess


@generic
def attempt(t, h, end, run):
    """One step, and its error unless the steps are of fixed size."""
    memory, stages = run.memory, run.stages
    stages.mode, stages.age = memory.mode, memory.age
    status = _step(t, h, end, stages, run.end, run)
    if status != GOOD or run.clock.fixed != 0:
        return status, 0.0
    put(run.end.a, run.rates.a1)
    return estimate(t, h, run)


@compiled
def _step(t, h, end, stages, new, run):
    """One step from `run.start` to the state `new` at `end`; `GOOD` or the code of a failure.

    The projection removes what rounding has left of the constraints; it gives the accelerations and multipliers of the end.
    """
    model, work, project = run.model, run.work, run.project
    guess(h, run)
    status = solve_stages(t, h, stages, run)
    if status != GOOD:
        return status
    q, v = new.q, new.v
    put(stages.X[stages.X.shape[0] - 1], q)
    put(stages.v, v)
    put(run.start.a, new.a)
    put(run.start.lam, new.lam)
    if header(model)[lay.KIND] != lay.USER and not header(model)[lay.IDENTITY_MAP]:
        kernels.retract(q, np.zeros_like(v), model, q)  # normalises the quaternions
    if not is_finite(largest(q) + largest(v)):
        return NOT_FINITE
    status, _ = project(end, q, v, new.a, new.lam, 0.0, run.projection, model, work)
    put(run.projection.room.x, new.a)  # those of the equations of motion
    return status


@compiled
def accept(h, factor, run):
    """The end of the step becomes the start of the next."""
    memory, stages = run.memory, run.stages
    put_state(run.end, run.start)
    put(run.rates.a1, run.rates.a0)
    accept_differences(run.second)
    put_rows(stages.W, run.previous.W)
    put_rows(stages.U, run.previous.U)
    put_rows(stages.L, run.previous.L)
    memory.mode, memory.age, memory.back_step = stages.mode, stages.age, h
    return GOOD


@generic
def between(time, t, h, run, inside):
    """The state within a step, by a shorter step from its start; its stages are stored in `run.inner`, so the run is not affected."""
    if abs(time - t) <= SAME_TIME_TOL * abs(h):
        put_state(run.start, inside)
        return GOOD
    if abs(t + h - time) <= SAME_TIME_TOL * abs(h):
        put_state(run.end, inside)
        return GOOD
    memory, inner, stages = run.memory, run.inner, run.stages
    inner.mode, inner.age = memory.mode, memory.age
    if inner.mode == COUPLED:
        put_rows(stages.matrix, inner.matrix)
        put(stages.pivots, inner.pivots)
    return _step(t, time - t, time, inner, inside, run)


LOOPS = loops(attempt, retry, accept, between, ratio)
