"""`mbdae show`: the page of one mechanism in the terminal."""

import argparse

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from .. import library
from ..pages.pages import Block, Listing, Table, sections
from .console import output, progress_bar
from .options import Commands, assignment, parameters_of
from .tables import new_table

_EPILOG = """\
examples:
  mbdae show andrews
  mbdae show chain --set links=8

docs/mechanisms has the same for every mechanism, with pictures.
"""


def add_parser(commands: Commands) -> None:
    """The parser of `show`."""
    p = commands.add_parser("show", help="properties of a mechanism", description="Sizes, topology, parameters, outputs, references "
                            "and description of a mechanism.", epilog=_EPILOG, allow_abbrev=False,
                            formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("mechanism", metavar="MECHANISM", help="name of a mechanism, see 'mbdae list'")
    p.add_argument("--set", metavar="NAME=VALUE", type=assignment, action="append", default=[], dest="parameters",
                   help="parameter of the mechanism, e.g. --set links=8; may be repeated")
    p.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    entry = library.entry(arguments.mechanism)
    with progress_bar() as bar:
        bar(0, 1, entry.name)
        found = sections(entry, parameters_of(entry, arguments.parameters))
    console = output()
    console.print(Text(entry.title, style="bold"), Text(f"{entry.name}: {entry.summary}"), Text(f"Source: {entry.source}."), sep="\n")
    for section in found:
        console.print()
        console.print(Text(section.heading, style="bold"))
        for block in section.blocks:
            console.print(_rendered(block))
    return 0


def _rendered(block: Block) -> RenderableType:
    """A block for the terminal."""
    if isinstance(block, Listing):
        return Padding(Text(block.text), (0, 0, 0, 2))
    if not isinstance(block, Table):
        return Text(block.replace("`", ""))
    grid = new_table()
    for name in block.columns:
        number = name in block.numbers
        width = max(len(word) for word in name.split()) if number else None  # titles over numbers are not broken within words
        grid.add_column(Text(name), justify="right" if number else "left", overflow="fold", min_width=width)
    for row in block.rows:
        grid.add_row(*(Text(str(cell)) for cell in row))
    return grid
