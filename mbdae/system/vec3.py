"""Vectors of three as tuples: no allocation, the mathematics stays readable. Real or complex entries."""

import math

from ..compilation.compiled import compiled


@compiled
def vec(a):
    """The first three entries of an array as a tuple."""
    return a[0], a[1], a[2]


@compiled
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@compiled
def cross(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@compiled
def add(a, b):
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@compiled
def sub(a, b):
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@compiled
def scale(c, a):
    return c * a[0], c * a[1], c * a[2]


@compiled
def absolute(x):
    """`|x|` continued analytically from the real axis, as the complex step needs it."""
    return x if x.real >= 0.0 else -x


@compiled
def tanh(x):
    """`tanh x` (to first order in the imaginary part); NumPy's complex one overflows where the real one is 1."""
    e = math.exp(-2.0 * abs(x.real))
    return math.tanh(x.real) + (x - x.real) * (4.0 * e / (1.0 + e) ** 2)


@compiled
def angle(y, x):
    """`atan2(y, x)` continued analytically from the real axis (to first order in the imaginary parts)."""
    theta = math.atan2(y.real, x.real)
    c, s = math.cos(theta), math.sin(theta)
    return theta + (y * c - x * s) / (x * c + y * s)
