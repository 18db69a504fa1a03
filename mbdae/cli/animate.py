"""`mbdae animate`: an animation of a mechanism."""

import argparse

import numpy as np

from ..pictures.animate import ENDINGS, animate, ffmpeg
from ..pictures.canvas import checked_view
from .console import output, print_error, progress_bar
from .options import build, output_file
from .solve import simulated


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    entry, _, system = build(arguments.mechanism, arguments.parameters)
    path = output_file(arguments.output or f"{entry.name}.gif", ENDINGS)
    view = checked_view(arguments.view or entry.view)
    if path.suffix.lower() == ".mp4":
        ffmpeg()  # raises before anything runs
    t_end = arguments.t_end or entry.t_end
    speed = arguments.speed or entry.film
    frames = max(2, round(t_end / speed * arguments.fps) + 1)
    with progress_bar() as bar:
        solution, _ = simulated(entry, system, arguments, t_end, np.linspace(0.0, t_end, frames), bar)
        if not solution.success:
            print_error(f"{solution.method} failed: {solution.message}")
            return 1
        animate(solution, path, view=view, fps=arguments.fps, speed=speed, trail=speed, title=entry.title,
                progress=lambda k, n: bar(k, n, f"frame {k} of {n}"))
    output().print(f"written: {path}, {frames} frames", soft_wrap=True)
    return 0
