"""Notification of compilations by numba."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from numba.core import event

if TYPE_CHECKING:
    from collections.abc import Callable


class _Listener(event.Listener):  # type: ignore[misc]  # numba has no types
    def __init__(self, begin: Callable[[], object]) -> None:
        self._begin = begin

    def on_start(self, event: event.Event) -> None:
        self._begin()

    def on_end(self, event: event.Event) -> None:
        """Nothing to do."""


def announced(begin: Callable[[], object]) -> contextlib.AbstractContextManager[None]:
    """A context in which `begin()` is called before each compilation, in the thread that compiles; it may raise."""
    listening: contextlib.AbstractContextManager[None] = event.install_listener("numba:compile", _Listener(begin))
    return listening
