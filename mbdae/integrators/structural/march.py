"""The time loop of the structural integrators: steps of fixed or controlled size until something asks for attention."""

import numpy as np

from ...compilation.compiled import compiled
from ...system import kernels, sparse
from ...system import layout as lay
from ...system.codes import CHART_LOST, GOOD
from ...system.layout import part
from ...system.vectors import largest
from ..control.step_size import step_factor
from .nearest import correct
from .newton import STIFF, UNUSED, forecast, form, refresh, smoothed
from .settle import restore, settle
from .step import (
    ACCELERATION,
    CONVERGED,
    ERROR_TEST,
    EVALUATIONS,
    ITERATIONS,
    JACOBIANS,
    NULL_SPACE,
    POSITION,
    SLOW,
    SOLVES,
    STABILISED,
    VELOCITY,
    anchor,
    auxiliary,
    comply,
    step,
)

ARRIVED, PAUSED, FAILED, NEEDS_CHART = range(4)
STALLED = 110  # the fault of a step that does not move the time
# what is kept between two calls
H, AGE, WISHED, DIRTY, PHASE, BACK, FAULT, REJECTED, FORMED, WORST, LAG, ORIGIN, STEPWISE, PAST_ERROR, PAST_STEP, CONTROL = range(16)
STEPS, REJECTED_ERROR, REJECTED_NEWTON, STORED, COUNTERS = range(5, 10)  # the first five are those of a step

FEW = 4  # iterations that a step takes with derivatives
PATIENCE = 5  # steps that derivatives serve at least
JUMP = 0.2  # change of the accelerations in a step, relative, that does not go on
SAME = 1e-6  # relative difference of steps that rounding makes, at the end of the time span
STRETCH = 1.01  # the last step may be longer by this, so that no tiny one remains


@compiled
def march(kind, coefficients, options, t, t_end, tolerances, control, counts, start, new, back, scratch, friction, matrix, chart, model,
          work, derive, every, most, out, flag):
    """Steps until the end, until `most` of them are done or `flag` is set, until a chart is needed or a step fails.

    `options` are `(adaptive, tol, max_iter)`, `back` the accelerations before those of `start`, which are `control[BACK]` old (at first the
    same), `chart` `(store, scratch of the derivatives, their rows)`. Returns `(code, t)`; `start` is then the state at `t`.
    """
    adaptive, tol, max_iter = options
    direction, done, n, tried = 1.0 if t_end > t else -1.0, 0, matrix[1].shape[0], False
    smallest = 1e-14 * max(abs(t), abs(t_end))
    counts[STORED] = 0
    while done < most and not (tried and flag[0] != 0):
        tried = True
        if control[WISHED] > 0.0:
            control[FAULT] = CHART_LOST if n == 0 else _renew(t, start, matrix, chart, model, work, derive, control, counts)
            if control[FAULT] != GOOD:
                return (NEEDS_CHART if control[FAULT] == CHART_LOST else FAILED), t
        if control[DIRTY] > 0.0:
            anchor(t, start[0], scratch, model, work)
            control[DIRTY] = 0.0
        rest = t_end - t
        last = control[H] * STRETCH >= abs(rest) if adaptive else control[H] * (1.0 + 1e-9) >= abs(rest)
        h = rest if last and (adaptive or abs(rest) < control[H] * (1.0 - 1e-9)) else direction * control[H]
        if t + h == t and not last:
            control[FAULT] = STALLED
            return FAILED, t
        shortened = abs(h) < control[H] * (1.0 - SAME) and not adaptive
        _begin(h, coefficients, counts[STEPS] == 0 and not adaptive, start, back, new, matrix, control)
        if shortened and kind == POSITION:
            restore(kind, t, start, scratch, model, work)
        renewal = n > 0 and (control[STEPWISE] > 0.0 or (control[AGE] == 0.0 and control[REJECTED] > 0.0)), chart, derive
        before = counts[ITERATIONS]
        status, rate = step(kind, t, h, coefficients, tol, max_iter, start, new, scratch, friction, matrix, renewal, model, work, counts)
        factor, estimate = 1.0, 0.0
        if status == CONVERGED and (adaptive or shortened):
            status = _settle(kind, t + h, coefficients, start, new, scratch, model, work, counts)
        if status == CONVERGED and adaptive:
            status, factor, estimate = _test(kind, t, h, coefficients, start, new, back, control, tolerances, scratch, model, work)
        if status != CONVERGED:
            control[DIRTY] = 1.0
            if _give_up(adaptive, status, factor, h, smallest, control, counts):
                return FAILED, t
            continue
        done += 1
        counts[STEPS] += 1
        # steps of one size are counted from the start, so that rounding does not add up to a tiny one at the end
        t = t_end if last else t + h if adaptive else control[ORIGIN] + counts[STEPS] * h
        control[PAST_ERROR], control[PAST_STEP] = 0.0 if control[REJECTED] > 0.0 else estimate, h
        _accept(h, start, new, back, control)
        _plan(h, factor, rate, counts[ITERATIONS] - before, adaptive, last, renewal[0], start, matrix, control)
        if last or control[PHASE] >= every:
            _keep(t, start, out, counts)
            control[PHASE] = 0.0
        if last:
            return ARRIVED, t
    return PAUSED, t


