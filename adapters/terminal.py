"""The environment of a run: output of Fortran code is captured, nested runs of codes with static memory are refused."""

import contextlib
import ctypes
import os
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from typing import Any, TextIO

# The Fortran solvers store their state in COMMON blocks, and the process has one standard output: threads run one after the other.
_ONE_AT_A_TIME = threading.RLock()
_UNDER_WAY: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
_WARNINGS = "[IDA Warning]", "[CVode Warning]"


@contextlib.contextmanager
def alone(name: str) -> Iterator[None]:
    """A run of a solver that stores its state in static memory, which a nested run would overwrite.

    Parameters
    ----------
    name : str
        Name of the solver in the message.

    Raises
    ------
    RuntimeError
        If the solver is running: a force, an event or `progress` has called it.
    """
    if not _UNDER_WAY[name].acquire(blocking=False):
        raise RuntimeError(f"{name} can do one run at a time: the current run must end before another starts")
    try:
        yield
    finally:
        _UNDER_WAY[name].release()


@contextlib.contextmanager
def environment(name: str, value: str) -> Iterator[None]:
    """An environment variable for compiled code; a value set by the user is not changed."""
    if name in os.environ:
        yield
        return
    os.environ[name] = value
    try:
        yield
    finally:
        os.environ.pop(name, None)


class FortranOutput:
    """Redirects file descriptor 1 for Fortran; output of Python code is not affected.

    Parameters
    ----------
    module : str
        An extension module linked with the Fortran run-time library, whose buffer is flushed.

    Attributes
    ----------
    text : str
        The captured output, after the context has ended: the reason of the failure.
    """

    def __init__(self, module: str) -> None:
        self.text, self._module = "", module

    def __enter__(self) -> "FortranOutput":
        _ONE_AT_A_TIME.acquire()
        self._stack = contextlib.ExitStack()
        try:
            self._redirect(self._stack)
        except OSError:  # there is no standard output
            self._stack.close()
        return self

    def __exit__(self, *error: object) -> None:
        try:
            self._stack.close()
        finally:
            _ONE_AT_A_TIME.release()

    def suppress_errors(self) -> None:
        """Close file descriptor 2 to what the wrappers of Fortran write when an exception is raised through them."""
        with contextlib.suppress(OSError):  # there is no such descriptor
            terminal = os.dup(2)
            self._stack.callback(os.close, terminal)
            self._stack.callback(os.dup2, terminal, 2)
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 2)
            os.close(nowhere)

    def _redirect(self, stack: contextlib.ExitStack) -> None:
        if sys.stdout is not None:
            sys.stdout.flush()
        _flush_fortran(self._module)
        terminal = os.dup(1)
        stack.callback(os.close, terminal)
        file = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
        os.dup2(file.fileno(), 1)
        stack.callback(self._restore, terminal, file)
        if _descriptor(sys.stdout) == 1:
            python = open(os.dup(terminal), "w", 1, sys.stdout.encoding, sys.stdout.errors)  # noqa: SIM115
            stack.enter_context(python)
            stack.enter_context(contextlib.redirect_stdout(python))

    def _restore(self, terminal: int, file: Any) -> None:
        _flush_fortran(self._module)  # otherwise the buffer of Fortran comes to light when Python ends
        os.dup2(terminal, 1)
        file.seek(0)
        self.text = " ".join(file.read().decode(errors="replace").split())


def _descriptor(stream: TextIO) -> int | None:
    try:
        return stream.fileno()
    except (AttributeError, OSError, ValueError):  # a notebook, a test
        return None


def _flush_fortran(module: str) -> None:
    with contextlib.suppress(ImportError, AttributeError):  # another compiler, or a release that has been translated to C
        ctypes.CDLL(import_module(module).__file__)._gfortran_flush_i4(None)


class WithoutWarnings:
    """Standard output without the warnings of SUNDIALS, which Assimulo prints at every verbosity; what users print goes through."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._inside = stream, False

    def write(self, text: str) -> int:
        if text.startswith(_WARNINGS):
            self._inside = True
        if not self._inside:
            return self._stream.write(text)
        self._inside = not text.endswith("\n")
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
