"""Who wants to know when numba compiles."""

import contextlib

from numba.core import event


class _Listener(event.Listener):
    def __init__(self, begin):
        self._begin = begin

    def on_start(self, event):
        self._begin()

    def on_end(self, event):
        """Nothing to do."""


def announced(begin) -> contextlib.AbstractContextManager:
    """A context in which `begin()` is called before each function that is compiled, in the thread that compiles; it may raise."""
    return event.install_listener("numba:compile", _Listener(begin))
