"""Room on Python's stack for long computations, above all for compilations.

Python keeps the frames of its functions in chunks of 16 kB. It asks the system for a chunk when a call does not fit in the last one, and
returns it as soon as this call ends. A loop in which a call begins a chunk does so in each turn: a twelfth of the time that it takes to
compile a method. A larger frame gets a chunk of the next power of two, whose rest serves all that it calls.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

WORDS = 2**17 + 2**10  # of the frame: a little more than half of the chunk, which has 2 MB; what is not used takes no memory

P = ParamSpec("P")
T = TypeVar("T")


def with_room(function: Callable[P, T]) -> Callable[P, T]:
    """Decorator: the function, and all that it calls, in one chunk."""
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        return function(*args, **kwargs)

    call.__code__ = call.__code__.replace(co_stacksize=WORDS)
    return functools.wraps(function)(call)
