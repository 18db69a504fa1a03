"""Steps of the state-space methods for the time loop: derivatives, formula, error estimate, projection, condition of the chart."""

from ...charts.condition import condition
from ...charts.configuration import complete, prepare
from ...charts.derivative import State, by_time
from ...charts.motion import second_rates
from ...charts.store import bases
from ...compilation.compiled import compiled
from ...system.codes import BAD_DERIVATIVES, DIVERGED, ERROR_TEST, GOOD, NEEDS_CHART, NEEDS_DERIVATIVES, SINGULAR_MATRIX
from ...system.motion import refine
from ...system.vectors import put_rows
from ..control.loop import loops
from .arrays import put_all
from .descriptor import KEEP
from .formulas import ROSENBROCK, SDIRK_DESCRIPTOR, SDIRK_FIRST_ORDER, formula
from .interpolation import between
from .step import evaluate, size, unresolved, weigh

ALONE = -2  # age of derivatives that a step is to evaluate itself: those of the threads were not finite
FETCHED = -3  # age of those that the threads have just evaluated


@compiled
def attempt(t, h, end, run):
    """One step and its error estimate; an accepted end satisfies the constraints to rounding [Negrut, section 4.2.1]."""
    memory, clock, new = run.memory, run.clock, run.end
    weigh(run.start, run)
    status = _restore_factors(t, run)
    if status == GOOD and memory.jacobian_age < 0:
        status = _derive(t, h, run)
    if status != GOOD:
        return status, 0.0
    # formula and error
    status, memory.next_eta, memory.rate = formula(t, h, memory.eta, run.filtered != 0, new, run.error, run)
    memory.factors_stale, error = 1, 0.0
    if status == GOOD and not clock.fixed:
        weigh(new, run)
        error = size(run.error.z, run.error.zd, run)
        if run.kind in (SDIRK_DESCRIPTOR, SDIRK_FIRST_ORDER):
            error = max(error, size(run.defect.z, run.defect.zd, run))
    # consistent end
    if status == GOOD and error <= 1.0:
        status = _finish(end, run)
        if status == GOOD and run.rheonomic and not clock.fixed:
            error = max(error, unresolved(t, h, run))
            memory.factors_stale = 1 if error > 1.0 else 0
    return status, error


@compiled
def _finish(t, run):
    """The state at the new `(z, z')`, refined to rounding, and the condition of the chart there; `GOOD` or the code of a failure."""
    new, store, model, work = run.end, run.factors.store, run.model, run.work
    status = evaluate(t, new, run)
    if status == GOOD:
        refine(t, new.q, new.v, new.a, new.lam, model, work)
        second_rates(t, new.q, new.v, new.a, new.z.shape[0], store, model, new.zdd)
        run.memory.condition = condition(t, new.q, new.z.shape[0], store, model, work)
        run.memory.factors_stale = 0
    return status


@compiled
def _restore_factors(t, run):
    """Factors and basis of the start of the step, whatever was evaluated in between; `GOOD` or the code of a failure."""
    n, store, status = run.start.z.shape[0], run.factors.store, GOOD
    if run.memory.factors_stale:
        status = prepare(t, run.start.q, n, store, run.model, run.work)
        run.memory.factors_stale = 0
    return complete(n, store, run.model, run.work) if status == GOOD else status


@compiled
def _derive(t, h, run):
    """New derivatives at the start of a step, and the sparse matrix that consists of them; `GOOD` or the code of a failure."""
    if run.memory.jacobian_age != FETCHED:
        status = _evaluate_derivatives(t, h, run)
        if status != GOOD:
            return status
    run.memory.jacobian_age = 0
    if run.sparse != 0:
        start = run.start
        return run.descriptor(KEEP, t, h, h, start, start.z, start.z, run.factors, run.augmented)
    return GOOD


@compiled
def _evaluate_derivatives(t, h, run):
    """Evaluate the derivatives at the start of a step, or request them from several threads; `GOOD` or the code of a failure."""
    start, near, memory, factors = run.start, run.near, run.memory, run.factors
    state = State(t, start.q, start.v, start.a, start.lam)
    if run.rheonomic and run.kind == ROSENBROCK:
        run.counts.residuals_jacobian += 2
        memory.factors_stale = 1
        status = by_time(run.evaluate, h, start.z, start.zd, start.zdd, state, factors, near.by_time)
        if status != GOOD:
            return status
    status = _restore_factors(t, run)
    if status != GOOD:
        return status
    put_rows(bases(factors.n, factors.model, factors.store).N, near.N)
    if memory.shared and memory.jacobian_age != ALONE:
        return NEEDS_DERIVATIVES
    run.counts.residuals_jacobian += run.evaluations
    run.counts.jacobians += 1
    if not run.derive(start.zd, state, factors, run.displaced, 0, factors.n, near.derivatives):
        return BAD_DERIVATIVES
    return GOOD


@compiled
def retry(status, run):
    """After a rejected step: retry with new derivatives if the old ones were reused, otherwise with a shorter step."""
    memory = run.memory
    old = status != ERROR_TEST and memory.jacobian_age > 0
    memory.eta = 1.0
    if status == BAD_DERIVATIVES:
        return 0.0
    if old:
        memory.jacobian_age = -1
    if old and (status == DIVERGED or run.clock.fixed):
        return 1.0
    return 0.5 if status in (DIVERGED, SINGULAR_MATRIX) else 0.25


@compiled
def accept(h, factor, run):
    """Advance the state; request new derivatives, or a new chart, if required."""
    memory = run.memory
    put_all(run.end, run.start)
    memory.eta = memory.next_eta
    spent = run.kind == ROSENBROCK or memory.rate > run.reuse.rate or memory.jacobian_age >= run.reuse.max_age
    memory.jacobian_age = -1 if spent else memory.jacobian_age + 1
    if memory.condition > run.max_condition_growth * memory.first_condition:
        memory.first_condition = memory.condition
        return NEEDS_CHART
    return GOOD


LOOPS = loops(attempt, retry, accept, between)
