"""`mbdae matrix`: every solver in every formulation on standard mechanisms."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from ..driver.support import FORMS
from ..registry import MethodSpec, find
from ..studies.matrix import MAX_ERROR, SPANS, Cell, matrix, solvers, support, support_page
from ..studies.table import metadata, write_csv, write_json
from .console import output, print_error, progress_bar
from .formatter import HelpFormatter
from .options import Commands, Refusal, output_file, positive
from .tables import add_numbers, fits, new_table

_DESCRIPTION = f"""\
Run every installed solver in every formulation on {len(SPANS)} mechanisms and print the
final error in multiples of the tolerance. A supported combination must have an error
below {MAX_ERROR:g} tolerances; every other one must raise an error that names the reason,
as must state-space forms of a mechanism whose motion is prescribed.
"""
_EPILOG = """\
examples:
  mbdae matrix
  mbdae matrix --mechanisms andrews --methods Ida,Odes:ida,Assimulo:IDA
  mbdae matrix --mechanisms double-pendulum --methods RosenbrockNystrom,Cvode
  mbdae matrix --settings                     settings of all solvers, without a run
  mbdae matrix --settings --output docs/solvers.md

The exit code is 0 if every supported combination passes, 1 otherwise.
"""
_MARKS = {"failed": "[red]failed[/red]", "refused": "[dim]-[/dim]"}


def add_parser(commands: Commands) -> None:
    """The parser of `matrix`."""
    p = commands.add_parser("matrix", help="every solver in every formulation", description=_DESCRIPTION, epilog=_EPILOG,
                            allow_abbrev=False, formatter_class=HelpFormatter)
    p.add_argument("--mechanisms", metavar="A,B", type=_mechanisms, default=tuple(SPANS), help=f"some of {', '.join(SPANS)}")
    p.add_argument("--methods", metavar="A,B", type=_methods, help="solvers, see 'mbdae list'; by default all that are installed")
    p.add_argument("--rtol", metavar="R", type=positive, default=1e-6, help="relative tolerance; atol is a hundredth of it (1e-6)")
    p.add_argument("--settings", action="store_true", help="print the settings instead of running")
    p.add_argument("--output", metavar="FILE", help="write .csv or .json; with --settings .md")
    p.set_defaults(run=run)


def _mechanisms(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    unknown = [name for name in names if name not in SPANS]
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is not among {', '.join(SPANS)}")
    return names


def _methods(text: str) -> list[MethodSpec]:
    """Solvers by name; a family with variants stands for all of them."""
    chosen = []
    for part in text.split(","):
        try:
            spec = find(part)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
        if not spec.family.forms():
            raise argparse.ArgumentTypeError(f"{part.strip()!r} has a fixed step; the matrix compares methods with error control")
        same = [s for s in solvers(installed=False) if s.family is spec.family]
        chosen += same if ":" not in part else [s for s in same if s.variant == spec.variant]
    return list(dict.fromkeys(chosen))


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
