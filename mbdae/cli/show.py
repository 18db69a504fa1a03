"""`mbdae show`: the page of one mechanism in the terminal."""

import argparse

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from ..pages.pages import Block, Listing, Section, Table, sections
from .console import output, progress_bar
from .options import entry_called, is_file, parameters_of
from .tables import fits, new_table

OF_FILES = ("Size", "Topology")  # sections of a mechanism in a file
_USAGE = """\
mechanism = mbdae.load("{0}")
solution = mbdae.solve(mechanism, (0, 1))

mbdae solve {0} --t-end 1 --plot
mbdae compare {0} --t-end 1
"""


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    entry = entry_called(arguments.mechanism)
    parameters = parameters_of(entry, arguments.parameters)
    with progress_bar() as bar:
        bar(0, 1, entry.name)
        found = sections(entry, parameters)
    if is_file(arguments.mechanism):
        found = [*(s for s in found if s.heading in OF_FILES), Section("Usage", (Listing(_USAGE.format(arguments.mechanism)),))]
    console = output()
    about = Text(f"{entry.name}: {entry.summary}") if entry.summary else Text(entry.name)
    console.print(Text(entry.title, style="bold"), about, Text(f"Source: {entry.source}."), sep="\n")
    for section in found:
        console.print()
        console.print(Text(section.heading, style="bold"))
        for block in section.blocks:
            console.print(_rendered(block, console))
    return 0


def _rendered(block: Block, console: Console) -> RenderableType:
    """A block for the terminal."""
    if isinstance(block, Listing):
        return Padding(Text(block.text), (0, 0, 0, 2))
    if not isinstance(block, Table):
        return Text(block.replace("`", ""))
    grid = _grid(block)
    if len(block.rows) < len(block.columns) and not fits(console, grid):
        return _transposed(block)
    return grid


def _transposed(block: Table) -> RenderableType:
    """A table that is too wide, with its columns as rows."""
    grid = new_table()
    grid.add_column(Text(block.columns[0]))
    for row in block.rows:
        grid.add_column(Text(str(row[0])), justify="right", overflow="fold")
    for k, name in enumerate(block.columns[1:], 1):
        grid.add_row(Text(name), *(Text(str(row[k])) for row in block.rows))
    return grid


def _grid(block: Table) -> RichTable:
    grid = new_table()
    for name in block.columns:
        number = name in block.numbers
        width = max(len(word) for word in name.split()) if number else None  # titles over numbers are not broken within words
        grid.add_column(Text(name), justify="right" if number else "left", overflow="fold", min_width=width)
    for row in block.rows:
        grid.add_row(*(Text(str(cell)) for cell in row))
    return grid
