"""All tables and figures of the paper, one after the other, and a summary.

It takes a few minutes; `make papers` runs the same scripts for the paper book.
"""

import common

from mbdae.cli.scripts import output_folder, run_all

FIGURES = ("fig2_order", "fig3_energy", "fig4_double_pendulum", "fig5_slider_crank", "fig6_four_link", "fig7_setup", "fig8_scaling",
           "fig9_friction")
SCRIPTS = ("tables1_2", *FIGURES, "gyroscopic_sign")


def main(output, settings=None):
    """Run every script, or only those with `settings`; prints its numbers, then one line per script."""
    run_all(settings or SCRIPTS, output, settings)


if __name__ == "__main__":
    main(output_folder(__doc__, common.OUTPUT))
