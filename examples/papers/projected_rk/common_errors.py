"""The figure of errors on three levels and of energy, and its file, alike in all examples."""

import common
import numpy as np

from mbdae.pictures.curves import save
from mbdae.pictures.figures import new_figure, style
from mbdae.studies import write_csv

FLOOR = 1e-19  # where zero is drawn
TITLES = {"position": "position level", "velocity": "velocity level", "acceleration": "acceleration level", "energy": "energy"}


def label(example, quantity):
    """What the vertical axis shows."""
    if quantity == "energy":
        return "$|H - H_0|$  [J]" if example.absolute else "$|H/H_0 - 1|$"
    share, units = ("", ("  [m$^2$]", "m$^2$/s", "m$^2$/s$^2$")) if example.absolute else ("/l^2", ("", "1/s", "1/s$^2$"))
    texts = {"position": f"$|d^2 - l^2|{share}${units[0]}", "velocity": rf"$|2\,d\cdot\dot d\,|{share}$  [{units[1]}]",
             "acceleration": rf"$|2\,(d\cdot\ddot d + \dot d^2)|{share}$  [{units[2]}]"}
    return texts[quantity]


def curves(example, runs, t_end):
    """`{(method, quantity): (times, largest error around them)}`."""
    found = {}
    for name, s in runs.items():
        found |= {(name, quantity): common.envelope(s.t, x, t_end) for quantity, x in common.errors(example, s).items()}
    return found


def table(runs, lines):
    """The curves in rows, for a file."""
    rows = []
    for name in runs:
        columns = [lines[name, quantity] for quantity in common.QUANTITIES]
        rows += [{"method": name, "t": t, **dict(zip(common.QUANTITIES, values))}
                 for t, *values in zip(columns[0][0], *(y for _, y in columns))]
    return rows


def draw(example, runs, lines, path, t_end):
    """Four panels; a cross marks the end of a run that failed."""
    with style():
        figure = new_figure(7.4, 5.0)
        panels = figure.subplots(2, 2, sharex=True)
        for axis, quantity in zip(panels.flat, common.QUANTITIES):
            for name, s in runs.items():
                t, y = lines[name, quantity]
                axis.semilogy(t, np.maximum(y, FLOOR), label=name, linewidth=common.WIDTHS[name], **common.LOOK[name])
                if not s.success:
                    axis.plot(t[-1:], y[-1:], "x", color=common.LOOK[name]["color"], markersize=6, markeredgewidth=1.6)
            axis.set(title=f"({'abcd'[common.QUANTITIES.index(quantity)]}) {TITLES[quantity]}", ylabel=label(example, quantity))
            axis.set_xlim(0.0, t_end)
        for axis in panels[1]:
            axis.set_xlabel("time  [s]")
        h, part = runs["R-K-PV"].t[1], t_end / common.PARTS
        figure.suptitle(f"{example.title}, h = {h:.3g} s: largest error in every {part:.3g} s", fontsize=10)
        figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
        save(figure, path)


def figure(example, output, name, h=None, t_end=None):
    """Run, draw and write; returns the runs."""
    runs, t_end = common.runs(example, h, t_end), t_end or example.t_end
    lines = curves(example, runs, t_end)
    draw(example, runs, lines, output / f"{name}.png", t_end)
    write_csv(output / f"{name}.csv", table(runs, lines))
    return runs


def told(example, runs):
    """One line: where R-K ends, and the largest errors with all projections."""
    x, plain = common.largest(example, runs["R-K-PVAE-0"]), runs["R-K"]
    begin = "R-K reaches the end" if plain.success else f"R-K ends at {plain.t[-1]:.4g} s"
    return f"{begin}; R-K-PVAE-0: " + ", ".join(f"{name} {x[name]:.1e}" for name in common.QUANTITIES)
