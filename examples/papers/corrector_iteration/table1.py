"""Table 1: the rail carriage on its line change, 15 s at rtol = atol = 1e-4: difference quotients dense and sparse, plain and partitioned.

The paper counts evaluations of the residual (#fc, without those for Jacobians #fcw) and Jacobians (#Je) of DASSL, for the explicit and the
residual form of the equations. Here DASPK, IDA and, where they are there, Bdf do the same. Errors are measured in tolerances against a
motion by IDA with rtol = atol = 1e-9, at the end and as the largest of the last quarter of the time ("late").

What differs, and what comes out:

- The published vehicle is a SIMPACK model that is not public; this one has its topology and sizes, the data of another vehicle, and chosen
  wheels, rails and track (see the mechanism's page). The paper's counts are for comparison of the kind, not digit by digit.
- The equations are compiled, some 50 microseconds per evaluation in place of 2 milliseconds, so linear algebra and the solver itself take a
  larger part of the time, and less of it is saved by fewer evaluations.
- Each run is repeated at tolerances nearby; the medians stand beside, with the range.
"""

import common

from mbdae import library
from mbdae.cli.scripts import output_folder
from mbdae.studies import write_csv

NEARBY = tuple(1.02**k for k in range(-3, 4))


def run(t_end=15.0, repeats=5, nearby=NEARBY, solvers=None):
    """Lines by `(form, solver)`."""
    system, table = library.system("rail-carriage"), {}
    exact = common.motion_by_ida(system, t_end)
    for spec in common.chosen(solvers):
        found = common.table1(system, common.method(spec), t_end, repeats=repeats, nearby=nearby, reference_values=exact)
        for form, lines in found.items():
            table[form, spec.name] = lines
    return table


def savings(lines):
    """Of time and of evaluations [%]: the best combination over dense differences without updates."""
    plain, best = lines[0].row, lines[-1].row
    return tuple(100.0 * (1.0 - getattr(best, name) / getattr(plain, name)) for name in ("cpu", "evaluations"))


def report(table):
    """Print ours beside what is published."""
    for (form, solver), lines in table.items():
        print(f"\n  {form} form, {solver}")
        common.show(lines)
        print("  sparse and partitioned over dense: {:.0f} % of the time and {:.0f} % of the evaluations saved".format(*savings(lines)))


def main(output, **settings):
    """Run, print, write; returns the line for the summary."""
    table = run(**settings)
    report(table)
    rows = [row for (form, solver), lines in table.items() for row in common.as_rows(lines, form=form, solver=solver)]
    write_csv(output / "table1.csv", rows)
    time, evaluations = zip(*map(savings, table.values()))
    return (f"saved: {min(time):.0f} to {max(time):.0f} % of the time (published 44 and 48), {min(evaluations):.0f} to "
            f"{max(evaluations):.0f} % of the evaluations (published 53 and 58)")


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
