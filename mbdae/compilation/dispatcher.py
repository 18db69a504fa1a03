"""Compiled functions with the wrappers that their callers need, and no others.

Numba compiles two wrappers with each function, for calls from Python and from C: a quarter of the time that it takes to compile all. Most
functions are called by compiled code only, which needs neither.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

from numba import njit
from numba.core.registry import CPUDispatcher

# multiply-adds may be fused and sums reassociated; NaN and infinity keep their meaning
FAST = {"contract", "reassoc", "nsz", "arcp"}
MadeOf = tuple[str, int] | None  # what the names of files on disk and numba's test of their age are made of; None: nothing is kept


class Function(CPUDispatcher):  # type: ignore[misc]  # numba has no types
    """A compiled function for calls from Python; compiled code that calls it gets `inner` instead."""

    made_of: MadeOf = None

    @classmethod
    def of(cls, function: Callable[..., Any], made_of: MadeOf, nogil: bool = False) -> "Function":
        """The compiled function of a Python function; with `nogil` it runs without the interpreter's lock."""
        made = cls(function, targetoptions={"nopython": True, "boundscheck": None, "error_model": "numpy", "fastmath": FAST,
                                            "no_cfunc_wrapper": True, "nogil": nogil})
        made.made_of = made_of
        _keep(made, made_of, "python")
        return made

    @cached_property
    def inner(self) -> Any:
        """The same function without wrappers."""
        return self._other("compiled", no_cpython_wrapper=True, no_cfunc_wrapper=True)

    @cached_property
    def for_c(self) -> Any:
        """The same function with the wrapper for calls by its address."""
        return self._other("c", no_cpython_wrapper=True)

    def _other(self, caller: str, **options: Any) -> Any:
        made = njit(error_model="numpy", fastmath=FAST, **options)(self.py_func)
        _keep(made, self.made_of, caller)
        return made

    # what numba asks for when it compiles a call

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return self.inner.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        return self.inner.get_overload(sig)

    @property
    def is_compiling(self) -> Any:
        return self.inner.is_compiling


def _keep(made: Any, made_of: MadeOf, caller: str) -> None:
    """Keep compiled code on disk, in files of its own for each version of the code and each kind of callers."""
    if made_of is not None:
        made.enable_caching()
        file = made._cache._cache_file
        file.__init__(file._cache_path, f"{made._cache._impl.filename_base}-{caller}-{made_of[0][:12]}", made_of)
