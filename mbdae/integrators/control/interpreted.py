"""The time loop in Python, for methods whose steps are not compiled code, such as runs of external solvers."""

from collections.abc import Callable
from types import FunctionType
from typing import Any

from . import loop
from .loop import Loops


def interpreted(attempt: Any, retry: Any, accept: Any, between: Any, ratio: Any) -> Loops:
    """`loops` for functions in Python."""
    def march(*args: Any) -> int:
        code: int = TIME_LOOP(attempt, retry, accept, between, ratio, *args)
        return code

    def sample(*args: Any) -> int:
        code: int = SAMPLE(between, *args)
        return code

    return Loops(march, sample)


def _in_python(*functions: str) -> tuple[Callable[..., Any], ...]:
    """These functions of `loop`, which call each other, as they are before they are compiled."""
    names = dict(vars(loop))
    for name in functions:
        source = getattr(names[name], "py_func", names[name])
        names[name] = FunctionType(source.__code__, names, name)
    return tuple(names[name] for name in functions)


_, TIME_LOOP, SAMPLE = _in_python("_store_times", "time_loop", "sample")
