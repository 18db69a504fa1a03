"""Errors of the formulas of neighbouring orders relative to the tolerances, the order and the length of the next step.

The error of a step is the difference of the formulas of orders `k + 1` and `k`, `h (g_k - g_(k-1)) phi_k(n+1)`. Orders are compared by the
errors of the formulas in further steps of the same length, `h gamma*_j sigma_j phi_j` for `j` from `k - 2` to `k + 1` (Shampine and
Gordon, chapter 7). Steps are not only doubled, kept and halved as there: coefficients of other lengths cost little beside an evaluation.
"""

import numpy as np

from ...compilation.compiled import compiled
from ...system.codes import ERROR_TEST, GOOD
from ..explicit.errors import squares

# of the correctors in equal steps, j = 1, 2, ...
GAMMA = np.array([1 / 2, 1 / 12, 1 / 24, 19 / 720, 3 / 160, 863 / 60480, 275 / 24192, 33953 / 3628800, 8183 / 1036800,
                  3250433 / 479001600, 4671 / 788480, 13695779093 / 2615348736000, 2224234463 / 475517952000])
TARGET = 0.25  # error of the next step
GROWTH = (0.5, 2.0)  # bounds of the ratio of two steps
HOLD = 1.2  # ratios from 1 to this do not change the step
REDUCTION = (0.25, 0.8)  # the same after a rejected step
MANY = 3  # rejected attempts of a step, after which the order is one


@compiled
def norm(pair, weights):
    """Root mean square over all positions and velocities."""
    return np.sqrt((squares(pair.q, weights.q) + squares(pair.v, weights.v)) / (weights.q.shape[0] + weights.v.shape[0]))


@compiled
def row_norm(rows, j, weights):
    """The same of a row of differences."""
    return np.sqrt((squares(rows.q[j], weights.q) + squares(rows.v[j], weights.v)) / (weights.q.shape[0] + weights.v.shape[0]))


@compiled
def estimate(h, run):
    """The error of the step; those of orders `k` and `k - 1` at equal steps, and whether a lower order is better, into the memory."""
    m, w = run.memory, run.weights
    k, g, sigma = m.order, m.g, m.sigma
    size = abs(h) * norm(run.change, w)
    m.present, m.below, m.lower = size * sigma[k] * GAMMA[k - 1], 0.0, 0
    if k > 1:
        m.below = abs(h) * _lower_norm(run, 1) * sigma[k - 1] * GAMMA[k - 2]
        m.lower = int(m.below <= 0.5 * m.present)
    if k > 2:
        further = abs(h) * _lower_norm(run, 2) * sigma[k - 2] * GAMMA[k - 3]
        m.lower = int(max(m.below, further) <= m.present)
    return size * abs(g[k] - g[k - 1])


@compiled
def _lower_norm(run, n):
    """The norm of `phi_(k-n)(n+1) = phi_k(n+1) + phi*_(k-1) + ... + phi*_(k-n)`."""
    m, w = run.memory, run.weights
    k = m.order
    total = _lower_squares(k, n, m, run.change.q, run.differences.q, w.q) + _lower_squares(k, n, m, run.change.v, run.differences.v, w.v)
    return np.sqrt(total / (w.q.shape[0] + w.v.shape[0]))


@compiled
def _lower_squares(k, n, m, change, differences, weights):
    total, at, beta = 0.0, m.at, m.beta
    for i in range(change.shape[0]):
        x = change[i]
        for j in range(k - n, k):
            x += beta[j] * differences[at + j, i]
        total += (weights[i] * x) ** 2
    return total


@compiled
def ratio(status, error, h, run):
    """The ratio of the next step to this one, with the order of the next one."""
    if run.clock.fixed != 0:
        return 1.0
    if status == GOOD:
        return _after_accepted(h, run)
    return _after_rejected(run.memory) if status == ERROR_TEST else 1.0


@compiled
def _after_rejected(m):
    m.rising = 0
    m.failures += 1
    if m.failures >= MANY:
        m.order = 1
        return REDUCTION[0]
    m.order = m.used - m.lower
    return _bounded(m.below if m.lower else m.present, m.order, REDUCTION)


@compiled
def _after_accepted(h, run):
    m = run.memory
    k, error = m.used, m.present
    m.failures = 0
    m.steady += 1
    if m.lower or k == m.highest:
        m.rising = 0
    if m.rising:
        m.order = k + 1
        return GROWTH[1]
    if m.lower:
        m.order, error = k - 1, m.below
    elif m.steady > (k + 1) // 2:
        above = abs(h) * GAMMA[k] * row_norm(run.differences, m.end + k + 1, run.weights)
        if k > 1 and m.below <= min(error, above):
            m.order, error = k - 1, m.below
        elif k < m.highest and above < (error if k > 1 else 0.5 * error):
            m.order, error = k + 1, above
    if m.order != k:
        m.steady = 0
    factor = _bounded(error, m.order, GROWTH)
    return 1.0 if 1.0 <= factor < HOLD else factor


@compiled
def _bounded(error, k, bounds):
    """The ratio for which the error of order `k` is `TARGET`."""
    return bounds[1] if error == 0.0 else max(bounds[0], min(bounds[1], (TARGET / error) ** (1.0 / (k + 1))))
