"""Figures 12 and 13: the stiff pendulum in (x, y, angle), in null-space coordinates: as stable as in minimal coordinates.

Fox and Goodwin's method has the limit 0.78246 s again. Beyond it the run does not only swing more and more: the bar turns so far in a step
that the iteration fails in the end.
"""

import common
from common_pendulum import STABLE, T_END, UNSTABLE, Figure, redo

from mbdae.cli.scripts import output_folder

FIGURES = (
    Figure(12, "Fox-Goodwin, null-space coordinates", "null space", common.FOX_GOODWIN,
           {0.1: STABLE, 0.6: STABLE, 0.78: STABLE, 0.79: UNSTABLE}),
    Figure(13, "trapezoidal rule, null-space coordinates", "null space", common.TRAPEZOIDAL,
           {0.1: STABLE, 0.7: STABLE, 0.79: STABLE, 6.0: STABLE}),
)


def main(output, t_end=T_END):
    """Run, print, draw; returns the line for the summary."""
    return redo(FIGURES, output, "figures12_13", t_end)


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
