"""Steps of Radau IIA methods for the time loop: matrices, stages, projection of the end, error test, step size.

An attempt that needs derivatives or factors returns `NEEDS_MATRIX`, with what it asks for in `memory.asked`; called again, it goes on
from there.
"""

from ...compilation.compiled import compiled
from ...system.codes import BAD_DERIVATIVES, DIVERGED, ERROR_TEST, GOOD, NEEDS_MATRIX, SINGULAR_MATRIX
from ...system.vectors import put
from ..bdf_formulas import weigh
from ..control.bend import accept_differences
from ..control.loop import loops
from ..control.step_size import step_factor
from ..explicit.consistent import normalise
from .arrays import DERIVATIVES, FACTORS, NOTHING, SHORTEST, UNKNOWN_ETA
from .collocation import guess, keep
from .end import end_holds
from .error import error_of
from .interpolation import NOT_TRIED, between
from .matrices import are_here, differentiate, factorise_all
from .newton import slope, solve_stages
from .order import next_level

REUSE_RATE = 0.01  # contraction rate up to which derivatives, and factors where the step hardly grows, are kept
HOLD_RATIO = 1.2  # of two steps up to which the step size is kept, and the factors with it
WANTED_RATE = 0.2  # contraction rate for which the step size is chosen where Newton's method limits it
LEAST_CUT = 0.5  # of the step for that
CAUTION = 2  # failures of Newton's method after which derivatives are evaluated at the start of the step
MAX_FAILURES = 10  # of Newton's method in one step
UNTRUE_END = 100.0  # error of a step whose end does not satisfy the equations of motion


@compiled
def attempt(t, h, end, run):
    """One attempt of a step, and its error relative to the tolerance."""
    memory = run.memory
    if memory.asked != NOTHING:
        memory.asked = NOTHING
        if memory.status != GOOD:
            memory.failures += 1
            return memory.status, 0.0
    status = _prepare(t, h, run)
    if status == NEEDS_MATRIX:
        return status, 0.0
    if status == GOOD:
        status = _step(t, h, end, run)
    error = 0.0
    if status == GOOD and run.clock.fixed == 0:
        status, error = _test(t, h, end, run)
    if status != GOOD:
        memory.failures += 1
    return status, error


@compiled
def _test(t, h, end, run):
    """The error of the step, large where its end does not hold; `DIVERGED` if Newton's method has not converged."""
    error = error_of(t, h, run)
    status = GOOD if error > 1.0 else end_holds(end, h, run)
    if status == DIVERGED:
        run.memory.eta = UNKNOWN_ETA
        return DIVERGED, 0.0
    return GOOD, (error if status == GOOD else UNTRUE_END)


@compiled
def _prepare(t, h, run):
    """Starting values of the stages, derivatives and factors; `GOOD`, `NEEDS_MATRIX` or the code of a failure."""
    memory = run.memory
    guess(h, run)
    if memory.current == 0:
        memory.time = _middle(t, h, run)
        if run.derivatives.here == 0:
            memory.asked = DERIVATIVES
            return NEEDS_MATRIX
        differentiate(memory.time, run)
        memory.current, memory.age, memory.formed = 1, 0, 0.0
    if memory.formed != h or memory.formed_level != memory.level:
        status = factorise_all(h, run) if are_here(run) else NEEDS_MATRIX
        memory.formed, memory.formed_level = h, memory.level
        if status == NEEDS_MATRIX:
            memory.asked, memory.formed = FACTORS, 0.0
        return status
    return GOOD


@compiled
def _middle(t, h, run):
    """The time of the middle stage, with its starting values in `y` and `yd`: derivatives there are closest to those of all stages.

    In the first step, and after failures, those at the start of the step.
    """
    y, yd, y0, formula = run.y, run.yd, run.y0, run.formulas[run.memory.level]
    if run.memory.last_step == 0.0 or run.memory.cautious != 0:
        put(y0, y)
        put(run.rate, yd)
        return t
    m = formula.c.shape[0] // 2
    for k in range(y.shape[0]):
        y[k] = y0[k] + run.Z[m, k]
    slope(formula.inverse[m], run.Z, h, yd)
    return t + formula.c[m] * h


