"""Compiled code that only other compiled code calls.

Numba optimises each function together with all that it calls and generates machine code, although compiled callers link the function and
optimise everything once more: that was 40 % of the time to compile. Functions that are called by compiled code only are kept as
intermediate code here; machine code is generated in the functions that are called from Python or by their address.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import binding
from numba.core.caching import CompileResultCacheImpl
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult, Flags

from .shipped import KeptCache


class LinkedLibrary(JITCodeLibrary):  # type: ignore[misc]  # numba has no types
    """Intermediate code of a function and of those it calls, which becomes a part of its callers."""

    def _optimize_final_module(self) -> None:
        """Left to the callers."""

    def _finalize_final_module(self) -> None:
        """There is no machine code."""
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Null: the function cannot be called from Python."""
        return 0

    @property
    def codegen(self) -> Any:
        """The code generator, which sets no environment: it is set in the machine code of callers."""
        return _NoEnvironment()

    def serialize_using_object_code(self) -> Any:
        """What is kept on disk."""
        return self.serialize_using_bitcode()

    @classmethod
    def of(cls, codegen: Any, state: Any) -> "LinkedLibrary":
        """The library that was kept on disk."""
        name, _, code = state
        made = cls(codegen, name)
        made._final_module = binding.parse_bitcode(code)
        made._finalize_final_module()
        return made


class _NoEnvironment:
    def set_env(self, name: str, environment: Any) -> None:
        """Nothing to be set."""


class _Flags(Flags):  # type: ignore[misc]
    """Numba's options of a compilation, which it compares at each call it looks up: a tenth of the time where each is asked by its name."""

    def values(self) -> dict[str, Any]:
        """All options."""
        found: dict[str, Any] = _DEFAULTS | self._values
        return found

    def __hash__(self) -> int:
        return _NAMES


_DEFAULTS = Flags().values()
_NAMES = hash(Flags())  # the hash of all flags: that of their names


class PausedCompiler(Compiler):  # type: ignore[misc]
    """Numba's compiler without garbage collections, which find next to nothing and take an eighth of the time."""

    def __init__(self, typingctx: Any, targetctx: Any, library: Any, args: Any, return_type: Any, flags: Any, names: Any) -> None:
        super().__init__(typingctx, targetctx, library, args, return_type, _Flags(flags), names)

    def compile_extra(self, func: Any) -> Any:
        """See numba."""
        with _without_collection():
            made = super().compile_extra(func)
            _set_environments(made)
            return made


class LinkedCompiler(PausedCompiler):
    """The same for functions that only compiled code calls."""

    def _compile_bytecode(self) -> Any:
        self.state.library = LinkedLibrary(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        return super()._compile_bytecode()


@contextmanager
def _without_collection() -> Iterator[None]:
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _set_environments(made: Any) -> None:
    """Of the linked functions within, which need them to print or to raise exceptions made of values."""
    for environment in made._find_referenced_environments():
        made.library.codegen.set_env(environment.env_name, environment)


class _LinkedCacheImpl(CompileResultCacheImpl):  # type: ignore[misc]
    def rebuild(self, target_context: Any, payload: Any) -> Any:
        """The function as it was kept on disk."""
        return CompileResult._rebuild(_Linking(target_context), *payload)._replace(target_context=target_context)


class LinkedCache(KeptCache):
    """Functions on disk as intermediate code."""

    _impl_class = _LinkedCacheImpl


class _Linking:
    """A context of numba in which code from disk becomes a `LinkedLibrary`."""

    def __init__(self, context: Any) -> None:
        self._context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def codegen(self) -> Any:
        return self

    def unserialize_library(self, state: Any) -> LinkedLibrary:
        return LinkedLibrary.of(self._context.codegen(), state)
