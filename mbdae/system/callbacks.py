"""User functions inside compiled kernels: they are called by address.

A function compiled with numba becomes a C function; a plain Python function is wrapped by ctypes. Both are then a number in the
tables of the system, so that the kernels are compiled once for all users. An exception cannot cross compiled
code: it is stored in `Callbacks.pending`, with a note that names the function and the time, the function returns NaN, and the caller of the
kernel re-raises it.

Every C function can also give derivatives, for the complex step: exact ones where a compiled function takes complex numbers,
central differences otherwise (see `c_functions`).
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, SupportsInt

import numpy as np
from numba import njit, types
from numba.core import config
from numba.core.dispatcher import Dispatcher
from numba.extending import intrinsic

from ..compilation.foreign import foreign
from ..interrupts import signals
from ..typing import Matrix, Numbers
from . import c_functions, c_system, words
from .layout import FRAME

if TYPE_CHECKING:
    from .from_functions import UserFunctions

_F = ctypes.c_double
_I = ctypes.c_int64
_MOTION = ctypes.CFUNCTYPE(_F, _F)
_LAW = ctypes.CFUNCTYPE(_F, _F, _F, _F, _I)
_FORCE = ctypes.CFUNCTYPE(None, _F, _I, _I, _I, _I)
_SYSTEM = ctypes.CFUNCTYPE(None, _I, _F, _I, _I, _I, _I, _I)


if TYPE_CHECKING or config.DISABLE_JIT:  # the same calls through ctypes, so that kernels can be stepped through

    def call_motion(address: SupportsInt, t: float) -> float:
        return float(_MOTION(int(address))(t))

    def call_law(address: SupportsInt, x: float, xd: float, t: float, which: int) -> float:
        return float(_LAW(int(address))(x, xd, t, which))

    def call_force(address: SupportsInt, t: float, states: int, k: int, out: int, is_complex: int) -> None:
        _FORCE(int(address))(t, states, int(k), out, is_complex)

    def call_system(address: SupportsInt, what: int, t: float, q: int, v: int, lam: int, out: int, is_complex: int) -> None:
        _SYSTEM(int(address))(what, t, q, v, lam, out, is_complex)

    call_rare: Any = None  # nothing is called out of line where nothing is compiled
    call_extra: Any = None

else:
    _d, _i = types.float64, types.int64

    @intrinsic
    def call_motion(typingctx, address, t):
        """`double f(double t)`."""
        return foreign(_d, (_d,))(typingctx, address, t)

    @intrinsic
    def call_law(typingctx, address, x, xd, t, which):
        """`double f(double x, double xd, double t, int64 which)`: the law (0), its derivative by `x` (1), by `xd` (2)."""
        return foreign(_d, (_d, _d, _d, _i))(typingctx, address, x, xd, t, which)

    @intrinsic
    def call_force(typingctx, address, t, states, k, out, is_complex):
        """`void f(double t, int64 states, int64 k, int64 out, int64 is_complex)`, addresses as integers."""
        return foreign(types.void, (_d, _i, _i, _i, _i))(typingctx, address, t, states, k, out, is_complex)

    @intrinsic
    def call_system(typingctx, address, what, t, q, v, lam, out, is_complex):
        """`void f(int64 what, double t, int64 q, int64 v, int64 lam, int64 out, int64 is_complex)`, addresses as integers."""
        return foreign(types.void, (_i, _d, _i, _i, _i, _i, _i))(typingctx, address, what, t, q, v, lam, out, is_complex)

    @intrinsic
    def call_extra(typingctx, address, what, t, entry, q, model, work, out, is_complex):
        """`int64 f(int64 what, double t, int64 entry, int64 q, int64 model, int64 work, int64 out, int64 is_complex)`, see `extra`."""
        return foreign(_i, (_i, _d, *(_i,) * 6))(typingctx, address, what, t, entry, q, model, work, out, is_complex)

    @intrinsic
    def call_rare(typingctx, address, t, number, q, v, c, a, lam, model, work):
        """`int64 f(double t, int64 number, int64 q, int64 v, int64 c, int64 a, int64 lam, int64 model, int64 work)`, see `rare`."""
        return foreign(_i, (_d, *(_i,) * 8))(typingctx, address, t, number, q, v, c, a, lam, model, work)


@njit
def law(address, x, xd, t):
    """A user's law `f(x, x', t)`, real or along the imaginary parts of complex arguments."""
    f = call_law(address, x.real, xd.real, t, 0) + 0.0 * x
    if x.imag != 0.0:
        f += (x - x.real) * call_law(address, x.real, xd.real, t, 1)
    if xd.imag != 0.0:
        f += (xd - xd.real) * call_law(address, x.real, xd.real, t, 2)
    return f


_called_from_python: ContextVar[bool] = ContextVar("called_from_python", default=False)


@contextmanager
def interpreted() -> Iterator[None]:
    """Meanwhile new systems call all user functions from Python, also compiled ones.

    For a look at a system: the C functions around compiled ones take a second each to make, in every process.
    """
    token = _called_from_python.set(True)
    try:
        yield
    finally:
        _called_from_python.reset(token)


def plain(function: Any) -> Any:
    """The Python function behind a compiled one while `interpreted`, otherwise the function itself."""
    return getattr(function, "py_func", function) if _called_from_python.get() else function


class Callbacks:
    """The user functions of one system: keeps them alive, and keeps the exception one of them has raised.

    Attributes
    ----------
    pending : BaseException or None
        What one of them has raised, to be raised again once compiled code has returned.
    """

    def __init__(self) -> None:
        self.pending: BaseException | None = None
        self._raised: Callable[[], object] = _nobody
        self._alive: list[Any] = []
        self._compiled: dict[int, tuple[c_functions.CFunction, list[Any]]] = {}  # by address, with its names

    def check(self) -> None:
        """Re-raise what a user function has raised, or an interrupt, if any; quick where there is nothing to look at."""
        if self.pending is not None or self._compiled:
            self.raise_pending()
        signals.check()

    def raise_pending(self) -> None:
        """Re-raise what a user function raised inside a kernel, unchanged, or the interrupt that ended it; not a pending one."""
        try:
            for c_function, labels in self._compiled.values():
                with words.noted(*c_function.place(labels)):
                    c_function.replay()
        except BaseException as error:
            self._raised = _reference(error)
            self.forget()  # one is reported; what others have raised in the same evaluations must not appear in later ones
            raise
        if self.pending is not None:
            kept, self.pending = self.pending, None
            self._raised = _reference(kept)
            try:
                raise kept
            finally:
                del kept  # a cycle with its own traceback would keep the solver alive
        signals.raise_again()

    def has_raised(self, error: object) -> bool:
        """Whether an exception is the last one that came from a user function, whatever its class."""
        return self._raised() is error

    def forget(self) -> None:
        """Drop what user functions have raised."""
        for c_function, _ in self._compiled.values():
            with suppress(Exception):
                c_function.replay()
        self.pending = None

    def motion(self, function: Callable[..., Any], label: str = "") -> int:
        """Address of a user's function of time; `label` names it in notes, see `words`."""
        function = plain(function)
        if _is_compiled(function):
            return self._adopt(c_functions.motion(function), label)

        def guarded(t: float) -> float:
            return self._number(label, t, function, t)

        return self._export(_MOTION(guarded))

    def law(self, function: Callable[..., Any], label: str = "") -> int:
        """Address of a user's law `f(x, x', t)`."""
        function = plain(function)
        if _is_compiled(function):
            return self._adopt(c_functions.law(function), label)

        def guarded(x: float, xd: float, t: float, which: int) -> float:
            if which == 0:
                return self._number(label, t, function, x, xd, t)
            h = c_functions.INCREMENT * (1.0 + abs((x, xd)[which - 1]))
            places = ((x + s * h * (which == 1), xd + s * h * (which == 2), t) for s in (-1, 0, 1))
            before, here, after = (self._number(label, t, function, *place) for place in places)
            return c_functions.quotient(before, here, after, h)

        return self._export(_LAW(guarded))

    def force(self, function: Callable[..., Any], states: Matrix, label: str = "") -> int:
        """Address of a `UserForce` function; `states` (k, 18) are those of its bodies at the start."""
        function = plain(function)
        if _is_compiled(function):
            return self._adopt(c_functions.force(function, states), label)

        def guarded(t: float, at: int, k: int, out: int, is_complex: int) -> None:
            result = view(out, 6 * k, is_complex).reshape(k, 6)
            x = view(at, FRAME * k, is_complex).reshape(k, FRAME)
            result[:] = self.called(c_functions.wrench, function, t, x, place=(label, t))

        return self._export(_FORCE(guarded))

    def system(self, functions: UserFunctions) -> int:
        """Address of the one function behind a system of user functions, see `from_functions.UserFunctions`."""
        if functions.compiled and not config.DISABLE_JIT:
            return self._adopt(c_system.system(functions), functions.plain)

        def guarded(what: int, t: float, q: int, v: int, lam: int, out: int, is_complex: int) -> None:
            functions.spoil(what, out, bool(is_complex))  # the result if the user's function raises
            place = words.evaluation(what, functions.plain), t
            self.called(functions.evaluate, what, t, q, v, lam, out, bool(is_complex), place=place)

        return self._export(_SYSTEM(guarded))

    def _number(self, label: str, t: float, function: Callable[..., Any], *args: Any) -> float:
        return float(self.called(_float, function, *args, place=(label, t)))

    def called(self, function: Callable[..., Any], *args: Any, place: tuple[str, float] = ("", 0.0)) -> Any:
        """The value of a function; NaN if it raises, if another one has raised before, or if the run is to be interrupted.

        `place` is its name and the time, for the note that an exception gets.
        """
        if self.pending is not None:
            return np.nan
        result, error = signals.guarded(function, *args)
        if error is None:
            return result
        if not signals.raises_again(error):
            words.add_note(error, *place)
            self.pending = error
        return np.nan

    def _export(self, pointer: Any) -> int:
        self._alive.append(pointer)
        address = ctypes.cast(pointer, ctypes.c_void_p).value
        assert address is not None
        return address

    def _adopt(self, c_function: c_functions.CFunction, label: str | dict[str, Any]) -> int:
        _, labels = self._compiled.setdefault(c_function.address, (c_function, []))
        if label not in labels:
            labels.append(label)
        return c_function.address


def _nobody() -> None:
    return None


def _reference(error: BaseException) -> Callable[[], object]:
    """A weak reference: a strong one would keep the solver alive. Built-in exceptions cannot have one, nor be those of this package."""
    try:
        return weakref.ref(error)
    except TypeError:
        return _nobody


def _float(function: Callable[..., Any], *args: Any) -> float:
    return float(function(*args))


def _is_compiled(function: Callable[..., Any]) -> bool:
    return isinstance(function, Dispatcher) and not config.DISABLE_JIT


def view(address: int, count: int, is_complex: int = False) -> Numbers:
    """A NumPy array on memory that a kernel handed over by address."""
    size = 16 if is_complex else 8
    buffer: Any = (ctypes.c_char * (size * count)).from_address(address)
    return np.frombuffer(buffer, dtype=complex if is_complex else float)
