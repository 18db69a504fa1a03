"""All figures and tables of the paper on null-space coordinates, one after the other, and a summary.

It takes some minutes; `make papers` runs the same scripts for the paper book.
"""

from pathlib import Path

import common

from mbdae.cli.scripts import output_folder, run_all, scripts_of

SCRIPTS = scripts_of(Path(__file__).parent)


def main(output, settings=None):
    """Run every script, or only those with `settings`; prints its numbers, then one line per script."""
    run_all(settings or SCRIPTS, output, settings)


if __name__ == "__main__":
    main(output_folder(__doc__, common.OUTPUT))
