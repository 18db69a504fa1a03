"""Steps of the variable-order BDF method for the time loop: prediction, Newton's method, error test, choice of order and step.

The algorithm is that of DASSL [Brenan, chapter 5] for any implicit equations. It differs in three points: Newton's method has a smaller
share of the tolerance, unknowns that are excluded from the error test remain in Newton's convergence test, and a Jacobian may have cheap
updates.

An attempt that needs a matrix returns `NEEDS_MATRIX`, with what it asks for in `memory.asked`; called again, it goes on from there.
"""

import numpy as np

from ..compilation.compiled import compiled, generic
from ..system.codes import BELOW_ROUNDING, DIVERGED, ERROR_TEST, GOOD, NEEDS_MATRIX, NEEDS_STEP, NOT_FINITE
from ..system.vectors import put
from . import bdf_formulas as bdf
from .bdf_arrays import UNKNOWN_ETA
from .bdf_formulas import ERROR, NEWTON
from .control.loop import loops
from .control.newton import ITERATE, newton_test
from .iteration_matrix import adapt, solve

EPS = float(np.finfo(float).eps)
MAX_RATE = 0.9  # contraction rate above which Newton's method has failed
MIN_ETA = 0.02  # lower bound of the ratio of error and correction: a rate is used until the matrix is renewed
MIN_RATIO = 0.6  # of the leading coefficients of the step and the matrix, or their inverse, below which the matrix is renewed
MAX_NEWTON_FAILURES = 10  # in one step
MAX_TRIES = 4  # evaluations in one attempt of a Jacobian whose pattern may lack entries
NOTHING, MATRIX, EVALUATION, SUSPICION = range(4)  # requests: an update or an evaluation; an evaluation; one if entries may be missing


@generic
def attempt(t, h, end, run):
    """One attempt of a step; `(status, 0)`, as the error test is made here."""
    memory, status = run.memory, GOOD
    if memory.asked == NOTHING:
        status = _begin(h, end, run)
    else:
        status, memory.asked = memory.status, NOTHING
    if status == GOOD:
        status = _newton(end, run)
    if status == GOOD:
        return (GOOD if run.clock.fixed != 0 else _judge(run)), 0.0
    if status not in (NEEDS_MATRIX, BELOW_ROUNDING):
        status = _again(status, run)
    return status, 0.0


@compiled
def _begin(h, end, run):
    """Predict, evaluate the residual there, and adapt the matrix to the leading coefficient."""
    memory, norms = run.memory, run.norms
    memory.end = end
    if h != memory.last_step or memory.order != memory.last_order:
        memory.constant = 0
    memory.constant = min(memory.constant + 1, memory.last_order + 2)
    c, memory.scale, tested, largest = bdf.begin(h, memory.order, run.table, run.phi, norms, run.weights, run.y, run.yd, run.e)
    memory.rounding, memory.size = 100.0 * EPS * largest, max(tested, largest)
    if not (100.0 * EPS * tested <= 1.0 and memory.rounding <= 1.0):
        return BELOW_ROUNDING
    memory.in_full, memory.tries = 1, MAX_TRIES  # no matrix helps where there is no residual
    if not _evaluate(end, run, run.first):
        return NOT_FINITE
    memory.in_full, memory.tries = 0, 0
    return _prepare(c, run)


@compiled
def _prepare(c, run):
    """Adapt the matrix to the leading coefficient, or ask for another one."""
    memory, old = run.memory, run.factors.c
    is_near = old != 0.0 and c / old >= MIN_RATIO and c / old <= 1.0 / MIN_RATIO
    if c != memory.c or not is_near:
        memory.c, memory.eta = c, UNKNOWN_ETA
        if is_near:
            adapt(c, run.factors)
    if is_near:
        return GOOD
    memory.asked = MATRIX
    return NEEDS_MATRIX


@compiled
def _again(status, run):
    """After a failure of Newton's method: ask for a new matrix where one may help, otherwise count the failure."""
    memory = run.memory
    memory.status = status
    if memory.tries < MAX_TRIES and (memory.in_full == 0 or memory.suspects != 0):
        bdf.predict(run.phi, memory.order, run.table, run.y, run.yd, run.e)
        memory.asked = EVALUATION if memory.in_full == 0 else SUSPICION
        memory.tries += 1
        memory.eta = UNKNOWN_ETA
        return NEEDS_MATRIX
    memory.newton_failures += 1
    return status


@compiled
def _evaluate(t, run, out):
    """The residual at the iterate; whether it is finite."""
    run.counts.residuals += 1
    if run.redundant.shape[0] > 0:
        run.follow(t, run.y, run.redundant, run.followed, run.drifts, run.weight, run.model, run.work)
    return run.residual(t, run.y, run.yd, out, run.model, run.work, run.parameters)


@compiled
def _newton(t, run):
    """Iterate from the prediction, where the residual is known; `GOOD`, `DIVERGED` or `NOT_FINITE`."""
    memory, counts, first, before = run.memory, run.counts, 0.0, 0.0
    for m in range(run.newton.max_iter):
        if m > 0 and not _evaluate(t, run, run.later):
            return NOT_FINITE
        counts.newton_iterations += 1
        counts.solves += 1
        solve(run.first if m == 0 else run.later, run.factors)
        moved = bdf.correct(run.factors.x, run.factors.column, memory.c, run.weights[NEWTON], run.norms.counts[NEWTON],
                            run.y, run.yd, run.e)
        if moved <= memory.rounding:
            return GOOD
        if m == 0:
            first = moved
        else:  # with the mean contraction rate, as in DASSL
            before = first * (moved / first) ** (1.0 - 1.0 / m)
        verdict = newton_test(run.newton, m, moved, before, memory.eta, False)
        if m > 0:
            memory.eta = max(MIN_ETA, verdict.eta)
        if verdict.status != ITERATE:
            return GOOD if verdict.status == GOOD else DIVERGED
    return DIVERGED


