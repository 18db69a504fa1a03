"""`mbdae scaling`: how cost grows with the number of links."""

import argparse
from collections.abc import Sequence

from rich.table import Table

from ..pictures.figures import save
from ..studies.scaling import CASES, QUANTITIES, SIZES, ScalingRow, by_series, growth, plot_scaling, scaling_study
from ..studies.table import metadata, write_csv, write_json
from .console import output, progress_bar
from .options import Refusal, output_folder
from .tables import add_numbers, new_table_of_runs


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    if max(arguments.sizes) > max(SIZES):
        raise Refusal(f"--sizes must be at most {max(SIZES)}")
    folder = arguments.output and output_folder(arguments.output)
    with progress_bar() as bar:
        rows = scaling_study(arguments.families, arguments.sizes, arguments.cases, repeats=arguments.repeat, limit=arguments.limit,
                             progress=bar)
    console = output()
    for (family, case), of_series in by_series(rows).items():
        console.print(f"[bold]{family}[/bold]   {CASES[case].title}{_exponents(of_series)}", soft_wrap=True)
        console.print(_table(of_series))
        for r in of_series:
            if r.message:
                console.print(f"{r.links} links: {r.message}", style="dim", soft_wrap=True, markup=False)
    if folder:
        settings = {"families": arguments.families, "sizes": arguments.sizes, "cases": arguments.cases, "repeat": arguments.repeat}
        write_csv(folder / "scaling.csv", rows)
        write_json(folder / "scaling.json", metadata(**settings) | {"rows": rows})
        save(plot_scaling(rows), folder / "scaling.png")
        console.print(f"written: {', '.join(str(folder / f'scaling.{x}') for x in ('csv', 'json', 'png'))}", soft_wrap=True, markup=False)
    return int(any(r.status not in ("SUCCESS", "LEFT_OUT") for r in rows))


def _exponents(rows: Sequence[ScalingRow]) -> str:
    found = {q: growth(rows, q) for q in QUANTITIES}
    return "; exponents: " + ", ".join(f"{q} {x:.2f}" for q, x in found.items() if x is not None)


def _table(rows: Sequence[ScalingRow]) -> Table:
    table = new_table_of_runs("links")
    add_numbers(table, ("nv", "nc", "freedom", "build ms", "start ms", "us/step", "us/step/link", "MB"))
    for r in rows:
        if r.step is None or r.build is None or r.start is None or r.memory is None:
            table.add_row(str(r.links), *(["-"] * 8))
            continue
        table.add_row(str(r.links), str(r.nv), str(r.nc), str(r.freedom), f"{1e3 * r.build:.1f}", f"{1e3 * r.start:.1f}",
                      f"{1e6 * r.step:.4g}", f"{1e6 * r.step / r.links:.3g}", f"{1e-6 * r.memory:.3g}")
    return table
