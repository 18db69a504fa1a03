"""The result of a check of a Jacobian, as data and as a table."""

from collections.abc import Sequence
from dataclasses import dataclass, field

_MAX_SHOWN = 10  # entries that are printed


@dataclass(frozen=True)
class WrongEntry:
    """An entry that differs from the difference quotient by more than truncation and rounding errors.

    Attributes
    ----------
    block : str
    row, column : int
    value : float
        Of the Jacobian checked.
    difference : float
        Difference quotient.
    doubt : float
        Bound of its error.
    outside : bool
        Whether the entry lies outside of the pattern.
    """

    block: str
    row: int
    column: int
    value: float
    difference: float
    doubt: float
    outside: bool

    def __str__(self) -> str:
        where = ", outside of the pattern" if self.outside else ""
        return f"({self.row}, {self.column}) is {self.value:.8g}, differences give {self.difference:.8g} +- {self.doubt:.1g}{where}"


@dataclass(frozen=True)
class BlockReport:
    """One block of rows and columns.

    Attributes
    ----------
    name : str
    entries : int
    largest : float
        Absolute value of its largest entry by differences.
    increment : float
        Relative increment of the variables at which truncation and rounding errors of the block are equal.
    disagreement : float
        Largest `|J - difference|`, each difference taken at the increment that is best for it, relative to `largest`.
    truncation, rounding : float
        Level of these errors at `increment`, relative to `largest`, by the slopes of the sweep on either side of it.
    undecided : int
        Nonzero entries that are smaller than the rounding errors of their rows.
    wrong : int
    """

    name: str
    entries: int
    largest: float
    increment: float
    disagreement: float
    truncation: float
    rounding: float
    undecided: int
    wrong: int

    def cells(self) -> tuple[str, ...]:
        """The row of the table."""
        numbers = (f"{x:.1e}" for x in (self.largest, self.increment, self.disagreement, self.truncation, self.rounding))
        return (self.name, str(self.entries), *numbers, str(self.undecided), str(self.wrong))


HEADINGS = ("block", "entries", "largest", "increment", "disagreement", "truncation", "rounding", "undecided", "wrong")


@dataclass(frozen=True)
class JacobianReport:
    """A Jacobian compared with central differences; `print` shows it as a table.

    Attributes
    ----------
    blocks : list of BlockReport
    entries : list of WrongEntry
        By decreasing deviation, relative to `doubt`.
    calls : int
        Evaluations of the function.
    """

    blocks: list[BlockReport]
    entries: list[WrongEntry] = field(default_factory=list)
    calls: int = 0

    @property
    def ok(self) -> bool:
        """Whether no entry is wrong."""
        return not self.entries

    def __str__(self) -> str:
        lines = _aligned([HEADINGS, *(b.cells() for b in self.blocks)])
        lines.append(f"{self.calls} evaluations, {len(self.entries) or 'no'} wrong {'entry' if len(self.entries) == 1 else 'entries'}")
        lines += [f"  {e.block}: {e}" if len(self.blocks) > 1 else f"  {e}" for e in self.entries[:_MAX_SHOWN]]
        if len(self.entries) > _MAX_SHOWN:
            lines.append(f"  ... and {len(self.entries) - _MAX_SHOWN} more")
        return "\n".join(lines)


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Lines of a table with columns of equal width."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return ["  ".join(cell.rjust(w) if k else cell.ljust(w) for k, (cell, w) in enumerate(zip(row, widths))).rstrip() for row in rows]