# error test, order and size of the next step ---------------------------------------------------------------------------------


@compiled
def _judge(run):
    """The error test; order and size of the next step or of another attempt."""
    memory = run.memory
    own, lower, lowest, moved = bdf.errors(run.phi, memory.order, run.table, run.e, run.weights[ERROR], run.norms.counts[ERROR])
    falls = _should_fall(memory.order, own, lower, lowest)
    if memory.scale * moved <= 1.0:
        _plan(falls and not (_has_risen(memory) and memory.starting == 0), own, lower, run)
        return GOOD
    order, estimate = (memory.order - 1, lower) if falls else (memory.order, own)
    _cut(order, estimate, memory)
    return ERROR_TEST


@compiled
def _cut(order, estimate, memory):
    """After the first failure by the error estimate, then by a factor of four; after the third at order 1, as at a discontinuity."""
    memory.error_failures += 1
    memory.order = order if memory.error_failures < 3 else 1
    wanted = 0.9 * _growth(estimate, order) if memory.error_failures == 1 else 0.25
    memory.factor = min(0.9, max(0.25, wanted))


@compiled
def _should_fall(k, own, lower, lowest):
    """Whether the estimated terms of the Taylor series do not decrease up to this order."""
    if k < 3:
        return k == 2 and 2.0 * lower <= 1.5 * own
    return max(k * lower, (k - 1) * lowest) <= (k + 1) * own


@compiled
def _has_risen(memory):
    """Whether the step is the first one of a higher order.

    Its estimates contain the larger errors of the values before. Were the order to fall for these, it might rise and fall forever, with
    steps for an error of order one: thousands, each with its error of half a tolerance.
    """
    return memory.order == memory.last_order + 1


@compiled
def _plan(falls, own, lower, run):
    """Order and size of the next step.

    After a cut the step size is not doubled before the order could rise. The error of a stiff mode is large after each change of the
    step size and small between equal steps, so at order 1 every second attempt might fail.
    """
    memory = run.memory
    if falls or memory.order == run.max_order:
        memory.starting = 0
    memory.next_order, estimate = _next_order(falls, own, lower, run)
    memory.holding = 1 if memory.error_failures > 0 or (memory.holding != 0 and memory.constant <= memory.order + 1) else 0
    growth = 2.0 if memory.starting != 0 else _growth(estimate, memory.next_order)
    if growth >= 2.0 and (memory.starting != 0 or memory.holding == 0):
        memory.factor = 2.0
    elif growth <= 1.0:
        memory.factor = max(0.5, min(0.9, growth))
    else:
        memory.factor = 1.0


@compiled
def _next_order(falls, own, lower, run):
    """Order of the next step and its error estimate; the order rises only after as many equal steps as the formula has."""
    memory = run.memory
    k = memory.order
    if memory.starting != 0:
        return k + 1, own
    if falls:
        return k - 1, lower
    if k == run.max_order or memory.constant <= k + 1 or _has_risen(memory):
        return k, own
    above = bdf.error_above(run.phi, k, run.e, run.weights[ERROR], run.norms.counts[ERROR])
    if k > 1 and k * lower <= min((k + 1) * own, (k + 2) * above):
        return k - 1, lower
    if (k + 2) * above < (k + 1) * own * (0.5 if k == 1 else 1.0):
        return k + 1, above
    return k, own


@compiled
def _growth(estimate, order):
    """Factor of the step size for an error of half the tolerance."""
    return (2.0 * estimate + 1e-4) ** (-1.0 / (order + 1))


# the other functions of the time loop ----------------------------------------------------------------------------------------


@compiled
def ratio(status, error, h, run):
    """The ratio of the next step to this one."""
    return run.memory.factor


@compiled
def retry(status, run):
    """After a failure of Newton's method the step is cut by a factor of four; the first failure of any kind ends the start."""
    memory = run.memory
    memory.starting = 0
    is_last = run.clock.fixed != 0 or status == BELOW_ROUNDING or memory.newton_failures >= MAX_NEWTON_FAILURES
    return 0.0 if is_last else 0.25


@compiled
def accept(h, factor, run):
    """The differences at the end of the step take the place of those at its start."""
    memory = run.memory
    bdf.accept(run.phi, memory.order, run.table, run.e)
    put(run.yd, run.rate)
    memory.last_order, memory.last_step, memory.order = memory.order, h, memory.next_order
    memory.error_failures, memory.newton_failures = 0, 0
    return NEEDS_STEP if memory.plans != 0 else GOOD


@compiled
def between(time, t, h, run, inside):
    """The state within a step, by the polynomial through the last values, of the order of the step."""
    bdf.interpolate_ahead(time - t - h, run.phi, run.e, run.memory.order, run.table, run.polynomials, run.y_within, run.yd_within)
    put(run.within.q, inside.q)
    put(run.within.v, inside.v)
    return GOOD


LOOPS = loops(attempt, retry, accept, between, ratio)
