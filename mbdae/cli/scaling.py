"""`mbdae scaling`: how cost grows with the number of links."""

import argparse
from collections.abc import Callable, Sequence

from rich.table import Table

from ..pictures.figures import save
from ..studies.scaling import CASES, FAMILIES, LIMIT, QUANTITIES, SIZES, ScalingRow, by_series, growth, plot_scaling, scaling_study
from ..studies.table import metadata, write_csv, write_json
from .console import output, progress_bar
from .formatter import HelpFormatter
from .options import Commands, Refusal, natural, output_folder, positive
from .tables import add_numbers, new_table_of_runs

_DESCRIPTION = """\
Processor time of set-up and of one step, and memory, of chains, trees and closed loops
of growing numbers of links, in Cartesian and in joint coordinates, with fitted exponents.
With --output the table is written to scaling.csv and .json, with a figure.
"""
_EPILOG = f"""\
families: {', '.join(FAMILIES)}
cases:    {', '.join(CASES)}

examples:
  mbdae scaling chain --sizes 4,16,64
  mbdae scaling chain,ring --cases half-implicit,explicit-joint --output results/scaling
"""


def _names(known: Sequence[str], what: str) -> Callable[[str], tuple[str, ...]]:
    def parse(text: str) -> tuple[str, ...]:
        found = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
        for name in found:
            if name not in known:
                raise argparse.ArgumentTypeError(f"there is no {what} {name!r}; there are {', '.join(known)}")
        return found

    return parse


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(sorted({natural(part.strip()) for part in text.split(",")}))


def add_parser(commands: Commands) -> None:
    """The parser of `scaling`."""
    p = commands.add_parser("scaling", help="growth of cost with the number of links", description=_DESCRIPTION, epilog=_EPILOG,
                            allow_abbrev=False, formatter_class=HelpFormatter)
    p.add_argument("families", metavar="FAMILIES", nargs="?", type=_names(tuple(FAMILIES), "family"), default=tuple(FAMILIES),
                   help="separated by commas (default all)")
    p.add_argument("--sizes", metavar="N,M", type=_sizes, default=SIZES, help="numbers of links, up to 4096 (default powers of four)")
    p.add_argument("--cases", metavar="A,B", type=_names(tuple(CASES), "case"), default=tuple(CASES), help="see below (default all)")
    p.add_argument("--repeat", metavar="N", type=natural, default=3, help="runs of which the least time is taken (default 3)")
    p.add_argument("--limit", metavar="S", type=positive, default=LIMIT, help=f"processor time of a row in seconds (default {LIMIT:g})")
    p.add_argument("--output", metavar="DIR", help="folder for table and figure")
    p.set_defaults(run=run)


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
