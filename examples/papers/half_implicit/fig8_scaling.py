"""Figure 8: CPU time of chains of N bars on spherical joints, HI against FI.

The paper takes the chain of figure 7, a step of 1e-3 s, 3 s of motion, tolerances 1e-7 (HI) and 1e-5 (FI), N = 1 to 32, and finds cost
proportional to N and HI about twice as fast. Published numbers exist for N = 2 to 32. The spins at the start are chosen here (see
`mbdae.library.chain`), since the published ones are random; times are those of the fastest of five runs, not their average.
"""

from dataclasses import dataclass

import common

from mbdae.cli.scripts import output_folder, show
from mbdae.pictures.curves import save
from mbdae.pictures.figures import GREY, new_figure, style

LINKS = (1, 2, 4, 6, 8, 16, 32)
TOLERANCES = {"HI": 1e-7, "FI": 1e-5}
PUBLISHED = {2: (3.17, 5.85), 4: (5.33, 11.59), 6: (7.71, 17.02), 8: (10.07, 22.50), 16: (19.96, 45.69), 32: (39.71, 88.18)}


@dataclass(frozen=True)
class Row:
    """CPU seconds and Newton iterations per step of HI and FI for one chain, and the published seconds if there are any."""

    links: int
    seconds: tuple
    iterations: tuple
    published: tuple | None

    @property
    def ratio(self):
        """Time of FI over time of HI."""
        return self.seconds[1] / self.seconds[0]


def run(links=LINKS, h=1e-3, t_end=3.0, repeats=5):
    """One `Row` per chain."""
    table = []
    for n in links:
        found = common.timed(common.system("chain", links=n), [(m, h, TOLERANCES[m]) for m in common.METHODS], (0.0, t_end), repeats)
        iterations, seconds = zip(*found)
        table.append(Row(n, seconds, iterations, PUBLISHED.get(n)))
    return table


def report(table):
    """Print ours beside what is published."""
    head = [text for method in common.METHODS for text in (f"{method} [s]", f"published {method} [s]", f"{method} iterations")]
    show([_cells(r) for r in table], ["links", *head, "FI/HI", "published"])


def _cells(r):
    there = r.published or (None, None)
    found = [text for k in (0, 1) for text in (f"{r.seconds[k]:.3g}", there[k] and f"{there[k]:.4g}", f"{r.iterations[k]:.2f}")]
    return [r.links, *found, f"{r.ratio:.2f}", there[0] and f"{there[1] / there[0]:.3g}"]


def draw(table, path):
    """Times and their ratio over the number of bars."""
    known = [r for r in table if r.published]
    with style():
        figure = new_figure(7.0, 3.1)
        figure.get_layout_engine().set(wspace=0.08)
        left, right = figure.subplots(1, 2, width_ratios=(1.25, 1.0))
        for k, method in enumerate(common.METHODS):
            look = common.LOOK[method]
            left.plot([r.links for r in table], [r.seconds[k] for r in table], label=f"{method}, here", **look, **common.SOLID)
            left.plot([r.links for r in known], [r.published[k] for r in known], label=f"{method}, published", **look, **common.HOLLOW)
        common.guide(left, [r.links for r in table], 0.5 * table[-1].seconds[0])
        right.plot([r.links for r in table], [r.ratio for r in table], "o-", color="#333333", label="here", **common.SOLID)
        right.plot([r.links for r in known], [r.published[1] / r.published[0] for r in known], "o", color="#333333", label="published",
                   **common.HOLLOW)
        right.axhline(1.0, color=GREY, linewidth=0.8, zorder=1)
        left.set(xscale="log", yscale="log", ylabel="CPU time  [s]")
        right.set(xscale="log", ylabel="time of FI / time of HI", ylim=(0.0, None))
        for axis in (left, right):
            axis.set(xlabel="number of bars $N$", xticks=[r.links for r in table], xticklabels=[str(r.links) for r in table])
            axis.set_xticks([], minor=True)
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=4, columnspacing=1.4)
        right.legend(loc="lower right")
        common.letter(left, "(a) CPU time for 3 s of motion")
        common.letter(right, "(b) gain")
        save(figure, path)


def summary(table):
    """One line."""
    gains = [r.ratio for r in table]
    there = [r.published[1] / r.published[0] for r in table if r.published]
    return (f"FI takes {min(gains):.2f} to {max(gains):.2f} times as long as HI (published {min(there):.2f} to {max(there):.2f}); "
            f"{table[-1].links} bars: HI {table[-1].seconds[0]:.2f} s")


def main(output, **settings):
    """Run, print, draw; returns the line for the summary."""
    table = run(**settings)
    return common.present(table, report, draw, summary, output / "fig8_scaling.png", [row for r in table for row in _rows(r)])


def _rows(r):
    """Lines for the file: one for each method, with the time of FI over that of HI."""
    there = r.published or (None, None)
    gain = there[1] / there[0] if r.published else None
    return [{"links": r.links, "method": method, "seconds": r.seconds[k], "published_seconds": there[k], "iterations": r.iterations[k],
             "gain": r.ratio, "published_gain": gain} for k, method in enumerate(common.METHODS)]


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
