"""SPARK: observed orders, energy of long runs, time for equal error beside other methods, time per step of chains.

`python -m tests.benchmarks.spark [--only orders energy work chains] [--steps 100000] [--links 1024]`

Times are the least processor times of several runs.
"""

import argparse

import numpy as np
from rich.console import Console

import mbdae
from mbdae import ProjectedGauss, RadauIIA, Spark, library
from mbdae.integrators.spark.tableau import PAIRS
from tests.benchmarks.rattle import least_time, table, time_per_step
from tests.test_spark import STEPS, errors

ORDERS = (2, 4, 6)
WORK = {"spatial-four-bar": 1.0, "double-spherical-pendulum": 2.0, "heavy-top": 0.5}
WANTED = 1e-6, 1e-9  # errors of `q`


def orders(options):
    """Observed orders of positions, velocities and multipliers."""
    out = table("observed orders of q, v, lam", "mechanism", "pair", *(f"order {order}" for order in ORDERS))
    for key, numbers in STEPS.items():
        for pair in PAIRS:
            slopes = (np.log2(errors(key, order, pair, n) / errors(key, order, pair, 2 * n)) for order, n in zip(ORDERS, numbers))
            out.add_row(key, pair, *("  ".join(f"{x:.2f}" for x in slope) for slope in slopes))
    return out


def energy(options):
    """Largest errors of the energy in the fifths of a long run."""
    out = table(f"double spherical pendulum, h = 0.01: largest errors of the energy in the fifths of {options.steps} steps", "pair",
                "order", *map(str, range(1, 6)))
    for pair in PAIRS:
        for order in ORDERS:
            x = mbdae.solve(library.system("double-spherical-pendulum"), Spark(h=1e-2, order=order, pair=pair), (0.0, 1e-2 * options.steps),
                            every=20)
            away = np.abs(x.energy - x.energy[0])[1:]
            out.add_row(pair, str(order), *(f"{part.max():.1e}" for part in np.array_split(away, 5)))
    return out


def _candidates():
    """Methods, from coarse to fine."""
    steps = [0.05 * 0.8**k for k in range(40)]
    for order in (4, 6, 8):
        for pair in PAIRS:
            yield f"Spark, order {order}, {pair}", [(Spark(h=h, order=order, pair=pair), 1e-6) for h in steps]
        yield f"ProjectedGauss, order {order}", [(ProjectedGauss(h=h, stages=order // 2), 1e-6) for h in steps]
    yield "RadauIIA", [(RadauIIA(), 10.0**-k) for k in np.arange(3.0, 13.0, 0.5)]


def work(options):
    """The time that methods take for errors of `q`."""
    out = table("ms for an error of q", "mechanism", "method", *(f"{x:g}" for x in WANTED))
    for name, end in WORK.items():
        system = library.system(name)
        best = mbdae.solve(system, ProjectedGauss(h=end / 4000, stages=4), (0.0, end), t_eval=[end]).q[-1]

        def run(method, tol, system=system, end=end):
            return mbdae.solve(system, method, (0.0, end), rtol=tol, atol=tol, t_eval=[end])

        for label, cases in _candidates():
            row = []
            for wanted in WANTED:
                for method, tol in cases:
                    x = run(method, tol)
                    if x.success and np.abs(x.q[-1] - best).max() <= wanted:
                        row.append(f"{1e3 * least_time(lambda m=method, r=tol: run(m, r)):.1f} ({x.statistics.steps} steps)")
                        break
            out.add_row(name, label, *row)
    return out


def chains(options):
    """Time per step and link of chains, and the exponent of the time per step between one length and the next."""
    out = table("chains of bars on spherical joints, h = 1e-3, us per step and link", "links", *(f"order 4, {pair}" for pair in PAIRS),
                "exponents")
    links, before = 16, None
    while links <= options.links:
        system = library.system("chain", links=links)
        cost = np.array([time_per_step(system, lambda h, pair=pair: Spark(h=h, order=4, pair=pair), max(20, 4000 // links))
                         for pair in PAIRS])
        exponents = "" if before is None else "  ".join(f"{x:.2f}" for x in np.log2(cost / before))
        out.add_row(str(links), *(f"{x / links:.2f}" for x in cost), exponents)
        before, links = cost, 2 * links
    return out


TABLES = {"orders": orders, "energy": energy, "work": work, "chains": chains}


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--only", nargs="*", choices=TABLES, default=list(TABLES))
    parser.add_argument("--steps", type=int, default=10**5)
    parser.add_argument("--links", type=int, default=1024)
    options = parser.parse_args()
    for name in options.only:
        Console(width=160).print(TABLES[name](options))


if __name__ == "__main__":
    main()
