"""Tables 1 and 2: masses, moments of inertia and lengths of the slider-crank and the four-link mechanism, printed and in the library.

The paper states a density of 1500 kg/m^3 for the four-link mechanism; its program computes with the masses of Haug's book, and so does the
library (`masses="code"`).
"""

import common
import numpy as np

from mbdae.cli.scripts import output_folder, show
from mbdae.studies import write_csv

TABLE_1 = {"crank": (0.12, 1e-4, 1e-5, 1e-4), "rod": (0.5, 4e-3, 4e-4, 4e-3), "slider": (2.0, 1e-4, 1e-4, 1e-4)}
TABLE_2 = {"rotor radius": 2.0, "bar 2 length": 12.2, "bar 3 length": 7.4, "bar width": 0.1}
QUANTITIES = ("mass", "I_xx", "I_yy", "I_zz")


def table1():
    """Lines of table 1: body, quantity, ours, printed."""
    found = []
    for body in common.system("slider-crank").mechanism.bodies:
        ours = (body.mass, *np.diag(np.reshape(body.inertia, (3, 3))))
        found += [{"table": 1, "what": f"{body.name}, {name}", "ours": float(x), "published": printed}
                  for name, x, printed in zip(QUANTITIES, ours, TABLE_1[body.name])]
    return found


def table2():
    """Lines of table 2, from the points of the joints on the bodies; the width of the bars enters masses only."""
    points = {}
    for joint in common.system("four-link").mechanism.joints:
        for body, s in ((joint.i, joint.s_i), (joint.j, joint.s_j)):
            points.setdefault(body, []).append(np.asarray(s))
    ours = {"rotor radius": max(np.linalg.norm(s) for s in points["rotor"]),
            "bar 2 length": np.linalg.norm(np.subtract(*points["link 2"])), "bar 3 length": np.linalg.norm(np.subtract(*points["link 3"]))}
    return [{"table": 2, "what": name, "ours": float(ours[name]), "published": printed}
            for name, printed in TABLE_2.items() if name in ours]


def main(output):
    """Print, write; returns the line for the summary."""
    rows = table1() + table2()
    show([(r["table"], r["what"], f"{r['ours']:g}", f"{r['published']:g}") for r in rows], ("table", "", "library", "printed"))
    write_csv(output / "tables1_2.csv", rows)
    same = sum(abs(r["ours"] - r["published"]) <= 1e-12 * r["published"] for r in rows)
    return f"{same} of {len(rows)} numbers as printed"


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
