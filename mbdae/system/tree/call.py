"""Calls of the kernels of joint coordinates by their address, so that systems without them need not compile them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import types
from numba.core import cgutils, config
from numba.core.errors import TypingError
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from ...compilation.compiled import compiled, records
from .. import layout as lay
from ..callbacks import call_rare
from ..layout import part

(PLACE, PLACE_VELOCITY, PHI_Q, NU, GAMMA, FORCE, ACCELERATIONS, MASS, MASS_TIMES, FACTOR, HALF_SOLVE, HALF_SOLVE_TRANSPOSED,
 SCALE_ROWS) = range(13)
ADDRESS = 1  # its place in the mass matrix and in its factors; `TreeSystem` writes it to each new workspace


if TYPE_CHECKING or config.DISABLE_JIT:

    def evaluate(what: int, t: float, x: Any, model: Any, work: Any) -> None:
        _kernels().evaluate(what, t, x, model, work)

    def apply(what: int, A: Any, x: Any, out: Any, model: Any) -> None:
        _kernels().apply(what, A, x, out, model)

    def _kernels() -> Any:
        return import_module(".kernels", __package__)  # no source of those that call it: they know its address only

else:

    @intrinsic
    def _address(typingctx, x):
        """The address of a contiguous vector."""
        if not isinstance(x, types.Array) or x.layout != "C":
            raise TypingError(f"a contiguous vector is needed, got {x}")

        def codegen(context, builder, sig, values):
            return builder.ptrtoint(make_array(x)(context, builder, values[0]).data, cgutils.intp_t)

        return types.int64(x), codegen

    @compiled
    def evaluate(what, t, x, model, work):
        """An evaluation of the placed state: `x` is the state to place at the time `t`, or where the result goes."""
        place = part(model, work, lay.W_RARE)
        at = records(place, lay.RARE_TREE * place.itemsize, 1, np.int64)[0]
        call_rare(at, t, what, _address(x), 0, 0, x.itemsize, 0, _address(model), _address(work))

    @compiled
    def apply(what, A, x, out, model):
        """A product with the mass matrix `A`, or with its factors."""
        at = records(A, ADDRESS * A.itemsize, 1, np.int64)[0]
        call_rare(at, 0.0, what, _address(A), _address(x), _address(out), x.itemsize, 0, _address(model), 0)
