"""The decorator of compiled code, functions called by address, and unchecked array views."""

from collections.abc import Callable
from hashlib import sha256
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt
from numba import njit, types
from numba.core import cgutils, config
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

from ..typing import Bytes
from .dispatcher import FAST as FAST
from .dispatcher import Function, MadeOf
from .linked import LinkedCompiler
from .stamp import stamp

# Views by `records`, `window` and `matrix` skip bounds checks and reference counting, which cost more than most kernels; the caller of a
# kernel keeps the arrays alive.

F = TypeVar("F", bound=Callable[..., Any])
S = TypeVar("S", bound=np.generic)


def compiled(function: F) -> F:
    """Compile on first call and cache on disk; division by zero gives infinity instead of an exception.

    Numba invalidates a cached function when its own file changes, but not when a function that it calls does: a stale kernel would
    silently give wrong numbers. Here a change in any of the files it depends on invalidates it. The names of the cache files contain the
    stamp, too, so that two versions of the code do not overwrite each other's.
    """
    return compiled_from(function, None if config.DISABLE_JIT else stamp(function.__code__.co_filename))


def exact(function: F) -> F:
    """The same for a function whose sums are carried out as they are written, such as compensated ones; multiply-adds may be fused."""
    result: F = function if config.DISABLE_JIT else Function.of(function, stamp(function.__code__.co_filename), fast={"contract"})
    return result


def unlocked(function: F) -> F:
    """The same for a function that runs in several threads at a time: calls from Python release the interpreter's lock."""
    result: F = function if config.DISABLE_JIT else Function.of(function, stamp(function.__code__.co_filename), nogil=True)
    return result


def compiled_with(function: Callable[..., Any], owner: Any, **names: Any) -> Any:
    """The same for a function that stands for many, which differ in what these names mean in it.

    It is kept on disk as a part of its own file and that of `owner`, a compiled function, which imports all that the names stand for.
    """
    made = FunctionType(function.__code__, function.__globals__ | names, function.__name__)
    return compiled_from(made, None if config.DISABLE_JIT else _stamp_with(function, owner, names))


def _stamp_with(function: Callable[..., Any], owner: Any, names: dict[str, Any]) -> tuple[str, int]:
    """The stamp of both files and of what the names stand for."""
    stamps = [stamp(f.__code__.co_filename) for f in (function, owner.py_func)]
    meant = [f"{name} = {_meaning(x)}" for name, x in sorted(names.items())]
    return sha256("\n".join([text for text, _ in stamps] + meant).encode()).hexdigest(), sum(count for _, count in stamps)


def _meaning(x: Any) -> str:
    function = getattr(x, "py_func", None)
    return repr(x) if function is None else f"{function.__module__}.{function.__qualname__}"


def compiled_from(function: F, made_of: MadeOf) -> F:
    """The same for a function whose stamp is known; without one nothing is kept on disk."""
    if made_of is not None and "__name__" not in function.__globals__:
        raise ValueError(f"{function.__name__}: its globals have no __name__, so code of it could be stored, but not loaded")
    result: F = function if config.DISABLE_JIT else Function.of(function, made_of)
    return result


def inlined(function: Any) -> Any:
    """The same function for a caller that it is to become part of without a call, such as a loop around it; not kept apart on disk."""
    options = {"forceinline": True, "no_cfunc_wrapper": True, "no_cpython_wrapper": True}
    return njit(error_model="numpy", fastmath=FAST, pipeline_class=LinkedCompiler, **options)(getattr(function, "py_func", function))


def generic(function: F) -> F:
    """Compile a function that takes compiled functions as arguments: it is inlined and cached with its caller."""
    result: F = njit(error_model="numpy", fastmath=FAST, inline="always")(function)
    return result


