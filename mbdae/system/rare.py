"""Code that few systems need, called by its address in `work`, so that it is not compiled into every caller.

Joint friction and redundant constraints would take a large part of the compile time of each integrator, and slow its steps: a function that
is called from two places is not inlined. A workspace has the addresses that its system needs, for real or for complex numbers.
"""

from typing import Any

import numpy as np
from numba import carray, types
from numba.core import config

from ..compilation.compiled import by_address, compiled, records
from ..compilation.foreign import pointer
from ..typing import Bytes, Numbers
from . import layout as lay
from .layout import header, part

_ARGUMENTS = (types.float64, *(types.int64,) * 8)


@compiled
def address(which, model, work):
    """The address number `which` in `work`."""
    place = part(model, work, lay.W_RARE)
    return records(place, which * place.itemsize, 1, np.int64)[0]


@compiled
def address_of(x, work):
    """The address of a vector, which must be contiguous and real or complex as `work`."""
    if x.itemsize != work.itemsize or not x.flags.c_contiguous:
        raise TypeError("a contiguous vector of the same kind of numbers as the workspace is needed")
    return x.ctypes.data


@compiled
def model_at(at):
    """The tables of a system from their address."""
    return carray(pointer(at), (lay.HEADER_BYTES,), np.uint8)


@compiled
def sizes_at(at):
    """`nq, nv, nc` and the size of `work`."""
    head = header(model_at(at))
    return head[lay.NQ], head[lay.NV], head[lay.NC], head[lay.WORK_SIZE]


def put(work: Numbers, model: Bytes, which: int, real: Any, of_complex: Any) -> None:
    """Write the address of one of two functions to `work`, compiled with nine arguments as `callbacks.call_rare` gives them."""
    if config.DISABLE_JIT:
        return
    function = of_complex if np.iscomplexobj(work) else real
    place = int(model[:lay.HEADER_BYTES].view(np.int64)[lay.W_RARE]) + which
    work[place:place + 1].view(np.int64)[0] = by_address(function, types.int64(*_ARGUMENTS)).__wrapper_address__()
