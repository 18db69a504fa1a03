"""Figures 2 to 5: constraint errors on three levels and energy errors of the simple pendulum, four methods, thirty seconds.

All data are those of the paper. Without projections errors of the velocities grow until Newton's method fails, after 7 s; the paper's run
went on with wrong values after 6 s. With the projections of positions and velocities the energy is lost at a constant rate, and with all
of them everything holds to rounding; energies kept from step to step (PVAE-n) pick up the rounding of every step.
"""

import common
import common_errors as drawing
import numpy as np

from mbdae.cli.scripts import output_folder


def rate(s):
    """Slope of the energy error over time, a straight line through the origin, and how far the errors of its second half leave it."""
    x = common.energy_error(common.PENDULUM, s)
    slope = float(s.t @ x / (s.t @ s.t))
    late = s.t > 0.5 * s.t[-1]
    return slope, float(np.abs(x[late] / (slope * s.t[late]) - 1.0).max())


def main(output, **settings):
    """Run, draw, write; returns the line for the summary."""
    runs = drawing.figure(common.PENDULUM, output, "figures2_to_5", **settings)
    return f"{drawing.told(common.PENDULUM, runs)}; R-K-PV loses {rate(runs['R-K-PV'])[0]:.1e} J/s"


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
