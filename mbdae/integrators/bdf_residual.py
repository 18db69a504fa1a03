"""The residual of a BDF step as a function called by its address.

    residual(t, y, yd, out, model, work, parameters) -> bool

writes `F(t, y, yd)` to `out`; whether it is finite. The time loop is compiled once for all of them.
"""

import ctypes
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import types
from numba.core import config

from ..compilation.compiled import by_address, compiled, compiled_with
from ..problems.base import Problem
from ..system.callbacks import call_rare, view
from ..typing import Vector

Evaluate = Callable[[float, Vector, Vector, Vector], bool]  # evaluate(t, y, yd, out): whether `out` is finite

_F, _X, _M = types.float64, types.float64[::1], types.uint8[::1]
_RESIDUAL = types.boolean(_F, _X, _X, _X, _M, _X, _X)
_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_double, *(ctypes.c_int64,) * 8)


class Called(NamedTuple):
    """A residual for compiled code: the function, its parameters, and what must be kept alive."""

    residual: Any
    parameters: Vector
    alive: object = None


def called(problem: Problem) -> Called:
    """The kernel of a problem, without parameters or with one pair of them; of others their `residual`, by a call of Python."""
    parameters = problem.parameters
    if hasattr(problem.kernel, "for_c") and parameters == ():
        return Called(_of_kernel(problem.kernel, _plain), np.zeros(0))
    if hasattr(problem.kernel, "for_c") and len(parameters) == 1 and np.shape(parameters[0]) == (2,):
        return Called(_of_kernel(problem.kernel, _with_pair), np.array(parameters[0], dtype=float))

    def evaluate(t: float, y: Vector, yd: Vector, out: Vector) -> bool:
        return bool(problem.kernel(t, y, yd, out, *problem.arguments))

    return called_from_python(evaluate)


@cache
def _of_kernel(kernel: Any, function: Any) -> Any:
    """By its address; it is kept on disk beside the kernel."""
    return by_address(compiled_with(function, kernel, kernel=kernel), _RESIDUAL)


def _plain(t, y, yd, out, model, work, parameters):
    return kernel(t, y, yd, out, model, work)  # noqa: F821  # a name given by `_of_kernel`


def _with_pair(t, y, yd, out, model, work, parameters):
    return kernel(t, y, yd, out, model, work, (parameters[0], parameters[1]))  # noqa: F821


# Python functions --------------------------------------------------------------------------------------------------------------


def called_from_python(evaluate: Evaluate) -> Called:
    """The same for a function of Python, whose exceptions must not leave it."""

    def call(t: float, n: int, y: int, yd: int, out: int, *_: int) -> int:
        return int(evaluate(t, view(y, n), view(yd, n), view(out, n)))

    callback = _CALLBACK(call)
    address = ctypes.cast(callback, ctypes.c_void_p).value
    assert address is not None
    return Called(PYTHON, np.array([address], dtype=np.int64).view(float), callback)


if TYPE_CHECKING or config.DISABLE_JIT:

    def _python(t, y, yd, out, model, work, parameters):
        address = int(parameters.view(np.int64)[0])
        return bool(_CALLBACK(address)(t, len(y), y.ctypes.data, yd.ctypes.data, out.ctypes.data, 0, 0, 0, 0))

else:

    @compiled
    def _python(t, y, yd, out, model, work, parameters):
        address = parameters.view(np.int64)[0]
        return call_rare(address, t, y.shape[0], y.ctypes.data, yd.ctypes.data, out.ctypes.data, 0, 0, 0, 0) != 0


PYTHON = by_address(_python, _RESIDUAL)
