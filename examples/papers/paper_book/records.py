"""What the book of a paper consists of: its tables and figures with verdicts, and the numbers that are compared."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Verdict(Enum):
    """What came of a table or figure."""

    REPRODUCED = "reproduced"
    DIFFERS = "differs"
    STAND_IN = "data not public, stand-in chosen"
    NOT_IMPLEMENTED = "not implemented"
    NOTHING = "nothing to compute"  # sketches, notation, pseudo-code


@dataclass(frozen=True)
class Values:
    """Published numbers beside ours, as columns of a CSV file that a script writes.

    Attributes
    ----------
    csv : str
        Name of the file.
    what : str
        The quantity, with its unit.
    ours, printed : str
        Titles of the columns.
    keys : tuple of str
        Titles of the columns that tell which line it is.
    where : tuple of pairs
        `(title, values)`: only lines with one of these values in that column.
    band : pair of floats, optional
        Ratios of ours to the printed number that count as reproduced. Words have to be equal. Without a band numbers are shown and not
        judged, as times on other machines.
    span : pair of str, optional
        In the place of a band: titles of columns with the least and the largest of ours in runs nearby, between which the printed number
        has to lie.
    script : str, optional
        The one that writes the file, if that is not the script of the item.
    beside : str
        What the printed numbers are called, if they are not those of the paper.
    printed_unit : float
        Unit of the printed numbers in that of ours, such as 1e-6 for printed microseconds beside seconds.
    """

    csv: str
    what: str
    ours: str
    printed: str
    keys: tuple[str, ...]
    where: tuple[tuple[str, tuple[object, ...]], ...] = ()
    band: tuple[float, float] | None = None
    span: tuple[str, str] | None = None
    script: str | None = None
    beside: str = "printed"
    printed_unit: float = 1.0


@dataclass(frozen=True)
class Item:
    """A table or figure of a paper, or a number of its text.

    Attributes
    ----------
    label : str
        `Table 3`, `Figure 12`; numbers of the text as `Section 5.1`.
    title : str
    shows : str
        What the paper shows, in a sentence or two.
    verdict : Verdict
    remark : str
        Why it differs, what stands in, or where the thing is found in mbdae.
    equations : tuple of str
        Numbers of the equations it rests on, such as `3.66`.
    script : str, optional
        Name of the script that computes it.
    figures : tuple of str
        PNG files that the script draws for it.
    values : tuple of Values
    """

    label: str
    title: str
    shows: str
    verdict: Verdict
    remark: str = ""
    equations: tuple[str, ...] = ()
    script: str | None = None
    figures: tuple[str, ...] = ()
    values: tuple[Values, ...] = ()


@dataclass(frozen=True)
class Reduced:
    """Settings with which a script runs for the book, if these are not its own, and what is reduced."""

    settings: dict[str, Any]
    note: str


@dataclass(frozen=True)
class Paper:
    """A paper.

    Attributes
    ----------
    folder : str
        Of its scripts.
    key : str
        Its name in `mbdae.pages.equations`.
    title, source : str
    items : tuple of Item
        In the order of the paper.
    notes : tuple of str
        Misprints and what else concerns the whole paper.
    more : dict
        Scripts that belong to no table or figure, and what they add.
    reduced : dict
        `Reduced` by name of the script.
    """

    folder: str
    key: str
    title: str
    source: str
    items: tuple[Item, ...]
    notes: tuple[str, ...] = ()
    more: dict[str, str] = field(default_factory=dict)
    reduced: dict[str, Reduced] = field(default_factory=dict)

    @property
    def scripts(self) -> tuple[str, ...]:
        """All scripts, in the order of the items."""
        named = [s for i in self.items for s in (i.script, *(v.script for v in i.values)) if s]
        return tuple(dict.fromkeys(named + list(self.more)))

    def files(self, script: str) -> tuple[str, ...]:
        """CSV files of a script that are compared."""
        return tuple(dict.fromkeys(v.csv for i in self.items for v in i.values if (v.script or i.script) == script))
