"""Table 3: the passenger car in periodic lane changes, 5 s at rtol = 1e-4, atol = 1e-5: differences plain, partitioned, extended.

The paper counts Jacobians (#Je) of DASSL. Here DASPK, IDA and, where they are there, Bdf do the same, in joint coordinates. Errors are
measured in tolerances against a motion with rtol = 1e-12, at the end and as the largest of the last quarter of the time ("late").

What differs, and what comes out:

- The published vehicle is a SIMPACK model that is not public, with 2229 Jacobians in 5 s; this one is the Iltis, which is far less stiff:
  30 Jacobians with 81 unknowns. What is compared is the cost of the strategies; 86 % cannot be saved.
- Partitioned updates save Jacobians and time as published in kind. Extended updates save hardly more of them, since the Jacobian depends
  on the state as much as on the steering, and their mixed derivatives take more evaluations than the Jacobians that they save.
- Each run is repeated at tolerances nearby; the medians stand beside, with the range.
"""

import common

from mbdae import GGL, System, library
from mbdae.cli.scripts import output_folder
from mbdae.studies import write_csv

NEARBY = tuple(1.02**k for k in range(-3, 4))


def run(t_end=5.0, repeats=5, nearby=NEARBY, solvers=None):
    """Lines by solver."""
    system = System(library.mechanism("passenger-car"), coordinates="joint")
    exact = common.exact_motion(GGL(system), t_end)
    return {spec.name: common.table3(system, spec.make(), t_end, repeats=repeats, nearby=nearby, reference_values=exact)
            for spec in (common.solvers() if solvers is None else solvers)}


def savings(lines):
    """The largest saving of time over dense differences without updates [%]."""
    return max(100.0 - line.row.percent for line in lines)


def main(output, **settings):
    """Run, print, write; returns the line for the summary."""
    table = run(**settings)
    for solver, lines in table.items():
        print(f"\n  {solver}")
        common.show(lines)
        print(f"  at most {savings(lines):.0f} % of the time saved")
    write_csv(output / "table3.csv", [row for solver, lines in table.items() for row in common.as_rows(lines, solver=solver)])
    saved = [savings(lines) for lines in table.values()]
    return f"at most {min(saved):.0f} to {max(saved):.0f} % of the time saved (published 86)"


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
