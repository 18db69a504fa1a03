"""`python -m tests.benchmarks.adams [--only TABLE]`: Adams beside DormandPrince(8) and established codes, in Markdown.

Orders with fixed steps, work and cost of an error on mechanisms, cost of a step over the number of links. Times are the least processor
times of several runs.
"""

import argparse
import tempfile

import numpy as np

import mbdae
from mbdae import Adams, DormandPrince, library
from mbdae.studies import grid
from mbdae.studies.grid.fastest import costs_of
from mbdae.studies.performance import cost_of_accuracy
from tests.benchmarks.explicit import head, row
from tests.explicit_cases import CASES, distances

ERRORS = (1e-4, 1e-6, 1e-8)
MECHANISMS = ("hmmwv", "iltis", "random-tree", "ladder", "andrews", "slider-crank-free", "heavy-top", "fekete", "closed-loop-bars")
TIMED = ("hmmwv", "ladder", "andrews", "heavy-top", "fekete")  # the others have runs of minutes with some of the methods
METHODS = {"Adams": "Adams", "DormandPrince:8": "Dormand-Prince", "SolveIvp:LSODA": "LSODA", "Cvode:Adams": "CVODE Adams",
           "Odes:dop853": "DOP853"}
LINKS = (16, 32, 64, 128, 256, 512, 1024)
REPEATS = 5


def observed_orders():
    """Slopes for `q`, `v`, `lam` of the errors over the step."""
    numbers = (1, 2, 3, 4)
    lines = head("mechanism", *(f"k = {k}" for k in numbers))
    for name in CASES:
        cells = []
        for k in numbers:
            t_end, steps = CASES[name].spans[5]
            steps = np.multiply(steps, (12 if k % 2 else 8) if name == "spatial-four-bar" else 1)
            rows = np.array([(t_end / n, *distances(name, t_end, Adams(k, fixed_step=t_end / n))) for n in steps])
            slopes = [np.polyfit(np.log(rows[:, 0]), np.log(x), 1)[0] for x in rows[:, 1:].T]
            cells.append(", ".join(f"{x:.2f}" for x in slopes if np.isfinite(x)))
        lines.append(row(f"`{name}`", *cells))
    return lines


def cost():
    """Milliseconds of the integration alone for an error."""
    lines = head("mechanism", "error", *METHODS.values(), "Dormand-Prince : Adams", "fastest established : Adams")
    for name, rows in studied(TIMED, METHODS, REPEATS, 5.0):
        times, labels = costs_of(rows, "integration", ERRORS), list(dict.fromkeys(r.method for r in rows))
        for error in ERRORS:
            found = [times[rows[0].mechanism, error].get(label, np.inf) for label in labels]
            lines.append(row(f"`{name}`", f"{error:.0e}", *(f"{1e3 * x:.3g}" if np.isfinite(x) else "-" for x in found),
                             f"{found[1] / found[0]:.2f}", f"{min(found[2:]) / found[0]:.2f}"))
    return lines


def work():
    """Factorisations and evaluations of the forces for an error."""
    lines = head("mechanism", "error", "Adams", "Dormand-Prince", "ratios")
    for name, rows in studied(MECHANISMS, list(METHODS)[:2], 1, 30.0):
        labels = list(dict.fromkeys(r.method for r in rows))
        for error in ERRORS:
            found = [[_for_error([r for r in rows if r.method == label], error, of) for of in ("factorisations", "evaluations")]
                     for label in labels]
            lines.append(row(f"`{name}`", f"{error:.0e}", *(", ".join(f"{x:.0f}" for x in pair) for pair in found),
                             ", ".join(f"{x / y:.2f}" for x, y in zip(*found))))
    return lines


def studied(names, methods, repeats, limit):
    """Mechanisms with the rows of a study of profiles over these methods."""
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            yield name, grid.study("profile", [name], methods=list(methods), repeats=repeats, limit=limit, folder=folder).rows


def _for_error(rows, error, of):
    """A count for an error, as times in `cost_of_accuracy`."""
    rows = sorted(rows, key=lambda r: -r.setting)
    return cost_of_accuracy([r.error for r in rows], [getattr(r, of) for r in rows], error)


def chains():
    """Microseconds of an attempt with error control over the number of links, beside an evaluation of DormandPrince(8)."""
    lines = head("chain", *LINKS, "exponent 64 to 1024")
    for joints in ("planar", "revolute", "spherical"):
        for method in (Adams(), DormandPrince()):
            found = []
            for n in LINKS:
                s = library.system("chain", links=n, joints=joints)
                runs = [mbdae.solve(s, method, (0.0, 1.0), rtol=1e-5, every=10**6).statistics for _ in range(REPEATS)]
                each = runs[0].steps + runs[0].rejected_error if isinstance(method, Adams) else runs[0].residuals
                found.append(1e6 * min(r.cpu_seconds for r in runs) / each)
            slope = np.polyfit(np.log(LINKS[2:]), np.log(found[2:]), 1)[0]
            lines.append(row(f"{joints}, {'step of Adams' if isinstance(method, Adams) else 'evaluation of DormandPrince'}",
                             *(f"{x:.3g}" for x in found), f"{slope:.2f}"))
    return lines


TABLES = {"orders": observed_orders, "work": work, "cost": cost, "chains": chains}


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=TABLES)
    only = parser.parse_args().only
    for name, table in TABLES.items():
        if only in (None, name):
            print(f"{table.__doc__}\n", *table(), "", sep="\n", flush=True)


if __name__ == "__main__":
    main()