@compiled
def _renew(t, start, matrix, chart, model, work, derive, control, counts):
    """Derivatives at the start of a step; what is wrong if it is not `GOOD`."""
    status = refresh(t, start, control[WORST], matrix, chart, model, work, derive)
    counts[JACOBIANS] += 1
    control[WISHED], control[AGE], control[DIRTY], control[FORMED] = 0.0, 0.0, 1.0, 0.0
    return status


@compiled
def _begin(h, coefficients, first, start, back, new, matrix, control):
    """What a step of this size needs: Newton's matrix, auxiliary accelerations of the right time, a guess."""
    if matrix[0][0] != UNUSED and control[FORMED] != h:
        share = (1.0 - coefficients[3]) / (1.0 - coefficients[2])
        form((share * coefficients[0] * h * h, share * coefficients[1] * h), matrix)
        control[FORMED] = h
        if first and (coefficients[2] != 0.0 or coefficients[3] != 0.0):  # Newmark's method has no choice
            smoothed(share * coefficients[1] * h, back, matrix, start[2])
            start[3][:] = start[2]
    if control[LAG] != 0.0 and abs(h - control[LAG]) > SAME * abs(h):
        _scale_lag(h / control[LAG], start)
    control[LAG] = h
    _guess(h, coefficients, control[BACK], start, back, new, matrix)


@compiled
def _settle(kind, t, coefficients, start, new, scratch, model, work, counts):
    """An end of the step that does not depend on its size, and the auxiliary accelerations that follow; what is wrong."""
    if kind in (NULL_SPACE, ACCELERATION):
        return CONVERGED
    status = settle(kind, t, new, scratch, model, work)
    auxiliary(coefficients, start, new[2], new[3])
    counts[EVALUATIONS] += 1
    counts[SOLVES] += 2 if kind == POSITION else 1
    return status


@compiled
def _accept(h, start, new, back, control):
    """The end of the step is the start of the next."""
    back[:] = start[2]
    control[BACK] = h
    for k in range(len(start)):
        start[k][:] = new[k]
    control[PHASE] += 1.0


@compiled
def _plan(h, factor, rate, iterations, adaptive, last, renewed, start, matrix, control):
    """The size of the next step, and whether it is to get derivatives: they cost about as much as `freedom` iterations."""
    freedom = start[1].shape[0] - start[4].shape[0]
    control[AGE] += 1.0
    worth = rate > SLOW and PATIENCE * (iterations - FEW) > freedom
    control[WISHED] = 1.0 if worth and (control[AGE] > PATIENCE or matrix[0][0] == UNUSED) else 0.0
    if adaptive:
        grown = abs(h) * (min(factor, 1.0) if control[REJECTED] > 0.0 else factor)
        control[H] = max(grown, control[H]) if last else grown
    if renewed:
        control[FORMED], control[AGE] = 0.0, PATIENCE  # the derivatives are those of a state on the way
        control[STEPWISE] = PATIENCE if control[REJECTED] > 0.0 and matrix[0][0] == STIFF else control[STEPWISE] - 1.0
    control[REJECTED] = 0.0


@compiled
def _scale_lag(ratio, start):
    """The auxiliary accelerations belong to a time that lags behind by a share of the step; so they do for a step of another size."""
    _, _, a, w, _ = start
    for k in range(w.shape[0]):
        w[k] = a[k] + ratio * (w[k] - a[k])


@compiled
def _guess(h, coefficients, before, start, back, new, matrix):
    """The accelerations and multipliers to begin with: the former go on as they did, or where they jump as the linearised ones do."""
    slope = h / before if before != 0.0 else 0.0
    for k in range(back.shape[0]):
        new[2][k] = slope * (start[2][k] - back[k])
    if matrix[0][0] == STIFF and (slope == 0.0 or largest(new[2]) > JUMP * largest(start[2])):
        sparse.fill(new[2], 0.0)
        forecast(h, coefficients, start, matrix, new[2])
    for k in range(back.shape[0]):
        new[2][k] += start[2][k]
    new[4][:] = start[4]


