"""Tables 13, 18 and 19: coefficients of SDIRK4/16, data and start of the double pendulum, printed and in mbdae.

The lengths of table 18 are half lengths: the start of table 19 has the centres of mass there. The velocities of table 19 are those of bars
at rest but for a rate of 10 rad/s of body 2, which contradicts them; the errors of tables 20 to 23 belong to a start at rest (see
`mbdae/library/stiff_double_pendulum.py`).
"""

from fractions import Fraction

import common_motion as common
import numpy as np

from mbdae.cli.scripts import output_folder, show
from mbdae.integrators.state_space.sdirk_tableau import SDIRK_4_16
from mbdae.studies import write_csv

TABLE_13 = {"a": ("1/4 0 0 0 0", "1/2 1/4 0 0 0", "17/50 -1/25 1/4 0 0", "371/1360 -137/2720 15/544 1/4 0",
                  "25/24 -49/48 125/16 -85/12 1/4"),
            "c": "1/4 3/4 11/20 1/2 1", "b": "25/24 -49/48 125/16 -85/12 1/4", "b_hat": "59/48 -17/96 225/32 -85/12 0"}
TABLE_18 = {"L": (1.0, 1.5), "m": (3.0, 0.3), "k": (400.0, 3e5), "c": (15.0, 5e4)}
TABLE_19 = {"x": (1.0, 3.4488887), "y": (0.0, -0.388228), "theta": (2.0 * np.pi, 23.0 * np.pi / 12.0), "rate of theta": (0.0, 10.0)}


def _numbers(text):
    return [float(Fraction(x)) for x in text.split()]


def coefficients():
    """Lines of table 13."""
    s = SDIRK_4_16
    printed = np.array([_numbers(row) for row in TABLE_13["a"]])
    found = [(f"a{i + 1}{j + 1}", s.A[i, j], printed[i, j]) for i in range(5) for j in range(i + 1)]
    for name, ours in (("c", s.c), ("b", s.b), ("b_hat", s.b_hat)):
        found += [(f"{name}{i + 1}", x, p) for i, (x, p) in enumerate(zip(ours, _numbers(TABLE_13[name])))]
    return [{"table": 13, "what": what, "ours": float(x), "published": float(p)} for what, x, p in found if p]


def pendulum():
    """Lines of tables 18 and 19."""
    mechanism, start = common.system().mechanism, common.system().start
    springs, joints = mechanism.forces, mechanism.joints
    ours = {"L": [float(np.abs(joint.s_j[0])) for joint in joints], "m": [b.mass for b in mechanism.bodies],
            "k": [s.k for s in springs], "c": [s.c for s in springs]}
    q, v = np.reshape(start.q, (2, 3)), np.reshape(start.v, (2, 3))
    columns = {"x": q[:, 0], "y": q[:, 1], "theta": q[:, 2], "rate of theta": v[:, 2]}
    found = [(18, f"{name}{i + 1}", ours[name][i], p) for name, there in TABLE_18.items() for i, p in enumerate(there)]
    found += [(19, f"body {i + 1}, {name}", columns[name][i], p) for name, there in TABLE_19.items() for i, p in enumerate(there)]
    return [{"table": number, "what": what, "ours": float(x), "published": float(p)} for number, what, x, p in found if p]


def main(output):
    """Print, write; returns the line for the summary."""
    rows = coefficients() + pendulum()
    show([(r["table"], r["what"], f"{r['ours']:.9g}", f"{r['published']:.9g}") for r in rows], ("table", "", "mbdae", "printed"))
    write_csv(output / "tables13_18_19.csv", rows)
    other = [r["what"] for r in rows if abs(r["ours"] - r["published"]) > 1e-6 * abs(r["published"])]
    return f"{len(rows) - len(other)} of {len(rows)} numbers as printed; others: {', '.join(other) or 'none'}"


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
