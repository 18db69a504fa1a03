"""What only the structure of the equations determines is found once for a system and a form: each run has a problem of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from ..system.system import System

if TYPE_CHECKING:
    from .base import Problem

T = TypeVar("T")

_FOUND: WeakKeyDictionary[System, dict[Any, Any]] = WeakKeyDictionary()


def once(problem: Problem, what: str, make: Callable[[], T]) -> T:
    """What `make()` has returned for the first problem of this system and form, by name.

    It must not be changed, and must not refer to the system.
    """
    p, found = problem, _FOUND.setdefault(problem.system, {})
    key = what, type(p), p.kernel, p.n, p.m, tuple(p.blocks), tuple(p.equations), p.regularised, p.known_blocks
    if key not in found:
        found[key] = make()
    made: T = found[key]
    return made
