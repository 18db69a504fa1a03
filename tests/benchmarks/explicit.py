"""`python -m tests.benchmarks.explicit [--only TABLE]`: DormandPrince and HalfExplicit beside SciPy's DOP853 and RK45, in Markdown.

Orders with fixed steps, errors over tolerances, the heavy top, cost on mechanisms, HalfExplicit, cost of a step over the number of links.
Times are the least processor times of several runs that alternate; errors are measured against steps at rounding.
"""

import argparse
import time

import numpy as np

import mbdae
from mbdae import DormandPrince, HalfExplicit, library
from mbdae.adapters.scipy import SolveIvp
from tests.explicit_cases import CASES, orders

PAIRS = ((DormandPrince(8), SolveIvp("DOP853")), (DormandPrince(5), SolveIvp("RK45")))
TOLERANCES = tuple(10.0**-k for k in range(3, 11))
SPANS = {"double-pendulum": 2.0, "double-spherical-pendulum": 1.0, "slider-crank-free": 1.0, "andrews": 0.03, "heavy-top": 1.0,
         "precessing-top": 1.0, "spatial-four-bar": 1.0, "bricard": 5.0, "stewart-platform": 1.0, "random-tree": 0.5,
         "closed-loop-bars": 1.5}  # [s]
COSTS = {"andrews": 0.05, "slider-crank-free": 1.0, "spatial-four-bar": 1.0, "chain": 1.0}
LINKS = (16, 32, 64, 128, 256, 512, 1024)
REPEATS = 9


def row(*cells):
    """A row of a table."""
    return "| " + " | ".join(map(str, cells)) + " |"


def head(*names):
    """The head of a table."""
    return [row(*names), row(*["---"] * len(names))]


def observed_orders():
    """Slopes for `q`, `v`, `lam`, and the errors of the shortest steps."""
    lines = head("mechanism", *(f"{x}: q, v, lam | last error of q" for x in ("order 8", "order 5", "half-explicit")))
    lines[1] = row(*["---"] * 7)
    for name in CASES:
        cells = []
        for order, method in ((8, None), (5, None), (5, HalfExplicit)):
            if method is not None and CASES[name].make().has_friction:
                cells += ["refused", ""]
                continue
            slopes, rows = orders(name, order, method)
            cells += [", ".join(f"{x:.2f}" for x in slopes if np.isfinite(x)), f"{rows[-1, 1]:.0e}"]
        lines.append(row(f"`{name}`", *cells))
    return lines


def solved(system, method, t_end, rtol, **options):
    """A run at one tolerance."""
    return mbdae.solve(system, method, (0.0, t_end), rtol=rtol, atol=rtol / 100, **options)


def over_tolerance(found, exact, rtol):
    """The largest error of positions and velocities over `rtol max |x| + atol`."""
    pairs = (found.q, exact.q), (found.v, exact.v)
    return max(np.abs(x - y).max() / (rtol * np.abs(y).max() + rtol / 100) for x, y in pairs)


def tolerances():
    """Error over tolerance at 101 times."""
    lines = head("mechanism", "method", *(f"{x:.0e}" for x in TOLERANCES))
    for name, t_end in SPANS.items():
        system, times = library.system(name), np.linspace(0.0, t_end, 101)
        exact = solved(system, DormandPrince(), t_end, 3e-14, t_eval=times)
        for method in (m for pair in PAIRS for m in pair):
            cells = []
            for rtol in TOLERANCES:
                found = solved(system, method, t_end, rtol, t_eval=times)
                cells.append(f"{over_tolerance(found, exact, rtol):.2g}" if found.success else found.status.name)
            lines.append(row(f"`{name}`", method.label, *cells))
    return lines


def least(calls):
    """Results and least processor times [ms] of calls that alternate."""
    best, found = [np.inf] * len(calls), [None] * len(calls)
    for _ in range(REPEATS):
        for k, call in enumerate(calls):
            begin = time.process_time()
            found[k] = call()
            best[k] = min(best[k], 1e3 * (time.process_time() - begin))
    return list(zip(found, best))


