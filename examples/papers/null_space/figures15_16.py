"""Figures 15 and 16: the double pendulum by the classical Newmark method, with parameters just on the safe side of the trapezoidal rule.

With `gamma = 0.5000005`, `beta = 0.2500006`, steps of 1e-3 s and constraints on positions the angles look right, while the force of the
support swings from step to step by far more than it is, without end: (a) and (b). Below them is the force in null-space coordinates, by
Fox and Goodwin's method. The trapezoidal rule itself fails; `gamma = 0.5001`, `beta = 0.2507` and `0.75`, `0.390625` work, by damping.
"""

from dataclasses import dataclass

import common
import common_double as double
import numpy as np

from mbdae.cli.scripts import output_folder, show
from mbdae.pictures.curves import save
from mbdae.pictures.figures import COLOURS, new_figure, style
from mbdae.studies import write_csv

T_END, H = 10.0, 1e-3
BARELY = (0.2500006, 0.5000005)  # (beta, gamma)
RULES = {common.TRAPEZOIDAL: "fails", BARELY: "forces unstable", (0.2507, 0.5001): "works", (0.390625, 0.75): "works"}
START = 0.2  # s, after which the motion is smooth


@dataclass(frozen=True)
class Row:
    """A run: where it ends, its largest force of the support and how much that swings from step to step, after 0.2 s [N]."""

    method: str
    beta: float
    gamma: float
    published: str
    success: bool
    t_end: float
    largest: float
    swing: float
    error: float


def study(t_end=T_END):
    """`{(beta, gamma): solution}` of the classical method, and the one in null-space coordinates under `None`."""
    runs = {rule: common.run(double.target(), common.classical(H, rule), (0.0, t_end)) for rule in RULES}
    return runs | {None: double.fox_goodwin(t_end)}


def row(rule, s, reference):
    """The `Row` of a run; the error is that of the angle of body 1 [rad]."""
    late = s.t > START
    force = np.abs(double.support(s)[late][:-1]).max(axis=1)
    jump = np.abs(np.diff(double.support(s)[late][:-1], 2, axis=0)).max() / 4.0
    off = np.abs(s.q[late, 2] - np.interp(s.t[late], reference.t, reference.q[:, 2])).max()
    method, (beta, gamma) = ("null space", common.FOX_GOODWIN) if rule is None else ("classical", rule)
    return Row(method, beta, gamma, RULES.get(rule, "works"), s.success, float(s.t[-1]), float(force.max()), float(jump), float(off))


def report(table):
    """Print the rows."""
    show([(r.method, f"{r.beta:.7g}", f"{r.gamma:.7g}", r.published, "ends" if r.success else f"fails at {r.t_end:.4g} s",
           f"{r.largest:.3g}", f"{r.swing:.2g}", f"{r.error:.1e}") for r in table],
         ("method", "beta", "gamma", "published", "here", "largest force [N]", "swings by [N]", "angle off by [rad]"))


def draw_angle(runs, exact, path):
    """Figure 15: the angle of body 1."""
    with style():
        figure = new_figure(5.2, 3.0)
        axis = figure.add_subplot()
        axis.plot(exact.t, exact.q[:, 2], color=common.GREY, linewidth=3.2, alpha=0.5, label="exact")
        axis.plot(runs[BARELY].t, runs[BARELY].q[:, 2], color=COLOURS[1], linewidth=1.0, label="classical, (0.2500006, 0.5000005), 1 ms")
        axis.set(xlabel="time  [s]", ylabel="angle of body 1  [rad]", xlim=(0.0, exact.t[-1]))
        axis.legend(loc="upper right")
        save(figure, path)


def draw_forces(runs, path):
    """Figure 16: the force of the support, by both methods."""
    with style():
        figure = new_figure(7.4, 4.4)
        axes = figure.subplots(2, 2, sharex=True)
        lines = ((runs[BARELY], COLOURS[1], "classical", "kN"), (runs[None], COLOURS[0], "null space", "N"))
        for (s, colour, name, unit), line in zip(lines, axes):
            late = s.t > START
            force = double.support(s)[late] / (1e3 if unit == "kN" else 1.0)
            for k, axis in enumerate(line):
                axis.plot(s.t[late], force[:, k], color=colour, linewidth=0.8)
                common.letter(axis, f"({'abcd'[k + 2 * (unit == 'N')]}) {name}, along {'xy'[k]}")
                axis.margins(x=0.0)
            line[0].set_ylabel(f"force of the support  [{unit}]")
        for axis in axes[-1]:
            axis.set_xlabel(f"time, from {START:g} s on  [s]")
        save(figure, path)


def main(output, t_end=T_END):
    """Run, print, draw; returns the line for the summary."""
    runs = study(t_end)
    table = [row(rule, s, double.exact(t_end)) for rule, s in runs.items()]
    report(table)
    draw_angle(runs, double.exact(t_end), output / "figure15.png")
    draw_forces(runs, output / "figure16.png")
    write_csv(output / "figures15_16.csv", table)
    by = {(r.gamma, r.method): r for r in table}
    bad, good = by[BARELY[1], "classical"], by[common.FOX_GOODWIN[1], "null space"]
    return f"force of the support swings by {bad.swing:.2g} N with multipliers, by {good.swing:.2g} N in null-space coordinates"


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
