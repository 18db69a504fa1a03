"""`mbdae animate`: an animation of a mechanism."""

import argparse

import numpy as np

from ..pictures.animate import ENDINGS, animate, ffmpeg
from ..pictures.canvas import checked_view
from .console import output, print_error, progress_bar
from .options import Commands, build, natural, output_file, parser_of_mechanism, positive
from .solve import add_method_options, simulated

_EPILOG = """\
examples:
  mbdae animate slider-crank
  mbdae animate four-link --view 3d --t-end 2 --fps 30 --output four-link.gif
  mbdae animate chain --set links=12 --speed 0.5 --output chain.mp4
  mbdae animate my-mechanism.yaml --t-end 5

MP4 needs ffmpeg: pip install 'mbdae[mp4]'.
"""


def add_parser(commands: Commands) -> None:
    """The parser of `animate`."""
    p = commands.add_parser("animate", help="an animation as GIF or MP4", description="Simulate a mechanism and animate its motion.",
                            epilog=_EPILOG, parents=[parser_of_mechanism()], allow_abbrev=False,
                            formatter_class=argparse.RawDescriptionHelpFormatter)
    add_method_options(p)
    p.add_argument("--output", metavar="FILE", help="ends in .gif or .mp4 (default MECHANISM.gif)")
    p.add_argument("--fps", metavar="N", type=natural, default=25, help="frames per second (default 25)")
    p.add_argument("--speed", metavar="X", type=positive, help="seconds of motion per second of animation (default: by mechanism)")
    p.add_argument("--view", metavar="V", help="two axes like yz, the horizontal one first, or 3d (default: by mechanism)")
    p.set_defaults(run=run)


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
