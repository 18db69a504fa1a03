"""Steps for the time loop: derivatives, choice of coordinates, matrix, stages, error, projection of the end.

An attempt that needs the help of Python returns `NEEDS_MATRIX`, with what it asks for in `memory.asked`; called again, it goes on from
there.
"""

from ...compilation.compiled import compiled
from ...system import layout as lay
from ...system.codes import BAD_DERIVATIVES, DIVERGED, ERROR_TEST, GOOD, NEEDS_MATRIX, RANK_LOST, SINGULAR_MATRIX
from ...system.layout import count
from ...system.vectors import is_finite, put
from ..control.loop import loops
from ..control.records import put_state
from ..explicit.consistent import make_consistent, normalise
from ..state_space.step import unresolved, weigh
from .arrays import CHOICE, DERIVATIVES, FACTORS, NOTHING
from .derivatives import differentiate, matrix_values, position_jacobian, take_start
from .errors import defect, embedded
from .positions import place
from .stages import begin, take_stages

MAX_DECAY = 0.7  # of the smallest pivot since the coordinates were chosen, below which they are chosen anew


@compiled
def attempt(t, h, end, run):
    """One attempt of a step, and its error relative to the tolerances."""
    memory, clock = run.memory, run.clock
    if memory.asked != NOTHING:
        memory.asked = NOTHING
        if memory.status != GOOD:
            return memory.status, 0.0
    weigh(run.start, run)
    begin(t, run)
    status = _prepare(t, h, run)
    if status == GOOD:
        status = take_stages(t, h, end, run)
    if status != GOOD:
        return status, 0.0
    error = 0.0
    if clock.fixed == 0:
        weigh(run.end, run)
        error = max(embedded(h, run), defect(h, run))
        if not error <= 1.0:
            return ERROR_TEST, error
    status = make_consistent(end, run.end, run, run.model)
    if status == GOOD and run.rheonomic and clock.fixed == 0:
        error = max(error, unresolved(t, h, run))
    return status, error


@compiled
def _prepare(t, h, run):
    """Derivatives at the start of the step, independent coordinates, factors; `GOOD`, `NEEDS_MATRIX` or the code of a failure."""
    memory, d = run.memory, run.derivatives
    if memory.age < 0:
        take_start(run)
        if d.here == 0:
            memory.asked = DERIVATIVES
            return NEEDS_MATRIX
        differentiate(t, run)
        memory.age, memory.formed = 0, 0.0
        total = 0.0
        for k in range(d.state.shape[0]):
            total += abs(d.state[k])
        if not is_finite(total):
            memory.age = -1
            return BAD_DERIVATIVES
    if memory.choose != 0:
        position_jacobian(run)
        memory.asked = CHOICE
        return NEEDS_MATRIX
    if memory.formed != h:
        matrix_values(run.tableau.A[0, 0] * h, run)
        memory.asked, memory.formed = FACTORS, h
        return NEEDS_MATRIX
    return GOOD


@compiled
def retry(status, run):
    """After a rejected step: new derivatives if old ones were used, otherwise a shorter step."""
    memory = run.memory
    old = status != ERROR_TEST and memory.age > 0
    memory.eta = 1.0
    if status == BAD_DERIVATIVES or (status == RANK_LOST and memory.choose != 0):
        return 0.0
    if old:
        memory.age = -1
    if old and (status == DIVERGED or run.clock.fixed):
        return 1.0
    return 0.5 if status in (DIVERGED, SINGULAR_MATRIX) else 0.25


@compiled
def accept(h, factor, run):
    """The end of the step becomes the start of the next; whether that needs new derivatives."""
    memory = run.memory
    put_state(run.end, run.start)
    memory.eta = memory.next_eta
    if memory.worst < MAX_DECAY * memory.first_worst:
        memory.choose, memory.age = 1, -1
        return GOOD
    memory.age = -1 if memory.rate > run.reuse_rate or memory.age >= run.max_age else memory.age + 1
    return GOOD


@compiled
def between(time, t, h, run, inside):
    """The state within the step from `t`, by the dense output in independent coordinates; `GOOD` or the code of a failure."""
    theta, stages, start = (time - t) / h, run.stages, run.start
    position, velocity, z, zd = run.dense.position, run.dense.velocity, run.z, run.zd
    put_state(start, inside)
    for k in range(z.shape[0]):
        z[k], zd[k] = start.q[k] + theta * h * run.qd0[k], run.qd0[k]
    for i in range(position.shape[0]):
        x = y = 0.0
        for j in range(position.shape[1] - 1, -1, -1):
            x, y = theta * (x + position[i, j]), theta * (y + velocity[i, j])
        for k in range(z.shape[0]):
            z[k] += h * h * x * stages.qdd[i, k]
            zd[k] += h * y * stages.qdd[i, k]
        for k in range(inside.v.shape[0]):
            inside.v[k] += h * y * stages.a[i, k]
    put(z, inside.q)
    put(run.end.lam, inside.lam)
    normalise(inside.q, inside.v, run.model)
    worst = run.memory.worst
    status = place(time, z, zd, inside.q, inside.v, run)
    run.memory.worst = worst
    if status != GOOD:
        return status
    # the choice of redundant equations belongs to the steps
    return make_consistent(time, inside, run, run.model.copy() if count(run.model, lay.DEPENDENT) else run.model)


LOOPS = loops(attempt, retry, accept, between)
