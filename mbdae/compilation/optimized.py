"""Machine code of functions that are called from Python or by their address, with all that they call.

Numba leaves the functions within open to callers from outside, and calls a function for each change of a reference count, also where arrays
come without one, as those of structures and windows do. Here only the function itself is open to others, so that arguments that are the
same in all calls are known within, and counting is put in the place of its calls: where it is known that there is no count nothing is left.
Integrations take a tenth to a third less time, most on small mechanisms, and what is compiled for the first time 8 % more.
"""

from functools import cache
from typing import Any

from llvmlite import binding, ir
from numba.core import config
from numba.core.codegen import JITCodeLibrary

_BYTES, _WORD = ir.IntType(8).as_pointer(), ir.IntType(64)
_INCREASE, _DECREASE, _FREE = "NRT_incref", "NRT_decref", "NRT_MemInfo_call_dtor"
_WITHIN = ".within"  # ending of names of functions that are not open to others: the linker knows all functions of a process by their names


class OptimizedLibrary(JITCodeLibrary):  # type: ignore[misc]  # numba has no types
    """Code of a function and of those it calls, optimised as a whole."""

    def _optimize_final_module(self) -> None:
        """See numba: a first pass, in which counts that cancel are removed, and a second one of the code without calls for counts."""
        codegen, module = self._codegen, self._final_module
        for function in module.functions:
            if function.linkage == binding.Linkage.linkonce_odr and not function.name.startswith("NRT_"):
                _close(function)
        _run_passes(module, codegen, loop_vectorize=codegen._loopvect, slp_vectorize=False, opt=codegen._opt_level, cost="cheap")
        _replace_counts(module)
        _run_passes(module, codegen)


def _run_passes(module: Any, codegen: Any, **options: Any) -> None:
    """Those of numba, which are one object up to numba 0.61, and two that belong together since."""
    made = codegen._module_pass_manager(**options)
    passes, *builder = made if isinstance(made, tuple) else (made,)
    passes.run(module, *builder)


def _replace_counts(module: Any) -> None:
    """Definitions of the functions for counts that may be put in the place of their calls, other than numba's."""
    names = {function.name for function in module.functions}
    if config.DEBUG_NRT or not names & {_INCREASE, _DECREASE}:
        return
    counts = binding.parse_assembly(_counts())
    counts.data_layout, counts.triple = module.data_layout, module.triple
    module.link_in(counts)
    for name in (_INCREASE, _DECREASE):
        _close(module.get_function(name))


def _close(function: Any) -> None:
    """Leave a function to its module, which may change how it is called."""
    function.name, function.linkage = function.name + _WITHIN, "internal"


@cache
def _counts() -> str:
    """What numba's functions do: nothing without a count; else count up, or down, and free the memory at zero."""
    module = ir.Module("counts")
    kind = ir.FunctionType(ir.VoidType(), [_BYTES])
    free = ir.Function(module, kind, _FREE)
    for name, operation in ((_INCREASE, "add"), (_DECREASE, "sub")):
        function = ir.Function(module, kind, name)
        memory, builder = function.args[0], ir.IRBuilder(function.append_basic_block())
        with builder.if_then(builder.icmp_unsigned("!=", memory, ir.Constant(_BYTES, None))):
            place, one = builder.bitcast(memory, _WORD.as_pointer()), _WORD(1)
            if operation == "add":
                builder.atomic_rmw(operation, place, one, "monotonic")
            else:
                builder.fence("release")
                count = builder.atomic_rmw(operation, place, one, "monotonic")
                with builder.if_then(builder.icmp_unsigned("==", count, one), likely=False):
                    builder.fence("acquire")
                    builder.call(free, [memory])
        builder.ret_void()
    return str(module)
