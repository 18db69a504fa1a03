"""Formulas of variable-step BDF of orders 1 to 5 with fixed leading coefficient, in modified divided differences [Brenan, section 5.2].

After a step to `t_n` row `i` of `phi` is `psi_1 ... psi_i [y_n, ..., y_(n-i)]` with `psi_i = t_n - t_(n-i)`, so `phi[0]` is `y_n` itself,
and for a constant step `phi[i]` is the `i`-th backward difference. A step of size `h` at order `k` predicts by the polynomial through the
last `k + 1` values and corrects: `y = y_pred + e`, `yd = yd_pred + c e`, with the leading coefficient `c = (1 + 1/2 + ... + 1/k)/h`, which
does not depend on the steps before. Nothing that a step needs again is changed before the step is accepted.
"""

from typing import NamedTuple

import numpy as np

from ..compilation.compiled import compiled

HIGHEST = 5  # formulas of order 6 are hardly stable
DIFFERENCES = HIGHEST + 2  # rows of `phi`: orders up to the highest, and one more to judge whether the order may rise
ALPHA, BETA, GAMMA, SIGMA, PSI, LAST = range(6)  # rows of the table of coefficients; `LAST` is `PSI` of the last accepted step
TABLE = (LAST + 1, DIFFERENCES)
ERROR, NEWTON = range(2)  # rows of the weights
EXCLUDED = -1  # in place of a power of the step: the unknown has no weight


@compiled
def coefficients(h, k, table):
    """Coefficients of a step of size `h` at order `k` into `table`; the leading one, and the factor of the error estimate on `|e|`."""
    alpha, beta, gamma, sigma = table[ALPHA], table[BETA], table[GAMMA], table[SIGMA]
    psi, last = table[PSI], table[LAST]
    alpha[0], beta[0], gamma[0], sigma[0], psi[0] = 1.0, 1.0, 0.0, 1.0, h
    leading, spread = 0.0, 0.0
    for i in range(1, k + 1):
        beta[i] = beta[i - 1] * psi[i - 1] / last[i - 1]
        psi[i] = last[i - 1] + h
        alpha[i] = h / psi[i]
        sigma[i] = i * sigma[i - 1] * alpha[i]
        gamma[i] = gamma[i - 1] + alpha[i - 1] / h
        leading += 1.0 / i
        spread += alpha[i - 1]
    return leading / h, max(alpha[k], abs(alpha[k] - leading + spread))


@compiled
def predict(phi, k, table, y, yd, e):
    """Predicted `y` and `yd`, and no correction yet."""
    n = y.shape[0]
    for m in range(n):
        y[m], yd[m], e[m] = phi[0, m], 0.0, 0.0
    for i in range(1, k + 1):
        b, g = table[BETA, i], table[BETA, i] * table[GAMMA, i]
        for m in range(n):
            y[m] += b * phi[i, m]
            yd[m] += g * phi[i, m]


class Norms(NamedTuple):
    """Of the error test and of Newton's convergence test, see `bdf_stepper.norms_for`.

    Attributes
    ----------
    rtol : float
    atol : ndarray, shape (n,)
    powers : ndarray of int, shape (2, n)
    shared : ndarray of int, shape (m, 4)
    counts : ndarray, shape (2,)
        Numbers of the unknowns in the two tests.
    rounded : ndarray of int, shape (m, 4)
    rounding : ndarray, shape (m, 2)
    """

    rtol: float
    atol: np.ndarray
    powers: np.ndarray
    shared: np.ndarray
    counts: np.ndarray
    rounded: np.ndarray
    rounding: np.ndarray


@compiled
def _weight(h, power, tolerance):
    if tolerance == 0.0:
        return np.nan
    x = 1.0
    for _ in range(power):
        x *= h
    return x / tolerance


@compiled
def weigh(y, predicted, h, norms, weights):
    """`weights = |h|^power / (rtol |y| + atol)`; zero for unknowns that are excluded, not a number where there is no tolerance at all.

    For Newton's method the unknowns `shared[b, 0]` to `shared[b, 1]` have one weight, with the largest of `shared[b, 2]` to `shared[b, 3]`,
    or as it is predicted, where these are zero: integrals of multipliers at the start.
    No tolerance is below rounding: for the unknowns `rounded[b, 0]` to `rounded[b, 1]` it is at least `rounding[b, r]` times the largest
    of `rounded[b, 2]` to `rounded[b, 3]`.
    """
    rtol, atol, powers, shared, _, rounded, rounding = norms
    for r in range(weights.shape[0]):
        for m in range(y.shape[0]):
            weights[r, m] = 0.0 if powers[r, m] == EXCLUDED else _weight(abs(h), powers[r, m], rtol * abs(y[m]) + atol[m])
    for b in range(shared.shape[0]):
        largest = _largest(y, shared[b, 2], shared[b, 3])
        if largest == 0.0:
            largest = _largest(predicted, shared[b, 2], shared[b, 3])
        for m in range(shared[b, 0], shared[b, 1]):
            weights[NEWTON, m] = _weight(abs(h), powers[NEWTON, m], rtol * largest + atol[m])
    for b in range(rounded.shape[0]):
        largest = _largest(y, rounded[b, 2], rounded[b, 3])
        if largest > 0.0:
            _hold(abs(h), largest, rounding[b], powers, weights, rounded[b, 0], rounded[b, 1])


