"""The large kernels of charts, called by address: inlined into their callers they would be compiled again with each, for minutes."""

from numba import types

from ..compilation.compiled import by_address
from . import derivative, motion
from .store import Displaced, Factors

_I, _F, _X, _M = types.int64, types.float64, types.float64[::1], types.uint8[::1]
_FACTORS, _STATE = types.NamedTuple((_I, _X, _M, _X), Factors), types.NamedTuple((_F, _X, _X, _X, _X), derivative.State)
_DISPLACED = types.NamedTuple((types.complex128[::1], types.complex128[::1], _X), Displaced)
_OUT = types.NamedUniTuple(types.float64[:, ::1], 7, derivative.MotionDerivatives)
_DERIVATIVES = types.boolean(_X, _STATE, _FACTORS, _DISPLACED, _I, _I, _OUT)

PLACE = by_address(motion.place, _I(_F, _X, _X, _X, _X, _FACTORS))
EVALUATE = by_address(motion.evaluate, _I(_F, _X, _X, _X, _X, _X, _X, _X, _FACTORS))
DERIVATIVES = {"exact": by_address(derivative.exact, _DERIVATIVES), "complex": by_address(derivative.throughout, _DERIVATIVES),
               "difference": by_address(derivative.differences, _DERIVATIVES)}
