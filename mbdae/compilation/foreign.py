"""Calls of C functions by their address, from compiled code."""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


def foreign(restype: Any, argtypes: tuple[Any, ...]) -> Callable[..., Any]:
    """The body of an intrinsic that calls the C function `restype(argtypes)` at an address, its first argument."""

    def declare(typingctx: Any, address: int, *args: Any) -> Any:
        signature = restype(types.int64, *argtypes)

        def codegen(context: Any, builder: Any, sig: Any, values: Any) -> Any:
            low = [context.get_value_type(a) for a in argtypes]
            ret = ir.VoidType() if restype is types.void else context.get_value_type(restype)
            target = builder.inttoptr(values[0], ir.FunctionType(ret, low).as_pointer())
            result = builder.call(target, values[1:])
            return context.get_dummy_value() if restype is types.void else result

        return signature, codegen

    return declare


@intrinsic
def pointer(typingctx, address):
    """An address as a pointer."""
    signature = types.voidptr(types.int64)

    def codegen(context, builder, sig, values):
        return builder.inttoptr(values[0], context.get_value_type(sig.return_type))

    return signature, codegen
