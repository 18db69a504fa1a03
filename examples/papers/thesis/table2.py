"""Table 2: accelerations and multipliers, by the augmented system and by the reduced one with numbered joints.

The thesis solves the augmented system with MA28 (ExpA1) or applies its algorithm 3 (ExpA2), which is six and nine times faster. Here
ours is algorithm 3, and the augmented system is solved by SuperLU, by dense LU and by a dense symmetric indefinite factorisation. What
is timed is described in `linear_solvers.topology.solver_times`.
"""

import common
from linear_solvers.topology import solver_times

import mbdae
from mbdae.cli.scripts import output_folder, show
from mbdae.studies import write_csv


def run(name, links=common.LINKS, repeats=9, seconds=0.02):
    """Lines of one mechanism."""
    target = common.mechanism(name, links)
    return [r for r in solver_times(mbdae.System(target), repeats, seconds, common.bad_numbering(target)[1]) if r.equations == "augmented"]


def report(name, table, links=common.LINKS):
    """Print times and their ratios to ours beside what is published."""
    there = f"{_published(name):.1f} (MA28)"
    print(f"\n  {common.title(name, links)}: {table[0].size} equations")
    show(common.time_cells(table, lambda solver: there if "SuperLU" in solver else ""), common.TIME_HEAD)


def _published(name):
    """Time of MA28 over that of algorithm 3."""
    return common.TABLE_2[name]["augmented, MA28"] / common.TABLE_2[name]["algorithm 3"]


def main(output, links=common.LINKS, repeats=9, seconds=0.02):
    """Run, print, write; returns the line for the summary."""
    told, rows = [], []
    for name in common.TABLE_2:
        table = run(name, links, repeats, seconds)
        report(name, table, links)
        write_csv(output / f"table2_{name}.csv", table)
        slower = {r.solver.split(",")[0]: r.seconds / table[0].seconds for r in table}
        rows += [{"mechanism": name, "solver": solver, "ratio": ratio, "published": _published(name) if solver == "SuperLU" else None}
                 for solver, ratio in slower.items()]
        told.append(f"{name}: SuperLU {slower['SuperLU']:.0f}, dense LU {slower['dense LU']:.0f}")
    write_csv(output / "table2.csv", rows)
    return f"times ours: {'; '.join(told)} (published, MA28: 6 and 9)"


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
