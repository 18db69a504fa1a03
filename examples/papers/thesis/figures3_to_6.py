"""Figures 3 to 6: joints of the seven-body mechanism and of the chain in a bad and in a good order, and the reduced matrices that follow.

A joint is a node of the graph, a body an edge between any two of its joints. The good order is that of Gibbs-King, or of whatever is
cheaper by eq. (3.126). The bad one of the chain is that of the thesis; that of the mechanism see `common.bad_numbering`.
"""

import common
import numpy as np
from linear_solvers.topology import joint_graph, numberings, reduced_pattern

import mbdae
from mbdae.cli.scripts import output_folder
from mbdae.pictures.curves import save
from mbdae.pictures.figures import COLOURS, GREY, new_figure, style

DARK = "#222222"
# where the joints of the seven-body mechanism are drawn, and where their names, in points from there
PLACES = {"O": (-2.1, 0.0), "F": (-1.0, 0.0), "E3": (0.0, 0.8), "B": (0.0, 1.75), "E4": (0.9, 0.0), "G": (1.9, 0.4), "A5": (2.8, 0.75),
          "E6": (0.2, -0.9), "H": (1.3, -1.0), "A7": (2.3, -0.8)}
NAMES = {"O": (0, -13), "F": (0, -13), "E3": (14, 5), "B": (13, 0), "E4": (5, -13), "G": (3, -13), "A5": (3, -13), "E6": (-3, -13),
         "H": (0, -13), "A7": (3, -13)}
PER_LINE = 25  # joints of a chain in one line of a picture


def systems(name, links=common.LINKS):
    """The mechanism with its bad numbering and with the good one, by what they are called in the pictures."""
    target = common.mechanism(name, links)
    kind, bad = common.bad_numbering(target)
    return {f"bad numbering: {kind}": mbdae.System(target, bad), "good numbering": mbdae.System(target)}


def numbers(system):
    """Number of each joint, from 1, by name."""
    graph = joint_graph(system)
    return {graph.names[k]: n for n, k in enumerate(graph.order, 1)}


def draw_graph(found, path):
    """Figure 3: the graph of the seven-body mechanism, twice."""
    with style():
        figure = new_figure(7.4, 3.3)
        for axis, (text, system) in zip(figure.subplots(1, 2), found.items()):
            _graph(axis, system)
            _title(axis, text)
        figure.suptitle("Seven-body mechanism: joints with their numbers, bodies K1 to K7 between them", fontsize=9.5, color=DARK)
        save(figure, path)


def _graph(axis, system):
    bodies = {}
    for c in system.mechanism.constraints:
        for body in {c.i, c.j} - {"ground"}:
            bodies.setdefault(body, []).append(c.name)
    for k, (body, names) in enumerate(sorted(bodies.items())):
        ends = [(a, b) for a in names for b in names if a < b]
        for a, b in ends:
            axis.plot(*zip(PLACES[a], PLACES[b]), color=COLOURS[k % len(COLOURS)], linewidth=1.6, zorder=1)
        x, y = np.mean([PLACES[n] for n in names], axis=0)
        axis.annotate(body, (x, y), fontsize=7.5, ha="center", va="center", color=COLOURS[k % len(COLOURS)],
                      bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0})
    for name, n in numbers(system).items():
        _node(axis, PLACES[name], n, 13.0, 8)
        axis.annotate(name, PLACES[name], xytext=NAMES[name], textcoords="offset points", fontsize=7, color=GREY, ha="center", va="center")
    axis.set(aspect="equal", xlim=(-2.5, 3.3), ylim=(-1.4, 2.0))
    axis.axis("off")


def _node(axis, place, n, size, letters):
    axis.plot(*place, "o", color="white", markersize=size, markeredgecolor=DARK, markeredgewidth=0.8, zorder=2)
    axis.annotate(str(n), place, ha="center", va="center_baseline", fontsize=letters, color=DARK, zorder=3)


def draw_chain(found, path, name):
    """Figure 5: the joints of the chain, from the ground to its end, with their numbers."""
    with style():
        figure = new_figure(7.4, 2.9)
        figure.suptitle(f"{name}: numbers of the joints", fontsize=9.5, color=DARK)
        for axis, (text, system) in zip(figure.subplots(2, 1), reversed(found.items())):
            _chain(axis, system)
            _title(axis, text)
        save(figure, path)


def _chain(axis, system):
    """Line by line, there and back."""
    order = numbers(system)
    k = np.arange(len(order))
    line, within = np.divmod(k, PER_LINE)
    x = np.where(line % 2 == 0, within, PER_LINE - 1 - within)
    axis.plot(x, -line, color=COLOURS[0], linewidth=1.4, zorder=1)
    axis.plot([-1.0, 0.0], [0.0, 0.0], color=COLOURS[0], linewidth=1.4, zorder=1)
    axis.annotate("ground", (-1.1, 0.0), ha="right", va="center", fontsize=7.5, color=GREY)
    for place, name in zip(zip(x, -line), (c.name for c in system.mechanism.constraints)):
        _node(axis, place, order[name], 11.5, 6.5)
    axis.set(xlim=(-3.4, PER_LINE - 0.4), ylim=(-line.max() - 0.5, 0.5))
    axis.axis("off")


def draw_patterns(found, path, mark, name):
    """Figures 4 and 6: the entries of the reduced matrix, with bandwidth, envelope and work in blocks of joints."""
    with style():
        figure = new_figure(7.0, 4.5)
        figure.suptitle(f"{name}: entries of the reduced matrix", fontsize=9.5, color=DARK)
        for axis, (text, system) in zip(figure.subplots(1, 2), found.items()):
            pattern, measured = reduced_pattern(system), numberings(system)[-1]
            axis.plot(*np.nonzero(pattern)[::-1], "s", color=COLOURS[0], markersize=mark, markeredgewidth=0)
            n = len(pattern)
            axis.set(aspect="equal", xlim=(-1, n), ylim=(n, -1), xticks=[], yticks=[])
            axis.set_xlabel(f"{n} rows, {pattern.sum()} entries; in blocks of joints:\nbandwidth {measured.bandwidth}, "
                            f"envelope {measured.envelope}, work {measured.work:.0f}", color=DARK, fontsize=8.5)
            axis.grid(False)
            axis.spines[["top", "right"]].set_visible(True)
            _title(axis, text)
        save(figure, path)


def _title(axis, text):
    axis.set_title(text, loc="left", fontsize=9, color=DARK)


def main(output, links=common.LINKS):
    """Draw all; returns the line for the summary."""
    seven, chain = systems("andrews"), systems("chain", links)
    draw_graph(seven, output / "figure3.png")
    draw_patterns(seven, output / "figure4.png", 6.0, common.title("andrews"))
    draw_chain(chain, output / "figure5.png", common.title("chain", links))
    draw_patterns(chain, output / "figure6.png", 150.0 / (2 * links), common.title("chain", links))
    told = ", ".join(f"{name} {' -> '.join(f'{numberings(s)[-1].work:.0f}' for s in found.values())}"
                     for name, found in (("andrews", seven), ("chain", chain)))
    print(f"  work of factorisation in blocks, eq. (3.126): {told}")
    return f"work {told}"


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
