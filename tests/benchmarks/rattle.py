"""RATTLE and its compositions: orders, energy, momentum, way back, heavy top against DOP853, time per step of chains.

`python -m tests.benchmarks.rattle [--only orders energy top chains] [--steps 1000000] [--links 1024]`

Times are the least processor times of several runs.
"""

import argparse
from time import process_time

import numpy as np
from rich.console import Console
from rich.table import Table

import mbdae
from mbdae import HalfImplicit, ProjectedGauss, Rattle, library
from mbdae.adapters.scipy import SolveIvp
from tests.test_rattle import RUNS, about_the_vertical, errors

ORDERS = (2, 4, 6)
REPEATS = 7
LONG = {"heavy-top": 1e-3, "double-spherical-pendulum": 1e-2}


def table(title, *columns):
    """An empty table."""
    out = Table(title=title)
    for name in columns:
        out.add_column(name, no_wrap=True)
    return out


def least_time(run):
    """The least processor time of several runs, the first of which may compile."""
    times = []
    for _ in range(REPEATS + 1):
        begin = process_time()
        run()
        times.append(process_time() - begin)
    return min(times[1:])


def orders(options):
    """Observed orders of positions, velocities and multipliers."""
    out = table("observed orders of q, v, lam", "mechanism", *(f"order {order}" for order in ORDERS))
    for key, (_, *numbers) in RUNS.items():
        slopes = (np.log2(errors(key, order, n) / errors(key, order, 2 * n)) for order, n in zip(ORDERS, numbers))
        out.add_row(key, *("  ".join(f"{x:.2f}" for x in slope) for slope in slopes))
    return out


def energy(options):
    """Largest errors of the energy in the tenths of a long run, and of the angular momentum about the vertical."""
    out = table(f"energy over {options.steps} steps, largest error in the first and last tenth, relative to that at the start",
                "mechanism", "h", "order", "first", "last", "momentum", "s")
    for name, h in LONG.items():
        system = library.system(name)
        for order in ORDERS:
            begin = process_time()
            x = mbdae.solve(system, Rattle(h=h, order=order), (0.0, h * options.steps), every=max(1, options.steps // 1000))
            assert x.success, x.message
            away, tenth = np.abs(x.energy / x.energy[0] - 1.0), len(x.t) // 10
            momentum = "-"
            if name == "heavy-top":
                values = np.array([about_the_vertical(system, q, v) for q, v in zip(x.q, x.v)])
                momentum = f"{np.abs(values / values[0] - 1.0).max():.1e}"
            out.add_row(name, f"{h:g}", str(order), f"{away[:tenth].max():.1e}", f"{away[-tenth:].max():.1e}", momentum,
                        f"{process_time() - begin:.0f}")
    return out


def top(options):
    """Error at t = 2 s of the fast top and the time it takes."""
    system, end = library.system("heavy-top"), 2.0
    exact = mbdae.solve(system, ProjectedGauss(h=5e-4, stages=4), (0.0, end), t_eval=[end]).q[-1]
    out = table("heavy top, 150 rad/s, error of q at t = 2 s", "method", "error", "ms", "steps")
    cases = [(SolveIvp("DOP853"), tol) for tol in (1e-8, 1e-9, 6e-11, 1e-12)]
    cases += [(Rattle(h=h, order=order, tol=1e-10), 1e-6) for order, h in (
        (2, 1e-4), (4, 5e-4), (6, 4e-3), (6, 1.9e-3), (6, 1e-3), (8, 7e-3), (8, 5.2e-3), (8, 3e-3))]
    for method, tol in cases:
        def run(method=method, tol=tol):
            return mbdae.solve(system, method, (0.0, end), rtol=tol, atol=tol, t_eval=[end])
        x = run()
        label = f"{method.label}, rtol = {tol:g}" if isinstance(method, SolveIvp) else method.label
        out.add_row(label, f"{np.abs(x.q[-1] - exact).max():.1e}", f"{1e3 * least_time(run):.1f}", str(x.statistics.steps))
    return out


def time_per_step(system, make, steps):
    """Microseconds, from runs of `steps` steps and of three times as many."""
    def run(n):
        assert mbdae.solve(system, make(h=1e-3), (0.0, 1e-3 * n), t_eval=[1e-3 * n]).success
    short, long = (least_time(lambda n=n: run(n)) for n in (steps, 3 * steps))
    return 1e6 * (long - short) / (2 * steps)


def chains(options):
    """Time per step and link of chains, and the exponent of the time per step between one length and the next."""
    out = table("chains of bars on spherical joints, h = 1e-3", "links", "RATTLE, us per step and link", "exponent", "HalfImplicit")
    links, before = 16, None
    while links <= options.links:
        system = library.system("chain", links=links)
        cost = [time_per_step(system, make, max(100, 20000 // links)) for make in (Rattle, HalfImplicit)]
        exponent = "" if before is None else f"{np.log(cost[0] / before[0]) / np.log(links / before[1]):.2f}"
        out.add_row(str(links), f"{cost[0] / links:.2f}", exponent, f"{cost[1] / links:.2f}")
        before = cost[0], links
        links *= 2
    return out


TABLES = {"orders": orders, "energy": energy, "top": top, "chains": chains}


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--only", nargs="*", choices=TABLES, default=list(TABLES))
    parser.add_argument("--steps", type=int, default=10**6)
    parser.add_argument("--links", type=int, default=1024)
    options = parser.parse_args()
    for name in options.only:
        Console(width=140).print(TABLES[name](options))


if __name__ == "__main__":
    main()
