"""The largest errors of the four methods in the three examples, in brackets what the paper states.

The runs are those of the figures. Errors are of all rods, defined as in `common`; the last column is the error of the coordinates at the
end, against values recomputed with many digits. The double spherical pendulum is chaotic: errors grow a thousandfold from 5 to 10 s.

What differs from the paper: of the tethers' lengths it has 1e-15, where rounding of coordinates of 7e6 m alone leaves 2e-12. Its energy
error of the pendulum without energy projection is 1e-6 J; here it is smaller, and of that size with one Newton iteration per step
(`tol=1e-7`), as the last line of its table shows. Its run without projections goes on to 30 s with an energy of 1e15 J; here Newton's
method fails before, and the run ends with a status.
"""

import common

from mbdae.cli.scripts import output_folder, show
from mbdae.studies import write_csv

HEAD = ["", "end [s]", "position", "", "velocity [1/s]", "", "acceleration [1/s^2]", "", "energy", "", "coordinates [m]"]


def rows(examples=common.EXAMPLES, t_end=None):
    """Plain dictionaries: the largest errors of every run, and what is published, if it is."""
    found = []
    for example in examples:
        end = (t_end or {}).get(example.name)
        runs = dict(common.runs(example, None, end))
        if example is common.PENDULUM:
            runs[common.LOOSE] = common.run(example, "PV", None, end, tol=common.LOOSE_TOL)
        for name, s in runs.items():
            stated = example.published.get("R-K-PV" if name == common.LOOSE else name, {})
            published = {f"published_{k}": stated.get(k) for k in common.QUANTITIES}
            found.append({"example": example.title, "method": name, "end": float(s.t[-1]), "status": s.status.name,
                          **common.largest(example, s), **published, "coordinates": common.deviation(example, s)})
    return found


def cells(row):
    """A line of the printed table."""
    texts = [row["method"], f"{row['end']:.5g}"]
    for name in common.QUANTITIES:
        stated = row[f"published_{name}"]
        texts += [f"{row[name]:.1e}", f"({stated:.0e})" if stated else ""]
    return [*texts, "" if row["coordinates"] is None else f"{row['coordinates']:.1e}"]


def main(output, **settings):
    """Run, print, write; returns the line for the summary."""
    table = rows(**settings)
    for title in dict.fromkeys(row["example"] for row in table):
        print(f"\n  {title}")
        show([cells(row) for row in table if row["example"] == title], HEAD)
    write_csv(output / "errors.csv", table)
    best = [row for row in table if row["method"] == "R-K-PVAE-0"]
    return "energy errors of R-K-PVAE-0: " + ", ".join(f"{row['energy']:.1e} ({row['example'].lower()})" for row in best)


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
