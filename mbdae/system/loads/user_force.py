"""Users' forces on several bodies, called by address with the states of the bodies, real or complex."""

import numpy as np

from ...compilation.compiled import compiled
from ...model.forces import UserForce
from ...typing import Records
from ..callbacks import call_force
from ..layout import FRAME, USER_FORCE_T
from .common import wrench
from .kind import ForceKind, Numbers


@compiled
def force(e, members, bodies, t, X, Q):
    k, start = e["count"], e["start"]
    x, f = np.empty((k, FRAME), X.dtype), np.empty((k, 6), X.dtype)
    for m in range(k):
        for c in range(FRAME):
            x[m, c] = X[members[start + m], c]
    call_force(e["address"], t, x.ctypes.data, k, f.ctypes.data, 1 if X.itemsize == 16 else 0)
    for m in range(x.shape[0]):  # a use of `x`, which must not be freed before the function that has its address returns
        wrench(Q, bodies, members[start + m], (f[m, 0], f[m, 1], f[m, 2]), (f[m, 3], f[m, 4], f[m, 5]))


@compiled
def forces(table, members, bodies, t, X, Q):
    """All user forces; beside its record each one takes the numbers of its bodies."""
    for n in range(table.shape[0]):
        force(table[n], members, bodies, t, X, Q)


def _fill(e: Records, f: UserForce, numbers: Numbers) -> None:
    e["address"], e["start"], e["count"] = numbers.user_force(f), numbers.members(f.bodies), len(f.bodies)


KIND = ForceKind(UserForce, force, fill=_fill, dtype=USER_FORCE_T)
