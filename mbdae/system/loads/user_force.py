"""Users' forces on several bodies, called by address with the states of the bodies, real or complex."""

import numpy as np

from ...compilation.compiled import compiled
from ...model.forces import UserForce
from ..callbacks import call_force
from ..layout import FRAME, USER_FORCE_T
from .common import wrench
from .kind import ForceKind


@compiled
def force(e, at, Q):
    k, start = e["count"], e["start"]
    x, f = np.empty((k, FRAME), at.X.dtype), np.empty((k, 6), at.X.dtype)
    for m in range(k):
        for c in range(FRAME):
            x[m, c] = at.X[at.members[start + m], c]
    call_force(e["address"], at.t, x.ctypes.data, k, f.ctypes.data, 1 if at.X.itemsize == 16 else 0)
    for m in range(x.shape[0]):  # a use of `x`, which must not be freed before the function that has its address returns
        wrench(Q, at, at.members[start + m], (f[m, 0], f[m, 1], f[m, 2]), (f[m, 3], f[m, 4], f[m, 5]))


def _fill(e, f, numbers):
    e["address"], e["start"], e["count"] = numbers.user_force(f), numbers.members(f.bodies), len(f.bodies)


KIND = ForceKind(UserForce, force, fill=_fill, dtype=USER_FORCE_T)
