"""`python -m tests.benchmarks.radau [mechanisms | errors]`: RadauIIA beside established solvers for stiff equations, in Markdown.

Least seconds of runs that alternate in one process, and the largest error of positions and velocities over the tolerance, relative to
their size; against RadauIIA of order 13 at a tolerance of 1e-11. With `errors` the errors of RadauIIA alone, over more tolerances.
"""

import sys

import numpy as np

import mbdae
from mbdae import library
from mbdae.adapters.assimulo import Assimulo
from mbdae.adapters.scipy import SolveIvp

SPANS = {"stiff-double-pendulum": 2.0, "flexible-slider-crank": 0.1, "iltis": 0.4, "andrews": 0.03, "hmmwv": 0.2}  # [s]
METHODS = {"RadauIIA": mbdae.RadauIIA(), "RadauIIA(5)": mbdae.RadauIIA(5), "Radau5DAE": Assimulo("Radau5DAE"), "IDA": mbdae.Ida(),
           "SciPy Radau": SolveIvp("Radau"), "Bdf": mbdae.Bdf(), "RosenbrockNystrom": mbdae.RosenbrockNystrom()}
TOLERANCES = (1e-4, 1e-6, 1e-8)
STIFF_SPANS = {"stiff-double-pendulum": 2.0, "flexible-slider-crank": 0.1, "stiff-pendulum": 1.0}  # [s], of the table of errors
SMOOTH_SPANS = {"double-pendulum": 2.0, "double-spherical-pendulum": 1.0, "slider-crank-free": 1.0, "slider-crank": 1.0, "andrews": 0.03,
                "heavy-top": 1.0, "precessing-top": 1.0, "spatial-four-bar": 1.0, "bricard": 5.0, "stewart-platform": 1.0,
                "random-tree": 0.5, "closed-loop-bars": 1.5, "truck": 2.0, "wheelset": 1.0}
ALL_TOLERANCES = tuple(10.0**-k for k in range(3, 11))
REPEATS = 5
LONG = 4.0  # seconds of a run that is not repeated


def solved(system, method, times, rtol):
    """A run with output at these times."""
    return mbdae.solve(system, method, (0.0, times[-1]), rtol=rtol, atol=rtol / 100, t_eval=times)


def over_tolerance(found, exact, rtol):
    """The error of positions and velocities."""
    pairs = (found.q, exact.q), (found.v, exact.v)
    return max(np.abs(x - y).max() / np.abs(y).max() for x, y in pairs) / rtol


def cells(system, times, exact, rtol):
    """`milliseconds (error over tolerance, steps)` of each method."""
    out, least = {}, {}
    for _ in range(REPEATS):
        for name, method in METHODS.items():
            if least.get(name, 0.0) > LONG:
                continue
            try:
                found = solved(system, method, times, rtol)
            except Exception as error:
                out[name] = type(error).__name__
                continue
            if not found.success:
                out[name] = f"fails: {found.status.name}"
                continue
            least[name] = min(least.get(name, np.inf), found.statistics.seconds)
            out[name] = f"{1e3 * least[name]:.3g} ({over_tolerance(found, exact, rtol):.2g}, {found.statistics.steps})"
    return [out[name] for name in METHODS]


def errors():
    """The table of errors, against DormandPrince, and for stiff mechanisms RadauIIA of order 13, at a tolerance of 1e-12."""
    print("| mechanism |", " | ".join(f"{rtol:.0e}" for rtol in ALL_TOLERANCES), "|")
    print("|" + " --- |" * (1 + len(ALL_TOLERANCES)), flush=True)
    for name, t_end in (SMOOTH_SPANS | STIFF_SPANS).items():
        system, times = library.system(name), np.linspace(0.0, t_end, 22)[1:]
        exact = solved(system, mbdae.RadauIIA(13) if name in STIFF_SPANS else mbdae.DormandPrince(), times, 1e-12)
        found = (over_tolerance(solved(system, mbdae.RadauIIA(), times, rtol), exact, rtol) for rtol in ALL_TOLERANCES)
        print(f"| `{name}` |", " | ".join(f"{x:.2g}" for x in found), "|", flush=True)


def main(names):
    """The table, row by row."""
    print("| mechanism | rtol |", " | ".join(METHODS), "|")
    print("|" + " --- |" * (2 + len(METHODS)), flush=True)
    for name in names:
        system, times = library.system(name), np.linspace(0.0, SPANS[name], 11)[1:]
        exact = mbdae.solve(system, mbdae.RadauIIA(13), (0.0, times[-1]), rtol=1e-11, atol=1e-13, t_eval=times)
        for rtol in TOLERANCES:
            print(f"| `{name}` | {rtol:.0e} |", " | ".join(cells(system, times, exact, rtol)), "|", flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["errors"]:
        errors()
    else:
        main(sys.argv[1:] or list(SPANS))
