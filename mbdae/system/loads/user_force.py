"""Users' forces on several bodies, called by address."""


from ...compiled import compiled
from ..callbacks import call_force
from .common import wrench


@compiled
def forces(table, ids, bodies, t, X, scratch, Q):
    for n in range(table.shape[0]):
        e = table[n]
        k, at = e["count"], e["start"]
        out = scratch[:6 * k]
        index = ids[at:at + k]
        call_force(e["address"], t, X.ctypes.data, index.ctypes.data, k, out.ctypes.data, 1 if X.itemsize == 16 else 0)
        for m in range(k):
            o = out[6 * m:6 * m + 6]
            wrench(Q, bodies, index[m], (o[0], o[1], o[2]), (o[3], o[4], o[5]))
