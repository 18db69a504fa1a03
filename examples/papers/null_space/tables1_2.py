"""Tables 1 and 2: the data of Andrews' mechanism, printed and in the library.

Three masses of table 2 are not those of the benchmark, which the library has: that of OF lacks a digit, AG has the mass of AH, and AH that
of BDE. The paper's largest frequency and its error come out with the masses of the benchmark
(`figures24_27.py`), so these are misprints.
"""

import common
import numpy as np

from mbdae.cli.scripts import output_folder, show
from mbdae.studies import write_csv

TABLE_1 = {"A": (-0.06934, -0.00227), "B": (-0.03635, 0.03273), "C": (0.014, 0.072), "O": (0.0, 0.0)}
TABLE_2 = {  # truss: mass [kg], length [m], moment of inertia [kg m^2], centre of mass along the bar and across it [m]
    "OF": (0.004325, 0.007, 2.194e-6, 0.00092, 0.0), "EF": (0.00365, 0.028, 4.41e-7, 0.0165, 0.0),
    "HE": (0.00706, 0.02, 5.667e-7, 0.00579, 0.0), "GE": (0.00706, 0.02, 5.667e-7, 0.00579, 0.0),
    "AG": (0.05498, 0.04, 1.169e-5, 0.02308, 0.00916), "AH": (0.02373, 0.04, 1.912e-5, 0.01228, -0.00449)}
TEXT = {"BDE, mass": 0.02373, "BDE, moment of inertia": 5.255e-6, "BE, length": 0.035, "spring, stiffness": 4530.0,
        "spring, free length": 0.07785}
BARS = {"OF": ("K1", "O", "F"), "EF": ("K2", "E3", "F"), "HE": ("K6", "H", "E6"), "GE": ("K4", "G", "E4"), "AG": ("K5", "A5", "G"),
        "AH": ("K7", "A7", "H")}  # body, the joints at its ends; the centre of mass is counted from the first one
QUANTITIES = ("mass", "length", "moment of inertia", "centre along", "centre across")


def _mechanism():
    return common.system("andrews", start="iftomm").mechanism


def _points(body):
    """The joints of a body by name, seen from its centre of mass."""
    found = {}
    for joint in _mechanism().joints:
        for name, s in ((joint.i, joint.s_i), (joint.j, joint.s_j)):
            if name == body:
                found[joint.name] = np.asarray(s, dtype=float)[:2]
    return found


def _body(name):
    return next(b for b in _mechanism().bodies if b.name == name)


def bar(truss):
    """Our values of a line of table 2."""
    name, first, second = BARS[truss]
    points = _points(name)
    along = points[second] - points[first]
    length = float(np.hypot(*along))
    x, y = along / length
    return _body(name).mass, length, _body(name).inertia, float(-points[first] @ (x, y)), float(abs(points[first] @ (-y, x)))


def _text_values():
    """Our values of the numbers in the text."""
    body, spring, points = _body("K3"), _mechanism().forces[0], _points("K3")
    return body.mass, body.inertia, float(np.hypot(*(points["E3"] - points["B"]))), spring.k, spring.l0


def rows():
    """Plain dictionaries: table, what it is, ours, printed; of the centres across only the size, as the axes' senses are not stated."""
    ground, found = _points("ground"), []
    ours = {"A": ground["A5"], "B": ground["B"], "C": np.asarray(_mechanism().forces[0].s_i, dtype=float)[:2], "O": ground["O"]}
    for name, printed in TABLE_1.items():
        found += [{"table": 1, "what": f"{name}, {axis}", "ours": float(x), "published": p}
                  for axis, x, p in zip("xy", ours[name], printed)]
    for truss, printed in TABLE_2.items():
        found += [{"table": 2, "what": f"{truss}, {name}", "ours": float(x), "published": abs(p)}
                  for name, x, p in zip(QUANTITIES, bar(truss), printed)]
    found += [{"table": 2, "what": name, "ours": float(x), "published": p} for (name, p), x in zip(TEXT.items(), _text_values())]
    return [row for row in found if row["published"]]


def main(output):
    """Print, write; returns the line for the summary."""
    table = rows()
    show([(r["table"], r["what"], f"{r['ours']:g}", f"{r['published']:g}") for r in table], ("table", "", "library", "printed"))
    write_csv(output / "tables1_2.csv", table)
    other = [r["what"] for r in table if abs(r["ours"] - r["published"]) > 1e-9 * abs(r["published"])]
    return f"{len(table) - len(other)} of {len(table)} numbers as printed; others: {', '.join(other) or 'none'}"


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
