"""Compiled functions with the wrappers that their callers need, and no others.

Numba compiles two wrappers with each function, for calls from Python and from C: a quarter of the time that it takes to compile all. Most
functions are called by compiled code only, which needs neither.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

from numba import njit
from numba.core.registry import CPUDispatcher

from .linked import LinkedCache, LinkedCompiler, LoadedCache, PausedCompiler

# multiply-adds may be fused and sums reassociated; NaN and infinity keep their meaning
FAST = {"contract", "reassoc", "nsz", "arcp"}
MadeOf = tuple[str, int] | None  # what the names of files on disk and numba's test of their age are made of; None: nothing is kept


class Function(CPUDispatcher):  # type: ignore[misc]  # numba has no types
    """A compiled function for calls from Python; compiled code that calls it gets `inner` instead."""

    made_of: MadeOf = None
    fast: set[str] | bool = FAST

    @classmethod
    def of(cls, function: Callable[..., Any], made_of: MadeOf, nogil: bool = False, fast: set[str] | bool = FAST) -> "Function":
        """The compiled function of a Python function; with `nogil` it runs without the interpreter's lock."""
        made = cls(function, targetoptions={"nopython": True, "boundscheck": None, "error_model": "numpy", "fastmath": fast,
                                            "no_cfunc_wrapper": True, "nogil": nogil}, pipeline_class=PausedCompiler)
        made.made_of, made.fast = made_of, fast
        _keep(made, made_of, "python")
        return made

    @cached_property
    def inner(self) -> Any:
        """The same function for compiled code, of which it becomes a part."""
        return self._other("linked", LinkedCache, pipeline_class=LinkedCompiler, no_cpython_wrapper=True, no_cfunc_wrapper=True)

    @cached_property
    def alone(self) -> Any:
        """The same function with machine code of its own, but without wrappers."""
        return self._other("alone", pipeline_class=PausedCompiler, no_cpython_wrapper=True, no_cfunc_wrapper=True)

    @cached_property
    def for_c(self) -> Any:
        """The same function with the wrapper for calls by its address."""
        return self._other("c", pipeline_class=PausedCompiler, no_cpython_wrapper=True)

    def _other(self, caller: str, cache: Any = LoadedCache, **options: Any) -> Any:
        made = njit(error_model="numpy", fastmath=self.fast, **options)(self.py_func)
        _keep(made, self.made_of, caller, cache)
        return made

    def entry(self, kinds: tuple[Any, ...]) -> Any:
        """The function for arguments of these types, without the look at the types that each call takes otherwise."""
        made = self.overloads.get(kinds)  # without numba's lock
        return self.compile(kinds) if made is None else made.entry_point

    # what numba asks for when it compiles a call

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return self.inner.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        return self.inner.get_overload(sig)

    @property
    def is_compiling(self) -> Any:
        return self.inner.is_compiling


def _keep(made: Any, made_of: MadeOf, caller: str, cache: Any = LoadedCache) -> None:
    """Keep compiled code on disk, in files of its own for each version of the code and each kind of callers."""
    if made_of is not None:
        made._cache = cache(made.py_func, f"{caller}-{made_of[0][:12]}", made_of)
