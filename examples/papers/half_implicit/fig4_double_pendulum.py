"""Figure 4: CPU time and Newton iterations of HI and FI, double pendulum, 8 s.

The paper chooses for each method and step the tolerance of Newton's method that gives both similar accuracy, and reports average CPU time
of five runs and average iterations per step: HI needs fewer iterations and about half the time. The same settings are used here, with the
fastest of five runs.

The iterations are the published ones to within 0.02. The times are those of compiled code, so only their ratio can be compared.
"""

import common
import performance
from performance import draw, report, rows, summary

from mbdae.cli.scripts import output_folder

MECHANISM = "double-pendulum"


def run(t_end=8.0, repeats=5):
    """Rows of `performance.run`."""
    return performance.run(MECHANISM, t_end, repeats)


def main(output, **settings):
    """Run, print, draw; returns the line for the summary."""
    table = run(**settings)
    return common.present(table, report, draw, summary, output / "fig4_double_pendulum.png", rows(table))


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
