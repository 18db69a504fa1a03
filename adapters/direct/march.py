"""The compiled loop over the steps of a solver: output, and the end of the run.

A solver makes its loop by `loop` out of three compiled functions of its own.
"""

from typing import Any, NamedTuple

import numpy as np

from mbdae.compilation.compiled import compiled, compiled_with
from mbdae.compilation.structure import Structure
from mbdae.system.sudden import IS_SUDDEN, usual_after
from mbdae.typing import Matrix, Vector

ARRIVED, PAUSED, FAILED, STALLED, TOO_MANY, GOES_ON = range(6)
STALLED_STEPS = 1000  # consecutive steps that move time by rounding only
CLOSE = 1e-14  # relative distance of two times that are the same


class March(Structure):
    """A run of a solver with its output."""

    equations: Any
    solver: Any  # what `take_step` and `interpolated` need
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


class AfterStep(NamedTuple):
    """Compiled functions for the output of a solver.

    Attributes
    ----------
    step_taken : callable
        `step_taken(t, y, flag, run) -> code`: what is to be done after a step to `t`.
    store_times : callable
        `store_times(t, y, run) -> bool`: output at the given times up to the end of the step, as far as there is room; whether the solver
        could interpolate.
    """

    step_taken: Any
    store_times: Any


def after_step(interpolated: Any) -> AfterStep:
    """What follows a step of a solver.

    Parameters
    ----------
    interpolated : compiled function
        `interpolated(t, out, run) -> code`: writes the unknowns at a time within the last step; a negative code is a failure.
    """
    times = compiled_with(_store_times, interpolated, interpolated=interpolated)
    return AfterStep(compiled_with(_step_taken, interpolated, store_times=times), times)


def loop(take_step: Any, unknowns: Any, interpolated: Any) -> Any:
    """The loop `march(run, flag) -> code` of a solver.

    It steps until the end and its output, until there is no room for output, `flag` is set, velocities change suddenly, or a step fails.

    Parameters
    ----------
    take_step : compiled function
        `take_step(run) -> (code, t)`: one step; a negative code is a failure.
    unknowns : compiled function
        `unknowns(run)`: the array in which the solver leaves them.
    interpolated : compiled function
        As for `after_step`.
    """
    return compiled_with(_march, take_step, take_step=take_step, unknowns=unknowns, **after_step(interpolated)._asdict())


def _march(run, flag):
    y = unknowns(run)  # noqa: F821  # a name given by `compiled_with`, as others below
    if run.by_steps == 0 and not store_times(run.t, y, run):  # noqa: F821  # those of the last step for which there was no room
        return FAILED
    while run.stored < run.rows_t.shape[0]:
        if run.forward * (run.t_end - run.t) <= 0.0:
            return ARRIVED
        if run.usual != np.inf:
            run.before_y[:] = y
        code, t = take_step(run)  # noqa: F821
        if code < 0:
            run.fault = code
            return FAILED
        code = step_taken(t, y, flag, run)  # noqa: F821
        if code != GOES_ON:
            return code
    return PAUSED


def _step_taken(t, y, flag, run):
    before = run.t
    run.t = run.t_end if abs(t - run.t_end) <= run.rounding else t
    run.stalled = run.stalled + 1 if abs(run.t - before) <= 4e-16 * abs(run.t) else 0
    if run.stalled > STALLED_STEPS:
        return STALLED
    if run.t == before:
        return GOES_ON
    run.steps += 1
    run.before = before
    ended = run.forward * (run.t_end - run.t) <= 0.0
    if run.by_steps != 0:
        if ended or run.steps % run.every == 0:
            store(run.t, y, run)
    elif not store_times(run.t, y, run):  # noqa: F821
        return FAILED
    watch(y, before, run)
    if run.steps == run.max_steps and not ended:
        return TOO_MANY
    if run.sudden != 0 or flag[0] != 0 or run.steps >= run.pause:
        return PAUSED
    return GOES_ON


def _store_times(t, y, run):
    while (run.next_output < run.times.shape[0] and run.stored < run.rows_t.shape[0]
           and run.forward * (t - run.times[run.next_output]) >= -CLOSE * abs(t)):
        time = run.times[run.next_output]
        if time == t:
            store(time, y, run)
        else:
            run.fault = interpolated(time, run.rows_y[run.stored], run)  # noqa: F821
            if run.fault < 0:
                return False
            run.rows_t[run.stored] = time
            run.stored += 1
        run.next_output += 1
    return True


@compiled
def store(t, y, run):
    """One more row of output."""
    run.rows_t[run.stored] = t
    run.rows_y[run.stored] = y
    run.stored += 1


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
