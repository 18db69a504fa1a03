"""Tables of the commands."""

from collections.abc import Callable, Iterable, Sequence

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text


def new_table(title: str | None = None) -> Table:
    """A table without frame."""
    return Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)


def new_table_of_runs(name: str) -> Table:
    """A narrow table with one run per row; `name` is the title of the first column, the only one that may be folded."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 0, 0, 1), pad_edge=False, header_style="bold")
    table.add_column(name)
    return table


def add_numbers(table: Table, names: Iterable[str]) -> None:
    """Columns of numbers."""
    for name in names:
        table.add_column(Text(name), justify="right", no_wrap=True)  # as Text, since `[s]` would be rich markup


def titles(table: Table) -> list[str]:
    """Titles of the columns."""
    return [str(column.header) for column in table.columns]


def fits(console: Console, table: Table) -> bool:
    """Whether a terminal is wide enough for a table."""
    return Measurement.get(console, console.options.update(width=1000), table).maximum <= console.width


def fitting(console: Console, make: Callable[[Sequence[tuple[str, str]]], Table], columns: Sequence[tuple[str, str]],
            dispensable: Sequence[str]) -> Table:
    """`make(columns)` without the least important columns if the terminal is too narrow.

    Parameters
    ----------
    console : Console
    make : callable
        Makes a table with some of the columns.
    columns : sequence of (str, str)
        Title and field.
    dispensable : sequence of str
        Fields that may be omitted, the least important first.
    """
    table = make(columns)
    for field in dispensable:
        if fits(console, table):
            break
        columns = [c for c in columns if c[1] != field]
        table = make(columns)
    return table
