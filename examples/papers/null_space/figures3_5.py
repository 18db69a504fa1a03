"""Figures 3 to 5: the stiff pendulum in minimal coordinates, by central differences, Fox and Goodwin's method, and the trapezoidal rule.

The linear criterion (11) says what is stable: central differences up to 0.63888 s, Fox-Goodwin up to 0.78246 s, the trapezoidal rule
always.
"""

import common
from common_pendulum import STABLE, T_END, UNSTABLE, Figure, redo

from mbdae.cli.scripts import output_folder

FIGURES = (
    Figure(3, "central differences, minimal coordinates", "minimal", common.CENTRAL,
           {0.01: STABLE, 0.1: STABLE, 0.6: STABLE, 0.7: UNSTABLE}),
    Figure(4, "Fox-Goodwin, minimal coordinates", "minimal", common.FOX_GOODWIN,
           {0.01: STABLE, 0.1: STABLE, 0.6: STABLE, 0.7: STABLE, 0.78: STABLE, 0.79: UNSTABLE}),
    Figure(5, "trapezoidal rule, minimal coordinates", "minimal", common.TRAPEZOIDAL,
           {0.1: STABLE, 0.7: STABLE, 0.79: STABLE, 6.0: STABLE}),
)


def main(output, t_end=T_END):
    """Run, print, draw; returns the line for the summary."""
    return redo(FIGURES, output, "figures3_5", t_end)


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