class ByAddress(types.WrapperAddressProtocol):  # type: ignore[misc]  # numba has no types
    """A compiled function that is passed to compiled code as an argument and called by its address.

    A function called by name is compiled again with every caller; this one is compiled once, for one signature. The call from compiled
    code costs no more. The call from Python does: numba inspects such an argument each time.
    """

    def __init__(self, function: Any, signature: Any) -> None:
        self._function, self._signature = function, signature
        self._numba_type_ = types.FunctionType(signature)  # for structures, once
        self._address: int | None = None

    def __wrapper_address__(self) -> int:
        if self._address is None:
            function = self._function.for_c
            function.compile(self._signature.args)
            result = function.overloads[self._signature.args]
            self._address = result.library.get_pointer_to_function(result.fndesc.llvm_cfunc_wrapper_name)
        return self._address

    def signature(self) -> Any:
        """Types of the result and the arguments."""
        return self._signature


def by_address(function: F, signature: Any) -> F | ByAddress:
    """`ByAddress`, or the function itself with NUMBA_DISABLE_JIT=1."""
    return function if config.DISABLE_JIT else ByAddress(function, signature)


if TYPE_CHECKING or config.DISABLE_JIT:

    def records(array: Bytes, start: int, count: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        return array[start:start + count * np.dtype(dtype).itemsize].view(dtype)

    def table(array: Bytes, place: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        start, count = array[8 * place:8 * place + 16].view(np.int64)
        return records(array, start, count, dtype)

    def window(array: npt.NDArray[S], start: int, count: int) -> npt.NDArray[S]:
        return array[start:start + count]

    def matrix(array: npt.NDArray[S], start: int, rows: int, columns: int) -> npt.NDArray[S]:
        return array[start:start + rows * columns].reshape(rows, columns)

else:

    def _view(context, builder, source, target, shape, offset, args):
        """An array of type `target` on the memory of the first argument, from byte `offset` on: no checks, no reference count."""
        item = context.get_abi_sizeof(context.get_data_type(target.dtype))
        data = make_array(source)(context, builder, args[0]).data
        data = builder.gep(builder.bitcast(data, cgutils.voidptr_t), [offset])
        view = make_array(target)(context, builder)
        size = context.get_constant(types.intp, item)
        strides = [size] if len(shape) == 1 else [builder.mul(shape[1], size), size]
        populate_array(view, data=builder.bitcast(data, view.data.type), shape=shape, strides=strides, itemsize=size, meminfo=None)
        return view._getvalue()

    @intrinsic
    def records(typingctx, array, start, count, dtype):
        """`count` records of `dtype` from byte `start` of a byte array."""
        target = types.Array(dtype.dtype, 1, "C")

        def codegen(context, builder, signature, args):
            return _view(context, builder, array, target, [args[2]], args[1], args)

        return target(array, types.intp, types.intp, dtype), codegen

    @intrinsic
    def table(typingctx, array, place, dtype):
        """The `records` of a byte array whose start and number are its integers (of 64 bits) `place` and `place + 1`."""
        target = types.Array(dtype.dtype, 1, "C")

        def codegen(context, builder, signature, args):
            head = builder.bitcast(make_array(array)(context, builder, args[0]).data, cgutils.intp_t.as_pointer())
            start, count = (builder.load(builder.gep(head, [builder.add(args[1], cgutils.intp_t(k))])) for k in range(2))
            return _view(context, builder, array, target, [count], start, args)

        return target(array, types.intp, dtype), codegen

    @intrinsic
    def window(typingctx, array, start, count):
        """`array[start:start + count]`."""
        target = types.Array(array.dtype, 1, "C")

        def codegen(context, builder, signature, args):
            item = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(array.dtype)))
            return _view(context, builder, array, target, [args[2]], builder.mul(args[1], item), args)

        return target(array, types.intp, types.intp), codegen

    @intrinsic
    def matrix(typingctx, array, start, rows, columns):
        """`array[start:start + rows * columns]` as a matrix."""
        target = types.Array(array.dtype, 2, "C")

        def codegen(context, builder, signature, args):
            item = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(array.dtype)))
            return _view(context, builder, array, target, [args[2], args[3]], builder.mul(args[1], item), args)

        return target(array, types.intp, types.intp, types.intp), codegen
