"""The time loop of the state-space methods: steps with error control until something asks for attention."""

import numpy as np

from ...charts.condition import MAX_GROWTH, condition
from ...charts.configuration import prepare
from ...charts.derivative import by_time
from ...charts.motion import second_rates
from ...charts.store import bases
from ...compilation.compiled import compiled
from ...system.codes import GOOD
from ...system.motion import refine
from ..control.step_size import step_factor
from .attempts import ROSENBROCK, attempt
from .interpolation import complete
from .step import (
    BAD_DERIVATIVES,
    CONVERGED,
    DIVERGED,
    ERROR_TEST,
    EVALUATIONS,
    EXTRA,
    JACOBIANS,
    REJECTED_ERROR,
    REJECTED_NEWTON,
    STEPS,
    STORED,
    size,
    weigh,
)

ARRIVED, PAUSED, NEEDS_CHART, FAILED = range(4)
STALLED = 110  # the fault of a step that does not move the time
H, ETA, FIRST, LARGEST, FAULT, JACOBIAN_AGE, DIRTY, PHASE, WANTED, AFTER_REJECTION, PAST_ERROR, PAST_STEP, CONTROL = range(13)

SLOW = 1e-3  # rate of convergence beyond which the next step gets derivatives of its own
STRETCH = 1.01  # the last step may be longer by this, so that no tiny one remains


@compiled
def march(method, options, t, t_end, tolerances, control, counts, start, trial, near, stages, error, tableaus, tools, derive, scratch,
          wanted, every, most, out, flag):
    """Steps until the end, until `most` of them are done, the room for output is used up or `flag` is set, until the chart has
    become ill-conditioned or a step fails.

    `options` are `(filtered, fixed, rheonomic, extra)`, the last of them evaluations that derivatives take, `tolerances` `(rtol, atol,
    rule)`, the last the `Rule` for the size of the next step; `derive` is one of the kernels `DERIVATIVES`. Returns `(code, t)`; `start` is
    then the state at `t`, and `counts[STORED]` the number of states in `out`.
    """
    filtered, fixed, rheonomic, extra = options
    rtol, atol, _ = tolerances
    direction, done, n, tried = (1.0 if t_end > t else -1.0), 0, start[0].shape[0], False
    smallest = 1e-15 * max(abs(t), abs(t_end))
    counts[STORED] = 0
    while True:
        if done == most or (wanted.shape[0] == 0 and counts[STORED] == out[0].shape[0]) or (tried and flag[0] != 0):
            return PAUSED, t
        tried = True
        rest = t_end - t
        h = direction * min(abs(control[H]), control[LARGEST])
        last = abs(h) * STRETCH >= abs(rest)
        if last:
            h = rest
        end = t_end if last else t + h
        if end == t:
            control[FAULT] = STALLED
            return FAILED, t
        weigh(start, start, rtol, atol, near[5])
        _go_back(t, start, tools, control)
        if control[JACOBIAN_AGE] < 0.0:
            counts[EXTRA] += extra
            status = _derive(rheonomic and method == ROSENBROCK, t, h, control, start, near, tools, derive, scratch, counts)
            if status != GOOD:
                if _give_up(fixed or status == BAD_DERIVATIVES, 1.0, h, smallest, status, control, counts):
                    return FAILED, t
                continue
        status, eta, rate = attempt(method, t, h, control[ETA], filtered, start, trial, near, stages, error, tableaus, tools, counts)
        control[DIRTY], factor, estimate = 1.0, 1.0, 0.0
        if status == CONVERGED and not fixed:
            status, factor, estimate = _test(h, start, trial, near, error, tolerances, control, tools[1])
        if status == CONVERGED:
            status = _finish(end, trial, tools, counts)
        wear = 0.0
        if status == CONVERGED:
            wear = condition(end, trial[3], n, tools[0], tools[1], tools[2])
            control[DIRTY] = 0.0
            status = _store(method, t, end, h, last, start, trial, near, stages, tableaus, tools, wanted, every, control, counts,
                            out)
        if status != CONVERGED:
            if _give_up(fixed, factor, h, smallest, status, control, counts):
                return FAILED, t
            continue
        done, t = done + 1, end
        _accept(h, factor, estimate, eta, method == ROSENBROCK or rate > SLOW, fixed, last, start, trial, control, counts)
        if last:
            return ARRIVED, t
        if wear > MAX_GROWTH * control[FIRST]:
            control[FIRST] = wear
            return NEEDS_CHART, t


@compiled
def _accept(h, factor, estimate, eta, spent, fixed, last, start, trial, control, counts):
    """The end of the step is the start of the next, whose size is chosen; `spent` derivatives will not serve it."""
    counts[STEPS] += 1
    for k in range(len(start)):
        start[k][:] = trial[k]
    if not fixed:
        grown = abs(h) * (min(factor, 1.0) if control[AFTER_REJECTION] > 0.0 else factor)
        control[H] = max(grown, control[H]) if last else grown
    control[PAST_ERROR], control[PAST_STEP] = 0.0 if control[AFTER_REJECTION] > 0.0 else estimate, h
    control[ETA], control[AFTER_REJECTION] = eta, 0.0
    control[JACOBIAN_AGE] = -1.0 if spent else control[JACOBIAN_AGE] + 1.0


