"""`mbdae warm`: compile beforehand, so that no run waits for the compiler."""

import argparse

from ..registry import MethodSpec
from ..studies.warm import FIRST, installed, warm
from .console import output, progress_bar
from .options import Refusal
from .tables import add_numbers, new_table_of_runs


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    chosen: tuple[MethodSpec, ...] = arguments.methods or ()
    if chosen and arguments.all:
        raise Refusal("--all is for all methods: a name such as 'Ida:ggl' has its formulation")
    names = tuple(spec.name for spec in chosen) or installed(arguments.all)
    table, done, total = new_table_of_runs("method"), 0, len({FIRST, *names})
    add_numbers(table, ("functions compiled", "processor time [s]"))
    with progress_bar() as bar:
        bar(0.0, 1.0, f"1 of {total}")
        for row in warm(names, arguments.jobs or -1):
            done += 1
            bar(done, total, f"{done} of {total}: {row.method}")
            table.add_row(row.method, str(row.functions) if row.functions else "none, all in the cache", f"{row.seconds:.1f}")
    output().print(table)
    return 0
