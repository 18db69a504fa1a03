"""The methods that an automatic run has chosen on its way."""

from collections.abc import Sequence
from typing import NamedTuple


class Choice(NamedTuple):
    """A method from a time on.

    Attributes
    ----------
    t : float
    method, formulation : str
    reason : str
    """

    t: float
    method: str
    formulation: str
    reason: str


def distinct(choices: Sequence[Choice]) -> tuple[Choice, ...]:
    """Those that differ from the one before in more than the time, as after an event that restarts a run."""
    before = [None, *choices]
    return tuple(c for b, c in zip(before, choices) if b is None or b[1:] != c[1:])


def in_words(choices: Sequence[Choice]) -> str:
    """`"A (reason), from t = 0.31 B (reason)"`."""
    return ", ".join((f"from t = {c.t:.6g} " if k else "") + f"{c.method} ({c.reason})" for k, c in enumerate(choices))


def forms(choices: Sequence[Choice]) -> str:
    """The formulations of the methods, each once."""
    return ", ".join(dict.fromkeys(c.formulation for c in choices))