@compiled
def _test(h, start, trial, near, error, tolerances, control, model):
    """The error test: `(status, factor, error)`, the factor for the next step [Negrut, section 4.2.1]."""
    rtol, atol, rule = tolerances
    weigh(start, trial, rtol, atol, near[5])
    estimate = size(error[0], error[1], near, start[3], model)
    past = 0.0 if control[AFTER_REJECTION] > 0.0 else control[PAST_ERROR]
    return (CONVERGED if estimate <= 1.0 else ERROR_TEST), step_factor(rule, estimate, h, past, control[PAST_STEP]), estimate


@compiled
def _give_up(fixed, factor, h, smallest, status, control, counts):
    """After a step that has failed: shorten it, with derivatives of its own if those it had were old; whether no attempt is left.

    Nothing else of the attempt is kept. A fixed step is repeated with new derivatives or not at all.
    """
    counts[REJECTED_ERROR if status == ERROR_TEST else REJECTED_NEWTON] += 1
    old = status != ERROR_TEST and control[JACOBIAN_AGE] > 0.0
    if status != ERROR_TEST:
        factor = 0.5 if status >= DIVERGED else 0.25
    if old:
        control[JACOBIAN_AGE] = -1.0
        factor = 1.0 if status == DIVERGED else factor
    control[FAULT], control[AFTER_REJECTION], control[ETA] = status, 1.0, 1.0
    if fixed:
        return not old
    control[H] = abs(h) * factor
    return not control[H] > smallest  # nor if it is not finite


@compiled
def _go_back(t, start, tools, control):
    """The factors of the start of the step, from which positions are looked for: an attempt that has failed leaves those of anywhere."""
    if control[DIRTY] > 0.0:
        prepare(t, start[3], start[0].shape[0], tools[0], tools[1], tools[2])
        control[DIRTY] = 0.0


@compiled
def _derive(by_clock, t, h, control, start, near, tools, derive, scratch, counts):
    """The derivatives at the start of a step; what is wrong if they cannot be had."""
    jacobians, basis, explicit, _, _, _ = near
    store, model, work, _, evaluate = tools
    z, zd, x, q, v, a, lam = start
    n = z.shape[0]
    if by_clock:
        counts[EXTRA] += 2
        control[DIRTY] = 1.0
        status = by_time(evaluate, t, h, z, zd, x, q, v, a, lam, store, model, work, explicit)
        if status != GOOD:
            return status
    _go_back(t, start, tools, control)
    basis[:] = bases(n, model, store)[1]
    counts[JACOBIANS] += 1
    if not derive(t, zd, q, v, a, lam, n, store, model, work, scratch, jacobians):
        return BAD_DERIVATIVES
    control[JACOBIAN_AGE] = 0.0
    return GOOD


@compiled
def _finish(t, trial, tools, counts):
    """All that belongs to the new `(z, z')`, without rounding."""
    store, model, work, _, evaluate = tools
    z, zd, x, q, v, a, lam = trial
    counts[EVALUATIONS] += 1
    status = evaluate(t, z, zd, q, v, a, lam, x, store, model, work)
    if status == GOOD:
        refine(t, q, v, a, lam, model, work)
        second_rates(t, q, v, a, z.shape[0], store, model, x)
    return status


@compiled
def _store(method, t, end, h, last, start, trial, near, stages, tableaus, tools, wanted, every, control, counts, out):
    """Keep the state at the end of the step, or those at the times that are wanted; what is wrong if one of these cannot be had."""
    if wanted.shape[0] == 0:
        control[PHASE] += 1.0
        if last or control[PHASE] >= every:
            _keep(end, trial, out, counts)
            control[PHASE] = 0.0
        return CONVERGED
    k, direction, before = int(control[WANTED]), 1.0 if h > 0.0 else -1.0, counts[STORED]
    while k < wanted.shape[0] and direction * (end - wanted[k]) >= -1e-14 * abs(end):
        if abs(wanted[k] - end) <= 1e-14 * abs(end):
            _keep(wanted[k], trial, out, counts)
        else:
            control[DIRTY] = 1.0
            status = between(method, wanted[k], t, h, start, trial, near, stages, tableaus, tools, out, counts)
            if status != GOOD:  # a shorter step will tell what is there
                counts[STORED] = before
                return status
        k += 1
    control[WANTED] = k
    return CONVERGED


@compiled
def between(method, time, t, h, start, trial, near, stages, tableaus, tools, out, counts):
    """Keep the state at a time within the step from `t`, on the constraints; what is wrong if it cannot be had."""
    z, zd, x = np.empty_like(trial[0]), np.empty_like(trial[0]), np.empty_like(trial[0])
    state = z, zd, x, trial[3].copy(), trial[4].copy(), trial[5].copy(), trial[6].copy()
    status = complete(method, t, (time - t) / h, h, start, trial, near, stages, tableaus, tools, state, counts)
    if status == GOOD:
        refine(time, state[3], state[4], state[5], state[6], tools[1], tools[2])
        _keep(time, state, out, counts)
    return status


@compiled
def inside(method, times, t, h, start, trial, near, stages, tableaus, tools, out, counts):
    """The states at `times` within the step from `t` that was made last, as in `between`; what is wrong, and at which time."""
    counts[STORED] = 0
    for k in range(times.shape[0]):
        status = between(method, times[k], t, h, start, trial, near, stages, tableaus, tools, out, counts)
        if status != GOOD:
            return status, times[k]
    return GOOD, t


@compiled
def _keep(t, state, out, counts):
    stored = counts[STORED]
    counts[STORED] += 1
    out[0][stored] = t
    out[1][stored], out[2][stored], out[3][stored], out[4][stored] = state[3], state[4], state[5], state[6]
