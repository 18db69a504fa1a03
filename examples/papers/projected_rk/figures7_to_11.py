"""Figures 7 to 11: the double spherical pendulum: the path of mass B around mass A, and errors of the second rod and of energy.

Start, step and time are those of the library, as those of the paper could not be found. Mass B moves on a sphere of 1 m around mass A;
without projections its velocity no longer lies in that sphere, by up to 10 m/s, and the run ends after 3.4 s.
"""

import common
import common_errors as drawing
import numpy as np

from mbdae.cli.scripts import output_folder
from mbdae.pictures.curves import save
from mbdae.pictures.figures import COLOURS, GREY, new_figure, style

EXAMPLE = common.SPHERICAL
WIDTHS = (("R-K-PVAE-0", 0.8, COLOURS[0]), ("R-K", 1.6, COLOURS[6]))  # method, line, colour


def path_around(s):
    """Position of mass B relative to mass A, in rows."""
    return common.ends(EXAMPLE, s.q, common.rods(EXAMPLE)[EXAMPLE.rod])


def draw(runs, path):
    """The path from the side and from above, on the sphere; a cross marks the end of a run that failed."""
    turn = np.linspace(0.0, 2.0 * np.pi, 361)
    with style():
        figure = new_figure(7.4, 4.1)
        for axis, vertical, seen in zip(figure.subplots(1, 2), (2, 1), ("(a) from the side", "(b) from above")):
            axis.plot(np.cos(turn), np.sin(turn), color=GREY, linewidth=0.8, linestyle=":")
            for name, width, colour in WIDTHS:
                d = path_around(runs[name])
                axis.plot(d[:, 0], d[:, vertical], color=colour, linewidth=width, label=f"{name}, {runs[name].t[-1]:.3g} s")
                if not runs[name].success:
                    axis.plot(*d[-1, [0, vertical]], "x", color=colour, markersize=7, markeredgewidth=1.8, zorder=5)
            name = "xyz"[vertical]
            axis.set(title=seen, xlabel="$x_B - x_A$  [m]", ylabel=f"${name}_B - {name}_A$  [m]", aspect="equal")
        figure.suptitle("Double spherical pendulum: path of mass B around mass A, on a sphere of 1 m", fontsize=10)
        figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=2)
        save(figure, path)


def main(output, **settings):
    """Run, draw, write; returns the line for the summary."""
    runs = drawing.figure(EXAMPLE, output, "figures8_to_11", **settings)
    draw(runs, output / "figure7.png")
    return drawing.told(EXAMPLE, runs)


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
