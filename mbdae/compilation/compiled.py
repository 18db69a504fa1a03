"""The one decorator of all compiled code, and what goes with it."""

import numpy as np
from numba import njit, types
from numba.core import cgutils, config
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

from .stamp import stamp

# Views made by `records`, `window` and `matrix` skip every check and the counting of references, which cost more than most kernels;
# whoever calls a kernel keeps the arrays alive.

# products and sums may be fused and reordered; NaN and infinity keep their meaning
FAST = {"contract", "reassoc", "nsz", "arcp"}


def compiled(function):
    """Compile on first use, keep the result on disk; division by zero gives infinity instead of an exception.

    Numba drops a cached function when its own file has changed, but not when a function that it calls has: a stale kernel would give
    wrong numbers in silence. Here a change in any of the files that it is made of drops it. The cache files have the stamp in their
    names, too, so that two versions of the code that run side by side do not write into each other's.
    """
    return compiled_from(function, None if config.DISABLE_JIT else stamp(function.__code__.co_filename))


def compiled_from(function, made_of):
    """The same for a function whose stamp is known; without one nothing is kept on disk."""
    dispatcher = njit(cache=made_of is not None, error_model="numpy", fastmath=FAST)(function)
    if made_of is not None and not config.DISABLE_JIT:
        file = dispatcher._cache._cache_file
        file.__init__(file._cache_path, f"{dispatcher._cache._impl.filename_base}-{made_of[0][:12]}", made_of)
    return dispatcher


def inlined(function):
    """The same function for a caller that it is to become part of without a call, such as a loop around it; not kept apart on disk."""
    return njit(error_model="numpy", fastmath=FAST, forceinline=True)(getattr(function, "py_func", function))


def generic(function):
    """Compile a function that takes other compiled functions: it becomes part of its caller and is kept on disk with it."""
    return njit(error_model="numpy", fastmath=FAST, inline="always")(function)


class ByAddress(types.WrapperAddressProtocol):
    """A compiled function that compiled code gets as an argument and calls by its address.

    What is called by name becomes part of every caller and is compiled again with each; this one is compiled once, for one signature. The
    call costs no more. Calls from Python do: numba looks at such an argument anew every time.
    """

    def __init__(self, function, signature):
        self._function, self._signature, self._address = function, signature, None

    def __wrapper_address__(self):
        if self._address is None:
            self._function.compile(self._signature.args)
            result = self._function.overloads[self._signature.args]
            self._address = result.library.get_pointer_to_function(result.fndesc.llvm_cfunc_wrapper_name)
        return self._address

    def signature(self):
        """Types of the result and the arguments."""
        return self._signature


def by_address(function, signature):
    """`ByAddress`, or the function itself where nothing is compiled."""
    return function if config.DISABLE_JIT else ByAddress(function, signature)


if config.DISABLE_JIT:  # type: ignore[attr-defined]

    def records(array, start, count, dtype):
        return array[start:start + count * np.dtype(dtype).itemsize].view(dtype)

    def window(array, start, count):
        return array[start:start + count]

    def matrix(array, start, rows, columns):
        return array[start:start + rows * columns].reshape(rows, columns)

else:

    def _view(context, builder, source, target, shape, offset, args):
        """An array of type `target` on the memory of the first argument, `offset` bytes in: no checks, no share in the ownership."""
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
