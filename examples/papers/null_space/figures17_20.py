"""Figures 17 to 20: the double pendulum by Fox and Goodwin's method in null-space coordinates, steps of 5e-4 s; constraints on all levels.

Published: norms below 3e-14 for positions and velocities, below 1e-10 for accelerations, whose largest value belongs to the start.
The step does not resolve the start, a relaxation within 1e-5 s, and a method without damping carries that on: angles are off by 0.02 rad.
"""

from dataclasses import dataclass

import common
import common_double as double
import numpy as np

from mbdae.cli.scripts import output_folder, show
from mbdae.pictures.curves import save
from mbdae.pictures.figures import COLOURS, GREY, new_figure, style
from mbdae.studies import write_csv

T_END, EARLY = 10.0, 0.05  # s; the second one ends the start
LEVELS = {18: ("position", "|Phi|  [m]", 3e-14), 19: ("velocity", "|Phi_q v|  [m/s]", 3e-14),
          20: ("acceleration", "|Phi_q a - gamma|  [m/s²]", 1e-10)}


@dataclass(frozen=True)
class Row:
    """Largest norm of the constraints of a level: published, in the first 0.05 s, after them."""

    figure: int
    level: str
    published: float
    start: float
    later: float


def error(s):
    """Largest error of the angle of body 1 after the start [rad]."""
    exact = double.exact(s.t[-1])
    late = s.t > EARLY
    return float(np.abs(s.q[late, 2] - np.interp(s.t[late], exact.t, exact.q[:, 2])).max())


def rows(t, norms):
    """A `Row` per level."""
    early = t <= EARLY
    return [Row(number, level, bound, float(norms[early, k].max()), float(norms[~early, k].max()))
            for k, (number, (level, _, bound)) in enumerate(LEVELS.items())]


def report(table):
    """Print the rows."""
    show([(r.figure, r.level, f"{r.published:.0e}", f"{r.start:.1e}", f"{r.later:.1e}") for r in table],
         ("figure", "constraints on", "published below", "first 0.05 s", "later"))


def draw_angles(s, path):
    """Figure 17: the angles of both bars."""
    with style():
        figure = new_figure(5.2, 3.0)
        axis = figure.add_subplot()
        axis.plot(s.t, s.q[:, 2], color=COLOURS[0], linewidth=2.4, alpha=0.6, label="body 1")
        axis.plot(s.t, s.q[:, 5], color=COLOURS[1], linewidth=1.0, label="body 2")
        axis.set(xlabel="time  [s]", ylabel="angle  [rad]", xlim=(0.0, s.t[-1]))
        axis.legend(loc="upper right")
        save(figure, path)


def draw_norm(t, norm, label, bound, path):
    """Figures 18 to 20: one level over time, logarithmically; what is zero is left out."""
    with style():
        figure = new_figure(5.2, 2.8)
        axis = figure.add_subplot()
        axis.plot(t, np.where(norm > 0.0, norm, np.nan), color=COLOURS[0], linestyle="none", marker=".", markersize=2.0, rasterized=True)
        axis.axhline(bound, color=GREY, linestyle=(0, (4, 2)), linewidth=1.1)
        axis.annotate(f"published: below {bound:.0e}", (0.99, bound), xycoords=("axes fraction", "data"), xytext=(0, 2),
                      textcoords="offset points", ha="right", va="bottom", color=GREY, fontsize=8)
        axis.set(xlabel="time  [s]", ylabel=label, yscale="log", xlim=(-0.01 * t[-1], t[-1]), ylim=(None, 10.0 * bound))
        save(figure, path)


def main(output, t_end=T_END):
    """Run, print, draw; returns the line for the summary."""
    s = double.fox_goodwin(t_end)
    norms = double.norms(s)
    table = rows(s.t, norms)
    report(table)
    print(f"  angle of body 1 off by up to {error(s):.1e} rad")
    draw_angles(s, output / "figure17.png")
    for k, (number, (_, label, bound)) in enumerate(LEVELS.items()):
        draw_norm(s.t, norms[:, k], label, bound, output / f"figure{number}.png")
    write_csv(output / "figures17_20.csv", table)
    return "largest norms of constraints: " + ", ".join(f"{r.level} {max(r.start, r.later):.1e} ({r.published:.0e})" for r in table)


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
