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


def symbol(name: str) -> Any:
    """An intrinsic without arguments: the address that this process has given to a symbol, see `llvmlite.binding.add_symbol`.

    Code that is kept on disk finds memory of the process that loads it by such a name.
    """
    def declare(typingctx: Any) -> Any:
        def codegen(context: Any, builder: Any, sig: Any, values: Any) -> Any:
            module = builder.module
            place = module.globals.get(name) or ir.GlobalVariable(module, ir.IntType(8), name=name)
            return builder.ptrtoint(place, ir.IntType(64))

        return types.int64(), codegen

    return intrinsic(declare)


@intrinsic
def pointer(typingctx, address):
    """An address as a pointer."""
    signature = types.voidptr(types.int64)

    def codegen(context, builder, sig, values):
        return builder.inttoptr(values[0], context.get_value_type(sig.return_type))

    return signature, codegen
