"""`mbdae doctor`: every foreign solver with its version, its state, and the command that installs it."""

import argparse
import platform
from importlib import metadata

from ..methods import FAMILIES
from .console import output
from .tables import new_table

_EPILOG = """\
In a checkout of mbdae, 'make setup-all' installs all of them.
The exit code is 0 even if solvers are missing: each of them is optional.
"""


def add_parser(commands):
    """The parser of `doctor`."""
    p = commands.add_parser("doctor", help="which solvers are installed, and how to get the others", description="Examine this machine.",
                            epilog=_EPILOG, allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.set_defaults(run=run)


def run(arguments):
    """Run the command."""
    console = output()
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in ("mbdae", "numpy", "scipy", "numba"))
    console.print(f"Python {platform.python_version()} on {platform.machine()}, {versions}\n")
    console.print(_table())
    return 0


def _table():
    table = new_table()
    for name in ("solver", "package", "version", "state", "how to install it"):
        table.add_column(name, overflow="fold", no_wrap=name != "how to install it")
    for family in FAMILIES:
        available = family.availability()
        if available is None:
            continue
        for variant in family.variants or (None,):
            name = f"{family.name}:{variant}" if variant else family.name
            state, hint = _state(family, variant, available)
            table.add_row(name, available.package, available.version or "-", state, hint)
    return table


def _state(family, variant, available):
    """Whether a solver can be used, and what to do or why not."""
    if available.fault:
        return "[red]broken[/red]", available.fault
    if not available.installed:
        return "[yellow]missing[/yellow]", available.remedy
    if not family.forms(variant):
        return "[yellow]takes nothing[/yellow]", next(iter(family.method_class(**family.chosen(variant)).support.values()))
    return "[green]ready[/green]", available.remedy
