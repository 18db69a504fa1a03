"""`mbdae doctor`: external solvers with their versions and states, and the commands that install their packages."""

import argparse
import platform
from importlib import metadata

from rich.markup import escape
from rich.table import Table

from ..compilation.shipped import told
from ..driver.availability import Availability
from ..registry import FAMILIES, Family
from .console import output
from .tables import new_table

WIDE = 80  # columns


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    console = output()
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in ("mbdae", "numpy", "scipy", "numba"))
    console.print(f"Python {platform.python_version()} on {platform.machine()}, {versions}")
    console.print(f"compiled code: {told()}\n")
    console.print(_solvers(console.width))
    console.print(_commands())
    return 0


def _found() -> list[tuple[Family, Availability]]:
    """Every family of external solvers, with the availability of its package."""
    return [(family, available) for family in FAMILIES if (available := family.availability()) is not None]


def _solvers(width: int) -> Table:
    """One row for each solver; names of packages and versions where there is room."""
    table, wide = new_table(), width >= WIDE
    for name in ("solver", *(("package", "version") if wide else ()), "state", "reason"):
        table.add_column(name, overflow="fold", no_wrap=name != "reason")
    for family, available in _found():
        package = (available.package, available.version or "-") if wide else ()
        for variant in family.variants or (None,):
            name = f"{family.name}:{variant}" if variant else family.name
            table.add_row(name, *package, *_state(family, variant, available))
    return table


def _commands() -> Table:
    """One row for each package; commands are folded, not cut."""
    table = new_table()
    for name in ("package", "to install it beside mbdae", "in a checkout of mbdae"):
        table.add_column(name, overflow="fold", no_wrap=name == "package")
    for package, available in {available.package: available for _, available in _found()}.items():
        table.add_row(package, escape(available.remedy), escape(available.checkout or available.remedy))
    return table


def _state(family: Family, variant: str | None, available: Availability) -> tuple[str, str]:
    """State of a solver, and the reason why it cannot be used."""
    if available.fault:
        return "[red]broken[/red]", escape(available.fault)
    if not available.installed:
        return "[yellow]missing[/yellow]", ""
    if not family.forms(variant):
        return "[yellow]no form[/yellow]", str(next(iter(family.made(family.chosen(variant)).support.values())))
    return "[green]ready[/green]", ""
