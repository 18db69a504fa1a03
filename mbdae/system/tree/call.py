"""Calls of the kernels of joint coordinates by their address, so that systems without them need not compile them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numba.core import config

from ...compilation.compiled import compiled, records
from .. import layout as lay
from ..callbacks import call_rare
from ..layout import part

PLACE, PLACE_VELOCITY, PHI_Q, GAMMA, FORCE, MASS, MASS_TIMES, FACTOR, HALF_SOLVE, HALF_SOLVE_TRANSPOSED, SCALE_ROWS = range(11)
ADDRESS = 1  # its place in the mass matrix and in its factors


@compiled
def _is_identity(what, A, x, out):
    """Whether the mass matrix is the identity; the product is then in `out`."""
    if A[0] != 0.0:
        return False
    if what == FACTOR:
        out[0] = 0.0
    else:
        for k in range(x.shape[0]):
            out[k] = x[k]
    return True


if TYPE_CHECKING or config.DISABLE_JIT:

    def evaluate(what: int, x: Any, model: Any, work: Any) -> None:
        _kernels().evaluate(what, x, model, work)

    def apply(what: int, A: Any, x: Any, out: Any, model: Any) -> None:
        if not _is_identity(what, A, x, out):
            _kernels().apply(what, A, x, out, model)

    def _kernels() -> Any:
        return import_module(".kernels", __package__)  # no source of those that call it: they know its address only

else:

    @compiled
    def evaluate(what, x, model, work):
        """An evaluation of the placed state: `x` is the state to place, or where the result goes."""
        place = part(model, work, lay.W_RARE)
        at = records(place, lay.RARE_TREE * place.itemsize, 1, np.int64)[0]
        call_rare(at, 0.0, what, _address(x, work), 0, 0, 0, 0, model.ctypes.data, work.ctypes.data)

    @compiled
    def apply(what, A, x, out, model):
        """A product with the mass matrix `A`, or with its factors."""
        if _is_identity(what, A, x, out):
            return
        at = records(A, ADDRESS * A.itemsize, 1, np.int64)[0]
        call_rare(at, 0.0, what, A.ctypes.data, _address(x, A), _address(out, A), 0, 0, model.ctypes.data, 0)

    @compiled
    def _address(x, work):
        if x.itemsize != work.itemsize or not x.flags.c_contiguous:
            raise TypeError("a contiguous vector of the same kind of numbers as the workspace is needed")
        return x.ctypes.data