@compiled
def _step(t, h, end, run):
    """Stages and the end of the step, projected onto the constraints; `GOOD` or the code of a failure."""
    formula, y0, y1 = run.formulas[run.memory.level], run.y0, run.y1
    run.extension.state = NOT_TRIED
    weigh(y0, y0, h, run.norms, run.weights)
    status = solve_stages(t, h, run)
    if status != GOOD:
        return status
    s = formula.c.shape[0]
    for k in range(y0.shape[0]):
        y1[k] = y0[k] + run.Z[s - 1, k]
    slope(formula.inverse[s - 1], run.Z, h, run.rate1)
    state = run.end
    normalise(state.q, state.v, run.model)
    status, _ = run.project(end, state.q, state.v, state.a, state.lam, 0.0, run.projection, run.model, run.projected)
    return status


@compiled
def ratio(status, error, h, run):
    """The ratio of the next step to this one: the controller, less where Newton's method needs many corrections."""
    clock, memory = run.clock, run.memory
    if clock.fixed != 0:
        return 1.0
    limit = run.newtons[memory.level].max_iter
    past = clock.past_error if clock.rejected == 0 and memory.level == memory.last_level else 0.0  # of an error of the same order
    if run.counts.steps == 0:
        factor = min(step_factor(run.first_rule, error, h, past, clock.past_step), memory.first_ratio)
    else:
        factor = step_factor(run.rules[memory.level], error, h, past, clock.past_step)
    factor *= min(1.0, (1.0 + 2.0 * limit) / (memory.corrections + 2.0 * limit))
    if status != GOOD:
        return factor
    # the rate with derivatives of this step is proportional to its size
    if memory.age == 0 and memory.corrections > 1 and memory.rate > WANTED_RATE * LEAST_CUT:
        factor = min(factor, max(LEAST_CUT, WANTED_RATE / memory.rate))
    if clock.rejected != 0:
        factor = min(factor, 1.0)
    return 1.0 if memory.rate <= REUSE_RATE and 1.0 <= factor <= HOLD_RATIO else factor


@compiled
def retry(status, run):
    """After a rejected step: new derivatives if Newton's method has failed, and a shorter step unless it has failed with old ones.

    Where the middle of the step has no finite derivatives, or fails repeatedly, derivatives are evaluated at the start. Where solutions by
    blocks were not corrected enough, the step is repeated with the whole matrix.
    """
    memory = run.memory
    if status == ERROR_TEST:
        memory.rejections += 1
        return 1.0
    if memory.failures >= MAX_FAILURES:
        return 0.0
    memory.formed, memory.current = 0.0, 0
    unusable = status in (BAD_DERIVATIVES, SINGULAR_MATRIX)
    if unusable and memory.cautious == 0:
        memory.cautious = 1
        return 1.0
    if (memory.age > 0 and not unusable) or run.sparse.blocks.state.slow != 0:
        return 1.0
    memory.falls += 1
    memory.cautious = int(memory.falls >= CAUTION)
    return 0.5


@compiled
def accept(h, factor, run):
    """The end of the step becomes the start of the next; its order, and whether it needs new derivatives."""
    memory = run.memory
    keep(run.formulas[memory.level], run.Z, run.past)
    put(run.y1, run.y0)
    put(run.rate1, run.rate)
    memory.last_step, memory.last_level = h, memory.level
    memory.level = next_level(factor, run)
    accept_differences(run.bends)
    memory.age += 1
    if run.sparse.blocks.state.used != 0 and run.sparse.blocks.state.slow == 0:
        memory.patience = SHORTEST
    memory.failures, memory.falls, memory.rejections, memory.cautious = 0, 0, 0, 0
    if memory.rate > REUSE_RATE:
        memory.current = 0
    return GOOD


LOOPS = loops(attempt, retry, accept, between, ratio)
