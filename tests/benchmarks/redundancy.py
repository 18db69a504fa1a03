"""Linkages with redundant constraints in every method and form: `python -m tests.benchmarks.redundancy [LINKAGE ...] [--seconds S]`.

For each run the table has how it ended, the CPU time with compilation, the error of the positions in multiples of what is allowed (100
tolerances for methods with error control), the largest violation of any constraint equation, and the share of the multipliers in the null
space of `Phi_q^T`, at the end. The reference leaves no equation out: accelerations from NumPy's least squares of the whole KKT matrix. The
last column has the same error of a mechanism that moves alike and has independent constraints, if there is one: a door on a revolute joint.
Sarrus' linkage is flat, a singular position, at 0.48 s.
"""

import argparse
import warnings
from time import process_time

import numpy as np
from scipy.linalg import null_space

import mbdae
from mbdae.registry import find
from tests.linkages import LINKAGES, door, reference
from tests.test_overconstrained import FIRST_ORDER, RTOL, everything, solved

SECONDS = {"door": 3.0, "bennett": 20.0, "sarrus": 1.0, "goldberg": 2.0, "myard": 2.0}
INDEPENDENT = {"door": lambda: door("revolute")}
COLUMNS = ("method", "form", "status", "time [s]", "CPU [s]", "error / allowed", "violation", "lam, null part", "independent: error")


def run(system, want, t_end, method, form):
    """A solution, and the error of its positions at the end in multiples of what is allowed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of solvers
        x = solved(system, method, form, t_end)
    q = x.q[-1]
    scale = FIRST_ORDER * np.abs(x.v).max() if find(method).control == "h" else 100 * RTOL * (1.0 + np.abs(q).max())
    return x, np.abs(system.difference(q, want)).max() / scale if x.success else np.nan


def row(system, independent, want, t_end, method, form):
    """The cells of one run."""
    before = process_time()
    x, error = run(system, want, t_end, method, form)
    cpu = process_time() - before
    yardstick = f"{run(independent, want, t_end, method, form)[1]:.2g}" if independent else ""
    q, lam = x.q[-1], x.lam[-1]
    N = null_space(system.phi_q(x.t[-1], q).toarray().T, rcond=1e-4)
    violation, share = np.abs(system.phi(x.t[-1], q)).max(), np.abs(N.T @ lam).max(initial=0.0) / np.abs(lam).max()
    return method, form or "", x.status.name, f"{x.t[-1]:.4g}", f"{cpu:.2g}", f"{error:.2g}", f"{violation:.1e}", f"{share:.1e}", yardstick


WIDTHS = (30, 14, 15, 10, 9, 16, 11, 16, 19)


def line(cells):
    """A row of the table; rows are shown as they are found, since all of them may take an hour."""
    return " ".join(f"{cell:<{width}}" for cell, width in zip(cells, WIDTHS)).rstrip()


def main(names, seconds):
    """A table for each linkage, and how many runs are not right."""
    bad, count = 0, 0
    for name in names or LINKAGES:
        system, t_end = mbdae.System(LINKAGES[name]()), seconds or SECONDS[name]
        independent = mbdae.System(INDEPENDENT[name]()) if name in INDEPENDENT else None
        want = reference(system, t_end)
        print(f"{name}: {system.nc} equations, {len(system.dependent)} of them redundant, to {t_end:g} s\n{line(COLUMNS)}", flush=True)
        for method, form in everything():
            cells = row(system, independent, want, t_end, method, form)
            right = cells[2] == "SUCCESS" and float(cells[5]) <= 1.0
            bad, count = bad + (not right), count + 1
            print(line(cells) + ("" if right else "  <--"), flush=True)
    print(f"{count} runs, {bad} of them not within what is allowed")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("linkages", nargs="*", help=", ".join(LINKAGES))
    parser.add_argument("--seconds", type=float)
    options = parser.parse_args()
    main(options.linkages, options.seconds)
