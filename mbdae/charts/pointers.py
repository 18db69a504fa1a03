"""The large kernels of charts, called by address: inlined into their callers they would be compiled again with each, for minutes."""

from numba import types

from ..compilation.compiled import by_address
from . import derivative, motion

_I, _F, _X, _M = types.int64, types.float64, types.float64[::1], types.uint8[::1]
_SCRATCH = types.Tuple((types.complex128[::1], types.complex128[::1], _X))
_ROWS = types.UniTuple(types.float64[:, ::1], 7)
_DERIVATIVES = types.boolean(_F, _X, _X, _X, _X, _X, _I, _X, _M, _X, _SCRATCH, _ROWS)

PLACE = by_address(motion.place, _I(_F, _X, _X, _X, _X, _X, _M, _X))
EVALUATE = by_address(motion.evaluate, _I(_F, _X, _X, _X, _X, _X, _X, _X, _X, _M, _X))
DERIVATIVES = {"exact": by_address(derivative.exact, _DERIVATIVES), "complex": by_address(derivative.throughout, _DERIVATIVES),
               "difference": by_address(derivative.differences, _DERIVATIVES)}
