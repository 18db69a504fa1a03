"""Tables 3 and 4: multipliers by the reduced system, its joints in a bad and in a good order.

Only a solver that works in the envelope gains by the order of the joints. The thesis has for the seven-body mechanism and for the chain:
dense LU, packed Cholesky (dppsvx there, dppsv here), MA28 (SuperLU here), its own sparse Cholesky. Dense and band Cholesky
are added, as they are the fastest that LAPACK has for such matrices.
"""

import common
from linear_solvers.topology import numberings, solver_times

import mbdae
from mbdae.cli.scripts import output_folder, show
from mbdae.studies import write_csv


def run(name, links=common.LINKS, repeats=9, seconds=0.02):
    """Lines of one mechanism, and its numberings: the good ones, then the bad one."""
    target = common.mechanism(name, links)
    kind, bad = common.bad_numbering(target)
    system = mbdae.System(target)
    table = [r for r in solver_times(system, repeats, seconds, bad) if r.equations == "reduced"]
    return table, kind, [*numberings(system), numberings(mbdae.System(target, bad))[-1]]


def report(name, table, kind, orders, links=common.LINKS):
    """Print the numberings, then times and their ratios to ours beside what is published."""
    print(f"\n  {common.title(name, links)}: {table[0].size} equations")
    rows = [[label, n.bandwidth, n.envelope, f"{n.work:.0f}", f"{n.rows_work:.0f}"]
            for label, n in zip((*(n.name for n in orders[:-1]), f"bad: {kind}"), orders)]
    show(rows, ["numbering", "bandwidth", "envelope", "work", "work by rows"])
    print()
    show(common.time_cells(table, lambda solver: _published(solver, common.TABLES_3_4[name])), common.TIME_HEAD)


def _published(solver, there):
    """The ratio of the thesis to its own solver with the good numbering."""
    key = solver.split(",")[0] if solver.startswith("SuperLU") else solver
    return f"{there[key] / there['ours']:.1f}" if key in there else ""


def main(output, links=common.LINKS, repeats=9, seconds=0.02):
    """Run, print, write; returns the line for the summary."""
    told, rows = [], []
    for number, name in ((3, "andrews"), (4, "chain")):
        table, kind, orders = run(name, links, repeats, seconds)
        report(name, table, kind, orders, links)
        write_csv(output / f"table{number}.csv", table)
        slower = {r.solver: r.seconds / table[0].seconds for r in table}["ours, bad numbering"]
        rows += [{"table": number, "mechanism": name, "solver": r.solver, "ratio": r.seconds / table[0].seconds,
                  "published": _published(r.solver, common.TABLES_3_4[name]) or None} for r in table]
        told.append(f"{name}: bad numbering {slower:.1f} (published {_published('ours, bad numbering', common.TABLES_3_4[name])})")
    write_csv(output / "tables3_4.csv", rows)
    return f"times ours: {'; '.join(told)}"


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
