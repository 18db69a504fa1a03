"""`mbdae equations`: index of the equations of the papers in the code."""

import argparse
from pathlib import Path

from ..pages.equations import equations_page, missing, where
from .console import output
from .options import output_file


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
