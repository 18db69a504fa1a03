"""The compiled loop over the steps of SUNDIALS: output, and the end of the run."""

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from mbdae.compilation.compiled import compiled
from mbdae.compilation.foreign import foreign
from mbdae.compilation.structure import Structure
from mbdae.system.sudden import IS_SUDDEN, usual_after
from mbdae.typing import Matrix, Vector

from .callbacks import vector

ONE_STEP = 2  # `IDA_ONE_STEP`, `CV_ONE_STEP`
ARRIVED, PAUSED, FAILED, STALLED, TOO_MANY = range(5)
STALLED_STEPS = 1000  # consecutive steps that move time by rounding only
CLOSE = 1e-14  # relative distance of two times that are the same

_i, _d = types.int64, types.float64


class March(Structure):
    """A run of SUNDIALS with its output."""

    equations: Any
    implicit: int  # 1: IDA, 0: CVODE
    solve: int  # addresses of functions of SUNDIALS
    interpolate: int
    memory: int  # of the solver
    y: int  # vectors of SUNDIALS
    yp: int
    inside: int
    reached: Vector  # where the solver writes its time
    t: float
    t_end: float
    forward: float
    rounding: float  # distance of the end that counts as none
    steps: int
    max_steps: int
    pause: int  # number of the step after which other threads get a turn
    every: int
    stalled: int
    fault: int  # what the solver has returned when it failed
    times: Vector  # of output; steps are stored if `by_steps`
    by_steps: int
    next_output: int
    stored: int
    rows_t: Vector
    rows_y: Matrix
    q: int  # where positions and velocities begin, and their numbers
    nq: int
    v: int
    nv: int
    usual: float  # rate of change of the velocities, see `mbdae.system.sudden`; infinite where it does not matter
    sudden: int
    before: float  # start of the last step
    before_y: Vector


@intrinsic
def call_ida(typingctx, address, memory, t_end, reached, y, yp, task):
    """`int IDASolve(void *, double, double *, N_Vector, N_Vector, int)`, addresses as integers."""
    return foreign(types.int32, (_i, _d, _i, _i, _i, types.int32))(typingctx, address, memory, t_end, reached, y, yp, task)


@intrinsic
def call_cvode(typingctx, address, memory, t_end, y, reached, task):
    """`int CVode(void *, double, N_Vector, double *, int)`, addresses as integers."""
    return foreign(types.int32, (_i, _d, _i, _i, types.int32))(typingctx, address, memory, t_end, y, reached, task)


@intrinsic
def call_interpolate(typingctx, address, memory, t, k, out):
    """`int IDAGetDky(void *, double, int, N_Vector)`, and the same of CVODE, addresses as integers."""
    return foreign(types.int32, (_i, _d, types.int32, _i))(typingctx, address, memory, t, k, out)


@compiled
def march(run, flag):
    """Steps until the end and its output, until there is no room for output, `flag` is set, velocities change suddenly, or a step fails."""
    y = vector(run.y, run.equations.n, run.equations)
    if run.by_steps == 0 and not store_times(y, run):  # those of the last step for which there was no room
        return FAILED
    while run.stored < run.rows_t.shape[0]:
        if run.forward * (run.t_end - run.t) <= 0.0:
            return ARRIVED
        if run.usual != np.inf:
            run.before_y[:] = y
        before = run.t
        code = take_step(run)
        if code < 0:
            run.fault = code
            return FAILED
        t = run.reached[0]
        run.t = run.t_end if abs(t - run.t_end) <= run.rounding else t
        run.stalled = run.stalled + 1 if abs(run.t - before) <= 4e-16 * abs(run.t) else 0
        if run.stalled > STALLED_STEPS:
            return STALLED
        if run.t == before:
            continue
        run.steps += 1
        run.before = before
        ended = run.forward * (run.t_end - run.t) <= 0.0
        if run.by_steps != 0:
            if ended or run.steps % run.every == 0:
                store(run.t, y, run)
        elif not store_times(y, run):
            return FAILED
        watch(y, before, run)
        if run.steps == run.max_steps and not ended:
            return TOO_MANY
        if run.sudden != 0 or flag[0] != 0 or run.steps >= run.pause:
            return PAUSED
    return PAUSED


@compiled
def take_step(run):
    """One step of the solver; what it returns."""
    if run.implicit != 0:
        return call_ida(run.solve, run.memory, run.t_end, run.reached.ctypes.data, run.y, run.yp, np.int32(ONE_STEP))
    return call_cvode(run.solve, run.memory, run.t_end, run.y, run.reached.ctypes.data, np.int32(ONE_STEP))


@compiled
def store(t, y, run):
    """One more row of output."""
    run.rows_t[run.stored] = t
    run.rows_y[run.stored] = y
    run.stored += 1


@compiled
def store_times(y, run):
    """Output at the given times up to the end of the step, as far as there is room; whether the solver could interpolate."""
    t = run.t
    while (run.next_output < run.times.shape[0] and run.stored < run.rows_t.shape[0]
           and run.forward * (t - run.times[run.next_output]) >= -CLOSE * abs(t)):
        time = run.times[run.next_output]
        if time == t:
            store(time, y, run)
        else:
            run.fault = call_interpolate(run.interpolate, run.memory, time, np.int32(0), run.inside)
            if run.fault < 0:
                return False
            store(time, vector(run.inside, run.equations.n, run.equations), run)
        run.next_output += 1
    return True


@compiled
def watch(y, before, run):
    """Whether the velocities have changed suddenly with the last step."""
    if run.usual == np.inf:
        return
    first, last = run.v, run.v + run.nv
    usual = usual_after(run.before_y[first:last], y[first:last], run.t - before, run.usual)
    if usual == IS_SUDDEN:
        run.sudden = 1
    else:
        run.usual = usual
