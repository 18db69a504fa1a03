"""`mbdae stability`: natural frequencies along a run, and the largest stable steps."""

import argparse
from pathlib import Path

import numpy as np
from rich.text import Text

from ..integrators.structural.formula import RULES, newmark
from ..pictures.figures import save
from ..pictures.frequencies import draw_frequencies
from ..studies.stability import largest_frequencies, stable_steps
from ..typing import Vector
from .console import output, print_error, progress_bar
from .options import Refusal, build, output_file
from .parsers import PICTURES
from .solve import simulated
from .tables import new_table


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    entry, _, system = build(arguments.mechanism, arguments.parameters)
    picture = arguments.plot and output_file(arguments.plot, PICTURES)
    if arguments.points == 1:
        raise Refusal("--points must be at least 2")
    t_end = arguments.t_end or entry.t_end
    with progress_bar() as bar:
        solution, _ = simulated(entry, system, arguments, t_end, np.linspace(0.0, t_end, arguments.points), bar)
        bar(1.0, 1.0, "frequencies")
        t, omega = largest_frequencies(system, solution)
        if picture and len(t):
            limits = {name: newmark(*rule).limit() for name, rule in RULES.items()}
            save(draw_frequencies(t, omega, limits, f"{entry.title},  {solution.method}"), picture)
    if len(t):
        _report(t, omega, picture)
    if solution.success:
        return 0
    print_error(f"{solution.method} failed: {solution.message}")
    return 1


def _report(t: Vector, omega: Vector, picture: Path | None) -> None:
    console = output()
    console.print(f"largest natural frequency: {omega[0]:.6g} rad/s at the start, {omega.min():.6g} to {omega.max():.6g} rad/s "
                  f"up to {t[-1]:g} s, most at t = {t[omega.argmax()]:.4g} s")
    table = new_table()
    for name in ("Newmark's method", "omega h", "stable at the start [s]", "stable throughout [s]"):
        table.add_column(Text(name), justify="left" if name == "Newmark's method" else "right")
    for name, rule in RULES.items():
        limit = newmark(*rule).limit()
        steps = stable_steps(omega, limit)
        table.add_row(name, *(_any(x) for x in (limit, steps[0], steps.min())))
    console.print(table)
    if picture:
        console.print(f"written: {picture}", soft_wrap=True)


def _any(x: float) -> str:
    return f"{x:.5g}" if np.isfinite(x) else "any"
