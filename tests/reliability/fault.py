"""A fault, and the register of all."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from .outcomes import Outcome, Promise
from .subjects import Subject


class Trial(NamedTuple):
    """A run with the fault, and what may come of it."""

    run: Callable
    promise: Promise


@dataclass(frozen=True)
class Fault:
    """One row of the table.

    Attributes
    ----------
    group, name, title : str
    promise : str
        What is promised, in words.
    make : callable, optional
        `make(subject) -> Trial`.
    judge : callable, optional
        `judge(subject) -> Outcome` in the place of a `Trial`, for what takes more than one run.
    """

    group: str
    name: str
    title: str
    promise: str
    make: Callable[[Subject], Trial] | None = None
    judge: Callable[[Subject], Outcome] | None = None


FAULTS: list[Fault] = []


def fault(group: str, title: str, promise: str) -> Callable:
    """Register a function that makes a `Trial`."""
    def register(make: Callable[[Subject], Trial]) -> Callable[[Subject], Trial]:
        FAULTS.append(Fault(group, make.__name__.replace("_", " "), title, promise, make))
        return make

    return register
