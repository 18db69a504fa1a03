"""`mbdae equations`: index of the equations of the papers in the code."""

import argparse
from pathlib import Path

from ..pages.equations import equations_page, missing, where
from .console import output
from .options import Commands, output_file

_EPILOG = """\
examples:
  mbdae equations 3.66                           of every paper that has one of this number
  mbdae equations "Fang 12"
  mbdae equations --output docs/equations.md     the index of all
"""


def add_parser(commands: Commands) -> None:
    """The parser of `equations`."""
    p = commands.add_parser("equations", help="index of the equations of the papers in the code",
                            description="Find the lines that cite an equation of one of the papers.", epilog=_EPILOG, allow_abbrev=False,
                            formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("equations", metavar="EQUATION", nargs="*", help="a number, alone or after the paper: Fang, Arnold, Wei, Bustos, Negrut")
    p.add_argument("--output", metavar="FILE", help="write the index of all equations as .md")
    p.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    if not arguments.equations and not arguments.output:
        raise ValueError("give the number of an equation, such as 3.66, or --output FILE for the index of all")
    for equation in arguments.equations:
        for paper, number, found in where(equation):
            places = [f"{c.file}:{c.line}" for c in found] or [missing(paper, number)]
            output().print("\n".join(f"{paper} ({number})  {place}" for place in places), soft_wrap=True, markup=False, highlight=False)
    if arguments.output:
        Path(output_file(arguments.output, (".md",))).write_text(equations_page(), encoding="utf-8")
    return 0
