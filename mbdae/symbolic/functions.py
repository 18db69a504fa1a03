"""Functions of generated code besides NumPy's, for real and complex arguments: imaginary parts are derivatives (complex step).

They replace NumPy's complex functions that are inexact for small imaginary parts, overflow, or are not differentiated piecewise.
"""

import numpy as np
from numba import njit


@njit(error_model="numpy")
def absolute(x):
    return -x if x.real < 0.0 else x


@njit(error_model="numpy")
def sign(x):
    return np.sign(x.real + 0.0)


@njit(error_model="numpy")
def heaviside(x, at_zero):
    return 0.0 if x.real < 0.0 else 1.0 if x.real > 0.0 else at_zero.real + 0.0


@njit(error_model="numpy")
def larger(x, y):
    return x if x.real >= y.real else y


@njit(error_model="numpy")
def smaller(x, y):
    return x if x.real <= y.real else y


@njit(error_model="numpy")
def power(x, n):
    """`x^n`, `n >= 2` an integer, by products."""
    y = x * x
    for _ in range(n - 2):
        y = y * x
    return y


@njit(error_model="numpy")
def general_power(x, y):
    """`x^y`; `x` may be negative where `y` is a whole number."""
    base, value = x.real + 0.0, (x.real + 0.0) ** (y.real + 0.0)
    z = value + 0.0 * (x + y)
    if x != x.real:
        z += y.real * base ** (y.real - 1.0) * (x - x.real)
    if y != y.real:
        z += value * np.log(base) * (y - y.real)
    return z


@njit(error_model="numpy")
def tanh(x):
    return np.tanh(x.real) + (x - x.real) / np.cosh(x.real) ** 2


@njit(error_model="numpy")
def atan2(y, x):
    z = np.arctan2(y.real, x.real) + 0.0 * (x + y)
    if x != x.real or y != y.real:
        z += (x.real * (y - y.real) - y.real * (x - x.real)) / (x.real**2 + y.real**2)
    return z


HELPERS = {"_abs": absolute, "_sign": sign, "_heaviside": heaviside, "_max": larger, "_min": smaller, "_power": power,
           "_pow": general_power, "_tanh": tanh, "_atan2": atan2}
