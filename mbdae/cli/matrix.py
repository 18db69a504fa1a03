"""`mbdae matrix`: every solver in every formulation on standard mechanisms."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from ..driver.support import FORMS
from ..studies.matrix import SPANS, Cell, matrix, solvers, support, support_page
from ..studies.table import metadata, write_csv, write_json
from .console import output, print_error, progress_bar
from .options import Refusal, output_file
from .tables import add_numbers, fits, new_table

_MARKS = {"failed": "[red]failed[/red]", "refused": "[dim]-[/dim]"}


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    path = arguments.output and output_file(arguments.output, (".md",) if arguments.settings else (".csv", ".json"))
    if arguments.settings:
        return _settings(path)
    specs = solvers() if arguments.methods is None else arguments.methods
    for s in specs:
        available = s.family.availability()
        if available is not None and not available.installed:
            raise Refusal(f"{s.name} needs the package {available.package}: {available.remedy}")
    with progress_bar() as bar:
        cells = matrix(arguments.mechanisms, specs, arguments.rtol, progress=bar)
    console = output()
    for name in arguments.mechanisms:
        console.print(f"{name}   t = 0 ... {SPANS[name]:g} s", style="bold")
        for table in _tables(console, [c for c in cells if c.mechanism == name], FORMS):
            console.print(table)
    bad = [c for c in cells if c.outcome in ("failed", "inaccurate")]
    counts = ", ".join(f"{sum(c.outcome == o for c in cells)} {o}" for o in ("ok", "refused", "inaccurate", "failed"))
    console.print(f"{len(cells)} cells: {counts}; numbers are errors in tolerances (rtol = {arguments.rtol:g}), '-' is refused")
    if path:
        _write(path, cells, arguments)
    for c in bad:
        reason = c.message if c.error is None else f"{c.error:.3g} tolerances"
        print_error(f"{c.mechanism}, {c.method}:{c.formulation}: {c.outcome}: {reason}")
    return 1 if bad else 0


def _tables(console: Console, cells: list[Cell], forms: Sequence[str]) -> list[Table]:
    """A table, or several with some of the forms each that fit the terminal."""
    table = _table(cells, forms)
    if fits(console, table) or len(forms) == 1:
        return [table]
    half = (len(forms) + 1) // 2
    return [*_tables(console, cells, forms[:half]), *_tables(console, cells, forms[half:])]


def _table(cells: list[Cell], forms: Sequence[str]) -> Table:
    table = new_table()
    table.add_column("solver", no_wrap=True)
    add_numbers(table, forms)
    for method in dict.fromkeys(c.method for c in cells):
        row = {c.formulation: c for c in cells if c.method == method}
        table.add_row(method, *(_mark(row[form]) for form in forms))
    return table


def _mark(cell: Cell) -> str:
    if cell.error is None:
        return _MARKS[cell.outcome]
    return f"{cell.error:.2g}" if cell.outcome == "ok" else f"[red]{cell.error:.2g}[/red]"


def _write(path: Path, cells: list[Cell], arguments: argparse.Namespace) -> None:
    if Path(path).suffix == ".csv":
        write_csv(path, cells)
    else:
        write_json(path, metadata(mechanisms=arguments.mechanisms, rtol=arguments.rtol) | {"cells": cells})


def _settings(path: Path | None) -> int:
    if path:
        Path(path).write_text(support_page(), encoding="utf-8")
        return 0
    table = new_table()
    for name in ("solver", "form", "mask", "exclude", "excluded atol", "tighten", "scaling", "jacobian", "linear solver",
                 "refused because"):
        table.add_column(name, overflow="fold", no_wrap=name == "form")
    for r in support():
        table.add_row(r.method, r.formulation, r.mask, r.exclude, r.excluded_atol, r.tighten, r.scaling, r.jacobian, r.linear_solver,
                      r.reason)
    output().print(table)
    return 0
