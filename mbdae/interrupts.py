"""Ctrl-C during a run: held back where Python would raise in the midst of a solver, acted on where the exception arrives.

Python runs the handler of a signal between two instructions of whatever function the main thread is in. In the first instruction of a
callback, what the handler raises is lost: the callback returns without a result, and the solver goes on with whatever its memory holds.
So the handler waits. It is called as soon as a user function is at work, where an exception is kept or raised unchanged, or at the next
`signals.check()`, which stands wherever a solver can be left and before each function that is compiled. A second Ctrl-C acts at once.

Compiled loops never let Python run a handler. They look at `signals.flag` after every step, and return if it is set: it lies in the
memory of a file to which Python writes a byte as soon as a signal arrives.
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
    """What has become of SIGINT; handlers run in the main thread, so other threads see none of it.

    Attributes
    ----------
    inside : bool
        Whether a user function is at work: the handler then acts at once, so that Ctrl-C also ends a function that hangs.
    waiting : bool
        Whether a signal has come on which nobody has acted, or what its handler has raised has not yet arrived.
    flag : ndarray of uint8
        Its first entry is not zero if a compiled loop is to return.
    """

    inside = waiting = active = False
    flag: Bytes = np.zeros(1, dtype=np.uint8)
    _arguments: tuple[int, FrameType | None] | None = None
    _raised: BaseException | None = None
    _others = -1  # the file descriptor on which somebody else waits for signals

    def check(self) -> None:
        """Act on a signal that waits, if any; what its handler raises is raised again and again, until it has left the run."""
        if self.waiting:
            self._act()
        if self.flag[0]:
            _clear(self._others)

    def guarded(self, function: Callable[[*Ts], T], *args: *Ts) -> tuple[T, None] | tuple[None, BaseException]:
        """`(result, exception)` of a user function called from compiled code, one of them `None`; its own interrupt is not among them."""
        outer = self.inside
        try:
            self.inside = True
            if self.waiting:
                self._act()
            result = function(*args)
            self.inside = outer
            return result, None
        except BaseException as error:
            self.inside = outer  # nothing may be raised from here on
            return None, error

    def called(self, function: F | None) -> F | None:
        """A user function that Python code calls, with the attributes of its own; exceptions go through."""
        return None if function is None else cast(F, _Called(function))

    def raises_again(self, error: BaseException) -> bool:
        """Whether an exception is one that `check` raises again, so that it need not be kept elsewhere."""
        return error is self._raised

    @contextlib.contextmanager
    def at_once(self) -> Iterator[None]:
        """Meanwhile an exception of the handler arrives, so it need not wait."""
        outer, self.inside = self.inside, True
        try:
            self.check()
            yield
        finally:
            self.inside = outer

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Meanwhile SIGINT waits; at the end what still waits is acted on. Within another one: a run within a user function of a run."""
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
                    raise raised  # swallowed on its way
                if arguments is not None and (error is None or error is not raised):
                    handler(*arguments)
            finally:
                del error, raised  # cycles with their own tracebacks

    @contextlib.contextmanager
    def _installed(self) -> Iterator[None]:
        """The handler that waits, instead of Python's or a user's; in other threads, and where SIGINT is not for Python, nothing."""
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
            if signal.getsignal(signal.SIGINT) == self._receive:  # not if a user function has set another one
                signal.signal(signal.SIGINT, handler)

    @contextlib.contextmanager
    def _woken(self) -> Iterator[None]:
        """Meanwhile Python's C code sets the flag when a signal arrives."""
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
        self.flag[0] = self.flag[0] or 1  # Python may have written the number of the signal
        if self.inside or again:  # the impatient are served wherever the run is
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
    """A function during which SIGINT waits, see `_Signals.held`."""
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
    """A file descriptor to which signals may be written, and the memory behind it; -1 and an array where there is no such thing."""
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
    """Forget the signals that have been written; whoever waits for them on the file descriptor `onward` is told."""
    file, page = _page()
    count = os.lseek(file, 0, os.SEEK_CUR) if file >= 0 else 0
    numbers = page[:count].tobytes()
    page[:max(count, 1)] = 0
    if count:
        os.lseek(file, 0, os.SEEK_SET)
    if numbers and onward >= 0:
        with contextlib.suppress(OSError):
            os.write(onward, numbers)
