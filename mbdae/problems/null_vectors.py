"""The null space of `Phi_q^T` in the equations of forms that regularise redundant constraints, renewed with the state.

Compiled loops call it by its address, so that it is compiled only for mechanisms with redundant constraints.
"""

from typing import NamedTuple

import numpy as np
from numba import types

from ..compilation.compiled import by_address, compiled
from ..jacobians.signatures import Tables
from ..system import evaluate as ev
from ..system import layout as lay
from ..system import null_space
from ..system.layout import header, table
from ..system.vectors import put
from ..typing import Integers, Vector


class NullVectors(NamedTuple):
    """What `renew` needs besides the state.

    Attributes
    ----------
    redundant : ndarray of int
        Equations that may be redundant; the entries of the null vectors for others are zero but for rounding and constraint violations.
    at : ndarray, shape (nq + nv,)
        The state at which they were computed last.
    drifts : int
        1 if the term against drift is evaluated, too, see `mbdae.system.drift`.
    weight : float
        The factor of `N` with which `N N^T` has its weight.
    """

    redundant: Integers
    at: Vector
    drifts: int
    weight: float


@compiled
def renew(t: float, y: Vector, redundant: Integers, at: Vector, drifts: int, weight: float, model: Tables, work: Vector) -> bool:
    """See `Problem.follow`; `y` begins with positions and velocities."""
    head, same = header(model), True
    nq, nv, nc = head[lay.NQ], head[lay.NV], head[lay.NC]
    n = nq + nv if drifts != 0 else nq
    for k in range(n):
        same = same and y[k] == at[k]
    if same:
        return True
    for k in range(n):
        at[k] = y[k]
    q, v = at[:nq], at[nq:nq + nv]
    ev.factor(t, q, model, work)
    N, rows = null_space.vectors(model, work), table(model, lay.NULL_SPACE, np.float64)
    for d in range(N.shape[0]):
        for i in range(redundant.shape[0]):
            rows[d * nc + redundant[i]] = weight * N[d, redundant[i]]
    if drifts != 0:
        put(ev.drift_term(t, q, v, model, work), table(model, lay.DRIFT, np.float64))
    return True


@compiled
def _nothing(t: float, y: Vector, redundant: Integers, at: Vector, drifts: int, weight: float, model: Tables, work: Vector) -> bool:
    return True


_F, _X = types.float64, types.float64[::1]
_SIGNATURE = types.boolean(_F, _X, types.int64[::1], _X, types.int64, _F, types.uint8[::1], _X)
FOLLOW, NOTHING = by_address(renew, _SIGNATURE), by_address(_nothing, _SIGNATURE)
