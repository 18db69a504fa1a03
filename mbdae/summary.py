"""Objects shown in a few aligned lines, in the terminal and in notebooks."""

import textwrap
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

WIDTH = 79  # of a line
MAX_NAMES = 60  # characters of names in a row


class Summary(NamedTuple):
    """A headline, and rows of a name and a text; rows without text are left out."""

    title: str
    rows: Sequence[tuple[str, str]]


class Summarised:
    """Has a `repr` of a few aligned lines, which notebooks show as a table."""

    @abstractmethod
    def _summary(self) -> Summary:
        """What is shown."""

    def __repr__(self) -> str:
        return as_text(self._summary())

    def _repr_html_(self) -> str:
        return as_html(self._summary())


def as_text(summary: Summary) -> str:
    """Lines of at most 79 characters, where the texts have spaces to break at."""
    rows = [(name, text) for name, text in summary.rows if text]
    width = max((len(name) for name, _ in rows), default=0)
    lines = [summary.title]
    for name, text in rows:
        head = f"  {name:<{width}}  "
        lines += textwrap.wrap(text, WIDTH, initial_indent=head, subsequent_indent=" " * len(head), break_long_words=False,
                               break_on_hyphens=False)
    return "\n".join(lines)


def as_html(summary: Summary) -> str:
    """A table with the headline above it."""
    cell = 'style="text-align: left; vertical-align: top; padding: 1px 12px 1px 0"'
    rows = "".join(f"<tr><td {cell}><b>{escape(name)}</b></td><td {cell}>{escape(text)}</td></tr>" for name, text in summary.rows if text)
    return f"<div><div><b>{escape(summary.title)}</b></div><table>{rows}</table></div>"


def counted(elements: Iterable[object]) -> str:
    """How many there are of each type: `2 Revolute, 1 Rod`."""
    return ", ".join(f"{n} {kind}" for kind, n in Counter(type(e).__name__ for e in elements).items())


def named(names: Sequence[str], most: int = MAX_NAMES) -> str:
    """The names, of many the first and the last one."""
    text = ", ".join(names)
    if len(text) <= most:
        return text
    kept = list(names[:-1])
    while len(kept) > 1 and len(", ".join(kept)) + len(names[-1]) + 7 > most:
        kept.pop()
    return ", ".join([*kept, "...", names[-1]])


def plural(n: int, word: str) -> str:
    """`1 step`, `2 steps`."""
    return f"{n} {word}" + ("" if n == 1 else "s")
