"""Users' forces on several bodies, called by address with real states.

At complex states, as the complex step has them, the derivative along the imaginary part is a central difference.
"""

import numpy as np

from ...compiled import compiled
from ..callbacks import call_force
from ..layout import FRAME
from .common import wrench

_INCREMENT = 6e-6


@compiled
def _moved(X, index, shift):
    """States of the bodies: real parts plus `shift` times the imaginary parts."""
    x = np.empty((index.shape[0], FRAME))
    for m in range(index.shape[0]):
        for c in range(FRAME):
            x[m, c] = X[index[m], c].real + shift * X[index[m], c].imag
    return x


@compiled
def _evaluate(address, t, x):
    out = np.empty((x.shape[0], 6))
    call_force(address, t, x.ctypes.data, x.shape[0], out.ctypes.data)
    return out


@compiled
def _largest(X, index):
    """Where the imaginary part is largest, and the size of the states."""
    at, component, step, size = 0, 0, 0.0, 0.0
    for b in index:
        for c in range(FRAME):
            size = max(size, abs(X[b, c].real))
            if abs(X[b, c].imag) > step:
                at, component, step = b, c, abs(X[b, c].imag)
    return at, component, step, size


@compiled
def forces(table, ids, bodies, t, X, Q):
    for n in range(table.shape[0]):
        e = table[n]
        index = ids[e["start"]:e["start"] + e["count"]]
        value = _evaluate(e["address"], t, _moved(X, index, 0.0))
        slope = np.zeros_like(value)
        b, c, step, size = _largest(X, index)
        unit = X[b, c] - X[b, c].real  # imaginary, or zero for real states
        if step > 0.0:
            h = _INCREMENT * (1.0 + size) / step
            slope = _evaluate(e["address"], t, _moved(X, index, h)) - _evaluate(e["address"], t, _moved(X, index, -h))
            slope /= 2.0 * h * X[b, c].imag
        for m in range(index.shape[0]):
            f, s = value[m], slope[m]
            F = f[0] + unit * s[0], f[1] + unit * s[1], f[2] + unit * s[2]
            T = f[3] + unit * s[3], f[4] + unit * s[4], f[5] + unit * s[5]
            wrench(Q, bodies, index[m], F, T)
