"""`mbdae confirm`: verification of the reference values by two independent methods."""

import argparse
from pathlib import Path

from rich.table import Table

from .. import library
from ..studies.confirm import Confirmation, confirm_all, confirmation_page
from .console import output, progress_bar
from .options import Commands, output_file
from .tables import new_table

_DESCRIPTION = """\
Compare the reference values of the library with two numerical solutions: by a
Runge-Kutta method on the underlying ODE, and by a method for DAEs.
"""
_EPILOG = """\
examples:
  mbdae confirm andrews car-axis
  mbdae confirm --output docs/references.md      all of them (some minutes)

The exit code is 1 if both methods fail for one of the tables.
"""


def add_parser(commands: Commands) -> None:
    """The parser of `confirm`."""
    p = commands.add_parser("confirm", help="verification of the reference values", description=_DESCRIPTION, epilog=_EPILOG,
                            allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("mechanisms", metavar="MECHANISM", nargs="*", help="names, see 'mbdae list'; by default all")
    p.add_argument("--output", metavar="FILE", help="write the report as .md")
    p.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    names = arguments.mechanisms or library.names()
    for name in names:
        library.entry(name)
    path = arguments.output and output_file(arguments.output, (".md",))
    with progress_bar() as bar:
        found = confirm_all(names, bar)
    if path:
        Path(path).write_text(confirmation_page(found), encoding="utf-8")
    output().print(_table(found))
    tables: dict[tuple[str, str, str], list[float | None]] = {}
    for c in found:
        tables.setdefault((c.mechanism, str(c.parameters), c.label), []).append(c.found)
    return 0 if all(any(x is not None for x in digits) for digits in tables.values()) else 1


def _table(found: list[Confirmation]) -> Table:
    table = new_table()
    for name in ("mechanism", "values", "kind", "instants", "to t [s]", "digits", "found", "method"):
        table.add_column(name, justify="right" if name in ("instants", "to t [s]", "digits", "found") else "left", no_wrap=name != "values")
    for c in found:
        given = "".join(f" {k}={v}" for k, v in c.parameters.items())
        value = f"[red]{c.message[:40]}[/red]" if c.found is None else f"{c.found:.1f}"
        table.add_row(c.mechanism + given, c.label, c.kind, f"{c.instants}/{c.listed}", f"{c.last:g}", str(c.digits), value, c.route)
    return table
