"""Figures 6 and 7: the stiff pendulum in (x, y, angle), multipliers for the constraints on positions, the classical way.

The trapezoidal rule works at this small torque (figures 8 to 10 have larger ones); Fox and Goodwin's method fails at every step, as
multipliers grow like `((1/2 - beta)/beta)^n = 5^n`.
"""

import common
from common_pendulum import FAILS, STABLE, T_END, Figure, redo

from mbdae.cli.scripts import output_folder

FIGURES = (
    Figure(6, "trapezoidal rule, constraints on positions", "classical", common.TRAPEZOIDAL,
           {0.1: STABLE, 0.7: STABLE, 0.79: STABLE, 6.0: STABLE}),
    Figure(7, "Fox-Goodwin, constraints on positions", "classical", common.FOX_GOODWIN,
           {0.1: FAILS, 0.6: FAILS, 0.78: FAILS, 0.79: FAILS}),
)


def main(output, t_end=T_END):
    """Run, print, draw; returns the line for the summary."""
    return redo(FIGURES, output, "figures6_7", t_end)


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