def heavy_top():
    """Errors of `q` at 2 s and cost, 150 rad/s."""
    system, t_end = library.system("heavy-top"), 2.0
    exact = mbdae.solve(system, DormandPrince(fixed_step=1e-4), (0.0, t_end), t_eval=[t_end])
    lines = head("rtol", *(f"{m.label}: steps, error of q, ms" for m in PAIRS[0]), "ratio of times")
    for rtol in (1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11):
        runs = least([lambda m=m, r=rtol: solved(system, m, t_end, r, t_eval=[t_end]) for m in PAIRS[0]])
        cells = [f"{s.statistics.steps}, {np.abs(s.q - exact.q).max():.1e}, {ms:.1f}" for s, ms in runs]
        lines.append(row(f"{rtol:.0e}", *cells, f"{runs[0][1] / runs[1][1]:.2f}"))
    return lines


def cost():
    """Steps, evaluations and milliseconds of whole calls of `solve`, with output at the end."""
    lines = head("mechanism", "rtol", *(f"{m.label}: steps, evaluations, ms" for pair in PAIRS for m in pair), "ratios of times")
    for name, t_end in COSTS.items():
        system = library.system(name, **({"links": 32} if name == "chain" else {}))
        for rtol in (1e-4, 1e-6, 1e-9):
            runs = least([lambda m=m, s=system, t=t_end, r=rtol: solved(s, m, t, r, t_eval=[t]) for pair in PAIRS for m in pair])
            cells = [f"{s.statistics.steps}, {s.statistics.residuals}, {ms:.1f}" for s, ms in runs]
            ratios = f"{runs[0][1] / runs[1][1]:.2f}, {runs[2][1] / runs[3][1]:.2f}"
            lines.append(row(f"`{name}`", f"{rtol:.0e}", *cells, ratios))
    return lines


def half_explicit():
    """HalfExplicit beside DormandPrince(5): steps, evaluations, milliseconds, error over tolerance."""
    methods = HalfExplicit(), DormandPrince(5)
    lines = head("mechanism", "rtol", *(f"{m.label}: steps, evaluations, ms, error" for m in methods), "ratio of times")
    for name, t_end in SPANS.items():
        system, times = library.system(name), np.linspace(0.0, t_end, 101)
        exact = solved(system, DormandPrince(), t_end, 3e-14, t_eval=times)
        for rtol in (1e-4, 1e-7):
            runs = least([lambda m=m, s=system, t=t_end, r=rtol: solved(s, m, t, r, t_eval=[t]) for m in methods])
            off = [over_tolerance(solved(system, m, t_end, rtol, t_eval=times), exact, rtol) for m in methods]
            cells = [f"{s.statistics.steps}, {s.statistics.residuals}, {ms:.1f}, {e:.2g}" for (s, ms), e in zip(runs, off)]
            lines.append(row(f"`{name}`", f"{rtol:.0e}", *cells, f"{runs[0][1] / runs[1][1]:.2f}"))
    return lines


def scaling():
    """Microseconds of a step of order 8 over the number of links, with the exponent by least squares."""
    lines = head("joints", *LINKS, "exponent")
    for joints in ("planar", "revolute", "spherical"):
        each = []
        for n in LINKS:
            system, steps = library.system("chain", links=n, joints=joints), 20
            runs = [mbdae.solve(system, DormandPrince(fixed_step=1e-3), (0.0, steps * 1e-3), every=steps) for _ in range(5)]
            each.append(1e6 * min(s.statistics.cpu_seconds for s in runs) / steps)
        lines.append(row(joints, *(f"{x:.0f}" for x in each), f"{np.polyfit(np.log(LINKS), np.log(each), 1)[0]:.2f}"))
    return lines


TABLES = {"orders": observed_orders, "tolerances": tolerances, "heavy-top": heavy_top, "cost": cost,
          "half-explicit": half_explicit, "scaling": scaling}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=TABLES, help="one table")
    only = parser.parse_args().only
    for name, table in TABLES.items():
        if only in (None, name):
            print(f"{table.__doc__}\n", *table(), "", sep="\n", flush=True)


if __name__ == "__main__":
    main()
