"""Figure 7: the chain of the scaling analysis, N bars on spherical joints.

The paper sketches the chain at the start: hanging down, each bar spinning about its own axis, gravity in a random direction. Panel (a) is
that sketch, with the direction of gravity of the published program; panel (b) adds where a chain of four bars goes. The spins are
6, -4, 8, -2 rad/s in turn (see `mbdae.library.chain` for why the published ones cannot be had).
"""

from dataclasses import dataclass

import common
import numpy as np
from matplotlib.patches import FancyArrowPatch, Rectangle

import mbdae
from mbdae.cli.scripts import output_folder, show
from mbdae.model import rotations
from mbdae.pictures.curves import save
from mbdae.pictures.figures import COLOURS, GREY, new_figure, style

DARK, FAINT = "#333333", "#C9DCEA"
WIDTH = 0.26  # of a drawn bar; true to scale it would be 0.05 m


@dataclass(frozen=True)
class Row:
    """The chain at the time t [s]: its joints and its free end, shape (N + 1, 3), and the spins [rad/s] of the bars."""

    t: float
    points: np.ndarray
    spins: np.ndarray


def run(links=4, times=(0.0, 0.4, 0.8, 1.2, 1.6, 2.0)):
    """One `Row` per time."""
    target = common.system("chain", links=links)
    solution = common.run_method(target, "HI", 1e-3, 1e-7, (0.0, times[-1]), t_eval=np.array(times))
    return [Row(t, _points(q), v[3::6]) for t, q, v in zip(solution.t, solution.q, solution.v)]


def _points(q):
    bodies = q.reshape(-1, 7)
    half = np.array([rotations.to_matrix(b[3:])[:, 0] for b in bodies])
    return np.vstack([bodies[0, :3] - half[0], bodies[:, :3] + half])


def report(table):
    """Print where the free end goes."""
    show([(f"{r.t:.1f}", np.array2string(r.points[-1], precision=3), np.array2string(r.spins, precision=3)) for r in table],
         ("t [s]", "end of the chain [m]", "spins [rad/s]"))


def draw(table, path):
    """The sketch, and the motion, both seen against the x-axis."""
    with style():
        figure = new_figure(5.4, 4.6)
        left, right = figure.subplots(1, 2, width_ratios=(0.7, 1.0))
        _sketch(left, table[0])
        _motion(right, table)
        for axis in (left, right):
            axis.set_anchor("N")
        common.letter(left, "(a) start")
        common.letter(right, "(b) motion")
        save(figure, path)


def _sketch(axis, start):
    n = len(start.spins)
    axis.add_patch(Rectangle((-0.9, 0.12), 1.8, 0.3, facecolor="none", edgecolor=GREY, hatch="////", linewidth=0.0))
    axis.plot([-0.9, 0.9], [0.12, 0.12], color=DARK, linewidth=1.2)
    for k, ((_, y, top), (_, _, bottom), spin) in enumerate(zip(start.points, start.points[1:], start.spins)):
        axis.add_patch(Rectangle((y - WIDTH / 2, bottom), WIDTH, top - bottom, facecolor=FAINT, edgecolor=COLOURS[0], linewidth=1.0))
        label = "link 1" if k == 0 else "link $N$" if k == n - 1 else f"link {k + 1}"
        axis.text(y - 0.6, 0.5 * (top + bottom), label, ha="right", va="center")
        _spin(axis, y, 0.5 * (top + bottom), np.sign(spin))
        name = "N" if k == n - 1 else str(k + 1)
        axis.text(y + 0.72, 0.5 * (top + bottom), rf"$\omega_{name}$", color=COLOURS[1], va="center", fontsize=10)
    axis.plot(start.points[:-1, 1], start.points[:-1, 2], "o", color=DARK, markerfacecolor="white", markersize=6.5, markeredgewidth=1.3)
    _arrow(axis, (1.7, -2.6), mbdae.library.mechanism("chain").gravity, "$g$")
    for direction, name in (((0, 1, 0), "$y$"), ((0, 0, 1), "$z$")):
        _arrow(axis, (-2.1, 2.0 * -n), 9.81 * np.array(direction), name, 0.8)
    axis.set(aspect="equal", xlim=(-2.4, 2.9), ylim=(-2.0 * n - 0.4, 0.9))
    axis.set_axis_off()


def _spin(axis, y, z, sign):
    """An arrow around the front of a bar; a positive spin is about the axis that points down the bar, so its front moves to the left."""
    ends = ((y + 0.42 * sign, z + 0.1), (y - 0.42 * sign, z + 0.1))
    axis.add_patch(FancyArrowPatch(*ends, connectionstyle=f"arc3,rad={-0.55 * sign}", arrowstyle="-|>", mutation_scale=9,
                                   color=COLOURS[1], linewidth=1.3, zorder=4))


def _arrow(axis, start, vector, name, length=1.2):
    """An arrow along the y- and z-components of a vector of size 9.81."""
    y, z = length / 9.81 * np.array(vector)[1:]
    axis.add_patch(FancyArrowPatch(start, (start[0] + y, start[1] + z), arrowstyle="-|>", mutation_scale=11, color=DARK, linewidth=1.3,
                                   shrinkA=0, shrinkB=0))
    axis.text(start[0] + 1.2 * y, start[1] + 1.2 * z, name, ha="center", va="center", fontsize=10)


def _motion(axis, table):
    for k, row in enumerate(table):
        shade = 0.25 + 0.75 * k / max(len(table) - 1, 1)
        _, y, z = row.points.T
        axis.plot(y, z, "-o", color=COLOURS[0], alpha=shade, linewidth=2.2, markersize=3.8, markerfacecolor="white", solid_capstyle="round")
        away = row.points[-1] - row.points[-2]
        side = ("right", "left", "center")[min(k, 2)]
        axis.text(y[-1] + 0.3 * away[1], z[-1] + 0.3 * away[2], f"{row.t:g} s", ha=side, va="center", color=GREY, fontsize=8)
    axis.plot(0.0, 0.0, "o", markersize=6.5, color=DARK, zorder=5)
    axis.set(aspect="equal", xlabel="$y$  [m]", ylabel="$z$  [m]")
    axis.set_yticks(range(-8, 9, 2))
    axis.margins(0.13)


def summary(table):
    """One line."""
    return f"{len(table[0].spins)} bars, drawn up to {table[-1].t:g} s"


def main(output, **settings):
    """Run, print, draw; returns the line for the summary."""
    table = run(**settings)
    rows = [{"t": r.t, "joint": k, "x": x, "y": y, "z": z} for r in table for k, (x, y, z) in enumerate(r.points)]
    return common.present(table, report, draw, summary, output / "fig7_setup.png", rows)


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