@compiled
def _test(kind, t, h, coefficients, start, new, back, control, tolerances, scratch, model, work):
    """The error test: `(status, factor for the next step, error)`.

    What the formula makes of the accelerations is compared with the integral of the polynomial through those of this step and the one
    before, which is of one order more. Errors across the constraints do not matter, see `_within`: these are not left to the formula.
    """
    beta, gamma, _, _ = coefficients
    _, _, a, w, _ = start
    a1, w1 = new[2], new[3]
    e, ev, before = scratch[0], scratch[1], control[BACK]
    for k in range(a.shape[0]):
        rate = (a1[k] - a[k]) / h
        bend = 2.0 * (rate - (a[k] - back[k]) / before) / (h + before) if before != 0.0 else 0.0
        rate -= 0.5 * h * bend
        e[k] = h * h * ((0.5 - beta) * w[k] + beta * w1[k] - 0.5 * a[k] - h * (rate / 6.0 + h * bend / 24.0))
        ev[k] = h * ((1.0 - gamma) * w[k] + gamma * w1[k] - a[k] - h * (rate / 2.0 + h * bend / 6.0))
    _within(kind, t, h, e, ev, start, new, scratch, model, work)
    estimate = _size(e, ev, start, new, tolerances, model)
    past = 0.0 if control[REJECTED] > 0.0 else control[PAST_ERROR]
    return (CONVERGED if estimate <= 1.0 else ERROR_TEST), step_factor(tolerances[2], estimate, h, past, control[PAST_STEP]), estimate


@compiled
def _within(kind, t, h, e, ev, start, new, scratch, model, work):
    """What is left of errors of positions and velocities when the constraints have been seen to, in the way of the method.

    Moving to the nearest takes away what is normal to the constraints, multipliers what their forces can do. With multipliers for
    velocities positions drift, by what the constraints have changed in the step.
    """
    if kind == ACCELERATION:
        return
    if kind <= STABILISED:
        _tangential(e, scratch, model, work)
    else:
        _drift(kind, t, h, start[0], new[0], scratch, model, work)
        comply(e, scratch[9], scratch, model, work)
    if kind == NULL_SPACE:
        _tangential(ev, scratch, model, work)
    else:
        sparse.fill(scratch[9], 0.0)
        comply(ev, scratch[9], scratch, model, work)


@compiled
def _tangential(x, scratch, model, work):
    G = part(model, work, lay.W_G)
    sparse.times(G, x, model, scratch[2])
    correct(scratch[2], G, model, scratch[7:10], x)


@compiled
def _drift(kind, t, h, q0, q1, scratch, model, work):
    """The change of `Phi` over the step; none with multipliers for positions, whatever rounding says."""
    b, before = scratch[9], scratch[2]
    sparse.fill(b, 0.0)
    if kind == VELOCITY:
        kernels.place(q0, model, work)
        kernels.phi(t, q0, model, work, before)
        kernels.place(q1, model, work)
        kernels.phi(t + h, q1, model, work, b)
        for k in range(b.shape[0]):
            b[k] -= before[k]


@compiled
def _size(e, ev, start, new, tolerances, model):
    """Root mean square of an error in positions and velocities, weighed with `atol + rtol max(|x0|, |x1|)`."""
    rtol, atol, _ = tolerances
    q0, v0, q, v = start[0], start[1], new[0], new[1]
    change, total = np.empty_like(q), 0.0
    kernels.qdot(0.0, q, e, model, change)
    for k in range(q.shape[0]):
        total += (change[k] / (atol + rtol * max(abs(q0[k]), abs(q[k])))) ** 2
    for k in range(v.shape[0]):
        total += (ev[k] / (atol + rtol * max(abs(v0[k]), abs(v[k])))) ** 2
    return np.sqrt(total / (q.shape[0] + v.shape[0]))


@compiled
def _give_up(adaptive, status, factor, h, smallest, control, counts):
    """After a step that has failed: another attempt, with fresh derivatives, renewed within it, or shorter; whether there is none left."""
    counts[REJECTED_ERROR if status == ERROR_TEST else REJECTED_NEWTON] += 1
    exhausted = control[REJECTED] > 0.0 and control[AGE] == 0.0
    control[FAULT], control[REJECTED] = status, 1.0
    if status != ERROR_TEST:
        control[WISHED] = 1.0 if control[AGE] != 0.0 else 0.0
        factor = 0.25 if exhausted else 1.0
    if not adaptive:
        return exhausted
    control[H] = abs(h) * factor
    return not control[H] > smallest  # nor if it is not finite


@compiled
def _keep(t, state, out, counts):
    stored = counts[STORED]
    counts[STORED] += 1
    out[0][stored] = t
    out[1][stored], out[2][stored], out[3][stored], out[4][stored] = state[0], state[1], state[2], state[4]
