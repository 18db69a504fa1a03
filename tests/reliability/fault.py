"""A fault, and the register of all."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from .outcomes import Promise
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
    group, title : str
    make : callable
        `make(subject) -> Trial`.
    promise : str
        What is promised, in words.
    """

    group: str
    title: str
    promise: str
    make: Callable[[Subject], Trial]

    @property
    def name(self) -> str:
        """The name of the function, with blanks."""
        return self.make.__name__.replace("_", " ")


FAULTS: list[Fault] = []


def fault(group: str, title: str, promise: str) -> Callable:
    """Register a function that makes a `Trial`."""
    def register(make: Callable[[Subject], Trial]) -> Callable[[Subject], Trial]:
        FAULTS.append(Fault(group, title, promise, make))
        return make

    return register
