"""Compiled code that only other compiled code calls.

Numba optimises each function together with all that it calls and generates machine code, although compiled callers link the function and
optimise everything once more: that was 40 % of the time to compile. Functions that are called by compiled code only are kept as
intermediate code here; machine code is generated in the functions that are called from Python or by their address.

Of these, numba keeps the intermediate code on disk, too, and parses it as soon as they are loaded: two thirds of the time that loading
took. Here it waits until a caller is compiled, which hardly ever happens.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import binding
from numba.core.caching import CompileResultCacheImpl
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult, Flags

from .optimized import OptimizedLibrary
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

    library: type[JITCodeLibrary] = OptimizedLibrary

    def __init__(self, typingctx: Any, targetctx: Any, library: Any, args: Any, return_type: Any, flags: Any, names: Any) -> None:
        super().__init__(typingctx, targetctx, library, args, return_type, _Flags(flags), names)

    def _compile_bytecode(self) -> Any:
        self.state.library = self.library(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        if self.library is OptimizedLibrary:
            self.state.library.enable_object_caching()
        return super()._compile_bytecode()

    def compile_extra(self, func: Any) -> Any:
        """See numba."""
        with _without_collection():
            made = super().compile_extra(func)
            _set_environments(made)
            return made


class LinkedCompiler(PausedCompiler):
    """The same for functions that only compiled code calls."""

    library = LinkedLibrary


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


class LoadedLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Machine code from disk, and intermediate code that is parsed when a caller is compiled."""

    _code: bytes
    _shared_module: Any  # numba's attribute

    @classmethod
    def of(cls, codegen: Any, state: Any) -> "LoadedLibrary":
        """The library that was kept on disk."""
        name, _, (machine_code, code), symbols = state
        made = cls(codegen, name)
        made.enable_object_caching()
        made._set_compiled_object(machine_code)
        made._code = code
        made._finalize_final_module()
        codegen._engine._defined_symbols.update(symbols)  # numba looks for the addresses of no others
        return made

    def _get_module_for_linking(self) -> Any:
        if self._shared_module is None:
            self._shared_module = binding.parse_bitcode(self._code)
            self._codegen._engine._load_defined_symbols(self._shared_module)
        return self._shared_module


class _LoadedCacheImpl(CompileResultCacheImpl):  # type: ignore[misc]
    def reduce(self, made: Any) -> Any:
        """What numba keeps, and the names by which the machine code is called."""
        library, *more = made._reduce()
        f, engine = made.fndesc, made.library.codegen._engine
        names = f.llvm_func_name, f.llvm_cpython_wrapper_name, f.llvm_cfunc_wrapper_name
        return (*library, [name for name in names if engine.is_symbol_defined(name)]), *more

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        """The function as it was kept on disk."""
        return _rebuilt(target_context, payload, LoadedLibrary)


class LoadedCache(KeptCache):
    """Functions on disk as machine code."""

    _impl_class = _LoadedCacheImpl


class _LinkedCacheImpl(CompileResultCacheImpl):  # type: ignore[misc]
    def rebuild(self, target_context: Any, payload: Any) -> Any:
        """The function as it was kept on disk."""
        return _rebuilt(target_context, payload, LinkedLibrary)


class LinkedCache(KeptCache):
    """Functions on disk as intermediate code."""

    _impl_class = _LinkedCacheImpl


def _rebuilt(context: Any, payload: Any, library: Any) -> Any:
    """A function from disk, its code in a library of this class."""
    return CompileResult._rebuild(_Loading(context, library), *payload)._replace(target_context=context)


class _Loading:
    """A context of numba in which code from disk becomes a library of a given class."""

    def __init__(self, context: Any, library: Any) -> None:
        self._context, self._library = context, library

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def codegen(self) -> Any:
        return self

    def unserialize_library(self, state: Any) -> Any:
        return self._library.of(self._context.codegen(), state)
