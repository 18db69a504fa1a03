"""`mbdae confirm`: verification of the reference values by two independent methods."""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from numba.core import config
from rich.table import Table
from rich.text import Text

from .. import library
from ..studies import precise
from ..studies.confirm import Confirmation, confirm_all, confirmation_page
from .console import output, progress_bar
from .options import Refusal, is_file, output_file
from .tables import new_table


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    names = arguments.mechanisms or library.names()
    for name in names:
        if is_file(name):
            raise Refusal(f"{name}: reference values belong to mechanisms of the library, a file has none")
        library.entry(name)
    path = arguments.output and output_file(arguments.output, (".md",))
    if arguments.precise and not config.DISABLE_JIT:
        return _without_compiler(names, arguments.output)
    if arguments.precise:
        precise.enable()
    with progress_bar() as bar:
        found = (precise.confirm_all if arguments.precise else confirm_all)(names, bar)
    if path:
        before = Path(path).read_text(encoding="utf-8") if Path(path).exists() else ""
        Path(path).write_text(confirmation_page(found, before), encoding="utf-8")
    output().print(_table(found))
    tables: dict[tuple[str, str, str], list[float | None]] = {}
    for c in found:
        tables.setdefault((c.mechanism, str(c.parameters), c.label), []).append(c.found)
    return 0 if all(any(x is not None for x in digits) for digits in tables.values()) else 1


def _without_compiler(names: Sequence[str], output: str | None) -> int:
    """The command in a process of its own that does not compile kernels."""
    code = "import sys; from mbdae.cli.main import main; sys.exit(main(sys.argv[1:]))"
    options = ["--output", output] if output else []
    return subprocess.run([sys.executable, "-c", code, "confirm", "--precise", *options, *names],
                          env=os.environ | {"NUMBA_DISABLE_JIT": "1"}, check=False).returncode


def _table(found: list[Confirmation]) -> Table:
    table = new_table()
    for name in ("mechanism", "values", "kind", "instants", "to t [s]", "digits", "found", "between", "method"):
        right = name in ("instants", "to t [s]", "digits", "found", "between")
        table.add_column(Text(name), justify="right" if right else "left", no_wrap=right)
    for c in found:
        given = "".join(f" {k}={v}" for k, v in c.parameters.items())
        value = f"[red]{c.message[:40]}[/red]" if c.found is None else f"{c.found:.1f}"
        between = "" if c.between is None else f"{c.between:.1f}"
        instants = f"{c.instants}/{c.listed}"
        table.add_row(c.mechanism + given, c.label, c.kind, instants, f"{c.last:g}", str(c.digits), value, between, c.route)
    return table
