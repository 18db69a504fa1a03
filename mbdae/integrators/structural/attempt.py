"""Steps of the structural integrators for the time loop: derivatives, initial guess, step, projection, error estimate."""

import numpy as np

from ...compilation.compiled import compiled
from ...system import kernels, sparse
from ...system import layout as lay
from ...system.codes import BAD_DERIVATIVES, CHART_LOST, ERROR_TEST, GOOD, NEEDS_CHART, NOT_FINITE
from ...system.layout import part
from ...system.vectors import largest, put
from ..control.hermite import hermite
from ..control.loop import loops, shortened
from .arrays import put_all
from .consistent import make_consistent, restore
from .matrix import STIFF, UNUSED, forecast, form, refresh, smoothed
from .nearest import correct
from .step import ACCELERATION, NULL_SPACE, POSITION, REQUEST_RATE, STABILISED, VELOCITY, anchor, auxiliary, comply, step, weights

USUAL_ITER = 4  # iterations of a step with new derivatives
MIN_JACOBIAN_AGE = 5  # steps before derivatives are evaluated again
MAX_CHANGE = 0.2  # of accelerations in a step, relative, above which they are not extrapolated
SAME_STEP_TOL = 1e-6  # relative difference of two step sizes that are equal


@compiled
def attempt(t, h, end, run):
    """One step and its error estimate; with variable step size, and after a shorter last step, the end is made consistent."""
    clock, memory, matrix = run.clock, run.memory, run.matrix
    if memory.jacobian_requested:
        status = _derivatives(t, run)
        if status != GOOD:
            return status, 0.0
    if memory.factors_stale:
        anchor(t, run.start.q, run.scratch, run.model, run.work)
        memory.factors_stale = 0
    # iteration matrix and initial guess
    _prepare(h, run)
    is_shortened = shortened(h, clock)
    if is_shortened and run.kind == POSITION:
        restore(run.kind, t, run.start, run.scratch, run.model, run.work)
    # the step
    unreliable = memory.jacobian_age == 0 and clock.rejected > 0
    renewing = matrix.J1.shape[0] > 0 and (memory.renewing_steps > 0 or unreliable)
    memory.renewed = 1 if renewing else 0
    status, error = step(t, h, renewing, run), 0.0
    # consistent end, error
    if status == GOOD and (not clock.fixed or is_shortened):
        status = _make_consistent(t + h, run)
    if status == GOOD and not clock.fixed:
        error = _error(t, h, run)
    return status, error


@compiled
def _derivatives(t, run):
    """Evaluate the derivatives at the start of a step; `GOOD` or the code of a failure."""
    memory, status = run.memory, CHART_LOST
    if run.matrix.J1.shape[0] > 0:
        status = refresh(t, run.start, memory.condition_limit, run)
        run.counts.jacobians += 1
        memory.jacobian_requested, memory.jacobian_age, memory.factors_stale, memory.formed = 0, 0, 1, 0.0
    return NEEDS_CHART if status == CHART_LOST else BAD_DERIVATIVES if status == NOT_FINITE else status


@compiled
def _prepare(h, run):
    """The iteration matrix for the step size `h`, auxiliary accelerations with the time lag of `h`, initial guess."""
    memory, matrix, start, (_, _, alpha_m, alpha_f) = run.memory, run.matrix, run.start, run.coefficients
    by_position, by_velocity = weights(h, run.coefficients)
    if matrix.state != UNUSED and memory.formed != h:
        form(by_position, by_velocity, matrix)
        memory.formed = h
        is_first = run.counts.steps == 0 and run.clock.fixed > 0
        if is_first and (alpha_m != 0.0 or alpha_f != 0.0):  # in Newmark's method w = a
            smoothed(by_velocity, run.back, matrix, start.a)
            put(start.a, start.w)
    lag = memory.alpha_time_lag
    if lag != 0.0 and abs(h - lag) > SAME_STEP_TOL * abs(h):
        # the time lag of the auxiliary accelerations is proportional to the step size
        a, w = start.a, start.w
        for k in range(w.shape[0]):
            w[k] = a[k] + h / lag * (w[k] - a[k])
    memory.alpha_time_lag = h
    _guess(h, run)


