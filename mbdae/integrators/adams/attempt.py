"""Steps of Adams methods for the time loop: prediction, evaluation, correction, projection, evaluation."""

from ...compilation.compiled import compiled
from ...system.codes import ERROR_TEST, GOOD
from ...system.vectors import put
from ..control.loop import loops
from ..control.records import put_state
from ..explicit.attempt import displaced
from ..explicit.errors import displacement, weigh
from ..explicit.stability import count_stiff
from ..explicit.stages import evaluate
from .arrays import ROWS
from .consistent import make_consistent_beside
from .differences import correct, predict, put_change, put_end, put_rate
from .errors import estimate, ratio
from .formulas import put_coefficients
from .interpolation import between

AT_BOUNDARY = 1.0  # |h lambda| from which on steps count as at the boundary of the region of stability


@compiled
def attempt(t, h, end, run):
    """One step and its error."""
    m = run.memory
    if m.known == 0:
        put_rate(t, run.start, run.model, run.differences.q[m.at], run.differences.v[m.at])
        m.known = 1
    m.used, m.end = m.order, ROWS - m.at
    put_coefficients(h, m)
    predict(h, run)
    put(run.start.lam, run.stage.lam)
    status = evaluate(end, run.stage, run, run.model)
    if status != GOOD:
        return status, 0.0
    put_state(run.stage, run.end)
    weigh(run)
    put_rate(end, run.stage, run.model, run.rate.q, run.rate.v)
    put_change(run)
    error = estimate(h, run) if run.clock.fixed == 0 else 0.0
    if not error <= 1.0:
        return ERROR_TEST, error
    # the end, corrected and projected
    correct(h, run)
    put(run.raw.q, run.end.q)
    put(run.raw.v, run.end.v)
    status = make_consistent_beside(end, run.end, run, run.model)
    if status != GOOD:
        return status, 0.0
    put_end(end, run)
    m.modulus = _modulus(h, run)
    if run.clock.fixed != 0:
        return GOOD, 0.0
    counted = displaced(error, m, displacement(run))
    m.present = max(m.present, counted)
    return GOOD, max(error, counted)


@compiled
def _modulus(h, run):
    """`|h lambda|` with the dominant eigenvalue, by the derivatives at the predicted and at the corrected end."""
    change, shift, at = 0.0, 0.0, run.memory.end
    for new, old, x, y, w in ((run.differences.q[at], run.rate.q, run.end.q, run.stage.q, run.weights.q),
                              (run.differences.v[at], run.rate.v, run.end.v, run.stage.v, run.weights.v)):
        for i in range(w.shape[0]):
            change += (w[i] * (new[i] - old[i])) ** 2
            shift += (w[i] * (x[i] - y[i])) ** 2
    return abs(h) * (change / shift) ** 0.5 if shift > 0.0 else 0.0


@compiled
def retry(status, run):
    """After a rejected step: a shorter one."""
    return 0.25


@compiled
def accept(h, factor, run):
    """The end of the step becomes the start of the next."""
    put_state(run.end, run.start)
    m = run.memory
    put(m.nodes, m.since)
    m.at = m.end
    m.known += 1
    m.cuts = 0
    count_stiff(AT_BOUNDARY, m)
    return GOOD


LOOPS = loops(attempt, retry, accept, between, ratio)
