"""Users' forces on several bodies, called by address with the states of the bodies, real or complex."""

import numpy as np

from ...compilation.compiled import compiled
from ..callbacks import call_force
from ..layout import FRAME
from .common import wrench


@compiled
def forces(table, ids, bodies, t, X, Q):
    for n in range(table.shape[0]):
        e = table[n]
        k = e["count"]
        x, f = np.empty((k, FRAME), X.dtype), np.empty((k, 6), X.dtype)
        for m in range(k):
            for c in range(FRAME):
                x[m, c] = X[ids[e["start"] + m], c]
        call_force(e["address"], t, x.ctypes.data, k, f.ctypes.data, 1 if X.itemsize == 16 else 0)
        for m in range(x.shape[0]):  # a use of `x`, which must not be freed before the function that has its address returns
            wrench(Q, bodies, ids[e["start"] + m], (f[m, 0], f[m, 1], f[m, 2]), (f[m, 3], f[m, 4], f[m, 5]))
