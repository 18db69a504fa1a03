"""Figure 6: CPU time and Newton iterations of HI and FI, spatial four-link mechanism, 8 s.

As figures 4 and 5. HI needs fewer iterations here than printed, for two reasons. One is the sign of the gyroscopic term in the guess, see
figure 5. The other is the moment of inertia of link 2 about its axis: the published program has 0.1 in the mass matrix and 0.01 where it
divides by it. `gyroscopic_sign.py` has our method with both slips.

FI needs 0.8 to 1.1 iterations fewer than printed as well. The archived programs show for the slider-crank that printed counts of FI belong
to another state of the program (figure 5); for this mechanism that has not been tried.
"""

import common
import performance
from performance import draw, report, rows, summary

from mbdae.cli.scripts import output_folder

MECHANISM = "four-link"


def run(t_end=8.0, repeats=5):
    """Rows of `performance.run`."""
    return performance.run(MECHANISM, t_end, repeats)


def main(output, **settings):
    """Run, print, draw; returns the line for the summary."""
    table = run(**settings)
    return common.present(table, report, draw, summary, output / "fig6_four_link.png", rows(table))


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
