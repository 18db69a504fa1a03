"""One step of RATTLE, and the composed steps of higher order, for the time loop."""

from ...compilation.compiled import compiled
from ...system import layout as lay
from ...system.codes import GOOD, NEEDS_STEP
from ...system.layout import header
from ..control.loop import loops
from ..control.records import put_state
from ..one_step import retry
from .free_body import move
from .positions import factor, first_kick, later_kick, move_constrained, place_constraints
from .sums import put_all, put_positions
from .velocities import coupled_velocities, end_velocities

SAME_TIME = 1e-9  # distance of two times that are the same, relative to the step size


@compiled
def _composed(t, h, end, state, run):
    """One step of the composition from `run.start` into `state`.

    Velocities between its parts that satisfy the constraints are needed only for forces that depend on them: otherwise the impulses at the
    end of one part and at the start of the next one are one impulse.
    """
    weights, at, share, last = run.weights, t, 0.0, run.weights.shape[0] - 1
    put_all(run.start, state)
    for k in range(last + 1):
        share += weights[k]
        to = end if k == last else t + share * h
        closes = k == last or run.sees_velocities != 0
        status = _open(k, at, h, state, run)
        if status == GOOD:
            status = _move(to, h * weights[k], state, run)
        if status == GOOD and k > 0 and run.sees_velocities == 0:
            _learn(k, h, state, run)
        if status == GOOD and closes:
            status = _close(to, h * weights[k], state, run)
        if status != GOOD:
            return status
        at = to
    return GOOD


@compiled
def _open(k, t, h, state, run):
    """Velocities after the impulses of forces and reactions at the start of part `k` of a step of length `h`, into `run.scratch.kicked`."""
    put_positions(state, run.scratch.kicked)
    if k == 0 or run.sees_velocities != 0:
        status = factor(t, state.q, run) if run.factored == 0 else GOOD
        run.factored = 0
        first_kick(h * run.weights[k], state, run)
        return status
    mean = 0.5 * (run.weights[k - 1] + run.weights[k])
    status = place_constraints(t, state.q, run)
    if status == GOOD:
        later_kick(t, h * mean, state, run)
    return status


@compiled
def _learn(k, h, state, run):
    """The multipliers of the impulse at the start of part `k`, a guess of the next ones."""
    mean = 0.5 * h * (run.weights[k - 1] + run.weights[k])
    for i in range(state.lam.shape[0]):
        state.lam[i] += run.scratch.impulse[i] / mean


@compiled
def _move(t1, h, state, run):
    """Positions at the end of a part, and velocities there before the impulses, into `run.scratch.moved`; the positions into `state`."""
    s, status = run.scratch, GOOD
    if header(run.model)[lay.NC] > 0:
        status = move_constrained(t1, h, run)
    else:
        move(s.kicked, h, run.free, run.model, s.moved)
    put_positions(s.moved, state)
    return status


@compiled
def _close(t1, h, state, run):
    """Velocities, accelerations and multipliers at the end of a part."""
    status = factor(t1, state.q, run)
    if status == GOOD:
        status = coupled_velocities(t1, h, state, run) if run.sees_velocities != 0 else end_velocities(t1, h, state, run)
    run.factored = int(status == GOOD)
    return status


@compiled
def _attempt(t, h, end, run):
    """One step."""
    return _composed(t, h, end, run.end, run), 0.0


@compiled
def _accept(h, factor, run):
    """The end of the step becomes the start of the next."""
    put_all(run.end, run.start)
    return NEEDS_STEP if run.paced != 0 else GOOD


@compiled
def _between(time, t, h, run, inside):
    """The state within a step, by a shorter one from its start."""
    if abs(time - t) <= SAME_TIME * abs(h):
        put_state(run.start, inside)
        return GOOD
    if abs(t + h - time) <= SAME_TIME * abs(h):
        put_state(run.end, inside)
        return GOOD
    run.factored = 0
    status = _composed(t, time - t, time, run.inside, run)
    run.factored = 0
    put_state(run.inside, inside)
    return status


LOOPS = loops(_attempt, retry, _accept, _between)
