"""Figure 7: when Jacobians of the chain with N = 16 rods are evaluated, plain and with extended partitioned updates, 200 s.

The paper draws the excitation, dotted lines where difference quotients were taken and dashed ones where they were updated: 43 evaluations
by DASSL as it is, 6 with updates. Here DASPK (IDA, if that is not installed) does the same for both readings of the frequency, one picture
each. Counts are those of single runs; table2.py tells how much they scatter.
"""

import common

from mbdae.cli.scripts import output_folder
from mbdae.pictures.curves import save
from mbdae.studies import write_csv
from mbdae.studies.jacobian import jacobian_study, output_times
from mbdae.studies.jacobian_figures import excitation_curve, plot_timeline

LINKS = 16
STRATEGIES = ("dense", "dense:extended")
PUBLISHED = dict(zip(STRATEGIES, (p.jacobians for p in common.TABLE_2[LINKS])))


def run(frequency, links=LINKS, t_end=200.0, spec=None):
    """The `JacobianStudy` of one reading of the frequency and the curve of the excitation."""
    spec = common.solvers()[0] if spec is None else spec
    problem, t_span = common.chain(links, frequency), (0.0, t_end)
    study = jacobian_study(problem, common.method(spec), t_span, STRATEGIES, rtol=1e-4, atol=1e-6, repeats=0)
    return study, excitation_curve(problem.system, output_times(t_span))


def counts(study):
    """#Je plain and extended."""
    return tuple(row.jacobians for row in study.rows)


def draw(study, curve, frequency, path, solver, links=LINKS):
    """One panel plain, one extended."""
    save(plot_timeline(study, curve, title=f"Chain of pendulums, N = {links}, {frequency}, {solver}: Jacobians and updates"), path)


def main(output, **settings):
    """Run, print, draw, write; returns the line for the summary."""
    told, rows, solver = [], [], settings.get("spec", common.solvers()[0]).label
    for frequency in common.FREQUENCIES:
        study, curve = run(frequency, **settings)
        path = output / f"figure7_{frequency.replace(' ', '_').replace('/', '_')}.png"
        draw(study, curve, frequency, path, solver, settings.get("links", LINKS))
        told.append("{}: #Je {} -> {}".format(frequency, *counts(study)))
        print(f"  {told[-1]}, {study.rows[1].updates} updates; published 43 -> 6")
        rows += [{"frequency": frequency, "strategy": strategy, "jacobians": row.jacobians, "updates": row.updates,
                  "published_jacobians": PUBLISHED[strategy]} for strategy, row in zip(STRATEGIES, study.rows)]
    write_csv(output / "figure7.csv", rows)
    return "; ".join(told) + " (published 43 -> 6)"


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
