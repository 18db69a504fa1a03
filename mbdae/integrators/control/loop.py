"""The time loop of all in-house methods.

A family of methods supplies four compiled functions. `run` is its `Run`, see `records`.

    attempt(t, h, end, run) -> (status, error)
        One step from `run.start` at `t` to `run.end` at `end = t + h`. `error` is relative to the tolerances, 0 where steps are of
        fixed length.
    retry(status, run) -> factor
        After a rejected attempt: the factor on the length of the next one, 1 if another attempt of this length makes sense (with new
        derivatives, say), 0 if no shorter one does either. After the error test it is the controller's factor that counts.
    accept(h, factor, run) -> status
        Make `run.end` the new start; what is needed before the next step, such as `NEEDS_CHART`, otherwise `GOOD`.
    between(time, t, h, run, inside) -> status
        The state at a time within the step from `t`, before it is accepted, into `inside`.

A family with a step-size control of its own supplies a fifth one.

    ratio(status, error, h, run) -> factor
        The ratio of the next step to this one, which is accepted (`GOOD`) or not (`ERROR_TEST`); by default that of the controller.

`loops` compiles the loop with these functions.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...compilation.compiled import compiled, compiled_with, exact, generic
from ...system.codes import ERROR_TEST, GOOD, NEEDS_CHART, NEEDS_DERIVATIVES, NEEDS_MATRIX, STALLED
from ...system.sudden import IS_SUDDEN, usual_after
from ...system.vectors import put
from .step_size import step_factor

ARRIVED, PAUSED, FAILED, ASKING = range(4)
NEEDS_ROOM = 49  # for output; see `mbdae.system.codes` for what else a step may need
STRETCH = 1.01  # the last step may be longer by this factor, so that no tiny one remains
SAME = 1e-9  # relative difference of two steps that counts as rounding
SMALLEST = 1e-15  # step relative to the time
CLOSE = 1e-14  # relative distance of two times that are the same


class Loops(NamedTuple):
    """The loops of a family of methods: `march(run, output, most, flag)` and `sample(times, t, h, run, output)`."""

    march: Callable[..., int]
    sample: Callable[..., int]


@compiled
def filtered(status, error, h, run):
    """The ratio of the next step to this one by the controller; a step does not grow at once after a rejected one."""
    clock = run.clock
    factor = step_factor(run.rule, error, h, 0.0 if clock.rejected else clock.past_error, clock.past_step)
    return min(factor, 1.0) if status == GOOD and clock.rejected else factor


def loops(attempt: Any, retry: Any, accept: Any, between: Any, ratio: Any = filtered) -> Loops:
    """The time loop and the loop over times within a step, compiled for a family; all functions are known in the file of `attempt`."""
    march = compiled_with(_march, attempt, attempt=attempt, retry=retry, accept=accept, between=between, ratio=ratio)
    return Loops(march, compiled_with(_sample, attempt, between=between))


def _march(run, output, most, flag):
    return time_loop(attempt, retry, accept, between, ratio, run, output, most, flag)  # noqa: F821  # names given by `loops`


def _sample(times, t, h, run, output):
    return sample(between, times, t, h, run, output)  # noqa: F821


@generic
def time_loop(attempt, retry, accept, between, ratio, run, output, most, flag):
    """Steps until the end, with further rows of output.

    It pauses when `most` of them are done, the output is full, `flag` is set, velocities change suddenly, or a step fails or needs
    something; with `clock.hold`, when the end of the run limits a step for the first time.
    """
    clock, done = run.clock, 0
    while done < most and (output.times.shape[0] > 0 or output.stored < output.t.shape[0]):
        t = clock.t
        h, last, end = next_step(clock)
        if end == t:
            clock.fault = STALLED
            return FAILED
        if clock.hold != 0 and (last or step_from(end, clock.steps + 1, clock).last):  # some steps depend on the length of the next one
            clock.hold = 0
            return PAUSED
        status, error = GOOD, clock.error
        if clock.pending == 0:
            status, error = attempt(t, h, end, run)
        clock.pending = 0
        if status == GOOD and not error <= 1.0:
            status = ERROR_TEST
        # output at given times belongs to the step: where it fails, a shorter one will tell what is there
        if status == GOOD and output.times.shape[0] > 0:
            status = _store_times(between, t, h, end, run, output)
        if status == NEEDS_ROOM:
            clock.pending, clock.error = 1, error
        if status in (NEEDS_CHART, NEEDS_MATRIX, NEEDS_DERIVATIVES, NEEDS_ROOM):
            clock.fault = status
            return ASKING
        factor = ratio(status, error, h, run)
        if status != GOOD:
            other = retry(status, run)
            if reject(status, factor if status == ERROR_TEST else other, h, run):
                return FAILED
        else:
            done += 1
            watch_velocities(t, h, run, output)
            status = accept(h, factor, run)
            advance(h, end, last, factor, error, run)
            if output.times.shape[0] == 0 and (last or clock.phase >= output.every):
                store(end, run.start, output)
                clock.phase = 0
            if last:
                return ARRIVED
            if status != GOOD:
                clock.fault = status
                return ASKING
        if flag[0] != 0 or clock.sudden != 0:
            return PAUSED
    return PAUSED


@compiled
def watch_velocities(t, h, run, output):
    """Before a step from `t` is accepted: keep its start if the velocities change suddenly."""
    clock = run.clock
    if clock.usual == np.inf:
        return
    usual = usual_after(run.start.v, run.end.v, h, clock.usual)
    if usual == IS_SUDDEN:
        clock.sudden, clock.before = 1, t
        put(run.start.q, output.inside.q)
        put(run.start.v, output.inside.v)
    else:
        clock.usual = usual


class Plan(NamedTuple):
    """A step: its length with its sign, whether it is the last one, and its end."""

    h: float
    last: bool
    end: float


@compiled
def next_step(clock):
    """The `Plan` of the next step."""
    return step_from(clock.t, clock.steps, clock)


@compiled
def step_from(t, steps, clock):
    """The same for the step from `t`, before which there were `steps`.

    Steps of fixed length are multiples of it from the origin. The sum of others is compensated: the rounding of `t + h` is the same in each
    of many equal steps, and would add up far from zero.
    """
    rest, h = (clock.t_end - t) - clock.carry, min(clock.h, clock.largest)
    h = h if clock.t_end > clock.origin else -h
    last = abs(h) * STRETCH >= abs(rest)
    if last:
        even = clock.fixed and abs(rest - h) <= SAME * abs(h)
        return Plan(h if even else rest, True, clock.t_end)
    return Plan(h, False, clock.origin + (steps + 1) * h if clock.fixed else moved(t, h, clock.carry))


@exact
def moved(t, h, carry):
    """`t + (h + carry)`, rounded."""
    return t + (h + carry)


@exact
def left_out(t, h, carry, end):
    """What `end`, the rounded `t + (h + carry)`, lacks."""
    return (h + carry) - (end - t)


@compiled
def shortened(h, clock):
    """Whether a step of fixed length is the last one and has another length."""
    return clock.fixed and abs(abs(h) - clock.h) > SAME * clock.h


@compiled
def reject(status, factor, h, run):
    """Shorten the step, or not, after a rejected one; whether there is no further attempt."""
    clock, counts = run.clock, run.counts
    if status == ERROR_TEST:
        counts.rejected_error += 1
    else:
        counts.rejected_newton += 1
    clock.fault, clock.rejected = status, 1
    if factor == 0.0 or (clock.fixed and factor != 1.0):
        return True
    if not clock.fixed:
        clock.h = abs(h) * factor
    # a step that is not finite is no step
    return not clock.h > SMALLEST * max(abs(clock.t), abs(clock.t_end))


@compiled
def advance(h, end, last, factor, error, run):
    """The clock after an accepted step."""
    clock = run.clock
    run.counts.steps += 1
    if not clock.fixed:
        clock.carry = 0.0 if last else left_out(clock.t, h, clock.carry, end)
    clock.t = end
    clock.steps += 1
    clock.phase += 1
    if not clock.fixed:
        grown = abs(h) * factor
        clock.h = max(grown, clock.h) if last else grown
    clock.past_error, clock.past_step = 0.0 if clock.rejected else error, h
    clock.rejected = 0


@compiled
def store(t, state, output):
    """One more row of output."""
    k = output.stored
    output.t[k] = t
    put(state.q, output.q[k])
    put(state.v, output.v[k])
    put(state.a, output.a[k])
    put(state.lam, output.lam[k])
    output.stored = k + 1


@generic
def _store_times(between, t, h, end, run, output):
    """The states at the times of output up to the end of the step; what is wrong if one of them cannot be had, or has no room."""
    clock = run.clock
    k, before, direction, status = clock.next_output, output.stored, 1.0 if h > 0.0 else -1.0, GOOD
    while k < output.times.shape[0] and direction * (end - output.times[k]) >= -CLOSE * abs(end):
        time = output.times[k]
        if output.stored == output.t.shape[0]:
            output.stored = before
            return NEEDS_ROOM
        if abs(time - end) <= CLOSE * abs(end):
            store(time, run.end, output)
        else:
            status = between(time, t, h, run, output.inside)
            if status != GOOD:
                output.stored = before
                return status
            store(time, output.inside, output)
        k += 1
    clock.next_output = k
    return GOOD


@generic
def sample(between, times, t, h, run, output):
    """The states at `times` within the step from `t`; what is wrong if one of them cannot be had."""
    output.stored = 0
    for k in range(times.shape[0]):
        status = between(times[k], t, h, run, output.inside)
        if status != GOOD:
            return status
        store(times[k], output.inside, output)
    return GOOD
