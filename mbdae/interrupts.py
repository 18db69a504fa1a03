"""Ctrl-C during a run: the handler of SIGINT is deferred to a point where its exception reaches the caller.

Python runs a signal handler between two instructions of the function that the main thread executes. If that is the first instruction of a
callback of a solver, the exception is lost: the callback returns without a result, and the solver continues with undefined values.
Therefore the handler is deferred. It is called when a user function runs, whose exceptions are stored or raised unchanged, or at the next
`signals.check()`, called at each point where a solver can be left and before each compilation. A second Ctrl-C acts immediately.

Compiled loops never let Python run a handler. They read `signals.flag` after every step and return if it is set: the flag is the memory
map of a file to which Python writes a byte when a signal arrives.
"""

import contextlib
import functools
import mmap
import os
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, ParamSpec, TypeVar, TypeVarTuple, cast

import numpy as np

from .compilation.compiling import announced
from .typing import Bytes

P = ParamSpec("P")
T = TypeVar("T")
Ts = TypeVarTuple("Ts")
F = TypeVar("F", bound=Callable[..., Any])


class _Signals(threading.local):
    """State of the deferred SIGINT, per thread: handlers run in the main thread, other threads are not affected.

    Attributes
    ----------
    inside : bool
        Whether a user function is running: the handler then acts immediately, so that Ctrl-C also ends a function that hangs.
    waiting : bool
        Whether a signal is pending, or the exception of its handler has not yet left the run.
    later : bool
        Whether a first signal stays pending, see `postponed`.
    flag : ndarray of uint8
        The first entry is nonzero if compiled loops must return.
    """

    inside = waiting = active = later = False
    flag: Bytes = np.zeros(1, dtype=np.uint8)
    _arguments: tuple[int, FrameType | None] | None = None
    _raised: BaseException | None = None
    _others = -1  # wakeup file descriptor that was set before

    def __init__(self) -> None:  # in each thread
        self._handler: Callable[[int, FrameType | None], object] = signal.default_int_handler

    def check(self) -> None:
        """Handle a pending signal; the exception of its handler is raised by every call until it has left the run."""
        if self.waiting and not self.later:
            self._act()
        if self.flag[0] and not self.later:
            _clear(self._others)

    def guarded(self, function: Callable[[*Ts], T], *args: *Ts) -> tuple[T, None] | tuple[None, BaseException]:
        """`(result, exception)` of a user function called from compiled code, one of them `None`."""
        outer = self.inside
        try:
            self.inside = True
            if self.waiting and not self.later:
                self._act()
            result = function(*args)
            self.inside = outer
            return result, None
        except BaseException as error:
            self.inside = outer  # no exception may be raised from here on
            return None, error

    def called(self, function: F) -> F:
        """A user function for calls from Python, with its attributes; its exceptions propagate."""
        return cast(F, _Called(function))

    def raise_again(self) -> None:
        """Raise the exception of the handler if it has been raised within a user function, whose result is lost."""
        if self._raised is not None:
            raise self._raised

    def raises_again(self, error: BaseException) -> bool:
        """Whether `check` raises this exception again, so that it need not be stored elsewhere."""
        return error is self._raised

    @contextlib.contextmanager
    def at_once(self) -> Iterator[None]:
        """A context in which the handler acts immediately."""
        outer, self.inside = self.inside, True
        try:
            self.check()
            yield
        finally:
            self.inside = outer

    @contextlib.contextmanager
    def postponed(self) -> Iterator[None]:
        """A context in which a first signal stays pending, also in user functions, for a run that stores its state before it ends."""
        outer, self.later = self.later, True
        try:
            yield
        finally:
            self.later = outer

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """A context that defers SIGINT and handles a pending one at its end; may be nested, for a run within a user function of a run."""
        outer, self.inside = self.inside, False
        error = None
        try:
            with contextlib.nullcontext() if self.active else self._installed():
                yield
        except BaseException as caught:
            error = caught
            raise
        finally:
            self.inside = outer
            raised, arguments, handler = self._raised, self._arguments, self._handler
            self._raised = self._arguments = None
            self.waiting = False
            try:
                if raised is not None and raised is not error:
                    raise raised  # lost inside a solver
                if arguments is not None and (error is None or error is not raised):
                    handler(*arguments)
            finally:
                del error, raised  # reference cycles with their tracebacks

    @contextlib.contextmanager
    def _installed(self) -> Iterator[None]:
        """Install the deferring handler; nothing in other threads and where Python does not handle SIGINT."""
        handler = signal.getsignal(signal.SIGINT)
        if not callable(handler) or threading.current_thread() is not threading.main_thread():
            yield
            return
        self._handler, self.flag = handler, _page()[1]
        try:
            self.active = True
            signal.signal(signal.SIGINT, self._receive)
            with self._woken(), announced(self.check):
                yield
        finally:
            self.active = False
            if signal.getsignal(signal.SIGINT) == self._receive:  # unless a user function has set another one
                signal.signal(signal.SIGINT, handler)

    @contextlib.contextmanager
    def _woken(self) -> Iterator[None]:
        """A context in which the C code of Python sets the flag when a signal arrives."""
        file, _ = _page()
        if file < 0:
            yield
            return
        _clear()
        self._others = signal.set_wakeup_fd(file, warn_on_full_buffer=False)
        try:
            yield
        finally:
            changed = signal.set_wakeup_fd(self._others)
            if changed != file:  # by a user function
                signal.set_wakeup_fd(changed)
            _clear(self._others)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        again = self.waiting
        self._arguments, self.waiting = (number, frame), True
        self.flag[0] = self.flag[0] or 1  # Python may have written the signal number
        if (self.inside and not self.later) or again:  # the second Ctrl-C acts immediately
            self._act()

    def _act(self) -> None:
        if self._raised is not None:
            raise self._raised
        if self._arguments is not None:
            arguments, self._arguments = self._arguments, None
            try:
                self._handler(*arguments)
            except BaseException as error:
                self._raised = error
                raise
            self.waiting = self._arguments is not None


signals = _Signals()


def held(function: Callable[P, T]) -> Callable[P, T]:
    """Decorator: SIGINT is deferred during the function, see `_Signals.held`."""
    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        with signals.held():
            return function(*args, **kwargs)

    return call


class _Called:
    """See `_Signals.called`."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, *args: Any) -> Any:
        with signals.at_once():
            return self._function(*args)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)


# the flag --------------------------------------------------------------------------------------------------------------------


@functools.cache
def _page() -> tuple[int, Bytes]:
    """A file descriptor for the wakeup byte and its memory map; -1 and an array where memory files are not available."""
    try:
        if hasattr(os, "memfd_create"):
            file = os.memfd_create("mbdae")
        else:
            with tempfile.TemporaryFile() as opened:
                file = os.dup(opened.fileno())
        os.ftruncate(file, mmap.PAGESIZE)
        os.set_blocking(file, False)
        return file, np.frombuffer(mmap.mmap(file, mmap.PAGESIZE), dtype=np.uint8)
    except (OSError, ValueError):
        return -1, np.zeros(mmap.PAGESIZE, dtype=np.uint8)


def _clear(onward: int = -1) -> None:
    """Clear the wakeup bytes and forward them to the file descriptor `onward`."""
    file, page = _page()
    count = os.lseek(file, 0, os.SEEK_CUR) if file >= 0 else 0
    numbers = page[:count].tobytes()
    page[:max(count, 1)] = 0
    if count:
        os.lseek(file, 0, os.SEEK_SET)
    if numbers and onward >= 0:
        with contextlib.suppress(OSError):
            os.write(onward, numbers)
