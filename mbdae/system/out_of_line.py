"""Compiled functions that others call through an address in their workspace.

Numba optimises what a function calls by name once more as a part of that function, and of each one that calls it. The evaluations of a
system are called by everything; called through an address they are compiled once, for real and for complex numbers. The workspace has
the addresses for its own kind of numbers.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils, config
from numba.core.errors import TypingError
from numba.core.typing import signature
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from ..compilation.compiled import compiled
from ..typing import Integers
from . import layout as lay

_KINDS = {"t": types.float64, "b": types.boolean, "m": types.uint8[::1]}
_RESULTS = {"": types.none, "i": types.int64}
_FUNCTIONS: dict[int, Any] = {}


def out_of_line(number: int, arguments: str, result: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Compile a function on its own, for calls through the address in `work`.

    Parameters
    ----------
    number : int
        Its place among the addresses, see `layout`.
    arguments : str
        A letter for each: `t` a number, `b` a truth value, `m` the tables of the system, `w` the workspace, `x` a contiguous vector of
        the same kind of numbers as the workspace.
    result : {"", "i"}
        Nothing, or an integer.
    """
    def decorate(function: Callable[..., Any]) -> Any:
        if config.DISABLE_JIT:
            return function
        assert number not in _FUNCTIONS, function
        made: Any = compiled(function)
        _FUNCTIONS[number] = made.alone, arguments
        call = _caller(function.__name__, number, arguments, _RESULTS[result])
        call.__doc__ = function.__doc__
        return call

    return decorate


def fill(work: np.ndarray, model: np.ndarray) -> None:
    """Write the addresses to a workspace."""
    if config.DISABLE_JIT:
        return
    place, item = int(model[:lay.HEADER_BYTES].view(np.int64)[lay.W_RARE]), work.itemsize // 8
    numbers, found = addresses(np.iscomplexobj(work))
    work[place:].view(np.int64)[numbers * item] = found


@cache
def addresses(is_complex: bool) -> tuple[Integers, Integers]:
    """Numbers and addresses of all functions, compiled for one kind of numbers: the same for all systems."""
    found = {}
    for number, (function, arguments) in _FUNCTIONS.items():
        kinds = _types(arguments, types.complex128 if is_complex else types.float64)
        function.compile(kinds)
        made = function.overloads[kinds]
        found[number] = made.library.get_pointer_to_function(made.fndesc.llvm_func_name)
    return np.array(list(found), dtype=np.int64), np.array(list(found.values()), dtype=np.int64)


def _types(arguments: str, number: types.Type) -> tuple[types.Type, ...]:
    vector = types.Array(number, 1, "C")
    return tuple(vector if kind in "xw" else _KINDS[kind] for kind in arguments)


def _caller(name: str, number: int, arguments: str, result: types.Type) -> Any:
    """An intrinsic that calls function `number` of a workspace."""
    model_at, work_at = arguments.index("m"), arguments.index("w")

    def declare(typingctx: Any, *given: Any) -> Any:
        if len(given) != len(arguments):
            raise TypingError(f"{name} takes {len(arguments)} arguments, got {len(given)}")
        expected = _types(arguments, given[work_at].dtype)
        found = tuple(map(_as_expected, given, expected))
        for at in (k for k, kind in enumerate(found) if kind is None):
            raise TypingError(f"{name}: argument {at + 1} must be {expected[at]}, got {given[at]}")
        return signature(result, types.StarArgTuple(found)), codegen

    def codegen(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        kinds, values = tuple(sig.args[0]), cgutils.unpack_tuple(builder, values[0])
        model, work = (make_array(kinds[k])(context, builder, values[k]) for k in (model_at, work_at))
        item = context.get_abi_sizeof(context.get_data_type(kinds[work_at].dtype))
        place = _integer(builder, model.data, 8 * lay.W_RARE)
        address = _integer(builder, work.data, builder.mul(builder.add(place, place.type(number)), place.type(item)))
        kind = context.call_conv.get_function_type(sig.return_type, kinds)
        function = builder.inttoptr(address, kind.as_pointer())
        status, value = context.call_conv.call_function(builder, function, sig.return_type, kinds, values)
        with cgutils.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
        return value

    declare.__name__ = name
    return intrinsic(declare)


def _integer(builder: Any, pointer: Any, offset: Any) -> Any:
    """The integer at some bytes after a pointer; it never changes."""
    offset = cgutils.intp_t(offset) if isinstance(offset, int) else offset
    at = builder.gep(builder.bitcast(pointer, cgutils.voidptr_t), [offset])
    loaded = builder.load(builder.bitcast(at, cgutils.intp_t.as_pointer()))
    loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
    return loaded


def _as_expected(given: types.Type, expected: types.Type) -> types.Type | None:
    """The type of an argument as it is passed, `None` if it cannot be."""
    if isinstance(expected, types.Array):
        fits = isinstance(given, types.Array) and (given.dtype, given.ndim, given.layout) == (expected.dtype, 1, "C")
        return given if fits else None
    return expected
