"""Error of a step relative to the tolerances, and a measure of stiffness."""

import numpy as np

from ...compilation.compiled import compiled, generic
from ..control.bend import FINE, SUDDEN, SUDDEN_THIRD, is_sudden
from .stages import weighted_sum

RESOLVED = 4.0  # `|h lambda|` of the step before, above which the third estimate is as large as the first for smooth motions, too


@compiled
def weigh(run):
    """Weights `1/(atol + rtol max(|y0|, |y1|))` of the error norm."""
    _weigh(run.start.q, run.end.q, run.rtol, run.atol_q, run.weights.q)
    _weigh(run.start.v, run.end.v, run.rtol, run.atol_v, run.weights.v)


@compiled
def _weigh(x0, x1, rtol, atol, weights):
    for k in range(weights.shape[0]):
        weights[k] = 1.0 / (atol[k] + rtol * max(abs(x0[k]), abs(x1[k])))


@compiled
def estimate(h, run):
    """The error of the formula, as root mean square over all positions and velocities; see `Tableau`."""
    errors = run.tableau.errors
    first = _squared(errors[0], run)
    if run.memory.modulus < RESOLVED:
        first += _squared(errors[2], run)
    error = abs(h) * first / np.sqrt((first + 0.01 * _squared(errors[1], run)) * _size(run)) if first != 0.0 else 0.0
    return max(error, at_kink(sum_stages, h, run)) if looks_for_kinks(run) else error


@compiled
def looks_for_kinks(run):
    """Whether differences of the derivatives count."""
    return run.tableau.differences.shape[0] != 0 and run.rtol <= FINE


@generic
def at_kink(add, h, run):
    """The error of a step with a kink by its second difference, if that or the third one is sudden; otherwise 0.

    `add(coefficients, run)` puts the sums of the derivatives into `run.sums`.
    """
    second, third = run.tableau.differences[0], run.tableau.differences[1]
    add(third, run)
    sudden = is_sudden(run.sums.v, run.weights.v, 0, abs(h) ** 3, SUDDEN_THIRD, run.third)
    add(second, run)
    sudden = is_sudden(run.sums.v, run.weights.v, 0, h**2, SUDDEN, run.second) or sudden
    return abs(h) * measured(run) if sudden else 0.0


@compiled
def displacement(run):
    """The same norm of what the projection of the end has changed: the component of the error that violates the constraints."""
    q, v = _distance(run.end.q, run.raw.q, run.weights.q), _distance(run.end.v, run.raw.v, run.weights.v)
    return np.sqrt((q + v) / _size(run))


@compiled
def modulus(h, run):
    """`|h lambda|` with the dominant eigenvalue by the last stage and the end of the step, which belong to the same time.

    Hairer and Wanner, *Solving Ordinary Differential Equations II*, section IV.2.
    """
    last, end, stages = run.tableau.stages - 1, run.tableau.stages, run.stages
    change = _distance(stages.q[end], stages.q[last], run.weights.q) + _distance(stages.v[end], stages.v[last], run.weights.v)
    shift = _distance(run.end.q, run.stage.q, run.weights.q) + _distance(run.end.v, run.stage.v, run.weights.v)
    return abs(h) * np.sqrt(change / shift) if shift > 0.0 else 0.0


@compiled
def sum_stages(coefficients, run):
    """Sums of all derivatives of a step with these coefficients, into `run.sums`."""
    weighted_sum(coefficients, coefficients.shape[0], run.stages.q, run.sums.q)
    weighted_sum(coefficients, coefficients.shape[0], run.stages.v, run.sums.v)


@compiled
def _squared(coefficients, run):
    """The square of the norm of the sum of all derivatives with these coefficients, before the root mean; 0 without coefficients."""
    if not coefficients.any():
        return 0.0
    sum_stages(coefficients, run)
    return squares(run.sums.q, run.weights.q) + squares(run.sums.v, run.weights.v)


@compiled
def measured(run):
    """The norm of `run.sums`."""
    return np.sqrt((squares(run.sums.q, run.weights.q) + squares(run.sums.v, run.weights.v)) / _size(run))


@compiled
def squares(x, weights):
    """The sum of the squares of weighted entries."""
    total = 0.0
    for k in range(x.shape[0]):
        total += (x[k] * weights[k]) ** 2
    return total


@compiled
def _distance(x, y, weights):
    total = 0.0
    for k in range(x.shape[0]):
        total += ((x[k] - y[k]) * weights[k]) ** 2
    return total


@compiled
def _size(run):
    return run.weights.q.shape[0] + run.weights.v.shape[0]
