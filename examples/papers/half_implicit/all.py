"""All figures of the paper, one after the other, and a summary. `make papers` runs this; it takes a few minutes."""

import importlib
import time

import common

FIGURES = ("fig2_order", "fig3_energy", "fig4_double_pendulum", "fig5_slider_crank", "fig6_four_link", "fig7_setup", "fig8_scaling",
           "fig9_friction")


def main(output):
    """Run every script; prints its numbers, then one line per figure."""
    lines = []
    for name in FIGURES:
        print(f"\n{name}")
        begin = time.perf_counter()
        line = importlib.import_module(name).main(output)
        lines.append((name, f"{time.perf_counter() - begin:.0f} s", line))
    print(f"\nPictures are in {output}.\n")
    for name, seconds, line in lines:
        print(f"  {name:<22}{seconds:>5}  {line}")


if __name__ == "__main__":
    main(common.output_folder(__doc__))
