"""Steps of Gauss formulas, with a projection after each step, for the time loop."""

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
from ..projections.project import INITIAL
from .choice import COUPLED, SIMPLIFIED, ratio, shortening
from .error import estimate
from .newton import solve_stages
from .stages import finish, guess

SAME_TIME_TOL = 1e-9  # distance of two times that are equal, relative to the step size


@generic
def attempt(t, h, end, run):
    """One step, and its error unless the steps are of fixed size."""
    memory, stages = run.memory, run.stages
    stages.mode, stages.age = memory.mode, memory.age
    status, memory.reached = _step(t, h, end, stages, run.end, run)
    if status != GOOD or run.clock.fixed != 0:
        return status, 0.0
    put(run.projection.room.x, run.rates.a1)  # those of the equations of motion
    return estimate(t, h, run)


@compiled
def _step(t, h, end, stages, new, run):
    """One step from `run.start` to the projected state `new` at `end`; returns `(status, energy)`."""
    target, model, work, project = run.memory.target, run.model, run.work, run.project
    guess(h, run)
    status = solve_stages(t, h, stages, run)
    if status != GOOD:
        return status, target
    finish(t, h, stages, new, run)
    q, v, a, lam = new.q, new.v, new.a, new.lam
    if header(model)[lay.KIND] != lay.USER and not header(model)[lay.IDENTITY_MAP]:
        kernels.retract(q, np.zeros_like(v), model, q)  # normalises the quaternions
    if not is_finite(largest(q) + largest(v)):
        return NOT_FINITE, target
    levels = run.projection.levels
    if levels.positions or levels.velocities or levels.accelerations:
        return project(end, q, v, a, lam, target, run.projection, model, work)
    return GOOD, target


@compiled
def retry(status, run):
    """After a rejected step: a shorter one, with the matrix for all stages at once; a step of fixed length is not repeated."""
    run.memory.mode = SIMPLIFIED
    return 0.0 if run.clock.fixed != 0 else shortening(status, run)


@compiled
def accept(h, factor, run):
    """The end of the step becomes the start of the next."""
    memory, stages = run.memory, run.stages
    put_state(run.end, run.start)
    put(run.rates.a1, run.rates.a0)
    accept_differences(run.second)
    put_rows(stages.W, run.previous.W)
    put_rows(stages.L, run.previous.L)
    memory.mode, memory.age, memory.back_step = stages.mode, stages.age, h
    if run.keeps != INITIAL:
        memory.target = memory.reached
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
    status, _ = _step(t, time - t, time, inner, inside, run)
    return status


LOOPS = loops(attempt, retry, accept, between, ratio)
