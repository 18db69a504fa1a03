"""Tables as all commands print them."""

from rich import box
from rich.measure import Measurement
from rich.table import Table


def new_table(title=None):
    """A table without frame for words and numbers."""
    return Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)


def new_table_of_runs(name):
    """A table with one run in each row, called `name` in the first column: many columns of numbers, hence narrow ones."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 0, 0, 1), pad_edge=False, header_style="bold")
    table.add_column(name, no_wrap=True)
    return table


def add_numbers(table, names):
    """Columns of numbers."""
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)


def fitting(console, make, columns, dispensable):
    """`make(columns)` without the least important columns where the terminal is narrow.

    Parameters
    ----------
    console : Console
    make : callable
        Makes a table with some of the columns.
    columns : sequence of (str, str)
        Title and field.
    dispensable : sequence of str
        Fields that may be left out, the least important first.
    """
    for field in (*dispensable, None):
        table = make(columns)
        if field is None or Measurement.get(console, console.options.update(width=1000), table).maximum <= console.width:
            return table
        columns = [c for c in columns if c[1] != field]
