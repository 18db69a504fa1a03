"""Chains of 10 to 2000 links: what accelerations and multipliers cost, and that the cost grows with the number of links and no faster."""

import common
from linear_solvers.topology import chain_costs, growth

from mbdae.cli.scripts import output_folder, show
from mbdae.pictures.curves import save
from mbdae.pictures.figures import GREY, look, new_figure, style
from mbdae.studies import write_csv

LINKS = (10, 20, 50, 100, 200, 500, 1000, 2000)
JOINTS = ("planar", "spherical", "revolute")


def report(table):
    """Print microseconds per link, and the exponent of the growth."""
    rows = [[joints, *(f"{1e6 * c.seconds / c.links:.3f}" for c in costs), f"{growth(costs):.2f}"] for joints, costs in table.items()]
    show(rows, ["us per link", *(str(c.links) for c in next(iter(table.values()))), "exponent"])


def draw(table, path):
    """Times over the number of links."""
    with style():
        figure = new_figure(4.6, 3.4)
        axis = figure.add_subplot()
        for k, (joints, costs) in enumerate(table.items()):
            label = f"{joints}, exponent {growth(costs):.2f}"
            axis.plot([c.links for c in costs], [1e6 * c.seconds for c in costs], label=label, **look(k))
        n, least = [costs[0].links, costs[-1].links], 0.6e6 * min(costs[0].seconds for costs in table.values())
        axis.plot(n, [least, least * n[1] / n[0]], color=GREY, linestyle=(0, (2, 2)), linewidth=1.0, label="exponent 1")
        axis.set(xscale="log", yscale="log", xlabel="links of the chain", ylabel="accelerations and multipliers  [µs]")
        axis.legend(loc="upper left")
        save(figure, path)


def main(output, links=LINKS, repeats=9, seconds=0.02):
    """Run, print, draw; returns the line for the summary."""
    table = {joints: chain_costs(links, joints, repeats, seconds) for joints in JOINTS}
    report(table)
    draw(table, output / "linear_cost.png")
    for joints, costs in table.items():
        write_csv(output / f"linear_cost_{joints}.csv", costs)
    return "exponents " + ", ".join(f"{joints} {growth(costs):.2f}" for joints, costs in table.items())


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