@compiled
def _guess(h, run):
    """Initial guess: accelerations extrapolated, or from the linearised equations if they change by much; multipliers of the start."""
    start, end, matrix, back_step = run.start, run.end, run.matrix, run.memory.back_step
    slope, a, a1, back = h / back_step if back_step != 0.0 else 0.0, start.a, end.a, run.back
    for k in range(a.shape[0]):
        a1[k] = slope * (a[k] - back[k])
    if matrix.state == STIFF and (slope == 0.0 or largest(a1) > MAX_CHANGE * largest(a)):
        sparse.fill(a1, 0.0)
        forecast(h, run.coefficients, start, matrix, a1)
    for k in range(a.shape[0]):
        a1[k] += a[k]
    put(start.lam, end.lam)


@compiled
def _make_consistent(t, run):
    """Consistent velocities, accelerations and multipliers at the end of the step, auxiliary accelerations; `GOOD` or a failure."""
    if run.kind in (NULL_SPACE, ACCELERATION):
        return GOOD
    counts = run.counts
    status = make_consistent(run.kind, t, run.end, run.scratch, run.model, run.work)
    auxiliary(run.coefficients, run.start, run.end.a, run.end.w)
    counts.residuals += 1
    counts.solves += 2 if run.kind == POSITION else 1
    return status


@compiled
def retry(status, run):
    """After a rejected step: retry with new derivatives, then with derivatives at every iterate, then with a shorter step."""
    memory = run.memory
    exhausted = run.clock.rejected > 0 and memory.jacobian_age == 0
    memory.factors_stale = 1
    if status == BAD_DERIVATIVES:
        return 0.0
    if status != ERROR_TEST:
        memory.jacobian_requested = 1 if memory.jacobian_age != 0 else 0
    return 0.25 if exhausted else 1.0


@compiled
def accept(h, factor, run):
    """Advance the state; request new derivatives, which cost about `freedom` iterations, if they save more."""
    memory, start, stiff = run.memory, run.start, run.matrix.state
    rejected = run.clock.rejected > 0
    put(start.a, run.back)
    memory.back_step = h
    put_all(run.end, start)
    freedom = start.v.shape[0] - start.lam.shape[0]
    memory.jacobian_age += 1
    worth = memory.rate > REQUEST_RATE and MIN_JACOBIAN_AGE * (memory.iterations - USUAL_ITER) > freedom
    old = memory.jacobian_age > MIN_JACOBIAN_AGE or stiff == UNUSED
    memory.jacobian_requested = 1 if worth and old else 0
    if memory.renewed:
        memory.formed, memory.jacobian_age = 0.0, MIN_JACOBIAN_AGE  # the derivatives are those of another state
        memory.renewing_steps = MIN_JACOBIAN_AGE if rejected and stiff == STIFF else memory.renewing_steps - 1
    return GOOD


@compiled
def between(time, t, h, run, inside):
    """The state within a step, by cubic Hermite interpolation."""
    return hermite(time, t, h, run.start, run.end, run.model, inside)


# error estimate --------------------------------------------------------------------------------------------------------------


@compiled
def _error(t, h, run):
    """The error estimate of a step, relative to the tolerances.

    It is the difference between the formula and the integral of the polynomial through the accelerations of this step and the one before,
    which is one order more accurate. Components that the projections remove are left out, see `_within`.
    """
    beta, gamma, _, _ = run.coefficients
    start, end, back, before = run.start, run.end, run.back, run.memory.back_step
    a, w, a1, w1 = start.a, start.w, end.a, end.w
    e, ev = run.scratch.d, run.scratch.ideal
    between_ends = _interpolation(h, run)
    for k in range(a.shape[0]):
        rate = (a1[k] - a[k]) / h
        bend = 2.0 * (rate - (a[k] - back[k]) / before) / (h + before) if before != 0.0 else 0.0
        rate -= 0.5 * h * bend
        e[k] = h * h * ((0.5 - beta) * w[k] + beta * w1[k] - 0.5 * a[k] - h * (rate / 6.0 + h * bend / 24.0))
        ev[k] = h * ((1.0 - gamma) * w[k] + gamma * w1[k] - a[k] - h * (rate / 2.0 + h * bend / 6.0))
    _within(t, h, e, ev, run)
    return max(_size(e, ev, run), between_ends)


