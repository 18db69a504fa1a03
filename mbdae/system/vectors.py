"""Loops over vectors, real or complex."""

import numpy as np

from ..compilation.compiled import compiled


@compiled
def dot(x, y):
    """`x . y`, without conjugation."""
    s = 0.0 * x[0] * y[0]
    for k in range(x.shape[0]):
        s += x[k] * y[k]
    return s


@compiled
def largest(x):
    """The largest absolute value, NaN if there is one."""
    out = 0.0
    for k in range(x.shape[0]):
        size = abs(x[k])
        if size > out or np.isnan(size):  # one that is NaN stays: nothing is larger
            out = size
    return out


@compiled
def is_finite(x):
    """Whether a real number is neither infinite nor NaN.

    `np.isfinite` asks whether `x - x` is zero; compiled sums may be reassociated, and then it always is where `x` is a sum.
    """
    return abs(x) < np.inf


@compiled
def all_finite(x):
    """Whether no entry is infinite or NaN."""
    for k in range(x.shape[0]):
        if not is_finite(x[k]):
            return False
    return True


@compiled
def fill(x, value):
    """`x[:] = value`, without the checks that slices of NumPy make."""
    for k in range(x.shape[0]):
        x[k] = value


@compiled
def put(x, out):
    """`out = x`, without the checks of slices, which are slow to compile."""
    for k in range(x.shape[0]):
        out[k] = x[k]


@compiled
def put_rows(x, out):
    """`out = x`, for matrices."""
    for i in range(x.shape[0]):
        for k in range(x.shape[1]):
            out[i, k] = x[i, k]
