"""Figure 6: CPU time and Newton iterations of HI and FI, spatial four-link mechanism, 8 s.

As figures 4 and 5. HI needs fewer iterations than published (1.00, 2.93, 6.00 against 2.00, 3.60, 6.86), for two reasons. One is the sign
of the gyroscopic term in the guess, see figure 5. The other is the moment of inertia of link 2 about its axis: the published program has
0.1 in the mass matrix and 0.01 where it divides by it. With both slips our guess leads to 3.59 and 6.86 iterations at the two larger
steps, as published.

FI needs 0.8 to 1.1 iterations fewer than published as well; its published program could not be examined.
"""

import common
import performance
from performance import draw, report, summary

from mbdae.cli.scripts import output_folder

MECHANISM = "four-link"


def run(t_end=8.0, repeats=5):
    """Rows of `performance.run`."""
    return performance.run(MECHANISM, t_end, repeats)


def main(output, **settings):
    """Run, print, draw; returns the line for the summary."""
    return common.present(run(**settings), report, draw, summary, output / "fig6_four_link.png")


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