@compiled
def _hold(h, largest, rounding, powers, weights, first, end):
    """No weights of these unknowns above those of the tolerances `rounding[r] largest`."""
    for r in range(weights.shape[0]):
        for m in range(first, end):
            most = _weight(h, powers[r, m], rounding[r] * largest)
            if weights[r, m] > most:
                weights[r, m] = most


@compiled
def _largest(y, first, end):
    size = 0.0
    for m in range(first, end):
        size = max(size, abs(y[m]))
    return size


@compiled
def size(x, weight, count):
    """Root mean square of the `count` components with a weight."""
    s = 0.0
    for m in range(x.shape[0]):
        s += (x[m] * weight[m]) ** 2
    return np.sqrt(s / count)


@compiled
def begin(h, k, table, phi, norms, weights, y, yd, e):
    """Coefficients, weights and prediction of a step that is to be tried.

    Returns the leading coefficient, the factor of the error estimate, and the sizes of the prediction in the two tests.
    """
    c, factor = coefficients(h, k, table)
    predict(phi, k, table, y, yd, e)
    weigh(phi[0], y, h, norms, weights)
    return c, factor, size(y, weights[ERROR], norms.counts[ERROR]), size(y, weights[NEWTON], norms.counts[NEWTON])


@compiled
def correct(delta, column, c, weight, count, y, yd, e):
    """One correction `-column delta` of `y`, `yd` and `e`, and its size."""
    s = 0.0
    for m in range(y.shape[0]):
        d = column[m] * delta[m]
        y[m] -= d
        yd[m] -= c * d
        e[m] -= d
        s += (d * weight[m]) ** 2
    return np.sqrt(s / count)


@compiled
def errors(phi, k, table, e, weight, count):
    """Estimates of the errors that orders `k`, `k - 1` and `k - 2` would make, with a constant step; and the size of `e`."""
    own = lower = lowest = 0.0
    for m in range(e.shape[0]):
        w, x = weight[m], e[m]
        own += (w * x) ** 2
        if k > 1:
            x += table[BETA, k] * phi[k, m]
            lower += (w * x) ** 2
        if k > 2:
            x += table[BETA, k - 1] * phi[k - 1, m]
            lowest += (w * x) ** 2
    correction = np.sqrt(own / count)
    sigma = table[SIGMA]
    return (sigma[k] * correction, sigma[k - 1] * np.sqrt(lower / count), sigma[max(k - 2, 0)] * np.sqrt(lowest / count), correction)


@compiled
def error_above(phi, k, e, weight, count):
    """Estimate of the error that order `k + 1` would make, for a step that has been constant."""
    s = 0.0
    for m in range(e.shape[0]):
        s += (weight[m] * (e[m] - phi[k + 1, m])) ** 2
    return np.sqrt(s / count) / (k + 2)


@compiled
def accept(phi, k, table, e):
    """The differences at the end of a step of order `k`, one more than it has used."""
    for i in range(k + 1):
        table[LAST, i] = table[PSI, i]
    for m in range(e.shape[0]):
        phi[k + 1, m] = x = e[m]
        for i in range(k, -1, -1):
            x += table[BETA, i] * phi[i, m]
            phi[i, m] = x


@compiled
def interpolate(s, phi, k, table, y, yd):
    """`y` and `yd` at `t_n + s` from the polynomial through the last `k + 1` values."""
    value, slope, gamma = 1.0, 0.0, s / table[LAST, 0]
    for m in range(y.shape[0]):
        y[m], yd[m] = phi[0, m], 0.0
    for i in range(1, k + 1):
        slope = slope * gamma + value / table[LAST, i - 1]
        value *= gamma
        gamma = (s + table[LAST, i - 1]) / table[LAST, i]
        for m in range(y.shape[0]):
            y[m] += value * phi[i, m]
            yd[m] += slope * phi[i, m]


@compiled
def interpolate_ahead(s, phi, e, k, table, polynomials, y, yd):
    """The same as `interpolate` after `accept`, which need not have been called; `polynomials` is scratch."""
    values, slopes, psi = polynomials[0], polynomials[1], table[PSI]
    values[0], slopes[0], gamma = 1.0, 0.0, s / psi[0]
    for i in range(1, k + 1):
        slopes[i] = slopes[i - 1] * gamma + values[i - 1] / psi[i - 1]
        values[i] = values[i - 1] * gamma
        gamma = (s + psi[i - 1]) / psi[i]
    for m in range(y.shape[0]):
        x, value, slope = e[m], 0.0, 0.0
        for i in range(k, -1, -1):
            x += table[BETA, i] * phi[i, m]
            value += values[i] * x
            slope += slopes[i] * x
        y[m], yd[m] = value, slope


@compiled
def equidistant(values, h, phi, table):
    """Differences of the values at `t_n, t_n - h, t_n - 2 h, ...`, the rows of `values`, which are spoilt."""
    n = values.shape[0]
    for i in range(n):
        table[LAST, i] = (i + 1) * h
        for m in range(values.shape[1]):
            phi[i, m] = values[0, m]
        for j in range(n - 1 - i):
            for m in range(values.shape[1]):
                values[j, m] -= values[j + 1, m]