@compiled
def _interpolation(h, run):
    """The error of cubic polynomials within a step, relative to the tolerances of the solution; zero for the first step.

    Where drivers move the mechanism, projections remove all other errors. It is `h^4 / 384` times the fourth derivative: in the positions
    the second derivative of the accelerations; in the velocities a bound by `h^3` times this, which holds where the step resolves them.
    """
    a, a1, back, before = run.start.a, run.end.a, run.back, run.memory.back_step
    e, ev = run.scratch.d, run.scratch.ideal
    if before == 0.0:
        return 0.0
    for k in range(a.shape[0]):
        bend = 2.0 * ((a1[k] - a[k]) / h - (a[k] - back[k]) / before) / (h + before)
        ev[k] = run.share * abs(h) ** 3 * bend / 384.0
        e[k] = abs(h) * ev[k]
    return _size(e, ev, run)


@compiled
def _within(t, h, e, ev, run):
    """Project the errors of positions and velocities as the method projects positions and velocities.

    Projections remove the normal components, multipliers those in the range of `M^-1 Phi_q^T`. With constraints on velocity level the
    positions drift; the change of `Phi` in the step is then a part of the error.
    """
    kind, scratch, model, work = run.kind, run.scratch, run.model, run.work
    y = scratch.nearness.y
    if kind == ACCELERATION:
        return
    if kind <= STABILISED:
        _tangential(e, scratch, model, work)
    else:
        _drift(t, h, run)
        comply(e, y, scratch, model, work)
    if kind == NULL_SPACE:
        _tangential(ev, scratch, model, work)
    else:
        sparse.fill(y, 0.0)
        comply(ev, y, scratch, model, work)


@compiled
def _tangential(x, scratch, model, work):
    """Remove the component of `x` that is normal to the constraints."""
    G = part(model, work, lay.W_G)
    sparse.times(G, x, model, scratch.defect)
    correct(scratch.defect, G, model, scratch.nearness, x)


@compiled
def _drift(t, h, run):
    """The change of `Phi` over the step, into `scratch.nearness.y`; zero with constraints on position level."""
    model, work, b, before = run.model, run.work, run.scratch.nearness.y, run.scratch.defect
    sparse.fill(b, 0.0)
    if run.kind == VELOCITY:
        kernels.place(t, run.start.q, model, work)
        kernels.phi(t, run.start.q, model, work, before)
        kernels.place(t + h, run.end.q, model, work)
        kernels.phi(t + h, run.end.q, model, work, b)
        for k in range(b.shape[0]):
            b[k] -= before[k]


@compiled
def _size(e, ev, run):
    """Root mean square of an error in positions and velocities, divided by `atol + rtol max(|x0|, |x1|)`."""
    rtol, atol, start, end = run.rtol, run.atol, run.start, run.end
    q0, v0, q, v = start.q, start.v, end.q, end.v
    change, total = np.empty_like(q), 0.0
    kernels.qdot(0.0, q, e, run.model, change)
    for k in range(q.shape[0]):
        total += (change[k] / (atol + rtol * max(abs(q0[k]), abs(q[k])))) ** 2
    for k in range(v.shape[0]):
        total += (ev[k] / (atol + rtol * max(abs(v0[k]), abs(v[k])))) ** 2
    return np.sqrt(total / (q.shape[0] + v.shape[0]))


LOOPS = loops(attempt, retry, accept, between)
